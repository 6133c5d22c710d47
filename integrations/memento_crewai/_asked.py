"""Questions that users asked before, and their places among the hits. Pure.

A question looks more like the next question than the fact that answers it, but people
also tell facts in questions: a text that only asks is kept as a question and comes last.
"""

from __future__ import annotations

from collections.abc import Sequence

from memento import Hit, Kind
from memento.language.questions import beyond, merely_asks
from memento.language.statements import QUESTION_MARKS

TELLING = tuple(kind.value for kind in Kind if kind is not Kind.QUESTION)
"""The kinds whose memories answer."""
PLACES = 4
"""One place in so many is for earlier questions."""
LOOK = 50
"""Former questions looked through for one that tells something; the nearest merely ask again."""


def kind_of(text: str) -> Kind:
    """Tell a mere question from what says something, if only in one word after it.

    >>> kind_of("Who is the client?").value, kind_of("What is the budget? 42").value
    ('question', 'fact')
    """
    asks = text.rstrip().endswith(QUESTION_MARKS) and merely_asks(text)
    return Kind.QUESTION if asks else Kind.FACT


def best(told: Sequence[Hit], before: Sequence[Hit], query: str, limit: int) -> list[Hit]:
    """Put what answers first, then former questions that say more than the query.

    Args:
        told: What answers, best first.
        before: What merely asked.
        query: What is looked for.
        limit: Most hits, >= 1.
    """
    news = {hit.id: hit.score * beyond(hit.text, query) for hit in before}
    asking = [hit for hit in before if news[hit.id] > 0]
    asking.sort(key=lambda hit: news[hit.id], reverse=True)
    first = list(told[: limit - min(limit // PLACES, len(asking))])
    return [*first, *asking[: limit - len(first)]]
