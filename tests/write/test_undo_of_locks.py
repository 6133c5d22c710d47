"""An undo never changes a memory that the user locked, unless it undoes the lock itself."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memento import MemoryManager
from memento.errors import LockedMemory
from memento.ledger.rows import MOST_LOCKED
from memento.testing import ManualClock

DAY = 86_400


@pytest.fixture
def clock():
    """A clock that stands still."""
    return ManualClock()


@pytest.fixture
def memory(tmp_path, clock):
    """A store without an embedder."""
    with MemoryManager(tmp_path, embedder=None, clock=clock) as manager:
        yield manager


def newest(memory):
    """Return the number of the newest change."""
    return memory.changes()[0].number


@pytest.mark.parametrize("force", [False, True])
def test_an_earlier_change_of_a_locked_memory_is_left(memory, force):
    """Force undoes later changes, but takes no lock away."""
    kept = memory.add("The gate code is 1904")
    memory.update(kept.id, text="The gate code is 2010")
    updated = newest(memory)
    memory.lock(kept.id)
    locked = newest(memory)
    undone = memory.undo(updated, force=force)
    assert undone.left == {kept.id: locked}
    assert memory.get(kept.id).text == "The gate code is 2010"
    assert memory.get(kept.id).lock == "user"


def test_a_lock_can_be_undone_and_redone(memory):
    """To undo the lock itself is to unlock; the expiry that it took away is there again."""
    kept = memory.add("The gate code is 1904", expires_in=DAY)
    memory.lock(kept.id)
    memory.undo(newest(memory))
    assert memory.get(kept.id).lock is None
    assert memory.get(kept.id).expires_at == kept.expires_at
    memory.undo(newest(memory))
    assert memory.get(kept.id).lock == "user"
    with pytest.raises(LockedMemory):
        memory.forget(kept.id)


def test_a_verdict_counts_again_once_the_lock_is_undone(memory):
    """A verdict on a locked memory has no effect; it has one when the lock is gone."""
    kept = memory.add("The gate code is 1904")
    before = memory.belief(kept.id).mean
    memory.lock(kept.id)
    memory.feedback(kept.id, verdict="wrong")
    assert memory.belief(kept.id).mean == before
    memory.undo(newest(memory))
    assert memory.belief(kept.id).mean < before


def test_a_locked_memory_is_not_corrected(memory):
    """Nothing is written, not even the change."""
    kept = memory.add("The gate code is 1904", key="gate")
    memory.lock(kept.id)
    listed = memory.changes()
    with pytest.raises(LockedMemory):
        memory.correct(kept.id, "The gate code is 2010")
    assert [one.text for one in memory.list()] == ["The gate code is 1904"]
    assert memory.changes() == listed


def test_verdicts_that_take_a_lock_away_are_a_change(memory, clock):
    """It has a number of its own, so that undoing a later change does not bring the lock back."""
    kept = memory.add("The gate code is 1904")
    memory.lock(kept.id, "promoted")
    memory.feedback(kept.id, verdict="wrong")
    clock.advance(timedelta(days=2))
    memory.feedback(kept.id, verdict="wrong")
    assert memory.get(kept.id).lock is None
    assert memory.changes()[0].kind == "feedback"
    memory.update(kept.id, text="The gate code is 2010")
    memory.undo(newest(memory))
    assert memory.get(kept.id).lock is None
    assert memory.get(kept.id).text == "The gate code is 1904"


def test_force_does_not_take_away_a_lock_that_was_given_by_redo(memory):
    """A lock that an undo brought back is a lock like any other."""
    kept = memory.add("The gate code is 1904")
    memory.update(kept.id, text="The gate code is 2010")
    updated = newest(memory)
    memory.lock(kept.id)
    memory.undo(newest(memory))
    memory.undo(newest(memory))
    redone = newest(memory)
    undone = memory.undo(updated, force=True)
    assert undone.left == {kept.id: redone}
    assert memory.get(kept.id).lock == "user"
    assert memory.get(kept.id).text == "The gate code is 2010"
    memory.undo(redone)
    assert memory.get(kept.id).lock is None


def test_an_undo_does_not_lock_more_than_may_be_locked(memory):
    """The lock that ``unlock`` took away comes back only while there is room for it."""
    ids = [memory.add(f"Rule {number} of the house").id for number in range(MOST_LOCKED + 1)]
    for one in ids[:-1]:
        memory.lock(one)
    memory.unlock(ids[0])
    unlocked = newest(memory)
    memory.lock(ids[-1])
    undone = memory.undo(unlocked)
    assert undone.left == {ids[0]: None}
    assert memory.get(ids[0]).lock is None
    memory.unlock(ids[-1])
    memory.undo(unlocked)
    assert memory.get(ids[0]).lock == "user"
