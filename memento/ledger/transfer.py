"""Read a whole namespace from the ledger, and insert one as it was. SQL only."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from memento.errors import IdConflict
from memento.ledger import claim_rows, memories, meta, vectors
from memento.ledger.contract import Transaction
from memento.ledger.dialect import number_of
from memento.ledger.links import CONFLICTS, link
from memento.ledger.rows import STATE, Row, State, docid_range, is_changed, select, single
from memento.status import having
from memento.text.words import Columns
from memento.types import Tier

log = logging.getLogger("memento.ledger.transfer")

_INDEXED = having("in_index")


def rows(db: Transaction, ns: int) -> Iterator[Row]:
    """Read every memory of a namespace, regardless of its status, in order of arrival."""
    return select(db, "docid BETWEEN ? AND ? ORDER BY docid", docid_range(ns))


def vector(db: Transaction, docid: int, model: int) -> bytes | None:
    """Read the vector of a memory, unless it has none of this embedder or needs a new one."""
    query = (
        "SELECT vector FROM embeddings WHERE docid = ?1 AND model = ?2 AND NOT EXISTS"
        " (SELECT 1 FROM backlog WHERE docid = ?1 AND op = 'embed')"
    )
    found = single(db, query, (docid, model))
    return None if found is None else bytes(found)


def links(db: Transaction, ns: int) -> Iterator[tuple[str, str, str, float]]:
    """Read the links of a namespace: from, to, relation, weight; damaged ones are left out.

    So are conflicts that were found in a text that has changed and was not compared again: the
    importing store compares the memories as they are.
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
        if is_changed(*one):
            garbled += 1
        elif one[2] not in CONFLICTS or reworded.isdisjoint(one[:2]):
            yield str(source), str(to), one[2], one[3]
    _warn(garbled, "links")


def events(db: Transaction, ns: int) -> Iterator[tuple[int, str, str | None, str | None]]:
    """Read the events of a namespace in order: moment, kind, id of the memory, detail as JSON."""
    found = db.execute(
        "SELECT events.ns, at, events.kind, events.docid, detail, seal, memories.id FROM events"
        " LEFT JOIN memories USING (docid) WHERE events.ns = ? ORDER BY event",
        (ns,),
    )
    garbled = 0
    for *event, memory_id in found:
        if is_changed(*event):
            garbled += 1
        else:
            yield event[1], event[2], None if memory_id is None else str(memory_id), event[4]
    _warn(garbled, "events")


def _warn(garbled: int, what: str) -> None:
    if garbled:
        log.warning("%d damaged %s were left out; run `memento doctor`", garbled, what)


def known(db: Transaction, ns: int, row: Row) -> int | None:
    """Find an imported memory that is stored already, even if changed, or raise ``IdConflict``."""
    found = db.execute(
        "SELECT docid, created_at = ?3 OR content_hash = ?4 FROM memories"
        " WHERE ns = ?1 AND id = ?2",
        (ns, row.id, row.created_at, row.content_hash),
    ).fetchone()
    if found is None:
        return None
    docid, same = found
    was_created = f"docid = ? AND {number_of('earlier', 'created_at')} = ?"  # and hidden since
    query = f"SELECT 1 FROM versions WHERE {was_created} LIMIT 1"
    if not same and single(db, query, (docid, row.created_at)) is None:
        raise IdConflict(row.id)
    return int(docid)


def begin_import(db: Transaction, name: str, namespaces: Iterable[int]) -> dict[int, int]:
    """Note that an import begins, or read the note if it was interrupted before.

    Its name is the same for the same file into the same namespaces. Returns the newest revision of
    each namespace when the import began.
    """
    noted = meta.get_json(db, name)
    if noted is not None:
        return {int(ns): rev for ns, rev in noted["began"].items()}
    began = {ns: memories.latest_rev(db, ns) for ns in namespaces}
    meta.put(db, name, json.dumps({"line": 0, "began": began}))
    return began


def imported_to(db: Transaction, name: str) -> int | None:
    """Return the last line of an import that is stored; None if all is, and its note is gone."""
    noted = meta.get_json(db, name)
    return None if noted is None else int(noted["line"])


def note_imported(db: Transaction, name: str, line: int) -> None:
    """Note the last line that is stored, unless somebody else has noted a later one."""
    noted = meta.get_json(db, name)
    if noted is not None and noted["line"] < line:
        meta.put(db, name, json.dumps(noted | {"line": line}))


def end_import(db: Transaction, name: str) -> None:
    """Delete the note of an import that is complete."""
    meta.drop(db, name)


def put(
    db: Transaction,
    ns: int,
    arrivals: Sequence[tuple[Row, Columns, Sequence[State], bytes | None]],
    model: int | None,
) -> None:
    """Insert memories as they were elsewhere, with their earlier states and vectors.

    Each is a new row, what full text indexes of it, its states, oldest first, and its vector, or
    None. ``model`` is the number of the embedder of the vectors; None to leave them out.
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


def _put_vector(db: Transaction, row: Row, blob: bytes, model: int) -> None:
    values = (row.docid, model, vectors.next_stamp(db), blob)
    db.execute("INSERT INTO embeddings (docid, model, stamp, vector) VALUES (?, ?, ?, ?)", values)
    db.execute("DELETE FROM backlog WHERE docid = ?", (row.docid,))
    if row.status in _INDEXED and row.tier != Tier.SHORT:
        db.execute("INSERT INTO backlog VALUES (?, ?, 'index')", (row.docid, row.rev))


def put_link(db: Transaction, ns: int, ends: tuple[str, str], relation: str, weight: float) -> bool:
    """Link two memories unless that link exists; return whether a link was made."""
    docids = memories.docids_of(db, ns, ends)
    if set(ends) - docids.keys():
        return False
    return link(db, docids[ends[0]], docids[ends[1]], relation, weight)


def put_event(
    db: Transaction,
    ns: int,
    at: int,
    kind: str,
    memory_id: str | None,
    detail: Mapping[str, Any] | None,
) -> bool:
    """Append an imported event; return False, without appending, if its memory is not here."""
    known = {} if memory_id is None else memories.docids_of(db, ns, [memory_id])
    docid = known.get(memory_id or "")
    if memory_id is not None and docid is None:
        return False
    memories.record(db, ns, at, kind, docid, detail)
    return True
