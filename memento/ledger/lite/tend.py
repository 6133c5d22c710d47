"""What is done to an SQLite file as a whole: checked, written again, its log emptied."""

from __future__ import annotations

from memento.ledger.lite.sqlite import Connection


def quick_check(connection: Connection) -> list[str]:
    """Return what SQLite finds wrong with the file's structure, the full-text index aside.

    That has a check of its own, and SQLite takes what this connection remembers of an older
    index for damage.
    """
    found = [str(line) for (line,) in connection.execute("PRAGMA quick_check(20)")]
    return [line for line in found if line != "ok" and "memories_fts" not in line]


def compact(connection: Connection) -> None:
    """Write the file anew without what was deleted. Outside any transaction, nobody else writing.

    FTS5 keeps the words of deleted rows until its segments are merged, SQLite keeps deleted rows
    in unused parts of its pages; merging all segments and then copying all that is live into new
    pages leaves neither.
    """
    connection.execute("INSERT INTO memories_fts (memories_fts) VALUES ('optimize')")
    connection.execute("VACUUM")


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
