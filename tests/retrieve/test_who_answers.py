"""The choice between Chroma and exact search, and its reasons."""

from pathlib import Path

import pytest

from memento.config import LongIndex
from memento.retrieve.vector_search import CHROMA_FROM, who_answers
from memento.tiers.long_tier import LongState

BIG = CHROMA_FROM
AUTO, CHROMA, EXACT = LongIndex
COLD, READY, ASIDE = LongState


@pytest.mark.parametrize(
    ("setting", "vectors", "allowed", "state", "lacking", "expected"),
    [
        (AUTO, BIG, None, READY, 0, (True, "Chroma has the vectors")),
        (AUTO, BIG, None, READY, BIG // 2, (True, "Chroma has the vectors")),
        (AUTO, BIG, BIG // 4, READY, 0, (True, "Chroma has the vectors")),
        (AUTO, 10 * BIG, None, READY, BIG, (True, "Chroma has the vectors")),
        (CHROMA, 1, None, READY, 0, (True, "Chroma has the vectors")),
        (AUTO, BIG - 1, None, READY, 0, (False, "fewer than 12000 vectors")),
        (AUTO, BIG, BIG // 4 - 1, READY, 0, (False, "the filters match fewer than one in 4")),
        (CHROMA, 8, 1, READY, 0, (False, "the filters match fewer than one in 4")),
        (AUTO, BIG, None, COLD, 0, (False, "Chroma is cold in this process")),
        (CHROMA, 8, None, ASIDE, 0, (False, "Chroma is aside in this process")),
        (AUTO, BIG, None, READY, BIG // 2 + 1, (False, "Chroma is missing more than one in 2")),
        (EXACT, BIG, None, READY, 0, (False, "exact search was requested")),
    ],
)
def test_who_answers_and_why(setting, vectors, allowed, state, lacking, expected):
    """Chroma does if the namespace is large, it has the vectors, and no filter is narrow."""
    found = who_answers(setting, vectors=vectors, allowed=allowed, chroma=lambda: (state, lacking))
    assert found == expected


@pytest.mark.parametrize(
    ("setting", "vectors", "allowed"),
    [(EXACT, BIG, None), (AUTO, BIG - 1, None), (AUTO, BIG, 1), (CHROMA, 8, 1)],
)
def test_chroma_is_looked_at_only_where_that_decides(setting, vectors, allowed):
    """Its state costs a look at the backlog, and may load it."""

    def look():
        raise AssertionError("Chroma was looked at")

    who_answers(setting, vectors=vectors, allowed=allowed, chroma=look)


def test_the_documentation_has_the_number():
    """On the page about large stores."""
    page = Path(__file__).parents[2] / "docs" / "how-to" / "large-stores.md"
    assert f"of fewer than {BIG:,} vectors" in page.read_text(encoding="utf-8")
