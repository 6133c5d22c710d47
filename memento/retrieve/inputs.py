"""Protocols of the inputs of `find`: full text, texts and vectors, all within one namespace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memento.ledger.match import Match
from memento.retrieve.spellings import Vocabulary
from memento.tiers.mapped import Links

WIDER = 4
"""A search that proposes too few memories that pass the filters is repeated for so many times
more."""


class TextSource(Protocol):
    """The ledger as `find` needs it; it is bound to one namespace and returns nothing else."""

    def postings(self, matches: Sequence[Match], limit: int) -> list[NDArray[np.int64]]:
        """Return the docids of the rows that each expression matches, all of one moment.

        Ascending, without repeats; only the largest ``limit`` if there are more.
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
    """Search by vector among the rows of one snapshot."""

    def nearest(
        self, vector: NDArray[np.float32], n: int, allowed: NDArray[np.bool_]
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return the n nearest allowed rows and their cosines, of equals the newest first."""
        ...

    def cosines(
        self, vector: NDArray[np.float32], rows: NDArray[np.intp]
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return the cosine of each row, 0 for one without vector and -1, and which have one."""
        ...

    def lengths(
        self,
        rows: NDArray[np.intp],
        before: Links,
        after: Links,
        share: np.float32,
    ) -> NDArray[np.float32]:
        """Return the length of each vector plus ``share`` of both neighbours; -1 means none."""
        ...

    def vectors_of(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the (len(rows), dim) unit vectors of rows; zeros for one without vector."""
        ...
