"""Every change can be undone, in whatever order: what it did is set back, and nothing else is.

Each round makes a random life of a store: values that take slots, corrections, updates, memories
that are hidden, restored and moved. After each call, what the store holds is noted. Then all the
changes are undone, the newest first, and after each the store must hold what it held before that
call, but for the memories that came with it or later, which are hidden. Then the undos are undone,
the newest first, and the store must be as it was at the end of that life.

Another harness lets stores grow old: statements that say the same are folded, memories move between
tiers and are archived, verdicts bring them back. Each sleep is undone as a whole, and then done
again; the changes by verdicts are undone, and the verdicts are taken back. After each, every memory
is as it was, and so are its strength and the belief in it.

Alone: ``python benchmarks/trust.py --full --only undo``.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from harness_iofault import QUIET
from trust_result import TrustResult

from memento import MemoryManager, Status
from memento.config import Sleep
from memento.dynamics.fold import VERDICTS
from memento.errors import InvalidInput
from memento.ledger import past, strength_fold
from memento.ledger.usage_events import Happening
from memento.testing import ManualClock

ROUNDS = {False: 3, True: 100}
STEPS = 40
WORDS = ("harbour", "kettle", "violet", "timber", "comet", "saddle")
TOLD = ("text", "status", "tier", "key", "scope", "tags", "pinned", "superseded_by", "valid_from",
        "valid_until", "importance", "metadata")  # fmt: skip

Held = dict[str, tuple[str, ...]]


def held(memory: MemoryManager) -> Held:
    """Read what each memory says and is; not its version, which only grows."""
    every = memory.list(status=list(Status), limit=10_000)
    return {one.id: tuple(str(getattr(one, name)) for name in TOLD) for one in every}


def step(memory: MemoryManager, dice: random.Random) -> None:
    """Do one thing to a store."""
    text, ids = " ".join(dice.choices(WORDS, k=3)), [*held(memory)] or [None]
    name, key = dice.choice(ids), dice.choice((None, "a", "b"))
    verbs: list[Any] = [
        lambda: memory.add(text, "long", key=key, importance=0.5),
        lambda: memory.add(text, "long", importance=0.5, supersedes=[name]),
        lambda: memory.correct(name, text),
        lambda: memory.update(name, text=text),
        lambda: memory.update(name, scope=dice.choice(("", "x")), tags=[text]),
        lambda: memory.forget(name),
        lambda: memory.forget_many(ids=dice.choices(ids, k=3)),
        lambda: memory.restore(name),
        lambda: memory.update(name, tier=dice.choice(("medium", "long"))),
        lambda: memory.slots.revert(key),
    ]
    with suppress(InvalidInput):
        dice.choice(verbs if ids != [None] else verbs[:1])()


def one_round(root: Path, dice: random.Random) -> tuple[int, list[str]]:
    """Live, undo everything, redo everything; returns the number of changes and what is wrong."""
    clock, before, wrong = ManualClock(), dict[int, Held](), list[str]()
    with MemoryManager(root, embedder=None, clock=clock) as memory:
        for _ in range(STEPS):
            was = held(memory)
            step(memory, dice)
            clock.advance(timedelta(seconds=dice.choice((0, 0, 60))))
            if (made := memory.changes.list(limit=1)) and made[0].number not in before:
                before[made[0].number] = was
        end, undos = held(memory), []
        for number, was in reversed(before.items()):
            undos += take_back(memory, number, was)
            done = memory.undo(number)
            undos += done.changes
            now = held(memory)
            shown = {name for name in now.keys() - was.keys() if now[name][1] != "forgotten"}
            if done.left or shown or {name: now[name] for name in was} != was:
                wrong.append(f"change {number} is not undone: {done.left or 'another state'}")
        for number in reversed(undos):
            memory.undo(number)
        if held(memory) != end:
            wrong.append("undoing the undos does not lead back to the end")
        wrong += [f"doctor: {found.check}" for found in memory.store.doctor() if not found.ok]
    return len(before), wrong


def take_back(memory: MemoryManager, number: int, was: Held) -> list[int]:
    """Forget what was plainly added after a change, which is not a change; returns the numbers."""
    (one,) = [found for found in memory.changes.list(limit=10_000) if found.number == number]
    now = held(memory)
    made = []
    for name in sorted(now.keys() - was.keys() - set(one.added)):
        if now[name][1] != "forgotten":
            memory.forget(name)
            made.append(memory.changes.list(limit=1)[0].number)
    return made


def everything(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Undo and redo random lives; then again with a store that sets back nothing."""
    dice, count, wrong = random.Random(seed), 0, list[str]()
    for number in range(ROUNDS[full]):
        made, said = one_round(folder / f"round{number}", dice)
        count, wrong = count + made, wrong + [f"round {number}: {one}" for one in said]
        shutil.rmtree(folder / f"round{number}")
    with mock.patch.object(past, "at_revision", lambda _session, row, _rev: row):
        failed = bool(one_round(folder / "control", dice)[1])
    return TrustResult(
        name="every change undone and redone",
        promise="Undoing a change restores what it altered and hides what it added, and nothing"
        " else; undoing the undo redoes it.",
        cases=count,
        failures=len(wrong),
        control="an undo that hides what was added but restores nothing",
        control_failed=failed,
        seed=seed,
        figures={"rounds": ROUNDS[full], "calls per round": STEPS},
        details=tuple(wrong[:10]),
    )


