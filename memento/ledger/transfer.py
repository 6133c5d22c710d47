"""Reading a whole namespace out of the ledger, and putting one in as it was. SQL only."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from memento.errors import IdConflict
from memento.ledger import claim_rows, memories
from memento.ledger import links as sql
from memento.ledger.contract import Session
from memento.ledger.dialect import field_of, or_replace
from memento.ledger.rows import (
    COLUMNS,
    STATE,
    Row,
    State,
    docid_range,
    is_changed_event,
    is_changed_link,
)
from memento.status import having
from memento.text.words import Columns
from memento.types import Tier

log = logging.getLogger("memento.ledger.transfer")

_NOTED = or_replace("name", "value")
_INDEXED = having("in_index")


def rows(connection: Session, ns: int) -> Iterator[Row]:
    """Read every memory of a namespace, whatever its status, in order of arrival."""
    low, high = docid_range(ns)
    query = f"SELECT {COLUMNS} FROM memories WHERE docid BETWEEN ? AND ? ORDER BY docid"
    for values in connection.execute(query, (low, high)):
        yield Row(*values)


def vector(connection: Session, docid: int, model: int) -> bytes | None:
    """Read the vector of a memory, unless it has none of this embedder or needs a new one."""
    found = connection.execute(
        "SELECT vector FROM embeddings WHERE docid = ?1 AND model = ?2 AND NOT EXISTS"
        " (SELECT 1 FROM backlog WHERE docid = ?1 AND op = 'embed')",
        (docid, model),
    ).fetchone()
    return None if found is None else bytes(found[0])


def links(connection: Session, ns: int) -> Iterator[tuple[str, str, str, float]]:
    """Read the links of a namespace: from, to, relation, weight; damaged ones are left out.

    So are those that comparing made of a text that is no longer there and was not compared again:
    the importing store compares the memories as they are.
    """
    reworded = claim_rows.reworded(connection, ns)
    found = connection.execute(
        "SELECT src, dst, relation, weight, seal, a.id, b.id FROM links"
        " JOIN memories AS a ON a.docid = src JOIN memories AS b ON b.docid = dst"
        " WHERE src BETWEEN ? AND ? ORDER BY src, relation, dst",
        docid_range(ns),
    )
    garbled = 0
    for *link, source, to in found:
        if is_changed_link(*link):
            garbled += 1
        elif link[2] not in claim_rows.MADE or reworded.isdisjoint(link[:2]):
            yield str(source), str(to), link[2], link[3]
    _warn(garbled, "links")


def events(connection: Session, ns: int) -> Iterator[tuple[int, str, str | None, str | None]]:
    """Read the events of a namespace in order: moment, kind, id of the memory, detail as JSON.

    Damaged ones are left out.
    """
    found = connection.execute(
        "SELECT events.ns, at, events.kind, events.docid, detail, seal, memories.id FROM events"
        " LEFT JOIN memories USING (docid) WHERE events.ns = ? ORDER BY event",
        (ns,),
    )
    garbled = 0
    for *event, memory_id in found:
        if is_changed_event(*event):
            garbled += 1
        else:
            yield event[1], event[2], None if memory_id is None else str(memory_id), event[4]
    _warn(garbled, "events")


def _warn(garbled: int, what: str) -> None:
    if garbled:
        log.warning("%d damaged %s are left out; run `memento doctor`", garbled, what)


def known(connection: Session, ns: int, row: Row) -> int | None:
    """Find a memory that comes from elsewhere and is here already, perhaps in a later state.

    Returns:
        Its row id; None if it is new.

    Raises:
        IdConflict: If its id belongs to another memory here.
    """
    found = connection.execute(
        "SELECT docid, created_at = ?3 OR content_hash = ?4 FROM memories"
        " WHERE ns = ?1 AND id = ?2",
        (ns, row.id, row.created_at, row.content_hash),
    ).fetchone()
    if found is None:
        return None
    docid, same = found
    if not same and not _was(connection, docid, row.created_at):
        raise IdConflict(row.id)
    return int(docid)


def _was(connection: Session, docid: int, created_at: int) -> bool:
    """Tell whether a memory was created then before it was hidden and added again."""
    query = (
        f"SELECT 1 FROM versions WHERE docid = ? AND {field_of('earlier', 'created_at')} = ?"
        " LIMIT 1"
    )
    return connection.execute(query, (docid, created_at)).fetchone() is not None


def begin_import(connection: Session, name: str, namespaces: Iterable[int]) -> dict[int, int]:
    """Note that an import begins, or read when it did if it was cut off before.

    Args:
        connection: Inside a transaction.
        name: Of the import: the same for the same file into the same namespaces.
        namespaces: Their numbers.

    Returns:
        Namespace to its newest revision when the import began.
    """
    noted = _import_noted(connection, name)
    if noted is not None:
        return {int(ns): rev for ns, rev in noted["began"].items()}
    began = {ns: memories.latest_rev(connection, ns) for ns in namespaces}
    _note_import(connection, name, {"line": 0, "began": began})
    return began


def imported_to(connection: Session, name: str) -> int | None:
    """Return the last line of an import that is in; None if all of it is, and its note gone."""
    noted = _import_noted(connection, name)
    return None if noted is None else int(noted["line"])


def note_imported(connection: Session, name: str, line: int) -> None:
    """Note the last line that is in; one that was noted before by somebody else stays."""
    noted = _import_noted(connection, name)
    if noted is not None and noted["line"] < line:
        _note_import(connection, name, noted | {"line": line})


def end_import(connection: Session, name: str) -> None:
    """Note that all of an import is in."""
    connection.execute("DELETE FROM meta WHERE name = ?", (name,))


def _import_noted(connection: Session, name: str) -> dict[str, Any] | None:
    found = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
    return None if found is None else json.loads(found[0])


def _note_import(connection: Session, name: str, noted: Mapping[str, Any]) -> None:
    connection.execute(f"INSERT INTO meta VALUES (?, ?) {_NOTED}", (name, json.dumps(noted)))


def put(
    connection: Session,
    ns: int,
    arrivals: Sequence[tuple[Row, Columns, Sequence[State], bytes | None]],
    model: int | None,
) -> None:
    """Insert memories as they were elsewhere, with their earlier states and vectors.

    Args:
        connection: Inside a transaction.
        ns: Namespace number.
        arrivals: Rows that are not there yet, what full text indexes of them, their states, oldest
            first, and their vectors.
        model: Number of the embedder that made the vectors, or None to leave them out.
    """
    memories.insert_rows(connection, ns, [(row, columns) for row, columns, _, _ in arrivals])
    for row, _, earlier, blob in arrivals:
        for rev, state in enumerate(earlier, start=-len(earlier)):  # before any change made here
            connection.execute(
                f"INSERT INTO versions (docid, rev, {STATE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (row.docid, rev, *state),
            )
        if blob is not None and model is not None:
            _put_vector(connection, row, blob, model)
        elif row.status not in memories.OWED_VECTOR:
            connection.execute("DELETE FROM backlog WHERE docid = ?", (row.docid,))


def _put_vector(connection: Session, row: Row, blob: bytes, model: int) -> None:
    (stamp,) = connection.execute(
        "UPDATE meta SET value = value + 1 WHERE name = 'stamp' RETURNING value"
    ).fetchone()
    connection.execute(
        "INSERT INTO embeddings (docid, model, stamp, vector) VALUES (?, ?, ?, ?)",
        (row.docid, model, stamp, blob),
    )
    if row.status in _INDEXED and row.tier != Tier.SHORT:
        connection.execute(
            "INSERT INTO backlog VALUES (?, ?, 'index') ON CONFLICT (docid) DO UPDATE"
            " SET op = 'index'",
            (row.docid, row.rev),
        )
    else:
        connection.execute("DELETE FROM backlog WHERE docid = ?", (row.docid,))


def put_link(
    connection: Session, ns: int, ends: tuple[str, str], relation: str, weight: float
) -> bool:
    """Link two memories unless they are linked so; tells whether a link was made."""
    docids = memories.docids_of(connection, ns, ends)
    if set(ends) - docids.keys():
        return False
    return sql.put_link(connection, docids[ends[0]], docids[ends[1]], relation, weight)


def put_event(
    connection: Session,
    ns: int,
    at: int,
    kind: str,
    memory_id: str | None,
    detail: Mapping[str, Any] | None,
) -> bool:
    """Append an event of elsewhere; tells whether its memory is still here, if it has one."""
    docid = None
    if memory_id is not None:
        docid = memories.docids_of(connection, ns, [memory_id]).get(memory_id)
        if docid is None:
            return False
    memories.append_event(connection, ns, at, kind, docid, detail)
    return True
