"""Each call that changes memories is undone and redone to the last column, as a whole."""

from datetime import timedelta

import pytest
from test_undo import active, last, snapshot

from memento import Config, MemoryManager, Source
from memento.config import Articles, Sleep
from memento.verbs import documents

DAY = timedelta(days=1)
PAGE = "https://a.example/page"
MENU = "# Tea\n\nGreen.\n\n# Coffee\n\nBlack.\n\n# Milk\n\nWhite.\n\n# Cocoa\n\nBrown."
NEW_MENU = "# Tea\n\nRed, not green.\n\n# Milk\n\nWhite."


def archived_and_used(memory):
    """A verdict brings a memory back from the archive."""
    memory.sleep.archive("door")
    return lambda: memory.feedback.rate("door", verdict="used")


def expired(memory):
    """A sweep hides expired memories."""
    memory.add("The code of today is 77", id="today", expires_in=DAY)
    memory.store.clock.advance(2 * DAY)
    return memory.store.sweep


def of_a_page(memory):
    """The memories of a page come back."""
    memory.add("The page says 12", id="page", source=Source("user", uri=PAGE))
    memory.quarantine.forget_source(PAGE)
    return lambda: memory.quarantine.restore_source(PAGE)


def unarchived(memory):
    """An archived memory is brought back."""
    memory.sleep.archive("door")
    return lambda: memory.sleep.unarchive("door")


def pinned(memory):
    """A pin is taken away."""
    memory.update("door", pinned=True)
    return lambda: memory.update("door", pinned=False)


def promoted(memory):
    """Two verdicts of two days take a lock away."""
    memory.update("door", lock="promoted")
    memory.feedback.rate("door", verdict="wrong")
    memory.store.clock.advance(DAY)
    return lambda: memory.feedback.rate("door", verdict="wrong")


def directed(memory):
    """A rule of the user takes the place of another value of its slot."""
    memory.rules.direct("Answer me in German.")
    return lambda: memory.rules.direct("Answer me in French.")


def flagged(memory):
    """Two statements contradict each other, and a person settles it."""
    memory.add("The door code is 2012", id="rival")
    memory.flush(wait=True)
    return lambda: memory.slots.resolve("door", "rival", "b")


def written_about(memory):
    """An article is written about a topic."""
    for text in (
        "The garden of Anna has an old apple tree",
        "Anna planted a second apple tree in the garden",
        "Anna sold 12 kg of apples from the trees in the garden",
        "The old apple tree in the garden of Anna was cut back",
    ):
        memory.add(text)
    memory.flush(wait=True)
    return lambda: memory.sleep.run(steps=["articles"])


def forgotten_by_age(memory):
    """A sleep archives memories that nobody needs."""
    memory.add("We walked past a lamp post", id="walk", kind="episode", importance=0.1)
    for _ in range(100):
        memory.store.clock.advance(DAY)
        memory.feedback.rate("gate", verdict="used")
    return lambda: memory.sleep.run(steps=["fold", "archive"])


def reworked(memory):
    """A document is added again: some parts are replaced, some are gone."""
    memory.documents.add(MENU, name="menu")
    return lambda: memory.documents.add(NEW_MENU, name="menu")


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
    (seen,) = memory.rules.foresee("I live in Porto now.")
    return lambda: memory.rules.confirm(seen.candidate)


def imported_over(memory, **options):
    """An export brings a newer value of a slot that has one here, and a link of two memories."""
    with MemoryManager(
        memory.store.root / "other", embedder=None, clock=memory.store.clock
    ) as other:
        other.add("The gate code is 1904", id="code", key="gate")
        other.add("The shed code is 2011", id="shed", related=["code"])
        other.store.export(memory.store.root / "other.jsonl")
    memory.add("The gate code is 7", id="old", key="gate", occurred_at=memory.store.clock() - DAY)
    return lambda: memory.store.import_from(memory.store.root / "other.jsonl", **options)


def locked(memory):
    """A lock of the user takes an expiry away."""
    memory.store.touch("door", expires_in=DAY)
    return lambda: memory.update("door", lock="user")


def replaced(memory):
    """Another memory has the id, and a link of its own."""
    return lambda: memory.add("The door is blue", id="door", replace=True, related="gate")


def of_two_sources(memory):
    """Of a page, one memory was approved, and one was not."""
    memory.quarantine.approve(memory.add("seen", source=Source("web", PAGE)).id)
    memory.add("new", source=Source("web", PAGE))
    return lambda: memory.quarantine.forget_source(PAGE)


