"""A damaged row is never returned as if it were sound, and no change makes it sound."""

from __future__ import annotations

import io
import logging
from contextlib import suppress

import pytest

from memento import MemoryManager, Source, Status
from memento.cli import main
from memento.errors import StoreUnusable
from memento.testing import HashEmbedder

DAMAGE = {
    "text": "'kettle tea is poison'",
    "text to bytes": "x'6b6574746c6520ff'",
    "trust": "'user '",
    "kind": "'rule'",
    "actor": "'Rami'",
    "tags": "'[\"a'",
    "metadata": "'{\"n\": 9}'",
    "source_parents": "'[\"a'",
    "source_parents of no list": "'5'",
    "aliases": "x'ff'",
    "valid_from": "'x'",
    "occurred_at": "occurred_at + 1000000",
    "tier": "'shirt'",
    "status": "CASE status WHEN 'active' THEN 'superseded' ELSE 'active' END",
    "ns": "ns + 1",
    "checksum": "'abc'",
}
"""The damage done to a column: all that bit rot or a foreign UPDATE may do."""


def garble(memory, memory_id, what):
    """Change a row behind memento's back, as damage does: no revision, no checksum."""
    column = what.split()[0]
    change = f"UPDATE memories SET {column} = {DAMAGE[what]} WHERE id = ?"
    memory._engine.ledger.write(lambda c: c.execute(change, (memory_id,)))


@pytest.fixture
def memory(tmp_path):
    """A store with three memories of kettles, one of them twice."""
    with MemoryManager(tmp_path / "store", embedder=HashEmbedder(64)) as manager:
        manager.add("the kettle tea is green", "long", id="hit", tags=["k"], key="tea")
        manager.add("the kettle coffee is black", "long", id="other", tags=["k"])
        manager.add("nothing of that kind", "short", id="turn", session="s")
        assert manager.flush(wait=True)
        manager.retrieve("kettle tea")
        manager.sessions.recent(session="s")
        yield manager


@pytest.fixture
def hits(open_memory):
    """A store with a memory in a namespace of its own for each damage, yet undone."""
    memory = open_memory()
    found = {}
    for at, what in enumerate(sorted(DAMAGE.keys() - {"ns"})):
        view = memory.of(f"n{at}")
        view.add("the kettle coffee is black", id=f"other{at}")
        view.add("the kettle tea is green", "long", id=f"hit{at}", tags=["k"], key="tea")
        found[what] = view, f"hit{at}"
    return found


@pytest.mark.parametrize("what", DAMAGE)
def test_get_names_it(memory, what):
    """A typed error with the id that was asked for and what to do; the others are there."""
    garble(memory, "hit", what)
    if what != "ns":
        with pytest.raises(StoreUnusable, match=r"'hit'.*damaged.*memento doctor"):
            memory.get("hit")
    else:
        other = memory.of("other")
        other.add("theirs")
        with pytest.raises(StoreUnusable, match="'hit'"):
            other.get("hit")
        with pytest.raises(StoreUnusable, match="'hit'"):
            other.forget("hit")
    assert memory.get("other").text == "the kettle coffee is black"
    assert not all(found.ok for found in memory.store.doctor())


@pytest.mark.parametrize("rev", ["1 << 50", "'x'", "x'ff'", "2.5"])
def test_a_garbled_revision_leads_no_other_memory_astray(memory, rev):
    """The next memory has its right place; with a new revision everything is as it was."""
    change = f"UPDATE memories SET rev = {rev} WHERE id = 'hit'"
    memory._engine.ledger.write(lambda c: c.execute(change))
    with pytest.raises(StoreUnusable, match=r"'hit'.*damaged.*memento doctor"):
        memory.get("hit")
    assert not all(found.ok for found in memory.store.doctor())
    added = memory.add("the kettle broth is clear")
    memory.update("other", text="the kettle coffee is white")
    assert memory.flush(wait=True)  # the background thread reads the changes in their order
    assert memory.store.stats().trouble == {}
    assert memory.get(added.id) == added
    assert memory.of("other").list() == []
    assert memory.forget("hit").status == Status.FORGOTTEN
    assert all(found.ok for found in memory.store.doctor())


def test_a_turn_whose_version_is_garbled_can_be_hidden(memory):
    """The ring lets go of it and shows the rest."""
    kept = memory.add("said later", "short", session="s")
    change = "UPDATE memories SET version = 'x' WHERE id = 'turn'"
    memory._engine.ledger.write(lambda c: c.execute(change))
    memory.forget("turn")
    assert [one.id for one in memory.sessions.recent(session="s")] == [kept.id]


