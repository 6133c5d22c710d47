"""Find the memories that are relevant to a query: the whole read path in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import MAXYEAR, MINYEAR, datetime

import numpy as np

from memento.clock import to_micros
from memento.config.retrieve import RetrieveConfig
from memento.language import words as spelling
from memento.language.chatter import is_chatter
from memento.ledger.predicate import Filters
from memento.protocols import TokenCounter
from memento.retrieve import budget, by_time, by_words, confidence, evidence, rank
from memento.retrieve import former as pasts
from memento.retrieve.by_meaning import Approximate, Exact, Meaning, best_rows
from memento.retrieve.by_name import Called
from memento.retrieve.by_time import Then
from memento.retrieve.confidence import Signs
from memento.retrieve.evidence import Evidence
from memento.retrieve.former import Heirs, MeaningOfHeirs
from memento.retrieve.newer import Newer
from memento.retrieve.passage import excerpt, passage
from memento.retrieve.question import Query, parse
from memento.retrieve.rank import Candidate, Said
from memento.retrieve.roster import Floats, Mask, Rows, Snapshot, distinct
from memento.retrieve.source import WIDER, Nearest, TextSource
from memento.retrieve.visible import allow
from memento.types import Match

Rerank = Callable[[str, Sequence[str]], Floats]
"""Scores texts by how well they answer a query, see `protocols.Reranker`."""
_MAX_EXACT = 200  # rows whose text is read for one identifier or quoted phrase
_TYPO, _TERSE = 0.2, 0.2  # how much a typing error, and a short name, lower the value of a name
_SURE = 10  # hits that give the confidence of the whole answer
_READ = 16  # candidates whose texts are read for the kind of answer that the query wants
_STAGE, _MOST_IN_STAGE = 16, 64  # candidates whose texts are read together
_MARKS = 8  # characters of English that cost as much as the two marks around a passage
_MAX_SPAN = 30  # years before and after now; a date without a year may be in any of them
_MOST_FAR = 30  # farther years, with memories, in which such a date may also be


@dataclass(frozen=True, slots=True)
class Found:
    """One memory found.

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


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer of `find`.

    Attributes:
        found: Best first.
        confidence: Estimated chance that the answer is among them, [0, 1]; 0 without hits.
    """

    found: tuple[Found, ...] = ()
    confidence: float = 0.0


class _Texts:
    """Texts of rows, each fetched once."""

    def __init__(self, snap: Snapshot, source: TextSource) -> None:
        self._snap, self._source = snap, source
        self.known: dict[int, str] = {}

    def read(self, rows: Sequence[int]) -> Mapping[int, str]:
        missing = [row for row in dict.fromkeys(rows) if row not in self.known]
        if missing:
            docids = self._snap.docid[missing].tolist()
            self.known.update(zip(missing, self._source.texts(docids), strict=True))
        return self.known


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """The inputs that every step of one call needs."""

    query: Query
    snap: Snapshot
    source: TextSource
    mask: Mask
    config: RetrieveConfig
    meaning: Meaning | None
    texts: _Texts
    text: str
    rerank: Rerank | None
    then: Then | None
    heirs: Heirs


@dataclass(frozen=True, slots=True, eq=False)
class _Gathered:
    """Candidates, and which search proposed each of them.

    Attributes:
        rows: The candidates, ascending.
        arms: Search to the candidates that it proposed, each with its rank there.
        words: Scores of every row by the words of the query.
        named: Candidate to how well the query names it, (0, 1].
        more: Whether one of the searches may have more candidates.
    """

    rows: Rows
    arms: Mapping[str, Mapping[int, int]]
    words: by_words.Lexical
    named: Mapping[int, float]
    more: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Judged:
    """Candidates with their scores and confidence; every array has one value per candidate.

    Attributes:
        order: Their places, best first.
        rows: Their rows.
        scores: [0, 1].
        sure: Confidence, [0, 1].
        parts: Piece of evidence to its contribution.
        signs: Numbers that give the confidence.
    """

    order: Rows
    rows: Rows
    scores: Floats
    sure: Floats
    parts: Mapping[str, Floats]
    signs: Signs

    def stages(self) -> Iterator[tuple[Rows, float]]:
        """Yield the candidates in batches, each with the score of the candidate after it."""
        start, size, last = 0, _STAGE, len(self.order)
        while start < last:
            end = min(last, start + size)
            following = self.order[min(end, last - 1)]
            yield self.order[start:end], float(self.scores[following])
            start, size = end, min(end, _MOST_IN_STAGE)


def find(
    text: str,
    snap: Snapshot,
    source: TextSource,
    vector: Floats | None,
    config: RetrieveConfig,
    *,
    now: datetime,
    k: int | None = 5,
    match: Match = "auto",
    allowed: Mask | None = None,
    former: Mask | None = None,
    nearest: Nearest | None = None,
    rerank: Rerank | None = None,
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
        k: Most hits, >= 0; None for as many as the query wants. The hits of a smaller k are the
            first ones of a larger k.
        match: ``names``: only memories whose key or alias the query names; ``text``: names are
            ignored; ``auto``: named memories first, and only those if the query is just a name.
        allowed: (snap.n,) rows that may be found, see `visible.allow`; None for all active ones.
        former: (snap.n,) superseded rows that a question about the past may find as well.
        nearest: Index to search by vector, instead of exact search.
        rerank: Scores the texts of the best candidates: a finite number each, larger is better.
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
    query = _parse(text, snap, now, config)
    if query.former is not None and former is not None:
        mask = mask | former
    if not snap.n or k == 0 or not mask.any():
        return Ranking()
    if k is None:
        k = config.many if query.wants_several else config.few
    heirs = Heirs.of(snap)
    meaning = _meaning(snap, vector, nearest, config)
    lenders = heirs.shown(mask)
    if meaning is not None and len(lenders.former):
        meaning = MeaningOfHeirs(meaning, lenders)
    texts = _Texts(snap, source)
    then = by_time.find(query, snap, source, mask, now)
    look = _Look(query, snap, source, mask, config, meaning, texts, text, rerank, then, heirs)
    called = [] if match == "text" else _called(query, snap, mask)
    room = _Room(look, k, min_score, cutoff, tokens, count, shorten=shorten)
    answer, ranks = _collect(look, called, room, match == "names", fold=fold)
    hits = room.choose(answer)
    if not called and is_chatter(text):
        hits = [replace(one, confidence=0.0) for one in hits]
        chance = 0.0
    else:
        chance = _sure(hits[:_SURE], config)
    if chance < min_confidence:
        return Ranking()
    found = tuple(_found(one, snap, ranks, room.passages.get(one.row)) for one in hits)
    return Ranking(found, chance)


def _sure(hits: Sequence[Candidate], config: RetrieveConfig) -> float:
    """Estimate the chance that an answer is among the hits: at least that of the best hit."""
    if not hits:
        return 0.0
    seen = [one.signs for one in hits]
    cosine, cover, fit = (
        max(signs[name] for signs in seen) if name in seen[0] else None
        for name in ("cosine", "cover", "fit")
    )
    chance = confidence.of_answer(cosine, cover or 0.0, fit or 0.0, config.sure)
    return max(chance, *(one.confidence for one in hits))


def _parse(text: str, snap: Snapshot, now: datetime, config: RetrieveConfig) -> Query:
    years = _years(snap.years, now.year)
    return parse(text, now=now.date(), years=years, people=snap.people, max_terms=config.terms)


def _years(told: Sequence[int], now: int) -> list[int]:
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
    return sorted(year for year in every if MINYEAR <= year <= MAXYEAR)


def _called(query: Query, snap: Snapshot, mask: Mask) -> list[Called]:
    """Find the names in a query; names of rows that are not heard only if such rows are wanted."""
    unheard = snap.live < snap.n and bool((mask & ~snap.heard).any())
    return snap.names.called(query.words, _shown(mask), unheard=unheard)


def _gather(look: _Look, called: Sequence[Called]) -> _Gathered:
    """Collect candidates from every search."""
    query, snap, config = look.query, look.snap, look.config
    postings = by_words.look_up(query, snap, look.source, look.mask, config)
    words = by_words.bm25(query, postings, snap, config)
    words = pasts.words_of_heirs(words, look.heirs.shown(look.mask))
    matching = np.flatnonzero((words.score > 0) & look.mask)
    named = _exact(look) | _named(called)
    found = {
        "text": best_rows(matching, words.score, config.arm),
        "meaning": _near(look, words),
        "time": _then(look, words),
        "name": _in_order(named, rank.BY_NAME, 1.0),
        "exact": _in_order(named, 0.0, rank.BY_NAME),
    }
    if query.former is not None:
        so_far = distinct(np.concatenate(list(found.values())))
        found["slot"] = look.heirs.beside(so_far, look.mask, config.arm)[::-1]
    arms = {
        name: dict(zip(rows.tolist(), range(1, len(rows) + 1), strict=True))
        for name, rows in found.items()
    }
    more = max(len(found[arm]) for arm in ("text", "meaning", "time")) >= config.arm
    return _Gathered(distinct(np.concatenate(list(found.values()))), arms, words, named, more)


def _then(look: _Look, words: by_words.Lexical) -> Rows:
    """Propose rows of the time that the query asks about."""
    if look.then is None:
        return np.zeros(0, np.intp)
    query, snap, arm = look.query, look.snap, look.config.arm
    return by_time.propose(look.then, query, snap, words.score, look.meaning, arm)


def _near(look: _Look, words: by_words.Lexical) -> Rows:
    """Propose rows by vector that are above the noise or have at least one word of the query."""
    if look.meaning is None or look.query.only_time:
        return np.zeros(0, np.intp)
    near = look.meaning.propose(look.mask, look.config.arm)
    cosines = look.meaning.of(near)
    heard = np.maximum(cosines.own, cosines.smooth) >= look.config.noise
    return near[heard | (words.cover[near] > 0)]


def _meaning(
    snap: Snapshot, vector: Floats | None, nearest: Nearest | None, config: RetrieveConfig
) -> Meaning | None:
    if vector is None:
        return None
    if nearest is not None:
        return Approximate(snap, nearest, vector, config.smooth)
    if snap.vectors is None or not snap.has_vector.any():
        return None
    return Exact(snap, snap.vectors, vector, config.smooth)


def _in_order(named: Mapping[int, float], above: float, upto: float) -> Rows:
    chosen = [row for row, value in named.items() if above < value <= upto]
    return np.array(sorted(chosen, key=lambda row: (-named[row], -row)), np.intp)


def _shown(mask: Mask) -> Callable[[int], bool]:
    return lambda row: row < len(mask) and bool(mask[row])


def _named(called: Sequence[Called]) -> dict[int, float]:
    """Value each memory that the query names, (0.5, 1]: more for long names and exact spelling."""
    values: dict[int, float] = {}
    for name in called:
        value = 1 - _TYPO * name.typos - _TERSE / (1 + name.length)
        for row in name.rows:
            values[row] = max(values.get(row, 0.0), value)
    return values


def _exact(look: _Look) -> dict[int, float]:
    """Value each memory that holds an identifier or quoted phrase exactly, (0, 0.5]."""
    held: dict[int, int] = {}
    for wanted in look.query.exact:
        reader = by_words.Reader.of(look.snap, look.source, look.mask, _MAX_EXACT, _MAX_EXACT)
        (place,) = reader.read([wanted.match])
        rows = place.rows[look.mask[place.rows]][-_MAX_EXACT:]
        known = look.texts.read(rows.tolist())
        for row in rows.tolist():
            if wanted.held_by(known[row]):
                held[row] = held.get(row, 0) + 1
    return {row: rank.BY_NAME * hits / len(look.query.exact) for row, hits in held.items()}


def _asks_no_more(query: Query, called: Sequence[Called]) -> bool:
    """Tell whether a query consists only of a name and stop words."""
    spoken = {at for name in called for at in range(name.start, name.start + name.length)}
    left = [word for at, word in enumerate(query.words) if at not in spoken]
    return all(word in spelling.STOP_WORDS or word in spelling.META_WORDS for word in left)


class _Room:
    """The limits of an answer: number of hits, least score and number of tokens.

    Attributes:
        passages: Row to the passage that is shown instead of a long text.
    """

    def __init__(
        self,
        look: _Look,
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
        self.passages: dict[int, str] = {}

    def choose(self, ranked: Sequence[Candidate]) -> list[Candidate]:
        """Choose the hits among the candidates, which come best first."""
        good = rank.cut(ranked, self._min_score, self._cutoff)
        return budget.within(good, self._k, self._tokens, self._price)

    def full(self, ranked: Sequence[Candidate]) -> bool:
        """Tell whether no candidate after these could become a hit.

        A token budget is spent when none of the best candidates fits into the rest of it; as many
        of them are tried as one search proposes.
        """
        chosen = self.choose(ranked)
        if len(chosen) >= self._k:
            return True
        if len(rank.cut(ranked, self._min_score, self._cutoff)) < len(ranked):
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
    look: _Look, called: Sequence[Called], room: _Room, only_named: bool, *, fold: bool
) -> tuple[list[Candidate], Mapping[str, Mapping[int, int]]]:
    """Find candidates until the answer is full, searching wider as long as it is not.

    The treatment of a candidate never depends on the limits, and its place does not change later,
    so a larger limit changes nothing about the earlier hits.

    Returns:
        The candidates, best first; and the searches that found candidates, each with their ranks
        there.
    """
    answer = rank.Answer(
        look.query.words,
        look.config.echo,
        fold=fold,
        orders=_orders(look),
    )
    ranks: dict[str, Mapping[int, int]] = {}
    known, least = np.zeros(0, np.intp), 1.0
    while True:
        gathered = _gather(look, called)
        if only_named or (called and _asks_no_more(look.query, called)):
            by_name = np.sort(_in_order(gathered.named, rank.BY_NAME, 1.0))
            gathered = replace(gathered, rows=by_name, more=False)
        ranks = {name: {**at, **ranks[name]} if ranks else at for name, at in gathered.arms.items()}
        judged = _judge(look, gathered, known, least)
        for places, bar in judged.stages():
            best = list(_candidates(places, look, gathered, judged))
            texts = look.texts.read([one.row for one in best])
            answer.take(best, {one.row: Said.of(texts[one.row]) for one in best}, bar)
            if room.full(answer.hits):
                return answer.hits, ranks
        if not gathered.more:
            answer.take([], {}, 0.0)
            return answer.hits, ranks
        known, least = np.union1d(known, judged.rows), min([least, *judged.scores.tolist()])
        arm = look.config.arm * WIDER
        wider = replace(look.config, arm=arm, cap=max(look.config.cap, arm))
        look = replace(look, config=wider)


def _orders(look: _Look) -> list[rank.Order]:
    """Return what changes the order of scores; nothing if a time or the past is asked for."""
    if look.query.only_time or look.query.former is not None:
        return []
    if look.meaning is None:
        return [rank.newest_first]
    return [rank.newest_first, Newer(look.snap, look.meaning, look.texts.read).first]


def _judge(look: _Look, gathered: _Gathered, known: Rows, most: float) -> _Judged:
    """Order the candidates that are not known yet; no score is above ``most``."""
    weighed = _weigh(look, gathered)
    weights, alone = look.config.weights, look.config.alone
    sums, parts = rank.total(weighed, weights, alone)
    weighed, sums = _formed(look, weighed, sums, parts)
    seen = confidence.signs(weighed, sums, weights, alone, hollow=look.query.hollow)
    if look.rerank is not None and not len(known) and not look.query.only_time:
        parts["reranked"] = _reranked(look, weighed.rows, sums, look.rerank)
        sums = sums + parts["reranked"]
    scores = rank.scale(sums, rank.strength(weighed.cosine, weighed.cover))
    named = np.zeros(len(weighed.rows), np.float32)
    sure = confidence.of_hits(seen, look.config.sure)
    if look.query.continues:
        sure *= np.float32(confidence.CONTINUES)
    if look.then is not None and look.query.only_time:
        scores = by_time.scores(look.then, look.snap, weighed.rows)
        held = np.float32(by_time.SURE if look.query.form is None else by_time.ASKS_MORE)
        sure = np.where(scores > 0, held, sure)
    if gathered.named:
        named[:] = [gathered.named.get(row, 0) for row in weighed.rows.tolist()]
        scores = rank.lift(scores, named)
    sure = np.maximum(named, sure)
    if look.query.former is not None:
        matched = gathered.words.matched
        scores, sure = pasts.first(
            look.query, look.snap, look.heirs, weighed.rows, matched, (scores, sure)
        )
    order = np.lexsort((-weighed.rows, -scores))
    if len(known):
        order = order[~np.isin(weighed.rows[order], known)]
        scores = np.minimum(scores, np.float32(most))
    return _Judged(order, weighed.rows, scores, sure, parts, seen)


def _formed(
    look: _Look, weighed: Evidence, sums: Floats, parts: dict[str, Floats]
) -> tuple[Evidence, Floats]:
    """Add to evidence, sums and parts whether the most promising texts hold the kind of answer."""
    query = look.query
    if query.form is None or query.only_time or query.former is not None:
        return weighed, sums
    best = weighed.rows[np.argsort(-sums, kind="stable")[:_READ]].tolist()
    known = look.texts.read(best)
    texts = {row: known[row] for row in best}
    weighed = evidence.with_form(query.form, look.snap, weighed, texts)
    weights = rank.weights_of(["form"], weighed, look.config.weights, look.config.alone)
    parts["form"] = weighed.signals["form"] * weights["form"]
    return weighed, sums + parts["form"]


def _weigh(look: _Look, gathered: _Gathered) -> Evidence:
    """Collect the evidence; read the most promising texts if the query asks about dates."""
    query, snap, rows, words = look.query, look.snap, gathered.rows, gathered.words
    weighed = evidence.weigh(query, snap, rows, words, look.meaning)
    if look.then is None:
        return weighed
    if query.last_talk:
        return evidence.with_calendar(weighed, look.then.inside[rows].astype(np.float32))
    sums, _ = rank.total(weighed, look.config.weights, look.config.alone)
    dated = evidence.dated(query, snap, rows[np.argsort(-sums, kind="stable")]).tolist()
    known = look.texts.read(dated)
    texts_of_dated = {row: known[row] for row in dated}
    return evidence.with_said_dates(query, snap, weighed, texts_of_dated, look.then.told_fit)


def _reranked(look: _Look, rows: Rows, sums: Floats, rerank: Rerank) -> Floats:
    """Let the reranker score the best candidates; the others get 0."""
    best = np.argsort(-sums, kind="stable")[: look.config.rerank]
    value = np.zeros(len(rows), np.float32)
    if len(best):
        texts = look.texts.read(rows[best].tolist())
        judged = rerank(look.text, [texts[row] for row in rows[best].tolist()])
        value[best] = evidence.spread(judged, np.ones(len(best), np.bool_))
    return value * np.float32(look.config.weights.reranked)


def _candidates(
    places: Rows, look: _Look, gathered: _Gathered, judged: _Judged
) -> Iterator[Candidate]:
    rows = judged.rows[places]
    asks = (look.snap.cues[rows] & np.uint32(spelling.Cue.QUESTION)) != 0
    table = np.stack(list(judged.parts.values()))[:, places].T
    kinds = sum(1 << bit for bit, term in enumerate(look.query.terms) if term in look.query.kinds)
    columns = (
        rows,
        judged.scores[places],
        judged.sure[places],
        table,
        gathered.words.matched[rows],
        look.snap.actor[rows],
        asks,
    )
    for row, score, chance, terms, matched, actor, question, signs in zip(
        *(column.tolist() for column in columns), judged.signs.of(places), strict=True
    ):
        added = dict(zip(judged.parts, terms, strict=True), exact=gathered.named.get(row, 0.0))
        yield Candidate(row, score, chance, added, matched & ~kinds, actor, question, signs)


def _found(
    one: Candidate,
    snap: Snapshot,
    arms: Mapping[str, Mapping[int, int]],
    shown: str | None,
) -> Found:
    return Found(
        docid=int(snap.docid[one.row]),
        score=one.score,
        confidence=one.confidence,
        terms={name: value for name, value in one.terms.items() if value},
        ranks={name: places[one.row] for name, places in arms.items() if one.row in places},
        folded=tuple(int(snap.docid[row]) for row in one.folded),
        passage=shown,
        signs=one.signs,
        newer=int(snap.docid[one.newer]) if one.newer >= 0 else None,
    )
