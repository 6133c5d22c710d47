"""Helpers that depend on no other package of memento: time, files, paths, names, display.

clock    time: whole microseconds since 1970 UTC, the system's clock, time zones; ``DAY``
scopes   how namespaces and scopes are written, and which contains which; ``MAX_LABEL``,
         ``MAX_LABELS``
home     which folder holds the store if the caller names none; ``VARIABLE``, ``NAME``
layout   the names of a store's files, and which files are a store's
files    how files survive a power cut: whole or not at all, and synced; which are litter
forks    what a fork waits for: ``FORK_SECONDS``, ``HANDOVER_SECONDS``
plain    which form of a caller's string is kept and compared
blocks   the frame of memories in a prompt, its ``NOTICE``, and how one is recognised in a text
display  how values look as a line, a table or JSON: ``SHORT``, ``CELL``, ``LINE``
spans    what OpenTelemetry is told: durations, counts and types of errors, no text
lazy     which import waits until its first use
"""
