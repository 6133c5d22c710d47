"""What callers can ask of a memory, beyond the everyday: one file a subject, each over a view."""
