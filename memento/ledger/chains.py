"""Chains of supersession: each memory names its successor, and so on to the head. SQL only."""

from __future__ import annotations

from collections.abc import Iterator

from memento.ledger.contract import Session
from memento.ledger.memories import NOT_ERASED
from memento.ledger.rows import COLUMNS, Row

LONGEST = 10_000
"""Most links that are followed."""


def successors(session: Session, ns: int, memory_id: str | None) -> Iterator[str]:
    """Yield an id, the id of the memory that superseded it, and so on; at most ``LONGEST``.

    Args:
        session: Of any job.
        ns: Namespace number.
        memory_id: Where to begin; None for an empty chain.
    """
    query = f"SELECT superseded_by FROM memories WHERE ns = ? AND id = ? AND {NOT_ERASED}"
    for _ in range(LONGEST):
        if memory_id is None:
            return
        found = session.execute(query, (ns, memory_id)).fetchone()
        if found is None:
            return
        yield memory_id
        memory_id = found[0]


def is_successor(session: Session, ns: int, memory_id: str) -> bool:
    """Tell whether a memory superseded any: else no chain comes to it from another one."""
    query = "SELECT 1 FROM memories WHERE ns = ? AND superseded_by = ? LIMIT 1"
    return session.execute(query, (ns, memory_id)).fetchone() is not None


def leads_to(session: Session, ns: int, start: str | None, memory_id: str) -> bool:
    """Tell whether a chain comes to a memory, or is too long to tell."""
    count = 0
    for one in successors(session, ns, start):
        if one == memory_id:
            return True
        count += 1
    return count >= LONGEST


def head(session: Session, row: Row) -> str:
    """Return the id of the memory at the end of the chain of another one."""
    last = row.id
    seen = {last}
    for one in successors(session, row.ns, row.superseded_by):
        if one in seen:  # a circle of before circles were refused
            break
        seen.add(one)
        last = one
    return last


def members(session: Session, ns: int, head_id: str) -> list[Row]:
    """Return all memories whose chain ends at one, and that one: by start, then by arrival."""
    select = f"SELECT {COLUMNS} FROM memories WHERE ns = ? AND {{}} = ? AND {NOT_ERASED}"
    found: dict[int, Row] = {}
    waiting = [Row(*one) for one in session.execute(select.format("id"), (ns, head_id))]
    while waiting and len(found) <= LONGEST:
        row = waiting.pop()
        if row.docid in found:
            continue
        found[row.docid] = row
        earlier = session.execute(select.format("superseded_by"), (ns, row.id))
        waiting += [Row(*one) for one in earlier]
    return sorted(found.values(), key=lambda row: (row.valid_from, row.docid))
