"""The truth: one SQLite file (``lite``), or one schema of a PostgreSQL database (``pg``).

contract, opening  what an engine promises, such as durability; which one opens a store
group         which writers share one commit and its fsync: ``MAX_GROUP``
lite, pg      the engines; the fsync itself is asked for in ``lite.sqlite`` and ``pg.writer``
schema, rows  the tables and their version (``STEPS``); a memory as a row, locks (``MOST_LOCKED``)
dialect, match  where the engines' SQL differs; what may be asked of the full text
meta, namespaces  single values by name; the number of each owner, and its checksum
filters, predicate  which filters are valid (``MAX_CHOICES``, ``MAX_PATH``); which rows they allow
memories, changes, past  rows and the overflow of the ring; what can be undone; an earlier moment
slot_rows, links, quotes  who holds a slot; what leads where; when an article is withdrawn
vectors, newest  embeddings and the backlog of the indexer; how far a namespace has come
usage_events  the log of uses and verdicts; sums of it, which can be dropped, are in the next three
strength_fold, co_use, learnt_weights  strengths; links by use; weights that feedback taught
claim_rows, succession_rows  how far statements were compared in the background (``MOST_READ``)
scope_rows, session_rows, loop_rows  scopes and shares; sessions; turns without an outcome yet
sleep_rows, model_rows  how far a sleep came; what waits for a language model (``MOST``)
parts         in which a long turn is stored, and how they are found
copies, replays  whether what is read or said again was removed before
reviews  whether somebody may have read an erased memory with an id, to approve it
erasure       what is deleted for good, and in which order the rest follows: ``PARTS``, ``FEW``
checks, transfer  what is damaged, and what is rebuilt; a namespace as it goes out and comes in

All SQL is in this package, except the conditions on a status, which ``status.sql`` makes, and what
``ingest.readers.agents`` asks the databases of other programs.
"""
