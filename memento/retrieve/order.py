"""Order candidates by score, then correct by rules the errors that the scores alone make. Pure.

`RULES` lists all that changes the order of a batch of candidates, in the order applied. After them,
memories that say the same become one hit, and a list question has its tail reordered.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memento.retrieve.candidates import Candidate, Rule, Said, in_places, promoted
from memento.retrieve.columns import KINDS, Snapshot
from memento.retrieve.context import Look
from memento.retrieve.newer import Newer
from memento.retrieve.standings import Quoted, Standings
from memento.text.alike import shared_start
from memento.text.sentences import has_verb, holds_role
from memento.text.words import STOP_WORDS, words
from memento.types import Kind

T = TypeVar("T")

_FRAME = 0.5  # share of common words in two statements that differ only in their object
_FRAME_WORDS = 2
_NEAR, _DEPTH = 0.4, 8
"""Share of a statement's score that the one that changed it needs to be placed before it, and how
many best candidates are compared."""
_LOOKED_FOR = ("exact", "calendar", "said_date", "speaker", "form")
"""Evidence of which it needs at least as much."""
_ASKED = ("exact", "calendar", "said_date", "speaker", "when", "digit")  # what a query asks for


Settled = Callable[[int, int], bool]
"""Returns whether a person settled a pair of rows or judged one: then age does not matter."""


class Answer:
    """The candidates in the answer, best first. New ones are appended; places never change."""

    def __init__(self, look: Look) -> None:
        self.hits: list[Candidate] = []
        self._look = look
        self._rules = [rule for *_, of in RULES if (rule := of(look)) is not None]
        self._said: dict[int, Said] = {}

    def take(self, best: Sequence[Candidate], said: Mapping[int, Said]) -> None:
        """Add the next best candidates after all others."""
        self._said |= said
        ready = by_score(best)
        for rule in self._rules:
            ready = rule(ready, self._said)
        self.hits += ready
        if self._look.request.fold:
            self.hits = fold(self.hits, self._said)


def by_score(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Sort by score, then by what uses and verdicts add; among equals the newest first."""
    return sorted(candidates, key=lambda one: (-one.score, -one.pull, -one.row))


def newest_first(
    ranked: Sequence[Candidate], said: Mapping[int, Said], settled: Settled | None = None
) -> list[Candidate]:
    """If two statements differ only in their object, give the newer one the higher place.

    This applies only if the same participant said both and nothing in the query favours the older
    one: the newer has every word of the query, every date and every identifier that the older has.
    The kind of thing asked for ("which editor ...") does not matter here: the newer statement often
    names the new thing without it. Verdicts on either decide instead, if there are any.
    """
    framed = _framed(ranked, said)
    if not framed:
        return list(ranked)

    def goes_first(newer: Candidate, older: Candidate) -> bool:
        near = newer.row >= older.row and newer.row in framed and _replaces(newer, older, said)
        return near and not (settled is not None and settled(newer.row, older.row))

    return in_places(promoted(ranked, framed, goes_first, noted=True), ranked)


def fold(ranked: Sequence[Candidate], said: Mapping[int, Said]) -> list[Candidate]:
    """Merge candidates that say the same into the one with the best place, see `gist`."""
    kept: dict[tuple[int, str, str | None], Candidate] = {}
    ends = [(one.actor, said[one.row].ending) for one in ranked]
    shared = _repeated(ends)
    if not shared:
        return list(ranked)
    for one, end in zip(ranked, ends, strict=True):
        key = (*end, said[one.row].gist if end in shared else None)  # a gist costs more
        if key in kept:
            stands = kept[key]
            kept[key] = replace(stands, folded=(*stands.folded, one.row))
        else:
            kept[key] = one
    return list(kept.values())


def _replaces(newer: Candidate, older: Candidate, said: Mapping[int, Said]) -> bool:
    before, after = said[older.row].words, said[newer.row].words
    if before[0] != after[0] and before[-1] != after[-1]:
        return False  # nearly always, so this comes first
    if newer.actor != older.actor or older.matched & ~newer.matched:
        return False
    if newer.judged or older.judged or not _same_frame(before, after):
        return False
    return all(newer.terms.get(name, 0) >= older.terms.get(name, 0) for name in _ASKED)


def _framed(ranked: Sequence[Candidate], said: Mapping[int, Said]) -> set[int]:
    """Return the rows of statements that share their first or last word with another one."""
    spoken = [(one.row, said[one.row].words) for one in ranked if not one.question]
    spoken = [(row, says) for row, says in spoken if says]
    first = _repeated([says[0] for _, says in spoken])
    last = _repeated([says[-1] for _, says in spoken])
    return {row for row, says in spoken if says[0] in first or says[-1] in last}


def _repeated(values: Sequence[T]) -> set[T]:
    """Return the values that occur more than once; a Counter costs four times as much."""
    seen: set[T] = set()
    again: set[T] = set()
    for value in values:
        (again if value in seen else seen).add(value)
    return again


