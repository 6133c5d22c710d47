"""Children of a memory, and memories that name a parent that is not stored yet. SQL only.

``awaited`` holds the names of absent parents and who names them. It is made from the memories, and
as a rule empty: a parent is there before its child, or comes with it. So an ``add`` asks it only
where an id was chosen, since nobody can have named one that did not exist.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence

from memento.ledger import memories
from memento.ledger.contract import Session
from memento.ledger.dialect import SKIP_IF_THERE, one_of
from memento.ledger.rows import COLUMNS, Row, docid_range, strings_in

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
