"""Taking a text apart into what is worth remembering."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.text.sentences import PIECE, cut, statements


def test_items_keep_what_introduces_them():
    """A list under its line or heading; a preamble introduces nothing."""
    text = (
        "Here are the results:\n\n# Suppliers\n\n- Acme, cheap\n* Globex,\n  slow\n\n"
        "Dates:\n1. opens 3 May\n2) closes 4 June\n\nAll agreed."
    )
    assert statements(text) == [
        "Suppliers: Acme, cheap",
        "Suppliers: Globex, slow",
        "Dates: opens 3 May",
        "Dates: closes 4 June",
        "Suppliers: All agreed.",
    ]


def test_a_lead_without_items_is_kept():
    """Nothing that says something is lost."""
    assert statements("The rule is this:") == ["The rule is this"]
    assert statements("The word is:\n\nswordfish") == ["The word is: swordfish"]


def test_code_stays_whole():
    """A block of code is one statement, its lines as they were."""
    assert statements("Run:\n```sh\nmake\n  test\n\nmake all\n```") == [
        "Run: make\n  test\n\nmake all"
    ]


def test_questions_and_courtesies_are_left_out():
    """They would be found before facts."""
    text = "Sure!\n\nBo drinks tea.\n\nDo you want more?\n\nLet me know if you need anything else."
    assert statements(text) == ["Bo drinks tea."]


def test_long_paragraphs_are_cut_at_sentences():
    """Each piece holds whole sentences."""
    sentences = [f"Sentence number {n} says that part {n} is made of oak." for n in range(40)]
    pieces = statements(" ".join(sentences))
    assert len(pieces) > 4
    assert all(piece.endswith("oak.") for piece in pieces)
    assert " ".join(pieces) == " ".join(sentences)


@given(st.text(max_size=3000), st.integers(1, 50))
def test_cut_loses_no_letter(text, limit):
    """The pieces of any text are short and hold every character that is not a space."""
    pieces = cut(text, limit)
    assert all(len(piece) <= limit for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_a_question_does_not_take_with_it_what_was_told():
    """The words before a question, or inside it, are a statement; a mere question has none."""
    before = "The client is Acme, the budget 40k. Shall I write the offer?"
    inside = "Did I tell you that Ana moved to Oslo?"
    assert statements(f"{before}\n\nIs it urgent?\n\n{inside}") == [before, inside]


@given(st.lists(st.sampled_from(["# H", "- item", "lead:", "", "```", "Some words.", "a?", "  x"])))
def test_any_structure(lines):
    """Statements are short, say something and come from the text."""
    text = "\n".join(lines)
    pieces = statements(text)
    for piece in pieces:
        assert piece.strip()
        assert len(piece) <= PIECE
        assert all(word.strip(":") in text for word in piece.split())


@pytest.mark.parametrize("unit", [" ", " #", "# ", "a #"])
def test_a_long_heading_is_read_in_a_moment(unit):
    """Its end is not searched again from each space: 100 kB of them took minutes."""
    assert len(statements("# a" + unit * (100_000 // len(unit)) + "b\nThe mill is old.")) >= 1


def test_the_hashes_that_close_a_heading_are_dropped():
    """A hash at the end of a word belongs to the word."""
    assert statements("## Venue ##\n- large") == ["Venue: large"]
    assert statements("# In C#\n- large") == ["In C#: large"]
