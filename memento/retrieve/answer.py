"""Find the memories that are relevant to a query: the whole read path in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import MAXYEAR, MINYEAR, UTC, datetime, tzinfo
from functools import lru_cache, partial
from typing import TypeVar

import numpy as np

from memento.base.clock import day_in, to_micros
from memento.config import RetrieveConfig
from memento.ledger.predicate import Filters
from memento.protocols import TokenCounter
from memento.retrieve import by_time, judging, order, scoring
from memento.retrieve.by_name import Called
from memento.retrieve.candidates import (
    Gathered,
    asks_no_more,
    gather,
    in_order,
    meaning_of,
    names_in,
)
from memento.retrieve.columns import Floats, Mask, Rows, Snapshot
from memento.retrieve.context import Look, Rerank, Texts
from memento.retrieve.former_values import Heirs, MeaningOfHeirs
from memento.retrieve.inputs import WIDER, Nearest, TextSource
from memento.retrieve.judging import Judged, judge
from memento.retrieve.newer import Newer
from memento.retrieve.order import Candidate, Quoted, Quotes, Said
from memento.retrieve.passage import excerpt, passage
from memento.retrieve.question import Query, parse
from memento.retrieve.standings import Links, Standings
from memento.retrieve.successors import Later
from memento.retrieve.usage_boost import Life
from memento.retrieve.visible import allow
from memento.text import words as spelling
from memento.text.personal import asks_of_oneself
from memento.types import Match

T = TypeVar("T")


def within(ranked: Sequence[T], k: int, tokens: int | None, cost: Callable[[T], int]) -> list[T]:
    """Take hits in their order until there are k, skipping those that no longer fit.

    Args:
        ranked: Hits, best first.
        k: Most hits, >= 0.
        tokens: Most tokens in all, >= 0; None for no limit.
        cost: Tokens of one hit, >= 0.

    Returns:
        Hits in the same order.

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


_QUESTION = np.uint32(spelling.Cue.QUESTION)
_SURE = 10  # hits that give the confidence of the whole answer
_MARKS = 8  # characters of English that cost as much as the two marks around a passage
_MAX_SPAN = 30  # years before and after now; a date without a year may be in any of them
_MOST_FAR = 30  # farther years, with memories, in which such a date may also be


@dataclass(slots=True)
class Found:
    """One memory found. Nothing changes one; freezing each takes 2 µs more.

    Attributes:
        docid: Its row id.
        score: [0, 1], not increasing along the answer.
        confidence: Estimated chance that it is relevant to the query, [0, 1].
        terms: Piece of evidence to its contribution; for ``exact`` see `rank.Candidate`.
        ranks: Search (``text``, ``meaning``, ``time``, ``name``, ``exact``, ``slot``) to its rank,
            >= 1.
        folded: Row ids of near-identical memories that it stands for.
        passage: The relevant part of a long text, if only this part was counted, or None.
        signs: Numbers that give the confidence; see `confidence.Signs`.
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

    @property
    def beside(self) -> list[int]:
        """Row ids of all memories that it names."""
        return [docid for docid in (*self.folded, *self.opposed, self.newer) if docid]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer of `find`.

    Attributes:
        found: Best first.
        confidence: Estimated chance that the answer is among them, [0, 1]; 0 without hits.
        weighed: Whether the evidence gives the order, so that feedback on it teaches.
    """

    found: tuple[Found, ...] = ()
    confidence: float = 0.0
    weighed: bool = True


