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
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from memento.ledger.match import All, Any, Match, Start
from memento.retrieve import spellings
from memento.retrieve.columns import Floats, Mask, RosterView, Rows, distinct
from memento.retrieve.ledger_source import TextSource
from memento.retrieve.question import Query
from memento.retrieve.spellings import Vocabulary
from memento.text.words import EMPTY_WORDS, STOP_WORDS, WEAK_WORDS, is_unspaced

K1 = 1.2
"""BM25 saturation of repeated words: the usual value."""
B = 0.5
"""BM25 share of length normalisation, [0, 1]. It finds more here than the usual 0.75."""
NEAR, FAR = 0.5, 0.2
"""Weight of a word in the head of the previous or next turn, and of those beyond them; 1 for the
memory itself."""

WEAK = 0.5
"""Share of its idf that a weak word counts beside a stronger one."""
_STARTS = (5, 4)  # numbers of first letters tried for a word that is in no memory
_BLOCK, _BLOCKS = 10_000, 3  # size and number of full blocks of known words, besides the rest
_MANY = 8  # so many times fewer rows are cheaper to sort than all are to scan
_FARTHER = 8  # factor by which more rows are read if too few are wanted
_NO_ROWS: Rows = np.zeros(0, np.intp)


@dataclass(slots=True, eq=False)
class Posting:
    """One word of a query, and the rows in which it occurs.

    Attributes:
        own: Rows that have it.
        head: Rows whose head has it.
        df: Number of heard rows of the namespace that have it; estimated for a frequent word.
        alike: How closely the word in the rows matches the word of the query, (0, 1].
        like: Rows that have a synonym, ascending.
        like_df: Upper bound of the number of heard rows that have the word or a synonym.
        weight: How much the word says about the subject of the query, (0, 1].
    """

    own: Rows
    head: Rows
    df: float
    alike: float
    like: Rows
    like_df: float
    weight: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Lexical:
    """Scores of each row by the words of a query.

    Attributes:
        rows: The rows that score, ascending.
        score: (n,) BM25 with neighbours, >= 0.
        cover: (n,) share of the query's idf found in the row and its neighbours, [0, 1].
        matched: (n,) bit i is set if the row itself has term i.
        unknown: Share of the query's idf in words of its subject that no memory has, in any
            spelling or as a synonym, [0, 1].
    """

    rows: Rows
    score: Floats
    cover: Floats
    matched: NDArray[np.uint32]
    unknown: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Rows that an expression matches, ascending: the newest ones, and older ones if wanted.

    ``whole`` is True if no other wanted row matches.
    """

    rows: Rows
    whole: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Find:
    """The expression for a word of the query, its rows, and how closely it matches the word."""

    match: Match
    place: Place
    alike: float = 1.0


def look_up(query: Query, reader: Reader) -> list[Posting]:
    """Fetch the rows in which each word of a query occurs, see `Reader`.

    A word with more rows than `Reader.cap` is read only in some of them: in rows that also have a
    rarer word of the query or, if all words are that frequent, in rows that have all of them; and
    in the newest rows, unless the rarer words lead to enough wanted memories. Rows that are not
    read do not make a word rare. A word that is in no memory is searched for with a typing error,
    see `spellings`, or by its first letters, see `_by_start`.
    """
    snap, mask = reader.snap, reader.mask
    same = spellings.synonyms(query.terms)
    matches = [query.forms.get(term) or spellings.match_term(term) for term in query.terms]
    none: list[Match | None] = [None] * len(same)
    places, first = reader.read_all(matches, same if snap.noted else none)
    found = _by_words(query, reader, matches, places)
    rare = [one for one in found if one.place.whole and mask[one.place.rows].any()]
    keep = not rare or (len(rare) < len(found) and _reached(rare, mask) < reader.enough)
    every = (*(one.match for one in rare or found),)
    among = Any(every) if rare else All(every) if len(every) > 1 else None
    often = [None if one.place.whole else among for one in found]  # where a frequent word is read
    heads = [spellings.in_column(one.match) if snap.talks else None for one in found]
    unknown = [None if len(one.place.rows) else it for one, it in zip(found, same, strict=True)]
    joint, in_heads, late = reader.read_all(
        [one and _beside(word.match, one) for word, one in zip(found, often, strict=True)],
        [word and _beside(word, one) for word, one in zip(heads, often, strict=True)],
        none if snap.noted else unknown,
    )
    others = first if snap.noted else late
    postings = []
    for word, beside, head, other in zip(found, joint, in_heads, others, strict=True):
        own = word.place.rows
        if beside is not None:  # the newest rows of a frequent word, and those with a rarer one
            own = distinct(np.concatenate([own, beside.rows])) if keep else beside.rows
        df = _df(word.place, snap, whole=beside is None)
        in_head = _NO_ROWS if head is None else head.rows
        postings.append(Posting(own, in_head, df, word.alike, *_like(word.place, other, snap)))
    present = {term: len(one.own) > 0 for term, one in zip(query.terms, postings, strict=True)}
    for posting, weight in zip(postings, weights(query.terms, present), strict=True):
        posting.weight = weight
    return postings


def weights(terms: Collection[str], present: Mapping[str, bool]) -> list[float]:
    """Weigh the words of a question: weak words count less if a memory has a stronger one."""
    strong = any(present[term] for term in terms if term not in WEAK_WORDS)
    return [WEAK if strong and term in WEAK_WORDS else 1.0 for term in terms]


def _like(place: Place, other: Place | None, snap: RosterView) -> tuple[Rows, float]:
    """Return the rows that have a synonym of a word, and the ``like_df`` of the posting.

    If the word itself occurs, only memories outside sessions count. In a conversation people keep
    to one word; notes are independent ("lunch break" in one, "fracture" in another).
    """
    if other is None:
        return _NO_ROWS, 0.0
    df = sum(_df(one, snap, whole=one.whole) for one in (place, other))
    return other.rows[snap.lone[other.rows]] if len(place.rows) else other.rows, df


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

    snap: RosterView
    source: TextSource
    mask: Mask
    cap: int
    enough: int
    seen: Mask | None

    @classmethod
    def of(cls, snap: RosterView, source: TextSource, mask: Mask, cap: int, enough: int) -> Self:
        """Make a reader; see the attributes."""
        seen = None if snap.live == snap.n else snap.heard | mask
        return cls(snap, source, mask, cap, enough, seen)

    def read(self, matches: Sequence[Match]) -> list[Place]:
        """Read the rows that each FTS5 expression matches."""
        if not matches:
            return []
        unseen = 0 if self.seen is None else len(self.seen) - int(np.count_nonzero(self.seen))
        limit = self.cap + min(self.cap, unseen)  # usually one read is enough
        newest = self.source.postings(matches, limit)
        rows = self._visible(newest)
        return [self._place(*one, limit) for one in zip(matches, newest, rows, strict=True)]

    def read_all(self, *lists: Sequence[Match | None]) -> list[list[Place | None]]:
        """Read the rows of several lists of expressions at once, which costs less than one by one.

        Args:
            lists: The lists; an entry None gives None.
        """
        places = iter(self.read([match for one in lists for match in one if match is not None]))
        return [[None if match is None else next(places) for match in one] for one in lists]

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of the namespace; only of its newest memories if it has very many."""
        return self.source.vocabulary(known_from(self.snap))

    def _place(self, match: Match, docids: NDArray[np.int64], rows: Rows, limit: int) -> Place:
        """Read until enough rows are visible and enough of them wanted, or no more match.

        Args:
            match: FTS5 expression.
            docids: Its newest docids.
            rows: The visible rows of these.
            limit: Maximum number of docids that were asked for.
        """
        count = self.cap
        while True:
            while len(rows) < count and len(docids) == limit:
                limit *= _FARTHER
                docids, rows = self._again(match, limit)
            rows = rows[-count:]
            if len(rows) < count or np.count_nonzero(self.mask[rows]) >= self.enough:
                break
            count *= _FARTHER
            limit = count
            docids, rows = self._again(match, limit)
        whole = len(rows) < count
        if len(rows) > self.cap:
            newest = np.arange(len(rows)) >= len(rows) - self.cap
            rows = rows[newest | self.mask[rows]]
        return Place(rows, whole)

    def _again(self, match: Match, limit: int) -> tuple[NDArray[np.int64], Rows]:
        (docids,) = self.source.postings([match], limit)
        return docids, self._visible([docids])[0]

    def _visible(self, docids: Sequence[NDArray[np.int64]]) -> list[Rows]:
        found = self.snap.rows_of_each(docids)
        return found if self.seen is None else [rows[self.seen[rows]] for rows in found]


