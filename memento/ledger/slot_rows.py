"""Look up the holder of a slot, and its earlier holders. The rules are in ``lifecycle.slots``.

A writer calls these too, so they leave out erased memories whose rows are still to be deleted.
"""

from __future__ import annotations

from collections.abc import Iterator

from memento.ledger import memories
from memento.ledger.contract import Session
from memento.ledger.dialect import field_of, without_index
from memento.ledger.memories import NOT_ERASED
from memento.ledger.rows import COLUMNS, Row, is_sound
from memento.status import sql

_ENDED, _HOLDS_SLOT, _OF_SLOT = sql("ended"), sql("holds_slot"), sql("holds_slot", "ended")
_SELECT = f"SELECT {COLUMNS} FROM memories"
_HELD = "(valid_until IS NULL OR valid_until > valid_from)"
"""Of a value that held, or is to hold; a plan that was given up ends where it begins."""
_IN_SLOT = f"ns = ? AND key = ? AND scope = ? AND {NOT_ERASED}"
_UNEXPIRED = "(expires_at IS NULL OR expires_at > ?)"


def holder(connection: Session, row: Row) -> Row | None:
    """Return the active memory that fills the same slot as ``row``, if there is another."""
    found = connection.execute(
        f"{_SELECT} WHERE {_IN_SLOT} AND {_HOLDS_SLOT} AND docid <> ?"
        " ORDER BY docid DESC LIMIT 1",  # mostly the newest; the index would begin with the oldest
        (row.ns, row.key, row.scope, row.docid),
    ).fetchone()
    return None if found is None else Row(*found)


def holders_of(connection: Session, row: Row) -> list[Row]:
    """Return the active memories that fill the slot of ``row``; itself if it is one of them."""
    query = f"{_SELECT} WHERE {_IN_SLOT} AND {_HOLDS_SLOT}"
    return [Row(*found) for found in connection.execute(query, (row.ns, row.key, row.scope))]


def holder_of(connection: Session, ns: int, slot: tuple[str, str]) -> Row | None:
    """Return the active memory that fills a slot, given as key and scope, whether it holds now."""
    found = connection.execute(
        f"{_SELECT} WHERE {_IN_SLOT} AND {_HOLDS_SLOT} ORDER BY docid DESC LIMIT 1",
        (ns, *slot),
    ).fetchone()
    return None if found is None else Row(*found)


def value_at(
    connection: Session, ns: int, slot: tuple[str, str], moment: int, *, now: int, present: bool
) -> Row | None:
    """Return the value of a slot at a moment; it may be damaged.

    Args:
        connection: To the ledger.
        ns: Namespace number.
        slot: Key and scope.
        moment: When it must hold, microseconds.
        now: The present moment; what expired by then is not returned.
        present: Whether a value may begin later than ``moment``, if it was to hold at once when it
            was told: then the clock was set back since.
    """
    told = " OR valid_from <= created_at OR valid_from <= updated_at" if present else ""
    found = connection.execute(
        f"{_SELECT} WHERE {_IN_SLOT} AND {_OF_SLOT} AND {_UNEXPIRED} AND (valid_from <= ?{told})"
        f" AND (valid_until IS NULL OR valid_until > ?) AND {_HELD}"
        " ORDER BY valid_from DESC, docid DESC LIMIT 1",
        (ns, *slot, now, moment, moment),
    ).fetchone()
    return None if found is None else Row(*found)


def values(connection: Session, ns: int, slot: tuple[str, str], now: int) -> list[Row]:
    """Return the values of a slot, present, past and planned, in the order in which they begin.

    Those that expired are left out; a damaged one is not.
    """
    found = connection.execute(
        f"{_SELECT} WHERE {_IN_SLOT} AND {_OF_SLOT} AND {_UNEXPIRED} ORDER BY valid_from, docid",
        (ns, *slot, now),
    )
    return [Row(*value) for value in found]


def held_before(connection: Session, ns: int, slot: tuple[str, str], now: int) -> Iterator[Row]:
    """Yield the past values of a slot that have held, the newest first; some may be damaged."""
    found = connection.execute(
        f"{_SELECT} WHERE {_IN_SLOT} AND {_ENDED} AND {_UNEXPIRED} AND valid_from <= ?"
        f" AND ({_HELD} OR valid_from <= created_at)"  # else a plan that was given up
        " ORDER BY valid_from DESC, docid DESC",
        (ns, *slot, now, now),
    )
    yield from (Row(*value) for value in found)


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
        f"{_SELECT} WHERE {_IN_SLOT} AND valid_from >= ? AND docid <> ?"
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
        f" AND docid <> ?5 AND {NOT_ERASED} AND {_OF_SLOT} AND {_HELD}"
        f" ORDER BY {order} LIMIT 1 OFFSET ?6"
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
        f" AND {_ENDED} AND {NOT_ERASED} ORDER BY docid",
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
