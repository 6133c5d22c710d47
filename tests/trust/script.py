"""A script of operations on a store, and what the store must hold after each of them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memento import MemoryManager

TIERS = ("short", "medium", "long")
STATUSES = ("active", "superseded", "forgotten")
WORDS = ("harbour", "kettle", "violet", "ledger", "timber", "comet", "saddle", "orchid", "fjord")

State = dict[str, tuple[str, str, str]]
"""Id to text, tier and status of every memory in a store."""


class Step(NamedTuple):
    """One operation: the name of the method and its arguments."""

    verb: str
    arguments: tuple[Any, ...] = ()


def steps(count: int, seed: int) -> list[Step]:
    """Make a script. Equal seeds make equal ones.

    Args:
        count: Number of operations, >= 1.
        seed: Chooses texts, tiers and which memories are changed.
    """
    rng, known, made = random.Random(seed), [], []
    for n in range(count):
        name = f"m{n}"
        match n % 8:
            case 2 if n > 4:
                made.append(Step("update", (rng.choice(known), _text(rng, f"changed{n}"))))
            case 4:
                batch = [(f"{name}x{i}", _text(rng, f"{name}x{i}"), "medium") for i in range(3)]
                made.append(Step("add_many", tuple(batch)))
                known += [memory_id for memory_id, _, _ in batch]
            case 5:
                made.append(Step("forget", (rng.choice(known),)))
            case 6:
                made.append(Step("flush"))
            case 7:
                forgotten = [step.arguments[0] for step in made if step.verb == "forget"]
                made.append(Step("restore", (rng.choice(forgotten),)))
            case _:
                made.append(Step("add", (name, _text(rng, name), TIERS[n // 2 % 3])))
                known.append(name)
    return made


def do(memory: MemoryManager, step: Step) -> None:
    """Carry out one operation."""
    match step.verb, step.arguments:
        case "add", (memory_id, text, tier):
            memory.add(text, tier, id=memory_id)
        case "add_many", drafts:
            memory.add_many({"id": i, "text": text, "tier": tier} for i, text, tier in drafts)
        case "update", (memory_id, text):
            if memory.get(memory_id).status != "forgotten":
                memory.update(memory_id, text=text)
        case verb, arguments:
            getattr(memory, verb)(*arguments)


def after(state: Mapping[str, tuple[str, str, str]], step: Step) -> State:
    """Return what a store must hold after an operation, given what it held before."""
    new = dict(state)
    match step.verb, step.arguments:
        case "add", (memory_id, text, tier):
            new[memory_id] = (text, tier, "active")
        case "add_many", drafts:
            new |= {memory_id: (text, tier, "active") for memory_id, text, tier in drafts}
        case "update", (memory_id, text):
            _, tier, status = new[memory_id]
            if status != "forgotten":
                new[memory_id] = (text, tier, status)
        case "forget", (memory_id,):
            new[memory_id] = (*new[memory_id][:2], "forgotten")
        case "restore", (memory_id,):
            new[memory_id] = (*new[memory_id][:2], "active")
    return new


def states(script: Sequence[Step]) -> list[State]:
    """Return what a store must hold before the first operation and after each."""
    found: list[State] = [{}]
    for step in script:
        found.append(after(found[-1], step))
    return found


def held(memory: MemoryManager) -> State:
    """Read what a store holds."""
    listed = memory.list(status=STATUSES, limit=1_000_000)
    return {m.id: (m.text, str(m.tier), str(m.status)) for m in listed}


def complaints(memory: MemoryManager) -> list[str]:
    """Say what is not well in a store: doctor's findings, and views that disagree."""
    found = [f"{f.check}: {f.detail}" for f in memory.store.doctor(repair=False) if not f.ok]
    short = memory.list(tier="short", limit=1_000_000)
    listed = [one.id for one in short if one.session is None]  # each session has its own ring
    if [m.id for m in memory.sessions.recent()] != listed[
        -len(memory.sessions.recent()) or len(listed) :
    ]:
        found.append("the ring differs from the ledger")
    return found


def _text(rng: random.Random, mark: str) -> str:
    """Make a text with a word of its own; some are longer than a page."""
    words = " ".join(rng.choices(WORDS, k=rng.choice((3, 8, 30, 700))))
    return f"{mark} {words}"
