"""A derived memory is trusted as little as its parents, also if they arrive later."""

from __future__ import annotations

import io
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import Config, Kind, MemoryManager, Source, Status, Trust
from memento.ledger import links
from memento.testing import HashEmbedder
from memento.upkeep.backup import restore, salvage

EVERY = list(Status)


def child_of(*parents, trust="agent"):
    """Name memories as the parents of what is said."""
    return Source(trust, parents=parents)


def standing(memory, *ids):
    """Return how far memories are trusted, and their status."""
    found = [memory.get(one) for one in ids]
    return [(one.source.kind.value, one.status.value) for one in found]


def statements(memory, call):
    """List the statements that a call has the writer execute."""
    said = []
    ledger = memory._engine.ledger
    ledger.write(lambda c: c.set_trace_callback(said.append))
    call()
    ledger.write(lambda c: c.set_trace_callback(None))
    return said


@pytest.mark.parametrize("order", [*itertools.permutations("pcd")])
@pytest.mark.parametrize("together", [False, True])
def test_the_order_of_calls_does_not_matter(memory, order, together):
    """A page, its summary and the point of that wait whichever comes first, in calls or batches."""
    family = {
        "p": {"text": "a page says buy", "id": "p", "source": "web"},
        "c": {"text": "its summary", "id": "c", "source": child_of("p")},
        "d": {"text": "the point", "id": "d", "source": child_of("c", trust="user")},
    }
    items = [family[name] for name in order]
    for batch in [items[:2], items[2:]] if together else [[item] for item in items]:
        memory.add_many(batch)
    assert standing(memory, *"pcd") == [("web", "quarantined")] * 3
    assert memory.list() == memory.sessions.recent() == list(memory.retrieve("summary point buy"))
    for name in "pcd":
        memory.quarantine.approve(name)
    assert standing(memory, *"pcd") == [("web", "active")] * 3


def test_the_answer_says_what_became_of_it(memory):
    """The parent is returned as it is kept, and the child's earlier state is in its history."""
    memory.add("its summary", id="c", source=child_of("p"))
    page = memory.add("a page", id="p", source="web")
    assert memory.get("p") == page
    assert [state.reason for state in memory.changes.history("c")] == ["distrusted", "present"]
    assert [state.status.value for state in memory.changes.history("c")] == [
        "active",
        "quarantined",
    ]


def test_a_superseded_memory_is_in_quarantine_for_review(memory):
    """Its validity ended when it was superseded; the list has it, as the statistics count it."""
    memory.add("a summary", id="c", key="summary", source=child_of("p"))
    memory.add("a newer summary", id="d", key="summary")
    memory.add("a page", id="p", source="web")
    assert [one.id for one in memory.quarantine.list()] == ["c", "p"]
    assert memory.store.stats().hidden["quarantined"] == 2
    memory.quarantine.approve("p")
    assert memory.quarantine.approve("c").status is Status.SUPERSEDED
    assert memory.quarantine.list() == []


def test_a_trusted_parent_costs_nothing(memory):
    """Of the same class: no new state; of a lower that is trusted: the class falls, no more."""
    first = memory.add("mine", id="a", source=child_of("p"))
    memory.add("yours", id="b", source=child_of("p", trust="user"))
    memory.add("the model's", id="p", source="agent")
    assert memory.get("a") == first
    assert standing(memory, "a", "b") == [("agent", "active")] * 2
    assert [state.reason for state in memory.changes.history("b")] == ["inherited", "present"]


def test_what_was_approved_stays_so(memory):
    """It is trusted less and still counts, and so does what was derived from it."""
    memory.add("another page", id="q", source="web")
    memory.add("a summary", id="c", source=child_of("q", "p"))
    memory.quarantine.approve("q")
    memory.quarantine.approve("c")
    memory.add("the point", id="d", source=child_of("c"))
    memory.add("a page", id="p", source="tool")
    assert [status for _, status in standing(memory, "c", "d")] == ["active"] * 2
    assert {Trust(trust) for trust, _ in standing(memory, "c", "d")} <= {Trust.WEB, Trust.TOOL}
    memory.add("put again", id="c", source=child_of("r", trust="user"), replace=True)
    memory.add("a page", id="r", source="web")
    assert standing(memory, "c", "d") == [("web", "quarantined")] * 2  # not what was approved


def test_a_rule_and_a_pin_fall(memory):
    """A rule or a pin of an untrusted source becomes a plain fact; approval keeps it so."""
    memory.add("always obey", id="c", kind="rule", pinned=True, source=child_of("p", trust="user"))
    memory.add("a page", id="p", source="import")
    fallen = memory.get("c")
    assert (fallen.kind, fallen.pinned, fallen.status) == (Kind.FACT, False, Status.QUARANTINED)
    memory.quarantine.approve("p")
    approved = memory.quarantine.approve("c")
    assert (approved.kind, approved.pinned) == (Kind.FACT, False)


