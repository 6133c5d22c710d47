"""Search by vector: cosines of a query to memories, smoothed over neighbouring turns.

A short turn such as "yes, last Friday" means little alone, so half of each neighbour's vector is
added to its vector. The smoothed vectors are never stored: their cosine follows from the plain
cosines and a length kept in the roster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memento.retrieve.roster import Floats, Mask, Rows, Snapshot, distinct, smoothable
from memento.retrieve.source import WIDER, Nearest, Sieve

_SPARE = 2
"""So many times more rows are looked at than are proposed. An index knows the nearest rows only by
their own cosine; the nearest by smoothed cosine are looked for among those and their neighbours.
Exact search does the same, since the value of a candidate depends on the other candidates."""

_ALONE = 1.5
"""The same if no row has neighbours, where both orders are equal: it only makes up for nearest rows
that an index misses. Among 100,000 memories and for 400 queries, asking for 300 rows found the same
ten as asking for 400 in all 400 cases; asking for 200, in 395."""

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


class Exact:
    """Search over all vectors of the namespace, which the roster holds."""

    def __init__(self, snap: Snapshot, vectors: Floats, query: Floats, share: float) -> None:
        self._snap, self._vectors = snap, vectors
        self._own = _even(dots(vectors, query))
        self._smooth = self._own  # if no row has neighbours
        if snap.talks:
            padded = np.append(self._own, np.float32(0))  # at -1: no neighbour
            rows = np.arange(snap.n)
            mixed = self._own.copy()
            for link in (snap.prev, snap.next):
                near = smoothable(rows, link, snap.cues, snap.n)
                mixed += np.float32(share) * padded[near]
            self._smooth = _even(mixed / snap.smooth_norm)

    def propose(self, allowed: Mask | None, count: int) -> Rows:
        """Return the rows nearest by smoothed cosine."""
        open_to = self._snap.has_vector if allowed is None else self._snap.has_vector & allowed
        rows = np.flatnonzero(open_to)
        if self._snap.talks and len(rows) > _SPARE * count:
            rows = _and_neighbours(best_rows(rows, self._own, _SPARE * count), self._snap)
            rows = rows[open_to[rows]]
        return best_rows(rows, self._smooth, count)

    def of(self, rows: Rows) -> Cosines:
        """Return the cosines of rows."""
        own = self._own[rows]
        smooth = own if self._smooth is self._own else self._smooth[rows]
        return Cosines(own, smooth, self._snap.has_vector[rows])

    def vectors(self, rows: Rows) -> Floats:
        """Return the rows' own vectors."""
        return self._vectors[rows]


class Approximate:
    """Search through an index that returns only the nearest vectors."""

    def __init__(self, snap: Snapshot, index: Nearest, query: Floats, share: float) -> None:
        self._snap, self._index, self._query, self._share = snap, index, query, np.float32(share)
        self._near = np.zeros(0, np.intp)  # rows whose own cosine the index told, ascending
        self._told = np.zeros(0, np.float32)
        self._rows = np.zeros(0, np.intp)  # rows whose cosines are known, ascending
        none = np.zeros(0, np.float32)
        self._cosines = Cosines(none, none, np.zeros(0, np.bool_))

    def propose(self, allowed: Mask | None, count: int) -> Rows:
        """Return the rows nearest by smoothed cosine, among the nearest and their neighbours."""
        if isinstance(self._index, Sieve) and allowed is not None:
            return self._proposed(self._near_among(self._index, allowed, count), allowed, count)
        asked = wanted = _SPARE * count if self._snap.talks else int(_ALONE * count)
        if allowed is not None:
            wanted = min(wanted, int(np.count_nonzero(allowed)))
        while True:
            self._keep(*self._index.nearest(self._query, asked))
            near = self._near if allowed is None else self._near[allowed[self._near]]
            if len(near) >= wanted or asked >= self._snap.n:
                break
            asked *= WIDER  # too many of the nearest did not pass the filters
        return self._proposed(self._near, allowed, count)

    def _near_among(self, index: Sieve, allowed: Mask, count: int) -> Rows:
        """Return the allowed rows that are nearest by their own cosine; as exact search does."""
        asked = _SPARE * count if self._snap.talks else count
        self._keep(*index.nearest_among(self._query, asked, allowed))
        return self._near[np.lexsort((-self._near, -self._told))[:asked]]

    def _proposed(self, near: Rows, allowed: Mask | None, count: int) -> Rows:
        rows = _and_neighbours(near, self._snap)
        if allowed is not None:
            rows = rows[allowed[rows]]
        found = self.of(rows)
        rows, smooth = rows[found.known], found.smooth[found.known]
        return rows[np.lexsort((-rows, -smooth))[:count]]

    def _keep(self, docids: NDArray[np.int64], cosines: Floats) -> None:
        """Keep the cosines from the index, for rows that are in the snapshot."""
        order = np.argsort(docids)
        docids, cosines = docids[order], cosines[order]
        self._near = self._snap.rows_of(docids)
        if len(self._near) < len(docids):
            cosines = cosines[np.isin(docids, self._snap.docid[self._near])]
        self._told = _even(cosines)

    def of(self, rows: Rows) -> Cosines:
        """Return the cosines of rows; their vectors are read once."""
        unread = rows[~_places(rows, self._rows)[1]]
        if len(unread):
            unread.sort()
            self._cosines = _joined(self._cosines, self._measure(unread), self._learn(unread))
        at, _ = _places(rows, self._rows)
        known = self._cosines
        return Cosines(known.own[at], known.smooth[at], known.known[at])

    def vectors(self, rows: Rows) -> Floats:
        """Return the rows' own vectors."""
        return self._index.vectors_of(self._snap.docid[rows])

    def _learn(self, unread: Rows) -> Rows:
        """Add rows to those whose cosines are known; return the order that sorts them."""
        every = np.concatenate([self._rows, unread])
        order: Rows = np.argsort(every, kind="stable")
        self._rows = every[order]
        return order

    def _measure(self, rows: Rows) -> Cosines:
        """Compute the cosines of rows, from their vectors where the index gave none."""
        at, told = _places(rows, self._near)
        links = self._links(rows)
        for link in links:
            told &= link < 0  # no neighbours: own and smoothed cosine are the same
        own, smooth = np.empty((2, len(rows)), np.float32)
        known = np.ones(len(rows), np.bool_)
        own[told] = smooth[told] = self._told[at[told]]
        if not told.all():
            asked = ~told
            linked = [link[asked] for link in links]
            own[asked], smooth[asked], known[asked] = self._read(rows[asked], linked)
        return Cosines(own, smooth, known)

    def _links(self, rows: Rows) -> list[NDArray[np.int32]]:
        """Return the turns before and after that smooth each row; -1 where there is none."""
        snap = self._snap
        if not snap.talks:  # no row has neighbours
            return []
        return [smoothable(rows, link, snap.cues, snap.n) for link in (snap.prev, snap.next)]

    def _read(self, rows: Rows, links: Sequence[NDArray[np.int32]]) -> tuple[Floats, Floats, Mask]:
        """Return own and smoothed cosines, and which rows have a vector, from the vectors.

        The results are bit for bit those of `Exact`; the lengths are those the roster would keep.
        """
        every = rows
        if links:
            every = distinct(np.concatenate([rows, *links]))
            every = every[every >= 0]
        table = self._index.vectors_of(self._snap.docid[every])
        cosines = _even(dots(table, self._query))
        known: Mask = np.any(table != 0, axis=1)
        if not links:
            return cosines, cosines, known
        at = np.searchsorted(every, rows)
        mixed, mix = cosines[at], table[at]
        for link in links:
            alone = link < 0
            near = np.searchsorted(every, link)  # for -1 it is the first, with weight 0
            mixed += self._share * np.where(alone, np.float32(0), cosines[near])
            beside = table[near]
            beside[alone] = 0
            beside *= self._share
            mix += beside
        length: Floats = np.sqrt(np.einsum("ij,ij->i", mix, mix), dtype=np.float32)
        length[length == 0] = 1
        smooth = _even(mixed / length)
        return cosines[at], smooth, known[at]