def test_an_older_state_does_not_answer_for_a_garbled_one(memory):
    """A memory that was superseded when it was forgotten does not come back as active."""
    memory.forget("other")
    memory.restore("other")
    memory.add("the kettle coffee is white", supersedes="other")
    memory.forget("other")
    change = (
        "UPDATE versions SET text = 'x' WHERE docid = (SELECT docid FROM memories WHERE"
        " id = 'other') AND reason = 'forgotten' AND status = 'superseded'"
    )
    memory._engine.ledger.write(lambda c: c.execute(change))
    assert memory.restore("other").status == Status.SUPERSEDED


def test_an_id_that_is_none_is_named_and_stops_no_export(memory):
    """Neither a damaged id nor the links and events that name it stop the export."""
    memory.add("beside it", related="hit")
    memory.forget("hit")
    change = "UPDATE memories SET id = x'ff' WHERE id = 'hit'"
    memory._engine.ledger.write(lambda c: c.execute(change))
    (found,) = (one for one in memory.store.doctor() if one.check == "memories")
    assert "1 changed outside memento" in found.detail
    assert memory.store.export(io.StringIO()).damaged == (str(b"\xff"),)


@pytest.mark.parametrize("what", sorted(DAMAGE.keys() - {"ns", "status"}))
def test_retrieve_leaves_it_out_and_says_so(memory, what, caplog):
    """From an answer, a search by vector and the block of a prompt; by old and new caches."""
    caplog.set_level(logging.WARNING, "memento")
    garble(memory, "hit", what)
    is_left_out(memory, caplog)
    memory.close()
    caplog.clear()
    with MemoryManager(memory.store.root, embedder=HashEmbedder(64)) as fresh:
        is_left_out(fresh, caplog)


def is_left_out(memory, caplog):
    """Assert that no answer has the damaged memory, and that answer or log names it."""
    (vector,) = memory.store.embed(["the kettle tea is green"])
    for found in (memory.retrieve("kettle tea green"), memory.store.nearest(vector)):
        assert "other" in [hit.id for hit in found]
        assert "hit" not in [hit.id for hit in found]
        assert "poison" not in found.explain()
        if "ledger" in found.missing:  # else the cache could not take it in, and said so
            assert "'hit'" in found.missing["ledger"]
    assert "'hit'" in caplog.text or "damaged rows" in caplog.text
    block = memory.prompt("kettle tea green")
    assert "coffee" in block
    assert "poison" not in block
    assert "tea" not in block


def test_a_sound_store_misses_nothing(memory):
    """The control: nothing is left out of what nobody changed."""
    assert [hit.id for hit in memory.retrieve("kettle tea green")] == ["hit", "other"]
    assert memory.retrieve("kettle tea green").missing == {}


def test_what_was_folded_into_it_stands_in_its_place(memory):
    """The same words, said twice, are lost to nobody when one copy is damaged."""
    memory.add("the kettle tea is green", "long", id="again", scope="kitchen")
    found = memory.retrieve("kettle tea green")
    first = found[0]
    assert {first.id, *first.folded} == {"hit", "again"}
    garble(memory, first.id, "text")
    found = memory.retrieve("kettle tea green")
    assert (found[0].id, found[0].folded) == (first.folded[0], ())
    assert found[0].text == "the kettle tea is green"
    assert repr(first.id) in found.missing["ledger"]


def test_the_past_is_looked_at_too(memory):
    """A damaged earlier text is not shown as valid at a moment, nor in the history."""
    then = memory.store.clock()
    memory.update("hit", text="the kettle tea is red")
    assert memory.retrieve("kettle tea", as_of=then)[0].text == "the kettle tea is green"
    memory._engine.ledger.write(
        lambda c: c.execute("UPDATE versions SET text = 'the kettle tea is poison'")
    )
    found = memory.retrieve("kettle tea", as_of=then)
    assert [hit.id for hit in found] == ["other"]
    assert "'hit'" in found.missing["ledger"]
    with pytest.raises(StoreUnusable, match=r"earlier state.*'hit'"):
        memory.changes.history("hit")
    assert memory.get("hit").text == "the kettle tea is red"


@pytest.mark.parametrize(
    "ask",
    [
        lambda memory: memory.list(),
        lambda memory: memory.list(ids="turn"),
        lambda memory: memory.sessions.recent(session="s"),
        lambda memory: memory.changes.history("turn"),
        lambda memory: memory.update("turn", importance=0.1),
        lambda memory: memory.update("turn", tier="long"),
        lambda memory: memory.store.touch("turn", 5.0),
        lambda memory: memory.add("a summary", source=Source(parents=("turn",))),
        lambda memory: memory.add("nothing of that kind", "short", id="turn", session="s"),
    ],
    ids=["list", "list ids", "recent", "history", "update", "move", "touch", "derive", "retry"],
)
def test_whatever_needs_it_is_refused(memory, ask):
    """Lists, rings, changes and what would be derived from it: the same error, nothing written."""
    garble(memory, "turn", "actor")
    memory.add("a new turn", "short", id="new", session="s")
    with MemoryManager(memory.store.root, embedder=None) as fresh:  # its ring is read again
        with pytest.raises(StoreUnusable, match="'turn'"):
            ask(fresh)
        assert [one.id for one in fresh.list(ids=["new", "hit"])] == ["hit", "new"]
    assert "memories" in [found.check for found in memory.store.doctor() if not found.ok]


