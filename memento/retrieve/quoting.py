"""An article and what it quotes are never both in an answer: one of them stands for the rest.

A source comes before an article that quotes it. Where a question wants several memories, the
article leads, in the best place of them all, and stands for its sources.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from memento.retrieve.rank import Candidate, Said
from memento.retrieve.roster import KINDS, Snapshot
from memento.types import Kind

_ARTICLE = KINDS[Kind.ARTICLE]

Quoted: TypeAlias = Callable[[Sequence[int]], Sequence[tuple[int, int]]]
"""Returns the pairs (article, memory that it quotes) of some memories, by row id."""


class Quotes:
    """Keeps articles and their sources apart, for one query.

    Args:
        snap: The namespace.
        quoted: Finds the sources of articles.
        leads: Whether an article comes before its sources.
    """

    def __init__(self, snap: Snapshot, quoted: Quoted, *, leads: bool) -> None:
        self._snap, self._quoted, self._leads = snap, quoted, leads
        self._above: set[int] = set()
        self._gone: set[int] = set()

    def first(self, ranked: Sequence[Candidate], _said: Mapping[int, Said]) -> list[Candidate]:
        """Leave out the sources of articles that stand for them, and the other articles.

        The scores stay with the places.

        Args:
            ranked: Candidates, best first, after those of earlier calls.
        """
        sources = self._sources([one.row for one in ranked])
        kept = list(ranked)
        if sources or self._gone:
            kept = self._placed({one.row: one for one in ranked}, sources)
        self._above.update(one.row for one in kept)
        return kept

    def _placed(
        self, ranked: Mapping[int, Candidate], sources: Mapping[int, set[int]]
    ) -> list[Candidate]:
        """Put each article that stands for its sources into the best of their places."""
        stands = self._chosen(ranked, sources)
        leader = {row: article for article, mine in stands.items() for row in (article, *mine)}
        kept: dict[int, Candidate] = {}
        for row, one in ranked.items():
            article = leader.get(row)
            if article is None:
                if row not in sources and row not in self._gone:
                    kept[row] = one
            elif article not in kept:
                kept[article] = _standing_for(ranked, article, stands[article], one)
        return list(kept.values())

    def _chosen(
        self, there: Collection[int], sources: Mapping[int, set[int]]
    ) -> dict[int, set[int]]:
        """Choose the articles that stand for their sources."""
        rivals = self._above if self._leads else self._above.union(there)
        stands: dict[int, set[int]] = {}
        for article, mine in sources.items():
            if mine.isdisjoint(rivals) and mine.isdisjoint(self._gone):
                stands[article] = mine
                self._gone |= mine
        return stands

    def _sources(self, rows: Sequence[int]) -> dict[int, set[int]]:
        """Return for each row of an article the rows of its sources."""
        kinds = self._snap.kind[rows].tolist() if rows else ()
        articles = [row for row, kind in zip(rows, kinds, strict=True) if kind == _ARTICLE]
        if not articles:
            return {}
        docids = [int(self._snap.docid[row]) for row in articles]
        found: dict[int, set[int]] = {}
        for src, dst in self._quoted(docids):
            at, source = (self._snap.rows_of(np.array([one], np.int64)) for one in (src, dst))
            if len(at) and len(source):
                found.setdefault(int(at[0]), set()).add(int(source[0]))
        return found


def _standing_for(
    ranked: Mapping[int, Candidate], article: int, sources: set[int], best: Candidate
) -> Candidate:
    """Return an article with the score of its best source, as sure as that one is."""
    one = ranked[article]
    surer = max((one, best), key=lambda candidate: candidate.confidence)
    return replace(
        one,
        score=best.score,
        confidence=surer.confidence,
        signs=surer.signs,
        folded=(*one.folded, *sorted(sources.intersection(ranked))),
    )
