"""Run the steps of the sleep: plan, change a few memories in each transaction, save the progress.

One transaction, a bite, holds some changes and the progress, so that a process that dies loses only
its last bite, and nothing is done twice. A process that finds the progress changed by another one
stops: if two sleep at once, each bite is done by one of them.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from memento.base.clock import DAY
from memento.config import Config
from memento.errors import StoreError
from memento.ledger import changes, co_use, memories, sleep_rows, strength_fold, usage_events
from memento.ledger.contract import Ledger, Rules, Transaction, Work
from memento.ledger.rows import Row
from memento.ledger.sleep_rows import Lease
from memento.sleep import archiving, articles, duplicates, replay, report, tier_moves
from memento.sleep.night import Mark, Night, Plan, Progress, Step
from memento.sleep.tick_values import StepDone, Tick

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
    )
}
"""The steps after ``fold``, in order. A step that is added here is run, shown and undone.

A replay raises the stability of a memory once any process folds the event. So ``replay`` comes
after ``archive``: what a sleep archives must not depend on when that happens."""


def usual(config: Config) -> list[str]:
    """Return the default steps of a sleep, in order."""
    off = {articles.STEP.name} if config.articles.writer == "off" else set()
    return [FOLD, *(name for name in STEPS if name not in off)]


class _LostError(Exception):
    """Another process took over this sleep."""


class Sleeper:
    """Sleeps on one namespace, once.

    Args:
        ledger: The store.
        config: Settings.
        ns: Namespace number.
        now: The present moment, microseconds.
        embeds: Whether this process embeds memories.
        changed: Called after each transaction with the namespace number and the memories that
            changed.
    """

    def __init__(
        self,
        ledger: Ledger,
        config: Config,
        ns: int,
        now: int,
        *,
        embeds: bool,
        changed: Callable[[int, Sequence[Row]], None],
    ) -> None:
        self._ledger, self._config, self._ns, self._now = ledger, config, ns, now
        self._embeds, self._changed = embeds, changed
        self._rules = Rules(ring=config.short.capacity, untrusted=config.untrusted)
        self._owner = uuid.uuid4().hex
        self._told: dict[str, StepDone] = {}
        self._run: int | None = None
        self._began, self._until = False, 0.0
        self._left: int | None = None

    def plans(self, steps: Sequence[str]) -> Tick:
        """Return what a sleep would do in some steps. Writes nothing."""
        progress = Progress.read(self._lease().state)
        if FOLD in steps:
            behind = self._ledger.read(lambda c: strength_fold.waiting(c, self._config.dynamics))
            self._told[FOLD] = StepDone(behind, 0)
        active = self._ledger.read(lambda c: sleep_rows.count_active(c, self._ns), space=self._ns)
        for name in (name for name in steps if name != FOLD):
            since = progress.marks.get(name, [0])[0]
            night = Night(self._ns, self._now, since, active, 0, self._config, self._embeds)
            plan = self._plan(STEPS[name], night)
            self._told[name] = StepDone(plan.looked, len(plan.things), dict(plan.skipped))
        return self._tick(done=True)

    def sleep(self, steps: Sequence[str], *, until: float, rows: int | None = None) -> Tick:
        """Sleep until everything is done or the limits are reached.

        Args:
            steps: Names of the steps, in order.
            until: Value of ``time.monotonic`` from which no further bite is begun.
            rows: Maximum number of memories to change; None for no limit.
        """
        self._until, self._left = until, rows
        if FOLD in steps:
            self._told[FOLD] = StepDone(self._fold(), 0)
        lease = self._lease()
        if lease.owner is not None and lease.until > self._now:
            return self._tick(skipped=ELSEWHERE)
        self._state, self._progress = lease.state, Progress.read(lease.state)
        rest = [name for name in steps if name != FOLD]
        if not self._progress.at and not self._ledger.read(partial(self._begin, steps=rest)):
            return self._tick(done=True, notes=self._notes())
        self._run, self._marked = self._progress.run, list(self._progress.steps)
        try:
            done = self._go_on()
        except _LostError:
            return self._tick(skipped=ELSEWHERE)
        except BaseException:  # on an interrupt too, give up the lease at once
            with suppress(StoreError):
                self._release()
            raise
        return self._tick(done=done, notes=self._progress.notes if done else {})

    def _tick(
        self, *, done: bool = False, skipped: str = "", notes: Mapping[str, int] | None = None
    ) -> Tick:
        run = None if self._run is None else changes.number_of(self._run)
        return Tick(self._told, run, done, 0.0, skipped, dict(notes or {}))

    def _lease(self) -> Lease:
        return self._ledger.read(lambda c: sleep_rows.lease(c, self._ns), space=self._ns)

    def _fold(self) -> int:
        """Fold the log, at least one bite, while time allows; return how many events waited."""
        settings, links = self._config.dynamics, self._config.association
        waiting = self._ledger.read(lambda c: strength_fold.waiting(c, settings))
        if waiting:
            self._catch_up(lambda c: strength_fold.catch_up(c, settings))
        if self._ledger.read(lambda c: co_use.behind(c, links, settings.agent)):
            self._catch_up(lambda c: co_use.catch_up(c, links, settings.agent))
        return waiting

    def _catch_up(self, bite: Callable[[Transaction], bool]) -> None:
        while self._ledger.write(bite) and time.monotonic() < self._until:
            pass

    def _begin(self, session: Transaction, steps: Sequence[str]) -> bool:
        """Begin a sleep if a step has anything new to look at: a memory, an event or a day."""
        mark = self._mark(session)
        due = [name for name in steps if self._progress.marks.get(name) != mark]
        if due:
            self._progress = replace(
                self._progress,
                at=self._now,
                active=sleep_rows.count_active(session, self._ns),
                run=None,
                steps=due,
                rev=mark[0],
                event=mark[1],
            )
            self._progress.begin_step()
        return bool(due)

    def _go_on(self) -> bool:
        """Do the remaining steps; return whether all are done. Save the progress in any case."""
        while self._progress.steps:
            if late := self._is_late():
                self._bite()  # saves that steps are done that had nothing to do
            if late or not self._step(STEPS[self._progress.steps[0]]):
                self._release()
                return False
        if FOLD in self._told:  # the events of the steps; the next sleep finds none
            self._fold()
        self._progress.notes = self._notes()
        self._bite(last=True)
        return True

    def _step(self, step: Step) -> bool:
        """Do one step; return whether it is done."""
        told = self._told.setdefault(step.name, StepDone(0, 0))
        if FOLD in self._told:  # others may do so at any time: each step sees all events
            self._fold()
        while True:
            at = self._progress
            night = Night(self._ns, at.at, at.since, at.active, at.done, self._config, self._embeds)
            plan = self._plan(step, night)
            skipped = {**told.skipped, **plan.skipped}
            told = replace(told, looked=told.looked + plan.looked, skipped=skipped)
            self._told[step.name] = told
            for part in _parts(plan.things, self._config.sleep.bite):
                if self._is_late() or self._left == 0:
                    return False
                told = replace(told, changed=told.changed + self._do(step, night, part))
                self._told[step.name] = told
            if self._left == 0 and plan.things:
                return False
            if plan.more is None:
                break
            self._progress.since = plan.more
            self._bite()
            if self._is_late():
                return False
        self._began = True
        self._progress.steps = self._progress.steps[1:]
        self._progress.begin_step()
        return True

    def _plan(self, step: Step, night: Night) -> Plan:
        return self._ledger.read(lambda c: step.plan(c, night))

    def _do(self, step: Step, night: Night, part: Sequence[Any]) -> int:
        """Do things of a plan in one transaction; return how many memories changed."""
        things = part[: self._left]
        self._progress.done += len(things)
        rows = self._bite(
            lambda work: [row for thing in things for row in step.carry_out(work, night, thing)]
        )
        if self._left is not None:
            self._left -= len(things)
        return len(rows)

    def _bite(
        self, job: Callable[[Work], Sequence[Row]] = lambda _: (), *, last: bool = False
    ) -> Sequence[Row]:
        """Run a job and save the progress in one transaction; without a job, only save."""
        rows, self._state = self._ledger.write(partial(self._write, job=job, last=last))
        self._began = True
        if rows:
            self._changed(self._ns, rows)
        return rows

    def _write(
        self, session: Transaction, job: Callable[[Work], Sequence[Row]], *, last: bool
    ) -> tuple[Sequence[Row], dict[str, Any]]:
        lease, progress = sleep_rows.lease(session, self._ns), self._progress
        mine = lease.owner == self._owner or lease.owner is None or lease.until <= self._now
        if not mine or lease.state != self._state:
            raise _LostError
        alone = self._reach(session) == (progress.rev, progress.event)
        work = Work(session, self._ns, self._now, self._rules)
        rows = job(work)
        run = changes.finish(work, "consolidate", run=progress.run, begins_run=True)
        progress.run = self._run = run if progress.run is None else progress.run
        if alone:
            progress.rev, progress.event = self._reach(session)
        if last:
            progress.end(self._marked)
        until = self._now + int(self._config.sleep.lease * SECOND)
        state = asdict(progress)
        sleep_rows.keep(session, self._ns, Lease(None if last else self._owner, until, state))
        return rows, state

    def _release(self) -> None:
        """Give up the lease, so that another process can continue the unfinished sleep."""

        def job(session: Transaction) -> None:
            lease = sleep_rows.lease(session, self._ns)
            if lease.owner == self._owner:
                sleep_rows.keep(session, self._ns, Lease(None, 0, lease.state))

        self._ledger.write(job, spaces=(self._ns,))

    def _notes(self) -> dict[str, int]:
        """Return ``report.notes``, counted again only if something is new since the last count."""
        if self._progress.noted == self._ledger.read(self._mark):
            return self._progress.notes
        return self._ledger.read(
            lambda c: report.notes(c, self._ns, self._now, self._config), space=self._ns
        )

    def _reach(self, session: Transaction) -> tuple[int, int]:
        return memories.latest_rev(session, self._ns), usage_events.newest(session)

    def _mark(self, session: Transaction) -> Mark:
        return [*self._reach(session), self._now // DAY]

    def _is_late(self) -> bool:
        """Return whether time is up; one bite, or one step that needs none, is always done."""
        return self._began and time.monotonic() >= self._until


def _parts(things: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """Yield the things in parts of at most ``size`` memories, or of one larger thing."""
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
    """Return how many memories a thing concerns: one, and the members of a group."""
    match thing:
        case (_, tuple(members)):
            return 1 + len(members)
    return 1
