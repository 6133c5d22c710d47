"""Let former values, and statements that a later one changed, lend evidence to what replaced them.

A question about the past gets the former value before the present one. For any other question a
former value is never shown, but what finds it also finds its heir: the memory that holds now, at
the end of the chain of supersession.

"Who is my boss?" is near to "My line manager is Fiona", and far from "Fiona has left, Gareth runs
our team now". The background thread notes that the second statement changes the first one
(``write.succession``); then the first one lends to the second, as a former value does to its heir.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memento.retrieve.by_words import Lexical
from memento.retrieve.columns import Floats, Mask, RosterView, Rows, distinct, having_trait
from memento.retrieve.question import Query

SHARE = np.float32(0.9)
"""Share of the evidence for a former value that its heir gets: the new value may say it in quite
other words ("it's 7026 now"), and nothing else is the answer. With 0.6 a memory that merely has the
words came first: 13 of 16 questions about changed values were right on two lives, now all."""
_NO_ROWS: Rows = np.zeros(0, np.intp)

Successions: TypeAlias = Sequence[tuple[int, int]]
"""Pairs of row ids: an earlier statement and a later one that changes it, ascending."""


@dataclass(frozen=True, slots=True, eq=False)
class Heirs:
    """The rows of superseded memories, ascending, and for each the row at the end of its chain."""

    former: Rows
    heir: Rows

    @classmethod
    def of(cls, snap: RosterView) -> Self:
        """Follow the chains of supersession of a namespace."""
        former = snap.succeeded  # few, so only their status is read
        if len(former):
            former = former[having_trait(snap.status[former], "ended")]
        if not len(former):
            return cls(former, former)
        after = snap.successor[former]
        heir = np.searchsorted(snap.docid, after)
        known = heir < snap.n
        known[known] = snap.docid[heir[known]] == after[known]
        former, heir = former[known], heir[known]
        for _ in range(len(former).bit_length()):  # each round doubles the steps
            at = np.minimum(np.searchsorted(former, heir), len(former) - 1)
            ended = former[at] == heir
            if not ended.any():
                break
            heir = np.where(ended, heir[at], heir)
        return cls(former, heir)

    def shown(self, mask: Mask) -> Self:
        """Keep the former values that are hidden and whose heir may be found."""
        if not len(self.former):
            return self
        kept = mask[self.heir] & ~mask[self.former]
        return type(self)(self.former[kept], self.heir[kept])

    def joined(self, other: Heirs) -> Heirs:
        """Return both together."""
        if not len(other.former):
            return self
        former = np.concatenate([self.former, other.former])
        return Heirs(former, np.concatenate([self.heir, other.heir]))

    def beside(self, rows: Rows, mask: Mask, most: int) -> Rows:
        """Return the newest former values of the same slots as some rows that may be found."""
        heirs = np.concatenate([rows, self.heir[np.isin(self.former, rows)]])
        return self.former[np.isin(self.heir, heirs) & mask[self.former]][-most:]


@dataclass(frozen=True, slots=True, eq=False)
class Changes(Heirs):
    """Earlier statements (``former``) and the later ones (``heir``) that change them.

    Unlike former values, both may be found.
    """

    @classmethod
    def found(cls, snap: RosterView, mask: Mask, pairs: Successions) -> Self:
        """Keep the pairs whose statements may both be found."""
        if not pairs:
            return cls(_NO_ROWS, _NO_ROWS)
        table = np.array(pairs, np.int64).reshape(-1, 2)
        rows = np.searchsorted(snap.docid, table)
        inside = (rows < snap.n).all(axis=1)
        rows = rows[inside]
        rows = rows[(snap.docid[rows] == table[inside]).all(axis=1)]
        rows = rows[mask[rows].all(axis=1)]
        return cls(rows[:, 0], rows[:, 1])


def words_of_heirs(words: Lexical, heirs: Heirs) -> Lexical:
    """Raise the word scores of heirs to a share of those of their former values."""
    if not len(heirs.former):
        return words
    score, cover = words.score.copy(), words.cover.copy()
    np.maximum.at(score, heirs.heir, SHARE * score[heirs.former])
    np.maximum.at(cover, heirs.heir, SHARE * cover[heirs.former])
    rows = distinct(np.concatenate([words.rows, heirs.heir[score[heirs.heir] > 0]]))
    return replace(words, rows=rows, score=score, cover=cover)


def first(
    query: Query,
    snap: RosterView,
    heirs: Heirs,
    rows: Rows,
    matched: NDArray[np.uint32],
    columns: tuple[Floats, ...],
) -> tuple[Floats, ...]:
    """Redistribute the scores within each slot in the order that a question about the past wants.

    Each column has one value per candidate, larger is better. The first column gives the order; in
    it no two values of a slot are equal. Bit i of ``matched`` is set if the row has term i.
    """
    given = tuple(column.copy() for column in columns)
    for places in _slots(heirs, rows):
        order = _wanted(query, snap, rows[places], matched)
        for column in given:
            column[places[order]] = np.sort(column[places])[::-1]
        scores = given[0]
        for before, after in pairwise(order):
            below = np.nextafter(scores[places[before]], np.float32(-1))
            scores[places[after]] = max(min(scores[places[after]], below), np.float32(0))
    return given


def _slots(heirs: Heirs, rows: Rows) -> Iterator[Rows]:
    """Yield the places of the candidates of each slot that has a former value among them."""
    if not len(heirs.former):
        return
    at = np.minimum(np.searchsorted(heirs.former, rows), len(heirs.former) - 1)
    ended = heirs.former[at] == rows
    holder = np.where(ended, heirs.heir[at], rows)
    for heir in distinct(holder[ended]).tolist():
        places = np.flatnonzero(holder == heir)
        if len(places) > 1:
            yield places


def _wanted(query: Query, snap: RosterView, rows: Rows, matched: NDArray[np.uint32]) -> list[int]:
    """Order the values of one slot: the one asked for first, the present one after it."""
    ends = snap.valid_until[rows]
    newest: list[int] = np.lexsort((rows, snap.valid_from[rows], ends))[::-1].tolist()
    former = query.former
    if former is None:
        return newest
    if former.first:
        return newest[::-1]
    start = 1 + next((n for n, at in enumerate(newest) if _named(query, matched[rows[at]])), 0)
    order = newest[start:] + newest[:start] if start < len(newest) else newest[1:] + newest[:1]
    if not query.periods:
        return order
    held = _held(snap, rows, query)
    return sorted(order, key=lambda at: not held[at])


def _named(query: Query, matched: np.uint32) -> bool:
    """Return whether a value is the Kia in "before the Kia": the wanted one held before it."""
    former = query.former
    asked = former.before.intersection(query.terms) if former is not None else frozenset[str]()
    bits = [bit for bit, term in enumerate(query.terms) if term in asked]
    return bool(bits) and all(int(matched) >> bit & 1 for bit in bits)


def _held(snap: RosterView, rows: Rows, query: Query) -> Mask:
    """Mark the values that held at some time that the question names."""
    begins, ends = query.days.of(snap.valid_from[rows]), query.days.of(snap.valid_until[rows])
    held = np.zeros(len(rows), np.bool_)
    for period in query.periods:
        held |= (begins <= period.end) & (ends >= period.start)
    return held
