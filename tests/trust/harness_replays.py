"""An erased turn does not come back with its conversation, in any process.

A thread is given again from its beginning at each turn, by a checkpointer or by the program. Each
round makes a conversation of random turns, keeps and observes it, erases or forgets some of it, and
gives the whole conversation again with something new behind it, through each door, in this manager
and in one that opens the store later. The control is a store that does not note what it erased.

Alone: ``python benchmarks/trust.py --full --only replays``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

from trust_result import TrustResult

from memento import MemoryManager, Turn
from memento.conversation import keep_new
from memento.ledger import replays
from memento.types import Status

ROUNDS = {False: 12, True: 400}
TOWNS = ("Zebraville", "Quillon", "Ostrava", "Tarifa", "Wick", "Yazd")
HOW = ("ids", "session", "everything", "forget")
Door = Callable[[MemoryManager, list[Turn]], object]


def observed(memory: MemoryManager, talk: list[Turn]) -> None:
    """Give a conversation to ``observe``."""
    memory.observe(messages=talk, session="s")


def kept(memory: MemoryManager, talk: list[Turn]) -> None:
    """Give it to ``keep``."""
    memory.keep(talk, session="s")


def adapted(memory: MemoryManager, talk: list[Turn]) -> None:
    """Give it as the adapters do."""
    for said, turn_id in keep_new(memory, talk, session="s"):
        if said.turn.role == "user":
            memory.observe(said.turn.text, session="s", keep=False, turn_id=turn_id)


DOORS: tuple[Door, ...] = (observed, kept, adapted)


def conversation(chance: random.Random, *, named: bool) -> Iterator[Turn]:
    """Yield turns that say where somebody lives, with ids or without."""
    for at in range(chance.randint(1, 6)):
        town = chance.choice(TOWNS)
        yield Turn(f"I live in {town}.", id=f"u{at}" if named else None)
        yield Turn(f"{town}, noted.", "assistant", id=f"a{at}" if named else None)


def take_away(memory: MemoryManager, how: str, chance: random.Random) -> set[str]:
    """Erase or forget the whole conversation or a part; returns the texts that are to stay away."""
    every = memory.list(status=list(Status), limit=1_000)
    some = chance.sample(every, chance.randint(1, len(every)))
    if how == "forget":
        for one in some:
            memory.forget(one.id)
    elif how == "ids":
        memory.store.erase([one.id for one in some])
    elif how == "session":
        memory.store.erase(session="s")
    else:
        memory.store.erase(everything=True)
    left = {one.id for one in memory.list(limit=1_000)}
    stays = {one.text for one in every if one.id in left}
    return {one.text for one in every if one.id not in left} - stays


def came_back(folder: Path, number: int) -> str:
    """Play one round; returns what came back, ``""`` if nothing did."""
    chance = random.Random(number)
    how, door, again = chance.choice(HOW), chance.choice(DOORS), chance.choice(DOORS)
    talk = list(conversation(chance, named=chance.random() < 0.5))
    memory = MemoryManager(folder / str(number), embedder=None)
    try:
        door(memory, talk)
        away = take_away(memory, how, chance)
        if chance.random() < 0.5:
            memory.close()
            memory = MemoryManager(folder / str(number), embedder=None)
        for _ in range(2):
            again(memory, [*talk, Turn("Thanks so far.", id="last")])
        there = sorted({one.text for one in memory.list(limit=1_000)} & away)
    finally:
        memory.close()
    return f"{how}, {door.__name__}, {again.__name__}: {there}" if there else ""


def erased_stays_away(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Play rounds, and some without notes of what was erased."""
    numbers = [seed * 10_000 + at for at in range(ROUNDS[full])]
    forgetful = mock.patch.object(replays, "note", return_value=None)
    found: dict[bool, list[str]] = {}
    for control in (False, True):
        with forgetful if control else nullcontext():
            root = folder / ("control" if control else "runs")
            found[control] = [what for one in numbers if (what := came_back(root, one))]
    return TrustResult(
        name="erased turns passed again",
        promise="An erased or forgotten turn does not come back when its conversation is passed"
        " again.",
        cases=len(numbers),
        failures=len(found[False]),
        control="the same rounds without a record of what was erased",
        control_failed=bool(found[True]),
        seed=seed,
        figures={"of the control": len(found[True])},
        details=tuple(found[False][:10]),
    )


HARNESSES = (erased_stays_away,)
