"""Find the memories that are relevant to a query: the whole read path in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self, TypeVar

import numpy as np

from memento.retrieve import evidence, judging, order
from memento.retrieve.by_meaning import WIDER
from memento.retrieve.by_name import asks_no_more
from memento.retrieve.columns import KINDS, Mask, RosterView, Rows
from memento.retrieve.context import Look
from memento.retrieve.gather import Gathered, gather, in_order
from memento.retrieve.judging import Judged, judge
from memento.retrieve.order import Candidate, said
from memento.retrieve.passage import excerpt, passage
from memento.text.chatter import is_acknowledgement
from memento.types import Kind

ARM = 200
"""Candidates that each search proposes at first. 30 loses 3 points of any@10 on BEAM 500K, 400
gains none."""
CAP = 2_000
"""Maximum number of rows read for one word. For a more frequent word, only the rows that also have
a rarer word of the query are read, or else the newest rows."""

T = TypeVar("T")


def within(ranked: Sequence[T], k: int, tokens: int | None, cost: Callable[[T], int]) -> list[T]:
    """Take at most k hits in their order, skipping those that no longer fit into a token budget.

    >>> within(["aaa", "bb", "c"], 3, 4, len)
    ['aaa', 'c']
    """
    if tokens is None:
        return list(ranked[:k])
    kept: list[T] = []
    for hit in ranked:
        if len(kept) == k:
            break
        if (price := cost(hit)) <= tokens:
            tokens -= price
            kept.append(hit)
    return kept


_SURE = 10  # hits that give the confidence of the whole answer
_EPISODE = KINDS[Kind.EPISODE]
_FEW_WORDS = 24  # maximum, with speaker and tags, of a turn that may only acknowledge
_MARKS = 8  # characters of English that cost as many tokens as both marks of a passage


@dataclass(slots=True)
class Found:
    """One memory found. Nothing changes one; freezing each takes 2 µs more.

    Attributes:
        docid: Its row id.
        score: [0, 1], not increasing along the answer.
        confidence: Estimated chance that it is relevant to the query, [0, 1].
        terms: Piece of evidence to its contribution; for ``exact`` see `order.Candidate`.
        ranks: Search (``text``, ``meaning``, ``time``, ``name``, ``exact``, ``slot``) to its rank,
            >= 1.
        folded: Row ids of near-identical memories that it stands for.
        passage: The relevant part of a long text, if only this part was counted, or None.
        signs: Numbers that give the confidence; see `judging.Signs`.
        newer: Row id of a newer statement about the same thing, or None.
        opposed: Row ids of statements that conflict with it.
    """

    docid: int
    score: float
    confidence: float
    terms: Mapping[str, float]
    ranks: Mapping[str, int]
    folded: tuple[int, ...]
    passage: str | None = None
    signs: Mapping[str, float] = field(default_factory=dict)
    newer: int | None = None
    opposed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer of `find`.

    Attributes:
        found: Best first.
        confidence: Estimated chance that the answer is among them, [0, 1]; 0 without hits.
        weighed: Whether evidence gives the order, so that feedback can adjust its weights.
        docids: Row ids of all memories that the answer names: found, folded, conflicting, newer.
    """

    found: tuple[Found, ...] = ()
    confidence: float = 0.0
    weighed: bool = True
    docids: tuple[int, ...] = ()

    @classmethod
    def of(cls, found: Sequence[Found], confidence: float, *, weighed: bool) -> Self:
        """Make the answer that has some memories."""
        docids = [
            docid
            for one in found
            for docid in (one.docid, *one.folded, *one.opposed, one.newer)
            if docid
        ]
        return cls(tuple(found), confidence, weighed, tuple(docids))


def find(look: Look) -> Ranking:
    """Find the memories of one namespace that are relevant to a question.

    The same question gives the same answer. The hits of a smaller ``k`` are the first ones of a
    larger one.
    """
    request, query = look.request, look.query
    if look.empty:
        return Ranking()
    room = _Room(look)
    answer, ranks = _collect(look, room)
    hits = room.choose(room.with_tail(answer))
    chance = _sure(hits, look)
    if not look.called and (share := query.share) < 1.0:
        hits = [replace(one, confidence=share * one.confidence) for one in hits]
        chance *= share
    if chance < request.min_confidence:
        return Ranking()
    found = [_found(one, look.snap, ranks, room.passages.get(one.row)) for one in hits]
    return Ranking.of(found, chance, weighed=not query.only_time and query.former is None)


