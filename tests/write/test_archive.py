"""Archived memories: outside the default answer, found on request or by name, and back again."""

from datetime import timedelta

import pytest

from memento.errors import InvalidInput, UntrustedSource
from memento.testing import HashEmbedder


@pytest.fixture
def kept(memory):
    """A memory with a name, and one beside it."""
    memory.add("the jetty was painted green", id="jetty", aliases=["jetty report"])
    memory.add("the jetty was painted by Theo", id="theo")
    return memory


def ids(found):
    """Return the ids of an answer."""
    return [hit.id for hit in found]


def test_an_archived_memory_is_found_only_on_request(kept):
    """It leaves the answer, the list and the prompt, and comes with ``include_archived``."""
    assert kept.sleep.archive("jetty").status == "archived"
    assert ids(kept.retrieve("painted green")) == ["theo"]
    assert [one.id for one in kept.list()] == ["theo"]
    assert [one.id for one in kept.list(status="archived")] == ["jetty"]
    assert "green" not in kept.prompt("who painted the jetty?")
    assert set(ids(kept.retrieve("painted green", include_archived=True))) == {"jetty", "theo"}


def test_a_query_that_names_it_finds_it(kept):
    """Its alias is enough; with ``match="text"`` names are ignored."""
    kept.sleep.archive("jetty")
    assert ids(kept.retrieve("jetty report", 1)) == ["jetty"]
    assert ids(kept.retrieve("jetty report", match="names")) == ["jetty"]
    assert "jetty" not in ids(kept.retrieve("jetty report", match="text"))


def test_a_name_does_not_pass_the_filters(kept):
    """An archived memory of another kind is not found, although the query names it."""
    kept.sleep.archive("jetty")
    assert "jetty" not in ids(kept.retrieve("jetty report", kind="rule"))
    assert "jetty" not in ids(kept.retrieve("jetty report", tag="t"))


def test_archiving_twice_is_once_and_can_be_undone(kept):
    """One change; undo brings it back, and undoing that archives it again."""
    kept.sleep.archive("jetty")
    kept.sleep.archive("jetty")
    (change,) = kept.changes.list()
    assert change.kind == "archive"
    kept.undo(change.number)
    assert kept.get("jetty").status == "active"
    kept.undo(kept.changes.list()[0].number)
    assert kept.get("jetty").status == "archived"
    assert [state.reason for state in kept.changes.history("jetty")][:3] == [
        "archived", "undone", "undone",
    ]  # fmt: skip


def test_it_comes_back(kept):
    """``unarchive`` makes it active; an active one stays as it is, any other is refused."""
    kept.sleep.archive("jetty")
    assert kept.sleep.unarchive("jetty").status == "active"
    assert len(kept.changes.list()) == 2
    kept.sleep.unarchive("jetty")
    assert len(kept.changes.list()) == 2
    kept.forget("jetty")
    for verb in (kept.sleep.archive, kept.sleep.unarchive):
        with pytest.raises(InvalidInput, match="forgotten"):
            verb("jetty")


def test_a_forgotten_one_goes_back_into_the_archive(kept):
    """``restore`` gives back the status it had."""
    kept.sleep.archive("jetty")
    kept.forget("jetty")
    assert kept.restore("jetty").status == "archived"


@pytest.mark.parametrize(
    ("verdict", "source", "status"),
    [
        ("used", "user", "active"),
        ("used", "agent", "active"),
        ("confirmed", "user", "active"),
        ("used", "tool", "archived"),
        ("ignored", "user", "archived"),
        ("wrong", "user", "archived"),
    ],
)
def test_a_use_brings_it_back(kept, verdict, source, status):
    """Somebody who is trusted used it; a stranger's praise, or blame, does not."""
    kept.sleep.archive("jetty")
    kept.feedback.rate("jetty", verdict=verdict, source=source)
    assert kept.get("jetty").status == status


def test_it_does_not_hold_its_slot(memory):
    """Another value takes the slot; what was archived comes back superseded by it."""
    memory.add("the gate code is 11", id="a", key="gate")
    memory.sleep.archive("a")
    assert memory.value("gate") is None
    memory.add("the gate code is 12", id="b", key="gate")
    assert memory.sleep.unarchive("a").status == "superseded"
    assert memory.value("gate").id == "b"


def test_it_keeps_its_vector_and_is_found_by_meaning(open_memory):
    """A memory that is archived before it was embedded is embedded all the same."""
    memory = open_memory(embedder=HashEmbedder(64))
    memory.add("the jetty was painted green", "long", id="jetty")
    memory.sleep.archive("jetty")
    memory.add("the kettle whistles", "long", id="kettle")
    assert memory.flush(wait=True, timeout=30)
    found = memory.retrieve("jetty painted", include_archived=True)
    assert found[0].id == "jetty"
    assert found[0].signs["cosine"] > 0
    memory.sleep.unarchive("jetty")
    assert memory.flush(wait=True, timeout=30)
    assert memory.retrieve("jetty painted")[0].id == "jetty"


def test_the_past_does_not_know_of_it_yet(memory, clock):
    """``known_at`` before the archiving answers with it, and the difference names it."""
    memory.add("the jetty was painted green", id="jetty")
    clock.advance(timedelta(hours=1))
    before = clock()
    clock.advance(timedelta(hours=1))
    memory.sleep.archive("jetty")
    assert ids(memory.retrieve("jetty", known_at=before)) == ["jetty"]
    assert not memory.retrieve("painted green")
    assert list(memory.changes.diff(before).archived) == ["jetty"]


def test_an_export_carries_it(kept, open_memory, tmp_path):
    """It is archived in the store that takes it in, and can come back there."""
    kept.sleep.archive("jetty")
    kept.store.export(tmp_path / "e.jsonl")
    other = open_memory(tmp_path / "other")
    other.store.import_from(tmp_path / "e.jsonl", trust="user")
    assert other.get("jetty").status == "archived"
    assert other.sleep.unarchive("jetty").status == "active"


def test_statistics_count_it_as_hidden(kept):
    """``stats`` has a line of its own for it, and it is not forgotten by a sweep."""
    kept.sleep.archive("jetty")
    found = kept.store.stats()
    assert (found.memories, found.hidden["archived"]) == (1, 1)
    assert kept.store.sweep() == []
    assert all(finding.ok for finding in kept.store.doctor())


def test_forgetting_by_filters_forgets_what_is_archived_too(kept):
    """Somebody who says to forget everything means this as well."""
    kept.sleep.archive("jetty")
    assert set(kept.forget_many(within="")) == {"jetty", "theo"}


@pytest.mark.parametrize("status", ["forgotten", "archived"])
def test_an_agent_does_not_take_over_what_the_user_put_away(memory, status):
    """The same words under the same id stay the user's, however they were hidden."""
    mine = memory.add("Never deploy on Fridays", "long", kind="rule")
    hide, show = {
        "forgotten": (memory.forget, memory.restore),
        "archived": (memory.sleep.archive, memory.sleep.unarchive),
    }[status]
    hide(mine.id)
    with pytest.raises(UntrustedSource):
        memory.add("Never deploy on Fridays", "long", kind="rule", id=mine.id, source="agent")
    assert show(mine.id).source.kind == "user"
