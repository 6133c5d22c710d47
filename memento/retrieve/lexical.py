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
from memento.retrieve.roster import LIVE, Floats, Mask, Rows, Snapshot, distinct
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
    """Fetch where each word of a query stands, see `Reader`.

    A word with more rows than that is read where rarer words of the query are too; when all are as
    frequent, where all are together; and in the newest rows, unless the rarer ones lead to enough
    memories that are wanted. What stands in none of those makes no word rare. A word that nobody
    wrote is looked for by its first letters, see `_by_start`.
    """
    reader = Reader(snap, source, mask, config.cap, min(config.arm, config.cap))
    found = _by_words(query, reader)
    rare = [match for match, place in found if place.whole and mask[place.rows].any()]
    keep = not rare or (len(rare) < len(found) and _reached(found, rare, mask) < reader.enough)
    every = [match for match, _ in found]
    match = " OR ".join(rare) or (" AND ".join(every) if len(every) > 1 else "")
    among = f" AND ({match})" if match else ""
    own = _own(found, reader, among, keep=keep)
    head = _heads(found, reader, among)
    df = [_df(place, snap, whole=not _frequent(place, among)) for _, place in found]
    return [Posting(*fields) for fields in zip(own, head, df, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where an expression matches.

    Attributes:
        rows: Ascending rows: the newest, and of those that are wanted perhaps older ones.
        whole: Whether no other row that is wanted matches.
    """

    rows: Rows
    whole: bool


_Find = tuple[str, Place]
"""An expression, and where it matches."""


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """Reads the newest rows where expressions match, and older ones if too few are wanted.

    However many rows match that are not wanted (others' words that wait in quarantine, what was
    forgotten or replaced, what a filter leaves out), those that are wanted are found among them.

    Attributes:
        snap: The namespace.
        source: Where postings come from.
        mask: (n,) which rows are wanted.
        cap: Rows read at first, >= 1.
        enough: Wanted rows for which no older ones are read, >= 1.
    """

    snap: Snapshot
    source: Source
    mask: Mask
    cap: int
    enough: int

    def read(self, matches: Sequence[str]) -> list[Place]:
        """Read where each FTS5 expression matches."""
        if not matches:
            return []
        newest = self.source.postings(matches, self.cap)
        return [self._farther(*one) for one in zip(matches, newest, strict=True)]

    def _farther(self, match: str, docids: NDArray[np.int64]) -> Place:
        limit, rows = self.cap, self.snap.rows_of(docids)
        if len(docids) < limit:
            return Place(rows, whole=True)
        while len(docids) == limit and np.count_nonzero(self.mask[rows]) < self.enough:
            limit *= _FARTHER
            (docids,) = self.source.postings([match], limit)
            rows = self.snap.rows_of(docids)
        newest = np.arange(len(rows)) >= len(rows) - self.cap
        return Place(rows[newest | self.mask[rows]], whole=len(docids) < limit)


def _no_question(query: Query) -> bool:
    """Tell whether a query is in keywords or in another language: few English stop words.

    A word missing from a question in English, whose forms the index knows, is mostly a word that
    the answer does not use, and what starts like it leads astray.
    """
    return 4 * sum(word in STOP_WORDS for word in query.words) <= len(query.words)


def _by_words(query: Query, reader: Reader) -> list[_Find]:
    """Return for each word what finds it, and where."""
    matches = [match_term(term) for term in query.terms]
    found = list(zip(matches, reader.read(matches), strict=True))
    if not _no_question(query):
        return found
    return [
        one if len(one[1].rows) else next(_by_start(term, reader), one)
        for term, one in zip(query.terms, found, strict=True)
    ]


def _by_start(term: str, reader: Reader) -> Iterator[_Find]:
    """Yield what finds the words that start as a long word does, most letters first.

    For other forms of the word, and for compounds it is the first part of.
    """
    if not term.isalpha() or is_unspaced(term):
        return
    for letters in _STARTS:
        if letters < len(term):
            match = match_start(term[:letters])
            (place,) = reader.read([match])
            if len(place.rows):
                yield match, place


def _reached(found: Sequence[_Find], rare: Sequence[str], mask: Mask) -> int:
    """Count the wanted rows that hold one of the rare words."""
    held = np.zeros(len(mask), np.bool_)
    for match, place in found:
        if match in rare:
            held[place.rows] = True
    return int(np.count_nonzero(held & mask))


def _frequent(place: Place, among: str) -> bool:
    """Tell whether a word has too many rows to read them all, and others to read it beside."""
    return bool(among) and not place.whole


def _own(found: Sequence[_Find], reader: Reader, among: str, *, keep: bool) -> list[Rows]:
    """Return the rows of each word that count.

    Args:
        found: What finds each word, and where.
        reader: Reads more.
        among: Where a frequent word is read, as the end of an expression.
        keep: Whether a frequent word is read in its newest rows too.
    """
    often = [match + among for match, place in found if _frequent(place, among)]
    joint = iter(reader.read(often))
    owned: list[Rows] = []
    for _, place in found:
        rows = place.rows
        if _frequent(place, among):
            beside = next(joint).rows
            rows = distinct(np.concatenate([rows, beside])) if keep else beside
        owned.append(rows)
    return owned


def _heads(found: Sequence[_Find], reader: Reader, among: str) -> list[Rows]:
    """Return the rows that have each word in their head."""
    if not len(reader.snap.sessions):  # nobody has neighbours
        return [np.zeros(0, np.intp)] * len(found)
    matches = [
        in_column("head", match) + (among if _frequent(place, among) else "")
        for match, place in found
    ]
    return [place.rows for place in reader.read(matches)]


def _df(place: Place, snap: Snapshot, *, whole: bool) -> float:
    """Count the rows that hold a word and count for statistics; estimate it if not all are read."""
    heard = place.rows[snap.status[place.rows] <= LIVE]
    return float(len(heard)) if whole else _estimated_df(heard, snap.n)


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
        if len(sessions) and term in query.topic:
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
    heard = posting.own[snap.status[posting.own] <= LIVE]
    session = snap.session[heard]
    session = session[session >= 0]
    if len(session):
        tf = np.bincount(session, minlength=len(scores))
        codes = np.flatnonzero(tf)
        mean = max(1.0, float(snap.sessions.mean()))
        length = (snap.sessions[codes] / mean).astype(np.float32)
        scores[codes] += weight * _saturated(tf[codes].astype(np.float32), length, config)