def find(
    text: str,
    snap: Snapshot,
    source: TextSource,
    vector: Floats | None,
    config: RetrieveConfig,
    *,
    now: datetime,
    zone: tzinfo = UTC,
    k: int | None = 5,
    match: Match = "auto",
    allowed: Mask | None = None,
    former: Mask | None = None,
    by_name: Mask | None = None,
    nearest: Nearest | None = None,
    rerank: Rerank | None = None,
    life: Life | None = None,
    links: Links | None = None,
    quoted: Quoted | None = None,
    min_score: float = 0.0,
    min_confidence: float = 0.0,
    cutoff: float = 0.0,
    tokens: int | None = None,
    count: TokenCounter | None = None,
    fold: bool = True,
    shorten: bool = True,
) -> Ranking:
    """Find the memories of one namespace that are relevant to a query.

    Args:
        text: The query, any string.
        snap: The namespace.
        source: Postings and texts of the same namespace.
        vector: (dim,) embedding of the query, unit length; None to search by words only.
        config: Settings of search and ranking.
        now: The present, timezone-aware; relative dates are read from it.
        zone: The time zone whose days the query means.
        k: Most hits, >= 0; None for as many as the query wants. The hits of a smaller k are the
            first ones of a larger k.
        match: ``names``: only memories whose key or alias the query names; ``text``: names are
            ignored; ``auto``: named memories first, and only those if the query is just a name.
        allowed: (snap.n,) rows that may be found, see `visible.allow`; None for all active ones.
        former: (snap.n,) superseded rows that a question about the past may find as well.
        by_name: (snap.n,) archived rows that may be found if the query names them.
        nearest: Index to search by vector, instead of exact search.
        rerank: Scores the texts of the best candidates: a finite number each, larger is better.
        life: What uses and verdicts add to the evidence; None for nothing.
        links: Finds the pairs that conflict or succeed each other; None for none.
        quoted: Finds what articles quote, for ``fold``; None for nothing.
        min_score: Least score, [0, 1].
        min_confidence: Least chance that an answer is among the hits, [0, 1]; below it there are
            none.
        cutoff: Least share of the best score, [0, 1].
        tokens: Most tokens of all hits, or None.
        count: Counts tokens; needed with ``tokens``.
        fold: Let one hit stand for all that say the same, see `language.gist`.
        shorten: With ``tokens``, show of each long memory the passage that is relevant.

    Returns:
        The answer; the same arguments give the same answer.

    Raises:
        ValueError: If ``tokens`` is given without ``count``.
    """
    if tokens is not None and count is None:
        raise ValueError("tokens needs count")
    mask = allow(snap, Filters(now=to_micros(now))) if allowed is None else allowed
    query = _parse(text, snap, now, zone, config)
    if query.former is not None and former is not None:
        mask = mask | former
    if by_name is not None and match != "text":
        mask = _with_named(mask, names_in(query, snap, by_name))
    if not snap.n or k == 0 or not mask.any():
        return Ranking()
    if k is None:
        k = config.many if query.wants_several else config.few
    heirs = Heirs.of(snap)
    meaning = meaning_of(snap, vector, nearest, config)
    news = () if links is None or query.former is not None else links.successions()
    later = Later.found(snap, mask, news)  # what a change tells is no answer to what was before it
    lenders = heirs.shown(mask).joined(later)
    if meaning is not None and len(lenders.former):
        meaning = MeaningOfHeirs(meaning, lenders)
    texts = Texts(snap, source)
    then = by_time.find(query, snap, source, mask, now)
    look = Look(
        query, snap, source, mask, config, meaning, texts, text, rerank, then, heirs, lenders, life
    )
    called = [] if match == "text" else names_in(query, snap, mask)
    room = _Room(look, k, min_score, cutoff, tokens, count, shorten=shorten)
    orders = _orders(look, links, later)
    if quoted is not None and fold:
        orders.insert(0, Quotes(snap, quoted, leads=query.wants_several).first)
    answer, ranks = _collect(look, called, room, orders, match == "names", fold=fold)
    hits = room.choose(room.with_tail(answer))
    chance = _sure(hits[:_SURE], look)
    if not called and (share := judging.share_of(text)) < 1.0:
        hits = [replace(one, confidence=share * one.confidence) for one in hits]
        chance *= share
    if chance < min_confidence:
        return Ranking()
    found = tuple(_found(one, snap, ranks, room.passages.get(one.row)) for one in hits)
    return Ranking(found, chance, weighed=not query.only_time and query.former is None)


def _with_named(mask: Mask, called: Sequence[Called]) -> Mask:
    """Let the rows that a query names be found as well."""
    if not called:
        return mask
    wider = mask.copy()
    wider[[row for one in called for row in one.rows]] = True
    return wider


