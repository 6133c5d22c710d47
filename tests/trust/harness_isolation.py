"""One namespace never sees another's, on any surface; and is none the worse for its neighbours.

A state machine works in several namespaces with the same words, keys, sessions, scopes and ids,
among them such as a careless join of labels would confuse. Every text, key, tag and value says
whose it is; whatever a call returns is searched for the sign of anybody else. The control is a
manager that joins its labels: the same machine must catch it.

Alone: ``python benchmarks/trust.py --full --only isolation``. The full form makes 500 examples of
30 steps, and a tenant of 100,000 memories beside one of 20.
"""

from __future__ import annotations

import importlib.util
import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, assume, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from trust_result import TrustResult

from memento import MemoryManager, Source, Status
from memento.errors import IdConflict, InvalidInput, MementoError, NotFound

LABELS = (("acme",), ("acme", "rami"), ("acme/rami",), ("rami",), ("acme", "Rami"))
WORDS = ("tea", "plan", "door", "heron")
SIGN = re.compile(r"owner\d+x\d+x")
ADAPTERS = ("langchain_core", "langgraph", "crewai")
PAGE = "https://example.org/page"

Opener = Callable[[Path], MemoryManager]
words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
who = st.integers(0, len(LABELS) - 1)


class Joined(MemoryManager):
    """The control: a manager that joins labels, so that ("a", "b") and ("a/b",) are one."""

    def of(self, *labels: str) -> MemoryManager:
        """Join the labels with a slash."""
        return super().of("/".join(labels))


class Crossing(AssertionError):
    """Somebody saw what is another's."""


def there(names: Sequence[str]) -> list[str]:
    """List those of these packages that are installed."""
    return [name for name in names if importlib.util.find_spec(name) is not None]