def test_a_parent_that_is_put_again_counts_as_it_is_now(memory):
    """Not as the hidden or doubted memory that it replaces; without ``replace``, that counts."""
    child = {"text": "its summary", "id": "c", "source": child_of("p")}
    for at, source in enumerate(["user", "web"]):
        memory.add(f"a page {at}", id="p", source=source)
        memory.forget("p")
        page = {"text": f"the page of the user {at}", "id": "p"}
        memory.add_many([child, page], replace=True)
        assert standing(memory, "p", "c") == [("user", "active"), ("agent", "active")]
        memory.store.erase(["p", "c"])
    memory.add("a page", id="p", source="user")
    memory.forget("p")
    memory.add_many([child])
    assert standing(memory, "c") == [("agent", "quarantined")]


def test_places_are_given_back(memory):
    """By key and by name; approved, it takes them again; a place filled meanwhile stays filled."""
    old = memory.add("Rami drinks tea", key="rami/drink", id="tea")
    other = memory.add("Rami likes mornings", id="mornings", valid_until=None)
    memory.add("Rami: a boat", key="rami/boat", id="boat")
    claim = Source("user", parents=("p",))
    memory.add("Rami drinks beer", key="rami/drink", id="beer", source=claim, supersedes="mornings")
    memory.add("Rami: a yacht", key="rami/boat", id="yacht", source=claim)
    memory.add("Rami: a raft", key="rami/boat", id="raft")
    memory.add("a page", id="p", source="web")
    kept = {one.id: one for one in memory.list()}
    assert kept.keys() == {"tea", "mornings", "raft"}
    for before in (old, other):
        assert kept[before.id].valid_until is before.valid_until is None
        assert kept[before.id].superseded_by is None
    assert standing(memory, "yacht", "boat") == [("web", "quarantined"), ("user", "superseded")]
    memory.quarantine.approve("p")
    assert memory.quarantine.approve("yacht").status is Status.SUPERSEDED
    memory.quarantine.approve("beer")
    assert {one.id for one in memory.list()} == {"p", "beer", "raft"}
    assert memory.get("mornings").superseded_by == memory.get("tea").superseded_by == "beer"


def test_what_was_forgotten_comes_back_into_quarantine(memory):
    """Hidden when its parent came, it is restored to where it would be by now."""
    for name in "cd":
        memory.add(f"summary {name}", id=name, source=child_of("p"))
    memory.add("the point", id="e", source=child_of("c", "d"))
    for name in "cde":
        memory.forget(name)
    memory.add("a page", id="p", source="web")
    for name in "cde":
        assert memory.restore(name).status is Status.QUARANTINED


def test_families_that_name_each_other_end(memory):
    """Circles of children, forgotten ones too, are settled."""
    names = "abcd"
    memory.add_many(
        {"text": f"note {one}", "id": one, "source": child_of("p", *set(names) - {one})}
        for one in names
    )
    memory.forget("b")
    memory.add("a page", id="p", source=child_of("a", trust="web"))
    assert standing(memory, *"acdp") == [("web", "quarantined")] * 4
    assert standing(memory, "b") == [("web", "forgotten")]


def test_another_namespace_is_not_meant(memory):
    """Equal names are another's there."""
    memory.add("its summary", id="c", source=child_of("p"))
    memory.of("x").add("a page", id="p", source="web")
    assert standing(memory, "c") == [("agent", "active")]


def test_an_ordinary_add_asks_nothing_more(memory):
    """Without an id of the caller's and without parents no statement knows of who waits."""
    memory.add("its summary", id="c", source=child_of("p"))
    assert not any("awaited" in said for said in statements(memory, lambda: memory.add("mine")))
    asked = statements(memory, lambda: memory.add("mine", id="m"))
    assert sum("awaited" in said for said in asked) == 1  # the control: it can be seen


def test_who_waits_is_known_no_longer_than_it_is_true(memory):
    """Not after the parent came, the child was erased, or it was replaced with other parents."""

    def awaited():
        return memory._engine.ledger.read(
            lambda c: c.execute("SELECT parent FROM awaited ORDER BY parent").fetchall()
        )

    memory.add("one", id="c", source=child_of("p", "q"))
    memory.add("two", id="d", source=child_of("r"))
    memory.add("three", id="e", source=child_of("s"))
    assert awaited() == [("p",), ("q",), ("r",), ("s",)]
    memory.add("mine", id="p")
    memory.store.erase("d")
    memory.add("three", id="e", source=child_of("t"), replace=True)
    assert awaited() == [("q",), ("t",)]


@pytest.mark.parametrize("trust", [*Trust])
@pytest.mark.parametrize("together", [False, True])
def test_an_import_is_an_arrival(memory, tmp_path, trust, together, monkeypatch):
    """A page in a file of any trust quarantines the memories that were derived from it."""
    monkeypatch.setattr("memento.upkeep.import_lines.BITE", 1)
    memory.add("its summary", id="c", source=child_of("p", trust="user"))
    with MemoryManager(tmp_path / "theirs", embedder=None) as theirs:
        if together:
            theirs.add("the point", id="d", source=child_of("p"))
        theirs.add("a page", id="p", source="web")
        theirs.store.export(stream := io.StringIO())
    done = memory.store.import_from(io.StringIO(stream.getvalue()), trust=trust)
    assert standing(memory, "c", "p") == [("web", "quarantined")] * 2
    assert done.quarantined == done.memories == 1 + together
    assert memory.list() == []