def _sure(hits: Sequence[Candidate], look: Look) -> float:
    """Estimate the chance that an answer is among the hits: at least that of the best hit."""
    if not hits:
        return 0.0
    sure = look.config.sure
    chance = judging.of_answer([one.signs for one in hits], sure)
    best = max(one.confidence for one in hits)
    if "cosine" in hits[0].signs:  # by words alone it tells own questions apart no better
        chance = judging.of_both(chance, best)
        if look.snap.session[hits[0].row] < 0 and asks_of_oneself(look.text):
            chance = judging.surer(chance, sure.oneself)
    return max(best, chance)


def _parse(text: str, snap: Snapshot, now: datetime, zone: tzinfo, config: RetrieveConfig) -> Query:
    today = day_in(zone, now)
    return parse(
        text,
        now=today,
        years=_years(snap.years, today.year),
        people=snap.people,
        max_terms=config.terms,
        zone=zone,
    )


@lru_cache(maxsize=16)  # the same from one query to the next
def _years(told: tuple[int, ...], now: int) -> tuple[int, ...]:
    """Return the years in which a date without a year may be.

    Within `_MAX_SPAN` of now these are all years from the first to the last one with memories; the
    present year is always included. Farther away they are the nearest years with memories. So one
    memory of the year 9999, which means "no end", does not make other years unreachable.

    Args:
        told: Years in which memories occurred.
        now: The present year.
    """
    near = [now, *(year for year in told if abs(year - now) <= _MAX_SPAN)]
    far = sorted((year for year in told if abs(year - now) > _MAX_SPAN), key=lambda y: abs(y - now))
    every = {*range(min(near) - 1, max(near) + 2)}
    every.update(year + step for year in far[:_MOST_FAR] for step in (-1, 0, 1))
    return tuple(sorted(year for year in every if MINYEAR <= year <= MAXYEAR))


