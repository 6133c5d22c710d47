"""Questions that want several memories: told apart, answered with more, each of them short."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento import Config
from memento.config import RetrieveConfig
from memento.errors import InvalidInput
from memento.retrieve.passage import GAP, passage
from memento.retrieve.question import wants_several

SEVERAL = [
    "Which languages does the importer support?",
    "What kinds of tea does Rami buy?",
    "What has Nadia repaired so far?",
    "where have the backups been kept",
    "How many servers did we retire?",
    "How often does the lift break?",
    "Compare the two offers for the roof",
    "What do Ada and Bob have in common?",
    "In which order were the rooms painted?",
    "Give me an overview of the move",
    "list all birthdays in March",
    "how did our prices evolve over time",
]
ONE = [
    "When does the flight to Porto leave?",
    "Which editor does Rami use?",
    "What is the address of the dentist?",
    "Who repaired the lift?",
    "What does Nadia have to bring?",
    "Where did we park?",
    "ticket4711",
    "",
]


@pytest.mark.parametrize("question", SEVERAL)
def test_questions_that_want_several_are_told(question):
    """Lists, counts, comparisons, orders and summaries want several memories."""
    assert wants_several(question)


@pytest.mark.parametrize("question", ONE)
def test_pointed_questions_are_told(question):
    """A question with one answer does not."""
    assert not wants_several(question)


LETTER = "The kettle is blue. " * 30 + "The piano was tuned by Bob. " + "The rug is grey. " * 30


@pytest.fixture
def letters(open_memory):
    """Forty letters, each long, each with one sentence about a piano."""
    memory = open_memory()
    memory.add_many([{"text": f"Letter {n}. {LETTER}", "session": f"s{n}"} for n in range(40)])
    return memory


def test_an_open_number_follows_the_question(letters):
    """Without a number a list gets more hits than a pointed question; both are settings."""
    config = RetrieveConfig()
    assert len(letters.retrieve("which pianos were tuned?", None)) == config.many
    assert len(letters.retrieve("who tuned the piano?", None)) == config.few
    assert len(letters.retrieve("which pianos were tuned?", 7)) == 7


def test_questions_need_not_be_told_apart(open_memory):
    """With ``many`` equal to ``few`` every question gets as many."""
    retrieve = RetrieveConfig(few=3, many=3)
    memory = open_memory(config=Config(retrieve=retrieve))
    memory.add_many([{"text": f"piano number {n}"} for n in range(9)])
    assert len(memory.retrieve("which pianos are there?", None)) == 3


@pytest.mark.parametrize("broken", [{"few": 0}, {"many": 0}, {"passage": 0}, {"long": 0}])
def test_settings_that_show_nothing_are_refused(broken):
    """No hits and no characters are no settings."""
    with pytest.raises(InvalidInput):
        Config(retrieve=replace(RetrieveConfig(), **broken))


def test_a_budget_holds_passages(letters):
    """Within a token budget a list shows of each long memory what it is asked about."""
    found = letters.retrieve("which pianos were tuned?", None, tokens=800)
    assert len(found) > 5
    assert all("piano was tuned by Bob" in hit.passage for hit in found)
    assert sum(len(hit.passage) / 4 for hit in found) <= 800
    assert all(hit.text.startswith("Letter") and len(hit.text) > 1000 for hit in found)


def test_a_budget_holds_the_passages_of_one_answer_too(letters):
    """Within a budget a long letter is shortened for any question; its text stays whole."""
    found = letters.retrieve("who tuned the piano?", None, tokens=800)
    assert len(found) == 5
    assert all("piano was tuned by Bob" in hit.passage for hit in found)
    assert all(len(hit.passage) < 1010 < len(hit.text) for hit in found)
    assert letters.retrieve("who tuned the piano?")[0].passage is None


def test_a_passage_fits_the_whole_budget(letters):
    """A budget of less than one passage gets a shorter passage, not nothing."""
    hit = letters.retrieve("who tuned the piano?", tokens=50)[0]
    assert "piano was tuned by Bob" in hit.passage
    assert len(hit.passage) <= 4 * 50


def test_long_memories_can_be_shown_whole(open_memory):
    """With ``long`` None a budget takes a long memory whole or not at all."""
    retrieve = RetrieveConfig(long=None)
    memory = open_memory(config=Config(retrieve=retrieve))
    memory.add(LETTER)
    assert memory.retrieve("who tuned the piano?", tokens=800)[0].passage is None
    assert len(memory.retrieve("who tuned the piano?", tokens=50)) == 0


def test_the_past_is_shown_whole(letters, clock):
    """A passage is a part of the present text, so an answer about the past has none."""
    past = letters.retrieve("which pianos were tuned?", None, tokens=800, as_of=clock())
    assert past
    assert all(hit.passage is None for hit in past)


def test_a_prompt_shows_the_passages(letters):
    """The block for a prompt holds the passages, not the letters, within its tokens."""
    block = letters.prompt("which pianos were tuned?", tokens=800)
    assert block.count("piano was tuned by Bob") > 5
    assert len(block) <= 4 * 800


TEXTS = st.text("ab é.?!\n。", max_size=120)


@given(TEXTS, st.lists(st.sampled_from(["a", "ab", "b", "é"]), max_size=3), st.integers(1, 60))
def test_a_passage_is_a_piece_of_the_text(text, wanted, room):
    """A passage is always a stretch of the text that fits the room."""
    cut = passage(text, wanted, room)
    assert cut.strip(GAP) in text
    assert len(text) <= room or len(cut.strip(GAP)) <= room


def test_a_text_may_begin_with_nothing_but_blanks():
    """Where no sentence begins within reach, the passage is the beginning, blank as it is."""
    assert passage("\n" * 400_001 + "a", ["a"], 5).strip(GAP) == ""
    assert passage("\n\n", ["a"], 1).strip(GAP) == ""


def test_a_long_sentence_is_searched_too():
    """A word at the end of a sentence longer than the room is found."""
    assert "needle" in passage("hay " * 500 + "needle " + "hay " * 500, ["needle"], 40)
