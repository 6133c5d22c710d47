"""A sleep is killed inside each of its steps, and several processes sleep at once beside writers.

After a kill the store is well, each memory is as before the step or as after it, and the next sleep
leads where the one that was not killed led. Of two or four processes that sleep on one namespace,
each bite is done by one: what they leave is what one sleeper alone would have left, no memory is
changed twice, and what was added meanwhile is there. One of the sleepers is killed half way.

Alone: ``python benchmarks/trust.py --full --only sleep``.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import sys
import threading
import time
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import harness_kill
import shim
from harness_iofault import QUIET
from kill_things import END, START, Held, Thing, opened, store_of
from trust_result import TrustResult

from memento import MemoryManager, Status
from memento.base.layout import LEDGER
from memento.config import Sleep
from memento.dynamics.association import Association
from memento.ledger import sleep_rows
from memento.sleep import duplicates, replay, run
from memento.testing import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from memento.ledger.contract import Transaction
    from memento.sleep.night import Night, Plan

STEPS = (run.FOLD, *run.STEPS)
MUST = {"fold", "duplicates", "tiers", "replay", "archive"}
"""Steps that find something to do in the store of the kills; the others may be switched off."""
POINTS = {False: 2, True: 300}
CONTROL_POINTS = 6
SIZES = {False: (12, 1), True: (150, 20)}
"""Memories of each sort, and rounds of each setting; by the form."""
SLEEPERS = (2, 4)
WRITERS = 2
CONTROL_TRIES = 3
MEETING = 10.0
"""How long a sleeper of the control waits for the other one, in seconds."""
SAID = ("shed", "always", "often")
"""Three memories that say the same."""
SHARE = Sleep(bite=2, archive_share=1.0, tier_share=1.0, replay=1.0, lease=0.0)
ASLEEP = replace(QUIET, sleep=SHARE, association=Association(budget=0.3))
"""A few memories in a transaction; nobody waits for a sleeper that died."""
LINKS = "SELECT src, dst, round(weight, 6) FROM associations ORDER BY 1, 2"


# --- kill -9 inside each step


def tired(folder: Path) -> None:
    """Make a store in which each step finds something to do."""
    clock = ManualClock(START - timedelta(days=61))
    with MemoryManager(store_of(folder), embedder=None, config=ASLEEP, clock=clock) as memory:
        memory.add("The blue bike of Anna is kept in the old shed", id=SAID[0], tags=["bike"])
        memory.add("The blue bike of Anna is always kept in the very old shed", id=SAID[1])
        for n in range(5):
            memory.add(f"the gate has {n} bolts", id=f"b{n}", importance=0.5)
            memory.add(f"we passed lamp {n}", id=f"l{n}", kind="episode", importance=0.1)
        for _ in range(61):
            clock.advance(timedelta(days=1))
            memory.feedback.rate("b0", verdict="used")
        memory.add("The blue bike of Anna is often kept in the very old shed", id=SAID[2])
        clock.advance(timedelta(hours=2))
        memory.feedback.rate([f"b{n}" for n in range(5)], verdict="used")
        memory.retrieve("How many bolts has the gate?", 3)


def asleep(steps: Sequence[str] | None, folder: Path) -> None:
    """Do some steps of a sleep."""
    with MemoryManager(store_of(folder), embedder=None, config=ASLEEP, clock=lambda: END) as memory:
        memory.sleep.run(seconds=60, steps=steps)


def is_between(found: Held, before: Held, after: Held) -> bool:
    """Tell whether each memory is as before or as after, and each group is folded as a whole."""
    done = [name for name in SAID if found.get(name) == after[name] != before.get(name)]
    changed = [name for name in SAID if after[name] != before.get(name)]
    every = all(found.get(name) in (before.get(name), after[name]) for name in after)
    return every and done in ([], changed)


def told(folder: Path) -> Any:
    """Read the strengths of all memories, once their events are added up."""
    with opened(store_of(folder)) as memory:
        every = [one.id for one in memory.list(status=list(Status))]
        found = [
            [one, str(memory.feedback.belief(one)), str(memory.feedback.strength(one))]
            for one in every
        ]
    with closing(sqlite3.connect(store_of(folder) / LEDGER)) as connection:
        return [found, [list(link) for link in connection.execute(LINKS)]]


def apart(folder: Path) -> None:
    """Fold each memory of a group in a transaction of its own: what no sleep may do."""

    def plan(session: Transaction, night: Night) -> Plan:
        found = PLAN(session, night)
        single = [(stays, (one,)) for stays, members in found.things for one in members]
        return replace(found, things=single)

    step = replace(duplicates.STEP, plan=plan)
    with (
        mock.patch.dict(run.STEPS, duplicates=step),
        mock.patch.object(run, "_parts", lambda found, _size: ([one] for one in found)),
    ):
        asleep(["duplicates"], folder)


PLAN = duplicates.plan
THINGS = {
    f"sleep: {name}": Thing(tired, partial(asleep, [name]), told, between=is_between)
    for name in STEPS
}
CONTROL = "sleep: apart"
ALL = {**THINGS, CONTROL: Thing(tired, apart, told, between=is_between)}


def kill(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Kill a process inside each step of a sleep."""
    said = {
        "name": f"kill -9 inside {len(THINGS)} steps of a sleep",
        "promise": "After the kill, each memory is in its state before or after the step, each"
        " group is merged completely or not at all, and the next sleep leads to the same store.",
        "control": "a sleep that merges each memory of a group in a transaction of its own",
        "seed": seed,
    }
    library = shim.build(folder)
    if library is None:
        return TrustResult(**said, cases=0, failures=0, skipped=shim.NO_COMPILER)
    found = killed(folder, library, THINGS, POINTS[full])
    kills = [one for kills in found.values() for one in kills]
    wrong = [f"{k['thing']}, call {k['nth']}: {what}" for k in kills for what in k["wrong"]]
    wrong += [f"{name} has nothing to do" for name in idle(folder)]
    control = killed(folder, library, [CONTROL], CONTROL_POINTS)[CONTROL]
    return TrustResult(
        **said,
        cases=len(kills),
        failures=len(wrong),
        control_failed=any(one["wrong"] for one in control),
        figures={f"kills in {name}": len(kills) for name, kills in found.items()},
        details=tuple(wrong[:10]),
    )


