"""Forgetting by retrieval: of two claims about the same, the one that was not used loses worth."""

from datetime import timedelta

import pytest

from memento import Config
from memento.dynamics.formulas import Effect

HOURS = timedelta(hours=2)


@pytest.fixture
def memory(open_memory):
    """A store with two claims about one thing, and one about another."""
    opened = open_memory(config=Config(effect=Effect(rivals=0.5)))
    opened.add("My editor is Vim", "medium", id="vim")
    opened.add("My editor is Helix", "medium", id="helix")
    opened.add("My bicycle has an editor's sticker on it", "medium", id="bicycle")
    opened.sleep.run(steps=["fold"])
    return opened


def used(memory, name):
    """Ask, and say that one hit was used."""
    found = memory.retrieve("Which editor do I use?", 10, record=False)
    memory.feedback.rate(next(hit for hit in found if hit.id == name), verdict="used")


def worths(memory):
    """Return the worth of each memory."""
    return {one.id: memory.feedback.strength(one.id).worth for one in memory.list()}


def test_a_rival_loses_worth_and_nothing_else_does(memory):
    """It claims something about the same; the other hit does not."""
    used(memory, "helix")
    after = worths(memory)
    assert after["helix"] > 0 > after["vim"]
    assert after["bicycle"] == 0


def test_taking_the_verdict_back_takes_that_back(memory):
    """By the number of the verdict, and by its source."""
    before = worths(memory)
    used(memory, "helix")
    memory.feedback.retract(event=memory.feedback.belief("helix").evidence[-1].event)
    assert worths(memory) == before
    used(memory, "vim")
    assert worths(memory) != before
    memory.feedback.retract(source="user")
    assert worths(memory) == before


def test_a_verdict_that_is_not_written_lowers_nothing(memory, clock):
    """The same one within an hour counts once."""
    used(memory, "helix")
    before = worths(memory)
    used(memory, "helix")
    assert worths(memory) == before
    clock.advance(HOURS)
    used(memory, "helix")
    assert worths(memory)["vim"] < before["vim"]


def test_of_two_that_were_used_neither_is_a_rival(memory):
    """An answer may rest on both."""
    found = {hit.id: hit for hit in memory.retrieve("Which editor do I use?", 10, record=False)}
    memory.feedback.rate([found["vim"], found["helix"]], verdict="used")
    assert all(one >= 0 for one in worths(memory).values())


def test_by_default_no_memory_has_rivals(open_memory, tmp_path):
    """The setting is 0."""
    memory = open_memory(root=tmp_path / "plain")
    memory.add("My editor is Vim", "medium", id="vim")
    memory.add("My editor is Helix", "medium", id="helix")
    memory.sleep.run(steps=["fold"])
    used(memory, "helix")
    assert memory.feedback.strength("vim").worth == 0
