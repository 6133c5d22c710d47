"""Coding agents: their table, the set-up of their configuration, and the answer to their hooks."""
