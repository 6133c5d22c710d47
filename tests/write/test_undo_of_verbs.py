"""Each verb that changes memories is undone and redone to the last column."""

from datetime import timedelta

import pytest
from test_undo import active, last, snapshot

from memento import Config, Source
from memento.config import Articles, Sleep

DAY = timedelta(days=1)
PAGE = "https://a.example/page"


def archived_and_used(memory):
    """A verdict brings a memory back from the archive."""
    memory.archive("door")
    return lambda: memory.feedback("door", verdict="used")


def expired(memory):
    """A sweep hides expired memories."""
    memory.add("The code of today is 77", id="today", expires_in=DAY)
    memory.clock.advance(2 * DAY)
    return memory.sweep


def of_a_page(memory):
    """The memories of a page come back."""
    memory.add("The page says 12", id="page", source=Source("user", uri=PAGE))
    memory.quarantine.forget_source(PAGE)
    return lambda: memory.quarantine.restore_source(PAGE)


def unarchived(memory):
    """An archived memory is brought back."""
    memory.archive("door")
    return lambda: memory.unarchive("door")


def pinned(memory):
    """A pin is taken away."""
    memory.pin("door")
    return lambda: memory.unpin("door")


def promoted(memory):
    """Two verdicts of two days take a lock away."""
    memory.lock("door", level="promoted")
    memory.feedback("door", verdict="wrong")
    memory.clock.advance(DAY)
    return lambda: memory.feedback("door", verdict="wrong")


def directed(memory):
    """A rule of the user takes the place of another value of its slot."""
    memory.direct("Answer me in German.")
    return lambda: memory.direct("Answer me in French.")


def flagged(memory):
    """Two statements contradict each other, and a person settles it."""
    memory.add("The door code is 2012", id="rival")
    memory.flush(wait=True)
    return lambda: memory.resolve("door", "rival", "b")


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
    return lambda: memory.consolidate(steps=["articles"])


def forgotten_by_age(memory):
    """A sleep archives memories that nobody needs."""
    memory.add("We walked past a lamp post", id="walk", kind="episode", importance=0.1)
    for _ in range(100):
        memory.clock.advance(DAY)
        memory.feedback("gate", verdict="used")
    return lambda: memory.consolidate(steps=["fold", "archive"])


CASES = {
    "archive": lambda memory: lambda: memory.archive("door"),
    "unarchive": unarchived,
    "pin": lambda memory: lambda: memory.pin("door"),
    "unpin": pinned,
    "lock": lambda memory: lambda: memory.lock("door", level="promoted"),
    "forget_many": lambda memory: lambda: memory.forget_many(ids=["door", "gate"]),
    "sweep": expired,
    "restore_source": of_a_page,
    "feedback that brings back": archived_and_used,
    "feedback that takes a lock": promoted,
    "direct": directed,
    "resolve": flagged,
    "articles": written_about,
    "archive of a sleep": forgotten_by_age,
}


@pytest.fixture
def kept(open_memory):
    """Return a store with two memories."""
    config = Config(sleep=Sleep(auto="off", archive_share=1.0), articles=Articles("extractive"))
    memory = open_memory(config=config)
    memory.add("The door code is 2011", id="door")
    memory.add("The gate code is 1904", id="gate", kind="rule")
    return memory


@pytest.mark.parametrize("case", CASES)
def test_it_is_undone_and_redone(kept, case):
    """New memories are forgotten; all others are as before, and then as after."""
    deed = CASES[case](kept)
    kept.flush(wait=True)
    before, known = snapshot(kept), active(kept)
    deed()
    after = snapshot(kept)
    assert after != before
    undone = kept.undo(last(kept).number)
    assert undone.left == {}
    rows, _ = snapshot(kept)
    assert {name: row for name, row in rows.items() if name in before[0]} == before[0]
    assert active(kept) == known
    assert kept.undo(undone.changes[0]).left == {}
    assert snapshot(kept) == after


def test_verdicts_stay_when_the_change_that_they_made_is_undone(kept):
    """The memory goes back to the archive; that it was used stays known until it is retracted."""
    archived_and_used(kept)()
    kept.undo(last(kept).number)
    assert kept.get("door").status == "archived"
    assert kept.strength("door").uses == 1
    kept.retract(event=kept.belief("door").evidence[0].event)
    assert kept.strength("door").uses == 0


def test_an_erasure_is_not_undone_and_takes_its_changes_along(kept):
    """The other memory of that change is set back."""
    kept.forget_many(ids=["door", "gate"])
    kept.store.erase("door")
    undone = kept.undo(last(kept).number)
    assert undone.memories == ("gate",)
    assert active(kept) == ["The gate code is 1904"]
