"""Tell the long tier's index what the backlog owes it: vectors to take, and rows to let go."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

from memento.ledger import vectors
from memento.ledger.contract import Ledger
from memento.ledger.vectors import Owed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OPS = ("index", "drop")


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


def tell(ledger: Ledger, index: Index, lines: Sequence[Owed], model: int) -> None:
    """Bring the index to the present state of some memories.

    Args:
        ledger: The ledger with the vectors.
        index: The open index.
        lines: Lines of the backlog, in order of row ids.
        model: Number of the embedder whose vectors it holds.
    """
    for ns, group in groupby(lines, key=lambda line: line.ns):
        _tell(ledger, index, ledger.labels(ns), list(group), model)


def _tell(
    ledger: Ledger, index: Index, labels: tuple[str, ...], lines: Sequence[Owed], model: int
) -> None:
    import numpy as np  # noqa: PLC0415 - must not load with memento

    keep = [line for line in lines if line.op == "index"]
    held = ledger.read(lambda c: vectors.read(c, [line.docid for line in keep], model))
    keep = [line for line in keep if line.docid in held]
    if keep:
        matrix = np.stack([np.frombuffer(held[line.docid], np.float32) for line in keep])
        index.upsert(labels, [line.id for line in keep], matrix, [{"tier": x.tier} for x in keep])
    if gone := [line.id for line in lines if line.op == "drop"]:
        index.remove(labels, gone)
