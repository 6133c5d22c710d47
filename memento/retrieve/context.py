"""The inputs of one call of the read path, which every step of it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memento.config import RetrieveConfig
from memento.retrieve.by_meaning import Meaning
from memento.retrieve.by_time import Then
from memento.retrieve.columns import Floats, Mask, Snapshot
from memento.retrieve.former_values import Heirs
from memento.retrieve.inputs import TextSource
from memento.retrieve.question import Query
from memento.retrieve.usage_boost import Life

Rerank = Callable[[str, Sequence[str]], Floats]
"""Scores texts by how well they answer a query, see `protocols.Reranker`."""


class Texts:
    """Texts of rows, each fetched once."""

    def __init__(self, snap: Snapshot, source: TextSource) -> None:
        self._snap, self._source = snap, source
        self.known: dict[int, str] = {}

    def read(self, rows: Sequence[int]) -> Mapping[int, str]:
        """Return the texts of these rows, and of all that were read before."""
        missing = [row for row in dict.fromkeys(rows) if row not in self.known]
        if missing:
            docids = self._snap.docid[missing].tolist()
            self.known.update(zip(missing, self._source.texts(docids), strict=True))
        return self.known


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """The inputs that every step of one call needs."""

    query: Query
    snap: Snapshot
    source: TextSource
    mask: Mask
    config: RetrieveConfig
    meaning: Meaning | None
    texts: Texts
    text: str
    rerank: Rerank | None
    then: Then | None
    heirs: Heirs
    lenders: Heirs
    life: Life | None = None
