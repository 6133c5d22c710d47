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

Refused is ``LockedMemory``: nothing is written. A lock takes away the expiry of a memory.
"""

from __future__ import annotations

from collections.abc import Iterable

from memento.check import shown
from memento.dynamics.fold import DAY
from memento.errors import InvalidInput, LockedMemory, TooManyLocks, UntrustedSource
from memento.ledger import changes as recorded
from memento.ledger import memories, strength_fold, usage_events
from memento.ledger.contract import Work
from memento.ledger.rows import BITS, LOCKS, MOST_LOCKED, PINNED, PROMOTED, USER, Row, lock_of
from memento.types import Event, Reason, Trust
from memento.write.steps import FOUND, log_event

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
    """Refuse that a memory is replaced by another one, of a class of trust.

    Raises:
        LockedMemory: If the user locked it, or only the user may replace it.
    """
    guard([old])
    if _bits(old) & PROMOTED and trust != Trust.USER:
        raise LockedMemory(old.id, "promoted")


def is_locked(row: Row) -> bool:
    """Tell whether the user locked a memory."""
    return bool(_bits(row) & USER)


def lock(work: Work, memory_id: str, level: object) -> Row:
    """Lock a memory; its expiry is taken away. A higher lock takes the place of a lower one.

    Raises:
        NotFound: If the namespace has no such id.
        InvalidInput: If it is not active, or there is no such level.
        UntrustedSource: If the user did not say it.
        TooManyLocks: If the user locked as many as may be.
    """
    if not isinstance(level, str) or level not in BITS:
        raise InvalidInput("level", f"{shown(level)} is not one of: {', '.join(BITS)}")
    row = _to_protect(work, memory_id)
    if _bits(row) & BITS[level] or is_locked(row):
        return row
    if level == "user" and len(memories.locked(work.db, work.ns)) >= MOST_LOCKED:
        raise TooManyLocks(MOST_LOCKED)
    bits = _bits(row) & PINNED | BITS[level]
    _set(work, row, {"pinned": bits, "expires_at": None}, Reason.LOCKED)
    log_event(work, row, Event.LOCKED, {"level": level})
    return row


def unlock(work: Work, memory_id: str) -> Row:
    """Take the lock of a memory away.

    Raises:
        NotFound: If the namespace has no such id.
    """
    row = memories.by_id(work.db, work.ns, memory_id)
    level = lock_of(_bits(row))
    if level is not None:
        _set(work, row, {"pinned": _bits(row) & ~LOCKS}, Reason.UNLOCKED)
        log_event(work, row, Event.UNLOCKED, {"level": level})
    return row


def pin(work: Work, memory_id: str) -> Row:
    """Let a memory never fade.

    Raises:
        NotFound: If the namespace has no such id.
        InvalidInput: If it is not active.
        UntrustedSource: If the user did not say it.
    """
    row = _to_protect(work, memory_id)
    if not _bits(row) & PINNED:
        _set(work, row, {"pinned": _bits(row) | PINNED}, Reason.PINNED)
        log_event(work, row, Event.PINNED)
    return row


def unpin(work: Work, memory_id: str) -> Row:
    """Let a memory fade again.

    Raises:
        NotFound: If the namespace has no such id.
    """
    row = memories.by_id(work.db, work.ns, memory_id)
    if _bits(row) & PINNED:
        _set(work, row, {"pinned": _bits(row) & ~PINNED}, Reason.UNPINNED)
        log_event(work, row, Event.UNPINNED)
    return row


def lost(work: Work, row: Row, pinned: int) -> dict[str, int]:
    """Take the lock away from a memory that is trusted less from now on.

    Args:
        work: The transaction.
        row: The memory, still as it was.
        pinned: Bits that it is to have.

    Returns:
        The column to change, if it was locked.
    """
    level = lock_of(_bits(row))
    if level is None:
        return {}
    log_event(work, row, Event.UNLOCKED, {"level": level, "by": "trust"})
    strength_fold.fold_again(work.db, row.docid)
    return {"pinned": pinned & ~LOCKS}


def judged(work: Work, row: Row) -> None:
    """Take the lock of a promoted memory away if two verdicts of two days or sources oppose it."""
    if lock_of(_bits(row)) != "promoted":
        return
    told = usage_events.told_of(work.db, row.docid)
    since = usage_events.last_of(work.db, row.docid, Event.LOCKED)
    standing = [one for one in usage_events.standing_ones(told) if one.event > since]
    opposed = {(one.at // DAY, one.source) for one in standing if one.kind in _AGAINST}
    heard = {one for one in opposed if not Trust.outranks(row.trust, one[1] or "")}
    if len(heard) > 1:
        _set(work, row, {"pinned": _bits(row) & ~LOCKS}, Reason.UNLOCKED)
        log_event(work, row, Event.UNLOCKED, {"level": "promoted", "by": "verdicts"})


def _to_protect(work: Work, memory_id: str) -> Row:
    """Read a memory that is to be locked or pinned."""
    row = memories.by_id(work.db, work.ns, memory_id)
    if row.status not in FOUND:
        raise InvalidInput("id", f"{memory_id!r} is {row.status}, not active")
    if row.trust != Trust.USER:
        problem = f"{memory_id!r} comes from {row.trust}; only what the user says can be locked or"
        raise UntrustedSource("id", f"{problem} pinned; say it in your own name")
    if row.expires_at is not None and row.expires_at <= work.now:
        raise InvalidInput("id", f"{memory_id!r} has expired; add it again")
    return row


def _set(work: Work, row: Row, changes: dict[str, int | None], reason: Reason) -> None:
    before = row.pinned
    recorded.revise(work, row, changes | {"updated_at": work.now}, reason)
    if lock_of(before) != lock_of(row.pinned):
        strength_fold.fold_again(work.db, row.docid)


def _bits(row: Row) -> int:
    """Return the bits of a row; none if damage made something else of them."""
    return row.pinned if isinstance(row.pinned, int) else 0
