"""BM25 over the postings of a full-text index, with statistics of one namespace.

The index only says which rows hold a word, in the head and anywhere; everything else is here. So
another namespace never moves a score, filters apply before any limit, and what the neighbouring
turns say counts without being stored twice.

Source: Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009; the
word counts are 0 or 1 per row, plus shares for the heads of the neighbours (BM25F with the
neighbours as fields).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memento.retrieve.config import RetrieveConfig
from memento.retrieve.query import Query, in_column, match_start, match_term
from memento.retrieve.roster import LIVE, Floats, Mask, Rows, Snapshot
from memento.retrieve.source import Source
from memento.text import STOP_WORDS, is_unspaced

_STARTS = (5, 4)  # first letters by which a word is looked for that nobody wrote
_FARTHER = 8  # times as many rows are read when too few of them are wanted


@dataclass(frozen=True, slots=True, eq=False)
class Posting:
    """Where one word stands.

    Attributes:
        own: Rows that hold it.
        head: Rows whose head holds it.
        df: Rows that hold it in the whole namespace and count for statistics, see `LIVE`; estimated
            for a frequent word.
    """

    own: Rows
    head: Rows
    df: float


@dataclass(frozen=True, slots=True, eq=False)
class Lexical:
    """What the words of a query say of each row.

    Attributes:
        score: (n,) BM25 with neighbours, >= 0.
        cover: (n,) share of the query's idf found in the row and its neighbours, [0, 1].
        matched: (n,) bit i set: the row itself holds term i.
        sessions: BM25 of each session, >= 0.
    """

    score: Floats
    cover: Floats
    matched: NDArray[np.uint32]
    sessions: Floats


def look_up(
    query: Query, snap: Snapshot, source: Source, mask: Mask, config: RetrieveConfig
) -> list[Posting]:
    """Fetch where each word of a query stands, see `read`.

    A word with more rows than that is read only where rarer words of the query are too; when all
    are as frequent, where all are together, and in the newest rows. A word that nobody wrote is
    looked for by its first letters, see `_by_start`.
    """
    reader = _Reader(snap, source, mask, config)
    loose = _no_question(query)
    found = [_by_word(term, reader, loose=loose) for term in query.terms]
    rare = [match for match, place in found if place.whole and len(place.rows)]
    every = [match for match, _ in found]
    match = " OR ".join(rare) or (" AND ".join(every) if len(every) > 1 else "")
    beside = _Beside(reader, match, keep=not rare)
    return [_posting(match, place, beside) for match, place in found]


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where an expression matches.

    Attributes:
        rows: Ascending rows: the newest, and of those that are wanted perhaps older ones.
        whole: Whether no other row that is wanted matches.
    """

    rows: Rows
    whole: bool


def read(match: str, snap: Snapshot, source: Source, mask: Mask, *, cap: int, enough: int) -> Place:
    """Read the newest rows where an expression matches, and older ones if too few are wanted.

    However many rows match that are not wanted (others' words that wait in quarantine, what was
    forgotten or replaced, what a filter leaves out), those that are wanted are found among them.

    Args:
        match: An FTS5 expression.
        snap: The namespace.
        source: Where postings come from.
        mask: (n,) which rows are wanted.
        cap: Rows read at first, >= 1.
        enough: Wanted rows for which no older ones are read, >= 1.
    """
    limit = cap
    while True:
        docids = source.postings(match, limit)
        rows = snap.rows_of(docids)
        whole = len(docids) < limit
        if limit == cap and whole:
            return Place(rows, whole)
        if whole or np.count_nonzero(mask[rows]) >= enough:
            newest = np.arange(len(rows)) >= len(rows) - cap
            return Place(rows[newest | mask[rows]], whole)
        limit *= _FARTHER


@dataclass(frozen=True, slots=True, eq=False)
class _Reader:
    """Reads the postings of one query."""

    snap: Snapshot
    source: Source
    mask: Mask
    config: RetrieveConfig

    def read(self, match: str) -> Place:
        cap, enough = self.config.cap, min(self.config.arm, self.config.cap)
        return read(match, self.snap, self.source, self.mask, cap=cap, enough=enough)


def _no_question(query: Query) -> bool:
    """Tell whether a query is in keywords or in another language: few English stop words.

    A word missing from a question in English, whose forms the index knows, is mostly a word that
    the answer does not use, and what starts like it leads astray.
    """
    return 4 * sum(word in STOP_WORDS for word in query.words) <= len(query.words)


def _by_word(term: str, reader: _Reader, *, loose: bool) -> tuple[str, Place]:
    """Return what finds a word, and where."""
    match = match_term(term)
    place = reader.read(match)
    if loose and not len(place.rows):
        return next(_by_start(term, reader), (match, place))
    return match, place


