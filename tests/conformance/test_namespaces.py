"""One namespace never sees another's: every method of the manager, id by id."""

from __future__ import annotations

import inspect
import io
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule

from memento import Kind, MemoryManager
from memento.base.display import data
from memento.errors import InvalidInput, NotFound, NothingToUndo
from memento.observe.signals import Signal, Span
from memento.observe.values import Candidate
from memento.testing import HashEmbedder


def exported(memory):
    """Export a namespace; all lines but the first and the last."""
    memory.store.export(stream := io.StringIO())
    return stream.getvalue().splitlines()[1:-1]


def noted(memory):
    """Write the notes of a vault."""
    with TemporaryDirectory() as folder:
        memory.store.sync_vault(Path(folder))
        return [note.read_text(encoding="utf-8") for note in Path(folder).rglob("*.md")]


@cache
def read():
    """Return a memory as a caller has read it, of another store."""
    with TemporaryDirectory() as folder, MemoryManager(folder, embedder=None) as memory:
        return memory.add("a green door")


def reverted(memory, key, scope):
    """Revert a slot; None if the namespace has no such slot."""
    try:
        return memory.slots.revert(key, scope=scope)
    except InvalidInput:
        return None


def undone(memory):
    """Undo every change that there may be; None if the namespace has none."""
    for number in range(1, 20):
        try:
            return memory.undo(number)
        except NothingToUndo:
            continue
    return None


def unmerged(memory):
    """Undo the merge of a scope; None if the namespace has none."""
    try:
        return memory.scopes.unmerge("a")
    except InvalidInput:
        return None


IN_DOUBT = Candidate(
    "the plan is off", Span(0, 5, "off"), "user", Signal.FACT, Kind.FACT, "plan", None, None,
    "a", 0.6,
)  # fmt: skip
URI = "https://a.example"
WITH_ID = {
    "get": lambda m, i: m.get(i),
    "update": lambda m, i: m.update(i, text="stolen"),
    "forget": lambda m, i: m.forget(i),
    "restore": lambda m, i: m.restore(i),
    "update tier": lambda m, i: m.update(i, tier="long"),
    "quarantine.approve": lambda m, i: m.quarantine.approve(i),
    "quarantine.approve_all": lambda m, i: m.quarantine.approve_all([replace(read(), id=i)]),
    "quarantine.reject": lambda m, i: m.quarantine.reject(i),
    "changes.history": lambda m, i: m.changes.history(i),
    "feedback.belief": lambda m, i: m.feedback.belief(i),
    "feedback.strength": lambda m, i: m.feedback.strength(i),
    "feedback.rate": lambda m, i: m.feedback.rate(i, useful=True),
    "store.full_id": lambda m, i: m.store.full_id(i),
    "correct": lambda m, i: m.correct(i, "stolen"),
    "changes.list": lambda m, i: m.changes.list(id=i),
    "changes.head": lambda m, i: m.changes.head(i),
    "insight.related": lambda m, i: m.insight.related(i),
    "insight.lineage": lambda m, i: m.insight.lineage(i),
    "update lock": lambda m, i: m.update(i, lock="user"),
    "update unlock": lambda m, i: m.update(i, lock=None),
    "sleep.archive": lambda m, i: m.sleep.archive(i),
    "sleep.unarchive": lambda m, i: m.sleep.unarchive(i),
    "update pin": lambda m, i: m.update(i, pinned=True),
    "update unpin": lambda m, i: m.update(i, pinned=False),
    "store.erase": lambda m, i: m.store.erase(i),
    "slots.resolve": lambda m, i: m.slots.resolve(i, "nobody", keep="b"),
    "scopes.promote": lambda m, i: m.scopes.promote(i),
    "store.touch": lambda m, i: m.store.touch(i, 60),
    "supersedes": lambda m, i: m.add("mine", supersedes=i),
    "add related": lambda m, i: m.add("mine", related=[i]),
    "add_many": lambda m, i: m.add_many(["mine", {"text": "also mine", "supersedes": [i]}]),
}
WITHOUT_ID = {
    "list": lambda m: m.list(status=["active", "superseded", "archived", "forgotten"]),
    "retrieve": lambda m: list(m.retrieve("secret plan", k=100, include_superseded=True)),
    "value": lambda m: m.value("plan", scope="a"),
    "slots.revert": lambda m: reverted(m, "plan", "a"),
    "feedback.retract": lambda m: m.feedback.retract(source="user"),
    "undo": undone,
    "slots.history": lambda m: m.slots.history("plan", scope="a"),
    "sleep.stale": lambda m: m.sleep.stale(),
    "sleep.anomalies": lambda m: m.sleep.anomalies(),
    "sleep.run": lambda m: m.sleep.run().run,
    "changes.evolution": lambda m: [
        *m.changes.evolution("plan", scope="a"),
        *m.changes.evolution("the-id"),
    ],
    "changes.diff": lambda m: m.changes.diff(datetime(2020, 1, 1, tzinfo=UTC)),
    "sessions.recent": lambda m: m.sessions.recent(session="s"),
    "quarantine.list": lambda m: m.quarantine.list(),
    "quarantine.forget_source": lambda m: m.quarantine.forget_source(
        "https://a.example", dry_run=True
    ),
    "quarantine.restore_source": lambda m: m.quarantine.restore_source(URI),
    "insight.reason": lambda m: [
        *m.insight.reason("secret plan").chains,
        *(m.insight.reason("secret plan").hits or ()),
    ],
    "insight.timeline": lambda m: [
        *m.insight.timeline(),
        *m.insight.timeline("secret plan", by="recorded"),
    ],
    "insight.snapshot": lambda m: m.insight.snapshot(m.store.clock()).list(),
    "insight.dossier": lambda m: m.insight.dossier("secret plan").entries,
    "insight.health": lambda m: m.insight.health().active,
    "store.usage": lambda m: m.store.usage().days,
    "insight.wonder": lambda m: m.insight.wonder(),
    "prompt": lambda m: m.prompt("secret plan"),
    "recall": lambda m: m.recall("secret plan").block,
    "store.stats": lambda m: m.store.stats().memories,
    "store.counts": lambda m: m.store.counts("kind", within="a"),
    "store.sweep": lambda m: m.store.sweep(),
    "slots.conflicts": lambda m: m.slots.conflicts(),
    "observe": lambda m: [one for one in m.observe("Please forget the plan.").forget if one.found],
    "rules.confirm": lambda m: m.insight.related(m.rules.confirm(IN_DOUBT).id),
    "rules.direct": lambda m: m.insight.related(m.rules.direct("Use spaces.")[0].id),
    "rules.doubtful": lambda m: m.rules.doubtful(),
    "rules.foresee": lambda m: [
        one for one in m.rules.foresee("The plan is off now.") if one.others
    ],
    "store.export": exported,
    "store.sync_vault": noted,
    "forget_many": lambda m: m.forget_many(ids=["the-id"]),
    "rules.policy": lambda m: m.rules.policy("what is the secret plan?", scope="a").text,
    "sessions.list": lambda m: m.sessions.list(),
    "sessions.resume": lambda m: m.sessions.resume("s") or m.sessions.resume(),
    "scopes.list": lambda m: m.scopes.list(),
    "scopes.infer": lambda m: m.scopes.infer("a secret plan"),
    "scopes.promotable": lambda m: m.scopes.promotable(),
    "scopes.unmerge": unmerged,
    "scopes.merge": lambda m: m.scopes.merge("a", "b"),
    "scopes.unshare": lambda m: m.scopes.unshare("a", "acme"),
}
PARTS = {
    name: vars(import_module(f"memento.verbs.{name}"))[one.fget.__annotations__["return"]]
    for name, one in inspect.getmembers(MemoryManager, lambda each: isinstance(each, property))
    if name[0] != "_"
}
STORE_WIDE = {
    "add", "close", "documents.add", "documents.ingest", "feedback.cite", "feedback.finalize",
    "feedback.loop", "feedback.open_loop", "feedback.show", "flush", "keep", "of", "scopes.define",
    "scopes.share", "sessions.checkpoint", "sessions.end", "sessions.info", "sessions.interrupt",
    "sessions.start", "store.backup", "store.doctor", "store.embed", "store.import_from",
    "store.move", "store.namespaces", "store.reindex",
}  # fmt: skip
WITH_VECTORS = {"store.nearest"}


