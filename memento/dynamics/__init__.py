"""The strength of a memory, computed from its uses and the verdicts on it. Pure.

fold         what one event does to a memory's two strengths and to belief: the table ``VERDICTS``;
             being shown: ``SHOWN``, ``SHOWN_FIRST``
formulas     need, retention, belief and worth, and how they move a memory in an answer
association  links between memories that are used together, and how far they lead: ``LEAST``,
             ``MOST``, ``ACTS_FROM``, ``STRONGEST``, ``SEEDS``
settings     every number of these that is a setting; ``PACES``, ``STABILITY`` of each kind

No clock, no I/O, no randomness and no NumPy: the same events give the same numbers, bit for bit, on
every machine. Moments are microseconds since 1970 UTC; lengths of time are days.
"""
