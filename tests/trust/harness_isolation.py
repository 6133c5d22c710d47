"""One namespace never sees another's, on any surface, and its neighbours do not harm it.

A state machine works in several namespaces with the same words, keys, sessions, scopes and ids,
among them such as a careless join of labels would confuse. Every text, key, tag and value says
whose it is; whatever a call returns is searched for the sign of anybody else. The embedder refuses
some texts and quotes them, as remote services do. The control is a manager that joins its labels:
the same machine must catch it.

Then one namespace answers alone, and beside a busy neighbour with refused and damaged memories:
every answer and every number is the same, but for those that SECURITY.md says are of the store.

Alone: ``python benchmarks/trust.py --full --only isolation``. The full form makes 200 examples of
30 steps, 12 pairs of stores, and a tenant of 100,000 memories beside one of 20.
"""

from __future__ import annotations

import io
import itertools
import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, assume, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from isolation_adapters import LIGHT, absent, ask, there
from trust_result import TrustResult

from memento import Config, MemoryManager, Source, Status
from memento.base.display import data
from memento.config import IndexConfig
from memento.errors import EmbedderError, IdConflict, InvalidInput, MementoError, NotFound
from memento.testing import HashEmbedder, ManualClock
from memento.types import Retrieval
from memento.upkeep.lineage import Stats

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LABELS = (("acme",), ("acme", "rami"), ("acme/rami",), ("rami",), ("acme", "Rami"))
WORDS = ("tea", "plan", "door", "heron")
SIGN = re.compile(r"owner\d+x\d+x")
GALL = "gall"
"""A word that the embedder refuses."""
PAGE = "https://example.org/page"
OURS, THEIRS = "lina", "patient"
"""In every id and text that is one namespace's own, and nowhere else."""
SETTLE = 60.0
"""Most seconds to wait for the index."""
CONTROL_TRIES = 10
"""Seeds with which the machine may miss what the control shows of others."""
STORE_WIDE = {"stats.long", "stats.ledger_bytes", "doctor", "backup", "reindex"}
"""Surfaces of the whole store, see SECURITY.md; they may count others, and name none."""
UNSTABLE = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}|datetime\.datetime\([^)]*\)|memories-\w+|\d+\.\d{6,}"
    r"|lc-\w+|0x[0-9a-f]+"
)
"""Ids, moments and word marks that are new each time."""

Opener = Callable[[Path], MemoryManager]
words = st.lists(st.sampled_from((*WORDS, GALL)), min_size=1, max_size=3).map(" ".join)
who = st.integers(0, len(LABELS) - 1)


class Joined(MemoryManager):
    """The control: a manager that joins labels, so that ("a", "b") and ("a/b",) are one."""

    def of(self, *labels: str) -> MemoryManager:
        """Join the labels with a slash."""
        return super().of("/".join(labels))


class Crossing(AssertionError):
    """Somebody saw what is another's."""


