"""A coder makes codes of vectors; a finder finds vectors by their codes. There are two kinds.

``codes`` makes two bits of each dimension. ``product`` makes four bits of four dimensions, and
needs the extra ``faiss``. The setting ``choose.codes`` says which kind is used.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from memento.retrieve.roster import Floats, Mask, Rows

Codes = NDArray[Any]
"""Codes of vectors; the last axis is as long as there are vectors."""


class Finder(Protocol):
    """Finds vectors by their codes. Several threads may ask it at the same time."""

    @property
    def nbytes(self) -> int:
        """Bytes it holds in RAM beside the codes."""
        ...

    def candidates(self, vector: Floats, allowed: Mask, count: int) -> Rows:
        """Return the rows whose vectors have to be compared, ascending.

        Args:
            vector: (dim,) float32, of unit length.
            allowed: (n,); other rows are never candidates.
            count: Rows wanted, >= 1; all allowed ones if there are fewer.
        """
        ...


class Coder(ABC):
    """Makes the codes of the vectors of one namespace. It has learned how from some of them."""

    name: ClassVar[str | None]
    """Its name in the files of codes; None for the kind whose files hold no name."""

    @classmethod
    @abstractmethod
    def learn(cls, sample: Floats) -> Coder:
        """Learn from vectors, (n, dim) float32, n >= 1."""

    @classmethod
    @abstractmethod
    def load(cls, learned: Floats, dim: int) -> Coder:
        """Return the coder that has learned this, see `learned`."""

    @classmethod
    @abstractmethod
    def learns(cls, dim: int) -> int:
        """Return how many numbers `learned` has."""

    @classmethod
    @abstractmethod
    def bytes_of(cls, dim: int) -> int:
        """Return the size of the code of one vector."""

    @classmethod
    @abstractmethod
    def empty(cls, n: int, dim: int) -> Codes:
        """Return room for the codes of n vectors."""

    @classmethod
    @abstractmethod
    def read(cls, content: bytes, at: int, n: int, dim: int) -> Codes:
        """Return the codes of n vectors that begin at a place of the content of a file."""

    @property
    @abstractmethod
    def learned(self) -> Floats:
        """The numbers it has learned, (learns(dim),) float32."""

    @abstractmethod
    def encode(self, vectors: Floats) -> Codes:
        """Encode vectors, (n, dim) float32. The code of a vector depends on no other."""

    @abstractmethod
    def finder(self, codes: Codes) -> Finder:
        """Return a finder of vectors by these codes."""


def raw(array: NDArray[Any]) -> memoryview:
    """Return the bytes of an array in the order of its axes."""
    return np.ascontiguousarray(array).view(np.uint8).reshape(-1).data
