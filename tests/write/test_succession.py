"""What a statement changes is noted in the background; nothing is hidden."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from beside import read_sql, write_sql

from memento import AsyncMemoryManager, Config, MemoryManager, background
from memento.claims.settings import Conflicts
from memento.errors import EmbedderError
from memento.upkeep.backup import restore
from memento.write import succession

BEFORE, AFTER = "My line manager is Ottilie Kern", "Ottilie has retired, Benno runs it all now"


@pytest.fixture
def memory(tmp_path, clock):
    """A store with the default embedder."""
    with MemoryManager(tmp_path / "store", clock=clock) as memory:
        yield memory


class Always:
    """A reader for which everything changes everything."""

    def __init__(self):
        self.read = []

    def probability(self, older, newer):
        """Note what was read."""
        self.read.append((older, newer))
        return 1.0


@pytest.fixture
def reader(monkeypatch):
    """Take the place of the model."""
    always = Always()
    monkeypatch.setattr(succession.ChangeReader, "load", lambda: always)
    return always


def told(memory, *texts, **more):
    """Add statements and wait until they are compared."""
    ids = [memory.add(text, **more).id for text in texts]
    memory.flush(wait=True)
    return ids


def pairs_of(memory):
    """Return the stored pairs, as ids."""
    query = (
        "SELECT a.id, b.id FROM successions JOIN memories AS a ON a.docid = older"
        " JOIN memories AS b ON b.docid = newer ORDER BY older, newer"
    )
    return read_sql(memory, query)


def test_a_statement_that_changes_another_is_shown_before_it(memory):
    """And found by words that only the earlier one has."""
    old, new = told(memory, BEFORE, AFTER)
    told(memory, "The kettle is blue")
    assert pairs_of(memory) == [(old, new)]
    hits = memory.retrieve("line manager", k=5)
    assert [hit.id for hit in hits][:2] == [new, old]
    assert hits[1].newer == new
    assert all(memory.get(one).status.value == "active" for one in (old, new))


def test_a_question_about_the_past_gets_what_was_changed(memory):
    """The news of a change is no answer to what was before it."""
    old, _ = told(memory, BEFORE, AFTER)
    assert memory.retrieve("who was my line manager before?", k=5)[0].id == old


@pytest.mark.parametrize(
    "more",
    [
        {"session": "s1", "kind": "episode"},
        {"session": "s1"},
        {"role": "assistant"},
        {"kind": "episode"},
    ],
)
def test_nothing_is_compared_in_a_conversation(memory, reader, more):
    """There people speak of one thing again and again."""
    told(memory, BEFORE, AFTER, **more)
    assert reader.read == []


def test_only_earlier_statements_of_the_same_speaker_are_read(memory, reader, clock):
    """Neither those of others, nor later ones, nor other languages, nor long texts."""
    later = clock().replace(year=clock().year + 1)
    old = memory.add("I keep bees").id
    memory.add("I keep three goats", actor="bea")
    memory.add("Ich halte drei Ziegen auf der Wiese am Bach")
    memory.add("I keep goats " + "and geese " * 60)
    memory.add("I will keep llamas", occurred_at=later)
    new = memory.add("The bees went to my neighbour").id
    memory.flush(wait=True)
    assert ("I keep bees", "The bees went to my neighbour") in reader.read
    assert {one for pair in reader.read for one in pair} == {
        "I keep bees",
        "The bees went to my neighbour",
        "I will keep llamas",
    }
    assert (old, new) in pairs_of(memory)


def test_scopes_beside_each_other_are_not_compared(memory, reader):
    """What holds in one project says nothing about another."""
    memory.add("We deploy on Fridays", scope="projects/a")
    memory.add("We deploy on Mondays", scope="projects/b")
    memory.add("Deploys wait until Tuesday", scope="projects")
    memory.flush(wait=True)
    assert sorted(reader.read) == [
        ("We deploy on Fridays", "Deploys wait until Tuesday"),
        ("We deploy on Mondays", "Deploys wait until Tuesday"),
    ]


def test_another_text_is_compared_and_another_status_is_not(memory, reader):
    """A pin brings no new vector."""
    old, new = told(memory, "I keep bees", "The bees are gone")
    reader.read.clear()
    memory.update(new, pinned=True)
    memory.flush(wait=True)
    assert (reader.read, pairs_of(memory)) == ([], [(old, new)])
    memory.update(new, text="The bees went to my neighbour")
    memory.flush(wait=True)
    assert reader.read == [("I keep bees", "The bees went to my neighbour")]


@pytest.mark.usefixtures("reader")
def test_what_is_erased_leaves_no_pair(memory):
    """Neither of the two may be told from what is left."""
    old, new = told(memory, "I keep bees", "The bees are gone")
    assert pairs_of(memory) == [(old, new)]
    memory.store.erase(old)
    query = "SELECT count(*) FROM successions"
    assert read_sql(memory, query) == [(0,)]


def test_of_a_large_load_the_newest_are_compared(memory, reader, monkeypatch):
    """Of vectors stored together, those of the newest notes; nobody waits for the rest."""
    monkeypatch.setattr(succession, "MOST_WAITING", 10)
    with monkeypatch.context() as patched:
        patched.setattr(memory._engine.background.changes, "_compares", False)
        told(memory, *(f"note {number} about bees" for number in range(30)))
    memory.flush(wait=True)
    assert {newer for _, newer in reader.read} == {f"note {n} about bees" for n in range(20, 30)}


@pytest.mark.usefixtures("reader")
def test_what_another_process_left_is_compared(tmp_path, clock):
    """A store is flushed after a crash that came between a vector and its comparison."""
    with MemoryManager(tmp_path / "store", clock=clock) as memory:
        memory._engine.background.changes._compares = False
        old, new = told(memory, "I keep bees", "The bees are gone")
        assert pairs_of(memory) == []
    with MemoryManager(tmp_path / "store", clock=clock) as memory:
        memory.flush(wait=True)
        assert pairs_of(memory) == [(old, new)]


def test_nothing_is_compared_if_comparing_is_off(tmp_path, clock, reader):
    """As no statement is, see ``Conflicts``."""
    settings = Config(conflicts=Conflicts(pairs=0))
    with MemoryManager(tmp_path / "store", clock=clock, config=settings) as memory:
        told(memory, "I keep bees", "The bees are gone")
    assert reader.read == []


def test_a_damaged_model_holds_nothing_else_up(memory, monkeypatch, caplog):
    """Notes are embedded and found, and the comparison waits."""
    with monkeypatch.context() as patch:

        def broken():
            raise EmbedderError("changes.onnx is damaged")

        patch.setattr(succession.ChangeReader, "load", broken)
        old, new = told(memory, BEFORE, AFTER)
        assert memory.flush(wait=True)
        assert memory._engine.indexer.trouble == {}
        assert memory.retrieve("line manager").missing == {}
        assert caplog.text.count("changes.onnx is damaged") == 1
    assert memory.flush(wait=True)
    assert pairs_of(memory) == [(old, new)]


def test_a_process_without_embedder_leaves_the_comparison_to_others(tmp_path, clock):
    """It cannot tell which notes are near."""
    place = tmp_path / "store"
    no_pairs = Config(conflicts=Conflicts(pairs=0))
    with MemoryManager(place, clock=clock, config=no_pairs) as memory:
        ids = tuple(told(memory, BEFORE, AFTER))
    with MemoryManager(place, clock=clock, embedder=None) as memory:
        memory.flush(wait=True)
    with MemoryManager(place, clock=clock) as memory:
        memory.flush(wait=True)
        assert pairs_of(memory) == [ids]


def test_another_text_drops_what_was_noted_even_if_it_is_not_compared(memory):
    """At once, and for good."""
    _, new = told(memory, BEFORE, AFTER)
    memory.add("Ich arbeite jetzt mit Benno in der Stadt", id=new, replace=True)
    assert pairs_of(memory) == []
    memory.flush(wait=True)
    assert pairs_of(memory) == []


def test_a_flush_without_time_is_done_when_nothing_waits(memory):
    """A flush without time is done when nothing waits."""
    told(memory, BEFORE, AFTER)
    assert memory.flush(wait=True, timeout=0)


@pytest.mark.usefixtures("reader")
def test_a_vector_that_comes_later_than_that_of_a_change_keeps_the_pair(memory):
    """In a load, the vectors of short texts come first."""
    memory._engine.background.changes._compares = False
    lamps = [f"The lamp {number} is blue" for number in range(9)]
    old, *_, new = told(memory, BEFORE, *lamps, AFTER)
    query = (
        "UPDATE embeddings SET stamp = CASE docid"
        " WHEN (SELECT max(docid) FROM memories) THEN 1"
        " WHEN (SELECT min(docid) FROM memories) THEN 3 ELSE 2 END"
    )
    write_sql(memory, query)
    memory._engine.background.changes._compares = True
    memory.flush(wait=True)
    assert (old, new) in pairs_of(memory)


def test_a_flush_that_is_awaited_compares_too(tmp_path, clock, monkeypatch):
    """It waits without a thread, and so in another way."""
    monkeypatch.setattr(background.Background, "keep_house", lambda _: False)

    async def told_later():
        async with AsyncMemoryManager(tmp_path / "store", clock=clock) as memory:
            ids = tuple([(await memory.add(text)).id for text in (BEFORE, AFTER)])
            await memory.flush(wait=True)
            assert pairs_of(memory._sync) == [ids]

    asyncio.run(told_later())


@pytest.mark.parametrize("verdict", ["wrong", "harmful"])
def test_a_verdict_outweighs_what_was_noted(memory, verdict):
    """What a person called wrong comes before nothing."""
    old, new = told(memory, BEFORE, AFTER)
    assert memory.retrieve("line manager", k=5)[0].id == new
    memory.feedback.rate(new, verdict=verdict)
    memory.flush(wait=True)
    assert memory.retrieve("line manager", k=5)[0].id == old


@pytest.mark.usefixtures("reader")
def test_notes_of_another_scope_do_not_hide_what_was_changed(memory):
    """The nearest ones may be of a scope that is not compared."""
    (old,) = told(memory, BEFORE, scope="work/a")
    told(memory, *(f"{AFTER}, {number}" for number in range(6)), scope="work/b")
    (new,) = told(memory, AFTER, scope="work/a")
    assert (old, new) in pairs_of(memory)


@pytest.mark.usefixtures("reader")
def test_setting_back_drops_only_what_was_noted_of_another_text(memory, tmp_path, clock):
    """A pin that is undone brings no new vector, so nothing would be noted again."""
    old, new = told(memory, "I keep bees", "The bees are gone")
    clock.advance(timedelta(days=1))
    moment = clock()
    clock.advance(timedelta(days=1))
    memory.update(old, pinned=True)
    memory.flush(wait=True)
    memory.store.backup(tmp_path / "kept.db")
    restore(tmp_path / "kept.db", tmp_path / "again", at=moment)
    with MemoryManager(tmp_path / "again", clock=clock) as again:
        assert again.get(old).pinned is False
        assert pairs_of(again) == [(old, new)]
