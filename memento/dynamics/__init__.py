"""The strength of a memory, computed from its uses and the verdicts on it. Pure.

No clock, no I/O, no randomness and no NumPy: the same events give the same numbers, bit for bit, on
every machine. Moments are microseconds since 1970 UTC; lengths of time are days.

fold         the state of one memory, its two strengths, and how one event changes it
formulas     need, retention, belief and worth, and how they move a memory in an answer
association  links between memories that are used together, and how far they lead
settings     every number of these as a setting
"""