def machine(  # noqa: C901 - a class of rules, each of them short, over one store
    memory: MemoryManager, adapters: Sequence[str]
) -> type[RuleBasedStateMachine]:
    """Make the machine for one store; each example works in namespaces of its own."""
    numbers = itertools.count()

    class Neighbours(RuleBasedStateMachine):
        """Several namespaces; every answer is searched for signs of the others."""

        def __init__(self) -> None:
            super().__init__()
            self.number = next(numbers)
            self.ids: list[tuple[int, str]] = []

        def view(self, owner: int) -> MemoryManager:
            return memory.of(f"n{self.number}", *LABELS[owner])

        def sign(self, owner: int) -> str:
            return f"owner{self.number}x{owner}x"

        def check(self, owner: int, answer: Any) -> None:
            """Search an answer for anybody else's sign."""
            for found in SIGN.findall(repr(answer)):
                if found != self.sign(owner):
                    raise Crossing(f"{LABELS[owner]} sees {found}")

        @initialize()
        def start(self) -> None:
            """Give everyone a memory to begin with."""
            for owner in range(len(LABELS)):
                self.add(owner, "tea plan", "k", "user", "short")

        @rule(
            owner=who,
            text=words,
            key=st.sampled_from([None, "k"]),
            source=st.sampled_from(["user", "agent", "web"]),
            tier=st.sampled_from(["short", "medium", "long"]),
        )
        def add(self, owner: int, text: str, key: str | None, source: str, tier: str) -> None:
            """Add a memory that says whose it is in every field."""
            sign = self.sign(owner)
            kept = self.view(owner).add(
                f"{text} {sign}", tier, key=key, aliases=[f"{text} {sign}"], tags=[sign, "t"],
                metadata={"by": sign, "m": 1}, session="s", scope="a/b", actor=sign,
                source=Source(source, PAGE),
            )  # fmt: skip
            self.check(owner, kept)
            self.ids.append((owner, kept.id))

        @rule(owner=who, text=words)
        def add_the_same(self, owner: int, text: str) -> None:
            """Add equal words everywhere: what is known elsewhere is new here."""
            for other in (owner, (owner + 1) % len(LABELS)):
                kept = self.view(other).add(f"{text} for all", id=f"same-{text}")
                if kept.namespace != self.view(other).namespace:
                    raise Crossing(f"{LABELS[other]} was given {kept.namespace}")

        @rule(owner=who, query=words, superseded=st.booleans())
        def look(self, owner: int, query: str, *, superseded: bool) -> None:
            """Ask on every surface that takes no id."""
            view, others = self.view(owner), self.sign((owner + 1) % len(LABELS))
            more = {"include_superseded": superseded, "include_quarantined": True, "record": False}
            for asked in (query, f"{query} {others}", f'"{others}"'):
                self.check(owner, view.retrieve(asked, 50, **more).hits)
            self.check(owner, view.retrieve(query, 50, match="names", **more).hits)
            self.check(owner, view.prompt(query, 50, include_quarantined=True))
            self.check(owner, view.list(status=list(Status), limit=1000))
            self.check(owner, view.list(tags=others) + view.list(where={"by": others}))
            self.check(owner, [view.recent(session="s"), view.quarantine()])
            self.check(owner, view.forget_source(PAGE, dry_run=True))
            stats, held = view.stats(), view.list(limit=1000)
            if stats.memories != len(held) or sum(view.counts("kind").values()) != len(held):
                raise Crossing(f"{LABELS[owner]} counts what is not its own")

        @rule(owner=who, at=st.integers(0, 1000))
        def reach(self, owner: int, at: int) -> None:
            """Use every verb on an id of a neighbour's: not found, in the same words."""
            assume(self.ids)
            whose, memory_id = self.ids[at % len(self.ids)]
            assume(whose != owner)
            before = self.view(whose).get(memory_id)
            view = self.view(owner)
            for name, verb in VERBS.items():
                said = [_refusal(verb, view, one) for one in (memory_id, "nobodys")]
                if said[0].replace(memory_id, "ID") != said[1].replace("nobodys", "ID"):
                    raise Crossing(f"{name}: {said}")
            if self.view(whose).get(memory_id) != before:
                raise Crossing(f"{LABELS[owner]} changed {memory_id}")

        @rule(at=st.integers(0, 1000), verb=st.sampled_from(OWN))
        def change(self, at: int, verb: str) -> None:
            """Change a memory of one's own."""
            assume(self.ids)
            owner, memory_id = self.ids[at % len(self.ids)]
            view = self.view(owner)
            try:
                changed = view.move(memory_id, "medium") if verb == "move" else getattr(view, verb)(
                    memory_id
                )  # fmt: skip
            except InvalidInput:
                return
            self.check(owner, [changed, view.history(memory_id)])

        @rule(owner=who, back=st.booleans())
        def disown(self, owner: int, *, back: bool) -> None:
            """Take back a source that all have in common."""
            view = self.view(owner)
            self.check(owner, view.restore_source(PAGE) if back else view.forget_source(PAGE))

        @rule(owner=who)
        def forget_many(self, owner: int) -> None:
            """Forget by what all have in common."""
            gone = set(self.view(owner).forget_many(tags="t", within="a"))
            if gone - {memory_id for whose, memory_id in self.ids if whose == owner}:
                raise Crossing(f"{LABELS[owner]} forgot what is another's")

        @rule(owner=who, query=words, adapter=st.sampled_from([*adapters, None]))
        def adapt(self, owner: int, query: str, adapter: str | None) -> None:
            """Ask through an adapter."""
            if adapter is not None:
                self.check(owner, ASKED[adapter](self.view(owner), query, self.sign(owner)))

    return Neighbours


OWN = ("forget", "restore", "approve", "move")
VERBS: dict[str, Callable[[MemoryManager, str], object]] = {
    "get": lambda m, i: m.get(i),
    "update": lambda m, i: m.update(i, text="taken"),
    "forget": lambda m, i: m.forget(i),
    "restore": lambda m, i: m.restore(i),
    "move": lambda m, i: m.move(i, "long"),
    "history": lambda m, i: m.history(i),
    "approve": lambda m, i: m.approve(i),
    "reject": lambda m, i: m.reject(i),
    "touch": lambda m, i: m.touch(i, 60),
    "supersedes": lambda m, i: m.add("mine", supersedes=i),
    "related": lambda m, i: m.add("mine", related=[i]),
}


def _refusal(verb: Callable[[MemoryManager, str], object], view: MemoryManager, one: str) -> str:
    try:
        return f"answered {verb(view, one)!r}"
    except NotFound as error:
        return str(error)
    except (IdConflict, MementoError) as error:
        return f"{type(error).__name__}: {error}"


def _langchain(view: MemoryManager, query: str, sign: str) -> object:
    from langchain_core.messages import HumanMessage  # noqa: PLC0415 - only where installed

    from memento_langchain import (  # noqa: PLC0415 - only where installed
        MementoChatMessageHistory,
        MementoRetriever,
    )

    history = MementoChatMessageHistory("s", view)
    history.add_messages([HumanMessage(f"{query} {sign}")])
    return [history.messages, MementoRetriever(manager=view, k=50).invoke(query)]


