"""A message that is edited teaches what it says now, and no more what it said before."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento import MemoryManager
from memento.types import Kind

STATEMENTS = {
    "I live in Oslo.": "user/home",
    "I live in Bergen.": "user/home",
    "My name is Ada.": "user/name",
    "My name is Ida.": "user/name",
    "I'm allergic to nuts.": None,
    "I'm allergic to milk.": None,
    "Never deploy on Mondays.": None,
    "Never deploy on Fridays.": None,
    "I have an exam on 4 June 2027.": None,
    "What is the weather like?": None,
}
SILENT = "What is the weather like?"


@pytest.fixture
def memory(tmp_path):
    """A store that finds by words alone."""
    with MemoryManager(tmp_path, embedder=None) as memory:
        yield memory


def say(memory, text, *, number="1", door="messages"):
    """Say a message with an id, through one of the two doors."""
    message = {"role": "user", "content": text, "id": number}
    if door == "messages":
        return memory.observe(messages=[message], session="s")
    (kept,) = memory.keep([message], session="s")
    return memory.observe(text, keep=False, turn_id=kept.id, session="s")


def learnt(memory):
    """Return the texts of what was learnt and holds."""
    return {one.text for one in memory.list() if one.kind not in (Kind.EPISODE, Kind.QUESTION)}


@pytest.mark.parametrize("door", ["messages", "kept"])
@settings(max_examples=12)
@given(edits=st.lists(st.sampled_from([*STATEMENTS]), min_size=2, max_size=5))
def test_the_last_words_alone_have_taught(tmp_path_factory, door, edits):
    """However often a message is edited, also back to what it said, its last words count."""
    with MemoryManager(tmp_path_factory.mktemp("s"), embedder=None) as memory:
        for text in edits:
            say(memory, text, door=door)
        assert learnt(memory) == {edits[-1]} - {SILENT}
        key = STATEMENTS[edits[-1]]
        assert key is None or memory.value(key).text == edits[-1]


def test_a_message_that_says_the_same_again_is_known(memory):
    """Nothing is read a second time, also after an edit."""
    for text in ("I live in Oslo.", "I live in Bergen."):
        assert not say(memory, text).known
        assert say(memory, text).known
    assert len(memory.list(kind="fact")) == 1


def test_what_an_edit_repeats_stays_the_same_memory(memory):
    """The sentence that was not edited keeps its id."""
    say(memory, "I'm allergic to nuts. I live in Oslo.")
    (nuts,) = [one for one in memory.list() if one.text == "I'm allergic to nuts."]
    say(memory, "I'm allergic to nuts. I live in Bergen.")
    assert memory.get(nuts.id).status == "active"
    assert learnt(memory) == {"I'm allergic to nuts.", "I live in Bergen."}


def test_what_another_message_said_too_stays(memory):
    """An edit takes back what it alone had taught."""
    say(memory, "I'm allergic to nuts.", number="1")
    say(memory, "I'm allergic to nuts.", number="2")
    say(memory, SILENT, number="1")
    assert learnt(memory) == {"I'm allergic to nuts."}


@pytest.mark.parametrize("touch", ["update", "lock"])
def test_what_the_user_worded_or_locked_stays(memory, touch):
    """A memory that was corrected by hand is the user's, whatever the message says now."""
    (one,) = (each.memory for each in say(memory, "I'm allergic to nuts.").learned)
    if touch == "update":
        memory.update(one.id, text="I'm allergic to all nuts.")
    else:
        memory.update(one.id, lock="user")
    say(memory, SILENT)
    assert memory.get(one.id).status == "active"


def test_the_value_before_holds_again(memory):
    """What an edited message had replaced has its place back."""
    say(memory, "I live in Oslo.", number="1")
    say(memory, "I live in Bergen.", number="2")
    say(memory, SILENT, number="2")
    assert memory.value("user/home").text == "I live in Oslo."
    say(memory, "I live in Trondheim.", number="2")
    assert memory.value("user/home").text == "I live in Trondheim."


def test_an_edit_is_undone_as_one_change(memory):
    """What it hid is back, and what it taught is hidden."""
    say(memory, "I'm allergic to nuts.")
    seen = say(memory, "I'm allergic to milk.")
    memory.undo(seen.change)
    assert learnt(memory) == {"I'm allergic to nuts."}


def test_an_edit_of_a_locked_turn_leaves_the_conversation_alone(memory):
    """The locked words stay, and the other turns are kept."""
    (first,) = memory.keep([{"role": "user", "content": "The code is 1234.", "id": "1"}])
    memory.update(first.id, lock="user")
    memory.keep([
        {"role": "user", "content": "The code is 9999.", "id": "1"},
        {"role": "user", "content": "I like tea.", "id": "2"},
    ])  # fmt: skip
    assert [one.text for one in memory.list()] == ["The code is 1234.", "I like tea."]
