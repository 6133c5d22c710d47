"""The memories that a policy is compiled from. SQL only; ``memento.prompt`` has the rules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from memento.ledger.contract import Session
from memento.ledger.dialect import one_of
from memento.ledger.memories import NOT_ERASED
from memento.ledger.rows import Row, is_sound, select
from memento.status import sql

_OF_POLICY = (
    "(kind IN ('rule', 'preference', 'decision', 'procedure', 'plan')"
    " OR signal = 'identity' OR pinned <> 0)"
)
"""The condition of the index ``memories_of_policy``, word for word: else it is not used."""


class Mark(NamedTuple):
    """Tells whether the memories of a policy changed: their largest revision, and how many."""

    newest: int
    size: int


def mark(db: Session, ns: int) -> Mark:
    """Return the mark of a namespace, from the index alone."""
    query = f"SELECT ifnull(max(rev), 0), count(*) FROM memories WHERE ns = ? AND {_OF_POLICY}"
    return Mark(*db.execute(query, (ns,)).fetchone())


def rows(db: Session, ns: int, scopes: Sequence[str]) -> list[Row]:
    """Read the whole memories that a policy may hold in some scopes, in order of arrival."""
    where = f"ns = ? AND {_OF_POLICY} AND {sql('found')} AND {NOT_ERASED} AND scope {one_of()}"
    found = select(db, where, (ns, json.dumps(scopes)))
    return sorted(filter(is_sound, found), key=lambda row: row.docid)


def disagreeing(db: Session, docids: Sequence[int]) -> list[tuple[int, int]]:
    """Return which of some memories contradict each other, as pairs of row ids."""
    listed = json.dumps(list(docids))
    query = (
        f"SELECT src, dst FROM links WHERE relation = 'contradicts' AND src {one_of('?1')}"
        f" AND dst {one_of('?1')} ORDER BY src, dst"
    )
    return [(src, dst) for src, dst in db.execute(query, (listed,))]
