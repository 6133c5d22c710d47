"""A shared scope shows only active memories of that scope to that namespace.

Several namespaces add, share, take shares back, merge, move, forget, supersede, quarantine and
erase, at random. After each step everybody asks on every surface. Each text has a sign of its own,
and the sign of another namespace may be in an answer only while that memory is active, and in a
scope that its owner shares with the one who asks. The namespace has to find each of these memories.

There are two controls: a manager that keeps shares that it should take back, and a search that asks
for everything of a namespace that shares one scope. The harness must notice both.

Then two stores show the same scope, and in one of them the owner has and does other things besides:
every answer that is seen through the share, with every number in it, is the same. The control is a
search that uses the word statistics of the whole namespace.

Alone: ``python benchmarks/trust.py --full --only shares``.
"""

from __future__ import annotations

import io
import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

from share_twins import answers, differing
from trust_result import TrustResult

from memento import MemoryManager
from memento.base.display import data
from memento.base.scopes import contains
from memento.config import Config
from memento.errors import MementoError
from memento.retrieve.searcher import Searcher
from memento.testing import HashEmbedder, ManualClock
from memento.verbs.scopes import Scopes

if TYPE_CHECKING:
    from memento.retrieve.request import Request
    from memento.types import Retrieval

NAMES = ("team", "rami", "lina")
SCOPES = ("ops", "ops/night", "shop", "opsx", "")
SHARED = ("ops", "shop", "")
SIGN = re.compile(r"sign\d+x")
QUERY = "how do deploys go?"
Share = tuple[str, str, str]


def keep_shared(_: Scopes, scope: str, with_namespace: str | Sequence[str]) -> bool:  # noqa: ARG001
    """Say that a share was taken back, and keep it: a control."""
    return True


@dataclass
class Life:
    """Namespaces that share with each other.

    Attributes:
        memory: The store.
        chance: Makes the choices.
        shares: Who shares which scope with whom.
        looks: Answers that were searched so far.
        number: Number of the next sign.
    """

    memory: MemoryManager
    chance: random.Random
    shares: set[Share] = field(default_factory=set)
    looks: int = 0
    number: int = 0

    def view(self, name: str) -> MemoryManager:
        """Return a namespace."""
        return self.memory.of(name)

    def add(self, name: str) -> None:
        """Add a memory that says its sign in every field."""
        self.number += 1
        sign = f"sign{self.number}x"
        self.view(name).add(
            f"Deploys of the blue pipeline go by {sign}", id=f"{name}-{sign}",
            scope=self.chance.choice(SCOPES), key=self.chance.choice([None, "deploy/how"]),
            kind=self.chance.choice(["fact", "rule"]), tags=[sign], aliases=[sign],
            actor=sign, source=self.chance.choice(["user", "user", "agent"]),
        )  # fmt: skip

    def quarantine(self, name: str) -> None:
        """Add a memory that no one may see: it is from the web."""
        self.number += 1
        text = f"Deploys of the red pipeline go by sign{self.number}x"
        self.view(name).add(text, scope="ops", source="web")

    def share(self, name: str) -> None:
        """Share a scope."""
        scope, other = self.chance.choice(SHARED), self.chance.choice(NAMES)
        if other != name:
            self.view(name).scopes.share(scope, other)
            self.shares.add((name, scope, other))

    def unshare(self, name: str) -> None:
        """Take a share back, one that is there if there is any."""
        mine = sorted(one for one in self.shares if one[0] == name)
        if mine:
            chosen = self.chance.choice(mine)
            self.view(name).scopes.unshare(chosen[1], chosen[2])
            self.shares.remove(chosen)

    def change(self, name: str) -> None:
        """Change one memory of one's own."""
        view = self.view(name)
        mine = view.list(status=["active", "forgotten", "archived"])
        if not mine:
            return
        chosen = self.chance.choice(mine).id
        verbs: list[Callable[[], object]] = [
            lambda: view.forget(chosen),
            lambda: view.restore(chosen),
            lambda: view.update(chosen, scope=self.chance.choice(SCOPES)),
            lambda: view.store.erase(chosen, timeout=0),
            view.undo,
        ]
        with suppress(MementoError):  # what cannot be done to it stays as it is
            self.chance.choice(verbs)()

    def merge(self, name: str) -> None:
        """Make one scope a part of another one, or take that back."""
        with suppress(MementoError):
            if self.chance.random() < 0.5:
                self.view(name).scopes.merge("shop", "ops")
            else:
                self.view(name).scopes.unmerge("shop")

    def step(self) -> None:
        """Do one thing."""
        verbs = (self.add, self.add, self.quarantine, self.share, self.share, self.unshare,
                 self.change, self.change, self.merge)  # fmt: skip
        self.chance.choice(verbs)(self.chance.choice(NAMES))

    def seen_by(self, name: str) -> set[str]:
        """Return the signs of others that a namespace may see."""
        return {
            sign
            for owner, scope, other in self.shares
            if other == name
            for one in self.view(owner).list(limit=1000)
            if contains(scope, one.scope)
            for sign in SIGN.findall(one.text)
        }

    def crossings(self) -> Iterator[str]:
        """Ask everybody on every surface; yield what should not have been seen, or was not."""
        for name in NAMES:
            view = self.view(name)
            everything = view.list(status=ALL, limit=1000)
            own = set(SIGN.findall(repr(data(everything))))
            allowed = self.seen_by(name)
            for surface, look in SURFACES.items():
                self.looks += 1
                signs = set(SIGN.findall(repr(data(look(view)))))
                strange = signs - own - (allowed if surface in OPEN else set())
                if strange:
                    yield f"{name} sees {sorted(strange)} in {surface}"
                if surface == "retrieve" and not allowed <= signs:
                    yield f"{name} does not find {sorted(allowed - signs)}"


