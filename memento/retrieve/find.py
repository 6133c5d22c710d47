"""Find the memories that bear on a question: the whole read path, one call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

import numpy as np

from memento import text as spelling
from memento.ledger.predicate import Filters
from memento.ledger.rows import to_micros
from memento.protocols import TokenCounter
from memento.retrieve import budget, confidence, evidence, lexical, rank
from memento.retrieve.confidence import Signs
from memento.retrieve.config import RetrieveConfig
from memento.retrieve.evidence import Evidence
from memento.retrieve.filters import allow
from memento.retrieve.meaning import Approximate, Exact, Meaning, best_rows
from memento.retrieve.names import Called
from memento.retrieve.passage import passage
from memento.retrieve.query import Query, match_term, parse
from memento.retrieve.rank import Candidate, Said
from memento.retrieve.roster import Floats, Mask, Rows, Snapshot, distinct
from memento.retrieve.source import Nearest, Source

Match = Literal["auto", "names", "text"]
Rerank = Callable[[str, Sequence[str]], Floats]
"""Scores texts by how well they answer a question, see `protocols.Reranker`."""
_MAX_EXACT = 200  # rows whose text is read for one identifier or quoted phrase
_TYPO, _TERSE = 0.2, 0.2  # what a typing error takes from the value of a name, and shortness
_SURE = 10  # hits whose confidence speaks for the whole answer
_STAGE, _MOST_IN_STAGE = 16, 64  # candidates whose texts are looked at in one go
_WIDER = 4  # how many times more is asked of each way of looking when its proposals do not suffice
_MAX_SPAN = 30  # years in which a date without a year is looked for
_EPOCH_YEAR, _YEAR = 1970, 31_556_952_000_000  # microseconds of a mean Gregorian year


@dataclass(frozen=True, slots=True)
class Found:
    """One memory found.

    Attributes:
        docid: Its row id.
        score: [0, 1], not increasing along the answer.
        confidence: Estimated chance that it bears on the query, [0, 1].
        terms: Piece of evidence to what it added; ``exact``, see `rank.Candidate`.
        ranks: Way of looking (``text``, ``meaning``, ``name``, ``exact``) to its rank there, >= 1.
        folded: Row ids of near-identical memories it stands for.
        passage: What of a long text bears on a query that wants several memories, or None.
        signs: What the confidence was read from; see `confidence.Signs`.
    """

    docid: int
    score: float
    confidence: float
    terms: Mapping[str, float]
    ranks: Mapping[str, int]
    folded: tuple[int, ...]
    passage: str | None = None
    signs: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer of `find`.

    Attributes:
        found: Best first.
        confidence: Estimated chance that the answer is among them, [0, 1]; 0 if there are none.
    """

    found: tuple[Found, ...] = ()
    confidence: float = 0.0


class _Texts:
    """Texts of rows, each fetched once."""

    def __init__(self, snap: Snapshot, source: Source) -> None:
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
    """What every step of one call needs."""

    query: Query
    snap: Snapshot
    source: Source
    mask: Mask
    config: RetrieveConfig
    meaning: Meaning | None
    texts: _Texts
    text: str
    rerank: Rerank | None


@dataclass(frozen=True, slots=True, eq=False)
class _Gathered:
    """Candidates and how each was come by.

    Attributes:
        rows: The candidates, ascending.
        arms: Way of looking to the candidates it proposed, each with its rank there.
        words: What the words say of every row.
        named: Candidate to how well it is named, (0, 1].
        more: Whether one of the ways has more to propose, perhaps.
    """

    rows: Rows
    arms: Mapping[str, Mapping[int, int]]
    words: lexical.Lexical
    named: Mapping[int, float]
    more: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Judged:
    """Candidates with what was made of their evidence; every array has one value for each.

    Attributes:
        order: Their places, best first.
        rows: Their rows.
        scores: [0, 1].
        sure: Confidence, [0, 1].
        parts: Piece of evidence to what it added.
        signs: What the confidence was read from.
    """

    order: Rows
    rows: Rows
    scores: Floats
    sure: Floats
    parts: Mapping[str, Floats]
    signs: Signs

    def stages(self) -> Iterator[tuple[Rows, float]]:
        """Yield the candidates bit by bit, with the score of the next that is to come."""
        start, size, last = 0, _STAGE, len(self.order)
        while start < last:
            end = min(last, start + size)
            following = self.order[min(end, last - 1)]
            yield self.order[start:end], float(self.scores[following])
            start, size = end, min(end, _MOST_IN_STAGE)


