"""Search by vector: cosines of a query to memories, smoothed over neighbouring turns.

A short turn such as "yes, last Friday" means little alone, so half of each neighbour's vector is
added to its vector. The smoothed vectors are never stored: their cosine follows from the plain
cosines and a length kept in the roster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from memento.retrieve.columns import Floats, Mask, Rows, Snapshot, distinct, smoothable
from memento.retrieve.inputs import Nearest

_SPARE = 2
"""So many times more rows are looked at than are proposed, if any row has neighbours. The nearest
rows are known only by their own cosine; the nearest by smoothed cosine are searched for among those
and their neighbours."""

_SAMPLED = 8
"""One of so many rows is looked at first where the best of very many are chosen."""

_DIGITS = 5
"""Decimals of a float32 cosine that do not depend on the order of summation."""
_STEPS = np.float32(10**_DIGITS)


@dataclass(frozen=True, slots=True, eq=False)
class Cosines:
    """Cosines of some rows to the query.

    Attributes:
        own: Cosine of the row's own vector, [-1, 1]; 0 if it has no vector.
        smooth: Cosine of its smoothed vector, [-1, 1]; the same array if no row has neighbours.
        known: Whether it has a vector.
    """

    own: Floats
    smooth: Floats
    known: Mask

    @property
    def best(self) -> Floats:
        """The larger of both cosines, [-1, 1]."""
        return self.own if self.smooth is self.own else np.maximum(self.own, self.smooth)


class Meaning(Protocol):
    """A way to search by vector."""

    def propose(self, allowed: Mask | None, count: int) -> Rows:
        """Return the rows nearest by smoothed cosine, nearest first, newest first among equals."""
        ...

    def of(self, rows: Rows) -> Cosines:
        """Return the cosines of rows."""
        ...

    def vectors(self, rows: Rows) -> Floats:
        """Return the rows' own vectors, (len(rows), dim); zeros for a row without one."""
        ...


_SMOOTH = np.float32(0.5)
"""Weight of each neighbour's vector; 1 for the memory's own. Short turns only."""


class Smoothed:
    """Search through an index that knows the nearest vectors, smoothed over neighbouring turns."""

    def __init__(self, snap: Snapshot, index: Nearest, query: Floats) -> None:
        self._snap, self._index, self._query = snap, index, query
        self._own = np.zeros(snap.n, np.float32)
        self._smooth = np.zeros(snap.n, np.float32) if snap.talks else self._own
        self._seen, self._known = np.zeros((2, snap.n), np.bool_)

    def propose(self, allowed: Mask | None, count: int) -> Rows:
        """Return the rows nearest by smoothed cosine, among the nearest and their neighbours."""
        allowed = np.ones(self._snap.n, np.bool_) if allowed is None else allowed
        if not self._snap.talks:  # no row has neighbours
            near, cosines = self._index.nearest(self._query, count, allowed)
            self._own[near] = cosines
            self._seen[near] = self._known[near] = True
            return near
        near, _ = self._index.nearest(self._query, _SPARE * count, allowed)
        rows = _and_neighbours(near, self._snap)
        rows = rows[allowed[rows]]
        found = self.of(rows)
        rows, smooth = rows[found.known], found.smooth[found.known]
        return rows[np.lexsort((-rows, -smooth))[:count]]

    def of(self, rows: Rows) -> Cosines:
        """Return the cosines of rows; each is computed once."""
        unread = rows[~self._seen[rows]]
        if len(unread):
            self._measure(unread)
        own = self._own[rows]
        smooth = self._smooth[rows] if self._snap.talks else own
        return Cosines(own, smooth, self._known[rows])

    def vectors(self, rows: Rows) -> Floats:
        """Return the rows' own vectors."""
        return self._index.vectors_of(rows)

    def _measure(self, rows: Rows) -> None:
        """Compute the cosines of rows: those of smoothed vectors follow from the plain ones."""
        self._seen[rows] = True
        if not self._snap.talks:
            self._own[rows], self._known[rows] = self._index.cosines(self._query, rows)
            return
        snap = self._snap
        before, after = (
            smoothable(rows, link, snap.cues, snap.n) for link in (snap.prev, snap.next)
        )
        beside = np.concatenate([rows, before, after])
        cosines, known = self._index.cosines(self._query, beside)
        own, back, ahead = cosines.reshape(3, -1)
        self._own[rows], self._known[rows] = own, known[: len(rows)]
        lengths = self._index.lengths(rows, before, after, _SMOOTH)
        self._smooth[rows] = even((own + _SMOOTH * back + _SMOOTH * ahead) / lengths)


def _and_neighbours(rows: Rows, snap: Snapshot) -> Rows:
    """Return rows with the turns before and after them, ascending, without repeats."""
    around = [rows, snap.neighbours(rows, 1), snap.neighbours(rows, -1)]
    every = distinct(np.concatenate(around))
    return every[every >= 0]


def even(cosines: Floats) -> Floats:
    """Round away differences of summation order, so that equal cosines are equal on every path."""
    even = np.multiply(cosines, _STEPS)  # as np.round does, at two thirds of its cost
    np.rint(even, out=even)
    return np.divide(even, _STEPS, out=even)


def best_rows(rows: Rows, score: Floats, count: int) -> Rows:
    """Return the best of some ascending rows, best first; among equals the newest first."""
    values = score[rows]
    if len(rows) > _SAMPLED * count:
        rows, values = _promising(rows, values, count)
    if len(rows) > count:
        bar = np.partition(values, len(rows) - count)[len(rows) - count]
        above = values > bar
        level = np.flatnonzero(values == bar)[np.count_nonzero(above) - count :]
        above[level] = True
        rows, values = rows[above], values[above]
    return rows[np.lexsort((-rows, -values))]


def _promising(rows: Rows, values: Floats, count: int) -> tuple[Rows, Floats]:
    """Leave out most of the rows that cannot be among the best, judged by a sample.

    Source: Floyd & Rivest, Expected Time Bounds for Selection, 1975.
    """
    sample = values[::_SAMPLED]
    wanted = min(len(sample), 2 * count // _SAMPLED + _SAMPLED)
    kept = values >= np.partition(sample, len(sample) - wanted)[len(sample) - wanted]
    return (rows[kept], values[kept]) if np.count_nonzero(kept) >= count else (rows, values)
