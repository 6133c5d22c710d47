"""Calls that write many memories at once, and those that learn, are undone as a whole."""

from datetime import timedelta

import pytest
from test_undo import active, last, snapshot

from memento import Config, MemoryManager
from memento.config import ObserveConfig, Sleep
from memento.verbs import documents

MENU = "# Tea\n\nGreen.\n\n# Coffee\n\nBlack.\n\n# Milk\n\nWhite.\n\n# Cocoa\n\nBrown."
NEW_MENU = "# Tea\n\nRed, not green.\n\n# Milk\n\nWhite."


@pytest.fixture
def kept(open_memory):
    """Return a store in which nothing happens by itself."""
    return open_memory(config=Config(sleep=Sleep(auto="off"), observe=ObserveConfig(forget="all")))


def reworked(memory):
    """A document is added again: some parts are replaced, some are gone."""
    memory.add_document(MENU, name="menu")
    return lambda: memory.add_document(NEW_MENU, name="menu")


def told_otherwise(memory):
    """Two things are learnt from one message, and one of them replaces what was known."""
    memory.observe("I live in Utrecht.", "Noted.", session="a")
    turn = "I live in Porto now. My favourite editor is Vim."
    memory.keep([{"role": "user", "content": turn}], session="a")
    (turn_id,) = [one.id for one in memory.list(session="a") if one.text == turn]
    return lambda: memory.observe(turn, session="a", keep=False, turn_id=turn_id)


def asked_to_forget(memory):
    """The user asks to forget something."""
    memory.add("My locker code is 4411", id="locker")
    memory.keep([{"role": "user", "content": "Forget my locker code."}], session="a")
    (turn,) = memory.list(session="a")
    return lambda: memory.observe(turn.text, session="a", keep=False, turn_id=turn.id)


def confirmed(memory):
    """A statement is confirmed in a slot that has a value."""
    memory.add("I live in Utrecht.", key="user/home")
    (seen,) = memory.foresee("I live in Porto now.")
    return lambda: memory.confirm(seen.candidate)


def imported_over(memory):
    """An export brings a newer value of a slot that has one here, and a link of two memories."""
    with MemoryManager(memory.root / "other", embedder=None, clock=memory.clock) as other:
        other.add("The gate code is 1904", id="gate", key="gate")
        other.add("The door code is 2011", id="door", related=["gate"])
        other.store.export(memory.root / "other.jsonl")
    memory.add("The gate code is 7", id="old", key="gate")
    return lambda: memory.store.import_from(memory.root / "other.jsonl")


CASES = {
    "add_document": reworked,
    "observe": told_otherwise,
    "observe that forgets": asked_to_forget,
    "confirm": confirmed,
}


@pytest.mark.parametrize("case", CASES)
def test_it_is_undone_and_redone(kept, case):
    """All that one call did: new memories are forgotten, all others are as before."""
    deed = CASES[case](kept)
    before, known, made = snapshot(kept), active(kept), len(kept.changes())
    deed()
    after = snapshot(kept)
    assert after != before
    undone = undo_last_call(kept, len(kept.changes()) - made)
    assert undone.left == {}
    rows, _ = snapshot(kept)
    assert {name: row for name, row in rows.items() if name in before[0]} == before[0]
    assert active(kept) == known
    assert undo_last_call(kept, len(undone.changes)).left == {}
    assert snapshot(kept) == after


def undo_last_call(memory, made):
    """Undo the change of the last call, or its run if it made several."""
    newest = memory.changes(limit=made)
    if made == 1:
        return memory.undo(newest[0].number)
    assert len({one.run for one in newest}) == 1
    return memory.undo(run=newest[0].run)


def test_a_changed_document_is_one_run_of_the_call_that_changed_it(kept, monkeypatch):
    """However many parts one transaction writes."""
    monkeypatch.setattr(documents, "BATCH", 1)
    kept.add_document(MENU, name="menu")
    assert kept.changes() == []
    kept.add_document(MENU.replace("Green", "Red").replace("White", "Blue")[:60], name="menu")
    made = kept.changes()
    assert {one.kind for one in made} == {"add_document"}
    assert len(made) == 3
    assert {one.run for one in made} == {made[-1].number}
    assert kept.changes(run=made[-1].number) == made
    kept.undo(run=made[-1].number)
    assert "\n\n".join(one.text for one in kept.list()) == MENU


def test_an_import_and_a_new_document_are_no_change(kept):
    """They add, and what is added is taken back by forgetting it; nothing else is altered."""
    imported_over(kept)()
    kept.add_document(MENU, name="menu")
    assert kept.changes() == []


def test_the_end_of_a_session_is_no_change(kept):
    """Its summary is forgotten like any other memory; the session stays ended."""
    session = kept.session("shed", goal="paint the shed")
    kept.keep([{"role": "user", "content": "We paint it red."}], session="shed")
    summary = session.end("done")
    assert kept.changes() == []
    kept.forget(summary.id)
    assert last(kept).changed == (summary.id,)
    assert session.info.outcome == "done"
    kept.undo(last(kept).number)
    assert kept.get(summary.id).text == summary.text


def test_an_import_that_superseded_is_undone(memory, open_memory, tmp_path, clock):
    """The own value holds again, and what came with the other one is hidden; redo is undo."""
    mine = memory.add("The tea is green", key="tea").id
    other = open_memory(tmp_path / "other")
    clock.advance(timedelta(days=1))
    came = [other.add("The tea is black", key="tea").id, other.add("I have a kettle").id]
    other.store.export(tmp_path / "other.jsonl")
    memory.store.import_from(tmp_path / "other.jsonl", trust="user")
    (change,) = memory.changes()
    assert (change.changed, set(change.added)) == ((mine,), set(came))
    found = memory.undo(change.number)
    assert not found.left
    assert [memory.get(one).status for one in (mine, *came)] == ["active", *["forgotten"] * 2]
    memory.undo(found.changes[0])
    assert [memory.get(one).status for one in (mine, *came)] == ["superseded", *["active"] * 2]
    assert all(one.ok for one in memory.store.doctor(repair=False))