def test_every_public_method_is_looked_at():
    """A method added later must be put into one of the tables of this file."""
    public = {
        f"{part}.{name}".removeprefix(".")
        for part, kind in [("", MemoryManager), *PARTS.items()]
        for name, _ in inspect.getmembers(kind, inspect.isfunction)
        if name[0] != "_"
    }
    by_id = {name for name in WITH_ID if " " not in name} - {"supersedes"}
    assert public == STORE_WIDE | set(WITHOUT_ID) | by_id | WITH_VECTORS


@pytest.fixture
def secret(memory):
    """A memory of a neighbour, with everything that could lead to it."""
    work = memory.of("acme", "rami").sessions.start("s", goal="secret plan", scope="a")
    work.checkpoint(next=["secret plan"])
    return memory.of("acme", "rami").add(
        "secret plan", "short", key="plan", aliases=["the plan"], session="s", scope="a",
        tags=["t"], metadata={"a": 1}, id="the-id",
    )  # fmt: skip


@pytest.mark.parametrize("name", WITH_ID)
def test_an_id_of_another_namespace_does_not_exist(memory, secret, name):
    """NotFound in the same words as for an id that nobody has; and nothing was touched."""
    for labels in (("acme",), ("rami",), ("acme", "rami", "x"), ("default",)):
        view = memory.of(*labels)
        messages = []
        for memory_id in (secret.id, "nobodys"):
            with pytest.raises(NotFound) as caught:
                WITH_ID[name](view, memory_id)
            messages.append(str(caught.value).replace(memory_id, "ID"))
        assert messages[0] == messages[1], labels
        assert view.list() == [], labels
        assert memory.of("acme", "rami").get(secret.id) == secret, labels


