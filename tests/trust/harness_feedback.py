"""Somebody praises what is wrong and blames what is right, a thousand times a day.

A store has a right and a wrong statement of each of several things. Tools, pages of the web and
imports praise every wrong one and blame every right one; so does an agent, and then the user's own
account. Strangers must change nothing at all. An agent may move a memory by a bounded amount, and
nobody may hide one, change its score or its confidence, or let it overtake what is far more
relevant. Taking the verdicts of the agent back must lead to the very answers from before.

Alone: ``python benchmarks/trust.py --full --only feedback``.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TypeAlias
from unittest.mock import patch

from harness_iofault import QUIET
from trust_result import TrustResult

from memento import Hit, MemoryManager, Retrieval
from memento.dynamics import fold
from memento.dynamics.formulas import Effect
from memento.dynamics.settings import Dynamics
from memento.testing import ManualClock
from memento.types import Status, Trust

TIMES = {False: 30, True: 1_000}
"""Verdicts of each sort on each memory, spread over a day."""
THINGS = ("pump", "crane", "kiln", "press", "saw", "mill")
STRANGERS = (Trust.TOOL, Trust.WEB, Trust.IMPORT)
EFFECTS = ("use", "belief", "worth", "associated")
MOST_PRAISE = 0.4
"""Nats by which an agent may praise a memory up in a day."""
BOUND = 3.0
"""Nats by which anybody may move a memory."""
TINY = 1e-4
UNGUARDED = replace(
    QUIET,
    dynamics=Dynamics(half_life=1e6),
    effect=Effect(bound=10.0),
)
"""Settings without any cap, beside those that `uncapped` takes away."""


def uncapped() -> AbstractContextManager[object]:
    """Take the caps of verdicts away."""
    return patch.multiple(fold, MASSED=0.0, DAY_CAP=1e6, BELIEF_CAP=1e4)


Answers: TypeAlias = Mapping[str, Retrieval]


def opened(root: Path, clock: ManualClock, config: object = QUIET) -> MemoryManager:
    """Open a store; without an embedder, so that equal stores answer alike."""
    return MemoryManager(root, embedder=None, clock=clock, config=config)  # type: ignore[arg-type]


def filled(root: Path, clock: ManualClock) -> None:
    """Make a store with two statements of each thing, and some of other things."""
    with opened(root, clock) as memory:
        for n, thing in enumerate(THINGS):
            memory.add(f"The {thing} is stored in hall {n}", id=f"right {thing}", source="agent")
            memory.add(f"You find the {thing} in hall {n + 50}", id=f"bad {thing}", source="agent")
            memory.add(f"Postcard number {n} shows the sea", id=f"other {n}", source="agent")


def asked(memory: MemoryManager) -> dict[str, Retrieval]:
    """Ask for each thing; nothing is noted."""
    return {
        thing: memory.retrieve(f"In which hall is the {thing}?", 20, record=False)
        for thing in THINGS
    }


def blame(
    memory: MemoryManager, clock: ManualClock, source: Trust, times: int, *, strong: bool
) -> None:
    """Praise every wrong statement and blame every right one, all day."""
    praised, blamed = [f"bad {one}" for one in THINGS], [f"right {one}" for one in THINGS]
    for n in range(times):
        praise = "confirmed" if n % 2 else "used"
        memory.feedback.rate(praised, verdict=praise, source=source)
        memory.feedback.rate(blamed, verdict="harmful" if strong else "wrong", source=source)
        clock.advance(timedelta(days=1) / times)


def effect(hit: Hit) -> float:
    """Return by how much uses and verdicts move a hit, nats."""
    return sum(hit.terms.get(name, 0.0) for name in EFFECTS)


def evidence(hit: Hit) -> float:
    """Return the evidence for a hit without them."""
    return sum(hit.terms.values()) - effect(hit)


def as_shown(found: Retrieval) -> list[tuple[object, ...]]:
    """Return all of an answer that a stranger must not change."""
    return [(hit.id, hit.score, hit.confidence, dict(hit.terms)) for hit in found]


def harmed(before: Answers, after: Answers, memory: MemoryManager, most: float) -> list[str]:
    """Say what an attack by somebody who may give verdicts did beyond the bounds."""
    wrong = []
    for thing in THINGS:
        old, new = before[thing], after[thing]
        was = {hit.id: effect(hit) for hit in old}
        if {hit.id for hit in new} != was.keys():
            wrong.append(f"{thing}: other memories are found")
        if [hit.score for hit in new] != [hit.score for hit in old]:
            wrong.append(f"{thing}: other scores")
        wrong += [
            f"{thing}: {hit.id} was moved by {effect(hit):+.2f}"
            for hit in new
            if effect(hit) - was.get(hit.id, 0.0) > most + TINY or abs(effect(hit)) > BOUND + TINY
        ]
        wrong += overtaken(new)
    hidden = memory.list(status=[one for one in Status if one != Status.ACTIVE])
    return wrong + [f"{one.id} is {one.status}" for one in hidden]


def overtaken(hits: Sequence[Hit]) -> list[str]:
    """Name the hits before which stands one that is far less relevant."""
    return [
        f"{late.id} is overtaken by {first.id}"
        for at, first in enumerate(hits)
        for late in hits[at + 1 :]
        if evidence(late) - evidence(first) > 2 * BOUND + TINY
    ]


def attacked(folder: Path, source: Trust, times: int) -> list[str]:
    """Attack a store; returns what is wrong with it afterwards, one entry for each thing or so."""
    clock, root = ManualClock(), folder / f"by {source}"
    filled(root, clock)
    strange = source in STRANGERS
    with opened(root, clock) as memory:
        before = asked(memory)
        blame(memory, clock, source, times, strong=source != Trust.AGENT)
        after = asked(memory)
        if strange:
            same = all(as_shown(before[one]) == as_shown(after[one]) for one in THINGS)
            wrong = [] if same else [f"{source} changed an answer"]
        else:
            most = MOST_PRAISE if source == Trust.AGENT else BOUND
            wrong = harmed(before, after, memory, most)
        memory.feedback.retract(source=source)
        back = asked(memory)
        if any(as_shown(back[one]) != as_shown(before[one]) for one in THINGS):
            wrong.append(f"taking back what {source} said does not lead back")
    shutil.rmtree(root)
    return [f"{source}: {one}" for one in wrong]


def unguarded(folder: Path, times: int) -> bool:
    """Tell whether the same attack does harm where caps and trust are switched off."""
    clock, root = ManualClock(), folder / "control"
    filled(root, clock)
    with uncapped(), opened(root, clock, UNGUARDED) as memory:
        before = asked(memory)
        blame(memory, clock, Trust.USER, times, strong=True)
        return bool(harmed(before, asked(memory), memory, MOST_PRAISE))


def attack(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Give many verdicts, from each source; then with the caps and the trust switched off."""
    times, wrong = TIMES[full], list[str]()
    sources = (*STRANGERS, Trust.AGENT, Trust.USER)
    for source in sources:
        wrong += attacked(folder, source, times)
    return TrustResult(
        name="mass feedback",
        promise="Verdicts by tools, the web and imports change no answer. A day of an agent's"
        f" praise moves a memory by at most {MOST_PRAISE} nats, nobody can move one by more than"
        f" {BOUND:g} nats or hide it, and retracted verdicts leave no trace.",
        cases=len(sources) * len(THINGS) * times,
        failures=len(wrong),
        control="a store without caps that trusts everybody as the user",
        control_failed=unguarded(folder, times),
        seed=seed,
        figures={"verdicts of each kind per memory": times, "sources": len(sources)},
        details=tuple(wrong[:10]),
    )


HARNESSES = (attack,)
