"""Slots: which memory holds one, which supersedes which, and which holds again.

A slot is a key in a scope; at most one memory holds it. Every change that could make it two calls
``contend``, the only function that decides; ``give_back`` only fills a slot without a holder. The
changes differ in who wins:

==================  ================================================================================
change              who holds the slot afterwards
==================  ================================================================================
``add``             the new value, unless it is dated and held before the present one: then it
                    becomes history, between the values that began before and after it
``update``          the memory whose scope was changed
``approve``         the approved memory, unless it began before the present one: as for ``add``
``restore``         the present holder, unless its time is over, or it holds now and the memory is
                    planned for later; ``unarchive`` alike
``forget``          the value before, if the memory alone is meant and planned for later; else none
``undo``            the present holder
``revert``          a copy of the value before, which begins now
``promote``         the memory that moved to the wider scope
``merge_scopes``    the value that began later, or the only one
import              the one that the user locked, or the value that holds from later on; of two that
                    the user locked, the one that was here
==================  ================================================================================

A memory never ends or shortens a value that is trusted more than its author (`Trust.outranks`): it
loses its key, keeps its text, and is linked as contradicting it, for the user to settle.

Afterwards at most one value of the slot holds at any moment. A former value ends where the next one
begins; a plan that was given up, where it would have begun.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import TypeAlias

import uuid_utils

from memento.admit.draft import Entry, to_json
from memento.claims.standing import Stand, stands_higher
from memento.errors import InvalidInput
from memento.ledger import changes, links, memories, slot_rows
from memento.ledger.contract import Work
from memento.ledger.rows import (
    PINNED,
    Row,
    columns_of,
    content_hash,
    identity,
    is_sound,
    is_whole,
    sound,
)
from memento.types import Event, Reason, Status, Trust
from memento.write import locks
from memento.write.steps import ENDED, SLOT_HOLDING, alter, in_ring, log_event, retitled

Wins: TypeAlias = Callable[[Row | None], bool]
"""Given the holder of a slot, or None: whether the memory takes the slot."""


def supersede(
    work: Work, old: Row, new: Row, why: str | None = None, *, by: str | None = None
) -> bool:
    """Supersede ``old`` by ``new``: it stops holding when ``new`` starts.

    If ``old`` is trusted more than the author, both stay, linked as contradicting.

    Args:
        work: The transaction.
        old: The memory to supersede.
        new: Its successor.
        why: The reason for the log, unless somebody said so.
        by: Trust class of the author; None for that of ``new``.

    Returns:
        Whether ``old`` was superseded.

    Raises:
        InvalidInput: If both are the same memory, or it would make a cycle.
        LockedMemory: If a lock protects ``old`` from ``by``.
    """
    if old.docid == new.docid:
        raise InvalidInput("supersedes", "a memory cannot supersede itself")
    if new.superseded_by is not None and _follows(work, new, old):
        raise InvalidInput("supersedes", "would create a cycle")
    by = new.trust if by is None else by
    locks.guard_replaced(old, by)
    if Trust.outranks(old.trust, by):
        oppose(work, new, old)
        return False
    ends = new.valid_from
    if is_whole(old):
        ends = max(old.valid_from, ends)
        ends = ends if old.valid_until is None else min(ends, old.valid_until)
    values = {"status": Status.SUPERSEDED.value, "superseded_by": new.id, "valid_until": ends}
    detail = {"by": new.id} | ({"why": why} if why else {})
    alter(work, old, values, Reason.SUPERSEDED, Event.SUPERSEDED, detail, index="drop")
    changes.link(work, new.docid, old.docid, "supersedes")
    return True


def oppose(work: Work, new: Row, old: Row) -> None:
    """Link two memories that contradict each other, and doubt the one of lower standing.

    Does nothing if they are linked so already, or a person settled them.
    """
    if links.are_linked(work.db, new.docid, old.docid, "contradicts", links.RESOLVED):
        return
    changes.link(work, new.docid, old.docid, "contradicts")
    higher, lower = (new, old) if stands_higher(stand_of(new), stand_of(old)) else (old, new)
    if locks.is_locked(lower):
        higher, lower = lower, higher
    log_event(work, lower, Event.DOUBTED, {"by": higher.id, "source": higher.trust})


def stand_of(row: Row) -> Stand:
    """Return the facts on which the standing of a memory depends."""
    return Stand(row.trust, row.role, row.valid_from, row.docid)


def _become_history(work: Work, row: Row, holder: Row) -> None:
    """Insert a former value between those of its slot that began before and after it.

    One that begins after the holder never holds.
    """
    after = slot_rows.value_after(work.db, row)
    while after is not None and Trust.outranks(row.trust, after.trust) and _reaches(row, after):
        _end_at(work, after, row)  # now it never held
        after = slot_rows.value_after(work.db, row)
    if after is None or _follows(work, after, row):
        supersede(work, row, holder, by=Trust.USER)
        return
    supersede(work, row, after, by=Trust.USER)
    before = slot_rows.value_before(work.db, row)
    if before is None:
        return
    follows = before.superseded_by == after.id
    if follows or (_reaches(before, row) and not _follows(work, after, before)):
        _end_at(work, before, row)


def _follows(work: Work, row: Row, other: Row) -> bool:
    """Return whether another memory is among the successors of a memory."""
    session, ns = work.db, work.ns
    return links.is_successor(session, ns, other.id) and links.leads_to(
        session, ns, row.id, other.id
    )


def contend(
    work: Work, row: Row, *, wins: Wins = lambda _holder: True, by: str | None = None
) -> bool:
    """Decide who holds the slot of a memory: that memory or the present holder.

    If there is no holder, as it was forgotten, a memory that does not win becomes a former value
    before the one that began after it.

    Args:
        work: The transaction.
        row: A stored memory; left alone if it has no key or a status that holds no slot.
        wins: Whether it takes the slot from a holder.
        by: Trust class of the author; None for that of the memory.

    Returns:
        Whether it is as active as before: it was left alone, won, or lost its key.
    """
    if row.key is None or row.status not in SLOT_HOLDING:
        return True
    by = row.trust if by is None else by
    holder = slot_rows.holder(work.db, row)
    won = wins(holder) or (holder is not None and _overrules(work, row, holder, by))
    above = _above(work, row, holder if won else None, by, won=won)
    if above is not None:
        rekey(work, row, None)
        oppose(work, row, above)
        return True
    if won:
        if holder is None:
            _make_room(work, row)
        else:
            supersede(work, holder, row, by=Trust.USER)  # the author was checked above
            if not is_whole(holder) or holder.valid_from > row.valid_from:
                _make_room(work, row)
        return True
    rival = holder or slot_rows.value_after(work.db, row)
    if rival is None:
        return True
    _become_history(work, row, rival)
    return False


def _overrules(work: Work, row: Row, holder: Row, by: str) -> bool:
    """Return whether all values that a value would replace are trusted less than ``by``."""
    if not is_sound(holder) or not Trust.outranks(by, holder.trust) or not _reaches(row, holder):
        return False
    return all(Trust.outranks(by, one.trust) for one in slot_rows.values_from(work.db, row))


def _above(work: Work, row: Row, holder: Row | None, by: str, *, won: bool) -> Row | None:
    """Return a value that a memory would end or shorten though it is trusted more than ``by``."""
    if not Trust.outranks(Trust.USER, by):
        return None
    rivals = [] if holder is None or not is_sound(holder) else [holder]
    rivals += slot_rows.values_from(work.db, row) if won else []
    before = slot_rows.value_before(work.db, row)
    rivals += [before] if before is not None and _reaches(before, row) else []
    return next((one for one in rivals if Trust.outranks(one.trust, by)), None)


def rekey(work: Work, row: Row, key: str | None) -> None:
    """Give a memory another slot, or none; its text stays."""
    values = retitled(work, row, {"key": key})
    alter(work, row, {**values, "content_hash": identity(row, {"key": key})}, Reason.UPDATED)


def take_place(work: Work, entry: Entry, row: Row) -> None:
    """Let a memory take its slot and replace the memories that it supersedes, if it is active.

    A quarantined one proposes to replace them; see ``trust.approve``.
    """
    only_proposes = row.status == Status.QUARANTINED
    for memory_id in entry.supersedes:
        old = memories.by_id(work.db, work.ns, memory_id, damaged=True)
        if only_proposes:
            changes.link(work, row.docid, old.docid, "proposes")
        elif old.status in SLOT_HOLDING:
            supersede(work, old, row, by=entry.by)
    if "valid_from" in entry.derived:
        contend(work, row, by=entry.by)
    else:
        contend_in_time(work, row, by=entry.by)


def contend_in_time(work: Work, row: Row, *, by: str | None) -> bool:
    """Decide who holds a slot: the memory, unless it held only before the present one began."""
    return contend(work, row, wins=partial(_is_present, work, row), by=by)


def give_back(work: Work, row: Row, reason: Reason = Reason.RETURNED) -> list[Row]:
    """Make the memories active again that ``row`` superseded, as it no longer holds.

    A slot that another memory has taken in the meantime stays taken. Returns the memories that
    are active again.
    """
    returned: list[Row] = []
    for old in slot_rows.replaced_by(work.db, row):
        if old.key is not None and slot_rows.holder(work.db, old) is not None:
            continue
        _activate(work, old, row.docid, reason)
        returned.append(in_ring(work, old))
    return returned


def _activate(work: Work, old: Row, successor: int, reason: Reason = Reason.RETURNED) -> None:
    """Make a former value active again that ``successor``, a row id, superseded."""
    values = {
        "status": Status.ACTIVE.value,
        "superseded_by": None,
        "valid_until": slot_rows.held_until(work.db, old),
    }
    alter(work, old, values, reason, Event(reason.value), index="embed")
    changes.unlink(work, successor, old.docid, "supersedes")


def hold_again(work: Work, row: Row) -> None:
    """Let a former value that is no longer in the slot of its successor hold again.

    Does nothing if its present slot has a holder or a later value.
    """
    if row.key is None or row.status != Status.SUPERSEDED:
        return
    if slot_rows.holder(work.db, row) or slot_rows.value_after(work.db, row):
        return
    successors = memories.by_ids(work.db, work.ns, [row.superseded_by or ""])
    for successor in successors.values():
        if (successor.key, successor.scope) != (row.key, row.scope):
            _activate(work, row, successor.docid)


def settle(work: Work, ids: Iterable[str]) -> None:
    """Give each slot that imported memories claim to a locked value, else to the later one.

    As a lock forbids to replace a value, of two locked ones the imported one loses its key, and the
    two are linked as contradicting. Imported former values end where the next value of the slot
    begins.
    """
    for memory_id in ids:
        row = memories.by_id(work.db, work.ns, memory_id)
        rival = slot_rows.holder(work.db, row) if _claims_locked(row) else None
        if rival is not None and locks.is_locked(rival):
            rekey(work, row, None)
            oppose(work, row, rival)
            continue
        contend(work, row, wins=partial(_is_later, work, row))
        fit(work, row)


def revert(work: Work, key: str, scope: str) -> Row:
    """Store a copy of the value that a slot had before; it holds from now on.

    The past stays as it was: the earlier value keeps its dates, and the present one ends now. The
    copy is derived from the earlier value, so that it is taken back and erased with it; as that
    one was accepted, its trust is not judged again.
    """
    session, now, slot = work.db, work.now, (key, scope)
    present = slot_rows.holder_of(session, work.ns, slot)
    if present is None:
        present = slot_rows.value_at(session, work.ns, slot, now, now=now, present=True)
    said = None if present is None else present.text
    past = slot_rows.held_before(session, work.ns, slot, now)
    before = next((sound(row) for row in past if row.text != said), None)
    if before is None:
        raise nothing_before(key, scope)
    ends = slot_rows.held_until(session, before)
    if ends is not None and ends <= now:
        problem = f"the earlier value of {key!r}, {before.id!r}, is no longer valid"
        raise InvalidInput("key", f"{problem}; add its text again if it is true again")
    row = _from_now_on(before, now, ends)
    memories.insert_rows(work.db, work.ns, [(row, columns_of(row))], work.trace)
    contend(work, row, by=Trust.USER)
    return in_ring(work, row)


def nothing_before(key: str, scope: str) -> InvalidInput:
    """Make the error for a slot that has no earlier value."""
    where = f" in scope {scope!r}" if scope else ""
    return InvalidInput("key", f"{key!r} has no earlier value{where} to return to")


def _from_now_on(before: Row, now: int, ends: int | None) -> Row:
    """Copy a memory as one that holds from now on and has it as its parent."""
    said_by = (before.key, before.session, before.actor, before.role)
    row = replace(
        before,
        id=str(uuid_utils.uuid7()),
        status=Status.ACTIVE.value,
        source_parents=to_json([before.id]),
        occurred_at=now,
        created_at=now,
        updated_at=now,
        valid_from=now,
        valid_until=ends,
        pinned=before.pinned & PINNED,
        superseded_by=None,
        reinforced=0,
        version=1,
        content_hash=content_hash(
            before.text, before.scope, *said_by, None, condition=before.condition
        ),
    )
    row.seal()
    return row


def fit(work: Work, row: Row) -> None:
    """Shorten a former value that came back into its slot, so that it overlaps no other value.

    Does nothing to a memory that is not a former value.
    """
    if row.key is None or row.status not in ENDED or not _reaches(row, row):
        return
    holder, before = slot_rows.holder(work.db, row), slot_rows.value_before(work.db, row)
    begun = holder is not None and is_whole(holder) and holder.valid_from <= row.valid_from
    if begun or (before is not None and _arrival(before) > _arrival(row)):
        _shorten(work, row, row.valid_from)  # it begins after the holder, or with a later arrival
        return
    after = slot_rows.value_after(work.db, row)
    if before is not None and _reaches(before, row):
        _shorten(work, before, row.valid_from)
    if after is not None and _reaches(row, after):
        _shorten(work, row, after.valid_from)


_arrival = attrgetter("valid_from", "created_at", "docid")
"""The order of the former values of a slot: of equal starts the later arrival wins."""


def _reaches(row: Row, after: Row) -> bool:
    """Return whether a value would still hold when another one begins."""
    return row.valid_until is None or row.valid_until > after.valid_from


def _shorten(work: Work, row: Row, ends: int) -> None:
    """Let a former value end earlier, with the same successor."""
    alter(work, row, {"valid_until": ends}, Reason.SUPERSEDED)


def _claims_locked(row: Row) -> bool:
    return row.key is not None and row.status in SLOT_HOLDING and locks.is_locked(row)


def _is_later(work: Work, row: Row, holder: Row | None) -> bool:
    if holder is None:
        return locks.is_locked(row) or slot_rows.value_after(work.db, row, until=work.now) is None
    if locks.is_locked(row) != locks.is_locked(holder):
        return locks.is_locked(row)
    return _rank(row, work.now) > _rank(holder, work.now)


def _rank(row: Row, now: int) -> tuple[int, int, int]:
    """Return the sort key of a value within its slot: its start, when it was stored, its arrival.

    One that holds only in the future is ranked by when it was stored.
    """
    starts = row.created_at if row.valid_from > now else row.valid_from
    return starts, row.created_at, row.docid


def _is_present(work: Work, row: Row, holder: Row | None) -> bool:
    """Return whether a dated value replaces the holder: it did not only hold before it.

    A planned holder is not the present value, so it does not make a former value of one that holds
    now.
    """
    if holder is None or is_planned(holder, work.now):
        return slot_rows.value_after(work.db, row, until=work.now) is None
    starts = holder.valid_from
    if not isinstance(starts, int) or row.valid_from >= starts or not is_whole(holder):
        return True
    return holder.expires_at is not None and holder.expires_at <= work.now


def is_planned(holder: Row, now: int) -> bool:
    """Return whether the holder of a slot was stored to hold only from a later moment on.

    One that began when it was stored was not, even if the clock was set back since.
    """
    moments = holder.valid_from, holder.created_at, holder.updated_at
    if not all(isinstance(moment, int) for moment in moments):
        return False
    told = max(now, holder.created_at, holder.updated_at)
    return holder.valid_from > told and is_whole(holder)


def _make_room(work: Work, row: Row) -> None:
    """End all other values of a slot at the start of the value that holds it now.

    That includes earlier plans for later moments.
    """
    for other in slot_rows.values_from(work.db, row):
        _end_at(work, other, row)
    before = slot_rows.value_before(work.db, row)
    if before is not None and _reaches(before, row):
        _end_at(work, before, row)


def _end_at(work: Work, old: Row, new: Row) -> None:
    """Make ``new`` the successor of a former value, which then ends at the start of ``new``."""
    ends = new.valid_from if old.valid_until is None else min(new.valid_from, old.valid_until)
    successors = memories.docids_of(work.db, work.ns, [old.superseded_by or ""])
    values = {"superseded_by": new.id, "valid_until": max(old.valid_from, ends)}
    alter(work, old, values, Reason.SUPERSEDED, Event.SUPERSEDED, {"by": new.id})
    for successor in successors.values():
        changes.unlink(work, successor, old.docid, "supersedes")
    changes.link(work, new.docid, old.docid, "supersedes")