def _same_frame(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two statements are the same up to one span of words, and that is their object.

    Both have words.

    A span with a verb, or before the verb, is no object: the statements are about different things.
    Exception: the holder of a role that one holds at a time ("... is the CEO of Juniper").
    """
    longest, shortest = max(len(one), len(other)), min(len(one), len(other))
    start = shared_start(one, other)
    end = min(shared_start(one[::-1], other[::-1]), shortest - start)
    if start + end < max(_FRAME_WORDS, math.ceil(longest * _FRAME)):
        return False
    spans = (one[start : len(one) - end], other[start : len(other) - end])
    after = one[len(one) - end :]
    if start == 0:
        return holds_role(after)
    if any(map(has_verb, spans)):
        return False
    return has_verb(one[:start]) or not has_verb(after)


_ARTICLE = KINDS[Kind.ARTICLE]


class Quotes:
    """Keeps articles and their sources apart, for one query.

    ``leads`` tells whether an article comes before its sources.
    """

    def __init__(self, snap: Snapshot, quoted: Quoted, *, leads: bool) -> None:
        self._snap, self._quoted, self._leads = snap, quoted, leads
        self._above: set[int] = set()
        self._gone: set[int] = set()

    def first(self, ranked: Sequence[Candidate], _said: Mapping[int, Said]) -> list[Candidate]:
        """Leave out the sources of articles that stand for them, and the other articles."""
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
    """Return an article with the score and at least the confidence of its best source."""
    one = ranked[article]
    surer = max((one, best), key=lambda candidate: candidate.confidence)
    return replace(
        one,
        score=best.score,
        confidence=surer.confidence,
        signs=surer.signs,
        folded=(*one.folded, *sorted(sources.intersection(ranked))),
    )


HEAD = 10
"""Hits that keep their places."""
POOL = 200
"""Candidates among which the tail is ordered; those after them keep their places."""
MOST_ROWS = 20
"""Maximum number of candidates that have a rare word."""
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
    """Return candidates with the tail reordered by score and shared rare words.

    The scores stay with the places, so that they do not increase along the answer.
    """
    pool = ranked[:POOL]
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
    return in_places([*head, *(tail[at] for at in places)], ranked)


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


def _quotes(look: Look) -> Rule | None:
    if look.quoted is None or not look.request.fold:
        return None
    return Quotes(look.snap, look.quoted, leads=look.query.wants_several).first


def _newest(look: Look) -> Rule | None:
    if look.query.only_time or look.query.former is not None:
        return None
    if look.links is None:
        return newest_first
    docid, known = look.snap.docid, look.links.known
    return partial(newest_first, settled=lambda a, b: known(int(docid[a]), int(docid[b])))


def _newer(look: Look) -> Rule | None:
    query = look.query
    if look.meaning is None or query.only_time:
        return None
    changes = Newer(look.snap, look.meaning, look.texts.read)
    return changes.first if query.former is None else changes.last


def _changed(look: Look) -> Rule | None:
    changes, query = look.changes, look.query
    if not len(changes.former) or query.only_time:
        return None
    pairs = set(zip(changes.former.tolist(), changes.heir.tolist(), strict=True))
    past = query.former is not None
    if past:  # the older one is asked for
        pairs = {(newer, older) for older, newer in pairs}

    def goes_first(wanted: Candidate, other: Candidate) -> bool:
        if wanted.judged or other.judged:  # verdicts outweigh what a model reads
            return False
        near = (other.row, wanted.row) in pairs and wanted.score >= _NEAR * other.score
        return near and all(
            wanted.terms.get(name, 0) >= other.terms.get(name, 0) for name in _LOOKED_FOR
        )

    def first(ranked: Sequence[Candidate], _said: Mapping[int, Said]) -> list[Candidate]:
        may_yield = {row for row, _ in pairs}
        best = promoted(ranked[:_DEPTH], may_yield, goes_first, noted=not past)
        return in_places(best, ranked)

    return first


def _conflicts(look: Look) -> Rule | None:
    query, links = look.query, look.links
    if links is None or not links.linked.any_flagged or query.only_time or query.former is not None:
        return None
    return Standings(look.snap, links.opposed).first


RULES: tuple[tuple[str, str, Callable[[Look], Rule | None]], ...] = (
    ("an article stands for what it quotes", "shows nothing twice; finds no more", _quotes),
    (
        "of two statements that differ in their object, the newer one first",
        "own.py: of 200 corrections all are first, without it 70.5 %",
        _newest,
    ),
    (
        "of two statements about the same thing the newer one first, or the older for the past",
        "changes.py: 109 of 177 changes are seen, by the rules before it 38",
        _newer,
    ),
    (
        "what the reader of changes noted to change an earlier statement first",
        "changes.py --pairs: of 151 changes the newer one is first for 98, before it for 43",
        _changed,
    ),
    (
        "of two that conflict, the one that stands higher first",
        "changes.py: 109 either way; it keeps what was doubted from leading",
        _conflicts,
    ),
)
"""The rules for the order of candidates: what each does, its measured gain, and a function that
returns it for a question, or None if it does not apply."""
