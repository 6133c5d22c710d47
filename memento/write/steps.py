"""Steps that several changes of a memory share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

from memento.ledger import changes, memories
from memento.ledger.contract import Ledger, Session, Work
from memento.ledger.rows import Row
from memento.ledger.usage_events import CHANGE
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


A = TypeVar("A")
Change: TypeAlias = Callable[[Work, Sequence[A]], Sequence[Row]]
"""Changes some memories in one transaction."""


@dataclass(slots=True)
class Run:
    """The changes of one call that makes several.

    Attributes:
        first: Key of the first of them, once it is on the disk.
    """

    first: int | None = None

    def add(self, change: int | None) -> None:
        """Note a change that is on the disk; None if a transaction was none."""
        self.first = change if self.first is None else self.first


def finish(work: Work, verb: str, by: str, run: Run | None) -> int | None:
    """Write down the change that a write was, as one of a run if there is any.

    Args:
        work: The transaction, at its end.
        verb: The call that it is.
        by: Class of who called it.
        run: The changes of the call; None if it makes one.
    """
    first = None if run is None else run.first
    return changes.finish(work, verb, by, run=first, begins_run=run is not None)


@dataclass(frozen=True, slots=True)
class Bites(Generic[A]):
    """A call that changes many memories.

    Attributes:
        things: The memories, by row id or id, as the job takes them.
        job: Changes some of them; returns their rows.
        work: Describes the write of a transaction.
        verb: The call that it is; all its changes are one run.
        most: Most memories that one transaction changes.
        run: The run of a call that made other changes before; None if these are all.
    """

    things: Sequence[A]
    job: Change[A]
    work: Callable[[Session], Work]
    verb: str
    most: int
    run: Run | None = None

    def carry_out(self, ledger: Ledger, *, makes_room: bool) -> Iterator[Sequence[Row]]:
        """Change them, and yield the rows of each transaction once it is on the disk.

        With nothing to change there is one all the same: a read-only store raises its error.

        Args:
            ledger: The ledger.
            makes_room: See ``Ledger.write``.
        """
        run = Run() if self.run is None else self.run
        for start in range(0, len(self.things) or 1, self.most):
            part = self.things[start : start + self.most]
            rows, number = ledger.write(
                partial(self._bite, part=part, run=run.first), makes_room=makes_room
            )
            run.add(number)
            yield rows

    def _bite(
        self, session: Session, part: Sequence[A], run: int | None
    ) -> tuple[Sequence[Row], int | None]:
        several = self.run is not None or len(self.things) > self.most
        work = self.work(session)
        rows = self.job(work, part)
        return rows, changes.finish(work, self.verb, run=run, begins_run=several)
