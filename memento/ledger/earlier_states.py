"""Read what came, changed or went in a namespace after a revision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from memento.base import layout
from memento.errors import StoreUnusable
from memento.ledger.contract import Session
from memento.ledger.dialect import listed, one_of
from memento.ledger.rows import (
    COLUMNS,
    STATE,
    Row,
    State,
    column,
    damaged,
    docid_range,
    earlier_state,
    is_changed_state,
    select,
    string_in,
    strings_in,
)
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


def changes_since(db: Session, ns: int, rev: int, *, limit: int) -> list[Row]:
    """Return the rows of a namespace that came or changed after ``rev``."""
    found = db.execute(f"{_SINCE.format(COLUMNS)} LIMIT ?", (*_since(ns, rev), limit))
    return [Row(*values) for values in found]


def changed_since(db: Session, ns: int, rev: int) -> dict[int, Row]:
    """Read the rows of a namespace that changed after ``rev`` and after they came, by row id."""
    found = select(db, f"ns = ? AND rev > ? AND rev <> (docid & {SEQ_MASK})", (ns, rev))
    return {row.docid: row for row in found}


def outlines_since(db: Session, ns: int, rev: int) -> list[tuple[Any, ...]]:
    """Return what the read path keeps in RAM of every row that came, changed or went after ``rev``.

    Each is (docid, session, actor, scope, tier, kind, status, words, head_words, cues,
    importance, occurred_at, expires_at, valid_from, valid_until, successor, key, aliases):
    times in microseconds since 1970 UTC, the row id of the successor (-1 if it is not stored),
    aliases as JSON. Of what was erased only the row id is left.
    """
    outlines = db.execute(_SINCE.format(_OUTLINE), _since(ns, rev)).fetchall()
    return outlines + [(docid, *_NOTHING) for docid in erased_since(db, ns, rev)]


def said_since(
    db: Session, ns: int, rev: int, first: int
) -> Iterator[tuple[int, str, str | None, list[str | None]]]:
    """Yield what is said in every row from ``first`` on that came or changed after ``rev``.

    Each is (docid, status, text, names): actor or role, key, aliases, tags. A damaged value is
    None or left out.
    """
    low, high, _, _ = _since(ns, rev)
    columns = "docid, status, text, ifnull(actor, role), key, aliases, tags"
    query = f"SELECT * FROM ({_SINCE.format(columns)}) WHERE docid >= ?5"
    for docid, status, text, who, key, aliases, tags in db.execute(
        query, (low, high, ns, rev, first)
    ):
        names = [string_in(who), string_in(key), *strings_in(aliases), *strings_in(tags)]
        yield docid, status, string_in(text), names


def named_since(db: Session, ns: int, rev: int) -> Iterator[tuple[int, str, int, str, list[str]]]:
    """Yield what names the rows that came or changed after ``rev``.

    Each is (docid, status, occurred_at, text, names): key and aliases. A damaged value is left out.
    """
    columns = "docid, status, occurred_at, text, key, aliases"
    for docid, status, at, text, key, aliases in db.execute(
        _SINCE.format(columns), _since(ns, rev)
    ):
        own = [string_in(key), *strings_in(aliases)]
        said = string_in(text)
        if isinstance(at, int) and said is not None:
            yield docid, str(status), at, said, [name for name in own if name]


def erased_since(db: Session, ns: int, rev: int) -> list[int]:
    """Return the row ids that came up to ``rev`` and were erased after it."""
    low, _ = docid_range(ns)
    query = "SELECT docid FROM erased WHERE ns = ? AND rev > ? AND docid <= ?"
    return column(db, query, (ns, rev, low + rev))


def _since(ns: int, rev: int) -> tuple[int, int, int, int]:
    low, high = docid_range(ns)
    return low + rev, high, ns, rev


def at_revision(db: Session, row: Row, rev: int) -> Row:
    """Return a memory as it was in its earlier state of a revision, which is there.

    Raises:
        StoreUnusable: If that state is damaged.
    """
    query = f"SELECT {STATE} FROM versions WHERE docid = ? AND rev = ?"
    return past(row, State(*db.execute(query, (row.docid, rev)).fetchone()))


def past(row: Row, state: State) -> Row:
    """Return a memory as it was in an earlier state.

    Raises:
        StoreUnusable: If that state is damaged.
    """
    found = None if is_changed_state(row, state) else earlier_state(row, state)
    if found is None:
        raise StoreUnusable(layout.LEDGER, f"an earlier state of {damaged([row.id])}")
    return found


def at_moment(db: Session, row: Row, moment: int) -> Row | None:
    """Return a memory as it was recorded at a moment, microseconds; None if it was not yet.

    Raises:
        StoreUnusable: If that state is damaged.
    """
    query = f"SELECT {STATE} FROM versions WHERE docid = ? AND until > ? ORDER BY rev LIMIT 1"
    found = db.execute(query, (row.docid, moment)).fetchone()
    then = row if found is None else past(row, State(*found))
    return then if then.created_at <= moment else None


def touched_between(db: Session, ns: int, since: int, until: int) -> list[int]:
    """Return the row ids of the memories that came or changed after a moment, up to another."""
    low, high = docid_range(ns)
    query = (
        "SELECT docid FROM memories WHERE docid BETWEEN ?1 AND ?2"
        " AND created_at > ?3 AND created_at <= ?4"
        " UNION SELECT docid FROM versions WHERE docid BETWEEN ?1 AND ?2"
        " AND until > ?3 AND until <= ?4 ORDER BY docid"
    )
    return column(db, query, (low, high, since, until))


def numbered(db: Session, docid: int) -> list[tuple[State, int | None, str | None]]:
    """Read the earlier states of a memory, oldest first, each with the change that ended it.

    That is its number, and the class of who made it; None if not known.
    """
    query = (
        f"SELECT {STATE}, versions.change, changes.by FROM versions"
        " LEFT JOIN changes ON changes.change = versions.change WHERE docid = ? ORDER BY rev"
    )
    found = db.execute(query, (docid,)).fetchall()
    return [(State(*one[:-2]), one[-2], one[-1]) for one in found]


def names(db: Session, docids: Sequence[int]) -> dict[int, str]:
    """Return the ids of some memories by row id, in order of arrival."""
    query = f"SELECT docid, id FROM memories WHERE docid {one_of()} ORDER BY docid"
    return dict(db.execute(query, (listed(docids),)).fetchall())
