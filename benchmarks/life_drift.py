"""LifeBench: facts that change. The scenario drift.

The slots, which are the things that change and what is said about them, are read by ``slot_files``.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from life_need import NOUNS
from life_verdicts import CHAT
from life_world import NOWHERE, PRODUCT, Item, Scores, World
from slot_files import SETS, Slot, read_slots

SLOTS = SETS / "life_slots.json"
SESSIONS, SPAN, LINES = 200, 400.0, 800
CHECKS = (100.0, 200.0, 300.0, 400.0)


@dataclass(frozen=True, slots=True)
class Said:
    """Something that was said.

    Attributes:
        at: Day.
        text: The words.
        slot: The thing it is about; None for small talk.
        value: The value that it asserts or that was valid before; None for neither.
        asserts: Whether it asserts the value of its moment.
        role: ``user`` or ``assistant``.
    """

    at: float
    text: str
    slot: str | None = None
    value: str | None = None
    asserts: bool = False
    role: str = "user"


@dataclass(slots=True)
class Talk:
    """All that is said in one world, and which values were valid from which day on."""

    said: list[Said] = field(default_factory=list)
    values: dict[str, list[tuple[float, str]]] = field(default_factory=dict)


def read(path: Path) -> dict[str, Slot]:
    """Read a file of slots, with questions; see ``slot_files``."""
    return read_slots(path, SLOTS, asked=True)


def drift(seeds: Sequence[int], slots: Mapping[str, Slot]) -> Scores:
    """Ask for the present value of things that change, at four moments of a year.

    Args:
        seeds: One world for each.
        slots: The things.
    """
    scores = Scores()
    for seed in seeds:
        talk = _talk(random.Random(f"drift/{seed}"), slots)
        with World() as world:
            _ask(world, talk, slots, scores)
    return scores


def _talk(rng: random.Random, slots: Mapping[str, Slot]) -> Talk:
    talk = Talk()
    for name, slot in slots.items():
        changes = 1 + min(4, int(rng.expovariate(1 / 1.8)))
        days = sorted(rng.uniform(2, SPAN - 20) for _ in range(min(changes, len(slot["values"]))))
        values = rng.sample(list(slot["values"]), len(days))
        talk.values[name] = list(zip(days, values, strict=True))
        for at in range(len(days)):
            talk.said += _period(rng, name, slot, talk.values[name], at)
    for _ in range(LINES):
        line = rng.choice(CHAT).format(a=rng.choice(NOUNS), b=rng.choice(NOUNS))
        talk.said.append(Said(rng.uniform(0, SPAN), line))
    talk.said.sort(key=lambda one: one.at)
    return talk


def _period(
    rng: random.Random, name: str, slot: Slot, values: Sequence[tuple[float, str]], at: int
) -> list[Said]:
    """Say what is said about a thing while it has one value."""
    day, value = values[at]
    end = values[at + 1][0] if at + 1 < len(values) else SPAN
    old = values[at - 1][1] if at else None
    chosen = slot["change"] if old is not None and rng.random() < 0.4 else slot["say"]
    first = rng.choice(list(chosen)).format(o=old, v=value)
    said = [Said(day, first, name, value, asserts=True)]
    if rng.random() < 0.5:
        echo = f"Noted: {first[0].lower()}{first[1:]}"
        if "echo" in slot:
            echo = rng.choice(list(slot["echo"])).format(o=old, v=value)
        said.append(Said(day + 0.001, echo, name, value, role="assistant"))

    def later() -> float:
        return rng.uniform(day + 0.1, max(day + 0.2, end - 0.1))

    for _ in range(rng.choice((0, 0, 1, 2))):
        again = rng.choice(list(slot["say"])).format(v=value)
        said.append(Said(later(), again, name, value, asserts=True))
    others = [one for one in slot["values"] if one != value]
    for kind, share in (("other", 0.7), ("maybe", 0.5)):
        if rng.random() < share:
            words = rng.choice(list(slot[kind])).format(v=rng.choice(others))
            said.append(Said(later(), words, name))
    if old is not None and rng.random() < 0.6:
        said.append(Said(later(), rng.choice(list(slot["past"])).format(o=old), name, old))
    return said


def _ask(world: World, talk: Talk, slots: Mapping[str, Slot], scores: Scores) -> None:
    done = 0
    for check in CHECKS:
        world.at(check)
        part = [one for one in talk.said[done:] if one.at < check]
        done += len(part)
        world.add(
            [
                Item(
                    one.text[0].upper() + one.text[1:],
                    one.at,
                    actor=one.role,
                    role=one.role,
                    session=f"s{int(one.at / SPAN * SESSIONS)}",
                    source="user" if one.role == "user" else "agent",
                )
                for one in part
            ]
        )
        for name, slot in slots.items():
            valid = [value for day, value in talk.values[name] if day < check]
            if valid:
                _score(world, talk.said[:done], name, valid, slot["q"], check, scores)


def _score(
    world: World,
    said: Sequence[Said],
    name: str,
    valid: Sequence[str],
    questions: Sequence[str],
    day: float,
    scores: Scores,
) -> None:
    """Ask for the present value of one thing, and note where it and earlier ones stand."""
    mine = [(n, one) for n, one in enumerate(said) if one.slot == name and one.asserts]
    own = {n for n, one in mine if one.value == valid[-1]}
    stale = {n for n, one in mine if one.value != valid[-1]}
    for question in questions:
        found = world.numbers(world.ask(question))
        for way, order in {PRODUCT: found, **world.orders(question, day)}.items():
            scores.note(way, current1=order[:1] != [] and order[0] in own)
            if stale:
                good = next((at for at, n in enumerate(order) if n in own), NOWHERE)
                bad = next((at for at, n in enumerate(order) if n in stale), NOWHERE)
                scores.note(
                    way,
                    changed1=order[:1] != [] and order[0] in own,
                    clean=good < bad,
                    stale5=any(n in stale for n in order[:5]),
                )
