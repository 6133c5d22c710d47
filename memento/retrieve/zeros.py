"""Arrays of zeros as long as a large namespace, lent to one query after the other.

The system gives fresh memory page by page, and each page that is touched costs about 3 µs: for a
million memories and four arrays, 11 ms of every query. Arrays that are written back to zero where
they were touched cost 0.3 ms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memento.retrieve.columns import Floats, Rows

LARGE = 200_000
"""Rows from which arrays are lent; fresh ones of fewer rows cost less than that."""


class Columns(NamedTuple):
    """The arrays, each of the same length."""

    score: Floats
    mass: Floats
    tf: Floats
    bits: NDArray[np.uint32]


class Zeros:
    """Lends arrays; one set waits for the next query, others are let go of. Thread-safe."""

    def __init__(self) -> None:
        self._waiting: list[Columns] = []

    def lend(self, n: int) -> tuple[Columns, Lent]:
        """Lend arrays of n zeros, until the last view of any of them is gone."""
        if n < LARGE:
            columns = fresh(n)
            return columns, Lent(columns, None)
        try:
            whole = self._waiting.pop()  # at once, so that no lock is needed
        except IndexError:
            whole = fresh(n)
        if len(whole.score) < n:
            whole = fresh(n + n // 8)
        lent = Lent(whole, self)
        score, mass, tf, bits = (np.asarray(_Part(column[:n], lent)) for column in whole)
        return Columns(score, mass, tf, bits), lent

    def take_back(self, columns: Columns, touched: Sequence[Rows]) -> None:
        """Keep arrays for the next query, with zeros in the rows that were touched."""
        for rows in touched:
            for column in columns:
                column[rows] = 0
        if not self._waiting:
            self._waiting.append(columns)


class Lent:
    """Arrays that one query uses; the views that it has of them keep this object.

    Args:
        whole: The arrays, which may be longer than the views.
        owner: Gets them back; None if they are not wanted back.

    Attributes:
        touched: All rows that are not zero; set when everything was written. If it never is, the
            arrays are let go of.
    """

    __slots__ = ("_owner", "_whole", "touched")

    def __init__(self, whole: Columns, owner: Zeros | None) -> None:
        self._whole, self._owner = whole, owner
        self.touched: Sequence[Rows] | None = None

    def __del__(self) -> None:
        if self._owner is not None and self.touched is not None:
            self._owner.take_back(self._whole, self.touched)


class _Part:
    """The memory of an array for a view that keeps what was lent."""

    __slots__ = ("__array_interface__", "_lent")

    def __init__(self, column: NDArray[Any], lent: Lent) -> None:
        self.__array_interface__ = column.__array_interface__
        self._lent = lent


def fresh(n: int) -> Columns:
    """Return arrays of n zeros."""
    score, mass, tf = (np.zeros(n, np.float32) for _ in range(3))
    return Columns(score, mass, tf, np.zeros(n, np.uint32))


ZEROS = Zeros()
"""Of this process: it is one store's as well as another's."""
