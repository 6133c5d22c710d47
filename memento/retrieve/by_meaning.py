"""Search by vector: cosines of a query to memories, smoothed over neighbouring turns.

A short turn such as "yes, last Friday" means little alone, so half of each neighbour's vector is
added to its vector. The smoothed vectors are never stored: their cosine follows from the plain
cosines and a length kept in the roster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from memento.errors import TierUnavailable
from memento.retrieve.columns import Floats, Mask, RosterView, Rows, best_rows, distinct, smoothable
from memento.retrieve.former_values import SHARE, Heirs
from memento.tiers.derived import Unusable
from memento.tiers.exact import Vectors
from memento.tiers.mapped import Docids, Links, Table, dots, even
from memento.types import Tier

_SPARE = 2
"""So many times more rows are looked at than are proposed, if any row has neighbours. The nearest
rows are known only by their own cosine; the nearest by smoothed cosine are searched for among those
and their neighbours."""

MORE = 32
"""Neighbours that Chroma is asked for besides those that are wanted: of equally near ones the
newest come first, and its graph is approximate."""
WIDER = 4
"""A search that proposes too few memories that pass the filters is repeated for so many times
more."""
_MOST_LENT = 1000
"""The newest former values, whose vectors are compared; an index must read each from the ledger."""


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


class Nearest(Protocol):
    """Search by vector among the rows of one view of a roster."""

    def nearest(self, vector: Floats, n: int, allowed: Mask) -> tuple[Rows, Floats]:
        """Return the n nearest allowed rows and their cosines, of equals the newest first."""
        ...

    def cosines(self, vector: Floats, rows: Rows) -> tuple[Floats, Mask]:
        """Return the cosine of each row, 0 for one without vector and -1, and which have one."""
        ...

    def lengths(
        self,
        rows: Rows,
        before: Links,
        after: Links,
        share: np.float32,
    ) -> Floats:
        """Return the length of each vector plus ``share`` of both neighbours; -1 means none."""
        ...

    def vectors_of(self, rows: Rows) -> Floats:
        """Return the (len(rows), dim) unit vectors of rows; zeros for one without vector."""
        ...


_SMOOTH = np.float32(0.5)
"""Weight of each neighbour's vector; 1 for the memory's own. Short turns only."""


class Meaning:
    """Search by vector for one question, smoothed over neighbouring turns.

    An index knows the nearest vectors. Former values may `lend` their cosines to their heirs.
    """

    def __init__(self, snap: RosterView, index: Nearest, query: Floats) -> None:
        self._snap, self._index, self._query = snap, index, query
        self._own = np.zeros(snap.n, np.float32)
        self._smooth = np.zeros(snap.n, np.float32) if snap.talks else self._own
        self._seen, self._known = np.zeros((2, snap.n), np.bool_)
        self._heirs: Rows = np.zeros(0, np.intp)
        self._lent: Floats = np.zeros(0, np.float32)

    def lend(self, heirs: Heirs) -> None:
        """Also find memories by the vectors of their former values; call it once."""
        former, heir = heirs.former[-_MOST_LENT:], heirs.heir[-_MOST_LENT:]
        lent = SHARE * self.of(former).own
        self._heirs = distinct(heir)
        self._lent = np.zeros(len(self._heirs), np.float32)
        np.maximum.at(self._lent, np.searchsorted(self._heirs, heir), lent)

    def propose(self, allowed: Mask, count: int) -> Rows:
        """Return the rows nearest by smoothed cosine, or by that of a former value.

        Nearest first, newest first among equals.
        """
        near = self._nearest(allowed, count)
        if not len(self._heirs):
            return near
        lent = self._heirs[self._lent > 0]
        rows = distinct(np.concatenate([near, lent[allowed[lent]]]))
        return rows[np.lexsort((-rows, -self.of(rows).smooth))[:count]]

    def _nearest(self, allowed: Mask, count: int) -> Rows:
        """Return the rows nearest by smoothed cosine, among the nearest and their neighbours."""
        if not self._snap.talks:  # no row has neighbours
            near, cosines = self._index.nearest(self._query, count, allowed)
            self._own[near] = cosines
            self._seen[near] = self._known[near] = True
            return near
        near, _ = self._index.nearest(self._query, _SPARE * count, allowed)
        rows = _and_neighbours(near, self._snap)
        rows = rows[allowed[rows]]
        found = self._plain(rows)
        rows, smooth = rows[found.known], found.smooth[found.known]
        return rows[np.lexsort((-rows, -smooth))[:count]]

    def of(self, rows: Rows) -> Cosines:
        """Return the cosines of rows, raised to what former values lend them."""
        found = self._plain(rows)
        if not len(self._heirs):
            return found
        at = np.minimum(np.searchsorted(self._heirs, rows), len(self._heirs) - 1)
        lent = np.where(self._heirs[at] == rows, self._lent[at], np.float32(0))
        has = lent > 0
        own = np.where(has, np.maximum(found.own, lent), found.own)
        smooth = np.where(has, np.maximum(found.smooth, lent), found.smooth)
        return Cosines(own, smooth, found.known | has)

    def _plain(self, rows: Rows) -> Cosines:
        """Return the cosines of rows; each is computed once."""
        unread = rows[~self._seen[rows]]
        if len(unread):
            self._measure(unread)
        own = self._own[rows]
        smooth = self._smooth[rows] if self._snap.talks else own
        return Cosines(own, smooth, self._known[rows])

    def vectors(self, rows: Rows) -> Floats:
        """Return the rows' own vectors, (len(rows), dim); zeros for a row without one."""
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