def _sure(hits: Sequence[Candidate], look: Look) -> float:
    """Estimate the chance that an answer is among the hits: at least that of the best hit.

    Turns that only ask a question do not count.
    """
    hits = [one for one in hits if not one.question][:_SURE]
    if not hits:
        return 0.0
    chance = judging.of_answer([one.signs for one in hits])
    best = max(one.confidence for one in hits)
    if "cosine" in hits[0].signs:  # by words alone this is no better
        chance = judging.of_both(chance, best)
        if look.snap.session[hits[0].row] < 0 and look.query.of_oneself:
            chance = judging.surer(chance, judging.ONESELF)
    return max(best, chance)


class _Room:
    """The limits of an answer: number of hits, least score and number of tokens.

    Attributes:
        passages: Row to the passage that is shown instead of a long text.
    """

    def __init__(self, look: Look) -> None:
        request, query, config = look.request, look.query, look.config
        self._look, self._request, self._tokens = look, request, request.tokens
        several = query.wants_several
        usual = config.many if several else config.few
        self._k = usual if request.k is None else request.k
        self._brief = several and config.passage is not None
        whole = request.filters.as_of is not None  # a passage is a part of the present text
        self._room = None if whole else config.passage if self._brief else config.long
        self._prices: dict[int, int] = {}
        self._has_tail = self._k > order.HEAD and several and not query.only_time
        self.passages: dict[int, str] = {}

    def _cut_off(self, ranked: Sequence[Candidate]) -> list[Candidate]:
        """Drop candidates below a score, or below a share of the best score."""
        best = max((one.score for one in ranked), default=0.0)
        bar = max(self._request.min_score, self._request.cutoff * best)
        return [one for one in ranked if one.score >= bar]

    def with_tail(self, ranked: Sequence[Candidate]) -> list[Candidate]:
        """Reorder the tail if the question wants a list; see `order.reorder`."""
        if not self._has_tail:
            return list(ranked)
        good = self._cut_off(ranked)
        texts = self._look.texts.read([one.row for one in good[: order.POOL]])
        return order.reorder(good, texts)

    def choose(self, ranked: Sequence[Candidate]) -> list[Candidate]:
        """Choose the hits among candidates that are given best first."""
        good = self._cut_off(ranked)
        return within(good, self._k, self._tokens, self._price)

    def full(self, ranked: Sequence[Candidate]) -> bool:
        """Return whether no candidate after these could become a hit.

        A token budget is spent if no candidate fits into the rest of it, after as many were tried
        as one search proposes.
        """
        if len(self._cut_off(ranked)) < len(ranked):
            return True
        if self._has_tail and len(ranked) < order.POOL:
            return False  # the tail must not depend on the limits
        chosen = self.choose(ranked)
        if len(chosen) >= self._k:
            return True
        if self._tokens is None or len(ranked) < ARM:
            return False
        left = self._tokens - sum(self._price(one) for one in chosen)
        return left < min(self._prices.values())

    def _price(self, one: Candidate) -> int:
        if one.row not in self._prices:
            text = self._look.texts.read([one.row])[one.row]
            if self._room is None or len(text) <= self._room:
                price = self._request.count_tokens(text)
            else:
                self.passages[one.row], price = self._cut(text, self._room)
            self._prices[one.row] = price
        return self._prices[one.row]

    def _cut(self, text: str, room: int) -> tuple[str, int]:
        """Return the relevant passage of a long text, within the whole budget, and its price."""
        assert self._tokens is not None  # noqa: S101 - only a budget asks for prices
        query = self._look.query
        shown = (passage if self._brief else excerpt)(text, query.topic, room)
        price = self._request.count_tokens(shown)
        if price > self._tokens > 0:
            shown = excerpt(text, query.topic, max(1, len(shown) * self._tokens // price - _MARKS))
            price = self._request.count_tokens(shown)
        return shown, price


def _collect(look: Look, room: _Room) -> tuple[list[Candidate], Mapping[str, Mapping[int, int]]]:
    """Find candidates, widening the search until the answer is full or nothing is left.

    Limits never affect how a candidate is judged, and its place does not change later, so a larger
    limit keeps the earlier hits.

    Returns:
        The candidates, best first; and each search with the ranks of the candidates it found.
    """
    answer, arm, cap = order.Answer(look), ARM, CAP
    only_named = look.request.match == "names"
    ranks: dict[str, Mapping[int, int]] = {}
    known, least = np.zeros(0, np.intp), 1.0
    while True:
        gathered = gather(look, arm, cap)
        if only_named:
            by_name = np.sort(in_order(gathered.named, evidence.BY_NAME, 1.0))
            gathered = replace(gathered, rows=by_name, more=False)
        elif look.called and asks_no_more(look.query.words, look.called):
            related = _related(look, gathered)  # all there are, if fewer than a search proposes
            more = gathered.more and len(related) >= arm
            gathered = replace(gathered, rows=related, more=more)
        ranks = {name: {**at, **ranks[name]} if ranks else at for name, at in gathered.arms.items()}
        judged = judge(look, gathered, known, least)
        for places in judged.stages():
            texts = look.texts.read(judged.rows[places].tolist())
            telling = places[_telling(look, judged.rows[places], texts)]
            best = _candidates(telling, look, gathered, judged)
            answer.take(best, said(texts, [one.row for one in best]))
            if room.full(answer.hits):
                return answer.hits, ranks
        if not gathered.more:
            return answer.hits, ranks
        known, least = np.union1d(known, judged.rows), min([least, *judged.scores.tolist()])
        arm *= WIDER
        cap = max(cap, arm)


def _telling(look: Look, rows: Rows, texts: Mapping[int, str]) -> Mask:
    """Mark all but turns that only acknowledge an earlier turn, which answer nothing."""
    turn = (look.snap.kind[rows] == _EPISODE) | (look.snap.session[rows] >= 0)
    short = turn & (look.snap.words[rows] <= _FEW_WORDS)
    for at in np.flatnonzero(short).tolist():
        short[at] = is_acknowledgement(texts[int(rows[at])])
    telling: Mask = ~short
    return telling


def _related(look: Look, gathered: Gathered) -> Rows:
    """Keep candidates that have the name or a word of it, or are nearer than by chance.

    A query that is only a name asks for the memories with that name; hardly any other is relevant.
    """
    rows = gathered.rows
    kept = np.isin(rows, list(gathered.named)) | (gathered.words.score[rows] > 0)
    if look.meaning is not None:
        kept |= look.meaning.of(rows).best > judging.noise(int(np.count_nonzero(look.mask)))
    return rows[kept]


def _candidates(places: Rows, look: Look, gathered: Gathered, judged: Judged) -> list[Candidate]:
    rows = judged.rows[places]
    table = np.array([values[places] for values in judged.parts.values()]).T
    query, named, names = look.query, gathered.named, [*judged.parts, "exact"]
    kinds = 0
    if query.kinds:
        kinds = sum(1 << bit for bit, term in enumerate(query.terms) if term in query.kinds)
    columns = (
        rows,
        judged.scores[places],
        judged.sure[places],
        judged.pull[places],
        table,
        gathered.words.matched[rows],
        look.snap.actor[rows],
        judged.asks[places],
    )
    found = []
    for row, score, chance, pull, terms, matched, actor, asks, signs in zip(
        *(column.tolist() for column in columns), judged.signs.of(places), strict=True
    ):
        added = dict(zip(names, [*terms, named.get(row, 0.0)], strict=True))
        own = matched & ~kinds
        found.append(Candidate(row, score, chance, added, own, actor, asks, signs, pull=pull))
    return found


def _found(
    one: Candidate,
    snap: RosterView,
    arms: Mapping[str, Mapping[int, int]],
    shown: str | None,
) -> Found:
    row, docid = one.row, snap.docid
    return Found(
        docid=int(docid[row]),
        score=one.score,
        confidence=one.confidence,
        terms={name: value for name, value in one.terms.items() if value},
        ranks={name: places[row] for name, places in arms.items() if row in places},
        folded=tuple([int(docid[other]) for other in one.folded]),
        passage=shown,
        signs=one.signs,
        newer=int(docid[one.newer]) if one.newer >= 0 else None,
        opposed=tuple([int(docid[other]) for other in one.opposed]),
    )
