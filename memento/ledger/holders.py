"""Look up the holder of a slot, and its earlier holders. The rules are in ``lifecycle.slots``."""

from __future__ import annotations

from memento.ledger import memories
from memento.ledger.contract import Session
from memento.ledger.dialect import field_of, without_index
from memento.ledger.rows import COLUMNS, Row, is_sound
from memento.status import sql

_ENDED, _HOLDS_SLOT, _OF_SLOT = sql("ended"), sql("holds_slot"), sql("holds_slot", "ended")
_SELECT = f"SELECT {COLUMNS} FROM memories"
_HELD = "(valid_until IS NULL OR valid_until > valid_from)"
"""Of a value that held, or is to hold; a plan that was given up ends where it begins."""


def holder(connection: Session, row: Row) -> Row | None:
    """Return the active memory that fills the same slot as ``row``, if there is another."""
    found = connection.execute(
        f"{_SELECT} WHERE ns = ? AND key = ? AND scope = ? AND {_HOLDS_SLOT} AND docid <> ?"
        " ORDER BY docid DESC LIMIT 1",  # mostly the newest; the index would begin with the oldest
        (row.ns, row.key, row.scope, row.docid),
    ).fetchone()
    return None if found is None else Row(*found)


def value_before(connection: Session, row: Row) -> Row | None:
    """Return the other value of a slot, present or past, that began last, not after this one."""
    return _value(connection, row, "valid_from <= ?3", "valid_from DESC, docid DESC")


def value_after(connection: Session, row: Row, until: int | None = None) -> Row | None:
    """Return the other value of a slot, present or past, that begins next after this one.

    Args:
        connection: Inside a transaction.
        row: A value of the slot.
        until: Latest moment at which it may begin, microseconds; None for any.
    """
    limit = "" if until is None else f" AND valid_from <= {until:d}"
    return _value(connection, row, f"valid_from > ?3{limit}", "valid_from, docid")


def values_from(connection: Session, row: Row) -> list[Row]:
    """Return the other values of a slot that begin with this one or later, the first one first."""
    found = connection.execute(
        f"{_SELECT} WHERE ns = ? AND key = ? AND scope = ? AND valid_from >= ? AND docid <> ?"
        f" AND {_OF_SLOT} AND {_HELD} ORDER BY valid_from, docid",
        (row.ns, row.key, row.scope, row.valid_from, row.docid),
    )
    return [other for other in (Row(*values) for values in found) if is_sound(other)]


def _value(connection: Session, row: Row, condition: str, order: str) -> Row | None:
    """Return the first other value of a slot that fits a condition.

    Damaged ones are skipped, and those that hold at no moment.
    """
    query = (
        f"SELECT docid FROM memories WHERE ns = ?1 AND key = ?2 AND {condition} AND scope = ?4"
        f" AND docid <> ?5 AND {_OF_SLOT} AND {_HELD} ORDER BY {order} LIMIT 1 OFFSET ?6"
    )
    asked = (row.ns, row.key, row.valid_from, row.scope, row.docid)
    place = 0
    while found := connection.execute(query, (*asked, place)).fetchone():
        if is_sound(other := memories.by_docid(connection, found[0])):
            return other
        place += 1
    return None


def replaced_by(connection: Session, row: Row) -> list[Row]:
    """Return the superseded memories whose place a memory took, in order of arrival."""
    found = connection.execute(
        f"{_SELECT} WHERE {without_index('ns')} = ? AND superseded_by = ? AND docid IN"
        " (SELECT dst FROM links WHERE src = ? AND relation = 'supersedes')"
        f" AND {_ENDED} ORDER BY docid",
        (row.ns, row.id, row.docid),
    ).fetchall()
    return [Row(*values) for values in found]


def held_until(connection: Session, row: Row) -> int | None:
    """Return until when a superseded memory would hold if nothing had taken its place."""
    found = connection.execute(
        f"SELECT {field_of('earlier', 'valid_until')} FROM versions"
        f" WHERE docid = ? AND reason = 'superseded' AND {_HOLDS_SLOT}"
        " ORDER BY rev DESC LIMIT 1",
        (row.docid,),
    ).fetchone()
    return None if found is None else found[0]
