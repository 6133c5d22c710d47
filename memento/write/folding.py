"""Fold memories that say the same into one of them, and take them out again."""

from __future__ import annotations

from collections.abc import Sequence

from memento.ledger import changes, memories, usage_events
from memento.ledger.contract import Work
from memento.ledger.rows import Row
from memento.types import Event, Reason, Status
from memento.write.merge import joined
from memento.write.steps import alter, log_event, note_event, retitled


def fold(work: Work, survivor: Row, members: Sequence[Row]) -> list[Row]:
    """Let one memory stand for others: aliases and tags of the same trust are joined to it.

    Each arrival of the others counts as a use of it, at its own time. All are active.
    """
    equals = [row for row in (survivor, *members) if row.trust == survivor.trust]
    names = {name: joined(getattr(row, name) for row in equals) for name in ("aliases", "tags")}
    more = {name: value for name, value in names.items() if value != getattr(survivor, name)}
    if more:
        alter(work, survivor, retitled(work, survivor, more), Reason.MERGED)
    for row in members:
        values = {
            "status": Status.SUPERSEDED.value,
            "superseded_by": survivor.id,
            "valid_until": max(row.valid_from, work.now),
        }
        by = {"by": survivor.id}
        alter(work, row, values, Reason.FOLDED, Event.SUPERSEDED, by, index="drop")
        changes.link(work, survivor.docid, row.docid, "supersedes")
        log_event(work, survivor, Event.FOLDED, {"member": row.id, "since": row.created_at})
    return [survivor, *members]


def is_folded(work: Work, row: Row) -> bool:
    """Return whether a memory is superseded because another one stands for it."""
    last = memories.states(work.db, row.docid)[-1:]
    return row.status == Status.SUPERSEDED and [state.reason for state in last] == [Reason.FOLDED]


def unfold(work: Work, row: Row) -> Row:
    """Take a memory out of the one that stands for it; its arrival is no use of that any more."""
    for survivor in unfolded(work, row):
        changes.unlink(work, survivor.docid, row.docid, "supersedes")
    values = {"status": Status.ACTIVE.value, "superseded_by": None, "valid_until": None}
    return alter(work, row, values, Reason.UNFOLDED, Event.UNFOLDED, index="embed")


def unfolded(work: Work, row: Row) -> list[Row]:
    """Take back that the arrival of a memory was a use of the one that stands for it.

    Returns that one; nothing if it is gone.
    """
    found = [*memories.by_ids(work.db, work.ns, [row.superseded_by or ""]).values()]
    for survivor in found:
        told = usage_events.told_of(work.db, survivor.docid)
        for one in usage_events.standing_ones(told):
            if one.kind == Event.FOLDED and one.detail.get("member") == row.id:
                note_event(work, survivor, Event.RETRACTED, one.retraction)
    return found
