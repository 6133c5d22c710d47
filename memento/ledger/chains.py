"""Chains of supersession: each memory names its successor, and so on to the head. SQL only."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence

from memento.ledger import memories
from memento.ledger.contract import Session
from memento.ledger.dialect import SKIP_IF_THERE, one_of
from memento.ledger.memories import NOT_ERASED
from memento.ledger.rows import COLUMNS, Row, docid_range, strings_in

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


_MINE = one_of()
_FILL = """
INSERT INTO awaited SELECT DISTINCT child.ns, parent.value, child.docid FROM memories AS child,
    json_each(iif(json_valid(child.source_parents), child.source_parents, '[]')) AS parent
    WHERE child.source_parents <> '[]' AND parent.type = 'text' AND NOT EXISTS
    (SELECT 1 FROM memories WHERE ns = child.ns AND id = parent.value)
"""
"""Names every parent that is not there; a row that is damaged names none."""


def note(connection: Session, ns: int, rows: Iterable[Row]) -> None:
    """Note which of the parents that memories name are not there."""
    named = {row.docid: strings_in(row.source_parents) for row in rows}
    names = sorted({name for parents in named.values() for name in parents})
    absent = set(names) - memories.docids_of(connection, ns, names).keys() if names else set()
    connection.executemany(
        f"INSERT INTO awaited VALUES (?, ?, ?) {SKIP_IF_THERE}",
        [
            (ns, name, docid)
            for docid, parents in named.items()
            for name in parents
            if name in absent
        ],
    )


def stop_waiting(connection: Session, docid: int) -> None:
    """Forget what a memory waits for, since it gets other parents."""
    connection.execute("DELETE FROM awaited WHERE docid = ?", (docid,))


def take_waiting(connection: Session, ns: int, ids: Sequence[str]) -> dict[int, set[str]]:
    """Return the row ids of memories that waited for ids that are stored now, each with those ids.

    They no longer wait for them.
    """
    query = f"SELECT docid, parent FROM awaited WHERE ns = ? AND parent {_MINE}"
    waited: dict[int, set[str]] = {}
    for docid, parent in connection.execute(query, (ns, json.dumps(ids))):
        waited.setdefault(docid, set()).add(parent)
    if waited:
        come = json.dumps(sorted(set().union(*waited.values())))
        connection.execute(f"DELETE FROM awaited WHERE ns = ? AND parent {_MINE}", (ns, come))
    return waited


def children(connection: Session, ns: int, ids: Collection[str]) -> list[Row]:
    """Return the memories that name one of some ids as their parent, in order of arrival."""
    query = (
        f"SELECT {COLUMNS} FROM memories WHERE docid BETWEEN ? AND ? AND source_parents <> '[]'"
        " ORDER BY docid"
    )
    found = (Row(*values) for values in connection.execute(query, docid_range(ns)))
    return [row for row in found if not set(strings_in(row.source_parents)).isdisjoint(ids)]


def note_all(connection: Session) -> None:
    """Make ``awaited`` again from the memories."""
    connection.execute("DELETE FROM awaited")
    connection.execute(_FILL)
