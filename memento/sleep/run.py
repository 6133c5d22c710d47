"""Run the steps of the sleep: plan, change a few memories in each transaction, remember where.

A bite and the note of where the sleep stands are one transaction, so that a process that dies loses
the bite that it was at, and nothing is done twice. A process that finds another state than the one
it planned for does nothing: of two that sleep, each bite is done by one.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from memento.config import Config, Writer
from memento.dynamics.fold import DAY
from memento.errors import StoreError
from memento.ledger import changes, co_use, memories, sleep_rows, strength_fold
from memento.ledger.contract import Ledger, Rules, Session, Work
from memento.ledger.rows import Row
from memento.ledger.sleep_rows import Lease
from memento.sleep import archiving, articles, duplicates, link_decay, replay, report, tier_moves
from memento.sleep.night import Left, Mark, Night, Plan, Progress, Step

FOLD = "fold"
SECOND = 1_000_000
ELSEWHERE = "another process sleeps"

STEPS: dict[str, Step] = {
    step.name: step
    for step in (
        duplicates.STEP,
        articles.STEP,
        tier_moves.STEP,
        archiving.STEP,
        replay.STEP,
        link_decay.STEP,
    )
}
"""The steps after ``fold``, in order. A step that is added here is run, shown and undone.

A replay makes a memory steadier as soon as some process adds it up. So ``replay`` comes after
``archive``: the memories that a sleep archives must not depend on the moment of that."""


def usual(config: Config) -> list[str]:
    """Return the steps of a sleep whose caller names none, in order."""
    off = {articles.STEP.name} if config.articles.writer == Writer.OFF else set()
    return [FOLD, *(name for name in STEPS if name not in off)]


@dataclass(slots=True)
class Done:
    """The work of one step.

    Attributes:
        looked: Memories that were looked at; of ``fold`` events.
        changed: Memories that were changed.
        skipped: Why memories were left as they are, to how many.
    """

    looked: int = 0
    changed: int = 0
    skipped: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Ticked:
    """The result of a call.

    Attributes:
        steps: Name of each step that ran to its work.
        run: Number of the first change; None if nothing was changed.
        done: Whether the sleep ended; else the next call goes on.
        skipped: Why nothing was done, or ``""``.
        notes: What somebody should look at, by name; empty before the sleep ended.
    """

    steps: dict[str, Done] = field(default_factory=dict)
    run: int | None = None
    done: bool = False
    skipped: str = ""
    notes: dict[str, int] = field(default_factory=dict)


class _LostError(Exception):
    """Somebody else went on with this sleep."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a call may do.

    Attributes:
        until: Moment of ``time.monotonic`` at which no other bite is begun.
        rows: Most memories that it changes; None for no limit.
    """

    until: float
    rows: int | None


class Sleeper:
    """Sleeps on the namespaces of one store.

    Args:
        ledger: The store.
        config: Settings.
        embeds: Whether this process embeds memories.
        changed: Told which memories of a namespace changed, after each transaction.
    """

    def __init__(
        self,
        ledger: Ledger,
        config: Config,
        *,
        embeds: bool,
        changed: Callable[[int, Sequence[Row]], None],
    ) -> None:
        self._ledger = ledger
        self._config = config
        self._embeds = embeds
        self._changed = changed
        self._rules = Rules(ring=config.short.capacity, untrusted=config.untrusted)
        self._owner = uuid.uuid4().hex

    def sleep(self, ns: int, now: int, steps: Sequence[str], limits: Limits) -> Ticked:
        """Sleep on a namespace until everything is done or the limits are reached.

        Args:
            ns: Namespace number.
            now: The present moment, microseconds.
            steps: Names of the steps, in order.
            limits: How much may be done.
        """
        found = Ticked()
        if FOLD in steps:
            found.steps[FOLD] = self.fold(limits)
        rest = [name for name in steps if name != FOLD]
        lease = self._ledger.read(lambda c: sleep_rows.lease(c, ns))
        if lease.owner is not None and lease.until > now:
            return Ticked(found.steps, skipped=ELSEWHERE)
        progress = Progress.read(lease.state)
        if not progress.at:
            due = self._ledger.read(lambda c: _due(c, ns, now, progress, rest))
            if not due:
                found.done, found.notes = True, self.notes(ns, now, progress)
                return found
            progress = self._ledger.read(lambda c: _begun(c, ns, now, progress, due))
        return self._go_on(ns, now, lease, progress, limits, found)

    def plans(self, ns: int, now: int, steps: Sequence[str]) -> Ticked:
        """Say what a sleep would do. Writes nothing."""
        found = Ticked(done=True)
        progress = Progress.read(self._ledger.read(lambda c: sleep_rows.lease(c, ns)).state)
        if FOLD in steps:
            behind = self._ledger.read(lambda c: strength_fold.waiting(c, self._config.dynamics))
            found.steps[FOLD] = Done(looked=behind)
        active = self._ledger.read(lambda c: sleep_rows.count_active(c, ns))
        for name in (name for name in steps if name != FOLD):
            since = progress.marks.get(name, [0])[0]
            night = Night(ns, now, since, active, 0, self._config, self._embeds)
            plan = self._ledger.read(_planned(STEPS[name], night))
            found.steps[name] = Done(plan.looked, len(plan.things), dict(plan.skipped))
        return found

    def fold(self, limits: Limits) -> Done:
        """Fold the log, as far as there is time: a bite at least."""
        settings = self._config.dynamics
        before = self._ledger.read(lambda c: strength_fold.waiting(c, settings))
        if before:
            while self._ledger.write(lambda c: strength_fold.catch_up(c, settings)):
                if time.monotonic() >= limits.until:
                    break
        self._fold_links(limits)
        return Done(looked=before)

    def _fold_links(self, limits: Limits) -> None:
        """Fold the log onto the links between memories."""
        config, agent = self._config.association, self._config.dynamics.agent
        if self._ledger.read(lambda c: co_use.behind(c, config, agent)):
            while self._ledger.write(lambda c: co_use.catch_up(c, config, agent)):
                if time.monotonic() >= limits.until:
                    break

    def _go_on(
        self, ns: int, now: int, lease: Lease, progress: Progress, limits: Limits, found: Ticked
    ) -> Ticked:
        """Do bites of the steps that are left."""
        sleep = _Sleep(self, ns, now, lease.state, progress, limits, found)
        try:
            sleep.run()
        except _LostError:
            found.skipped = ELSEWHERE
        except BaseException:  # also an interrupt: nobody must wait for a sleep that ended
            with suppress(StoreError):
                self.release(sleep)
            raise
        found.run = sleep.run_number if found.done else sleep.progress.run
        return found

    def notes(self, ns: int, now: int, progress: Progress) -> dict[str, int]:
        """Count what somebody should look at, unless that is known and nothing is new."""
        if progress.noted == self._ledger.read(lambda c: _mark(c, ns, now)):
            return dict(progress.notes)
        return self._ledger.read(lambda c: report.notes(c, ns, now, self._config))

    def bite(self, sleep: _Sleep, job: Callable[[Work], Sequence[Row]], *, last: bool) -> None:
        """Do one transaction of a sleep, and tell what changed."""
        rows, state = self._ledger.write(partial(self._write, sleep=sleep, job=job, last=last))
        sleep.state = state
        if rows:
            self._changed(sleep.ns, rows)

    def _write(
        self,
        session: Session,
        sleep: _Sleep,
        job: Callable[[Work], Sequence[Row]],
        *,
        last: bool,
    ) -> tuple[Sequence[Row], dict[str, Any]]:
        lease, progress = sleep_rows.lease(session, sleep.ns), sleep.progress
        mine = lease.owner == self._owner or lease.owner is None or lease.until <= sleep.now
        if not mine or lease.state != sleep.state:
            raise _LostError
        alone = _reach(session, sleep.ns) == (progress.rev, progress.event)
        work = Work(session, sleep.ns, sleep.now, self._rules)
        rows = job(work)
        run = changes.finish(work, "consolidate", run=progress.run, begins_run=True)
        progress.run = run if progress.run is None else progress.run
        if alone:
            progress.rev, progress.event = _reach(session, sleep.ns)
        if last:
            sleep.run_number = progress.run
            _end(progress, sleep.marked)
        state = progress.spelt()
        until = sleep.now + int(self._config.sleep.lease * SECOND)
        owner = None if last else self._owner
        sleep_rows.keep(session, sleep.ns, Lease(owner, until, state))
        return rows, state

    def release(self, sleep: _Sleep) -> None:
        """Let others go on with a sleep that is not done."""

        def job(session: Session) -> None:
            lease = sleep_rows.lease(session, sleep.ns)
            if lease.owner == self._owner:
                sleep_rows.keep(session, sleep.ns, Lease(None, 0, lease.state))

        self._ledger.write(job)

    def plan(self, sleep: _Sleep, step: Step) -> tuple[Night, Plan]:
        """Plan a step, from where it stands."""
        progress = sleep.progress
        night = Night(
            ns=sleep.ns,
            at=progress.at,
            since=progress.since,
            active=progress.active,
            done=progress.done,
            config=self._config,
            embeds=self._embeds,
        )
        return night, self._ledger.read(lambda c: step.plan(c, night))


class _Sleep:
    """One call that goes on with the sleep of a namespace.

    Args:
        sleeper: Reads and writes for it.
        ns: Namespace number.
        now: The present moment, microseconds.
        state: The state that it found, as it was kept.
        progress: The same, or that of a sleep that begins.
        limits: How much may be done.
        found: Receives what is done.
    """

    def __init__(
        self,
        sleeper: Sleeper,
        ns: int,
        now: int,
        state: dict[str, Any],
        progress: Progress,
        limits: Limits,
        found: Ticked,
    ) -> None:
        self._sleeper, self._limits, self._found = sleeper, limits, found
        self.ns, self.now, self.state, self.progress = ns, now, state, progress
        self.marked = list(progress.steps)
        self._size = sleeper._config.sleep.bite  # noqa: SLF001 - its own helper
        self._left, self._began = limits.rows, False
        self.run_number: int | None = None

    def run(self) -> None:
        """Do the steps that are left; the state is kept even if there was nothing to do."""
        while self.progress.steps:
            if late := self._is_late():
                self._bite()  # the steps that found nothing to do are done
            if late or not self._step(STEPS[self.progress.steps[0]]):
                self._sleeper.release(self)
                return
        if FOLD in self._found.steps:  # of what the steps wrote: the next sleep finds nothing
            self._sleeper.fold(self._limits)
        self.progress.notes = self._sleeper.notes(self.ns, self.now, self.progress)
        self._sleeper.bite(self, lambda _: (), last=True)
        self._found.done, self._found.notes = True, dict(self.progress.notes)

    def _step(self, step: Step) -> bool:
        """Do one step; tell whether it is done."""
        told = self._found.steps.setdefault(step.name, Done())
        if FOLD in self._found.steps:  # others may do so at any time: each step sees all events
            self._sleeper.fold(self._limits)
        while True:
            night, plan = self._sleeper.plan(self, step)
            told.looked += plan.looked
            told.skipped = {**told.skipped, **plan.skipped}
            for part in _parts(plan.things, 1 if step.prepare else self._size):
                if self._is_over():
                    return False
                self._do(step, night, self._ready(step, night, part[: self._left], told), told)
            if self._left == 0 and plan.things:
                return False
            if plan.more is None:
                break
            self.progress.since = plan.more
            self._bite()
            if self._is_late():
                return False
        self._began = True
        self.progress.steps = self.progress.steps[1:]
        self.progress.begin_step()
        return True

    def _ready(self, step: Step, night: Night, part: Sequence[Any], told: Done) -> Sequence[Any]:
        """Prepare things, outside of any transaction; a thing that is left counts as done."""
        if step.prepare is None:
            return part
        ledger = self._sleeper._ledger  # noqa: SLF001 - its own helper
        found = [step.prepare(ledger, night, thing, self.now) for thing in part]
        for one in found:
            if isinstance(one, Left):
                told.skipped = {**told.skipped, one.why: told.skipped.get(one.why, 0) + 1}
        return [None if isinstance(one, Left) else one for one in found]

    def _do(self, step: Step, night: Night, part: Sequence[Any], told: Done) -> None:
        def job(work: Work) -> Sequence[Row]:
            ready = (thing for thing in part if thing is not None)
            return [row for thing in ready for row in step.carry_out(work, night, thing)]

        counted: list[Row] = []

        def counting(work: Work) -> Sequence[Row]:
            counted.extend(job(work))
            return counted

        self.progress.done += len(part)
        self._bite(counting)
        told.changed += len(counted)
        if self._left is not None:
            self._left -= len(part)

    def _bite(self, job: Callable[[Work], Sequence[Row]] = lambda _: ()) -> None:
        """Do one transaction; without a job it only keeps where the sleep stands."""
        self._sleeper.bite(self, job, last=False)
        self._began = True

    def _is_over(self) -> bool:
        """Tell whether no other change may begin."""
        return self._is_late() or self._left == 0

    def _is_late(self) -> bool:
        """Tell whether time is up; one bite, or one step that needs none, is always done."""
        return self._began and time.monotonic() >= self._limits.until


def _planned(step: Step, night: Night) -> Callable[[Session], Plan]:
    return lambda session: step.plan(session, night)


def _parts(things: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """Yield things, as many at a time as one transaction may change."""
    part: list[Any] = []
    weight = 0
    for thing in things:
        own = _weight(thing)
        if part and weight + own > size:
            yield part
            part, weight = [], 0
        part.append(thing)
        weight += own
    if part:
        yield part


def _weight(thing: Any) -> int:
    """Return how many memories a thing is about: a group is about its members as well."""
    match thing:
        case (_, tuple(members)):
            return 1 + len(members)
    return 1


def _reach(session: Session, ns: int) -> tuple[int, int]:
    return memories.latest_rev(session, ns), sleep_rows.last_event(session)


def _mark(session: Session, ns: int, now: int) -> Mark:
    return [*_reach(session, ns), now // DAY]


def _due(
    session: Session, ns: int, now: int, progress: Progress, steps: Sequence[str]
) -> list[str]:
    """Return the steps for which anything is new: a memory, an event or a day."""
    mark = _mark(session, ns, now)
    return [name for name in steps if progress.marks.get(name) != mark]


def _begun(session: Session, ns: int, now: int, progress: Progress, steps: list[str]) -> Progress:
    """Return the state of a sleep that begins."""
    rev, event = _reach(session, ns)
    active = sleep_rows.count_active(session, ns)
    begun = replace(progress, at=now, active=active, run=None, rev=rev, event=event)
    begun.steps = list(steps)
    begun.begin_step()
    return begun


def _end(progress: Progress, steps: Sequence[str]) -> None:
    """Note up to where the steps looked, and that no sleep is unfinished."""
    mark: Mark = [progress.rev, progress.event, progress.at // DAY]
    progress.marks = progress.marks | {name: list(mark) for name in steps}
    progress.noted = mark
    progress.at, progress.steps, progress.run = 0, [], None
    progress.done = progress.since = progress.active = progress.rev = progress.event = 0
