"""The parts of a sleep: what each step is given, and what it plans to do."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self, TypeAlias

from memento.base.clock import DAY
from memento.config import Config
from memento.dynamics.fold import Standing, State, begin, standing
from memento.dynamics.formulas import retention
from memento.ledger import memories, sleep_rows, strength_fold
from memento.ledger.contract import Transaction, Work
from memento.ledger.rows import Row, is_sound
from memento.write.steps import FOUND


@dataclass(frozen=True, slots=True)
class Night:
    """One sleep of one namespace, as a step sees it; several calls may carry it out.

    Attributes:
        ns: Namespace number.
        at: When the sleep began, microseconds.
        since: Revision up to which this step has been done already.
        active: Number of active memories when it began.
        done: Number of things that the step has done in this sleep so far.
        config: Settings.
        embeds: Whether memories get vectors.
    """

    ns: int
    at: int
    since: int
    active: int
    done: int
    config: Config
    embeds: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """The work that a step found, in the order in which it is to be done.

    Planning again halfway through gives the things that are left.

    Attributes:
        things: Each is done within one transaction.
        looked: Number of memories that were looked at.
        skipped: Maps a reason to the number of memories left unchanged for it.
        more: Revision up to which the plan reaches; None if there are no newer memories.
    """

    things: Sequence[Any] = ()
    looked: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    more: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the sleep.

    Attributes:
        name: Its name.
        plan: Finds the things to do. Writes nothing.
        carry_out: Does one thing of a plan and returns the memories that changed; none if a memory
            changed after the plan was made, so that the thing no longer applies.
    """

    name: str
    plan: Callable[[Transaction, Night], Plan]
    carry_out: Callable[[Work, Night, Any], Sequence[Row]]


@dataclass(frozen=True, slots=True)
class Felt:
    """A memory with its dynamics.

    Attributes:
        row: The memory.
        state: The state of its dynamics.
        standing: The values of that state at the moment asked about.
    """

    row: Row
    state: State
    standing: Standing


Mark: TypeAlias = list[int]
"""Revision, event and UTC day up to which a step has looked."""


@dataclass(slots=True)
class Progress:
    """The progress of a sleep, as stored in the table ``sleeps``.

    Attributes:
        marks: Maps the name of a step to its mark in the last sleep that ended.
        at: When the unfinished sleep began, microseconds; 0 if there is none.
        active: Number of active memories then.
        run: Number of its first change; None before there is one.
        steps: Names of the steps that are left, the present one first.
        done: Number of things that the present step has done.
        since: Revision from which the present step plans.
        rev: Newest revision that this sleep knows of; a later one was made by another writer.
        event: Newest event that this sleep knows of.
        notes: Result of ``report.notes`` when the last sleep ended.
        noted: The mark of that moment; empty if unknown.
    """

    marks: dict[str, Mark] = field(default_factory=dict)
    at: int = 0
    active: int = 0
    run: int | None = None
    steps: list[str] = field(default_factory=list)
    done: int = 0
    since: int = 0
    rev: int = 0
    event: int = 0
    notes: dict[str, int] = field(default_factory=dict)
    noted: Mark = field(default_factory=list)

    @classmethod
    def read(cls, state: Mapping[str, Any]) -> Self:
        """Read a stored state; if it is damaged, start as if the namespace had never slept."""
        return cls(**state) if {one.name for one in fields(cls)} == set(state) else cls()

    def begin_step(self) -> None:
        """Let the present step start from its mark in the last sleep that ended."""
        self.done = 0
        self.since = self.marks.get(self.steps[0], [0])[0] if self.steps else 0

    def end(self, steps: Sequence[str]) -> None:
        """Set the marks of some steps, and clear the state of the sleep."""
        self.noted = [self.rev, self.event, self.at // DAY]
        self.marks = self.marks | {name: list(self.noted) for name in steps}
        self.at, self.steps, self.run = 0, [], None
        self.done = self.since = self.active = self.rev = self.event = 0


_AT_ONCE = 500


def is_free(row: Row) -> bool:
    """Return whether a memory is active and neither pinned nor locked."""
    return row.status in FOUND and not row.pinned


def still(work: Work, docid: int) -> Row | None:
    """Read a memory; None if it is no longer active, or is pinned or locked."""
    row = memories.by_docids(work.db, work.ns, [docid]).get(docid)
    return row if row is not None and is_free(row) else None


def felt(session: Transaction, rows: Sequence[Row], now: int, config: Config) -> Iterator[Felt]:
    """Yield the sound memories of one namespace in the same order, each with its dynamics."""
    if not rows:
        return
    calendar = strength_fold.calendar_of(session, rows[0].ns)
    days = days_of_use(session, rows[0].ns)
    today, settings = bisect_right(days, now // DAY), config.dynamics
    for start in range(0, len(rows), _AT_ONCE):
        part = [row for row in rows[start : start + _AT_ONCE] if is_sound(row)]
        states = strength_fold.states_of(session, [row.docid for row in part])
        for row in part:
            basis = strength_fold.basis_of(row)
            state = states.get(row.docid) or begin(basis, 0, settings)
            last = bisect_right(days, _last_day(state, row, calendar.days))
            found = standing(state, now, state.day, basis, settings)
            left = retention(today - last, state.stability)
            yield Felt(row, state, replace(found, retention=left))


def days_of_use(session: Transaction, ns: int) -> list[int]:
    """Return the days, since 1970, on which a namespace was asked, rated or added to, ascending."""
    calendar = strength_fold.calendar_of(session, ns)
    return sorted({*calendar.days, *sleep_rows.arrivals(session, ns, 0)})


def _last_day(state: State, row: Row, logged: Sequence[int]) -> int:
    """Return the day on which a memory was last used or arrived, in days since 1970."""
    came, changed = row.created_at // DAY, state.at // DAY
    if state.day > len(logged):
        return max(came, changed)  # a sleep changed it on a day that nobody used
    return max(came, min(logged[state.day - 1], changed)) if state.day > 0 else came
