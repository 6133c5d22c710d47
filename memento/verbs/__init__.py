"""The operations beyond everyday use, each on a view; most are a part such as ``memory.rules``.

documents, ingesting  which parts of a document are new (``BATCH``); what of surveyed files is
rules            the policy: when its head is made again (``TURNOVER``), from which cosine a
                 condition holds (``HOLDS_AT``), the tail's budget: ``TAIL_TOKENS``, ``RECALL``
quarantine       what waits for a person, and what approval does
feedback         verdicts and open turns: which hits an outcome touches: ``LEAST_SHARE``, ``SHOWN``
changes          correct and undo; what changed a memory, and when
slots            what filled a slot before; conflicts, and how a person settles one
scopes           names, merges and shares of scopes; promotion (``MOST_DIRECTIVES``)
sessions, session_handle  where work broke off: ``TURNS``, ``FEW``; limits of a checkpoint:
                 ``MAX_LINE``
session_extract  what is quoted of a session that ended: ``TOKENS``, ``CENTRAL``
insight          the overviews, such as health and dossier: ``AGE``, ``STALE``, ``KNOWN``, ``JUNK``,
                 ``PEERS``
sleep, spending  ``tick`` and the other verbs of the sleep; what language models used
store            looking after the store: backup, doctor, erase, stats; ``SHORTEST_ID``
vault            which side of a note and a memory changed, and how many notes may be missing:
                 ``FEW``, ``SHARE``
listing          memories without a query
"""