class Quoting(HashEmbedder):
    """An embedder that refuses texts with a certain word, and quotes them as it does."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts, or refuse them all for the sake of one."""
        for text in texts:
            if GALL in text:
                raise EmbedderError(f"400: cannot embed input {text!r}")
        return super().embed(texts)


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
            for found in SIGN.findall(repr(data(answer))):
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
                source=Source(source, PAGE), id=f"{sign}{next(numbers)}" if key else None,
            )  # fmt: skip
            self.check(owner, kept)
            if (owner, kept.id) not in self.ids:
                self.ids.append((owner, kept.id))

        @rule(owner=who, text=words)
        def add_the_same(self, owner: int, text: str) -> None:
            """Add equal words everywhere: what is known elsewhere is new here."""
            for other in (owner, (owner + 1) % len(LABELS)):
                kept = self.view(other).add(f"{text} for all", id=f"same-{text}")
                if kept.namespace != self.view(other).store.namespace:
                    raise Crossing(f"{LABELS[other]} was given {kept.namespace}")

        @rule(owner=who, query=words, superseded=st.booleans())
        def look(self, owner: int, query: str, *, superseded: bool) -> None:
            """Ask on every surface that takes no id."""
            view, others = self.view(owner), self.sign((owner + 1) % len(LABELS))
            more = {"include_superseded": superseded, "include_quarantined": True, "record": False}
            for asked in (query, f"{query} {others}", f'"{others}"'):
                found = view.retrieve(asked, 50, **more)
                self.check(owner, [found.hits, found.confidence])
                if asked == query:  # the embedder may quote what it is asked
                    self.check(owner, found.missing)
            self.check(owner, view.retrieve(query, 50, match="names", **more).hits)
            self.check(owner, view.prompt(query, 50, include_quarantined=True))
            self.check(owner, view.list(status=list(Status), limit=1000))
            self.check(owner, view.list(tag=others) + view.list(where={"by": others}))
            self.check(owner, [view.sessions.recent(session="s"), view.quarantine.list()])
            self.check(owner, view.quarantine.forget_source(PAGE, dry_run=True))
            stats, held = view.store.stats(), view.list(limit=1000)
            if stats.memories != len(held) or sum(view.store.counts("kind").values()) != len(held):
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
                changed = VERBS[verb](view, memory_id)
            except InvalidInput:
                return
            self.check(
                owner, [changed, view.changes.history(memory_id), view.insight.related(memory_id)]
            )

        @rule(owner=who, back=st.booleans())
        def disown(self, owner: int, *, back: bool) -> None:
            """Take back a source that all have in common."""
            view = self.view(owner)
            waiting = view.quarantine
            self.check(owner, (waiting.restore_source if back else waiting.forget_source)(PAGE))

        @rule(owner=who)
        def forget_many(self, owner: int) -> None:
            """Forget by what all have in common."""
            gone = set(self.view(owner).forget_many(tag="t", within="a"))
            if gone - {memory_id for whose, memory_id in self.ids if whose == owner}:
                raise Crossing(f"{LABELS[owner]} forgot what is another's")

        @rule(owner=who, query=words, adapter=st.sampled_from([*adapters, None]))
        def adapt(self, owner: int, query: str, adapter: str | None) -> None:
            """Ask through an adapter."""
            if adapter is not None:
                self.check(owner, ask(adapter, self.view(owner), query, self.sign(owner)))

        @rule(owner=who)
        def inspect(self, owner: int) -> None:
            """Look at what concerns the whole store: it names nobody else's."""
            view = self.view(owner)
            view.flush(wait=True, timeout=SETTLE)
            self.check(owner, [view.store.stats(), view.store.doctor(repair=False)])
            self.check(owner, view.retrieve("tea", 50, wait=SETTLE, record=False).missing)
            vector = view.store.embed(["tea"])[0]
            near = view.store.nearest(vector, 50, record=False)
            self.check(owner, [near.hits, near.missing])

        @rule(owner=who)
        def carry(self, owner: int) -> None:
            """Export, and import it again where it is known: nobody else's is carried along."""
            view, file = self.view(owner), io.StringIO()
            self.check(owner, view.store.export(file, vectors=True))
            self.check(owner, file.getvalue())
            file.seek(0)
            self.check(owner, view.store.import_from(file, trust="user"))

        @rule(owner=who, at=st.integers(0, 1000), everything=st.booleans())
        def erase(self, owner: int, at: int, *, everything: bool) -> None:
            """Ask what would be erased, and erase one of one's own: the receipts name no other."""
            view = self.view(owner)
            self.check(owner, view.store.erase(everything=True, dry_run=True))
            mine = [memory_id for whose, memory_id in self.ids if whose == owner]
            if mine and everything:
                chosen = mine[at % len(mine)]
                self.check(owner, view.store.erase(chosen, timeout=0))
                self.ids = [one for one in self.ids if one != (owner, chosen)]

    return Neighbours