LIVES = {False: 2, True: 60}
DAYS = 60
TIRED = replace(QUIET, sleep=Sleep(bite=3, archive_share=1.0, tier_share=1.0, replay=0.2))
"""Settings of a sleep that does much."""
SOURCES = ("user", "agent")


def strengths(memory: MemoryManager) -> dict[str, str]:
    """Read what the events of each memory add up to."""
    every = memory.list(status=list(Status), limit=10_000)
    return {
        one.id: f"{memory.feedback.belief(one.id).mean} {memory.feedback.strength(one.id)}"
        for one in every
    }


def grown_old(root: Path, dice: random.Random, clock: ManualClock) -> None:
    """Make a store in which a sleep has much to do."""
    with MemoryManager(root, embedder=None, clock=clock, config=TIRED) as memory:
        for n in range(6):
            owner = f"neighbour N{n}"
            memory.add(f"The blue bike of {owner} is kept in the old shed", id=f"a{n}", tags=["a"])
            memory.add(f"The blue bike of {owner} is always kept in the old shed", id=f"b{n}")
            memory.add(f"We walked past lamp post {n}", id=f"e{n}", kind="episode", importance=0.1)
            memory.add(f"The gate code of house {n} is {n}", id=f"g{n}", importance=0.55)
        for _ in range(DAYS):
            clock.advance(timedelta(days=1))
            memory.feedback.rate(
                f"g{dice.randrange(6)}", verdict=dice.choice(("used", "confirmed"))
            )


def one_life(root: Path, dice: random.Random) -> tuple[int, list[str]]:
    """Let a store sleep and be judged, and undo it; returns the number of undos, and faults."""
    clock, wrong = ManualClock(), list[str]()
    grown_old(root, dice, clock)
    with MemoryManager(root, embedder=None, clock=clock, config=TIRED) as memory:
        before, run = (held(memory), strengths(memory)), memory.sleep.run().run
        asleep = held(memory)
        wrong += ["the sleep did nothing"] * (run is None or asleep == before[0])
        undone = memory.undo(run=run)
        wrong += ["the sleep is not undone"] * ((held(memory), strengths(memory)) != before)
        for number in reversed(undone.changes):
            memory.undo(number)
        wrong += ["undoing the undo is not redo"] * (held(memory) != asleep)
        count = len(undone.changes) + judged(memory, dice, wrong)
        wrong += [f"doctor: {found.check}" for found in memory.store.doctor() if not found.ok]
    return count, wrong


def judged(memory: MemoryManager, dice: random.Random, wrong: list[str]) -> int:
    """Let verdicts bring memories back, undo that, and take the verdicts back."""
    before, told, known = held(memory), strengths(memory), set(verdicts(memory))
    archived = [one.id for one in memory.list(status="archived")]
    for source in SOURCES:
        memory.feedback.rate(dice.sample(archived, 2), verdict="used", source=source)
        memory.feedback.rate([f"g{n}" for n in range(6)], verdict="wrong", source=source)
    wrong += ["a verdict brought nothing back"] * (held(memory) == before)
    numbers = [one.number for one in memory.changes.list() if one.kind == "feedback"]
    for number in numbers:
        memory.undo(number)
    wrong += ["what verdicts did is not undone"] * (held(memory) != before)
    for event in verdicts(memory):
        if event not in known:
            memory.feedback.retract(event=event)
    wrong += ["verdicts that were taken back left something"] * (strengths(memory) != told)
    return len(numbers)


def verdicts(memory: MemoryManager) -> list[int]:
    """List the numbers of the verdicts on all memories."""
    return [one.event for name in held(memory) for one in memory.feedback.belief(name).evidence
            if one.verdict in VERDICTS]  # fmt: skip


def asleep(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Undo what sleeps and verdicts did; then again where nothing can be taken back."""
    dice, count, wrong = random.Random(seed), 0, list[str]()
    for number in range(LIVES[full]):
        made, said = one_life(folder / f"life{number}", dice)
        count, wrong = count + made, wrong + [f"life {number}: {one}" for one in said]
        shutil.rmtree(folder / f"life{number}")
    with mock.patch.object(strength_fold, "standing_ones", told_ones):
        failed = bool(one_life(folder / "control", dice)[1])
    return TrustResult(
        name="undoing sleeps and verdicts",
        promise="Undoing a sleep restores every memory, its strength and the belief in it; undoing"
        " a return caused by verdicts hides the memory again, and retracted verdicts leave no"
        " trace.",
        cases=count,
        failures=len(wrong),
        control="a store that still counts what was retracted",
        control_failed=failed,
        seed=seed,
        figures={"lives": LIVES[full], "days per simulation": DAYS},
        details=tuple(wrong[:10]),
    )


def told_ones(found: Sequence[Happening]) -> Iterator[Happening]:
    """Yield all events but retractions, the retracted ones too."""
    return (one for one in found if one.kind != "retracted")


HARNESSES = (everything, asleep)