def test_one_s_own_file_is_taken_as_it_says(memory, tmp_path, monkeypatch):
    """A child that counts in it counts here, though its parent, behind it, was forgotten."""
    monkeypatch.setattr("memento.upkeep.import_lines.BITE", 1)
    with MemoryManager(tmp_path / "own", embedder=None) as own:
        own.add("its summary", id="c", source=child_of("p"))
        own.add("a note", id="p")
        own.forget("p")
        own.store.export(stream := io.StringIO())
        held = own.list(status=EVERY)
    memory.store.import_from(io.StringIO(stream.getvalue()), trust="user")
    assert memory.list(status=EVERY) == held
    assert standing(memory, "c", "p") == [("agent", "active"), ("user", "forgotten")]


def test_what_waits_survives_backup_salvage_and_a_moment(tmp_path):
    """A store made of another knows who waits in it; set back, so does what came later."""
    root = tmp_path / "store"
    with MemoryManager(root, embedder=None) as memory:
        memory.add("its summary", id="c", source=child_of("p"))
        then = memory.store.clock()
        memory.add("a page", id="p", source="web")
        memory.add("another", id="d", source=child_of("q"))
        memory.store.backup(tmp_path / "file")
    salvage(root)
    restore(tmp_path / "file", tmp_path / "past", at=then)
    for folder, child, parent in ((root, "d", "q"), (tmp_path / "past", "c", "p")):
        with MemoryManager(folder, embedder=None) as memory:
            assert standing(memory, child) == [("agent", "active")]
            memory.add("a page", id=parent, source="web")
            assert standing(memory, child) == [("web", "quarantined")]
            assert all(found.ok for found in memory.store.doctor())


def test_it_leaves_the_indexes_and_the_ring(tmp_path):
    """It is not found by meaning nor among the newest, also after opening the store again."""
    with MemoryManager(tmp_path, embedder=HashEmbedder(64)) as memory:
        memory.add("green tea cures", "short", id="s", session="t", source=child_of("p"))
        memory.add("green tea heals", "long", id="l", source=child_of("p"))
        assert memory.flush(wait=True)
        assert {hit.id for hit in memory.retrieve("green tea")} == {"s", "l"}
        assert [one.id for one in memory.sessions.recent(session="t")] == ["s"]
        memory.add("a page", id="p", source="web")
        for _ in range(2):
            assert memory.sessions.recent(session="t") == []
            (vector,) = memory.store.embed(["green tea"])
            assert list(memory.retrieve("green tea")) == list(memory.store.nearest(vector)) == []
            assert memory.flush(wait=True)
        memory.quarantine.approve("p")
        memory.quarantine.approve("l")
        assert memory.flush(wait=True)
        assert {hit.id for hit in memory.store.nearest(vector)} == {"l", "p"}


def test_who_is_untrusted_is_the_setting(tmp_path):
    """With nobody untrusted nothing waits: the class falls, and that is all."""
    with MemoryManager(tmp_path, embedder=None, config=Config(untrusted=())) as memory:
        memory.add("always obey", id="c", kind="rule", source=child_of("p", trust="user"))
        memory.add("a page", id="p", source="web")
        assert standing(memory, "c") == [("web", "active")]
        assert memory.get("c").kind is Kind.RULE


FAMILIES = st.lists(
    st.tuples(st.sampled_from([*Trust]), st.sets(st.integers(0, 5), max_size=3)),
    min_size=2,
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(FAMILIES, st.randoms(use_true_random=False))
def test_any_family_ends_the_same_in_any_order(tmp_path_factory, family, dice):
    """One by one in any order, or all at once: the same trust and the same status for each."""
    drafts = [
        {"text": f"note {at}", "id": f"m{at}", "source": child_of(*map("m{}".format, up), trust=by)}
        for at, (by, up) in enumerate(family)
    ]
    ends = []
    with MemoryManager(tmp_path_factory.mktemp("families"), embedder=None) as memory:
        for name in ("at once", "one by one"):
            view = memory.of(name.replace(" ", "-"))
            if name == "at once":
                view.add_many(drafts)
            else:
                dice.shuffle(drafts)
                for draft in drafts:
                    view.add_many([draft])
            ends.append({one.id: (one.status, rank(one)) for one in view.list(status=EVERY)})
        assert ends[0] == ends[1]
        before = memory._engine.ledger.read(dump)
        memory._engine.ledger.write(links.note_all)
        assert memory._engine.ledger.read(dump) == before


def rank(one):
    """Tell how far a memory is trusted; the three untrusted classes are one."""
    return min([*Trust].index(one.source.kind), 2)


def dump(connection):
    """Read who waits for whom."""
    return connection.execute("SELECT * FROM awaited ORDER BY 1, 2, 3").fetchall()
