"""Archive memories that nobody needs, and bring them back. Nothing is lost by it.

An archived memory keeps its text, its vector and its words. It is outside the default answer, and
is found on request or by its name. A verdict that it was useful or right brings it back.
"""

from __future__ import annotations

from memento.errors import InvalidInput
from memento.ledger import changes, memories
from memento.ledger.contract import Work
from memento.ledger.rows import Row
from memento.lifecycle import locks, slots
from memento.lifecycle.steps import FOUND, holds, log_event
from memento.types import Event, Reason, Status, Tier

REVIVING = (Event.USED, Event.CONFIRMED)
"""Verdicts that bring a memory back from the archive."""


def archive(work: Work, memory_id: str) -> Row:
    """Archive a memory; one that is archived already stays as it is.

    Raises:
        NotFound: If the namespace has no such id.
        InvalidInput: If it is not active.
        LockedMemory: If the user locked it.
    """
    row = memories.by_id(work.db, work.ns, memory_id)
    if row.status == Status.ARCHIVED:
        return row
    if row.status not in FOUND:
        raise InvalidInput("id", f"{memory_id!r} is {row.status}, not active")
    locks.guard([row])
    return put_away(work, row)


def put_away(work: Work, row: Row) -> Row:
    """Archive an active memory that is not locked."""
    archived = {"status": Status.ARCHIVED.value, "updated_at": work.now}
    changes.revise(work, row, archived, Reason.ARCHIVED)
    memories.enqueue(work.db, row, "drop")
    log_event(work, row, Event.ARCHIVED)
    return row


def unarchive(work: Work, memory_id: str) -> Row:
    """Bring a memory back from the archive; an active one stays as it is.

    If another memory fills its slot by now, it comes back superseded by that one.

    Raises:
        NotFound: If the namespace has no such id.
        InvalidInput: If it is neither archived nor active.
    """
    row = memories.by_id(work.db, work.ns, memory_id)
    if row.status in FOUND:
        return row
    if row.status != Status.ARCHIVED:
        raise InvalidInput("id", f"{memory_id!r} is {row.status}, not archived")
    return bring_back(work, row)


def bring_back(work: Work, row: Row) -> Row:
    """Make an archived memory active again."""
    active = {"status": Status.ACTIVE.value, "updated_at": work.now}
    changes.revise(work, row, active, Reason.UNARCHIVED)
    log_event(work, row, Event.UNARCHIVED)
    memories.enqueue(work.db, row, "embed")
    won = slots.contend(
        work, row, wins=lambda holder: holder is None or not holds(holder, work.now)
    )
    if won and row.tier == Tier.SHORT:
        memories.overflow(work, [row.session])
        return memories.by_id(work.db, work.ns, row.id)
    return row