class _Room:
    """The limits of an answer: number of hits, least score and number of tokens.

    Attributes:
        passages: Row to the passage that is shown instead of a long text.
    """

    def __init__(
        self,
        look: Look,
        k: int,
        min_score: float,
        cutoff: float,
        tokens: int | None,
        count: TokenCounter | None,
        *,
        shorten: bool,
    ) -> None:
        self._look, self._k, self._tokens, self._count = look, k, tokens, count
        self._min_score, self._cutoff = min_score, cutoff
        config = look.config
        self._brief = look.query.wants_several and config.passage is not None
        self._room = (config.passage if self._brief else config.long) if shorten else None
        self._prices: dict[int, int] = {}
        query = look.query
        self._has_tail = k > order.HEAD and query.wants_several and not query.only_time
        self.passages: dict[int, str] = {}

    def with_tail(self, ranked: Sequence[Candidate]) -> list[Candidate]:
        """Order the tail of a list question, see `tail`."""
        if not self._has_tail:
            return list(ranked)
        good = order.cut(ranked, self._min_score, self._cutoff)
        texts = self._look.texts.read([one.row for one in good[: order.POOL]])
        return order.reorder(good, texts)

    def choose(self, ranked: Sequence[Candidate]) -> list[Candidate]:
        """Choose the hits among the candidates, which come best first."""
        good = order.cut(ranked, self._min_score, self._cutoff)
        return within(good, self._k, self._tokens, self._price)

    def full(self, ranked: Sequence[Candidate]) -> bool:
        """Tell whether no candidate after these could become a hit.

        A token budget is spent when none of the best candidates fits into the rest of it; as many
        of them are tried as one search proposes.
        """
        if len(order.cut(ranked, self._min_score, self._cutoff)) < len(ranked):
            return True
        if self._has_tail and len(ranked) < order.POOL:
            return False  # the same candidates are ordered whatever the limits are
        chosen = self.choose(ranked)
        if len(chosen) >= self._k:
            return True
        if self._tokens is None or len(ranked) < self._look.config.arm:
            return False
        left = self._tokens - sum(self._price(one) for one in chosen)
        return left < min(self._prices.values())

    def _price(self, one: Candidate) -> int:
        if one.row not in self._prices:
            assert self._count is not None  # noqa: S101 - see find
            text = self._look.texts.read([one.row])[one.row]
            price = self._count(text) if self._room is None or len(text) <= self._room else None
            if price is None:
                self.passages[one.row], price = self._cut(text)
            self._prices[one.row] = price
        return self._prices[one.row]

    def _cut(self, text: str) -> tuple[str, int]:
        """Return the relevant passage of a long text, within the whole budget, and its price."""
        assert self._count is not None  # noqa: S101 - see find
        assert self._room is not None  # noqa: S101 - see _price
        assert self._tokens is not None  # noqa: S101 - only a budget asks for prices
        query = self._look.query
        shown = (passage if self._brief else excerpt)(text, query.topic, self._room)
        price = self._count(shown)
        if price > self._tokens > 0:
            shown = excerpt(text, query.topic, max(1, len(shown) * self._tokens // price - _MARKS))
            price = self._count(shown)
        return shown, price


def _collect(
    look: Look,
    called: Sequence[Called],
    room: _Room,
    orders: Sequence[order.Order],
    only_named: bool,
    *,
    fold: bool,
) -> tuple[list[Candidate], Mapping[str, Mapping[int, int]]]:
    """Find candidates until the answer is full, searching wider as long as it is not.

    The treatment of a candidate never depends on the limits, and its place does not change later,
    so a larger limit changes nothing about the earlier hits.

    Returns:
        The candidates, best first; and the searches that found candidates, each with their ranks
        there.
    """
    answer = order.Answer(
        look.query.words,
        look.config.echo,
        fold=fold,
        orders=orders,
    )
    ranks: dict[str, Mapping[int, int]] = {}
    known, least = np.zeros(0, np.intp), 1.0
    while True:
        gathered = gather(look, called)
        if only_named or (called and asks_no_more(look.query, called)):
            by_name = np.sort(in_order(gathered.named, scoring.BY_NAME, 1.0))
            gathered = replace(gathered, rows=by_name, more=False)
        ranks = {name: {**at, **ranks[name]} if ranks else at for name, at in gathered.arms.items()}
        judged = judge(look, gathered, known, least)
        for places, bar in judged.stages():
            best = list(_candidates(places, look, gathered, judged))
            texts = look.texts.read([one.row for one in best])
            answer.take(best, {one.row: Said(texts[one.row]) for one in best}, bar)
            if room.full(answer.hits):
                return answer.hits, ranks
        if not gathered.more:
            answer.take([], {}, 0.0)
            return answer.hits, ranks
        known, least = np.union1d(known, judged.rows), min([least, *judged.scores.tolist()])
        arm = look.config.arm * WIDER
        wider = replace(look.config, arm=arm, cap=max(look.config.cap, arm))
        look = replace(look, config=wider)


def _orders(look: Look, links: Links | None, later: Later) -> list[order.Order]:
    """Return what changes the order of scores; nothing if a time or the past is asked for."""
    if look.query.only_time:
        return []
    changes = None
    if look.meaning is not None:
        query = look.query
        asked = query.text if query.form is not None or query.kinds else ""
        changes = Newer(look.snap, look.meaning, look.texts.read, asked)
    if look.query.former is not None:
        return [] if changes is None else [changes.last]
    meant = [] if changes is None else [changes.first]
    if links is None:
        return [order.newest_first, *meant]
    docid, known = look.snap.docid, links.known
    newest = partial(order.newest_first, settled=lambda a, b: known(int(docid[a]), int(docid[b])))
    orders: list[order.Order] = [newest, *meant]
    if len(later.former):
        orders.append(later.first)
    if links.linked.any_flagged:
        orders.append(Standings(look.snap, links.opposed).first)
    return orders


def _candidates(
    places: Rows, look: Look, gathered: Gathered, judged: Judged
) -> Iterator[Candidate]:
    rows = judged.rows[places]
    asks = (look.snap.cues[rows] & _QUESTION) != 0
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
        asks,
    )
    for row, score, chance, pull, terms, matched, actor, question, signs in zip(
        *(column.tolist() for column in columns), judged.signs.of(places), strict=True
    ):
        added = dict(zip(names, [*terms, named.get(row, 0.0)], strict=True))
        own = matched & ~kinds
        yield Candidate(row, score, chance, added, own, actor, question, signs, pull=pull)


def _found(
    one: Candidate,
    snap: Snapshot,
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
