"""Hand the stored vectors on to the long tier's index, and take out of it what is hidden."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

from memento.ledger import vectors
from memento.ledger.contract import Ledger
from memento.ledger.owing import lines_of
from memento.ledger.vectors import Owed
from memento.tiers.work import Work

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OPS = ("index", "drop")
SCAN_ROUNDS = 16
"""While much is still missing, the whole backlog is searched for work of the index once in so many
rounds."""


class Index(Protocol):
    """The part of the long tier that the indexer uses."""

    def upsert(  # noqa: D102 - see LongTier
        self,
        namespace: tuple[str, ...],
        ids: Sequence[str],
        vectors: NDArray[np.float32],
        metadatas: Sequence[dict[str, str | int]],
    ) -> None: ...

    def remove(self, namespace: tuple[str, ...], ids: Sequence[str]) -> None: ...  # noqa: D102


class Feed:
    """Chooses what the index still lacks and tells it. For one thread.

    Args:
        ledger: The ledger with the backlog and the vectors.
        work: Notes what was embedded.
    """

    def __init__(self, ledger: Ledger, work: Work) -> None:
        self._ledger = ledger
        self._work = work
        self._rounds = 0

    def lines(self, most: int, *, behind: bool) -> list[Owed]:
        """Choose lines for the index, in order of row ids.

        They are anywhere among the lines that are still to be embedded. While there are many of
        those, the memories embedded just now are looked up, and only sometimes is everything
        searched.

        Args:
            most: Most lines, >= 1.
            behind: Whether much is still missing.
        """
        self._rounds += 1
        stored = self._work.stored
        if not behind:
            stored.clear()
        if not stored or self._rounds % SCAN_ROUNDS == 0:
            return self._ledger.read(lambda c: vectors.owed(c, OPS, most))
        docids = sorted(stored.popleft() for _ in range(min(most, len(stored))))
        return self._ledger.read(lambda c: lines_of(c, docids, OPS))

    def tell(self, index: Index, lines: Sequence[Owed]) -> None:
        """Bring the index to the present state of these memories."""
        for ns, group in groupby(lines, key=lambda line: line.ns):
            self._tell(index, self._ledger.labels(ns), list(group))

    def _tell(self, index: Index, labels: tuple[str, ...], lines: list[Owed]) -> None:
        import numpy as np  # noqa: PLC0415 - must not load with memento

        model = self._work.model()
        keep = [line for line in lines if line.op == "index"]
        held = self._ledger.read(lambda c: vectors.read(c, [line.docid for line in keep], model))
        keep = [line for line in keep if line.docid in held]
        if keep:
            matrix = np.stack([np.frombuffer(held[line.docid], np.float32) for line in keep])
            index.upsert(
                labels, [line.id for line in keep], matrix, [{"tier": x.tier} for x in keep]
            )
        gone = [line.id for line in lines if line.op == "drop"]
        if gone:
            index.remove(labels, gone)
