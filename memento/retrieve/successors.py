"""Later statements that tell of a change: what finds the earlier one finds them as well.

"Who is my boss?" is near to "My line manager is Fiona", and far from "Fiona has left, Gareth runs
our team now". The settling pass notes that the second one says that something ended of which the
first one speaks, see ``language.ended``. Here the first one lends its evidence to the second, as a
former value does to its heir; and if the second one fits the question as well, it is placed first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np

from memento.retrieve.candidates import Candidate, Said, in_places, promoted
from memento.retrieve.columns import Mask, Rows, Snapshot
from memento.retrieve.former_values import Heirs

MOST_LATER = 500
"""Most pairs of a namespace that a query looks at, those with the newest earlier statements."""
_NEAR = 0.6
"""Least share of the earlier one's score that the later one has."""
_DEPTH = 8
"""So many of the best candidates are compared with each other."""
_LOOKED_FOR = ("exact", "calendar", "said_date", "speaker", "form")
"""Evidence of which the later one must have as much."""

_NO_ROWS: Rows = np.zeros(0, np.intp)

Successions: TypeAlias = Sequence[tuple[int, int]]
"""Row ids of an earlier statement and of a later one that tells of a change, ascending."""


@dataclass(frozen=True, slots=True, eq=False)
class Later(Heirs):
    """Earlier statements (``former``) and the later ones (``heir``) that may take their place.

    Unlike former values, both may be found.
    """

    @classmethod
    def found(cls, snap: Snapshot, mask: Mask, pairs: Successions) -> Self:
        """Keep the pairs whose statements may both be found."""
        if not pairs:
            return cls(_NO_ROWS, _NO_ROWS)
        table = np.array(pairs, np.int64).reshape(-1, 2)
        rows = np.searchsorted(snap.docid, table)
        inside = (rows < snap.n).all(axis=1)
        rows = rows[inside]
        rows = rows[(snap.docid[rows] == table[inside]).all(axis=1)]
        rows = rows[mask[rows].all(axis=1)]
        return cls(rows[:, 0], rows[:, 1])

    def first(self, ranked: Sequence[Candidate], _said: Mapping[int, Said]) -> list[Candidate]:
        """Place the later one of a pair first if it fits the question as well."""
        among = set(zip(self.former.tolist(), self.heir.tolist(), strict=True))
        order = promoted(
            ranked[:_DEPTH],
            {older for older, _ in among},
            lambda newer, older: (older.row, newer.row) in among and _fits(newer, older),
            noted=True,
        )
        return in_places(order, ranked)


def _fits(newer: Candidate, older: Candidate) -> bool:
    near = newer.score >= _NEAR * older.score
    return near and all(
        newer.terms.get(name, 0) >= older.terms.get(name, 0) for name in _LOOKED_FOR
    )
