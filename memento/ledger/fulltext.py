"""The FTS5 index: what goes in, and the postings that come out.

FTS5 stems, folds and stores the postings. The ranking is ours (``retrieve/``), since FTS5's
``bm25()`` counts every tenant's rows and cannot see the neighbouring turns.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from memento.ledger.rows import Row, docid_range
from memento.ledger.sqlite import Connection, DatabaseError
from memento.text import Columns, columns

MERGED_PAGES = 64
"""Pages of the index one merge may write, so that no ``add`` waits long behind it."""


def columns_of(row: Row) -> Columns:
    """Compose what is indexed of a memory."""
    return columns(
        row.text,
        actor=row.actor,
        role=row.role,
        key=row.key,
        aliases=json.loads(row.aliases),
        tags=json.loads(row.tags),
    )


def insert(connection: Connection, documents: Iterable[tuple[int, Columns]]) -> None:
    """Index new rows."""
    connection.executemany(
        "INSERT INTO memories_fts (rowid, title, head, rest) VALUES (?, ?, ?, ?)",
        [(docid, *document) for docid, document in documents],
    )


def replace(connection: Connection, docid: int, document: Columns) -> None:
    """Index a row anew after its text changed."""
    connection.execute("DELETE FROM memories_fts WHERE rowid = ?", (docid,))
    insert(connection, [(docid, document)])


def postings(connection: Connection, ns: int, match: str, limit: int) -> str:
    """Find the newest rows of a namespace that match.

    Args:
        connection: Any connection.
        ns: Namespace number.
        match: FTS5 expression, built by ``retrieve.query`` and by nobody else.
        limit: Most rows to return, >= 1.

    Returns:
        Their ``seq``, joined by commas, in no order: one value costs the driver a fraction of
        what as many rows do (0.1 us a row against 0.5).
    """
    low, high = docid_range(ns)
    (found,) = connection.execute(
        "SELECT group_concat(seq) FROM (SELECT rowid - ?2 AS seq FROM memories_fts"
        " WHERE memories_fts MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid DESC LIMIT ?4)",
        (match, low, high, limit),
    ).fetchone()
    return found or ""


def holds(connection: Connection, ns: int, word: str) -> bool:
    """Tell whether any memory of a namespace has a word.

    Args:
        connection: Any connection.
        ns: Namespace number.
        word: A folded word of letters and digits only.
    """
    low, high = docid_range(ns)
    found = connection.execute(
        "SELECT 1 FROM memories_fts WHERE memories_fts MATCH ? AND rowid BETWEEN ? AND ? LIMIT 1",
        (f'"{word}"', low, high),
    ).fetchone()
    return found is not None


def merge(connection: Connection) -> bool:
    """Merge some of the index's segments; tell whether there was anything to merge.

    Every commit leaves a segment of its own, and a query looks into each. FTS5 would merge
    them within an ``add``; the background thread does it in quiet moments instead.
    """
    before = connection.total_changes
    connection.execute(
        "INSERT INTO memories_fts (memories_fts, rank) VALUES ('merge', ?)", (MERGED_PAGES,)
    )
    return connection.total_changes - before > 1  # Source: sqlite.org/fts5.html, merge command


def intact(connection: Connection) -> bool:
    """Tell whether the index agrees with the texts it was built from."""
    try:
        connection.execute(
            "INSERT INTO memories_fts (memories_fts, rank) VALUES ('integrity-check', 1)"
        )
    except DatabaseError:
        return False
    return True