def _langgraph(view: MemoryManager, query: str, sign: str) -> object:
    from memento_langgraph import MementoStore  # noqa: PLC0415 - only where installed

    store = MementoStore(view)
    store.put(("users",), "k", {"text": f"{query} {sign}"})
    return [
        store.get(("users",), "k"),
        store.search((), query=query, limit=50),
        store.search((), limit=50),
        store.list_namespaces(),
    ]


def _crewai(view: MemoryManager, query: str, sign: str) -> object:
    from crewai.events.event_bus import crewai_event_bus  # noqa: PLC0415 - only where installed

    from memento_crewai import MementoCrewMemory  # noqa: PLC0415 - only where installed

    with crewai_event_bus.scoped_handlers():  # its panels would be taken for the result
        memory = MementoCrewMemory(view)
        memory.remember(f"{query} {sign}")
        return [memory.recall(query, limit=50), memory.list_records(), memory.info("/")]


ASKED: dict[str, Callable[[MemoryManager, str, str], object]] = {
    "langchain_core": _langchain,
    "langgraph": _langgraph,
    "crewai": _crewai,
}


def crossing(
    memory: MemoryManager, adapters: Sequence[str], *, examples: int, steps: int, number: int
) -> str:
    """Run the machine; return the first crossing it finds, or ""."""
    kind = seed(number)(machine(memory, adapters))
    limits = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(kind, settings=limits)
    except Crossing as found:
        return str(found)
    return ""


def nobody_sees_anothers(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Run the machine on a real store and on one whose manager joins its labels."""
    examples, steps = (500, 30) if full else (12, 15)
    adapters = there(ADAPTERS if full else ADAPTERS[:2])
    with MemoryManager(folder / "store", embedder=None) as memory:
        found = crossing(memory, adapters, examples=examples, steps=steps, number=seed)
    with Joined(folder / "control", embedder=None) as memory:
        leaked = crossing(memory, adapters, examples=examples, steps=steps, number=seed)
    absent = [name for name in ADAPTERS if name not in there(ADAPTERS)]
    return TrustResult(
        name="one namespace beside others",
        promise="A namespace never sees another's: no text, id, count or error tells of it.",
        cases=examples * steps,
        failures=int(bool(found)),
        control="a manager that joins its labels",
        control_failed=bool(leaked),
        seed=seed,
        figures={
            "examples": examples, "steps each": steps, "namespaces": len(LABELS),
            "adapters": ", ".join(adapters) or "none", "the control": leaked,
        },
        details=(found,) if found else (),
        skipped=f"not installed: {', '.join(absent)}" if absent else "",
    )  # fmt: skip


def a_small_tenant_is_found(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Ask a small namespace beside a big one, and alone: the answers are the same, score by score.

    Neither postings, nor how common a word is, nor the newest rows of the neighbour count.
    """
    big, small = 100_000 if full else 2_000, 20
    mine = [f"the {WORDS[n % 4]} of number {n} is painted in colour {n * 7}" for n in range(small)]
    theirs = (f"the {WORDS[n % 4]} of number {n % 50} is painted {n}" for n in range(big))
    asked = [f"which colour is the {WORDS[n % 4]} of number {n}?" for n in range(small)]
    with MemoryManager(folder / "alone", embedder=None) as memory:
        memory.of("small").add_many(mine)
        alone = [_answer(memory.of("small"), query) for query in asked]
    with MemoryManager(folder / "shared", embedder=None) as memory:
        memory.of("small").add_many(mine[: small // 2])
        while part := list(itertools.islice(theirs, 5_000)):
            memory.of("big").add_many(part)
        memory.of("small").add_many(mine[small // 2 :])
        shared = [_answer(memory.of("small"), query) for query in asked]
        memory.of("big").add_many(mine)
        mixed = [_answer(memory.of("big"), query) for query in asked]
    differ = [query for query, one, two in zip(asked, alone, shared, strict=True) if one != two]
    lost = [query for query, found, text in zip(asked, shared, mine, strict=True)
            if not found or found[0][0] != text]  # fmt: skip
    return TrustResult(
        name="a small tenant beside a big one",
        promise="What a small namespace holds is found as if it were alone, with the same scores.",
        cases=2 * small,
        failures=len(differ) + len(lost),
        control="the same memories in the big namespace itself",
        control_failed=mixed != alone,
        seed=seed,
        figures={"memories of the big one": big, "of the small one": small},
        details=tuple((differ + lost)[:5]),
    )


def _answer(view: MemoryManager, query: str) -> list[tuple[str, float, float]]:
    return [(hit.text, hit.score, hit.confidence) for hit in view.retrieve(query, 5, record=False)]


HARNESSES = (nobody_sees_anothers, a_small_tenant_is_found)
