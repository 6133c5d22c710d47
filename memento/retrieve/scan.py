"""Search one namespace by scanning the codes of all its vectors; see ``coder``.

Vectors stored after the files were written are kept in RAM, the tail, and compared all. The
allowed rows that differ least from the query are compared by their vectors: what is found is what
exact search finds, unless codes put one of the nearest vectors behind thousands of others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memento.errors import TierUnavailable
from memento.retrieve.by_meaning import dots
from memento.retrieve.roster import Floats, Mask, Rows, Snapshot
from memento.retrieve.scan_files import Table
from memento.retrieve.source import Sieve
from memento.retrieve.tally import grown
from memento.tiers.derived import Unusable
from memento.types import Tier

Docids = NDArray[np.int64]

LEAST = 3_000
"""Vectors that are compared at least. Among 100,000 vectors of sentences, 3,000 candidates held all
ten nearest for every one of 150 queries, and 99.9 % of the 200 nearest; 1,000 held 98.7 % of
those."""
FACTOR = 10
"""And so many times the number that is wanted. In a store of 100,000 turns, 500 of 500 questions
had the ten hits of exact search; with 5 times the number, at least 2,000, it was 489."""
EVEN = np.float32(1e-5)
"""Difference of cosines that rounding takes away, see ``by_meaning``."""
_NOWHERE = np.int32(-1)


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where the vector of each row is. Never changed: a query may use an earlier one.

    Attributes:
        rows: (slots,) the row of each place in the files; 0 for one that is not known.
        dead: (slots,) places that are not known, or whose vector is outdated.
        at: (rows,) int32: place of each row's vector in the files, or the number of places plus
            its position in the tail; -1 for none.
        embedded: Rows that have a vector.
        tail_docids: Row ids of the tail.
        tail_rows: Their rows.
        tail: Their vectors.
    """

    rows: Rows
    dead: Mask
    at: NDArray[np.int32]
    embedded: int
    tail_docids: Docids
    tail_rows: Rows
    tail: Floats

    @property
    def live_tail(self) -> Rows:
        """Positions in the tail of vectors that are not outdated."""
        return np.flatnonzero(self.at[self.tail_rows] == len(self.rows) + np.arange(len(self.tail)))


class Scan:
    """The open files of a namespace, and the vectors that came after them. Not thread-safe.

    Args:
        table: The files.
        docids: Row ids of all its rows at the moment of its newest vector or later, ascending.
    """

    def __init__(self, table: Table, docids: Docids) -> None:
        self.table, self.stamp = table, table.stamp
        self.finder = table.coder.finder(table.kept.codes)
        self.damaged = False
        rows, known = _rows_of(table.kept.docids, docids)
        at = np.full(len(docids), _NOWHERE)
        at[rows[known]] = np.flatnonzero(known)  # of equal ones the last
        dead = ~known
        dead[known] = at[rows[known]] != np.flatnonzero(known)
        embedded = int(np.count_nonzero(at >= 0))
        no_ids, none = np.zeros(0, np.int64), np.zeros((0, table.dim), np.float32)
        self._room = np.zeros((0, table.dim), np.float32)
        self.places = Places(rows, dead, at, embedded, no_ids, np.zeros(0, np.intp), none)
        self._open: tuple[Places | None, Mask, Mask] = (None, dead, dead)

    @property
    def nbytes(self) -> int:
        """Bytes it holds in RAM."""
        places = self.places
        ids = (places.tail_docids, places.tail_rows)
        arrays = (places.rows, places.dead, places.at, *ids, self._room, self._open[2])
        held = self.table.nbytes + self.finder.nbytes
        return sum(array.nbytes for array in arrays) + held

    def take(self, new: Docids, vectors: Floats, docids: Docids) -> None:
        """Take vectors that were stored after the others.

        Args:
            new: Their row ids, ascending, no repeats.
            vectors: (len(new), dim) float32.
            docids: Row ids of all rows, ascending.
        """
        rows, known = _rows_of(new, docids)
        new, rows, vectors = new[known], rows[known], vectors[known]
        before, places = len(self.places.tail), self.places
        end = before + len(rows)
        if end > len(self._room):
            self._room = grown(self._room, max(end, 2 * len(self._room)))
        self._room[before:end] = vectors
        at = np.full(len(docids), _NOWHERE)
        at[: len(places.at)] = places.at
        outdated = at[rows]
        at[rows] = len(places.rows) + np.arange(before, end)
        dead = places.dead
        if (inside := outdated[(outdated >= 0) & (outdated < len(dead))]).size:
            dead = dead.copy()
            dead[inside] = True
        tail_docids = np.concatenate([places.tail_docids, new])
        tail_rows = np.concatenate([places.tail_rows, rows])
        embedded = places.embedded + int(np.count_nonzero(outdated < 0))
        room = self._room[:end]
        self.places = Places(places.rows, dead, at, embedded, tail_docids, tail_rows, room)

    def open_to(self, places: Places, allowed: Mask) -> Mask:
        """Mark the places whose rows may be found; computed once for a mask that nobody changes."""
        known, mask, found = self._open
        if known is places and mask is allowed:
            return found
        found = allowed[places.rows]
        found &= ~places.dead
        if not allowed.flags.writeable:
            self._open = places, allowed, found
        return found

    def search(self, snap: Snapshot) -> ScanSearch:
        """Return the search of a query."""
        return ScanSearch(self, snap)


