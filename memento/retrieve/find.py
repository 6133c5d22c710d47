"""Find the memories that bear on a question: the whole read path, one call."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import numpy as np

from memento import text as spelling
from memento.ledger.predicate import Filters
from memento.ledger.rows import to_micros
from memento.protocols import TokenCounter
from memento.retrieve import budget, evidence, lexical, rank
from memento.retrieve.config import RetrieveConfig
from memento.retrieve.evidence import Evidence
from memento.retrieve.filters import allow
from memento.retrieve.meaning import Approximate, Exact, Meaning, best_rows
from memento.retrieve.names import Called
from memento.retrieve.query import Query, match_term, parse
from memento.retrieve.rank import Candidate, Said
from memento.retrieve.roster import Floats, Mask, Rows, Snapshot
from memento.retrieve.source import Nearest, Source

Match = Literal["auto", "names", "text"]
_MAX_EXACT = 200  # rows whose text is read for one identifier or quoted phrase
_LOOK = 20  # candidates whose texts are looked at, at least
_MAX_SPAN = 30  # years in which a date without a year is looked for
_EPOCH_YEAR, _YEAR = 1970, 31_556_952_000_000  # microseconds of a mean Gregorian year


@dataclass(frozen=True, slots=True)
class Found:
    """One memory found.

    Attributes:
        docid: Its row id.
        score: [0, 1], not increasing along the answer.
        confidence: Estimated chance that it bears on the query, [0, 1].
        terms: Piece of evidence to what it added.
        ranks: Way of looking (``text``, ``meaning``, ``name``, ``exact``) to its rank there, from 1.
        folded: Row ids of near-identical memories it stands for.
    """

    docid: int
    score: float
    confidence: float
    terms: Mapping[str, float]
    ranks: Mapping[str, int]
    folded: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer of `find`.

    Attributes:
        found: Best first.
        confidence: Estimated chance that the answer is among them, [0, 1]; 0 if there are none.
    """

    found: tuple[Found, ...] = ()
    confidence: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class _Gathered:
    """Candidates and how each was come by."""

    rows: Rows
    arms: Mapping[str, Mapping[int, int]]
    words: lexical.Lexical
    meaning: Meaning | None
    named: Mapping[int, float]


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


def find(
    text: str,
    snap: Snapshot,
    source: Source,
    vector: Floats | None,
    config: RetrieveConfig,
    *,
    now: datetime,
    k: int = 5,
    match: Match = "auto",
    allowed: Mask | None = None,
    nearest: Nearest | None = None,
    min_score: float = 0.0,
    cutoff: float = 0.0,
    tokens: int | None = None,
    count: TokenCounter | None = None,
) -> Ranking:
    """Find the memories of one namespace that bear on a question.

    Args:
        text: The question, any string.
        snap: The namespace.
        source: Where postings and texts come from; of the same namespace.
        vector: (dim,) embedding of the question, unit length; None to go by words alone.
        config: How to look and judge.
        now: The present, timezone-aware; relative dates count from it.
        k: Most hits, >= 0.
        match: ``names``: only memories whose key or alias the question names; ``text``: names do
            not count; ``auto``: named ones first, and alone if nothing else is asked.
        allowed: (snap.n,) rows that may be found, see `filters.allow`; None for all active ones.
        nearest: Searches by vector in place of the exact path.
        min_score: Least score, [0, 1].
        cutoff: Least share of the best score, [0, 1].
        tokens: Most tokens of all hits, or None.
        count: Counts tokens; needed with ``tokens``.

    Returns:
        The answer; the same arguments give the same answer.

    Raises:
        ValueError: If ``tokens`` is given without ``count``.
    """
    if tokens is not None and count is None:
        raise ValueError("tokens needs count")
    mask = allow(snap, Filters(now=to_micros(now))) if allowed is None else allowed
    if not snap.n or k < 1 or not mask.any():
        return Ranking()
    query = _parse(text, snap, now, config)
    texts = _Texts(snap, source)
    called = [] if match == "text" else snap.names.called(query.words)
    gathered = _gather(query, snap, source, vector, nearest, mask, config, called, texts)
    rows = gathered.rows
    if match == "names" or (called and _asks_no_more(query, called)):
        rows = np.array(sorted(row for row, value in gathered.named.items() if value > 0.5), np.intp)  # noqa: PLR2004 - see `rank.lift`
    if not len(rows):
        return Ranking()
    ranked = _rank(query, snap, rows, gathered, texts, config, k)
    ranked = rank.cut(ranked, min_score, cutoff)
    price = (lambda one: count(texts.read([one.row])[one.row])) if count else (lambda _one: 0)
    hits = budget.within(ranked, k, tokens, price)
    found = tuple(_found(one, snap, gathered.arms) for one in hits)
    return Ranking(found, rank.overall([one.confidence for one in hits[:10]]))


