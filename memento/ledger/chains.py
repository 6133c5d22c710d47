"""Chains of supersession: each memory names its successor, and so on to the head. SQL only."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence

from memento.ledger import memories
from memento.ledger.contract import Session
from memento.ledger.dialect import SKIP_IF_THERE, one_of
from memento.ledger.memories import NOT_ERASED
from memento.ledger.rows import Row, docid_range, select, single, strings_in

LONGEST = 10_000
"""Most links that are followed."""


def successors(db: Session, ns: int, memory_id: str | None) -> Iterator[str]:
    """Yield an id, the id of the memory that superseded it, and so on; at most ``LONGEST``."""
    query = f"SELECT superseded_by FROM memories WHERE ns = ? AND id = ? AND {NOT_ERASED}"
    for _ in range(LONGEST):
        if memory_id is None:
            return
        found = db.execute(query, (ns, memory_id)).fetchone()
        if found is None:
            return
        yield memory_id
        memory_id = found[0]


def is_successor(db: Session, ns: int, memory_id: str) -> bool:
    """Tell whether a memory superseded any: else no chain comes to it from another one."""
    query = "SELECT 1 FROM memories WHERE ns = ? AND superseded_by = ? LIMIT 1"
    return single(db, query, (ns, memory_id)) is not None


def leads_to(db: Session, ns: int, start: str | None, memory_id: str) -> bool:
    """Tell whether a chain comes to a memory, or is too long to tell."""
    count = 0
    for one in successors(db, ns, start):
        if one == memory_id:
            return True
        count += 1
    return count >= LONGEST


def head(db: Session, row: Row) -> str:
    """Return the id of the memory at the end of the chain of another one."""
    last = row.id
    seen = {last}
    for one in successors(db, row.ns, row.superseded_by):
        if one in seen:  # a circle of before circles were refused
            break
        seen.add(one)
        last = one
    return last


def members(db: Session, ns: int, head_id: str) -> list[Row]:
    """Return all memories whose chain ends at one, and that one: by start, then by arrival."""
    found: dict[int, Row] = {}
    waiting = list(select(db, f"ns = ? AND id = ? AND {NOT_ERASED}", (ns, head_id)))
    while waiting and len(found) <= LONGEST:
        row = waiting.pop()
        if row.docid not in found:
            found[row.docid] = row
            waiting += select(db, f"ns = ? AND superseded_by = ? AND {NOT_ERASED}", (ns, row.id))
    return sorted(found.values(), key=lambda row: (row.valid_from, row.docid))


_FILL = """
INSERT INTO awaited SELECT DISTINCT child.ns, parent.value, child.docid FROM memories AS child,
    json_each(iif(json_valid(child.source_parents), child.source_parents, '[]')) AS parent
    WHERE child.source_parents <> '[]' AND parent.type = 'text' AND NOT EXISTS
    (SELECT 1 FROM memories WHERE ns = child.ns AND id = parent.value)
"""
"""Names every parent that is not there; a row that is damaged names none."""


def note(db: Session, ns: int, rows: Iterable[Row]) -> None:
    """Note which of the parents that memories name are not there."""
    named = {row.docid: strings_in(row.source_parents) for row in rows}
    names = sorted({name for parents in named.values() for name in parents})
    absent = set(names) - memories.docids_of(db, ns, names).keys() if names else set()
    waits = [(ns, name, docid) for docid, of in named.items() for name in of if name in absent]
    db.executemany(f"INSERT INTO awaited VALUES (?, ?, ?) {SKIP_IF_THERE}", waits)


def stop_waiting(db: Session, docid: int) -> None:
    """Forget what a memory waits for, since it gets other parents."""
    db.execute("DELETE FROM awaited WHERE docid = ?", (docid,))


def take_waiting(db: Session, ns: int, ids: Sequence[str]) -> dict[int, set[str]]:
    """Return the row ids of memories that waited for ids that are stored now, each with those ids.

    They no longer wait for them.
    """
    query = f"SELECT docid, parent FROM awaited WHERE ns = ? AND parent {one_of()}"
    waited: dict[int, set[str]] = {}
    for docid, parent in db.execute(query, (ns, json.dumps(ids))):
        waited.setdefault(docid, set()).add(parent)
    if waited:
        come = json.dumps(sorted(set().union(*waited.values())))
        db.execute(f"DELETE FROM awaited WHERE ns = ? AND parent {one_of()}", (ns, come))
    return waited


def children(db: Session, ns: int, ids: Collection[str]) -> list[Row]:
    """Return the memories that name one of some ids as their parent, in order of arrival."""
    found = select(
        db, "docid BETWEEN ? AND ? AND source_parents <> '[]' ORDER BY docid", docid_range(ns)
    )
    return [row for row in found if not set(strings_in(row.source_parents)).isdisjoint(ids)]


def note_all(db: Session) -> None:
    """Make ``awaited`` again from the memories."""
    db.execute("DELETE FROM awaited")
    db.execute(_FILL)
