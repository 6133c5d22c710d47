"""Messages that point back to the turns before them, and such that do not."""

from __future__ import annotations

import pytest

from memento.language.leaning import leans

POINTING = [
    "and how long is it?",
    "why did they stop?",
    "why that one",
    "THEIR names?",
    "why?",
    "so?",
]
NAMING = ["And Lena's?", "When is Omar's birthday?", "what about the hit list", "the oneness",
          "Bob told me of the harp they repaired for them last summer, who has it?"]  # fmt: skip


@pytest.mark.parametrize("text", POINTING)
def test_points_back(text):
    """A pronoun of a third person, or no word that says anything."""
    assert leans(text)


@pytest.mark.parametrize("text", NAMING)
def test_names_its_subject(text):
    """A name, a noun, or a message that is long enough to say what its pronouns mean."""
    assert not leans(text)