def _parse(text: str, snap: Snapshot, now: datetime, config: RetrieveConfig) -> Query:
    last = snap.last_at // _YEAR + _EPOCH_YEAR
    first = max(snap.first_at // _YEAR + _EPOCH_YEAR, last - _MAX_SPAN)
    years = range(first - 1, last + 2)
    return parse(text, now=now.date(), years=years, people=snap.people, max_terms=config.terms)


def _gather(query: Query, snap: Snapshot, source: Source, vector: Floats | None, nearest: Nearest | None, mask: Mask,
            config: RetrieveConfig, called: Sequence[Called], texts: _Texts) -> _Gathered:  # fmt: skip
    """Collect candidates from every way of looking."""
    words = lexical.bm25(query, lexical.look_up(query, snap, source, config), snap, config)
    meaning = _meaning(snap, vector, nearest, config)
    by_text = best_rows(np.flatnonzero((words.score > 0) & mask), words.score, config.arm)
    arms: dict[str, Rows] = {"text": by_text}
    if meaning is not None:
        near = meaning.propose(mask, config.arm)
        cosines = meaning.of(near)
        heard = np.maximum(cosines.own, cosines.smooth) >= config.noise
        arms["meaning"] = near[heard | (words.cover[near] > 0)]
    named = _exact(query, snap, source, mask, texts) | _named(called, mask)
    arms["name"] = _in_order(named, 0.5, 1.0)
    arms["exact"] = _in_order(named, 0.0, 0.5)
    rows = np.unique(np.concatenate(list(arms.values()))).astype(np.intp)
    places = {name: {row: at for at, row in enumerate(found.tolist(), 1)} for name, found in arms.items()}
    return _Gathered(rows, places, words, meaning, named)


def _meaning(snap: Snapshot, vector: Floats | None, nearest: Nearest | None, config: RetrieveConfig) -> Meaning | None:
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


def _named(called: Sequence[Called], mask: Mask) -> dict[int, float]:
    """Value each memory called by name, (0.5, 1]: longer names and exact spelling more."""
    values: dict[int, float] = {}
    for name in called:
        value = 1 - 0.2 * min(name.typos, 1) - 0.2 / (1 + name.length)
        for row in name.rows:
            if row < len(mask) and mask[row]:
                values[row] = max(values.get(row, 0.0), value)
    return values


def _exact(query: Query, snap: Snapshot, source: Source, mask: Mask, texts: _Texts) -> dict[int, float]:
    """Value each memory that holds an identifier or quoted phrase letter for letter, (0, 0.5]."""
    held: dict[int, int] = {}
    for phrase in query.exact:
        match = match_term(" ".join(spelling.terms(phrase)))
        rows = snap.rows_of(source.postings(match, _MAX_EXACT))
        rows = rows[mask[rows]]
        written = re.compile(rf"(?<!\w){re.escape(spelling.squeeze(phrase))}(?!\w)")
        known = texts.read(rows.tolist())
        for row in rows.tolist():
            if written.search(spelling.squeeze(known[row])):
                held[row] = held.get(row, 0) + 1
    return {row: 0.5 * hits / len(query.exact) for row, hits in held.items()}


def _asks_no_more(query: Query, called: Sequence[Called]) -> bool:
    """Tell whether a query is a name and stop words."""
    spoken = {at for name in called for at in range(name.start, name.start + name.length)}
    left = [word for at, word in enumerate(query.words) if at not in spoken]
    return all(word in spelling.STOP_WORDS or word in spelling.META_WORDS for word in left)


def _rank(
    query: Query, snap: Snapshot, rows: Rows, gathered: _Gathered, texts: _Texts, config: RetrieveConfig, k: int
) -> list[Candidate]:
    """Order the candidates; at least k of them, if there are as many that say different things."""
    cosines = None if gathered.meaning is None else gathered.meaning.of(rows)
    known = texts.read(evidence.dated(query, snap, rows).tolist())
    weighed = evidence.weigh(query, snap, rows, gathered.words, cosines, known)
    sums, parts = rank.total(weighed, config.weights)
    scores = rank.scale(sums, rank.strength(weighed.cosine, weighed.cover))
    named = np.array([gathered.named.get(row, 0.0) for row in rows.tolist()], np.float32)
    if gathered.named:
        scores = rank.lift(scores, named)
    sure = np.maximum(named, rank.confidence(weighed.cosine, weighed.cover, config))
    order = np.lexsort((-rows, -scores))
    top = max(_LOOK, k + k // 2)
    while True:
        table = np.stack(list(parts.values()))[:, order[:top]].T.tolist()
        best = [
            _candidate(at, weighed, snap, gathered, scores, sure, dict(zip(parts, terms, strict=True)))
            for at, terms in zip(order[:top].tolist(), table, strict=True)
        ]
        known = texts.read([one.row for one in best])
        said = {one.row: Said.of(known[one.row]) for one in best}
        mended = rank.demote_echoes(best, said, query.words, config.echo)
        mended = rank.fold(rank.newest_first(mended, said), said)
        if len(mended) >= k or top >= len(rows):
            return mended
        top *= 2


def _candidate(
    at: int, weighed: Evidence, snap: Snapshot, gathered: _Gathered, scores: Floats, sure: Floats, terms: Mapping[str, float]
) -> Candidate:
    row = int(weighed.rows[at])
    return Candidate(
        row=row,
        score=float(scores[at]),
        confidence=float(sure[at]),
        terms=terms,
        matched=int(gathered.words.matched[row]),
        actor=int(snap.actor[row]),
        question=bool(snap.cues[row] & np.uint32(spelling.Cue.QUESTION)),
    )


def _found(one: Candidate, snap: Snapshot, arms: Mapping[str, Mapping[int, int]]) -> Found:
    return Found(
        docid=int(snap.docid[one.row]),
        score=one.score,
        confidence=one.confidence,
        terms={name: value for name, value in one.terms.items() if value},
        ranks={name: places[one.row] for name, places in arms.items() if one.row in places},
        folded=tuple(int(snap.docid[row]) for row in one.folded),
    )
