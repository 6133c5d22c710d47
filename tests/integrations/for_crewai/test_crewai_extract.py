"""What a finished task leaves worth remembering."""

import pytest

pytest.importorskip("crewai", reason="crewai is not installed: pip install 'agent-memento[crewai]'")

from hypothesis import given
from hypothesis import strategies as st

from memento_crewai.extract import extract


def task(result, asked="Find a venue"):
    """Return what CrewAI hands over after a task."""
    return f"Task: {asked}\nAgent: Scout\nExpected result: a name\nResult: {result}"


def test_the_result_alone_is_kept():
    """Neither the task nor the way to the answer."""
    text = task("Thought: I now know\nFinal Answer: The venue is the Old Mill.")
    assert extract(text) == ["The venue is the Old Mill."]


def test_a_task_of_many_lines_is_still_a_task():
    """Whatever it holds, only what follows the result counts."""
    asked = "Find a venue.\n\nRules:\n- Agent: none\n- cheap"
    assert extract(task("The venue is the Old Mill.", asked)) == ["The venue is the Old Mill."]


def test_a_bare_value_keeps_its_question():
    """Forty-two of what?"""
    assert extract(task("42", "What is the budget?")) == ["What is the budget? 42"]
    assert extract(task("Acme", "Name the client")) == ["Name the client: Acme"]


def test_a_conversation_gives_both_sides():
    """What the user says of himself, and what came of it."""
    text = "Input: My dog is called Max.\nAgent: Aide\nResult: Max needs a blue collar, size M."
    assert extract(text) == ["My dog is called Max.", "Max needs a blue collar, size M."]


def test_what_is_told_in_a_question_is_kept():
    """People tell in questions; a courtesy is none, and the bare answer keeps its question."""
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