OWN = ("forget", "restore", "approve", "move")
VERBS: dict[str, Callable[[MemoryManager, str], object]] = {
    "get": lambda m, i: m.get(i),
    "update": lambda m, i: m.update(i, text="taken"),
    "forget": lambda m, i: m.forget(i),
    "restore": lambda m, i: m.restore(i),
    "move": lambda m, i: m.update(i, tier="long"),
    "history": lambda m, i: m.changes.history(i),
    "related to": lambda m, i: m.insight.related(i),
    "approve": lambda m, i: m.quarantine.approve(i),
    "reject": lambda m, i: m.quarantine.reject(i),
    "touch": lambda m, i: m.store.touch(i, 60),
    "erase": lambda m, i: m.store.erase(i),
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


def joined(
    memory: MemoryManager, adapters: Sequence[str], *, examples: int, steps: int, number: int
) -> str:
    """Run the machine on the control, with other seeds until one finds a crossing."""
    numbers = range(number, number + CONTROL_TRIES)
    found = (crossing(memory, adapters, examples=examples, steps=steps, number=n) for n in numbers)
    return next(filter(None, found), "")


def nobody_sees_anothers(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Run the machine on real stores and on one whose manager joins its labels."""
    examples, steps = (200, 30) if full else (10, 15)
    indexes = ("exact", "chroma") if full else ("exact",)
    adapters = there() if full else [name for name in there() if name in LIGHT]
    found = ""
    for index in indexes:
        with MemoryManager(folder / index, embedder=Quoting(32), config=quick(index)) as memory:
            each = examples // len(indexes)
            found = found or crossing(memory, adapters, examples=each, steps=steps, number=seed)
    with Joined(folder / "control", embedder=Quoting(32), config=quick("exact")) as memory:
        leaked = joined(memory, adapters, examples=examples, steps=steps, number=seed)
    return TrustResult(
        name="one namespace beside others",
        promise="A namespace never sees another's memories: no text, id, count or error reveals"
        " them.",
        cases=examples * steps,
        failures=int(bool(found)),
        control="a manager that joins its labels into one string",
        control_failed=bool(leaked),
        seed=seed,
        figures={
            "examples": examples, "steps each": steps, "namespaces": len(LABELS),
            "vectors": " and ".join(indexes), "adapters": ", ".join(adapters) or "none",
            "the control": leaked,
        },
        details=(found,) if found else (),
        skipped=f"not installed: {', '.join(absent())}" if absent() else "",
    )  # fmt: skip


def quick(index: str) -> Config:
    """Settings of a background thread that does not rest, with this kind of search."""
    fast = IndexConfig(start_seconds=0.0, poll_seconds=0.01, retry_seconds=0.01)
    return Config(index=fast, long_index=index)


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
        name="a small namespace beside a big one",
        promise="The memories of a small namespace are found as if it were alone, with the same"
        " scores.",
        cases=2 * small,
        failures=len(differ) + len(lost),
        control="the same memories in the big namespace",
        control_failed=mixed != alone,
        seed=seed,
        figures={"memories in the big namespace": big, "of the small one": small},
        details=tuple((differ + lost)[:5]),
    )


def _answer(view: MemoryManager, query: str) -> list[tuple[str, float, float]]:
    return [(hit.text, hit.score, hit.confidence) for hit in view.retrieve(query, 5, record=False)]


def a_neighbour_changes_no_number(folder: Path, *, full: bool, seed: int) -> TrustResult:
    """Ask one namespace alone and beside a busy one: every answer and every number is the same.

    The neighbour has the same words, ids, keys, sessions and sources, and more of them, texts that
    the embedder refused, and damaged memories.
    """
    rounds, cases, failures, leaked = 12 if full else 1, 0, [], 0
    for number in range(rounds):
        index = ("chroma", "exact")[number % 2] if full else "exact"
        kept = [
            _told(folder / f"{number}-{name}", labels, index, f"{seed}.{number}", full=full)
            for name, labels in (("alone", None), ("beside", ("t", "a")), ("control", ("t", "b")))
        ]
        alone, beside, control = kept
        cases += len(alone)
        failures += [
            f"{index}: {name}: {alone[name]:.300} alone, {beside[name]:.300} beside"
            for name in alone
            if name not in STORE_WIDE and alone[name] != beside[name]
        ]
        failures += [
            f"{index}: {name} names {THEIRS}: {said:.300}"
            for name, said in beside.items()
            if THEIRS in said and THEIRS not in name  # an error repeats the id it was given
        ]
        leaked += sum(alone[name] != control[name] for name in alone)
    return TrustResult(
        name="one namespace with and without a neighbour",
        promise="No answer or figure in a namespace depends on the memories of another.",
        cases=cases,
        failures=len(failures),
        control="both in the same namespace",
        control_failed=bool(leaked),
        seed=seed,
        figures={"pairs of stores": rounds, "control: answers that changed": leaked},
        details=tuple(failures[:5]),
    )


def _told(
    folder: Path, neighbour: tuple[str, ...] | None, index: str, seed: str, *, full: bool
) -> dict[str, str]:
    """Fill a store, with a neighbour or without; return all that one namespace is told."""
    clock = ManualClock()
    with MemoryManager(folder, embedder=None, clock=clock) as memory:
        for number in range(
            45 if full else 18
        ):  # without vectors: they shall not depend on who was first
            start = clock()
            if neighbour is not None:
                for extra in range(3):
                    _live(memory.of(*neighbour), 3 * number + extra, f"{seed}a", THEIRS)
            clock.advance(start - clock())
            _live(memory.of("t", "b"), number, f"{seed}b", OURS)
            clock.advance(timedelta(minutes=1))
    options: dict[str, Any] = {"embedder": Quoting(64), "clock": clock, "config": quick(index)}
    with MemoryManager(folder, **options) as memory:
        memory.flush(wait=True, timeout=SETTLE)
        _damage(memory)
        told: dict[str, str] = {}
        for name, look in _looks(memory.of("t", "b"), full=full):
            memory.flush(wait=True, timeout=SETTLE)  # what earlier looks wrote moves later ones
            told[name] = _said(look)
        return told


def _live(view: MemoryManager, number: int, seed: str, whose: str) -> None:
    """Do one turn of a namespace's life: add, and at times change, forget, approve and erase."""
    chance = random.Random(f"{seed}{number}")
    text = " ".join(chance.choices((*WORDS, *WORDS, *WORDS, GALL), k=4))
    with suppress(MementoError):  # a wrong turn is part of a life
        view.add(
            f"{text} {whose} {number}", chance.choice(["short", "medium", "long"]),
            id=f"{whose if number % 2 else 'shared'}-{number}", key=chance.choice([None, "k", "l"]),
            session=chance.choice([None, "s"]), actor=chance.choice([None, "Ada", whose]),
            tags=chance.sample(WORDS, 2), source=Source(chance.choice(["user", "web"]), PAGE),
        )  # fmt: skip
    verbs = {3: lambda i: view.update(i, text=f"{text} {whose} again"), 4: view.forget,
             5: view.quarantine.approve, 6: lambda i: view.store.erase(i, timeout=0)}  # fmt: skip
    with suppress(MementoError):
        verbs.get(number % 9, view.get)(f"{whose if number % 2 else 'shared'}-{number}")


def _damage(memory: MemoryManager) -> None:
    """Change two of the neighbour's rows and an earlier state behind memento's back."""
    theirs = f"WHERE text LIKE '%{THEIRS}%'"
    some = f"SELECT docid FROM memories {theirs} AND status <> 'quarantined' LIMIT 2"
    for change in (
        f"UPDATE memories SET text = text || 'x' WHERE docid IN ({some})",
        f"UPDATE versions SET text = text || 'x' {theirs}",
    ):
        memory._engine.ledger.write(lambda c, sql=change: c.execute(sql))


def _looks(view: MemoryManager, *, full: bool) -> Iterator[tuple[str, Callable[[], object]]]:
    """List everything that a namespace can ask, the changes last."""
    for field in fields(Stats):
        yield f"stats.{field.name}", lambda name=field.name: getattr(view.store.stats(), name)
    yield "flush", lambda: view.flush(wait=True, timeout=SETTLE)
    for query in ("tea plan", "which heron is at the door?", "Ada", OURS, THEIRS):
        for wait in (0.0, 0.2):
            yield (
                f"retrieve {query} {wait}",
                lambda q=query, w=wait: _plain(
                    view.retrieve(q, 20, wait=w, include_quarantined=True, record=False)
                ),
            )
        yield (
            f"nearest {query}",
            lambda q=query: _plain(view.store.nearest(view.store.embed([q])[0], 20, record=False)),
        )
    for status in Status:
        yield f"list {status}", lambda s=status: view.list(status=s, limit=1000)
    for field_name in ("scope", "tag", "kind", "tier", "session", "actor"):
        yield f"counts {field_name}", lambda name=field_name: view.store.counts(name)
    for verb in ("get", "history", "related to", "forget", "approve", "erase"):
        for memory_id in (f"{THEIRS}-1", "shared-0"):
            view.flush(wait=True, timeout=SETTLE)  # a receipt counts what the index was owed
            yield f"{verb} {memory_id}", lambda v=verb, i=memory_id: VERBS[v](view, i)
    yield "recent", lambda: [view.sessions.recent(session=one) for one in (None, "s")]
    yield "quarantine", view.quarantine.list
    yield "source", lambda: view.quarantine.forget_source(PAGE, dry_run=True)
    yield "doctor", lambda: view.store.doctor(repair=False)
    yield "backup", lambda: view.store.backup(view.store.root.parent / f"{view.store.root.name}.db")
    yield "export", lambda: _exported(view)
    yield "import", lambda: view.of("t", "new").store.import_from(io.StringIO(_exported(view)))
    yield "receipt", lambda: view.store.erase(everything=True, dry_run=True)
    for way in there() if full else ():
        yield way, lambda name=way: UNSTABLE.sub("", repr(data(ask(name, view, "tea", OURS))))
    view.flush(wait=True, timeout=SETTLE)
    yield "everything", lambda: view.store.erase(everything=True, timeout=SETTLE).rows
    yield "reindex", view.store.reindex


def _said(look: Callable[[], object]) -> str:
    try:
        return repr(data(look()))
    except MementoError as error:
        return f"{type(error).__name__}: {error}"


def _plain(found: Retrieval) -> object:
    return found.hits, dict(found.missing), found.confidence


def _exported(view: MemoryManager) -> str:
    file = io.StringIO()
    view.store.export(file, vectors=True)
    return file.getvalue()


HARNESSES = (nobody_sees_anothers, a_neighbour_changes_no_number, a_small_tenant_is_found)
