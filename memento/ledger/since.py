"""Read what came, changed or went in a namespace after a revision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memento.ledger.contract import Session
from memento.ledger.rows import COLUMNS, Row, docid_range, string_in, strings_in
from memento.ledger.schema import SEQ_MASK

_OUTLINE = (
    "docid, session, actor, scope, tier, kind, status, words, head_words, cues, importance,"
    " occurred_at, expires_at, valid_from, valid_until, CASE WHEN superseded_by IS NOT NULL THEN"
    " ifnull((SELECT heir.docid FROM memories AS heir WHERE heir.ns = memories.ns"
    " AND heir.id = memories.superseded_by), -1) END, key, aliases"
)
_NOTHING = (
    None, None, "", "medium", "fact", "erased", 0, 0, 0, 0.0, 0, None, 0, None, None, None, "[]",
)  # fmt: skip
"""The outline of an erased memory, but for its row id."""
_SINCE = (
    "SELECT {0} FROM memories WHERE docid > ?1 AND docid <= ?2"
    " UNION ALL SELECT {0} FROM memories WHERE ns = ?3 AND rev > ?4"
    f" AND rev <> (docid & {SEQ_MASK}) AND docid <= ?1"
)


def changes_since(connection: Session, ns: int, rev: int, *, limit: int) -> list[Row]:
    """Return the rows of a namespace that came or changed after ``rev``."""
    found = connection.execute(f"{_SINCE.format(COLUMNS)} LIMIT ?", (*_since(ns, rev), limit))
    return [Row(*values) for values in found]


def changed_since(connection: Session, ns: int, rev: int) -> dict[int, Row]:
    """Read the rows of a namespace that changed after ``rev`` and after they came, by row id."""
    query = (
        f"SELECT {COLUMNS} FROM memories WHERE ns = ? AND rev > ? AND rev <> (docid & {SEQ_MASK})"
    )
    return {values[0]: Row(*values) for values in connection.execute(query, (ns, rev))}


def outlines_since(connection: Session, ns: int, rev: int) -> list[tuple[Any, ...]]:
    """Return what the read path keeps in RAM of every row that came, changed or went after ``rev``.

    Each is (docid, session, actor, scope, tier, kind, status, words, head_words, cues,
    importance, occurred_at, expires_at, valid_from, valid_until, successor, key, aliases):
    times in microseconds since 1970 UTC, the row id of the successor (-1 if it is not stored),
    aliases as JSON. Of what was erased only the row id is left.
    """
    outlines = connection.execute(_SINCE.format(_OUTLINE), _since(ns, rev)).fetchall()
    return outlines + [(docid, *_NOTHING) for docid in erased_since(connection, ns, rev)]


def said_since(
    connection: Session, ns: int, rev: int, first: int
) -> Iterator[tuple[int, str, str | None, list[str | None]]]:
    """Yield what is said in every row from ``first`` on that came or changed after ``rev``.

    Each is (docid, status, text, names): actor or role, key, aliases, tags. A damaged value is
    None or left out.
    """
    low, high, _, _ = _since(ns, rev)
    columns = "docid, status, text, ifnull(actor, role), key, aliases, tags"
    query = f"SELECT * FROM ({_SINCE.format(columns)}) WHERE docid >= ?5"
    for docid, status, text, who, key, aliases, tags in connection.execute(
        query, (low, high, ns, rev, first)
    ):
        names = [string_in(who), string_in(key), *strings_in(aliases), *strings_in(tags)]
        yield docid, status, string_in(text), names


def named_since(
    connection: Session, ns: int, rev: int
) -> Iterator[tuple[int, str, int, str, list[str]]]:
    """Yield what names the rows that came or changed after ``rev``.

    Each is (docid, status, occurred_at, text, names): key and aliases. A damaged value is left out.
    """
    columns = "docid, status, occurred_at, text, key, aliases"
    for docid, status, at, text, key, aliases in connection.execute(
        _SINCE.format(columns), _since(ns, rev)
    ):
        own = [string_in(key), *strings_in(aliases)]
        said = string_in(text)
        if isinstance(at, int) and said is not None:
            yield docid, str(status), at, said, [name for name in own if name]


def erased_since(connection: Session, ns: int, rev: int) -> list[int]:
    """Return the row ids that came up to ``rev`` and were erased after it."""
    low, _ = docid_range(ns)
    query = "SELECT docid FROM erased WHERE ns = ? AND rev > ? AND docid <= ?"
    return [docid for (docid,) in connection.execute(query, (ns, rev, low + rev))]


def _since(ns: int, rev: int) -> tuple[int, int, int, int]:
    low, high = docid_range(ns)
    return low + rev, high, ns, rev
