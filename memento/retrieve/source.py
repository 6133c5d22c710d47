"""What the read path asks of the rest: the seams of `find`, all within one namespace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Source(Protocol):
    """The ledger, as far as finding needs it. Knows its namespace and lets nothing else through."""

    def postings(self, matches: Sequence[str], limit: int) -> list[NDArray[np.int64]]:
        """Return the docids of the rows that full-text expressions match, all of one moment.

        Args:
            matches: FTS5 expressions over the columns ``title``, ``head`` and ``rest``.
            limit: Most docids to return for each, >= 1.

        Returns:
            For each, ascending docids, no repeats; the largest ``limit`` if there are more.
        """
        ...

    def texts(self, docids: Sequence[int]) -> list[str]:
        """Return the texts of memories, one for each docid, in that order; ``""`` for one gone."""
        ...


class Nearest(Protocol):
    """Approximate search by vector, for namespaces too large for exact search."""

    def nearest(
        self, vector: NDArray[np.float32], n: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the docids of the n nearest vectors and their cosines, nearest first."""
        ...

    def vectors_of(self, docids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the (len(docids), dim) unit vectors of memories, zeros where there is none."""
        ...