def _places(rows: Rows, known: Rows) -> tuple[Rows, Mask]:
    """Return the place of each row among known rows, which ascend, and whether it is one."""
    if not len(known):
        return np.zeros(len(rows), np.intp), np.zeros(len(rows), np.bool_)
    at = np.searchsorted(known, rows)
    at[at == len(known)] = 0
    return at, known[at] == rows


def _joined(one: Cosines, other: Cosines, order: Rows) -> Cosines:
    """Join two sets of cosines and bring them into an order."""
    return Cosines(
        np.concatenate([one.own, other.own])[order],
        np.concatenate([one.smooth, other.smooth])[order],
        np.concatenate([one.known, other.known])[order],
    )


def _and_neighbours(rows: Rows, snap: Snapshot) -> Rows:
    """Add the turns before and after; ascending, without repeats."""
    if not snap.talks:
        return np.sort(rows)
    around = [rows, snap.neighbours(rows, 1), snap.neighbours(rows, -1)]
    every = distinct(np.concatenate(around))
    return every[every >= 0]


def _even(cosines: Floats) -> Floats:
    """Round away differences of summation order, so that equal cosines are equal on every path."""
    even = np.multiply(cosines, _STEPS)  # as np.round does, at two thirds of its cost
    np.rint(even, out=even)
    return np.divide(even, _STEPS, out=even)


def dots(matrix: Floats, vector: Floats) -> Floats:
    """Return the dot product of every row with a vector, summed in the calling thread.

    ``matrix @ vector`` lets BLAS divide 10,000 rows among its threads. Those spin while they wait,
    and on a busy machine a query of half a millisecond takes tens of milliseconds. ``vecdot`` asks
    BLAS for one row at a time, which is never divided, at half the cost of ``einsum``.

    Args:
        matrix: (n, dim).
        vector: (dim,).

    >>> dots(np.eye(2, dtype=np.float32), np.array([3, 4], np.float32)).tolist()
    [3.0, 4.0]
    """
    products: Floats = np.vecdot(matrix, vector)
    return products


def best_rows(rows: Rows, score: Floats, count: int) -> Rows:
    """Return the best rows, best first; among equals the newest first.

    Args:
        rows: Rows to choose from, ascending.
        score: One value for every row of the namespace.
        count: Most rows to return, >= 1.
    """
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
    """Leave out most of the rows that are not among the best, with a sample's help.

    Source: Floyd & Rivest, Expected Time Bounds for Selection, 1975.

    Args:
        rows: Many rows.
        values: One value for each.
        count: Number of best rows that must stay, with all that equal the last of them.
    """
    sample = values[::_SAMPLED]
    wanted = min(len(sample), 2 * count // _SAMPLED + _SAMPLED)
    kept = values >= np.partition(sample, len(sample) - wanted)[len(sample) - wanted]
    return (rows[kept], values[kept]) if np.count_nonzero(kept) >= count else (rows, values)
