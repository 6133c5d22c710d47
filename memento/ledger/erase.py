"""Taking memories out of the ledger for good. SQL only.

What is erased leaves its row id in ``erased`` and nothing else: caches of every process learn of it
by the revision, and the row id is never given again. What is left to do to the files is noted in
``meta`` in the same transaction, so that it is done even if this process dies.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from memento.errors import NotFound
from memento.ledger import dynamics, memories
from memento.ledger.contract import Session
from memento.ledger.dialect import each_of, each_of_sound, is_json, one_of, or_replace
from memento.ledger.rows import (
    STATE,
    State,
    amended,
    docid_range,
    is_changed_event,
    mapping_in,
    seal_of,
    strings_in,
)
from memento.types import Event

PARTS = ("ledger", "files", "chroma", "log")
"""What is done to the files after rows were erased, in this order."""

_NOTED = or_replace("name", "value")
_MINE, _MINE_TOO = one_of(), one_of("?2")
_PARENTS = each_of_sound("source_parents")
"""The parents of a row; one that is damaged has none."""
_WORDS = frozenset({"source", "verdict"})
"""Details of an event that are words of memento, whatever ids there are."""
_OF_ROW = {
    "versions": ("docid",),
    "embeddings": ("docid",),
    "backlog": ("docid",),
    "links": ("src", "dst"),
    "events": ("docid",),
    "awaited": ("docid",),
    "dynamics": ("docid",),
    "memories": ("docid",),
}
"""Tables that hold something of a memory, beside full text, and the columns that say of which."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which memories of a namespace are meant: exactly one of these.

    Attributes:
        ids: These.
        sources: All that come from this address, in any of these spellings.
        session: All of this session.
        everything: All there are.
    """

    ids: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    session: str | None = None
    everything: bool = False


def chosen(connection: Session, ns: int, what: Chosen) -> dict[int, str]:
    """Find what is meant, whatever its status: row ids to ids, in order of arrival.

    Raises:
        NotFound: If the namespace lacks one of the ids.
    """
    query = "SELECT docid, id FROM memories WHERE ns = ?"
    if what.everything:
        found = connection.execute(f"{query} ORDER BY docid", (ns,))
    elif what.sources:
        spelt = json.dumps(what.sources)
        found = connection.execute(f"{query} AND source_uri {_MINE} ORDER BY docid", (ns, spelt))
    elif what.session is not None:
        found = connection.execute(f"{query} AND session = ? ORDER BY docid", (ns, what.session))
    else:
        docids = memories.docids_of(connection, ns, what.ids)
        if absent := [memory_id for memory_id in what.ids if memory_id not in docids]:
            raise NotFound(absent[0])
        return {docid: memory_id for memory_id, docid in docids.items()}
    return dict(found.fetchall())


def derived(connection: Session, ns: int, roots: dict[int, str]) -> dict[int, str]:
    """Find what was derived from memories, and from those in turn; they themselves left out."""
    found: dict[int, str] = {}
    fresh: Collection[str] = roots.values()
    while fresh:
        rows = connection.execute(
            "SELECT docid, id FROM memories WHERE ns = ? AND source_parents <> '[]' AND EXISTS ("
            f"SELECT 1 FROM {_PARENTS} AS parent WHERE parent.value {_MINE})"
            " ORDER BY docid",
            (ns, json.dumps(list(fresh))),
        ).fetchall()
        new = {docid: id_ for docid, id_ in rows if docid not in roots and docid not in found}
        found |= new
        fresh = new.values()
    return found


def erase(connection: Session, ns: int, doomed: dict[int, str], now: int) -> dict[str, int]:
    """Delete memories and every trace of them in the ledger, and note what the files are owed.

    Full text neither catches up nor merges first, which may write megabytes: a full disk is a
    reason to erase.

    Args:
        connection: Inside a transaction.
        ns: Namespace number.
        doomed: Row ids to ids.
        now: The present moment, microseconds.

    Returns:
        How many rows were deleted, by table.
    """
    rev = memories.next_rev(connection, ns)
    ids = frozenset(doomed.values())
    docids = json.dumps(list(doomed))
    counts = {"full text": connection.words.remove([*doomed])} | dict.fromkeys(_OF_ROW, 0)
    for table, columns in _OF_ROW.items():
        for column in columns:
            query = f"DELETE FROM {table} WHERE {column} {_MINE}"
            counts[table] += connection.execute(query, (docids,)).rowcount
    connection.execute(
        f"INSERT INTO erased (docid, ns, rev) SELECT value, ?, ? FROM {each_of('?')}",
        (ns, rev, docids),
    )
    _forget_ids(connection, ns, ids)
    counts["events"] += _forget_in_events(connection, ns, ids)
    dynamics.events_went(connection)
    memories.record(connection, ns, now, Event.ERASED, None, {"memories": len(doomed)})
    _owe(connection)
    return counts


def _forget_ids(connection: Session, ns: int, ids: frozenset[str]) -> None:
    """Take the ids out of the other rows that name them, and out of their earlier states."""
    naming = (  # two halves, each with an index of its own
        f"SELECT docid FROM memories WHERE ns = ?1 AND superseded_by {_MINE_TOO}"
        " UNION SELECT docid FROM memories WHERE ns = ?1 AND source_parents <> '[]'"
        f" AND (NOT {is_json('source_parents')}"
        f" OR EXISTS (SELECT 1 FROM {_PARENTS} AS parent WHERE parent.value {_MINE_TOO}))"
    )
    for (docid,) in connection.execute(naming, (ns, json.dumps(list(ids)))).fetchall():
        row = memories.by_docid(connection, docid)
        memories.overwrite(connection, row, _without_ids(vars_of(row), ids))
    low, high = docid_range(ns)
    states = (
        f"SELECT docid, rev, {STATE} FROM versions"
        " WHERE docid BETWEEN ? AND ? AND earlier IS NOT NULL"
    )
    for docid, rev, *state in connection.execute(states, (low, high)).fetchall():
        earlier = mapping_in(state[-1])
        if not earlier and _holds(state[-1], ids):
            query = "DELETE FROM versions WHERE docid = ? AND rev = ?"
            connection.execute(query, (docid, rev))  # damaged: nothing less takes them out
        elif changes := _without_ids(earlier, ids):
            row = memories.by_docid(connection, docid)
            connection.execute(
                "UPDATE versions SET earlier = ? WHERE docid = ? AND rev = ?",
                (amended(row, State(*state), changes), docid, rev),
            )


def vars_of(row: Any) -> dict[str, Any]:
    """Return what a row says of other memories."""
    return {"superseded_by": row.superseded_by, "source_parents": row.source_parents}


def _without_ids(state: dict[str, Any], ids: frozenset[str]) -> dict[str, Any]:
    """Return those fields of a state that name one of the ids, as they are without it."""
    changes: dict[str, Any] = {}
    if state.get("superseded_by") in ids:
        changes["superseded_by"] = None
    spelt = state.get("source_parents")
    parents = strings_in(spelt or "[]")
    if not ids.isdisjoint(parents) or (not parents and _holds(spelt, ids)):
        kept = [parent for parent in parents if parent not in ids]
        changes["source_parents"] = json.dumps(kept, ensure_ascii=False)
    return changes


def _forget_in_events(connection: Session, ns: int, ids: frozenset[str]) -> int:
    """Take the ids out of the details of events; returns how many were about nothing else."""
    gone = 0
    details = "SELECT event, at, kind, docid, detail, seal FROM events WHERE ns = ?"
    named = connection.execute(f"{details} AND detail IS NOT NULL", (ns,)).fetchall()
    for event, at, kind, docid, detail, seal in named:
        said = mapping_in(detail)
        if not said and not _holds(detail, ids):
            continue
        kept = _pruned(said, ids)
        if not any(kept.values()):
            connection.execute("DELETE FROM events WHERE event = ?", (event,))
            gone += 1
        elif kept != said:
            left = json.dumps(kept)
            whole = seal is not None and not is_changed_event(ns, at, kind, docid, detail, seal)
            new = seal_of(ns, at, kind, docid, left) if whole else seal
            connection.execute(
                "UPDATE events SET detail = ?, seal = ? WHERE event = ?", (left, new, event)
            )
    return gone


def _pruned(said: dict[str, Any], ids: frozenset[str]) -> dict[str, Any]:
    """Leave out what names one of the ids: an item of a list, or a key with its value."""
    pruned = {
        key: [item for item in value if not _names(item, ids)] if isinstance(value, list) else value
        for key, value in said.items()
    }
    return {key: value for key, value in pruned.items() if key in _WORDS or not _names(value, ids)}


def _holds(damaged: object, ids: frozenset[str]) -> bool:
    """Tell whether something that cannot be read any more holds one of the ids."""
    return any(one in str(damaged) for one in ids)


def _names(value: object, ids: frozenset[str]) -> bool:
    return isinstance(value, str) and value in ids


def erasures(connection: Session) -> int:
    """Count how often something was erased from this store."""
    found = connection.execute("SELECT value FROM meta WHERE name = 'erasures'").fetchone()
    return 0 if found is None else int(found[0])


def _owe(connection: Session) -> None:
    number = erasures(connection) + 1
    for name in ("erasures", *(f"erasing {part}" for part in PARTS)):
        connection.execute(f"INSERT INTO meta VALUES (?, ?) {_NOTED}", (name, number))


def owed(connection: Session) -> dict[str, int]:
    """Return what the files are still owed: parts to the number of the last erasure."""
    rows = connection.execute("SELECT name, value FROM meta WHERE name LIKE 'erasing %'").fetchall()
    found = {name.removeprefix("erasing "): number for name, number in rows}
    return {part: found[part] for part in PARTS if part in found}


def settle(connection: Session, part: str, number: int) -> None:
    """Note that a part was done, unless something else was erased meanwhile."""
    query = "DELETE FROM meta WHERE name = ? AND value <= ?"
    connection.execute(query, (f"erasing {part}", number))


def still_there(connection: Session, ns: int, ids: Iterable[str]) -> list[str]:
    """Return those of some ids that name a memory, in order."""
    wanted = list(ids)
    known = memories.docids_of(connection, ns, wanted)
    return [memory_id for memory_id in wanted if memory_id in known]
