"""The user's words are in slots, rules and memories as if nobody less trusted had spoken.

Each round is two stores: in one the user speaks alone, in the other agents, tools and pages speak
as well, about the same slots, in the same, wider and narrower scopes: they claim slots by key, by
date, by id and by what they say they supersede, correct, forget, rate and derive, directly or over
MCP. Then the user's memories, the user's lines of every policy and the user's values of every slot
are compared. The null control is the same with all of them taken for the user.

Alone: ``python benchmarks/trust.py --full --only lattice``.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from trust_result import TrustResult

from memento import MemoryManager, Source
from memento.errors import IdConflict, InvalidInput, LockedMemory, NotFound
from memento.testing import ManualClock
from memento_mcp import Doors

ROUNDS = {False: 6, True: 200}
STEPS = 50
CONTROL_TRIES = 5
KEYS = ("style/indent", "user/home", "team/editor", None)
SCOPES = ("", "project", "project/x")
KINDS = ("rule", "preference", "fact", "decision")
OTHERS = ("agent", "agent", "tool", "web", "import")
USERS_WAYS = ("say", "say", "say", "dated", "reword", "forget", "restore", "supersede")
THEIR_WAYS = (
    "claim", "claim", "narrow", "dated", "supersede", "reword", "forget", "replace", "rate",
    "derive", "remember", "correct", "drop",
)  # fmt: skip
REFUSALS = (InvalidInput, IdConflict, LockedMemory, NotFound)


@dataclass
class Step:
    """Something that somebody does: who, what, and the dice that were thrown for it."""

    who: str
    way: str
    throw: float
    key: str | None
    scope: str
    kind: str
    number: int


@dataclass
class Room:
    """One store, and the ids of what the user said in it."""

    memory: MemoryManager
    clock: ManualClock
    as_user: bool = False
    mine: list[str] = field(default_factory=list)

    def do(self, step: Step) -> None:
        """Carry out a step; what is refused changes nothing."""
        self.clock.advance(timedelta(minutes=1))
        with suppress(*REFUSALS):
            if step.who == "user":
                self._own(step)
            else:
                self._theirs(step)

    def _own(self, step: Step) -> None:
        memory, one = self.memory, self._chosen(step)
        if step.way in ("say", "dated", "supersede"):
            name = f"u{step.number}"
            given: dict[str, Any] = {"key": step.key, "scope": step.scope, "kind": step.kind}
            if step.way == "dated":
                given["occurred_at"] = self.clock() - timedelta(days=1 + 9 * step.throw)
            if step.way == "supersede" and one is not None:
                given["supersedes"] = one
            memory.add(f"The user says {step.number}", id=name, **given)
            self.mine.append(name)
        elif step.way == "wait":
            return
        elif one is not None and step.way == "reword":
            memory.update(one, text=f"The user rewords {step.number}")
        elif one is not None:
            getattr(memory, step.way)(one)

    def _theirs(self, step: Step) -> None:
        memory, one = self.memory, self._chosen(step)
        who = "user" if self.as_user else step.who
        said = f"They say {step.number}"
        given: dict[str, Any] = {
            "key": step.key, "scope": step.scope, "source": who,
            "kind": "preference" if step.kind == "rule" and who != "agent" else step.kind,
        }  # fmt: skip
        if step.way == "claim":
            memory.add(said, importance=1.0, **given)
        elif step.way == "narrow":
            memory.add(said, **{**given, "scope": "project/x"})
        elif step.way == "dated":
            memory.add(said, occurred_at=self.clock() - timedelta(days=9 * step.throw), **given)
        elif step.way in ("remember", "correct", "drop"):
            self._over_mcp(step, said, one)
        elif one is not None:
            self._against(step, said, one, who, given)

    def _against(self, step: Step, said: str, one: str, who: str, given: dict[str, Any]) -> None:
        """Speak against a memory of the user."""
        memory = self.memory
        if step.way == "supersede":
            memory.add(said, supersedes=one, **given)
        elif step.way == "reword":
            memory.update(one, text=said, source=who)
        elif step.way == "forget":
            memory.forget(one, source=who)
        elif step.way == "replace":
            memory.add(said, id=one, replace=True, **given)
        elif step.way == "rate":
            memory.feedback.rate(one, verdict="wrong", source=who)
        else:
            memory.add(said, key=step.key, scope=step.scope, source=Source(who, parents=(one,)))

    def _over_mcp(self, step: Step, said: str, one: str | None) -> None:
        doors = Doors(self.memory, scope=step.scope, client="c")
        if step.way == "remember" and step.key is not None:
            doors.call("remember", {"text": said, "key": step.key, "kind": "preference"})
        elif step.way == "correct" and one is not None:
            doors.call("correct", {"id": one, "text": said})
        elif one is not None:
            doors.call("forget", {"id": one})

    def _chosen(self, step: Step) -> str | None:
        return self.mine[int(step.throw * len(self.mine))] if self.mine else None

    def look(self) -> dict[str, object]:
        """Return what the user said, as the store holds and shows it."""
        memory = self.memory
        seen: dict[str, object] = {}
        for name in self.mine:
            one = memory.get(name)
            seen[name] = (
                one.text, one.status, one.kind, one.scope, one.key, one.superseded_by,
                one.valid_until, one.source.kind,
            )  # fmt: skip
        for scope in SCOPES:
            head = memory.rules.policy(scope=scope).head
            lines = [line for line in head.splitlines() if line.startswith("- ")]
            seen[f"policy of {scope!r}"] = [line for line in lines if "(from " not in line]
            for key in filter(None, KEYS):
                value = memory.value(key, scope=scope)
                seen[f"{key} in {scope!r}"] = None if value is None else value.text
        return seen


def script(dice: random.Random) -> list[Step]:
    """Throw the dice for a round."""
    steps = []
    for number in range(STEPS):
        who = dice.choice(("user", dice.choice(OTHERS)))
        way = dice.choice(USERS_WAYS if who == "user" else THEIR_WAYS)
        key, scope, kind = dice.choice(KEYS), dice.choice(SCOPES), dice.choice(KINDS)
        steps.append(Step(who, way, dice.random(), key, scope, kind, number))
    return steps


def played(folder: Path, steps: Sequence[Step], *, as_user: bool = False) -> dict[str, object]:
    """Play a round in a store of its own, and look at it."""
    clock = ManualClock()
    with MemoryManager(folder, embedder=None, clock=clock) as memory:
        room = Room(memory, clock, as_user)
        for step in steps:
            room.do(step)
        memory.flush(wait=True, timeout=60)
        return room.look()


def differing(folder: Path, steps: Sequence[Step], *, as_user: bool = False) -> list[str]:
    """Name what is otherwise because others spoke; a slot the user left free may be filled."""
    silence = [silent(step) for step in steps]
    alone = played(folder / "alone", silence)
    beside = played(folder / "beside", steps, as_user=as_user)
    return [
        f"{what}: {beside[what]} instead of {said}"
        for what, said in alone.items()
        if said is not None and beside[what] != said
    ]


def silent(step: Step) -> Step:
    """Leave only the time of a step that is not the user's."""
    return step if step.who == "user" else replace(step, who="user", way="wait")


def the_user_stands(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Compare rounds with and without less trusted speakers."""
    wrong: list[str] = []
    for number in range(ROUNDS[full]):
        steps = script(random.Random(seed + number))
        wrong += [f"round {number}: {one}" for one in differing(folder / f"r{number}", steps)]
    failed = any(
        differing(folder / f"control{n}", script(random.Random(seed + n)), as_user=True)
        for n in range(CONTROL_TRIES)
    )
    return TrustResult(
        name="the user's memories against agents, tools and pages",
        promise="Nothing that a less trusted source says or does, directly or over MCP,"
        " supersedes, changes, hides or ends a memory of the user, takes its slot, or removes it"
        " from a policy.",
        cases=ROUNDS[full] * STEPS,
        failures=len(wrong),
        control="the same with everybody trusted as the user",
        control_failed=failed,
        seed=seed,
        figures={"rounds": ROUNDS[full], "steps per round": STEPS},
        details=tuple(wrong[:10]),
    )


HARNESSES = (the_user_stands,)
