"""Look up the holder of a slot, and its earlier holders. The rules are in ``write.slots``.

Writers call these too, so they leave out erased memories whose rows are not deleted yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from memento.ledger.contract import Transaction
from memento.ledger.dialect import number_of, without_index
from memento.ledger.memories import NOT_ERASED
from memento.ledger.rows import Row, first, is_sound, select, single
from memento.status import sql

_ENDED, _HOLDS_SLOT, _OF_SLOT = sql("ended"), sql("holds_slot"), sql("holds_slot", "ended")
_HELD = "(valid_until IS NULL OR valid_until > valid_from)"
"""The condition of a value that held or will hold; a plan that was given up ends where it
begins."""
_IN_SLOT = f"ns = ? AND key = ? AND scope = ? AND {NOT_ERASED}"
_UNEXPIRED = "(expires_at IS NULL OR expires_at > ?)"


Slot: TypeAlias = tuple[str | None, str]
"""Key and scope."""


def holders(db: Transaction, ns: int, slot: Slot) -> Iterator[Row]:
    """Yield the active memories that fill a slot, newest first, even if they do not hold now."""
    return select(db, f"{_IN_SLOT} AND {_HOLDS_SLOT} ORDER BY docid DESC", (ns, *slot))


def holder(db: Transaction, row: Row) -> Row | None:
    """Return the active memory that fills the same slot as ``row``, if there is another."""
    found = holders(db, row.ns, (row.key, row.scope))
    return next((other for other in found if other.docid != row.docid), None)


def holder_of(db: Transaction, ns: int, slot: Slot) -> Row | None:
    """Return the newest active memory that fills a slot, even if it does not hold now."""
    return next(holders(db, ns, slot), None)


def value_at(
    db: Transaction, ns: int, slot: Slot, moment: int, *, now: int, present: bool
) -> Row | None:
    """Return the value of a slot at a moment, microseconds; it may be damaged.

    What expired by ``now`` is not returned. With ``present`` a value may begin later than the
    moment if it held at once when it was stored: then the clock was set back since.
    """
    told = " OR valid_from <= created_at OR valid_from <= updated_at" if present else ""
    return first(
        db,
        f"{_IN_SLOT} AND {_OF_SLOT} AND {_UNEXPIRED} AND (valid_from <= ?{told})"
        f" AND (valid_until IS NULL OR valid_until > ?) AND {_HELD}"
        " ORDER BY valid_from DESC, docid DESC LIMIT 1",
        (ns, *slot, now, moment, moment),
    )


def values(db: Transaction, ns: int, slot: Slot, now: int) -> list[Row]:
    """Return the values of a slot, present, past and planned, by the time at which they begin.

    Expired ones are left out, damaged ones are not.
    """
    where = f"{_IN_SLOT} AND {_OF_SLOT} AND {_UNEXPIRED} ORDER BY valid_from, docid"
    return list(select(db, where, (ns, *slot, now)))


def held_before(db: Transaction, ns: int, slot: Slot, now: int) -> Iterator[Row]:
    """Yield the past values of a slot that have held, the newest first; some may be damaged."""
    return select(
        db,
        f"{_IN_SLOT} AND {_ENDED} AND {_UNEXPIRED} AND valid_from <= ?"
        f" AND ({_HELD} OR valid_from <= created_at)"  # else a plan that was given up
        " ORDER BY valid_from DESC, docid DESC",
        (ns, *slot, now, now),
    )


def value_before(db: Transaction, row: Row) -> Row | None:
    """Return the other value of a slot, present or past, that began last, at or before this one."""
    return next(_others(db, row, "valid_from <= ?", "valid_from DESC, docid DESC"), None)


def value_after(db: Transaction, row: Row, until: int | None = None) -> Row | None:
    """Return the other value of a slot, present or past, that begins next, by ``until``."""
    limit = "" if until is None else f" AND valid_from <= {until:d}"
    return next(_others(db, row, f"valid_from > ?{limit}", "valid_from, docid"), None)


def values_from(db: Transaction, row: Row) -> list[Row]:
    """Return the other values of a slot that begin when this one does or later, in order."""
    return list(_others(db, row, "valid_from >= ?", "valid_from, docid"))


def _others(db: Transaction, row: Row, begun: str, order: str) -> Iterator[Row]:
    """Yield the other values of a slot that hold at any moment; damaged ones are skipped."""
    found = select(
        db,
        f"{_IN_SLOT} AND {begun} AND docid <> ? AND {_OF_SLOT} AND {_HELD} ORDER BY {order}",
        (row.ns, row.key, row.scope, row.valid_from, row.docid),
    )
    return filter(is_sound, found)


def replaced_by(db: Transaction, row: Row) -> list[Row]:
    """Return the memories that a memory superseded, in order of arrival."""
    where = (
        f"{without_index('ns')} = ? AND superseded_by = ? AND docid IN"
        " (SELECT dst FROM links WHERE src = ? AND relation = 'supersedes')"
        f" AND {_ENDED} AND {NOT_ERASED} ORDER BY docid"
    )
    return list(select(db, where, (row.ns, row.id, row.docid)))


def held_until(db: Transaction, row: Row) -> int | None:
    """Return until when a memory would hold had it not been superseded; None for no end."""
    query = (
        f"SELECT {number_of('earlier', 'valid_until')} FROM versions WHERE docid = ?"
        f" AND reason = 'superseded' AND {_HOLDS_SLOT} ORDER BY rev DESC LIMIT 1"
    )
    ends: int | None = single(db, query, (row.docid,))
    return ends
