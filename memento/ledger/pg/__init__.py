"""The engine on a PostgreSQL server, 15 or later: for several machines that share a store.

store    the engine, see ``contract.Ledger``; connections: ``MOST_CONNECTIONS``, ``OLDEST_SERVER``
writer   what a commit locks, and whether one whose answer was lost was made: ``DOUBT_SECONDS``
connect  how the shared SQL is sent, and what the server's errors become
schema   the tables, the functions of SQLite that the server lacks, and who sees which rows
words    the full text: how postings are stored and found, and when a row is indexed
         (``MOST_WAITING``)
"""
