"""What can be wrong in the ledger file, looked at row by row, and what can be made again."""

from __future__ import annotations

from collections.abc import Iterator

from memento.ledger import fulltext
from memento.ledger.rows import (
    COLUMNS,
    NAMES,
    Row,
    State,
    is_changed_event,
    is_changed_link,
    is_changed_state,
    is_sound,
)
from memento.ledger.schema import FULLTEXT, SEQ_MASK
from memento.ledger.sqlite import Connection

_DERIVED = {"memories_fts": "rowid", "embeddings": "docid", "backlog": "docid", "awaited": "docid"}
"""Tables made from the memories, and the column that says of which."""

_OF_VERSIONS = ", ".join(f"v.{name}" for name in State._fields)
_STATE = len(State._fields)
_OF_MEMORIES = ", ".join(f"memories.{name}" for name in NAMES)
_ID = NAMES.index("id")

REBUILT_AT_ONCE = 1_000
"""Rows read before they are indexed anew; bounds memory."""


def quick_check(connection: Connection) -> list[str]:
    """Return what SQLite finds wrong with the file's structure, the full-text index aside.

    That has a check of its own, and SQLite takes what this connection remembers of an older
    index for damage.
    """
    found = [str(line) for (line,) in connection.execute("PRAGMA quick_check(20)")]
    return [line for line in found if line != "ok" and "memories_fts" not in line]


def changed_rows(connection: Connection) -> list[str]:
    """Return the ids of memories that are not as they were written, or not whose they were."""
    return [row.id for row in rows(connection) if not is_sound(row)]


def changed_versions(connection: Connection) -> list[str]:
    """Return the ids of memories with an earlier state that is not what it was, once for each.

    States from before schema 2, and those written before they had a checksum, cannot be told.
    """
    query = (
        f"SELECT {_OF_VERSIONS}, {_OF_MEMORIES} FROM versions AS v"
        " JOIN memories USING (docid) WHERE v.earlier IS NOT NULL ORDER BY docid"
    )
    wrong = {
        found[_STATE + _ID]: None
        for found in connection.execute(query)
        if is_changed_state(Row(*found[_STATE:]), State(*found[:_STATE]))
    }
    return list(wrong)


def changed_links(connection: Connection) -> int:
    """Count the links that are not as they were written."""
    found = connection.execute("SELECT src, dst, relation, weight, seal FROM links")
    return sum(is_changed_link(*link) for link in found)


def changed_events(connection: Connection) -> int:
    """Count the events that are not as they were written."""
    found = connection.execute("SELECT ns, at, kind, docid, detail, seal FROM events")
    return sum(is_changed_event(*event) for event in found)


def unindexed_rows(connection: Connection) -> int:
    """Count rows whose full-text entry is absent though it is due, or made from another text."""
    indexed = connection.cursor()
    known = {ns: fulltext.upto(connection, ns) for ns in _namespaces(connection)}
    wrong = 0
    for row in rows(connection):
        if row.docid > known.get(row.ns, 0):
            continue  # it waits, see ``fulltext``, or is nobody's, see ``namespaces.wrong``
        found = indexed.execute(
            "SELECT title, head, rest FROM memories_fts WHERE rowid = ?", (row.docid,)
        ).fetchone()
        wrong += found != tuple(fulltext.columns_of(row))
    return wrong


def stray_rows(connection: Connection) -> dict[str, int]:
    """Count rows of derived tables whose memory is not there, by table."""
    return {
        table: connection.execute(
            f"SELECT count(*) FROM {table} WHERE {key} NOT IN (SELECT docid FROM memories)"
        ).fetchone()[0]
        for table, key in _DERIVED.items()
    }


def unowed_rows(connection: Connection) -> int:
    """Count active rows that full text knows, without a vector or a line in the backlog."""
    (count,) = connection.execute(
        "SELECT count(*) FROM memories JOIN namespaces USING (ns) WHERE status = 'active'"
        f" AND docid & {SEQ_MASK} <= fts_upto"
        " AND docid NOT IN (SELECT docid FROM embeddings)"
        " AND docid NOT IN (SELECT docid FROM backlog)"
    ).fetchone()
    return int(count)


def rebuild_fulltext(connection: Connection) -> int:
    """Make the full-text index again from the memories; returns how many it holds."""
    connection.execute("DROP TABLE memories_fts")  # DELETE would read what may be damaged
    for statement in FULLTEXT:
        connection.execute(statement)
    connection.execute("UPDATE namespaces SET fts_upto = 0")
    for ns in _namespaces(connection):
        while fulltext.catch_up(connection, ns, REBUILT_AT_ONCE):
            pass
    (count,) = connection.execute("SELECT count(*) FROM memories_fts").fetchone()
    return int(count)


def drop_strays(connection: Connection) -> None:
    """Remove rows of derived tables whose memory is not there."""
    for table, key in _DERIVED.items():
        connection.execute(f"DELETE FROM {table} WHERE {key} NOT IN (SELECT docid FROM memories)")


def owe_missing(connection: Connection) -> None:
    """Owe a vector to every active row that has none and is owed none."""
    connection.execute(
        "INSERT INTO backlog SELECT docid, rev, 'embed' FROM memories WHERE status = 'active'"
        " AND docid NOT IN (SELECT docid FROM embeddings)"
        " AND docid NOT IN (SELECT docid FROM backlog)"
    )


def _namespaces(connection: Connection) -> list[int]:
    return [ns for (ns,) in connection.execute("SELECT ns FROM namespaces")]


def rows(connection: Connection) -> Iterator[Row]:
    """Read every memory of every namespace, in order of arrival."""
    for values in connection.execute(f"SELECT {COLUMNS} FROM memories ORDER BY docid"):
        yield Row(*values)
