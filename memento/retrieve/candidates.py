"""The candidates of an answer and their content, which the rules of their order read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from memento.text.gist import ending, gist
from memento.text.words import words

_COMPARED = 400  # characters; statements that differ only in their object are short


@dataclass(slots=True)
class Candidate:
    """A memory that may become a hit. Nothing changes one; freezing each takes 2 µs more.

    Attributes:
        row: Its row in the roster.
        score: [0, 1].
        confidence: [0, 1].
        terms: Piece of evidence to its contribution; ``exact`` is the value of a match by
            name or by exact text, see `evidence.lift`.
        matched: Bit i is set if the memory itself has term i of the query, and that term is not
            the kind of thing asked for.
        actor: Code of the speaker, or -1.
        question: Whether it only asks, and so answers nothing.
        signs: Numbers that give the confidence; see `judging.Signs`.
        folded: Rows of near-identical memories that it stands for.
        newer: Row of a newer statement about the same thing, or -1.
        pull: Decides between equal scores; 0 if no use and no verdict moved any candidate.
        opposed: Rows of statements that conflict with it.
    """

    row: int
    score: float
    confidence: float
    terms: Mapping[str, float]
    matched: int
    actor: int
    question: bool
    signs: Mapping[str, float] = field(default_factory=dict)
    folded: tuple[int, ...] = ()
    newer: int = -1
    pull: float = 0.0
    opposed: tuple[int, ...] = ()

    @property
    def judged(self) -> bool:
        """Whether a verdict on it contributes to its score."""
        return bool(self.terms.get("belief") or self.terms.get("worth"))


class Said:
    """The content of a candidate, for comparison with others.

    Attributes:
        words: Its words; empty for a long text, which is equal only to the same text.
        ending: Its last word, see `gist.ending`.
    """

    def __init__(self, text: str, words: tuple[str, ...], ending: str) -> None:
        self._text, self.words, self.ending = text, words, ending

    @cached_property
    def gist(self) -> str:
        """Its content, read when it is needed; equal gists say the same."""
        return gist(self._text) if len(self._text) <= _COMPARED else self._text


def said(texts: Mapping[int, str], rows: Sequence[int]) -> dict[int, Said]:
    """Return what some rows say."""
    split = {row: tuple(words(texts[row])) if len(texts[row]) <= _COMPARED else () for row in rows}
    ends = {row: ending(texts[row]) for row in rows}
    return {row: Said(texts[row], split[row], ends[row]) for row in rows}


Rule = Callable[[Sequence[Candidate], Mapping[int, Said]], list[Candidate]]
"""Changes the order of candidates, best first, by what they say; the scores stay with the places.
"""


def promoted(
    ranked: Sequence[Candidate],
    may_yield: Collection[int],
    goes_first: Callable[[Candidate, Candidate], bool],
    *,
    noted: bool = False,
    newest: bool = True,
) -> list[Candidate]:
    """Move lower candidates to the places of those that should come after them.

    Args:
        ranked: Candidates, best first.
        may_yield: Rows that may lose their place to another one.
        goes_first: Called with a candidate and a better placed one that may yield; whether the
            candidate takes its place.
        noted: Whether the one that yields names the other one as ``newer``.
        newest: Whether the newest of several moves, rather than the best.

    Returns:
        The candidates with their own scores, see `in_places`.
    """
    order = list(ranked)
    for at in range(len(order)):
        better = order[at]
        if better.row not in may_yield:
            continue
        rivals = [n for n in range(at + 1, len(order)) if goes_first(order[n], better)]
        if rivals:
            chosen = max(rivals, key=lambda n: order[n].row) if newest else rivals[0]
            order.insert(at, order.pop(chosen))
            if noted:
                order[at + 1] = replace(better, newer=order[at].row)
    return order


def in_places(moved: Sequence[Candidate], ranked: Sequence[Candidate]) -> list[Candidate]:
    """Give the first candidates, in their new order, the scores of their new places."""
    placed = [
        one if one.score == place.score else replace(one, score=place.score)
        for one, place in zip(moved, ranked, strict=False)
    ]
    return placed + list(ranked[len(moved) :])