def _and_neighbours(rows: Rows, snap: RosterView) -> Rows:
    """Return rows with the turns before and after them, ascending, without repeats."""
    around = [rows, snap.neighbours(rows, 1), snap.neighbours(rows, -1)]
    every = distinct(np.concatenate(around))
    return every[every >= 0]


class Exact:
    """A `Nearest` that compares all vectors of a namespace; it reports damaged files."""

    def __init__(
        self, vectors: Vectors, snap: RosterView, note_damage: Callable[[Table], None]
    ) -> None:
        self._vectors, self._snap, self._note_damage = vectors, snap, note_damage
        self._asked: tuple[Floats, Floats] | None = None  # the last vector and its cosines

    def nearest(self, vector: Floats, n: int, allowed: Mask) -> tuple[Rows, Floats]:
        """Return the n nearest allowed rows, nearest first."""
        cosines = self._every(vector)
        rows = best_rows(np.flatnonzero(allowed & self.has_vector()), cosines, n)
        if self._vectors.table is not None and self._vectors.table.mapped:
            self.vectors_of(rows)  # checks that they are undamaged now
        return rows, cosines[rows]

    def _every(self, vector: Floats) -> Floats:
        """Return the cosine of each row of the view, 0 for one without vector and row -1."""
        if self._asked is None or self._asked[0] is not vector:
            with self._checked():
                self._asked = vector, even(self._vectors.cosines(vector))
        return self._asked[1]

    def cosines(self, vector: Floats, rows: Rows) -> tuple[Floats, Mask]:
        """Return the cosine of each row, 0 for one without vector and -1, and which have one."""
        return self._every(vector)[rows], self._vectors.known[rows]

    def lengths(self, rows: Rows, before: Links, after: Links, share: np.float32) -> Floats:
        """Return the lengths of vectors with shares of their neighbours; see `Vectors.lengths`."""
        with self._checked():
            return self._vectors.lengths(rows, before, after, share)

    def vectors_of(self, rows: Rows) -> Floats:
        """Return the unit vectors of rows."""
        with self._checked():
            return self._vectors.of_rows(rows)

    def has_vector(self) -> Mask:
        """Mark the rows that have a vector."""
        return self._vectors.known[:-1]

    @contextmanager
    def _checked(self) -> Iterator[None]:
        try:
            yield
        except Unusable as error:
            if self._vectors.table is not None:
                self._note_damage(self._vectors.table)
            raise TierUnavailable(Tier.LONG, f"a derived file is damaged: {error}") from error


class ByChroma(Exact):
    """A `Nearest` that compares the nearest rows by Chroma and the rows that Chroma lacks.

    ``chroma`` returns the ids of the nearest that it knows, ``docids`` translates them, and
    ``lacking`` are the rows whose vectors it lacks, ascending.
    """

    def __init__(
        self,
        vectors: Vectors,
        snap: RosterView,
        note_damage: Callable[[Table], None],
        chroma: Callable[[Floats, int], list[str]],
        docids: Callable[[list[str]], Docids],
        lacking: Rows,
    ) -> None:
        super().__init__(vectors, snap, note_damage)
        self._chroma, self._docids, self._lacking = chroma, docids, lacking

    def nearest(self, vector: Floats, n: int, allowed: Mask) -> tuple[Rows, Floats]:
        """Return the n nearest allowed rows, nearest first."""
        every = int(np.count_nonzero(allowed))
        asked = MORE + n * self._snap.n // max(1, every)
        while True:
            ids = self._chroma(vector, asked)
            rows = self._snap.rows_of(self._docids(ids))
            rows = rows[allowed[rows]]
            if len(rows) >= min(n, every) or len(ids) < asked:
                break
            asked *= WIDER  # too many of the nearest did not pass the filters
        rows = distinct(np.concatenate([rows, self._lacking[allowed[self._lacking]]]))
        rows = rows[self.has_vector()[rows]]
        cosines, _ = self.cosines(vector, rows)
        order = np.lexsort((-rows, -cosines))[:n]
        return rows[order], cosines[order]

    def cosines(self, vector: Floats, rows: Rows) -> tuple[Floats, Mask]:
        """Return the cosine of each row, 0 for one without vector and -1, and which have one."""
        every = distinct(rows)
        every = every[every >= 0]
        cosines = np.append(even(dots(self.vectors_of(every), vector)), np.float32(0))
        at = np.searchsorted(every, rows)
        at[rows < 0] = -1
        return cosines[at], self._vectors.known[rows]
