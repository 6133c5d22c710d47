"""Check an SQLite file as a whole, write it again, or empty its log."""

from __future__ import annotations

from memento.ledger.lite.sqlite import Connection


def quick_check(connection: Connection) -> list[str]:
    """Return what SQLite finds wrong with the file's structure, the full-text index aside.

    That has a check of its own, and SQLite takes what this connection remembers of an older
    index for damage.
    """
    found = [str(line) for (line,) in connection.execute("PRAGMA quick_check(20)")]
    return [line for line in found if line != "ok" and "memories_fts" not in line]


WHOLE_PAGES = 8192
"""Pages in use (32 MiB) up to which the file is written again in one piece, in about 0.3 s."""


def compact(connection: Connection) -> bool:
    """Write a small file again without what was deleted. Outside any transaction, alone.

    SQLite keeps deleted rows in unused parts of its pages; copying all that is live into new pages
    leaves none.

    Returns:
        Whether it was small enough; a larger one is for `scrub`, which others need not wait for.
    """
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    if pages - free > WHOLE_PAGES:
        return False
    connection.execute("VACUUM")
    return True


def fold_log(connection: Connection, seconds: float) -> bool:
    """Fold the whole log into the file and empty it; tells whether nobody stood in the way.

    Args:
        connection: The writing connection, outside any transaction.
        seconds: Longest wait for those who read an older state, >= 0.
    """
    (before,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA busy_timeout={int(seconds * 1000)}")
    try:
        (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        connection.execute(f"PRAGMA busy_timeout={before}")
    return not busy
