"""An undo keeps what was written since without being a change: a later expiry, and repeats."""

from __future__ import annotations

import pytest

from memento import MemoryManager
from memento.testing import ManualClock


@pytest.fixture
def memory(tmp_path):
    """A store without an embedder, whose clock stands still."""
    with MemoryManager(tmp_path, embedder=None, clock=ManualClock()) as manager:
        yield manager


def newest(memory):
    """Return the number of the newest change."""
    return memory.changes()[0].number


def test_an_expiry_that_was_set_since_stays(memory):
    """``touch`` is no change, so an undo does not let the memory end at the moment before it."""
    kept = memory.add("The gate code is 1904", expires_in=100)
    memory.update(kept.id, text="The gate code is 2010")
    updated = newest(memory)
    memory.touch(kept.id, expires_in=100_000)
    touched = memory.get(kept.id).expires_at
    memory.undo(updated)
    assert memory.get(kept.id).text == "The gate code is 1904"
    assert memory.get(kept.id).expires_at == touched
    memory.undo(newest(memory))
    assert memory.get(kept.id).expires_at == touched


def test_an_expiry_that_the_change_set_is_set_back(memory):
    """Also if the memory was repeated since, which is no change."""
    kept = memory.add("The gate code is 1904")
    memory.update(kept.id, tags=["gate"], expires_in=100)
    updated = newest(memory)
    memory.add("The gate code is 1904", expires_in=1000)
    memory.undo(updated)
    assert memory.get(kept.id).expires_at is None
    assert memory.get(kept.id).tags == ()


def test_repeats_since_are_still_counted(memory):
    """A repeat after the change stays counted, whatever else is undone."""
    kept = memory.add("The gate code is 1904")
    memory.update(kept.id, tags=["gate"])
    updated = newest(memory)
    memory.add("The gate code is 1904")
    memory.undo(updated)
    assert memory.get(kept.id).reinforced == 1
