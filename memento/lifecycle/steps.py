"""Steps that several changes of a memory share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memento.ledger import changes, memories
from memento.ledger.contract import Work
from memento.ledger.happenings import CHANGE
from memento.ledger.rows import Row
from memento.status import having
from memento.types import Event, Reason, Status

FOUND = frozenset(having("found"))
SLOT_HOLDING = frozenset(having("holds_slot"))
ENDED = frozenset(having("ended"))
INDEXED = frozenset(having("in_index"))
ACCEPTED = frozenset(having("accepted"))
"""Statuses with a trait, see ``memento.status``."""


def holds(row: Row, now: int) -> bool:
    """Tell whether a memory has neither expired nor ended by a moment, microseconds."""
    ends = (end for end in (row.expires_at, row.valid_until) if end is not None)
    return all(end > now for end in ends)


def hide(work: Work, row: Row, reason: Reason) -> Row:
    """Make a memory forgotten, for a reason; one that is forgotten already stays as it is."""
    if row.status == Status.FORGOTTEN:
        return row
    hidden = {"status": Status.FORGOTTEN.value, "updated_at": work.now}
    changes.revise(work, row, hidden, reason)
    memories.enqueue(work.db, row, "drop")
    log_event(work, row, Event(reason.value))
    return row


def note_event(work: Work, row: Row, kind: Event, detail: Mapping[str, Any] | None = None) -> None:
    """Append an event of a memory that belongs to this change, so that undo takes it back.

    The write is a change by it, even if it ends no state.
    """
    number = changes.number_of(changes.begin(work))
    log_event(work, row, kind, {**(detail or {}), CHANGE: number})


def log_event(work: Work, row: Row, kind: Event, detail: Mapping[str, Any] | None = None) -> None:
    """Append an event of a memory."""
    memories.record(work.db, row.ns, work.now, kind, row.docid, detail)
