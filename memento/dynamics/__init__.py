"""Numbers from the use of a memory and from the verdicts on it. Pure.

No clock, no I/O, no randomness and no NumPy: the same events give the same numbers, bit for bit, on
every machine. Moments are microseconds since 1970 UTC; lengths of time are days.

use          need odds: how likely a memory is needed again, from how often and when it was used
association  links between memories that are used together, and how far they lead
retention    how much of it is still remembered, from the days since its last use
chain        two strengths, short and long, of which the second grows out of the first
belief       how likely it is right, from verdicts, as counts for and against
worth        how much it helped, from the outcomes it had a share in
anomaly      days that are unlike the days before them
config       every number of these as a setting
effect       how these numbers move a memory in an answer
fold         the state of one memory, and how one event changes it
"""
