"""Protocols of the inputs of `find`: full text, texts and vectors, all within one namespace."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memento.ledger.match import Match
from memento.retrieve.vocabulary import Vocabulary

WIDER = 4
"""A search that proposes too few memories that pass the filters is repeated for so many times
more."""


class TextSource(Protocol):
    """The ledger as `find` needs it; it is bound to one namespace and returns nothing else."""

    def postings(self, matches: Sequence[Match], limit: int) -> list[NDArray[np.int64]]:
        """Return the docids of the rows that expressions match, all of one moment.

        Args:
            matches: What is looked up.
            limit: Most docids to return for each, >= 1.

        Returns:
            For each, ascending docids, no repeats; the largest ``limit`` if there are more.
        """
        ...

    def texts(self, docids: Sequence[int]) -> list[str]:
        """Return the text of each docid, in that order; ``""`` for an erased memory."""
        ...

    def vocabulary(self, first: int) -> Vocabulary:
        """Return the words of the heard memories, as of now.

        Args:
            first: Docid of the oldest memory whose words are wanted; it never decreases.
        """
        ...


class Nearest(Protocol):
    """Approximate search by vector, for namespaces too large for exact search."""

    def nearest(
        self, vector: NDArray[np.float32], n: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the docids of the n nearest vectors and their cosines, nearest first."""
        ...

    def vectors_of(self, docids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the (len(docids), dim) unit vectors of memories; zeros for one without vector."""
        ...


class Sieve(ABC):
    """A search by vector that applies the filters before it chooses the nearest; a `Nearest`.

    It is a class: every query asks which kind of search it has, and a protocol takes 20 µs for the
    answer.
    """

    @abstractmethod
    def nearest(
        self, vector: NDArray[np.float32], n: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the docids of the n nearest vectors and their cosines, nearest first."""

    @abstractmethod
    def vectors_of(self, docids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the (len(docids), dim) unit vectors of memories; zeros for one without vector."""

    @abstractmethod
    def nearest_among(
        self, vector: NDArray[np.float32], n: int, allowed: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return docids and cosines of the n nearest among the allowed rows, nearest first.

        Args:
            vector: (dim,) float32.
            n: How many, >= 1; rows as near as the last, but for rounding, are returned as well.
            allowed: For each row of the snapshot, whether it may be found.
        """

    @abstractmethod
    def embedded(self) -> int:
        """Count the rows that have a vector, without a look at each of them."""

    @abstractmethod
    def has_vector(self) -> NDArray[np.bool_]:
        """Mark the rows of the snapshot that have a vector."""
