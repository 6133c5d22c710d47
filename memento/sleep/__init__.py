"""The sleep: what a store does with its memories in quiet hours, a little at a time.

run          the order of the steps: first the log is folded, then `run.STEPS`; what one transaction
             holds
duplicates   which statements say the same, and which of them stays; ``WINDOW``
articles     which statements are one topic (``COMMON``, ``NEAR``, ``FEWEST``, ``LARGEST``), put
             together
tier_moves   what goes to the long tier, and what returns: ``PROMOTE_AT``, ``DEMOTE_AT``
archiving    what has faded and is archived: the thresholds are the settings ``sleep.archive_*``
replay       what is replayed on a day: ``MOST``
night        what each step is given, and what a plan holds
report       what is stale or unusual, for a person: ``UNUSUAL``, ``WINDOW``
tick_values  what the verbs of the sleep return

``tick`` runs the steps, each in a module of its own: it plans from what it reads, and changes a few
memories in each transaction. Nothing here deletes; all of it can be undone.
"""
