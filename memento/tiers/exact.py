"""Exact search: compare all vectors of a namespace.

Most of them are in a file that is mapped into memory (``mapped``), so that a process that only
searches needs no index of its own. Those added after it was written, the tail, are read from the
ledger into RAM, until they are enough to be appended.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memento.tiers.mapped import Docids, Floats, Links, Table, dots

Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]

Places = NDArray[np.int32]
"""Where vectors are; -1 for none."""

_NOWHERE = np.int32(-1)


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """The place of each row's vector. Immutable: a query may still use an earlier version.

    Methods that read the file raise `Unusable` if it is damaged.
    """

    dim: int
    source: tuple[int, int]
    """Number of the embedder, and newest erasure when the vectors were read."""
    table: Table | None
    tail_docids: Docids
    """Row ids of the vectors that came later than the file."""
    tail: Floats
    at: Places
    """(rows + 1,): place of each row's vector in the file, or the number of places there plus its
    position in the tail; -1 for none. The last is for row -1, which has none."""
    known: Mask
    embedded: int
    stamp: int
    """Stamp of the newest vector."""
    _room: Floats
    _lengths: Lengths

    @classmethod
    def of(cls, table: Table | None, docids: Docids, dim: int, source: tuple[int, int]) -> Vectors:
        """Start with the vectors of a file; ``docids`` are those of all rows, ascending."""
        none, no_ids = np.zeros((0, dim), np.float32), np.zeros(0, np.int64)
        stamp = 0 if table is None else int(table.head["stamp"])
        at, known = np.full(1, _NOWHERE), np.zeros(1, np.bool_)
        empty = cls(dim, source, table, no_ids, none, at, known, 0, stamp, none, Lengths())
        return empty.placed(no_ids if table is None else table.docids, docids, 0)

    @property
    def filed(self) -> int:
        """Number of places in the file."""
        return 0 if self.table is None else len(self.table)

    @property
    def nbytes(self) -> int:
        """Bytes it holds in RAM."""
        held: list[NDArray[Any] | Lengths] = [
            self.tail_docids, self._room, self.at, self.known, self._lengths
        ]  # fmt: skip
        if self.table is not None:
            held += [self.table.docids, *([] if self.table.mapped else [self.table.blocks])]
        return sum(one.nbytes for one in held)

    @property
    def outdated(self) -> bool:
        """Whether they are all in RAM, and most are outdated."""
        return self.table is None and len(self.tail) > 2 * self.embedded

    def take(self, new: Docids, matrix: Floats, docids: Docids) -> Vectors:
        """Return a copy with more vectors, which were stored after the others.

        Vectors of rows that are not in ``docids``, all row ids, are left out.
        """
        _, known = rows_of(new, docids)
        new, start = new[known], len(self.tail)
        end, room = start + len(new), self._room
        if end > len(room):
            room = np.zeros((max(end, 2 * len(room)), self.dim), np.float32)
            room[:start] = self.tail
        room[start:end] = matrix[known]
        tail_docids = np.concatenate([self.tail_docids, new])
        longer = replace(self, tail=room[:end], tail_docids=tail_docids, _room=room)
        return longer.placed(new, docids, self.filed + start)

    def placed(self, new: Docids, docids: Docids, first: int) -> Vectors:
        """Return a copy with the vectors of ``new`` at consecutive places from ``first``."""
        rows, known = rows_of(new, docids)
        at = np.full(len(docids) + 1, _NOWHERE)
        at[: len(self.at) - 1] = self.at[:-1]
        at[rows[known]] = first + np.flatnonzero(known)  # of repeated ones the last counts
        embedded = at >= 0
        return replace(self, at=at, known=embedded, embedded=int(np.count_nonzero(embedded)))

    def live_tail(self, docids: Docids) -> tuple[Docids, Floats]:
        """Return the row ids and vectors of the tail that are not outdated."""
        rows, _ = rows_of(self.tail_docids, docids)
        live = self.at[rows] == self.filed + np.arange(len(rows))
        return self.tail_docids[live], self.tail[live]

    def cosines(self, vector: Floats) -> Floats:
        """Return the dot product of each row with a vector, 0 without one; then 0 for row -1."""
        parts = [dots(self.tail, vector), np.zeros(1, np.float32)]
        if self.table is not None:
            parts.insert(0, self.table.cosines(vector))
        found: Floats = np.concatenate(parts)[self.at]  # at -1: the zero
        return found

    def of_rows(self, rows: Rows) -> Floats:
        """Return the vectors of rows; zeros for a row without one."""
        return self._read(self.at[rows])

    def _read(self, at: Places) -> Floats:
        filed, kept = (at >= 0) & (at < self.filed), at >= self.filed
        if self.table is not None and filed.all():  # nearly always
            return self.table.vectors(at)
        found = np.zeros((len(at), self.dim), np.float32)
        if self.table is not None and filed.any():
            found[filed] = self.table.vectors(at[filed])
        found[kept] = self.tail[at[kept] - self.filed]
        return found

    def lengths(self, rows: Rows, before: Links, after: Links, share: np.float32) -> Floats:
        """Return the length of each vector plus ``share`` of those before and after; 1 if it is 0.

        ``before`` and ``after`` have the row beside each, -1 for none. ``share`` must be the same
        at every call.
        """
        places = self.at[np.concatenate([rows, before, after])].reshape(3, -1)
        found, known = self._lengths.find(rows, places)
        if not known.all():
            new = places[:, ~known]
            mix = self._read(new[0])
            for beside in new[1:]:
                there = beside >= 0
                mix[there] += share * self._read(beside[there])
            length = np.sqrt(np.einsum("ij,ij->i", mix, mix), dtype=np.float32)
            found[~known] = np.where(length > 0, length, np.float32(1))
            self._lengths.put(rows[~known], new, found[~known])
        return found


class Lengths:
    """Cache of the lengths of vectors with shares of their neighbours. Thread-safe.

    Each is kept with the places of the vectors from which it was computed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places = np.zeros((3, 0), np.int32)
        self._length = np.zeros(0, np.float32)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return self._places.nbytes + self._length.nbytes

    def find(self, rows: Rows, places: Places) -> tuple[Floats, Mask]:
        """Return the cached length of each row, and whether it is valid for these places."""
        with self._lock:
            if rows.max(initial=-1) >= len(self._length):
                more = max(64, 2 * int(rows.max())) - len(self._length)
                self._places = np.append(self._places, np.zeros((3, more), np.int32), axis=1)
                self._length = np.concatenate([self._length, np.zeros(more, np.float32)])
            found: Floats = self._length[rows]
            return found, (found > 0) & (self._places[:, rows] == places).all(axis=0)

    def put(self, rows: Rows, places: Places, lengths: Floats) -> None:
        """Keep lengths, > 0."""
        with self._lock:
            self._places[:, rows], self._length[rows] = places, lengths


def rows_of(some: Docids, docids: Docids) -> tuple[Rows, Mask]:
    """Return the row of each row id, 0 if it is not known, and whether it is known."""
    if not len(docids):
        return np.zeros(len(some), np.intp), np.zeros(len(some), np.bool_)
    rows = np.searchsorted(docids, some)
    rows[rows == len(docids)] = 0
    known = docids[rows] == some
    rows[~known] = 0
    return rows, known