def _by_start(term: str, reader: _Reader) -> Iterator[tuple[str, Place]]:
    """Yield what finds the words that start as a long word does, most letters first.

    For other forms of the word, and for compounds it is the first part of.
    """
    if not term.isalpha() or is_unspaced(term):
        return
    for letters in _STARTS:
        if letters < len(term):
            match = match_start(term[:letters])
            place = reader.read(match)
            if len(place.rows):
                yield match, place


@dataclass(frozen=True, slots=True, eq=False)
class _Beside:
    """Where a frequent word is read: beside which others, and whether in the newest rows too."""

    reader: _Reader
    match: str
    keep: bool

    def own(self, match: str, among: str) -> Rows:
        return self.reader.read(match + among).rows

    def head(self, match: str, among: str = "") -> Rows:
        if not len(self.reader.snap.sessions):
            return np.zeros(0, np.intp)  # nobody has neighbours
        return self.reader.read(in_column("head", match) + among).rows


def _posting(match: str, place: Place, look: _Beside) -> Posting:
    own, snap = place.rows, look.reader.snap
    heard = own[snap.status[own] <= LIVE]
    if place.whole or not look.match:
        return Posting(own, look.head(match), float(len(heard)))
    df = _estimated_df(heard, snap.n)
    among = f" AND ({look.match})"
    joint = look.own(match, among)
    own = np.union1d(own, joint) if look.keep else joint
    return Posting(own, look.head(match, among), df)


def _estimated_df(newest: Rows, n: int) -> float:
    """Estimate how many rows hold a word from how densely its newest ones lie."""
    return len(newest) * n / max(1, n - int(newest[0])) if len(newest) else 0.0


def bm25(
    query: Query, postings: Sequence[Posting], snap: Snapshot, config: RetrieveConfig
) -> Lexical:
    """Score every row that holds a word of the query, or whose neighbours do.

    Args:
        query: The query the postings belong to.
        postings: One for each of ``query.terms``.
        snap: The namespace.
        config: k1, b, near, far.
    """
    score, mass = np.zeros(snap.n, np.float32), np.zeros(snap.n, np.float32)
    tf, matched = np.zeros(snap.n, np.float32), np.zeros(snap.n, np.uint32)
    sessions = np.zeros(len(snap.sessions), np.float32)
    total = 0.0
    for bit, (term, posting) in enumerate(zip(query.terms, postings, strict=True)):
        rows = _count(tf, posting, snap, config)  # a row may stand in it several times,
        weight = idf(posting.df, snap.live)  # so what is written below depends on the row alone
        total += weight
        length = snap.window_words[rows] / np.float32(snap.mean_window)
        score[rows] = score[rows] + weight * _saturated(tf[rows], length, config)
        mass[rows] = mass[rows] + np.float32(weight)
        matched[posting.own] |= np.uint32(1 << bit)
        tf[rows] = 0
        if term in query.topic:
            _add_sessions(sessions, posting, weight, snap, config)
    return Lexical(score, mass / np.float32(total or 1.0), matched, sessions)


def idf(df: float, n: int) -> float:
    """Weigh a word by how few rows hold it, > 0.

    Source: Lucene's BM25; a word in most rows still counts a little, which tells the memories
    of a small store apart.
    """
    return math.log1p((max(n, df) - df + 0.5) / (df + 0.5))


def _saturated(tf: Floats, length: Floats, config: RetrieveConfig) -> Floats:
    norm: Floats = np.float32(config.k1) * (
        np.float32(1 - config.b) + np.float32(config.b) * length
    )
    counted: Floats = tf * np.float32(config.k1 + 1) / (tf + norm)
    return counted


def _count(tf: Floats, posting: Posting, snap: Snapshot, config: RetrieveConfig) -> Rows:
    """Add the counts of one word to ``tf`` and return the rows that have one."""
    tf[posting.own] += 1
    touched = [posting.own]
    for rows, share in _windows(posting.head, snap, config):
        tf[rows] += np.float32(share)  # each row once: a turn is the next one of one turn only
        touched.append(rows)
    return np.concatenate(touched)


def _windows(head: Rows, snap: Snapshot, config: RetrieveConfig) -> Iterator[tuple[Rows, float]]:
    """Yield the rows that have these rows as neighbours, and what such a neighbour counts."""
    if not len(head):
        return
    heard = head[snap.status[head] <= LIVE]
    for step in (1, -1):
        first = snap.neighbours(heard, step)
        second = snap.neighbours(first, step)
        yield first[first >= 0], config.near
        yield second[second >= 0], config.far


def _add_sessions(
    scores: Floats, posting: Posting, weight: float, snap: Snapshot, config: RetrieveConfig
) -> None:
    session = snap.session[posting.own]
    session = session[session >= 0]
    if len(session):
        tf = np.bincount(session, minlength=len(scores))
        codes = np.flatnonzero(tf)
        mean = max(1.0, float(snap.sessions.mean()))
        length = (snap.sessions[codes] / mean).astype(np.float32)
        scores[codes] += weight * _saturated(tf[codes].astype(np.float32), length, config)
