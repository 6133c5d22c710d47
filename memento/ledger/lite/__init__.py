"""The ledger in one SQLite file, and the folder around it.

store     the engine, see ``contract.Ledger``: one writer, a reader for each thread
writer    one commit of a group, and when the log goes into the file: ``LOG_PAGES``, ``LEAST_PAGES``
sqlite    how connections are set, ``synchronous=FULL`` among it, and what SQLite's errors become
gate      which process writes next: ``PATIENCE``
fulltext  when a row is indexed (``MOST_WAITING``), and which rows have a word
upgrade, library  the version of a file; which SQLite is used: ``SAFE_VERSION``
root, presence  which folder may hold a store; whether its files are still the ones opened
reserve   room for a full disk: ``SIZE``, ``SHARE``, ``LEAST``
copying, swap  backups and set-backs; a new store in place of one, which stays beside it
rescue, file_pages  what is whole in a damaged file; its records, page by page
scrub     how deleted rows are overwritten while others work: ``BITE_SECONDS``

Outside of it only ``ledger.opening`` and ``ledger.pg.words`` know it; the latter takes the
tokenizer and the index of waiting rows from ``fulltext`` and ``library``.
"""