ALL = ["active", "superseded", "archived", "forgotten", "quarantined"]
OPEN = {"retrieve", "prompt", "policy", "reason"}
"""Surfaces that show what is shared; the other ones show nothing of another namespace."""
WIDE = {"include_superseded": True, "include_quarantined": True, "record": False}


def _exported(view: MemoryManager) -> str:
    file = io.StringIO()
    view.store.export(file)
    return file.getvalue()


SURFACES: dict[str, Callable[[MemoryManager], object]] = {
    "retrieve": lambda view: view.retrieve(QUERY, 200, fold=False, **WIDE).hits,
    "prompt": lambda view: view.prompt(QUERY, 50, include_quarantined=True),
    "policy": lambda view: view.rules.policy(QUERY),
    "reason": lambda view: view.insight.reason(QUERY),
    "only its own": lambda view: view.retrieve(QUERY, 200, shared=False, **WIDE).hits,
    "dossier": lambda view: view.insight.dossier("deploys"),
    "wonder": lambda view: view.insight.wonder("deploys"),
    "list": lambda view: [view.list(status=ALL, limit=1000), view.sessions.recent(50)],
    "scopes": lambda view: [view.scopes.list(), view.scopes.infer(QUERY), view.store.counts("tag")],
    "export": _exported,
}


def first_crossing(memory: MemoryManager, seed: str, steps: int) -> tuple[str, int]:
    """Live for some steps; return the first crossing, or "", and how many answers were searched."""
    life = Life(memory, random.Random(seed))
    for step in range(steps):
        life.step()
        for found in life.crossings():
            return f"seed {seed}, step {step}: {found}", life.looks
    return "", life.looks


def _lived(folder: Path, number: int, seed: int, steps: int) -> tuple[str, int]:
    embedder = HashEmbedder(32) if number % 2 else None
    config = Config(long_index="exact")
    with MemoryManager(
        folder / f"life-{number}", embedder=embedder, config=config, clock=ManualClock()
    ) as memory:
        return first_crossing(memory, f"{seed}.{number}", steps)


