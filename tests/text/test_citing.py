"""Which texts an answer rests on."""

from __future__ import annotations

import pytest

from memento.write.verdicts import cited


@pytest.mark.parametrize(
    ("question", "answer", "texts", "expected"),
    [
        ("Where is the key?", "Under the blue pot.", ["The key is under the blue pot"], [True]),
        ("Where is the key?", "I do not know where it is.", ["The key is under the pot"], [False]),
        # one word is enough if it is a number, an identifier or a name
        ("What is the port?", "8443", ["The port is 8443"], [True]),
        ("Who owns it?", "It is Paula.", ["The owner is Paula"], [True]),
        ("Which ticket?", "See ABC-77 for that.", ["Filed as ABC-77"], [True]),
        ("What is it like?", "It is green.", ["A green one"], [False]),
        # words of the question cite no text
        ("Is the blue pot old?", "The blue pot is old.", ["The blue pot is new"], [False]),
        # of two texts only the one with the words of the answer
        (
            "Where does Ada work?",
            "She works at the harbour museum.",
            ["Ada works at the harbour museum", "Ada works on engines in Turin"],
            [True, False],
        ),
        # words that more than three texts have cite no text
        ("Which?", "A copper kettle.", ["A copper kettle"] * 4, [False] * 4),
        ("Which?", "A copper kettle.", ["A copper kettle"] * 3, [True] * 3),
        # half of its own words
        ("And?", "a copper kettle with a dent", ["copper lid handle spout and hinge"], [False]),
        # half of a clause of the answer, of a text that says more
        (
            "And?",
            "Since May it is at the smith, a copper kettle. Shall I call?",
            ["copper kettle lid handle spout hinge", "lid and spout"],
            [True, False],
        ),
        # a word of the answer alone cites the only text that has this number, identifier or name
        ("Code?", "It is 4419.", ["The gate on Mill Lane has the code 4419"], [True]),
        (
            "Code?",
            "It is 4419.",
            ["Gate on Mill Lane, 4419", "Barn on Elm Hill, 4419"],
            [False] * 2,
        ),
        ("And?", "a copper kettle", ["copper kettle lid handle"], [True]),
        ("", "", ["anything"], [False]),
        ("", "", [], []),
        ("鍵は?", "青い鉢の下です", ["鍵は青い鉢の下"], [True]),
    ],
)
def test_what_an_answer_rests_on(question, answer, texts, expected):
    """By the words that are a text's own."""
    assert cited(question, answer, texts) == expected
