"""Search by words: BM25 over the postings of a full-text index, with statistics per namespace.

The index only tells which rows have a word, in the head and anywhere; the scores are computed here.
So another namespace never changes a score, filters apply before any limit, and the words of
neighbouring turns contribute without being stored twice.

Source: Robertson & Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009; the
word counts are 0 or 1 per row, plus shares for the heads of the neighbours (BM25F with the
neighbours as fields).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from memento.config import RetrieveConfig
from memento.ledger.match import All, Any, Match, Start
from memento.retrieve import spellings
from memento.retrieve.columns import Floats, Mask, Rows, Snapshot, distinct
from memento.retrieve.inputs import TextSource
from memento.retrieve.question import Query, match_term
from memento.retrieve.spellings import Vocabulary
from memento.text.words import EMPTY_WORDS, STOP_WORDS, is_unspaced

_STARTS = (5, 4)  # first letters by which a word is looked for that is in no memory
_BLOCK, _BLOCKS = 10_000, 3  # the words of so many blocks of memories, and of the rest, are known
_MANY = 8  # so many times fewer rows are cheaper to sort than all rows are to look at
_FARTHER = 8  # so many times more rows are read when too few of them are wanted


@dataclass(frozen=True, slots=True, eq=False)
class Like:
    """The rows that have another word for the same as a word.

    Attributes:
        rows: Ascending.
        df: Number of heard rows that have the word or another one for the same, at most.
    """

    rows: Rows
    df: float


_NO_ROWS: Rows = np.zeros(0, np.intp)
_NOTHING_LIKE = Like(_NO_ROWS, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Posting:
    """The rows in which one word occurs.

    Attributes:
        own: Rows that have it.
        head: Rows whose head has it.
        df: Number of heard rows of the namespace that have it; estimated for a frequent word.
        alike: How well the word that the rows have is the word of the query, (0, 1].
        weight: How much the word says about the subject of the query, (0, 1].
        like: Rows that have another word for the same.
    """

    own: Rows
    head: Rows
    df: float
    alike: float = 1.0
    weight: float = 1.0
    like: Like = _NOTHING_LIKE


@dataclass(frozen=True, slots=True, eq=False)
class Lexical:
    """Scores of each row by the words of a query.

    Attributes:
        rows: The rows that score, ascending.
        score: (n,) BM25 with neighbours, >= 0.
        cover: (n,) share of the query's idf found in the row and its neighbours, [0, 1].
        matched: (n,) bit i is set if the row itself has term i.
        sessions: BM25 of each session, >= 0.
        unknown: Share of the query's idf in words that tell what it is about and that no memory
            has, in any spelling or as another word for the same, [0, 1].
    """

    rows: Rows
    score: Floats
    cover: Floats
    matched: NDArray[np.uint32]
    sessions: Floats
    unknown: float = 0.0


def look_up(query: Query, reader: Reader) -> list[Posting]:
    """Fetch the rows in which each word of a query occurs, see `Reader`.

    A word with more rows than `Reader.cap` is read only in some of them: in rows that also have a
    rarer word of the query or, if all words are that frequent, in rows that have all of them; and
    in the newest rows, unless the rarer words lead to enough wanted memories. Rows that are not
    read do not make a word rare. A word that is in no memory is looked for with a typing error,
    see `spellings`, or by its first letters, see `_by_start`.
    """
    snap, mask = reader.snap, reader.mask
    lone, noted = snap.lone, snap.noted
    matches = [query.forms.get(term) or match_term(term) for term in query.terms]
    meant = [spellings.synonyms(term) if noted else None for term in query.terms]
    places, others = reader.read_all(matches, meant)
    found = _by_words(query, reader, matches, places)
    rare = [one.match for one in found if one.place.whole and mask[one.place.rows].any()]
    keep = not rare or (len(rare) < len(found) and _reached(found, rare, mask) < reader.enough)
    every = [one.match for one in found]
    among = Any((*rare,)) if rare else All((*every,)) if len(every) > 1 else None
    unknown = [] if noted else _other_words(query, found)
    joint, heads, late = reader.read_all(
        _narrowed(found, among), _in_heads(found, among, snap), unknown
    )
    own = _own(found, joint, keep=keep)
    head = [_NO_ROWS if place is None else place.rows for place in heads]
    df = [_df(one.place, snap, whole=not _frequent(one.place, among)) for one in found]
    alike = [one.alike for one in found]
    present = dict(zip(query.terms, (bool(len(rows)) for rows in own), strict=True))
    weights = spellings.weights(query.terms, present).values()
    like = _like(found, others if noted else late, snap, lone)
    columns = (own, head, df, alike, weights, like)
    return [Posting(*fields) for fields in zip(*columns, strict=True)]


def _other_words(query: Query, found: Sequence[_Find]) -> list[Match | None]:
    """Return what finds another word for the same as each word that no memory has."""
    return [
        None if len(one.place.rows) else spellings.synonyms(term)
        for term, one in zip(query.terms, found, strict=True)
    ]


def _like(
    found: Sequence[_Find], others: Sequence[Place | None], snap: Snapshot, lone: Mask
) -> list[Like]:
    """Find for each word the rows that have another word for the same.

    In a conversation people rarely mean another word where the word itself is used. A note stands
    for itself: that a lunch "break" was told does not mean that nobody wrote "fracture".
    """
    like: list[Like] = []
    for one, other in zip(found, others, strict=True):
        if other is None:
            like.append(_NOTHING_LIKE)
            continue
        df = sum(_df(place, snap, whole=place.whole) for place in (one.place, other))
        rows = other.rows[lone[other.rows]] if len(one.place.rows) else other.rows
        like.append(Like(rows, df))
    return like


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """The rows that an expression matches.

    Attributes:
        rows: Ascending rows: the newest matches, and older ones if they are wanted.
        whole: Whether no other wanted row matches.
    """

    rows: Rows
    whole: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Find:
    """An expression, the rows that it matches, and how well it stands for a word of the query."""

    match: Match
    place: Place
    alike: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """Reads the newest rows that match expressions, and older ones if too few are wanted.

    Wanted rows are found however many unwanted rows match (superseded ones, those that a filter
    leaves out). Rows that are neither heard nor wanted (quarantined ones, forgotten ones) are
    skipped as if they did not exist.

    Attributes:
        snap: The namespace.
        source: Source of the postings.
        mask: (n,) which rows are wanted.
        cap: Rows read at first, >= 1.
        enough: Number of wanted rows that makes older ones unnecessary, >= 1.
        seen: (n,) which rows are heard or wanted; None for all.
    """

    snap: Snapshot
    source: TextSource
    mask: Mask
    cap: int
    enough: int
    seen: Mask | None

    @classmethod
    def of(cls, snap: Snapshot, source: TextSource, mask: Mask, cap: int, enough: int) -> Self:
        """Make a reader; see the attributes."""
        seen = None if snap.live == snap.n else snap.heard | mask
        return cls(snap, source, mask, cap, enough, seen)

    def read(self, matches: Sequence[Match]) -> list[Place]:
        """Read the rows that each FTS5 expression matches."""
        if not matches:
            return []
        limit = self.cap + min(self.cap, self._unseen)  # usually one read is enough
        newest = self.source.postings(matches, limit)
        return [self._farther(*one, limit) for one in zip(matches, newest, strict=True)]

    def read_all(self, *lists: Sequence[Match | None]) -> list[list[Place | None]]:
        """Read the rows of several lists of expressions at once, which costs less than one by one.

        Args:
            lists: The lists; where one has None, so has what is returned.
        """
        places = iter(self.read([match for one in lists for match in one if match is not None]))
        return [[None if match is None else next(places) for match in one] for one in lists]

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of the namespace: of its newest memories, if it has very many."""
        return self.source.vocabulary(known_from(self.snap))

    @property
    def _unseen(self) -> int:
        return 0 if self.seen is None else len(self.seen) - int(np.count_nonzero(self.seen))

    def _farther(self, match: Match, docids: NDArray[np.int64], limit: int) -> Place:
        count = self.cap
        rows = self._newest(match, docids, limit, count)
        while len(rows) == count and np.count_nonzero(self.mask[rows]) < self.enough:
            count *= _FARTHER
            (docids,) = self.source.postings([match], count)
            rows = self._newest(match, docids, count, count)
        whole = len(rows) < count
        if len(rows) > self.cap:
            newest = np.arange(len(rows)) >= len(rows) - self.cap
            rows = rows[newest | self.mask[rows]]
        return Place(rows, whole)

    def _newest(self, match: Match, docids: NDArray[np.int64], limit: int, count: int) -> Rows:
        """Return the newest rows that match; read on as long as too few of them are visible.

        Args:
            match: FTS5 expression.
            docids: Its docids that were already read.
            limit: Most docids that were asked for.
            count: Most rows to return.
        """
        rows = self._visible(docids)
        while len(rows) < count and len(docids) == limit:
            limit *= _FARTHER
            (docids,) = self.source.postings([match], limit)
            rows = self._visible(docids)
        return rows[-count:]

    def _visible(self, docids: NDArray[np.int64]) -> Rows:
        rows = self.snap.rows_of(docids)
        return rows if self.seen is None else rows[self.seen[rows]]


