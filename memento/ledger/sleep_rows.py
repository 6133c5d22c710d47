"""The rows of ``sleeps``, and what a sleep reads of many memories at once. SQL only."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from memento.base.clock import DAY
from memento.ledger import memories, rows
from memento.ledger.contract import Transaction
from memento.ledger.dialect import or_replace
from memento.ledger.rows import Row, column, docid_range, select, single, strings_in
from memento.status import sql
from memento.types import Event

_FOUND = sql("found")
_PUT = (
    "INSERT INTO sleeps (ns, owner, until, state) VALUES (?, ?, ?, ?)"
    f" {or_replace('ns', 'owner', 'until', 'state')}"
)


@dataclass(frozen=True, slots=True)
class Lease:
    """The row of a namespace: who sleeps now (None for nobody), until when, and its progress."""

    owner: str | None
    until: int
    state: dict[str, Any]


def lease(db: Transaction, ns: int) -> Lease:
    """Read the row of a namespace; an empty one if it never slept, or the row is damaged."""
    query = "SELECT owner, until, state FROM sleeps WHERE ns = ?"
    found = db.execute(query, (ns,)).fetchone()
    if found is None or not isinstance(found[1], int):
        return Lease(None, 0, {})
    return Lease(found[0], found[1], rows.mapping_in(found[2]))


def keep(db: Transaction, ns: int, one: Lease) -> None:
    """Write the row of a namespace."""
    db.execute(_PUT, (ns, one.owner, one.until, json.dumps(one.state)))


def count_active(db: Transaction, ns: int) -> int:
    """Count the memories of a namespace that are found by default."""
    query = f"SELECT count(*) FROM memories WHERE docid BETWEEN ? AND ? AND {_FOUND}"
    return int(single(db, query, docid_range(ns)))


def active(db: Transaction, ns: int, *, tiers: Sequence[str] = ()) -> Iterator[Row]:
    """Yield the active memories, of some tiers, that are neither pinned nor locked, in order."""
    where = f"docid BETWEEN ? AND ? AND {_FOUND} AND pinned = 0 AND {memories.NOT_ERASED}"
    if tiers:
        where += f" AND tier IN ({', '.join('?' * len(tiers))})"
    return select(db, f"{where} ORDER BY docid", (*docid_range(ns), *tiers))


def replayed_since(db: Transaction, ns: int, moment: int) -> set[int]:
    """Return the row ids of the memories that were replayed since a moment, microseconds."""
    query = f"SELECT docid FROM events WHERE ns = ? AND kind = '{Event.REPLAYED}' AND at >= ?"
    return set(column(db, query, (ns, moment)))


def daily(db: Transaction, ns: int, kinds: Sequence[str], since: int) -> dict[int, int]:
    """Count the events of some kinds by day, in days since 1970, from a moment on."""
    marks = ", ".join("?" * len(kinds))
    query = (
        f"SELECT at / {DAY}, count(*) FROM events WHERE ns = ? AND at >= ? AND kind IN ({marks})"
        " GROUP BY 1"
    )
    return dict(db.execute(query, (ns, since, *kinds)).fetchall())


def arrivals(db: Transaction, ns: int, since: int) -> dict[int, int]:
    """Count the memories that were added by day, in days since 1970, from a moment on."""
    query = (
        f"SELECT created_at / {DAY}, count(*) FROM memories WHERE docid BETWEEN ? AND ?"
        " AND created_at >= ? GROUP BY 1"
    )
    return dict(db.execute(query, (*docid_range(ns), since)).fetchall())


def parents_of_articles(db: Transaction, ns: int) -> set[str]:
    """Return the ids of the memories that an active article was made of."""
    query = (
        f"SELECT source_parents FROM memories WHERE ns = ? AND source_parents <> '[]' AND {_FOUND}"
        " AND kind = 'article'"
    )
    found: set[str] = set()
    for (parents,) in db.execute(query, (ns,)):
        found.update(strings_in(parents))
    return found