@pytest.mark.parametrize(
    "change",
    [
        lambda view, name: view.forget(name),
        lambda view, _: view.forget_many(tag="k"),
        lambda view, _: view.add("the kettle tea is red", key="tea"),
        lambda view, name: view.add("no tea", supersedes=name),
        lambda view, _: view.add("the kettle tea is green", key="tea"),
    ],
    ids=["forget", "forget many", "slot", "supersedes", "again"],
)
def test_no_change_makes_damage_look_whole(hits, change):
    """It can be hidden and replaced; doctor goes on naming it until it is gone."""
    for what, (view, name) in hits.items():
        garble(view, name, what)
        with suppress(StoreUnusable):  # its status or its id cannot be read
            change(view, name)
    (found,) = (one for one in view.store.doctor() if one.check == "memories")
    assert f"{len(hits)} changed outside memento" in found.detail
    for view, name in hits.values():
        with pytest.raises(StoreUnusable, match=name):
            view.get(name)


def test_what_is_said_again_is_kept_whole(memory):
    """Equal words are not folded into a memory that does not say them any more."""
    kept = memory.add("the kettle coffee is black", "long", tags=["k"])
    assert kept.id == "other"
    garble(memory, "other", "text")
    again = memory.add("the kettle coffee is black", "long", tags=["k"])
    assert again.id != "other"
    assert memory.get(again.id).text == "the kettle coffee is black"


def test_put_in_its_place_it_is_whole_again(hits):
    """A memory added again under its id is sound; the damage stays in the history."""
    for what, (view, name) in hits.items():
        garble(view, name, what)
        kept = view.add("the kettle tea is red", "long", id=name, tags=["k"], replace=True)
        assert view.get(name) == kept, what
        assert (kept.text, kept.status) == ("the kettle tea is red", Status.ACTIVE), what
        assert view.retrieve("kettle tea red")[0].id == name, what
    assert {found.check for found in view.store.doctor() if not found.ok} <= {"history"}


def test_it_can_be_erased_and_stops_no_other_erasure(hits):
    """Damage holds up neither its own end nor another's; then all is well."""
    for what, (view, name) in hits.items():
        garble(view, name, what)
    for what, (view, name) in hits.items():
        assert view.store.erase(name.replace("hit", "other")).complete, what
        assert view.store.erase(name).complete, what
    assert all(found.ok for found in view.store.doctor())


@pytest.mark.parametrize("what", ["{", "{'seal'", '["other"', '"other"', "5"])
def test_garbled_histories_and_events_stop_no_erasure(memory, what):
    """An unreadable line is erased if it holds the id, and stays if it does not."""
    memory.add(f"password={'tr0ub4dor&3'}", id="redacted")
    memory.update("hit", text="the kettle tea is red")
    memory._engine.ledger.write(
        lambda c: [
            c.execute("UPDATE versions SET earlier = ?", (what,)),
            c.execute("UPDATE events SET detail = ? WHERE kind = 'updated'", (what,)),
            c.execute("UPDATE events SET detail = ? WHERE kind = 'redacted'", (what,)),
        ]
    )
    assert memory.store.stats().redacted == {}
    assert memory.store.erase("other").complete
    left = memory._engine.ledger.read(
        lambda c: [
            *c.execute("SELECT earlier FROM versions").fetchall(),
            *c.execute("SELECT detail FROM events WHERE kind = 'updated'").fetchall(),
        ]
    )
    assert left == ([] if "other" in what else [(what,)] * 2)


def test_an_export_marks_it_and_the_command_line_says_so(memory, capsys):
    """Listed under its id; retrieve goes on and warns, get ends with an error."""
    garble(memory, "hit", "text")
    assert memory.store.export(io.StringIO()).damaged == ("hit",)
    memory.close()
    assert main(["retrieve", "kettle tea", "--root", str(memory.store.root)]) == 0
    said = capsys.readouterr()
    assert "ledger: memory 'hit': damaged" in said.err
    assert "poison" not in said.out
    assert main(["list", "--root", str(memory.store.root)]) != 0
    assert "'hit'" in capsys.readouterr().err
