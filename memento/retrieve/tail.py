"""Order the tail of a list question by the rare words that memories share. Pure.

A question that wants several memories ("which books did Ada read?") often finds some of them by its
own words, and the others share rarer words with those. The first ten hits stay as they are. Behind
them, each candidate gains by what reaches it from these ten over shared rare words: a random walk
with restart on the graph of memories and words.

Source: Haveliwala, Topic-Sensitive PageRank, WWW 2002. On public dialogues two steps over words in
at most 20 of 200 candidates put all memories of a list among 50 hits 5 points more often; the same
graph before the tenth hit, or over nearest vectors or neighbouring turns, finds no more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memento.language.words import STOP_WORDS, words
from memento.retrieve.rank import Candidate

HEAD = 10
"""Hits that keep their places."""
POOL = 200
"""Candidates among which the tail is ordered; those after them keep their places."""
MOST_ROWS = 20
"""Most candidates that have a rare word."""
WEIGHT = 0.8
"""Weight of the walk beside the score, both relative to their largest value."""
_RESTART = 0.5
_STEPS = 2
_LETTERS = 4  # fewest letters of a word
_SAME_SPEAKER = 1.5  # weight of a link between texts of one speaker
_CHARACTERS = 2_000  # characters of a text that are read
_LEAST = 1e-12  # instead of a division by zero

Table = NDArray[np.float64]


def reorder(ranked: Sequence[Candidate], texts: Mapping[int, str]) -> list[Candidate]:
    """Return candidates with the tail in the order of score and shared rare words.

    The scores stay with the places, so that they do not increase along the answer.

    Args:
        ranked: Candidates, best first.
        texts: Row to text, for the first ``POOL`` of them.
    """
    pool, rest = ranked[:POOL], ranked[POOL:]
    if len(pool) <= HEAD + 1:
        return list(ranked)
    head, tail = pool[:HEAD], pool[HEAD:]
    speakers = np.array([one.actor for one in pool])
    links = _shared([texts[one.row] for one in pool])
    links *= np.where(speakers[:, None] == speakers, _SAME_SPEAKER, 1.0)
    reached = _walk(links / np.maximum(links.sum(axis=1, keepdims=True), _LEAST))[HEAD:]
    scores = np.array([one.score for one in tail])
    gain = scores / max(pool[0].score, _LEAST) + WEIGHT * reached / max(reached.max(), _LEAST)
    places = np.argsort(-gain, kind="stable").tolist()  # equal ones keep their order
    placed = [
        tail[at] if tail[at].score == place.score else replace(tail[at], score=place.score)
        for at, place in zip(places, tail, strict=True)
    ]
    return [*head, *placed, *rest]


def _shared(texts: Sequence[str]) -> Table:
    """Return how strongly rare words lead from each text to each other one, (n, n)."""
    rows: dict[str, list[int]] = defaultdict(list)
    for row, text in enumerate(texts):
        said = {_stem(one) for one in words(text[:_CHARACTERS]) if one not in STOP_WORDS}
        for stem in said:
            if len(stem) >= _LETTERS:
                rows[stem].append(row)
    rare = [found for found in rows.values() if 1 < len(found) <= MOST_ROWS]
    has = np.zeros((len(texts), len(rare)))
    for column, found in enumerate(rare):
        has[found, column] = 1.0
    count = has.sum(axis=0)
    links: Table = (has / (count * (count - 1))) @ has.T
    np.fill_diagonal(links, 0.0)
    return links


def _stem(word: str) -> str:
    """Drop the commonest endings of English from a long word."""
    length = len(word)
    if word[-1] == "s" and length > _LETTERS and word[-2] != "s":
        return word[:-1]
    if length > _LETTERS + 1 and word[-2:] == "ed":
        return word[:-2]
    return word[:-3] if length > _LETTERS + 2 and word[-3:] == "ing" else word


def _walk(links: Table) -> Table:
    """Return how often a walk from the head is at each text, (n,)."""
    start = np.zeros(len(links))
    start[:HEAD] = 1.0 / np.arange(1, HEAD + 1)
    start /= start.sum()
    walk = start
    for _ in range(_STEPS):
        walk = (1 - _RESTART) * (walk @ links) + _RESTART * start
    return walk