def find(
    text: str,
    snap: Snapshot,
    source: Source,
    vector: Floats | None,
    config: RetrieveConfig,
    *,
    now: datetime,
    k: int | None = 5,
    match: Match = "auto",
    allowed: Mask | None = None,
    nearest: Nearest | None = None,
    rerank: Rerank | None = None,
    min_score: float = 0.0,
    cutoff: float = 0.0,
    tokens: int | None = None,
    count: TokenCounter | None = None,
    fold: bool = True,
    shorten: bool = True,
) -> Ranking:
    """Find the memories of one namespace that bear on a question.

    Args:
        text: The question, any string.
        snap: The namespace.
        source: Where postings and texts come from; of the same namespace.
        vector: (dim,) embedding of the question, unit length; None to go by words alone.
        config: How to look and judge.
        now: The present, timezone-aware; relative dates count from it.
        k: Most hits, >= 0; None for as many as the question wants. The hits of a smaller k are the
            first of a larger one.
        match: ``names``: only memories whose key or alias the question names; ``text``: names do
            not count; ``auto``: named ones first, and alone if nothing else is asked.
        allowed: (snap.n,) rows that may be found, see `filters.allow`; None for all active ones.
        nearest: Searches by vector in place of the exact path.
        rerank: Scores the best candidates' texts anew, a finite number each, the larger the better.
        min_score: Least score, [0, 1].
        cutoff: Least share of the best score, [0, 1].
        tokens: Most tokens of all hits, or None.
        count: Counts tokens; needed with ``tokens``.
        fold: Let one hit stand for all that say the same words.
        shorten: With ``tokens``, show a passage of each memory when several are wanted.

    Returns:
        The answer; the same arguments give the same answer.

    Raises:
        ValueError: If ``tokens`` is given without ``count``.
    """
    if tokens is not None and count is None:
        raise ValueError("tokens needs count")
    mask = allow(snap, Filters(now=to_micros(now))) if allowed is None else allowed
    if not snap.n or k == 0 or not mask.any():
        return Ranking()
    query = _parse(text, snap, now, config)
    if k is None:
        k = config.many if query.wants_several else config.few
    meaning = _meaning(snap, vector, nearest, config)
    texts = _Texts(snap, source)
    look = _Look(query, snap, source, mask, config, meaning, texts, text, rerank)
    called = [] if match == "text" else snap.names.called(query.words, _shown(mask))
    room = _Room(look, k, min_score, cutoff, tokens, count, shorten=shorten)
    answer, ranks = _collect(look, called, room, match == "names", fold=fold)
    hits = room.choose(answer)
    found = tuple(_found(one, snap, ranks, room.passages.get(one.row)) for one in hits)
    return Ranking(found, _sure(hits[:_SURE], config))


