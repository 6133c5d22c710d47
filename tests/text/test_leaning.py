"""Messages that point back to the turns before them, and such that do not."""

from __future__ import annotations

import pytest

from memento.conversation.recalling import leans, names_nothing

POINTING = [
    "and how long is it?",
    "why did they stop?",
    "why that one",
    "THEIR names?",
    "why?",
    "so?",
]
GOING_ON = ["And Lena's?", "and 62?", "what about the hit list", "How about Oslo?", "but the boat?"]
NAMING = ["When is Omar's birthday?", "show the hit list", "the oneness", "And when is Easter?",
          "And Lena told me that the old harp of her aunt is sold",
          "Bob told me of the harp they repaired for them last summer, who has it?"]  # fmt: skip


@pytest.mark.parametrize("text", POINTING + GOING_ON)
def test_points_back(text):
    """A pronoun of a third person, no word that says anything, or another thing in its place."""
    assert leans(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("where is it this time?", True), ("why?", True), ("and the rope?", False), ("Bob?", False)],
)
def test_names_nothing(text, expected):
    """Pronouns, question words and empty words look for nothing; a noun or a name does."""
    assert names_nothing(text) is expected


@pytest.mark.parametrize("text", NAMING)
def test_names_its_subject(text):
    """A name, a noun, or a message that is long enough to say what its pronouns mean."""
    assert not leans(text)
