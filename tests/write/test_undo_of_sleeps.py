"""After a sleep is undone, memories, sums, links and answers are as before."""

from datetime import timedelta

import pytest

from memento import Config
from memento.config import Sleep
from memento.errors import NothingToUndo
from memento.ledger import strength_fold, usage_events

HOURS, DAY = timedelta(hours=2), timedelta(days=1)
QUESTION = "Where is the deploy runbook?"
NAMES = ("Heron", "Egret", "Plover", "Avocet")
SHED = "The blue bike of Anna is kept in the old shed"
ALWAYS = "The blue bike of Anna is always kept in the old shed"


@pytest.fixture
def lived(open_memory, clock):
    """Return a store with memories to fold and to replay."""
    sleep = Sleep(replay=0.5, archive_share=1.0)
    memory = open_memory(config=Config(sleep=sleep))
    for name in NAMES:
        memory.add(f"The deploy runbook of project {name} is here", id=name, kind="episode")
    memory.add(SHED, id="shed")
    memory.add(ALWAYS, id="always")
    for _ in range(4):
        clock.advance(HOURS)
        memory.feedback.rate(list(NAMES), verdict="used")
    clock.advance(5 * DAY)
    memory.feedback.rate("Heron", verdict="confirmed")
    return memory


def all_of_it(memory):
    """Return what a sleep may change: memories, sums, links and an answer."""
    every = memory.list(status=["active", "superseded", "archived", "forgotten"], limit=100)
    hits = memory.retrieve(QUESTION, 10, record=False)
    return (
        {one.id: (one.text, one.status, one.tier, one.superseded_by) for one in every},
        {one.id: memory.feedback.strength(one.id) for one in every},
        {one.id: memory.feedback.belief(one.id).mean for one in every},
        [(hit.id, hit.score, hit.terms) for hit in hits],
    )


def test_everything_is_as_before_and_redo_brings_it_back(lived):
    """Also replays, and the uses of folded memories."""
    before = all_of_it(lived)
    night = lived.sleep.run()
    assert {name for name, one in night.steps.items() if one.changed} == {
        "duplicates", "tiers", "replay",
    }  # fmt: skip
    after = all_of_it(lived)
    assert all(one != other for one, other in zip(after[:3], before[:3], strict=True))
    undone = lived.undo(run=night.run)
    assert undone.left == {}
    assert all_of_it(lived) == before
    redone = lived.undo(run=undone.changes[0])
    assert all_of_it(lived) == after
    lived.undo(run=redone.changes[0])
    assert all_of_it(lived) == before
    assert all(one.ok for one in lived.store.doctor())


def test_dropped_sums_come_back_the_same_after_an_undo_and_a_redo(lived):
    """They are made of the log alone."""
    night = lived.sleep.run()
    after = all_of_it(lived)
    undone = lived.undo(run=night.run)
    lived.undo(run=undone.changes[0])
    lived._engine.ledger.write(strength_fold.forget_all)
    lived.sleep.run(steps=["fold"])
    assert all_of_it(lived) == after


def test_a_sleep_that_only_replays_can_be_undone(lived):
    """It is a change that names what it replayed, and so is its undo."""
    before = lived.feedback.strength("Egret")
    night = lived.sleep.run(steps=["replay"])
    (made,) = lived.changes.list(run=night.run)
    assert (made.kind, made.added) == ("consolidate", ())
    assert made.rev_to < made.rev_from
    assert "Egret" in made.changed
    assert lived.feedback.strength("Egret") != before
    undone = lived.undo(made.number)
    assert undone.memories == made.changed
    assert lived.feedback.strength("Egret") == before
    assert lived.changes.list()[0].changed == made.changed
    with pytest.raises(NothingToUndo, match="was undone by"):
        lived.undo(made.number)


def test_the_undo_of_a_sleep_is_no_day_of_use(lived, clock):
    """Nobody asked for anything on that day, so nothing is nearer to being forgotten."""
    days = lambda: lived._engine.ledger.read(lambda c: strength_fold.calendar_of(c, 1).days)  # noqa: E731
    night = lived.sleep.run()
    before = days()
    clock.advance(DAY)
    lived.undo(run=night.run)
    lived.sleep.run(steps=["fold"])
    assert days() == before


def test_undo_reads_no_answers_of_the_log(lived):
    """They are most of it, and about no single memory, so an index leaves them out."""
    asked, plans = [], []

    class Noting:
        def __init__(self, session):
            self._session = session

        def execute(self, query, given=()):
            asked.append(query)
            plans.extend(self._session.execute(f"EXPLAIN QUERY PLAN {query}", given).fetchall())
            return self._session.execute(query, given)

    (made,) = lived.changes.list(run=lived.sleep.run(steps=["replay"]).run)
    at = int(made.at.timestamp() * 1_000_000)
    read = lambda c: usage_events.written_by(Noting(c), 1, {made.number: at})  # noqa: E731
    assert lived._engine.ledger.read(read)
    assert len(asked) == 1
    assert "events_by_docid" in plans[0][3]


def test_what_was_replayed_and_erased_stays_gone(lived):
    """The others are set back."""
    night = lived.sleep.run(steps=["replay"])
    (made,) = lived.changes.list(run=night.run)
    lived.store.erase("Egret")
    assert "Egret" not in lived.undo(made.number).memories
    for name in (*NAMES, "shed", "always"):
        if name != "Egret":
            lived.store.erase(name)
    with pytest.raises(NothingToUndo, match="no memory from change"):
        lived.undo(lived.changes.list(limit=1)[0].number)


def test_the_undo_of_a_restore_counts_the_folded_memory_again(lived):
    """It is folded as before; its arrival is a use of the other one."""
    lived.sleep.run(steps=["duplicates"])
    uses = lived.feedback.strength("always").uses
    lived.restore("shed")
    assert lived.feedback.strength("always").uses < uses
    lived.undo(lived.changes.list()[0].number)
    assert lived.get("shed").superseded_by == "always"
    assert lived.feedback.strength("always").uses == uses


def test_a_memory_that_is_left_is_no_use_of_the_other(lived):
    """It was pinned since, so it is not folded again, and its arrival stays no use."""
    night = lived.sleep.run(steps=["duplicates"])
    uses = lived.feedback.strength("always").uses
    undone = lived.undo(run=night.run)
    lived.update("shed", pinned=True)
    redone = lived.undo(undone.changes[0])
    assert "shed" in redone.left
    assert lived.feedback.strength("always").uses < uses