@pytest.mark.parametrize("name", WITHOUT_ID)
def test_nothing_of_another_namespace_is_listed(memory, secret, name):
    """Empty before the neighbour's view has anything of its own, and only its own afterwards."""
    view = memory.of("acme")
    assert not WITHOUT_ID[name](view)
    view.add("something else entirely")
    found = repr(data(WITHOUT_ID[name](view)))
    assert secret.text not in found
    assert secret.id not in found


def test_a_session_of_the_same_name_is_each_ones_own(memory, secret):
    """Going on with, noting and ending the neighbour's session does not reach it."""
    theirs = memory.of("acme", "rami").sessions.resume("s")
    view = memory.of("acme")
    mine = view.sessions.start("s", goal="mine")
    assert view.sessions.resume("s").checkpoint is None
    mine.checkpoint(next=["my step"])
    mine.end("done", summary="mine is done")
    view.store.erase(session="s")
    assert memory.of("acme", "rami").sessions.resume("s") == theirs
    assert secret.id in [one.id for one in theirs.turns]


def test_a_neighbours_vector_is_not_near(open_memory):
    """A namespace whose own memories are far away finds them, and nothing nearer elsewhere."""
    memory = open_memory(embedder=HashEmbedder(64))
    memory.of("acme", "rami").add("secret plan", "long")
    memory.of("acme").add("something else entirely", "long")
    memory.flush(wait=True)
    (vector,) = memory.store.embed(["secret plan"])
    assert [hit.text for hit in memory.of("acme").store.nearest(vector)] == [
        "something else entirely"
    ]
    assert not memory.of("acme", "rami", "x").store.nearest(vector)


def test_the_same_id_and_key_mean_each_ones_own(memory, secret):
    """Taking the neighbour's id and slot changes nothing for the neighbour."""
    view = memory.of("acme")
    view.add("my plan", key="plan", scope="a", session="s", id="the-id", aliases=["the plan"])
    assert view.get("the-id").text == "my plan"
    assert memory.of("acme", "rami").get("the-id") == secret
    assert [hit.text for hit in view.retrieve("the plan", match="names")] == ["my plan"]


def test_views_share_the_store_and_closing_one_closes_all(memory):
    """A view is made at no cost and is the same kind of thing."""
    view = memory.of("a")
    assert type(view) is type(memory)
    assert (view.store.root, view.store.namespace) == (memory.store.root, ("a",))
    view.close()
    assert memory.store.closed


NAMES = [("a",), ("a", "b"), ("b",)]
WORDS = ["tea", "plan", "secret", "door"]


class Crossings(RuleBasedStateMachine):
    """Three namespaces with the same ids, keys, sessions and words; every answer is checked."""

    ids = Bundle("ids")

    @initialize()
    def start(self):
        """Open an empty store."""
        self.memory = MemoryManager(self.folder.mktemp("ns") / "store", embedder=None)
        self.owner: dict[str, tuple[str, ...]] = {}
        self.texts: dict[tuple[str, ...], set[str]] = {name: set() for name in NAMES}

    def mine(self, name, memories):
        """Check that all of these are this namespace's."""
        for found in memories:
            assert found.namespace == name
            assert found.text in self.texts[name]

    @rule(
        target=ids,
        name=st.sampled_from(NAMES),
        words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
        key=st.sampled_from([None, "k"]),
        tier=st.sampled_from(["short", "medium", "long"]),
    )
    def add(self, name, words, key, tier):
        """Add a text that says whose it is."""
        text = f"{'/'.join(name)} says {' '.join(words)}"
        self.texts[name].add(text)
        kept = self.memory.of(*name).add(text, tier, key=key, session="s")
        self.owner[kept.id] = name
        return kept.id

    @rule(name=st.sampled_from(NAMES), memory_id=ids, method=st.sampled_from(sorted(WITH_ID)))
    def cross(self, name, memory_id, method):
        """Try every method on a neighbour's id."""
        if self.owner[memory_id] != name:
            with pytest.raises(NotFound):
                WITH_ID[method](self.memory.of(*name), memory_id)

    @rule(memory_id=ids)
    def forget(self, memory_id):
        """Hide one of one's own."""
        self.mine(self.owner[memory_id], [self.memory.of(*self.owner[memory_id]).forget(memory_id)])

    @rule(name=st.sampled_from(NAMES), query=st.lists(st.sampled_from(WORDS), max_size=3))
    def look(self, name, query):
        """Look in every way there is."""
        view = self.memory.of(*name)
        self.mine(name, view.list(status=["active", "superseded", "forgotten"]))
        self.mine(name, view.sessions.recent(session="s"))
        found = view.retrieve(" ".join(query), k=50, include_superseded=True, record=False)
        self.mine(name, [hit.memory for hit in found])
        assert all(self.owner[i] == name for hit in found for i in hit.folded)

    def teardown(self):
        """Close the store."""
        if hasattr(self, "memory"):
            self.memory.close()


@pytest.fixture(autouse=True)
def _folders(tmp_path_factory):
    Crossings.folder = tmp_path_factory


TestCrossings = Crossings.TestCase
TestCrossings.settings = settings(
    max_examples=20,
    stateful_step_count=25,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