def known_from(snap: Snapshot) -> int:
    """Return the docid of the oldest memory whose words are known; 0 for all memories."""
    skipped = max(0, snap.n // _BLOCK - _BLOCKS) * _BLOCK
    return int(snap.docid[skipped]) if skipped else 0


def _no_question(query: Query) -> bool:
    """Tell whether a query is keywords or in another language: it has few English stop words.

    In an English question, a word without a match is usually absent from the answer as well (the
    index stems English), and prefix matches for it would mislead.
    """
    return 4 * sum(word in STOP_WORDS for word in query.words) <= len(query.words)


def _by_words(
    query: Query, reader: Reader, matches: Sequence[Match], places: Sequence[Place | None]
) -> list[_Find]:
    """Return for each word the expression that finds it, and its rows."""
    starts = _no_question(query)
    found: list[_Find] = []
    for term, match, place in zip(query.terms, matches, places, strict=True):
        assert place is not None  # noqa: S101 - every word has an expression
        one = _Find(match, place)
        if not len(place.rows):
            one = _otherwise(term, query, reader, starts=starts) or one
        found.append(one)
    return found


def _otherwise(term: str, query: Query, reader: Reader, *, starts: bool) -> _Find | None:
    """Look for a word that is in no memory: with a typing error, or by its first letters."""
    if spellings.is_correctable(term) and term not in query.codes:
        match = spellings.corrected(term, reader.vocabulary)
        if match is not None:
            (place,) = reader.read([match])
            return _Find(match, place, spellings.CORRECTED)
    return next(_by_start(term, reader), None) if starts else None


def _by_start(term: str, reader: Reader) -> Iterator[_Find]:
    """Yield expressions for words with the same first letters as a long word, most letters first.

    They find other forms of the word, and compounds that begin with it.
    """
    if not term.isalpha() or is_unspaced(term):
        return
    for letters in _STARTS:
        if letters < len(term):
            match = Start(term[:letters])
            (place,) = reader.read([match])
            if len(place.rows):
                yield _Find(match, place)


def _reached(found: Sequence[_Find], rare: Sequence[Match], mask: Mask) -> int:
    """Count the wanted rows that have one of the rare words."""
    lists = [one.place.rows for one in found if one.match in rare]
    rows = lists[0] if len(lists) == 1 else distinct(np.concatenate(lists))
    return int(np.count_nonzero(mask[rows]))


def _frequent(place: Place, among: Match | None) -> bool:
    """Tell whether a word has too many rows to read all, and rarer words to narrow it."""
    return among is not None and not place.whole


def _beside(match: Match, among: Match | None) -> Match:
    """Return what finds a word where another expression matches too.

    Where all words of the query stand together, each of them does: that is looked up once.
    """
    if among is None:
        return match
    return among if isinstance(among, All) and match in among.parts else All((match, among))


def _narrowed(found: Sequence[_Find], among: Match | None) -> list[Match | None]:
    """Return what finds each frequent word in certain rows; None for the other words."""
    return [_beside(one.match, among) if _frequent(one.place, among) else None for one in found]


def _own(found: Sequence[_Find], joint: Sequence[Place | None], *, keep: bool) -> list[Rows]:
    """Return the rows of each word that are scored.

    Args:
        found: Expression and rows of each word.
        joint: The certain rows in which a frequent word is scored; None for another word.
        keep: Whether the newest rows of a frequent word are scored as well.
    """
    owned: list[Rows] = []
    for one, beside in zip(found, joint, strict=True):
        rows = one.place.rows
        if beside is not None:
            rows = distinct(np.concatenate([rows, beside.rows])) if keep else beside.rows
        owned.append(rows)
    return owned


def _in_heads(
    found: Sequence[_Find], among: Match | None, snap: Snapshot
) -> Sequence[Match | None]:
    """Return what finds each word in the heads of rows; None where no row has neighbours."""
    if not snap.talks:
        return [None] * len(found)
    return [
        _beside(spellings.in_column(one.match), among if _frequent(one.place, among) else None)
        for one in found
    ]


def _df(place: Place, snap: Snapshot, *, whole: bool) -> float:
    """Count the heard rows that have a word; estimate the number if not all are read."""
    heard = place.rows
    if snap.live < snap.n:
        heard = heard[snap.heard[heard]]
    return float(len(heard)) if whole else _estimated_df(heard, snap)


def _estimated_df(newest: Rows, snap: Snapshot) -> float:
    """Estimate how many rows have a word from the density of its newest ones."""
    if not len(newest):
        return 0.0
    return len(newest) * snap.live / np.count_nonzero(snap.heard[newest[0] :])


def bm25(
    query: Query, postings: Sequence[Posting], snap: Snapshot, config: RetrieveConfig
) -> Lexical:
    """Score every row that has a word of the query, or whose neighbours have one.

    Args:
        query: The query the postings belong to.
        postings: One for each of ``query.terms``.
        snap: The namespace.
        config: k1, b, near, far.
    """
    score, mass, tf = np.zeros((3, snap.n), np.float32)
    matched = np.zeros(snap.n, np.uint32)
    sessions = np.zeros(len(snap.sessions), np.float32)
    touched: list[Rows] = []
    total = unknown = 0.0
    for bit, (term, posting) in enumerate(zip(query.terms, postings, strict=True)):
        # A row may be in it several times, so the values below depend only on the row.
        rows = _count(tf, posting, snap, config)
        weight = posting.weight * idf(posting.df, snap.live)
        total += weight
        if term not in EMPTY_WORDS and not len(posting.own) and not len(posting.like.rows):
            unknown += weight
        weight *= posting.alike
        length = snap.window_words[rows] / np.float32(snap.mean_window)
        score[rows] = score[rows] + weight * _saturated(tf[rows], length, config)
        mass[rows] = mass[rows] + np.float32(weight)
        matched[posting.own] |= np.uint32(1 << bit)
        tf[rows] = 0
        touched += (rows, posting.like.rows)
        if len(posting.like.rows):
            _add_like(score, mass, posting, rows, snap, config)
        if len(sessions) and term in query.topic:
            _add_sessions(sessions, posting, weight, snap, config)
    share = np.float32(total or 1.0)
    if _MANY * sum(map(len, touched)) < snap.n:  # without a look at the other rows
        rows = distinct(np.concatenate([_NO_ROWS, *touched]))
        mass[rows] /= share
        rows = rows[score[rows] > 0]
    else:
        mass /= share
        rows = np.flatnonzero(score > 0)
    return Lexical(rows, score, mass, matched, sessions, unknown / float(share))


def idf(df: float, n: int) -> float:
    """Weigh a word by its rarity, > 0.

    Source: Lucene's BM25. A word in most rows still has a small weight, which distinguishes the
    memories of a small store.
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
        tf[rows] += np.float32(share)  # each row once: a turn follows only one turn
        touched.append(rows)
    return np.concatenate(touched) if len(touched) > 1 else posting.own


def _windows(head: Rows, snap: Snapshot, config: RetrieveConfig) -> Iterator[tuple[Rows, float]]:
    """Yield the rows that have these rows as neighbours, and the weight of such a neighbour."""
    if not len(head):
        return
    for step in (1, -1):
        first = snap.neighbours(head, step)
        second = snap.neighbours(first, step)
        yield first[first >= 0], config.near
        yield second[second >= 0], config.far


def _add_like(
    score: Floats,
    mass: Floats,
    posting: Posting,
    counted: Rows,
    snap: Snapshot,
    config: RetrieveConfig,
) -> None:
    """Add a share of what a word counts to rows that have only another word for the same."""
    has = np.zeros(snap.n, np.bool_)
    has[counted] = True
    rows = posting.like.rows[~has[posting.like.rows]]
    weight = np.float32(spellings.MEANT * posting.weight * idf(posting.like.df, snap.live))
    length = snap.window_words[rows] / np.float32(snap.mean_window)
    score[rows] += weight * _saturated(np.ones(len(rows), np.float32), length, config)
    mass[rows] += weight


def _add_sessions(
    scores: Floats, posting: Posting, weight: float, snap: Snapshot, config: RetrieveConfig
) -> None:
    heard = posting.own[snap.heard[posting.own]]
    session = snap.session[heard]
    session = session[session >= 0]
    if len(session):
        tf = np.bincount(session, minlength=len(scores))
        codes = np.flatnonzero(tf)
        length = (snap.sessions[codes] / snap.mean_session).astype(np.float32)
        scores[codes] += weight * _saturated(tf[codes].astype(np.float32), length, config)