CASES = {
    "archive": lambda memory: lambda: memory.sleep.archive("door"),
    "unarchive": unarchived,
    "pin": lambda memory: lambda: memory.update("door", pinned=True),
    "unpin": pinned,
    "lock": locked,
    "lock against others": lambda memory: lambda: memory.update("door", lock="promoted"),
    "forget_many": lambda memory: lambda: memory.forget_many(ids=["door", "gate"]),
    "sweep": expired,
    "restore_source": of_a_page,
    "forget_source": of_two_sources,
    "replace": replaced,
    "import": lambda memory: imported_over(memory, trust="user"),
    "feedback that brings back": archived_and_used,
    "feedback that takes a lock": promoted,
    "direct": directed,
    "resolve": flagged,
    "articles": written_about,
    "archive of a sleep": forgotten_by_age,
    "add_document": reworked,
    "observe": told_otherwise,
    "observe that forgets": asked_to_forget,
    "confirm": confirmed,
}


@pytest.fixture
def kept(open_memory):
    """Return a store with two memories, in which nothing happens by itself."""
    config = Config(
        sleep=Sleep(auto="off", archive_share=1.0),
        articles=Articles("extractive"),
    )
    memory = open_memory(config=config)
    memory.add("The door code is 2011", id="door")
    memory.add("The gate code is 1904", id="gate", kind="rule")
    return memory


@pytest.mark.parametrize("case", CASES)
def test_it_is_undone_and_redone(kept, case):
    """New memories are forgotten; all others are as before, and then as after."""
    deed = CASES[case](kept)
    kept.flush(wait=True)
    before, known, made = snapshot(kept), active(kept), len(kept.changes.list())
    deed()
    after = snapshot(kept)
    assert after != before
    undone = undo_last_call(kept, len(kept.changes.list()) - made)
    assert undone.left == {}
    rows, _ = snapshot(kept)
    assert {name: row for name, row in rows.items() if name in before[0]} == before[0]
    assert active(kept) == known
    assert undo_last_call(kept, len(undone.changes)).left == {}
    assert snapshot(kept) == after


def undo_last_call(memory, made):
    """Undo the change of the last call, or its run if it made several."""
    newest = memory.changes.list(limit=made)
    if made == 1:
        return memory.undo(newest[0].number)
    assert len({one.run for one in newest}) == 1
    return memory.undo(run=newest[0].run)


def test_verdicts_stay_when_the_change_that_they_made_is_undone(kept):
    """The memory goes back to the archive; that it was used stays known until it is retracted."""
    archived_and_used(kept)()
    kept.undo(last(kept).number)
    assert kept.get("door").status == "archived"
    assert kept.feedback.strength("door").uses == 1
    kept.feedback.retract(event=kept.feedback.belief("door").evidence[0].event)
    assert kept.feedback.strength("door").uses == 0


def test_a_changed_document_is_one_run_of_the_call_that_changed_it(kept, monkeypatch):
    """However many parts one transaction writes."""
    monkeypatch.setattr(documents, "BATCH", 1)
    kept.documents.add(MENU, name="menu")
    first = len(kept.changes.list())
    kept.documents.add(MENU.replace("Green", "Red").replace("White", "Blue")[:60], name="menu")
    made = kept.changes.list()[:-first]
    assert {one.kind for one in made} == {"add_document"}
    assert len(made) == 3
    assert {one.run for one in made} == {made[-1].number}
    assert kept.changes.list(run=made[-1].number) == made
    kept.undo(run=made[-1].number)
    assert "\n\n".join(one.text for one in kept.list() if one.id not in ("door", "gate")) == MENU


def test_a_new_document_is_a_change_and_an_import_is_none(kept):
    """All parts of a document are taken back at once; what an import adds is forgotten."""
    imported_over(kept)()
    assert kept.changes.list() == []
    kept.documents.add(MENU, name="menu")
    kept.undo(last(kept).number)
    assert not any(part in [one.text for one in kept.list()] for part in MENU.split("\n\n"))


def test_the_end_of_a_session_is_no_change(kept):
    """Its summary is forgotten like any other memory; the session stays ended."""
    session = kept.sessions.start("shed", goal="paint the shed")
    kept.keep([{"role": "user", "content": "We paint it red."}], session="shed")
    summary = session.end("done")
    assert kept.changes.list() == []
    kept.forget(summary.id)
    assert last(kept).changed == (summary.id,)
    assert session.info.outcome == "done"
    kept.undo(last(kept).number)
    assert kept.get(summary.id).text == summary.text