def killed(
    folder: Path, library: Path, names: Iterable[str], points: int
) -> dict[str, list[dict[str, Any]]]:
    """Kill inside some steps, each at some of its calls."""
    return harness_kill.killed_in(folder, library, names, points, script=Path(__file__))


def idle(folder: Path) -> list[str]:
    """Name the steps that must do something and do nothing, one after the other."""
    place = folder / "idle"
    place.mkdir()
    tired(place)
    with MemoryManager(store_of(place), embedder=None, config=ASLEEP, clock=lambda: END) as memory:
        plans = memory.sleep.run(dry_run=True).steps
    shutil.rmtree(place)
    worked = {name for name, one in plans.items() if one.changed or (name == "fold" and one.looked)}
    return sorted(MUST.intersection(STEPS) - worked)


# --- several processes sleep at once


def worn(root: Path, count: int) -> None:
    """Make a store that each step of a sleep has much to do in."""
    clock = ManualClock(START - timedelta(days=61))
    with MemoryManager(root, embedder=None, config=ASLEEP, clock=clock) as memory:
        for n in range(count):
            memory.add(f"The blue bike of neighbour N{n} is kept in the old shed", id=f"x{n}")
            memory.add(f"The blue bike of neighbour N{n} is always kept in the old shed")
            memory.add(f"We walked past lamp post {n}", id=f"e{n}", kind="episode", importance=0.1)
            memory.add(f"The gate code of house {n} is {n}", id=f"g{n}", importance=0.55)
        memory.feedback.rate([f"g{n}" for n in range(5)], verdict="used")
        for _ in range(61):
            clock.advance(timedelta(days=1))
            memory.feedback.rate("g9", verdict="used")


def sleeper(root: Path, lease: float) -> None:
    """Sleep until there is nothing left to do."""
    config = replace(ASLEEP, sleep=replace(SHARE, lease=lease))
    with MemoryManager(root, embedder=None, config=config, clock=lambda: START) as memory:
        while not memory.sleep.run(seconds=60).done:
            time.sleep(0.001)


def writer(root: Path, number: int, count: int) -> None:
    """Add memories and rate one, beside the sleepers."""
    with MemoryManager(root, embedder=None, config=QUIET, clock=lambda: START) as memory:
        for n in range(count):
            memory.add(f"Writer {number} saw ship {n} pass", id=f"w{number}n{n}", kind="fact")


def at_once(root: Path, sleepers: int, lease: float, dice: random.Random | None = None) -> None:
    """Let processes sleep and write at once; with dice, one sleeper is killed at some moment."""
    jobs: list[Callable[[], None]] = [partial(sleeper, root, lease) for _ in range(sleepers)]
    jobs += [partial(writer, root, number, 20) for number in range(WRITERS)]
    children = [forked(job) for job in jobs]
    if dice is not None:
        time.sleep(dice.uniform(0.0, 0.3))
        with suppress(ProcessLookupError):
            os.kill(children[0], signal.SIGKILL)
    ended = [os.waitpid(child, 0)[1] for child in children]
    if any(ended[dice is not None :]):
        raise RuntimeError(f"a process ended with {ended}")


