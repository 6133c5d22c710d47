"""Names in a text, and what a question asks about them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.insight import names
from memento.insight.reason import MOST_PHRASES, asked


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Nina Park leads the billing team at Northwind", ("nina park", "northwind")),
        ("The Lord of the Rings is long", ("lord of the rings", "long")),
        ("basketball was created in the country of Canada", ("basketball", "canada")),
        ("Rami is associated with the sport of basketball", ("rami", "basketball")),
        ("Bread and Roses was written by Ada", ("bread and roses", "bread", "roses", "ada")),
        ("the service billing_api calls svc-2", ("billing api", "svc 2")),
        ('we read "the salt road" last week', ("salt road",)),
        ("Ada's brother lives in Turin", ("ada", "turin")),
        ("Yes, thanks. I will do it at 3pm", ()),
        ("", ()),
    ],
)
def test_names_are_found(text, found):
    """Capitalised runs, identifiers, quoted terms, subjects and values."""
    assert names.read(text).names == found


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("Ada was born in Turin", "Ada was born in Lyon", True),
        ("Acme is led by Ada as director", "Acme is led by Bob as director", True),
        ("Ada was born in Turin", "Bob was born in Turin", False),
        ("The office opens at nine", "The office opens at ten", True),
        ("Ada likes tea", "Ada hates tea", False),
    ],
)
def test_like_facts_differ_in_their_last_name_or_value(one, other, alike):
    """Two texts are alike if only the last name or value differs."""
    first, second = names.read(one), names.read(other)
    assert (bool(first.like) and first.like == second.like) is alike


@given(st.text(max_size=300))
def test_any_text_can_be_read(text):
    """No text raises an error; the same text gives the same names, each once and not empty."""
    reading = names.read(text)
    assert reading == names.read(text)
    assert len(set(reading.names)) == len(reading.names)
    assert all(name == names.folded(name) or name for name in reading.names)


@given(st.text(max_size=200), st.sets(st.sampled_from(["ada", "rome", "the office"])))
def test_any_question_can_be_read(question, known):
    """Every name that is found is known, and each phrase of a start has a text."""
    spans = names.asked(question, known)
    assert {span.name for span in spans} <= known
    read = asked(question, spans)
    for start in read.starts:
        assert 1 <= start.size <= MOST_PHRASES
        assert all(place < len(read.texts) for place in start.parts.values())


@pytest.mark.parametrize(
    ("question", "phrases"),
    [
        (
            "What is the city of the head office of the bank of Omar?",
            ["bank", "head office", "city"],
        ),
        ("In which data centre does Omar run?", ["run", "data centre"]),
        ("What is Omar's employer's city?", ["employer", "city"]),
        ("Where did the mentor of Omar grow up?", ["mentor", "grow"]),
        ("Who is Omar?", [""]),
    ],
)
def test_phrases_go_outwards_from_the_name(question, phrases):
    """The phrase beside the name comes first."""
    read = asked(question, names.asked(question, {"omar"}))
    (start,) = read.starts
    found = [read.texts[start.parts[at, at + 1]] for at in range(start.size)]
    assert found == ([question] if phrases == [""] else phrases)


def test_a_word_in_small_letters_is_a_name_only_if_there_is_no_other():
    """The index has the word sport, but the question names Rami."""
    known = {"rami", "sport"}
    assert [span.name for span in names.asked("which sport does Rami play?", known)] == ["rami"]
    assert [span.name for span in names.asked("who invented that sport?", known)] == ["sport"]
