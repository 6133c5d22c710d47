"""Memories are extracted from a finished task."""

import re

import pytest

pytest.importorskip("crewai", reason="crewai is not installed: pip install 'agent-memento[crewai]'")

from hypothesis import given
from hypothesis import strategies as st

from memento_crewai._extract import _TALK, _TASK, extract, parts

TASK = re.compile(
    r"Task: (?P<asked>.*?)\nAgent: .*?\nExpected result: .*?\nResult: ?(?P<said>.*)", re.DOTALL
)
TALK = re.compile(r"Input: (?P<asked>.*?)\nAgent: .*?\nResult: ?(?P<said>.*)", re.DOTALL)
"""The meaning of CrewAI's texts; too slow to read them with."""
HEADS = ("Task: ", "Input: ", "\nAgent: ", "\nExpected result: ", "\nResult:", "\nResult: ")


class Counted(str):
    """A text that counts the characters that are gone over to find something in it."""

    __slots__ = ("looked",)

    def find(self, wanted, start=0):
        """Find as any text does."""
        found = super().find(wanted, start)
        self.looked = getattr(self, "looked", 0) + (found if found >= 0 else len(self)) - start
        return found


def task(result, asked="Find a venue"):
    """Return what CrewAI hands over after a task."""
    return f"Task: {asked}\nAgent: Scout\nExpected result: a name\nResult: {result}"


def test_the_result_alone_is_kept():
    """Neither the task nor the way to the answer."""
    text = task("Thought: I now know\nFinal Answer: The venue is the Old Mill.")
    assert extract(text) == ["The venue is the Old Mill."]


def test_a_task_of_many_lines_is_still_a_task():
    """Only the text after the mark of the result is used, whatever stands before it."""
    asked = "Find a venue.\n\nRules:\n- Agent: none\n- cheap"
    assert extract(task("The venue is the Old Mill.", asked)) == ["The venue is the Old Mill."]


def test_a_bare_value_keeps_its_question():
    """Forty-two of what?"""
    assert extract(task("42", "What is the budget?")) == ["What is the budget? 42"]
    assert extract(task("Acme", "Name the client")) == ["Name the client: Acme"]


def test_a_conversation_gives_both_sides():
    """It keeps the user's statements about themselves, and the result."""
    text = "Input: My dog is called Max.\nAgent: Aide\nResult: Max needs a blue collar, size M."
    assert extract(text) == ["My dog is called Max.", "Max needs a blue collar, size M."]


def test_what_is_told_in_a_question_is_kept():
    """Questions can hold facts; a courtesy holds none, and a bare answer keeps its question."""
    asked = "Can you plan a dinner for my son Leo, who is vegetarian?"
    talk = "Input: {}\nAgent: Aide\nResult: {}"
    assert extract(talk.format(asked, "")) == [asked]
    assert extract(talk.format(f"Max is my dog.\n\n{asked}", "")) == ["Max is my dog.", asked]
    assert extract(talk.format("Thank you!", "")) == []
    assert extract(talk.format("What is the budget?", "42")) == [
        "What is the budget?",
        "What is the budget? 42",
    ]
    assert extract(task("", asked)) == []


def test_nothing_to_keep():
    """An empty or polite result leaves nothing."""
    for result in ("", "   ", "---", "Done.", "Thanks!"):
        assert extract(task(result)) == []


@given(st.text(max_size=2000))
def test_any_text(text):
    """Nothing makes it fail, inside an envelope or out of it."""
    assert isinstance(extract(text), list)
    assert isinstance(extract(task(text)), list)


@given(st.lists(st.sampled_from((*HEADS, "a", " ", "\n", "Task:", "\nResult")), max_size=14))
def test_the_parts_are_those_of_the_patterns(pieces):
    """The first head of each kind behind the one before it parts the text, as the patterns say."""
    text = "".join(pieces)
    for heads, pattern in ((_TASK, TASK), (_TALK, TALK)):
        expected = found.group("asked", "said") if (found := pattern.fullmatch(text)) else None
        assert parts(text, heads) == expected


@pytest.mark.parametrize(
    ("lead", "unit", "heads"),
    [
        ("", "Task: a\nAgent: b\nExpected result: ", _TASK),
        ("Task: ", "\nAgent: ", _TASK),
        ("", "Input: a\nAgent: b\n", _TALK),
    ],
)
def test_no_text_is_gone_over_twice(lead, unit, heads):
    """Of a text full of heads that lead nowhere each character is looked at once at most."""
    text = Counted(lead + unit * 10_000)
    assert parts(text, heads) is None
    assert 0 < text.looked <= len(text)
    assert len(extract(str(text))) > 0
