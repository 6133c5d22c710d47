"""Every change can be undone, in whatever order: what it did is set back, and nothing else is.

Each round makes a random life of a store: values that take slots, corrections, updates, memories
that are hidden, restored and moved. After each call, what the store holds is noted. Then all the
changes are undone, the newest first, and after each the store must hold what it held before that
call, but for the memories that came with it or later, which are hidden. Then the undos are undone,
the newest first, and the store must be as it was at the end of that life.

Alone: ``python benchmarks/trust.py --full --only undo``.
"""

from __future__ import annotations

import random
import shutil
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from trust_result import TrustResult

from memento import MemoryManager, Status
from memento.errors import InvalidInput
from memento.ledger import states
from memento.testing import ManualClock

ROUNDS = {False: 3, True: 100}
STEPS = 40
WORDS = ("harbour", "kettle", "violet", "timber", "comet", "saddle")
TOLD = ("text", "status", "tier", "key", "scope", "tags", "pinned", "superseded_by", "version",
        "valid_from", "valid_until", "importance", "metadata")  # fmt: skip

Held = dict[str, tuple[str, ...]]


def held(memory: MemoryManager) -> Held:
    """Read what each memory says and is; not when it last changed, nor how often it was said."""
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
        lambda: memory.move(name, dice.choice(("medium", "long"))),
        lambda: memory.revert(key),
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
            if (made := memory.changes(limit=1)) and made[0].number not in before:
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
    (one,) = [found for found in memory.changes(limit=10_000) if found.number == number]
    now = held(memory)
    made = []
    for name in sorted(now.keys() - was.keys() - set(one.added)):
        if now[name][1] != "forgotten":
            memory.forget(name)
            made.append(memory.changes(limit=1)[0].number)
    return made


def everything(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Undo and redo random lives; then again with a store that sets back nothing."""
    dice, count, wrong = random.Random(seed), 0, list[str]()
    for number in range(ROUNDS[full]):
        made, said = one_round(folder / f"round{number}", dice)
        count, wrong = count + made, wrong + [f"round {number}: {one}" for one in said]
        shutil.rmtree(folder / f"round{number}")
    with mock.patch.object(states, "at_revision", lambda _session, row, _rev: row):
        failed = bool(one_round(folder / "control", dice)[1])
    return TrustResult(
        name="every change undone and redone",
        promise="Undoing a change restores what it altered and hides what came with it, and"
        " nothing else; undoing the undo is redo.",
        cases=count,
        failures=len(wrong),
        control="an undo that hides what came, and sets nothing back",
        control_failed=failed,
        seed=seed,
        figures={"rounds": ROUNDS[full], "calls in each": STEPS},
        details=tuple(wrong[:10]),
    )


HARNESSES = (everything,)
