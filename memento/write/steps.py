"""Steps that several changes of a memory share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

from memento.ledger import changes, memories
from memento.ledger.changes import CHANGE
from memento.ledger.contract import Work
from memento.ledger.rows import Row, columns_of
from memento.status import having
from memento.types import Event, Reason, Status, Tier

FOUND = frozenset(having("found"))
SLOT_HOLDING = frozenset(having("holds_slot"))
ENDED = frozenset(having("ended"))
INDEXED = frozenset(having("in_index"))
ACCEPTED = frozenset(having("accepted"))
"""Statuses with a trait, see ``memento.status``."""


def holds(row: Row, now: int) -> bool:
    """Return whether a memory has neither expired nor ended by a moment, microseconds."""
    ends = (end for end in (row.expires_at, row.valid_until) if end is not None)
    return all(end > now for end in ends)


def alter(
    work: Work,
    row: Row,
    values: Mapping[str, Any],
    reason: Reason,
    event: Event | None = None,
    detail: Mapping[str, Any] | None = None,
    *,
    index: str | None = None,
) -> Row:
    """Change columns of a memory, keep its earlier state, and tell the log and the indexer.

    Args:
        work: The transaction.
        row: The memory; changed in place.
        values: New values by column.
        reason: Why its present state ends.
        event: Event to log, or None.
        detail: Its detail.
        index: Operation of the indexer, see ``memories.enqueue``; None for none.
    """
    changes.revise(work, row, {**values, "updated_at": work.now}, reason)
    if index is not None:
        memories.enqueue(work.db, row, index)
    if event is not None:
        log_event(work, row, event, detail)
    return row


def hide(work: Work, row: Row, reason: Reason) -> Row:
    """Make a memory forgotten, for a reason; one that is forgotten already stays as it is."""
    if row.status == Status.FORGOTTEN:
        return row
    hidden = {"status": Status.FORGOTTEN.value}
    return alter(work, row, hidden, reason, Event(reason.value), index="drop")


def in_ring(work: Work, row: Row) -> Row:
    """Let the ring of a memory overflow, if it is in one; return it as it is then."""
    if row.tier != Tier.SHORT:
        return row
    memories.overflow(work, [row.session])
    return memories.by_docid(work.db, row.docid)


def retitled(work: Work, row: Row, values: Mapping[str, Any]) -> dict[str, Any]:
    """Index new values of a memory for full text; return them with its counts of words."""
    columns = columns_of(replace(row, **values))
    work.db.words.replace(row.docid, columns)
    return {**values, "words": columns.words, "head_words": columns.head_words}


def note_event(work: Work, row: Row, kind: Event, detail: Mapping[str, Any] | None = None) -> None:
    """Append an event that belongs to this change, so that undo takes it back.

    The write becomes a change, even if it ends no state.
    """
    number = changes.number_of(changes.begin(work))
    log_event(work, row, kind, {**(detail or {}), CHANGE: number})


def log_event(work: Work, row: Row, kind: Event, detail: Mapping[str, Any] | None = None) -> None:
    """Append an event of a memory."""
    memories.record(work.db, row.ns, work.now, kind, row.docid, detail)


A = TypeVar("A")
Change: TypeAlias = Callable[[Work, Sequence[A]], Sequence[Row]]
"""Changes some memories in one transaction."""


@dataclass(slots=True)
class Run:
    """The changes of one call that makes several.

    Attributes:
        first: Key of the first of them, once committed.
    """

    first: int | None = None

    def add(self, change: int | None) -> None:
        """Note a committed change; None if a transaction made none."""
        self.first = change if self.first is None else self.first