def forked(job: Callable[[], None]) -> int:
    """Run a job in a child; returns its number."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        job()
        status = 0
    finally:
        os._exit(status)


def left(root: Path) -> tuple[dict[str, str], list[str]]:
    """Read what a sleep left of each memory, and the events that are there more than once."""
    with closing(sqlite3.connect(root / LEDGER)) as connection:
        rows = connection.execute(
            "SELECT id, status || ' ' || tier || ' ' || ifnull(superseded_by, '') FROM memories"
        ).fetchall()
        twice = connection.execute(
            "SELECT kind, docid, json_extract(detail, '$.member'), count(*) FROM events WHERE kind"
            " IN ('folded', 'moved', 'replayed', 'archived', 'superseded')"
            " GROUP BY 1, 2, 3 HAVING count(*) > 1"
        ).fetchall()
    return dict(rows), [f"{kind} {n} times: {docid}" for kind, docid, _, n in twice]


def faults(root: Path, alone: dict[str, str]) -> list[str]:
    """Say what is wrong with a store that several processes slept on."""
    found, wrong = left(root)
    wrong += [f"{name}: {found.get(name)}, alone {one}" for name, one in alone.items()
              if found.get(name) != one]  # fmt: skip
    wanted = {f"w{number}n{n}" for number in range(WRITERS) for n in range(20)}
    wrong += [f"{name} is lost" for name in sorted(wanted - found.keys())]
    with MemoryManager(root, embedder=None, config=QUIET, clock=lambda: START) as memory:
        wrong += [f"doctor: {one.check}" for one in memory.store.doctor() if not one.ok]
    return wrong


def careless(
    self: run.Sleeper, session: Transaction, *, job: Any, last: bool
) -> tuple[Sequence[Any], dict[str, Any]]:
    """Do a bite without a look at who else sleeps."""
    rows = job(run.Work(session, self._ns, self._now, self._rules))
    if last:
        self._progress.end(self._marked)
    return rows, asdict(self._progress)


def many(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Let two and four processes sleep on one store, beside writers."""
    size, rounds = SIZES[full]
    dice, base = random.Random(seed), folder / "base"
    worn(base, size)
    alone = shutil.copytree(base, folder / "alone")
    sleeper(alone, 60.0)
    wanted, wrong, cases = left(alone)[0], list[str](), 0
    for sleepers in SLEEPERS:
        for lease in (60.0, 0.0):
            for number in range(rounds):
                root = shutil.copytree(base, folder / "round")
                at_once(root, sleepers, lease, None if lease else dice)
                said = faults(root, wanted)
                wrong += [f"{sleepers} sleepers, round {number}: {one}" for one in said]
                cases += 1
                shutil.rmtree(root)
    return TrustResult(
        name="several processes sleeping on one store",
        promise="Each change of a sleep is made exactly once, even if other processes sleep at the"
        " same time or die. The store ends up as a single process would have left it, with"
        " everything that was added meanwhile.",
        cases=cases,
        failures=len(wrong),
        control="processes that ignore the lease and each other's changes",
        control_failed=control_fails(base, folder / "round"),
        seed=seed,
        figures={"sleepers": "2 and 4", "writers": WRITERS, "memories": 4 * size},
        details=tuple(wrong[:10]),
    )


def control_fails(base: Path, place: Path) -> bool:
    """Tell whether careless sleepers do something twice."""
    free = sleep_rows.Lease(None, 0, {})
    always = replace(replay.STEP, carry_out=again)
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(run.Sleeper, "_write", careless))
        stack.enter_context(mock.patch.object(sleep_rows, "lease", return_value=free))
        stack.enter_context(mock.patch.dict(run.STEPS, replay=always))
        for _ in range(CONTROL_TRIES):
            root = shutil.copytree(base, place)
            with mock.patch.object(run.Sleeper, "_do", met(run.Sleeper._do)):
                at_once(root, 2, 60.0)
            twice = left(root)[1]
            shutil.rmtree(root)
            if twice:
                return True
    return False


def met(do: Callable[..., int]) -> Callable[..., int]:
    """Let both sleepers plan what to replay before either of them does it."""
    gate = multiprocessing.Barrier(2)

    def together(self: run.Sleeper, step: Any, night: Any, part: Sequence[Any]) -> int:
        if step.name == replay.STEP.name and not gate.broken:
            with suppress(threading.BrokenBarrierError):
                gate.wait(MEETING)
                gate.abort()
        return do(self, step, night, part)

    return together


def again(work: Any, night: Any, docid: int) -> Sequence[Any]:
    """Replay a memory without a look at whether that was done today."""
    with mock.patch.object(replay.usage_events, "last_of", return_value=0):
        return replay.carry_out(work, night, docid)


HARNESSES = (kill, many)

if __name__ == "__main__":
    harness_kill.work(
        Path(sys.argv[1]), int(sys.argv[2]), {name: ALL[name] for name in sys.argv[3:]}
    )
