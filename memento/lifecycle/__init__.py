"""Rules for what may become of a memory."""