def known_from(snap: RosterView) -> int:
    """Return the docid of the oldest memory whose words are known; 0 for all memories."""
    skipped = max(0, snap.n // _BLOCK - _BLOCKS) * _BLOCK
    return int(snap.docid[skipped]) if skipped else 0


def _no_question(query: Query) -> bool:
    """Return whether a query has few English stop words: it is keywords or in another language.

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
    """Look up a word that is in no memory: as a typing error, or by its first letters."""
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


def _reached(rare: Sequence[_Find], mask: Mask) -> int:
    """Count the wanted rows that have one of the rare words."""
    lists = [one.place.rows for one in rare]
    rows = lists[0] if len(lists) == 1 else distinct(np.concatenate(lists))
    return int(np.count_nonzero(mask[rows]))


def _beside(match: Match, among: Match | None) -> Match:
    """Return the expression for a word in rows that another expression also matches.

    If the other one requires all words, return it as it is, so that it is looked up once.
    """
    if among is None:
        return match
    return among if isinstance(among, All) and match in among.parts else All((match, among))


def _df(place: Place, snap: RosterView, *, whole: bool) -> float:
    """Count the heard rows that have a word; estimate it from their density if not all are read."""
    rows = place.rows if snap.live == snap.n else place.rows[snap.heard[place.rows]]
    if whole or not len(rows):
        return float(len(rows))
    return len(rows) * snap.live / np.count_nonzero(snap.heard[rows[0] :])


def bm25(query: Query, postings: Sequence[Posting], snap: RosterView) -> Lexical:
    """Score every row that has a word of the query, or whose neighbours have one."""
    score, mass, tf = np.zeros((3, snap.n), np.float32)
    matched = np.zeros(snap.n, np.uint32)
    touched: list[Rows] = []
    total = unknown = 0.0
    for bit, (term, posting) in enumerate(zip(query.terms, postings, strict=True)):
        # Rows may repeat: what is assigned below depends only on the row.
        rows = _count(tf, posting, snap)
        weight = posting.weight * idf(posting.df, snap.live)
        total += weight
        if term not in EMPTY_WORDS and not len(posting.own) and not len(posting.like):
            unknown += weight
        weight *= posting.alike
        length = snap.window_words[rows] / np.float32(snap.mean_window)
        score[rows] = score[rows] + weight * _saturated(tf[rows], length)
        mass[rows] = mass[rows] + np.float32(weight)
        matched[posting.own] |= np.uint32(1 << bit)
        tf[rows] = 0
        touched += (rows, posting.like)
        if len(posting.like):
            _add_like(score, mass, posting, rows, snap)
    share = np.float32(total or 1.0)
    if _MANY * sum(map(len, touched)) < snap.n:  # without scanning all rows
        rows = distinct(np.concatenate([_NO_ROWS, *touched]))
        mass[rows] /= share
        rows = rows[score[rows] > 0]
    else:
        mass /= share
        rows = np.flatnonzero(score > 0)
    return Lexical(rows, score, mass, matched, unknown / float(share))


def idf(df: float, n: int) -> float:
    """Weigh a word by its rarity, > 0.

    Source: Lucene's BM25. A word in most rows still has a small weight, which distinguishes the
    memories of a small store.
    """
    return math.log1p((max(n, df) - df + 0.5) / (df + 0.5))


def _saturated(tf: Floats, length: Floats) -> Floats:
    norm: Floats = np.float32(K1) * (np.float32(1 - B) + np.float32(B) * length)
    counted: Floats = tf * np.float32(K1 + 1) / (tf + norm)
    return counted


def _count(tf: Floats, posting: Posting, snap: RosterView) -> Rows:
    """Add the counts of one word to ``tf`` and return the rows that have one."""
    tf[posting.own] += 1
    touched = [posting.own]
    for rows, share in _windows(posting.head, snap):
        tf[rows] += np.float32(share)  # each row once: a turn follows only one turn
        touched.append(rows)
    return np.concatenate(touched) if len(touched) > 1 else posting.own


def _windows(head: Rows, snap: RosterView) -> Iterator[tuple[Rows, float]]:
    """Yield the rows that have these rows as neighbours, and the weight of such a neighbour."""
    if not len(head):
        return
    for step in (1, -1):
        first = snap.neighbours(head, step)
        second = snap.neighbours(first, step)
        yield first[first >= 0], NEAR
        yield second[second >= 0], FAR


def _add_like(
    score: Floats,
    mass: Floats,
    posting: Posting,
    counted: Rows,
    snap: RosterView,
) -> None:
    """Add a share of the weight of a word to rows that have only a synonym."""
    has = np.zeros(snap.n, np.bool_)
    has[counted] = True
    rows = posting.like[~has[posting.like]]
    weight = np.float32(spellings.MEANT * posting.weight * idf(posting.like_df, snap.live))
    length = snap.window_words[rows] / np.float32(snap.mean_window)
    score[rows] += weight * _saturated(np.ones(len(rows), np.float32), length)
    mass[rows] += weight
