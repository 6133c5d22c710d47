"""Locks and pins: who may set them, and what each forbids.

==============================================  ==========  ============================  ========
change                                          pinned      promoted                      user
==============================================  ==========  ============================  ========
fades, is forgotten by ``sweep``                no [1]_     yes                           no
``ignored`` as evidence                         yes         no                            no
``wrong`` or ``harmful`` as evidence            yes         yes; two of them, from two    no
                                                            days or sources, unlock it
replaced: by key, ``supersedes``, ``replace``   yes         by the user only              refused
``update``, ``forget``, ``move``, ``touch``     yes         yes                           refused
merged with a repeat that says more             yes         yes                           no
``erase``                                       yes         yes                           yes
quarantined because a parent is untrusted       yes         yes, and unlocked             the same
==============================================  ==========  ============================  ========

.. [1] An expiry that the caller gave applies to a pinned memory.

Refused: raises ``LockedMemory`` and writes nothing. Locking removes the expiry of a memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from memento.base.clock import DAY
from memento.base.lazy import later
from memento.check import shown
from memento.errors import InvalidInput, LockedMemory, TooManyLocks, UntrustedSource
from memento.ledger import memories
from memento.ledger.contract import Work
from memento.ledger.rows import BITS, LOCKS, MOST_LOCKED, PINNED, PROMOTED, USER, Row, lock_of
from memento.types import Event, Reason, Trust
from memento.write.steps import FOUND, alter, log_event

if TYPE_CHECKING:
    from memento.ledger import strength_fold, usage_events
else:
    strength_fold = later("memento.ledger.strength_fold")
    usage_events = later("memento.ledger.usage_events")

_AGAINST = (Event.WRONG, Event.HARMFUL)


def guard(rows: Iterable[Row]) -> None:
    """Refuse a change of memories that the user locked.

    Raises:
        LockedMemory: If one of them is.
    """
    for row in rows:
        if _bits(row) & USER:
            raise LockedMemory(row.id, "user")


def guard_replaced(old: Row, trust: str) -> None:
    """Refuse to replace a locked memory by one of the class ``trust``.

    Raises:
        LockedMemory: If the user locked it, or only the user may replace it.
    """
    guard([old])
    if _bits(old) & PROMOTED and trust != Trust.USER:
        raise LockedMemory(old.id, "promoted")


def is_locked(row: Row) -> bool:
    """Return whether the user locked a memory."""
    return bool(_bits(row) & USER)


def lock(work: Work, memory_id: str, level: object) -> Row:
    """Lock a memory and remove its expiry. A higher lock replaces a lower one."""
    if not isinstance(level, str) or level not in BITS:
        raise InvalidInput("lock", f"{shown(level)} is not one of: {', '.join(BITS)}")
    row = _to_protect(work, memory_id)
    if _bits(row) & BITS[level] or is_locked(row):
        return row
    if level == "user" and len(memories.locked(work.db, work.ns)) >= MOST_LOCKED:
        raise TooManyLocks(MOST_LOCKED)
    bits = _bits(row) & PINNED | BITS[level]
    return _set(work, row, bits, Reason.LOCKED, {"level": level}, expires_at=None)


def unlock(work: Work, memory_id: str) -> Row:
    """Unlock a memory."""
    row = memories.by_id(work.db, work.ns, memory_id)
    level = lock_of(_bits(row))
    if level is None:
        return row
    return _set(work, row, _bits(row) & ~LOCKS, Reason.UNLOCKED, {"level": level})


def pin(work: Work, memory_id: str) -> Row:
    """Protect a memory from fading."""
    row = _to_protect(work, memory_id)
    if _bits(row) & PINNED:
        return row
    return _set(work, row, _bits(row) | PINNED, Reason.PINNED)


def unpin(work: Work, memory_id: str) -> Row:
    """Let a pinned memory fade again."""
    row = memories.by_id(work.db, work.ns, memory_id)
    if not _bits(row) & PINNED:
        return row
    return _set(work, row, _bits(row) & ~PINNED, Reason.UNPINNED)


def lost(work: Work, row: Row, pinned: int) -> dict[str, int]:
    """Note that a memory loses its lock because its trust fell.

    ``pinned`` has the bits it would get otherwise; returns the column to change, if any.
    """
    level = lock_of(_bits(row))
    if level is None:
        return {}
    log_event(work, row, Event.UNLOCKED, {"level": level, "by": "trust"})
    strength_fold.fold_again(work.db, row.docid)
    return {"pinned": pinned & ~LOCKS}


def judged(work: Work, row: Row) -> None:
    """Unlock a promoted memory if two verdicts, of two days or sources, are against it."""
    if lock_of(_bits(row)) != "promoted":
        return
    told = usage_events.told_of(work.db, row.docid)
    since = usage_events.last_of(work.db, row.docid, Event.LOCKED)
    standing = [one for one in usage_events.standing_ones(told) if one.event > since]
    opposed = {(one.at // DAY, one.source) for one in standing if one.kind in _AGAINST}
    heard = {one for one in opposed if not Trust.outranks(row.trust, one[1] or "")}
    if len(heard) > 1:
        detail = {"level": "promoted", "by": "verdicts"}
        _set(work, row, _bits(row) & ~LOCKS, Reason.UNLOCKED, detail)


def _to_protect(work: Work, memory_id: str) -> Row:
    """Read a memory and check that it may be locked or pinned."""
    row = memories.by_id(work.db, work.ns, memory_id)
    if row.trust != Trust.USER:
        problem = (
            f"{memory_id!r} comes from {row.trust}; only memories from the user can be locked or"
        )
        raise UntrustedSource("id", f"{problem} pinned; add it as the user")
    if row.status not in FOUND:
        raise InvalidInput("id", f"{memory_id!r} is {row.status}, not active")
    if row.expires_at is not None and row.expires_at <= work.now:
        raise InvalidInput("id", f"{memory_id!r} has expired; add it again")
    return row


def _set(
    work: Work,
    row: Row,
    pinned: int,
    reason: Reason,
    detail: dict[str, str] | None = None,
    **more: None,
) -> Row:
    before = row.pinned
    alter(work, row, {"pinned": pinned, **more}, reason, Event(reason.value), detail)
    if lock_of(before) != lock_of(row.pinned):
        strength_fold.fold_again(work.db, row.docid)
    return row


def _bits(row: Row) -> int:
    """Return the ``pinned`` bits of a row; 0 if they are damaged."""
    return row.pinned if isinstance(row.pinned, int) else 0
