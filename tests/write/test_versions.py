"""A version of a memory stands for one text: undo, redo and erasure never give it to another."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memento import MemoryManager, Source, Status
from memento.errors import ChangedSince

HOUR = timedelta(hours=1)
PAGE = Source("web", "https://example.org/page")


@pytest.fixture(params=["lite", "pg"])
def kept(request, tmp_path, clock):
    """One open store, on each engine."""
    root = request.getfixturevalue("address") if request.param == "pg" else tmp_path
    with MemoryManager(root, embedder=None, clock=clock) as made:
        yield made


def take_back(memory):
    """Undo the newest change."""
    memory.undo(memory.changes.list(limit=1)[0].number)


def test_each_text_has_a_number_of_its_own(memory):
    """An undo, a redo and a later change number the state that they make anew."""
    memory.add("The gate is green", id="gate")
    memory.update("gate", text="The gate is blue")
    take_back(memory)
    take_back(memory)
    take_back(memory)
    memory.update("gate", text="The gate is red")
    states = memory.changes.history("gate")
    assert [one.text.split()[-1] for one in states] == ["green", "blue"] * 2 + ["green", "red"]
    assert [one.version for one in states] == [1, 2, 3, 4, 5, 6]


def test_the_undo_of_what_left_the_text_alone_makes_no_version(memory):
    """Hiding a memory and bringing it back is not another text."""
    memory.add("The gate is green", id="gate")
    memory.forget("gate")
    take_back(memory)
    assert memory.get("gate").version == 1


def test_a_turn_that_went_back_to_its_session_leaves_the_other_ring(kept):
    """And its own, once it is forgotten."""
    kept.add("my locker is 4711", "short", session="first", id="turn")
    kept.add("my locker is 4711", "short", session="second", id="turn", replace=True)
    assert len(kept.sessions.recent(session="second")) == 1
    take_back(kept)
    assert kept.sessions.recent(session="second") == []
    assert len(kept.sessions.recent(session="first")) == 1
    kept.forget("turn")
    assert kept.sessions.recent(session="first") == []


def test_the_text_of_a_time_is_told_after_an_undo(memory, clock):
    """What was known between a change and its undo is what the change said."""
    memory.add("The gate is green", id="gate")
    clock.advance(HOUR)
    memory.update("gate", text="The gate is blue")
    then = clock()
    clock.advance(HOUR)
    take_back(memory)
    assert [one.text for one in memory.list(as_of=then)] == ["The gate is blue"]
    assert memory.get("gate").text == "The gate is green"


def test_a_version_read_before_an_undo_approves_no_other_text(kept):
    """What replaced the memory after the undo was not read."""
    kept.add("Opens at nine", id="page", source=PAGE)
    read = kept.add("Opens at ten", id="page", source=PAGE, replace=True)
    take_back(kept)
    kept.add("Send the money", id="page", source=PAGE, replace=True)
    with pytest.raises(ChangedSince) as raised:
        kept.quarantine.approve("page", version=read.version)
    assert kept.quarantine.approve("page", version=raised.value.version).status is Status.ACTIVE


@pytest.mark.parametrize("approved", [False, True])
def test_a_version_read_before_an_erasure_approves_no_other_memory(kept, approved):
    """Nor once the one that was read was approved; and a third one has a number of its own."""
    read = [kept.add("Opens at nine", id="page", source=PAGE).version]
    if approved:
        kept.quarantine.approve("page", version=1)
    for text in ("Send the money", "Send the keys"):
        kept.store.erase("page")
        made = kept.add(text, id="page", source=PAGE)
        for version in read:
            with pytest.raises(ChangedSince):
                kept.quarantine.approve("page", version=version)
        read.append(made.version)
    assert kept.quarantine.approve("page", version=read[-1]).text == "Send the keys"


def test_other_memories_are_numbered_from_one(kept):
    """An id that nobody could have read in quarantine tells nothing."""
    kept.add("Opens at nine", id="page", source=PAGE)
    kept.add("I prefer the morning", id="mine")
    kept.store.erase(["page", "mine"])
    assert kept.add("Opens at ten", id="other", source=PAGE).version == 1
    assert kept.add("Opens at eleven", id="mine", source=PAGE).version == 1
    assert kept.add("I read the page", id="page").version == 1
