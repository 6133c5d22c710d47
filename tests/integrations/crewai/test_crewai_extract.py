"""What a finished task leaves worth remembering."""

import pytest

pytest.importorskip("crewai", reason="crewai is not installed: pip install 'agent-memento[crewai]'")

from hypothesis import given
from hypothesis import strategies as st

from memento_crewai.extract import PIECE, cut, extract


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


def test_items_keep_what_introduces_them():
    """A list under its line or heading; a preamble introduces nothing."""
    text = (
        "Here are the results:\n\n# Suppliers\n\n- Acme, cheap\n* Globex,\n  slow\n\n"
        "Dates:\n1. opens 3 May\n2) closes 4 June\n\nAll agreed."
    )
    assert extract(text) == [
        "Suppliers: Acme, cheap",
        "Suppliers: Globex, slow",
        "Dates: opens 3 May",
        "Dates: closes 4 June",
        "Suppliers: All agreed.",
    ]


def test_a_lead_without_items_is_kept():
    """Nothing that says something is lost."""
    assert extract("The rule is this:") == ["The rule is this"]
    assert extract("The word is:\n\nswordfish") == ["The word is: swordfish"]


def test_code_stays_whole():
    """A block of code is one statement, its lines as they were."""
    assert extract("Run:\n```sh\nmake\n  test\n\nmake all\n```") == [
        "Run: make\n  test\n\nmake all"
    ]


def test_questions_and_courtesies_are_left_out():
    """They would be found before facts."""
    text = "Sure!\n\nBo drinks tea.\n\nDo you want more?\n\nLet me know if you need anything else."
    assert extract(text) == ["Bo drinks tea."]


def test_a_conversation_gives_both_sides():
    """What the user says of himself, and what came of it."""
    text = "Input: My dog is called Max.\nAgent: Aide\nResult: Max needs a blue collar, size M."
    assert extract(text) == ["My dog is called Max.", "Max needs a blue collar, size M."]


def test_nothing_to_keep():
    """An empty or polite result leaves nothing."""
    for result in ("", "   ", "---", "Done.", "Thanks!"):
        assert extract(task(result)) == []


def test_long_paragraphs_are_cut_at_sentences():
    """Each piece holds whole sentences."""
    sentences = [f"Sentence number {n} says that part {n} is made of oak." for n in range(40)]
    pieces = extract(" ".join(sentences))
    assert len(pieces) > 4
    assert all(piece.endswith("oak.") for piece in pieces)
    assert " ".join(pieces) == " ".join(sentences)


@given(st.text(max_size=3000), st.integers(1, 50))
def test_cut_loses_no_letter(text, limit):
    """Whatever the text, pieces are short and hold every character that is not a space."""
    pieces = cut(text, limit)
    assert all(len(piece) <= limit for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


@given(st.lists(st.sampled_from(["# H", "- item", "lead:", "", "```", "Some words.", "a?", "  x"])))
def test_any_structure(lines):
    """Statements are short, different, say something and come from the text."""
    text = "\n".join(lines)
    pieces = extract(text)
    assert len(set(pieces)) == len(pieces)
    for piece in pieces:
        assert piece.strip()
        assert len(piece) <= PIECE
        assert all(word.strip(":") in text for word in piece.split())


@given(st.text(max_size=2000))
def test_any_text(text):
    """Nothing makes it fail, inside an envelope or out of it."""
    assert isinstance(extract(text), list)
    assert isinstance(extract(task(text)), list)
