"""Reading a whole namespace out of the ledger, and putting one in as it was. SQL only."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from memento.errors import IdConflict
from memento.ledger import claim_rows, memories, meta, vectors
from memento.ledger.contract import Session
from memento.ledger.dialect import field_of
from memento.ledger.links import MADE, link
from memento.ledger.rows import (
    STATE,
    Row,
    State,
    docid_range,
    is_changed_event,
    is_changed_link,
    select,
    single,
)
from memento.status import having
from memento.text.words import Columns
from memento.types import Tier

log = logging.getLogger("memento.ledger.transfer")

_INDEXED = having("in_index")


def rows(db: Session, ns: int) -> Iterator[Row]:
    """Read every memory of a namespace, whatever its status, in order of arrival."""
    return select(db, "docid BETWEEN ? AND ? ORDER BY docid", docid_range(ns))


def vector(db: Session, docid: int, model: int) -> bytes | None:
    """Read the vector of a memory, unless it has none of this embedder or needs a new one."""
    found = db.execute(
        "SELECT vector FROM embeddings WHERE docid = ?1 AND model = ?2 AND NOT EXISTS"
        " (SELECT 1 FROM backlog WHERE docid = ?1 AND op = 'embed')",
        (docid, model),
    ).fetchone()
    return None if found is None else bytes(found[0])


def links(db: Session, ns: int) -> Iterator[tuple[str, str, str, float]]:
    """Read the links of a namespace: from, to, relation, weight; damaged ones are left out.

    So are those that comparing made of a text that is no longer there and was not compared again:
    the importing store compares the memories as they are.
    """
    reworded = claim_rows.reworded(db, ns)
    found = db.execute(
        "SELECT src, dst, relation, weight, seal, a.id, b.id FROM links"
        " JOIN memories AS a ON a.docid = src JOIN memories AS b ON b.docid = dst"
        " WHERE src BETWEEN ? AND ? ORDER BY src, relation, dst",
        docid_range(ns),
    )
    garbled = 0
    for *one, source, to in found:
        if is_changed_link(*one):
            garbled += 1
        elif one[2] not in MADE or reworded.isdisjoint(one[:2]):
            yield str(source), str(to), one[2], one[3]
    _warn(garbled, "links")


def events(db: Session, ns: int) -> Iterator[tuple[int, str, str | None, str | None]]:
    """Read the events of a namespace in order: moment, kind, id of the memory, detail as JSON.

    Damaged ones are left out.
    """
    found = db.execute(
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


def known(db: Session, ns: int, row: Row) -> int | None:
    """Find a memory that comes from elsewhere and is here already, perhaps in a later state.

    Raises:
        IdConflict: If its id belongs to another memory here.
    """
    found = db.execute(
        "SELECT docid, created_at = ?3 OR content_hash = ?4 FROM memories"
        " WHERE ns = ?1 AND id = ?2",
        (ns, row.id, row.created_at, row.content_hash),
    ).fetchone()
    if found is None:
        return None
    docid, same = found
    if not same and not _was(db, docid, row.created_at):
        raise IdConflict(row.id)
    return int(docid)


def _was(db: Session, docid: int, created_at: int) -> bool:
    """Tell whether a memory was created then before it was hidden and added again."""
    query = (
        f"SELECT 1 FROM versions WHERE docid = ? AND {field_of('earlier', 'created_at')} = ?"
        " LIMIT 1"
    )
    return single(db, query, (docid, created_at)) is not None


def begin_import(db: Session, name: str, namespaces: Iterable[int]) -> dict[int, int]:
    """Note that an import begins, or read when it did if it was cut off before.

    Its name is the same for the same file into the same namespaces.

    Returns:
        Namespace to its newest revision when the import began.
    """
    noted = _import_noted(db, name)
    if noted is not None:
        return {int(ns): rev for ns, rev in noted["began"].items()}
    began = {ns: memories.latest_rev(db, ns) for ns in namespaces}
    _note_import(db, name, {"line": 0, "began": began})
    return began


def imported_to(db: Session, name: str) -> int | None:
    """Return the last line of an import that is in; None if all of it is, and its note gone."""
    noted = _import_noted(db, name)
    return None if noted is None else int(noted["line"])


def note_imported(db: Session, name: str, line: int) -> None:
    """Note the last line that is in; one that was noted before by somebody else stays."""
    noted = _import_noted(db, name)
    if noted is not None and noted["line"] < line:
        _note_import(db, name, noted | {"line": line})


def end_import(db: Session, name: str) -> None:
    """Note that all of an import is in."""
    meta.drop(db, name)


def _import_noted(db: Session, name: str) -> dict[str, Any] | None:
    found = meta.get(db, name)
    return None if found is None else json.loads(found)


def _note_import(db: Session, name: str, noted: Mapping[str, Any]) -> None:
    meta.put(db, name, json.dumps(noted))


def put(
    db: Session,
    ns: int,
    arrivals: Sequence[tuple[Row, Columns, Sequence[State], bytes | None]],
    model: int | None,
) -> None:
    """Insert memories as they were elsewhere, with their earlier states and vectors.

    Each is a row that is not there yet, what full text indexes of it, its states, oldest first, and
    its vector, which the embedder of the number made; None to leave vectors out.
    """
    memories.insert_rows(db, ns, [(row, columns) for row, columns, _, _ in arrivals])
    for row, _, earlier, blob in arrivals:
        for rev, state in enumerate(earlier, start=-len(earlier)):  # before any change made here
            db.execute(
                f"INSERT INTO versions (docid, rev, {STATE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (row.docid, rev, *state),
            )
        if blob is not None and model is not None:
            _put_vector(db, row, blob, model)
        elif row.status not in memories.OWED_VECTOR:
            db.execute("DELETE FROM backlog WHERE docid = ?", (row.docid,))


def _put_vector(db: Session, row: Row, blob: bytes, model: int) -> None:
    db.execute(
        "INSERT INTO embeddings (docid, model, stamp, vector) VALUES (?, ?, ?, ?)",
        (row.docid, model, vectors.next_stamp(db), blob),
    )
    if row.status in _INDEXED and row.tier != Tier.SHORT:
        db.execute(
            "INSERT INTO backlog VALUES (?, ?, 'index') ON CONFLICT (docid) DO UPDATE"
            " SET op = 'index'",
            (row.docid, row.rev),
        )
    else:
        db.execute("DELETE FROM backlog WHERE docid = ?", (row.docid,))


def put_link(db: Session, ns: int, ends: tuple[str, str], relation: str, weight: float) -> bool:
    """Link two memories unless they are linked so; tells whether a link was made."""
    docids = memories.docids_of(db, ns, ends)
    if set(ends) - docids.keys():
        return False
    return link(db, docids[ends[0]], docids[ends[1]], relation, weight)


def put_event(
    db: Session,
    ns: int,
    at: int,
    kind: str,
    memory_id: str | None,
    detail: Mapping[str, Any] | None,
) -> bool:
    """Append an event of elsewhere; tells whether its memory is still here, if it has one."""
    docid = None
    if memory_id is not None:
        docid = memories.docids_of(db, ns, [memory_id]).get(memory_id)
        if docid is None:
            return False
    memories.record(db, ns, at, kind, docid, detail)
    return True
