"""``related``: which memories a memory is linked to."""

from datetime import timedelta

import pytest
from beside import write_sql

from memento import MemoryManager, Status
from memento.errors import InvalidInput, NotFound, StoreUnusable
from memento.ledger.links import link


@pytest.fixture
def memory(open_memory):
    """A slot with two values, a memory linked to both, and a page that proposes a third value."""
    memory = open_memory()
    memory.add("Rami drinks tea", id="tea", key="drink")
    memory.add("Rami drinks milk", id="milk", key="drink")
    memory.add("Rami shops on Mondays", id="shop", related=["tea", "milk"])
    memory.add("Rami drinks beer", id="beer", source="web", supersedes="milk")
    return memory


def links(memory, memory_id, **options):
    """List id, relation and direction of what a memory is linked to."""
    found = memory.insight.related(memory_id, **options)
    return [(link.memory.id, link.relation, link.outgoing) for link in found]


def test_a_link_is_seen_from_both_ends(memory):
    """In order of arrival, with the relation and its direction."""
    assert links(memory, "shop") == [("tea", "related", True), ("milk", "related", True)]
    assert links(memory, "tea") == [("milk", "supersedes", False), ("shop", "related", False)]
    assert links(memory, "milk") == [("tea", "supersedes", True), ("shop", "related", False)]


def test_a_linked_memory_is_whole(memory):
    """It is what ``get`` returns of it."""
    assert [link.memory for link in memory.insight.related("shop")] == [
        memory.get("tea"), memory.get("milk"),
    ]  # fmt: skip


def test_what_is_quarantined_or_forgotten_is_left_out(memory):
    """Unless its status is asked for; the memory asked about may have any."""
    assert "beer" not in [one for one, *_ in links(memory, "milk")]
    assert links(memory, "milk", status="quarantined") == [("beer", "proposes", False)]
    assert links(memory, "beer") == [("milk", "proposes", True)]
    memory.forget("shop")
    assert links(memory, "tea") == [("milk", "supersedes", False)]
    assert links(memory, "tea", status=["forgotten"]) == [("shop", "related", False)]
    assert links(memory, "shop") == [("tea", "related", True), ("milk", "related", True)]


def test_approval_turns_the_proposal_into_a_link(memory):
    """A memory that is proposed and approved supersedes."""
    memory.quarantine.approve("beer")
    assert ("milk", "supersedes", True) in links(memory, "beer")
    assert ("beer", "supersedes", False) in links(memory, "milk")


def test_what_expired_is_left_out(memory, clock):
    """As ``list`` leaves it out."""
    memory.add("a promise", id="soon", related="shop", expires_in=60)
    assert ("soon", "related", False) in links(memory, "shop")
    clock.advance(timedelta(seconds=61))
    assert ("soon", "related", False) not in links(memory, "shop")


def test_more_links_than_one_statement_takes(memory):
    """All of them come back, in order."""
    made = memory.add_many({"text": f"note {n}", "related": "shop"} for n in range(1_100))
    found = [link.memory.id for link in memory.insight.related("shop")]
    assert found == ["tea", "milk", *(one.id for one in made)]


def test_another_namespace_sees_no_link(memory):
    """An id of another namespace is no id, and an equal id has its own links."""
    other = memory.of("other")
    with pytest.raises(NotFound):
        other.insight.related("tea")
    other.add("theirs", id="tea")
    assert links(other, "tea") == []


def test_a_link_into_another_namespace_is_not_followed(memory):
    """Not even one that was written behind memento's back."""
    memory.of("other").add("theirs", id="theirs")
    ends = "SELECT a.docid, b.docid FROM memories a, memories b WHERE a.id = ? AND b.id = ?"
    memory._engine.ledger.write(
        lambda c: link(c, *c.execute(ends, ("shop", "theirs")).fetchone(), "related")
    )
    assert links(memory, "shop", status=list(Status)) == [
        ("tea", "related", True), ("milk", "related", True),
    ]  # fmt: skip
    assert links(memory.of("other"), "theirs") == []


def test_a_damaged_link_is_named(memory):
    """It says which memory's, and shows none."""
    write_sql(memory, "UPDATE links SET weight = 0.5")
    with pytest.raises(StoreUnusable, match=r"link of .*'shop'"):
        memory.insight.related("shop")


def test_a_status_that_is_none_is_refused(memory):
    """It names the field and the choices."""
    with pytest.raises(InvalidInput, match="status") as caught:
        memory.insight.related("shop", status="asleep")
    assert "superseded" in str(caught.value)


def test_an_import_brings_the_links(memory, tmp_path):
    """Memories exported with links are related in the copy."""
    memory.store.export(tmp_path / "file.jsonl")
    with MemoryManager(tmp_path / "copy", embedder=None, clock=memory.store.clock) as copy:
        copy.store.import_from(tmp_path / "file.jsonl", trust="user")
        for one in ("tea", "milk", "shop", "beer"):
            assert links(copy, one) == links(memory, one)