def _sure(hits: Sequence[Candidate], config: RetrieveConfig) -> float:
    """Estimate the chance that an answer is among the hits: no less than that of the best one."""
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
    last = snap.last_at // _YEAR + _EPOCH_YEAR
    first = max(snap.first_at // _YEAR + _EPOCH_YEAR, last - _MAX_SPAN)
    years = range(first - 1, last + 2)
    return parse(text, now=now.date(), years=years, people=snap.people, max_terms=config.terms)


def _gather(look: _Look, called: Sequence[Called]) -> _Gathered:
    """Collect candidates from every way of looking."""
    query, snap, config = look.query, look.snap, look.config
    postings = lexical.look_up(query, snap, look.source, look.mask, config)
    words = lexical.bm25(query, postings, snap, config)
    matching = np.flatnonzero((words.score > 0) & look.mask)
    named = _exact(look) | _named(called)
    found = {
        "text": best_rows(matching, words.score, config.arm),
        "meaning": _near(look, words),
        "name": _in_order(named, rank.BY_NAME, 1.0),
        "exact": _in_order(named, 0.0, rank.BY_NAME),
    }
    arms = {
        name: dict(zip(rows.tolist(), range(1, len(rows) + 1), strict=True))
        for name, rows in found.items()
    }
    more = max(len(found["text"]), len(found["meaning"])) >= config.arm
    return _Gathered(distinct(np.concatenate(list(found.values()))), arms, words, named, more)


def _near(look: _Look, words: lexical.Lexical) -> Rows:
    """Propose by vector what is above the noise, or has a word of the query at least."""
    if look.meaning is None:
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
    """Value each memory called by name, (0.5, 1]: longer names and exact spelling more."""
    values: dict[int, float] = {}
    for name in called:
        value = 1 - _TYPO * name.typos - _TERSE / (1 + name.length)
        for row in name.rows:
            values[row] = max(values.get(row, 0.0), value)
    return values


def _exact(look: _Look) -> dict[int, float]:
    """Value each memory that holds an identifier or quoted phrase letter for letter, (0, 0.5]."""
    held: dict[int, int] = {}
    for phrase in look.query.exact:
        match = match_term(" ".join(spelling.terms(phrase)))
        reader = lexical.Reader(look.snap, look.source, look.mask, _MAX_EXACT, _MAX_EXACT)
        (place,) = reader.read([match])
        rows = place.rows[look.mask[place.rows]][-_MAX_EXACT:]
        written = spelling.squeeze(phrase)
        known = look.texts.read(rows.tolist())
        for row in rows.tolist():
            if spelling.holds(spelling.squeeze(known[row]), written):
                held[row] = held.get(row, 0) + 1
    return {row: rank.BY_NAME * hits / len(look.query.exact) for row, hits in held.items()}


def _asks_no_more(query: Query, called: Sequence[Called]) -> bool:
    """Tell whether a query is a name and stop words."""
    spoken = {at for name in called for at in range(name.start, name.start + name.length)}
    left = [word for at, word in enumerate(query.words) if at not in spoken]
    return all(word in spelling.STOP_WORDS or word in spelling.META_WORDS for word in left)


class _Room:
    """What can be handed out: so many hits, good enough, within so many tokens.

    Attributes:
        passages: Row to what is shown of a long text in its place.
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
        self._shorten = shorten and look.query.wants_several
        self._prices: dict[int, int] = {}
        self.passages: dict[int, str] = {}

    def choose(self, ranked: Sequence[Candidate]) -> list[Candidate]:
        """Take what is handed out of the candidates, best first."""
        good = rank.cut(ranked, self._min_score, self._cutoff)
        return budget.within(good, self._k, self._tokens, self._price)

    def full(self, ranked: Sequence[Candidate]) -> bool:
        """Tell whether nothing that comes after these candidates would be handed out.

        A budget counts as spent when none of the best candidates, as many as a way of looking
        proposes, would fit into what is left of it.
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
            room = self._look.config.passage
            if self._shorten and room is not None and len(text) > room:
                self.passages[one.row] = text = passage(text, self._look.query.topic, room)
            self._prices[one.row] = self._count(text)
        return self._prices[one.row]


def _collect(
    look: _Look, called: Sequence[Called], room: _Room, only_named: bool, *, fold: bool
) -> tuple[list[Candidate], Mapping[str, Mapping[int, int]]]:
    """Find candidates until there is no room for more, looking wider as long as there is.

    What is done with one candidate never depends on the room, and what stands keeps its place:
    asking for more changes nothing in what came before.

    Returns:
        The candidates, best first; and the ways by which candidates were found, each with their
        ranks there.
    """
    answer = rank.Answer(look.query.words, look.config.echo, fold=fold)
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
        arm = look.config.arm * _WIDER
        wider = replace(look.config, arm=arm, cap=max(look.config.cap, arm))
        look = replace(look, config=wider)


def _judge(look: _Look, gathered: _Gathered, known: Rows, most: float) -> _Judged:
    """Order the candidates but those that are known already; none has more than the most."""
    weighed = _weigh(look, gathered)
    sums, parts = rank.total(weighed, look.config.weights)
    seen = confidence.signs(weighed, sums, look.config.weights)
    if look.rerank is not None and not len(known):
        parts["reranked"] = _reranked(look, weighed.rows, sums, look.rerank)
        sums = sums + parts["reranked"]
    scores = rank.scale(sums, rank.strength(weighed.cosine, weighed.cover))
    named = np.zeros(len(weighed.rows), np.float32)
    if gathered.named:
        named[:] = [gathered.named.get(row, 0) for row in weighed.rows.tolist()]
        scores = rank.lift(scores, named)
    sure = np.maximum(named, confidence.of_hits(seen, look.config.sure))
    order = np.lexsort((-weighed.rows, -scores))
    if len(known):
        order = order[~np.isin(weighed.rows[order], known)]
        scores = np.minimum(scores, np.float32(most))
    return _Judged(order, weighed.rows, scores, sure, parts, seen)


def _weigh(look: _Look, gathered: _Gathered) -> Evidence:
    """Collect the evidence, with the texts of the most promising if dates are asked about."""
    query, snap, rows, words = look.query, look.snap, gathered.rows, gathered.words
    weighed = evidence.weigh(query, snap, rows, words, look.meaning)
    if not query.periods:
        return weighed
    sums, _ = rank.total(weighed, look.config.weights)
    dated = evidence.dated(query, snap, rows[np.argsort(-sums, kind="stable")]).tolist()
    known = look.texts.read(dated)
    return evidence.with_said_dates(query, snap, weighed, {row: known[row] for row in dated})


def _reranked(look: _Look, rows: Rows, sums: Floats, rerank: Rerank) -> Floats:
    """Have the best candidates judged by the reranker; the others get nothing."""
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
    )