def shares_show_one_scope(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Let namespaces share and take back; then do the same with the controls."""
    rounds, steps = (40, 60) if full else (2, 25)
    done = [_lived(folder, n, seed, steps) for n in range(rounds)]
    broken = [found for found, _ in done if found]
    with mock.patch.object(Scopes, "unshare", keep_shared):
        controls = [_caught(folder / "kept", seed)]
    with mock.patch.object(Searcher, "search", _open):
        controls.append(_caught(folder / "open", seed))
    return TrustResult(
        name="a shared scope",
        promise="A shared scope shows only its active memories, only to the namespace it is shared"
        " with, and nothing after `unshare`.",
        cases=sum(looks for _, looks in done),
        failures=len(broken),
        control="shares that are never withdrawn; a share that opens the whole namespace",
        control_failed=all(controls),
        seed=seed,
        figures={
            "rounds": rounds, "steps each": steps, "namespaces": len(NAMES),
            "surfaces": len(SURFACES), "the controls": "; ".join(controls),
        },
        details=tuple(broken[:5]),
    )  # fmt: skip


CONTROL_TRIES, CONTROL_STEPS = 5, 40
"""Lives in which the harness may miss what a control shows of others, and steps of each."""


def _caught(folder: Path, seed: int) -> str:
    """Live with a control until it shows what it should not."""
    lives = (_lived(folder, 2 * n, seed, CONTROL_STEPS)[0] for n in range(CONTROL_TRIES))
    return next((found for found in lives if " sees " in found), "")


_search = Searcher.search


def _open(
    self: Searcher, ns: int, labels: tuple[str, ...], asked: Request, _: tuple[str, ...] = ()
) -> Retrieval:
    """Search the whole namespace, whatever it shows: a control."""
    return _search(self, ns, labels, asked)


def _filtered(
    self: Searcher, ns: int, labels: tuple[str, ...], asked: Request, shown: tuple[str, ...] = ()
) -> Retrieval:
    """Search the whole namespace, and leave out what it does not show: a control."""
    within = shown or asked.filters.within
    return _search(self, ns, labels, replace(asked, filters=replace(asked.filters, within=within)))


def shares_tell_nothing_else(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Compare what is seen through a share, with and without other memories of the owner."""
    pairs = 100 if full else 2
    broken, questions = [], 0
    for number in range(pairs):
        asked, found = _compared(folder / f"pair-{number}", f"{seed}.{number}", number % 2 * 64)
        questions += asked
        broken += [f"pair {number}, {line}"[:400] for line in found]
    search = Searcher.search
    with mock.patch.object(
        Searcher,
        "search",
        lambda self, ns, labels, asked, _shown=(): search(self, ns, labels, asked),
    ):
        control = _compared(folder / "control", f"{seed}.control", 0)[1]
    return TrustResult(
        name="what a share reveals about the rest",
        promise="What a share shows does not depend on any other memory of its owner: texts,"
        " order, scores, confidence, explanations and counts stay the same.",
        cases=questions,
        failures=len(broken),
        control="a search that uses the word statistics of the whole namespace",
        control_failed=bool(control),
        seed=seed,
        figures={"pairs of stores": pairs, "control: answers that differ": len(control)},
        details=tuple(broken[:5]),
    )


def _compared(folder: Path, seed: str, embedder: int) -> tuple[int, list[str]]:
    """Return how many answers were compared in a pair of stores, and which differ."""
    chance = random.Random(seed)
    members, hidden = chance.randrange(6, 20), chance.randrange(5, 40)
    alone = answers(folder / "alone", seed, members=members, hidden=0, embedder=embedder)
    beside = answers(folder / "beside", seed, members=members, hidden=hidden, embedder=embedder)
    return len(alone), differing(alone, beside)


HARNESSES = (shares_show_one_scope, shares_tell_nothing_else)
