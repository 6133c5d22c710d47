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
from memento.retrieve.query import Query, match_any, match_term
from memento.retrieve.roster import LIVE, Floats, Rows, Snapshot
from memento.retrieve.source import Source

_IDF_FLOOR = 1e-6  # a word in more than half of the rows still counts, barely


@dataclass(frozen=True, slots=True, eq=False)
class Posting:
    """Where one word stands.

    Attributes:
        own: Rows that hold it.
        head: Rows whose head holds it.
        df: Rows that hold it in the whole namespace, estimated for a frequent word.
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


def look_up(query: Query, snap: Snapshot, source: Source, config: RetrieveConfig) -> list[Posting]:
    """Fetch where each word of a query stands, reading at most ``config.cap`` rows for each.

    A word with more rows than that is read only where rarer words of the query are too; when all
    are as frequent, where all are together, and in the newest rows.
    """
    first = [source.postings(match_term(term), config.cap) for term in query.terms]
    full = [len(docids) >= config.cap for docids in first]
    rare = [term for term, docids in zip(query.terms, first, strict=True) if 0 < len(docids) < config.cap]
    if all(full) and len(full) > 1:
        beside = " AND ".join(match_term(term) for term in query.terms)
    else:
        beside = match_any(rare)
    return [
        _posting(term, docids, snap, source, config.cap, beside if many else "", keep=not rare)
        for term, docids, many in zip(query.terms, first, full, strict=True)
    ]


def _posting(term: str, docids: NDArray[np.int64], snap: Snapshot, source: Source, cap: int, beside: str, *, keep: bool) -> Posting:
    own = snap.rows_of(docids)
    df = float(len(own))
    among = ""
    if beside:
        df = _estimated_df(own, snap.n)
        among = f" AND ({beside})"
        joint = snap.rows_of(source.postings(match_term(term) + among, cap))
        own = np.union1d(own, joint) if keep else joint
    return Posting(own, _head(term, among, snap, source, cap), df)


def _head(term: str, among: str, snap: Snapshot, source: Source, cap: int) -> Rows:
    if not len(snap.sessions):
        return np.zeros(0, np.intp)  # nobody has neighbours
    return snap.rows_of(source.postings(match_term(term, "head") + among, cap))


def _estimated_df(newest: Rows, n: int) -> float:
    """Estimate how many rows hold a word from how densely its newest ones lie."""
    return len(newest) * n / max(1, n - int(newest[0])) if len(newest) else 0.0


def bm25(query: Query, postings: Sequence[Posting], snap: Snapshot, config: RetrieveConfig) -> Lexical:
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
    """Weigh a word by how few rows hold it, > 0."""
    return max(_IDF_FLOOR, math.log((n - df + 0.5) / (df + 0.5))) if df < n else _IDF_FLOOR


def _saturated(tf: Floats, length: Floats, config: RetrieveConfig) -> Floats:
    norm = config.k1 * (1 - config.b + config.b * length)
    return tf * np.float32(config.k1 + 1) / (tf + norm)


def _count(tf: Floats, posting: Posting, snap: Snapshot, config: RetrieveConfig) -> Rows:
    """Add the counts of one word to ``tf`` and return the rows that have one."""
    tf[posting.own] += 1
    touched = [posting.own]
    for rows, share in _windows(posting.head, snap, config):
        tf[rows] += np.float32(share)  # each row once: a turn is the next one of one turn only
        touched.append(rows)
    return np.concatenate(touched)


def _windows(
    head: Rows, snap: Snapshot, config: RetrieveConfig
) -> Iterator[tuple[Rows, float]]:
    """Yield the rows that have these rows as neighbours, and what such a neighbour counts."""
    if not len(head):
        return
    heard = head[snap.status[head] <= LIVE]
    for step in (1, -1):
        first = snap.neighbours(heard, step)
        second = snap.neighbours(first, step)
        yield first[first >= 0], config.near
        yield second[second >= 0], config.far


def _add_sessions(scores: Floats, posting: Posting, weight: float, snap: Snapshot, config: RetrieveConfig) -> None:
    session = snap.session[posting.own]
    session = session[session >= 0]
    if len(session):
        tf = np.bincount(session, minlength=len(scores))
        codes = np.flatnonzero(tf)
        mean = max(1.0, float(snap.sessions.mean()))
        length = (snap.sessions[codes] / mean).astype(np.float32)
        scores[codes] += weight * _saturated(tf[codes].astype(np.float32), length, config)