class ScanSearch(Sieve):
    """One query's search of a namespace.

    Args:
        scan: The namespace, of the moment of the snapshot.
        snap: Its rows.
    """

    def __init__(self, scan: Scan, snap: Snapshot) -> None:
        self._scan, self._table, self._places = scan, scan.table, scan.places
        self._snap = snap

    def nearest(self, vector: Floats, n: int) -> tuple[Docids, Floats]:
        """Return the n nearest of all rows, nearest first."""
        docids, cosines = self.nearest_among(vector, n, np.ones(self._snap.n, np.bool_))
        return docids[:n], cosines[:n]

    def nearest_among(self, vector: Floats, n: int, allowed: Mask) -> tuple[Docids, Floats]:
        """Return the n nearest allowed rows and those as near as the last, nearest first."""
        slots = self._candidates(vector, n, allowed)
        places = self._places
        live = places.live_tail
        live = live[allowed[places.tail_rows[live]]]
        rows = np.concatenate([places.rows[slots], places.tail_rows[live]])
        cosines = np.concatenate(
            [dots(self._vectors(slots), vector), dots(places.tail[live], vector)]
        )
        if len(rows) > n:
            bar = np.partition(cosines, len(rows) - n)[len(rows) - n]
            near = cosines >= bar - EVEN
            rows, cosines = rows[near], cosines[near]
        order = np.lexsort((-rows, -cosines))
        return self._snap.docid[rows[order]], cosines[order]

    def _candidates(self, vector: Floats, n: int, allowed: Mask) -> Rows:
        """Return the places in the files whose vectors are to be compared, ascending."""
        open_to = self._scan.open_to(self._places, allowed)
        return self._scan.finder.candidates(vector, open_to, max(LEAST, FACTOR * n))

    def embedded(self) -> int:
        """Count the rows that have a vector."""
        return self._places.embedded

    def has_vector(self) -> Mask:
        """Mark the rows of the snapshot that have a vector."""
        found = np.zeros(self._snap.n, np.bool_)
        known = self._places.at[: self._snap.n]
        found[: len(known)] = known >= 0
        return found

    def vectors_of(self, docids: Docids) -> Floats:
        """Return the unit vectors of memories; zeros for one without vector."""
        places, slots = self._places, len(self._table)
        rows, known = _rows_of(docids, self._snap.docid)
        at = np.full(len(docids), _NOWHERE)
        known &= rows < len(places.at)
        at[known] = places.at[rows[known]]
        found = np.zeros((len(docids), self._table.dim), np.float32)
        filed, kept = (at >= 0) & (at < slots), at >= slots
        found[filed] = self._vectors(at[filed].astype(np.intp))
        found[kept] = places.tail[at[kept] - slots]
        return found

    def _vectors(self, slots: Rows) -> Floats:
        try:
            return self._table.vectors(slots)
        except Unusable as error:
            self._scan.damaged = True
            raise TierUnavailable(Tier.LONG, f"a derived file is damaged: {error}") from error


def _rows_of(some: Docids, docids: Docids) -> tuple[Rows, Mask]:
    """Return the row of each row id, 0 if it is not known, and whether it is known."""
    if not len(docids):
        return np.zeros(len(some), np.intp), np.zeros(len(some), np.bool_)
    rows = np.searchsorted(docids, some)
    rows[rows == len(docids)] = 0
    known = docids[rows] == some
    rows[~known] = 0
    return rows, known
