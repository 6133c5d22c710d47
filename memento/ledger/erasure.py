"""Erase memories from the ledger for good.

An erased memory leaves its row id in ``erased``, digests if it may be given, read or reviewed again
(see ``replays``, ``copies`` and ``reviews``), and nothing else. Caches of every process learn of it
by the revision, and the row id is never used again. The work left to do on the files is noted in
``meta`` in the same transaction, so that it is done even if this process dies.

A few memories are deleted in one transaction (`erase`). Very many are marked in one, which hides
them from every reader, and their rows are deleted in others, so that no writer waits long.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from memento.base.lazy import later
from memento.errors import NotFound
from memento.ledger import copies, links, memories, meta, parts, quotes, replays, reviews, rows
from memento.ledger.contract import Transaction
from memento.ledger.dialect import (
    SKIP_IF_THERE,
    each_of,
    each_of_sound,
    is_json,
    listed,
    one_of,
    one_of_numbers,
)
from memento.ledger.rows import STATE, State, column, docid_range, mapping_in, single, strings_in
from memento.ledger.schema import SEQ_BITS
from memento.types import Event

if TYPE_CHECKING:
    from memento.ledger import loop_rows, model_rows, strength_fold, usage_events
else:
    loop_rows, model_rows, strength_fold, usage_events = [
        later(f"memento.ledger.{name}")
        for name in ("loop_rows", "model_rows", "strength_fold", "usage_events")
    ]

ROWS = "rows"
"""The part before ``PARTS`` if very many rows are erased."""
PARTS = ("ledger", "files", "chroma", "log")
"""Parts of the store to be cleaned after rows were erased, in this order."""

_PARENTS = each_of_sound("source_parents")
"""The parents of a row; one that is damaged has none."""
_WORDS = frozenset({"source", "verdict"})
"""Keys in the detail of an event whose values are never ids."""
SHOWN = "ids"
"""Key in the detail of an event: the ids of an answer, best first; ``""`` for an erased one."""
_OF_ROW = {
    "versions": ("docid",),
    "embeddings": ("docid",),
    "backlog": ("docid",),
    "links": ("src", "dst"),
    "changed_links": ("src", "dst"),
    "events": ("docid",),
    "awaited": ("docid",),
    "dynamics": ("docid",),
    "claims": ("docid",),
    "successions": ("older", "newer"),
    "associations": ("src", "dst"),
    "memories": ("docid",),
}
"""Maps each table with data of a memory, except full text, to the columns with its row id."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A choice of memories of a namespace: exactly one field is set.

    ``sources`` are the spellings of one address.
    """

    ids: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    session: str | None = None
    everything: bool = False


def chosen(db: Transaction, ns: int, what: Chosen) -> dict[int, str]:
    """Find the chosen memories, regardless of their status: row ids to ids, in order of arrival.

    A turn that is chosen by the id of its first part includes the others.
    """
    if what.everything:
        condition, values = "true", []
    elif what.sources:
        condition, values = f"source_uri {one_of()}", [listed(what.sources)]
    elif what.session is not None:
        condition, values = "session = ?", [what.session]
    else:
        docids = memories.docids_of(db, ns, what.ids)
        if absent := [memory_id for memory_id in what.ids if memory_id not in docids]:
            raise NotFound(absent[0])
        first = {docid: memory_id for memory_id, docid in docids.items()}
        return dict(sorted((first | parts.later_parts(db, ns, what.ids)).items()))
    query = f"SELECT docid, id FROM memories WHERE ns = ? AND {condition} ORDER BY docid"
    return dict(db.execute(query, (ns, *values)).fetchall())


def newest(db: Transaction, ns: int) -> int:
    """Return the highest row id of a namespace, 0 if it has no memory."""
    query = "SELECT max(docid) FROM memories WHERE docid BETWEEN ? AND ?"
    return int(single(db, query, docid_range(ns)) or 0)


def derived(db: Transaction, ns: int, roots: dict[int, str], *, after: int = 0) -> dict[int, str]:
    """Find what was derived from memories (row ids to ids), directly or not, without these.

    An article counts as derived from the sources of all its states. Only memories added after the
    row id ``after`` are considered; 0 for all.
    """
    found: dict[int, str] = {}
    fresh: Collection[str] = roots.values()
    while fresh:
        rows = db.execute(
            "SELECT docid, id FROM memories WHERE ns = ? AND source_parents <> '[]'"
            " AND docid > ? AND EXISTS ("
            f"SELECT 1 FROM {_PARENTS} AS parent WHERE parent.value {one_of()})"
            " ORDER BY docid",
            (ns, after, listed(fresh)),
        ).fetchall()
        rows += quotes.made_of(db, ns, fresh, after=after).items()
        new = {docid: id_ for docid, id_ in rows if docid not in roots and docid not in found}
        found |= new
        fresh = new.values()
    return found


def erase(db: Transaction, ns: int, doomed: dict[int, str], now: int) -> dict[str, int]:
    """Delete a few memories (row ids to ids) and their traces; returns how many rows, by table."""
    leave_numbers(db, ns, [*doomed])
    heirs = successors(db, [*doomed])
    counts = delete(db, [*doomed])
    counts["events"] += forget_ids(db, ns, heirs)
    memories.record(db, ns, now, Event.ERASED, None, {"memories": len(doomed)})
    owe(db, PARTS)
    return counts


def leave_numbers(db: Transaction, ns: int, docids: list[int]) -> int:
    """Note the row ids of erased memories and nothing else of them; return the revision."""
    rev = memories.next_rev(db, ns)
    db.execute(
        "INSERT INTO erased (docid, ns, rev)"
        f" SELECT CAST(value AS BIGINT), ?, ? FROM {each_of('?')}"
        f" WHERE true {SKIP_IF_THERE}",
        (ns, rev, listed(docids)),
    )
    model_rows.drop_those(db, ns, docids)
    return rev


def delete(db: Transaction, docids: list[int]) -> dict[str, int]:
    """Delete rows and what other tables hold of them; returns how many rows, by table.

    Full text neither catches up nor merges first, which may write megabytes: a full disk is a
    reason to erase. Derived rows, such as claims, are deleted but not counted: whether they were
    made yet depends on the background thread.
    """
    replays.note(db, docids)
    copies.note(db, docids)
    reviews.note(db, docids)
    counts = {"full text": db.words.remove(docids)} | dict.fromkeys(_OF_ROW, 0)
    for table, columns in _OF_ROW.items():
        for key in columns:
            query = f"DELETE FROM {table} WHERE {key} {one_of_numbers()}"
            counts[table] += db.execute(query, (listed(docids),)).rowcount
    strength_fold.events_went(db)
    if counts["associations"]:
        usage_events.dropped(db)
    for derived in ("dynamics", "claims", "successions", "associations"):
        del counts[derived]
    return counts


Heirs: TypeAlias = Mapping[str, str | None]
"""Maps each erased id to the id of its successor, None for none."""


def successors(db: Transaction, docids: list[int]) -> dict[str, str | None]:
    """Read the ids of rows that are erased, and what superseded each."""
    query = f"SELECT id, superseded_by FROM memories WHERE docid {one_of_numbers()}"
    return dict(db.execute(query, (listed(docids),)).fetchall())


def heir_of(heirs: Heirs, memory_id: str | None) -> str | None:
    """Return the first of a memory and its successors that is not erased; None for none."""
    for _ in range(len(heirs) + 1):  # a circle also ends
        if memory_id is None or memory_id not in heirs:
            return memory_id
        memory_id = heirs[memory_id]
    return None


Trace: TypeAlias = tuple[
    Callable[[Transaction], Sequence[Any]], Callable[[Transaction, Any], object]
]


def traces(ns: int, heirs: Heirs) -> tuple[Trace, ...]:
    """Return pairs of functions: one finds what names erased ids, one cleans it; rows first.

    An earlier state can name an id only if the row did. Cleaning an event returns True if it was
    about nothing else.
    """
    ids = frozenset(heirs)
    return (
        (lambda db: rows_naming(db, ns, ids), lambda db, docid: clean_row(db, docid, heirs)),
        (lambda db: states_naming(db, ns, ids), lambda db, state: clean_state(db, state, ids)),
        (lambda _: [ns], lambda db, ns: loop_rows.forget(db, ns, ids)),
        (lambda db: events_naming(db, ns, ids), lambda db, event: clean_event(db, event, ids)),
    )


def forget_ids(db: Transaction, ns: int, heirs: Heirs) -> int:
    """Remove ids from all that names them; return how many events were about nothing else."""
    return sum(clean(db, one) is True for find, clean in traces(ns, heirs) for one in find(db))


def rows_naming(db: Transaction, ns: int, ids: frozenset[str]) -> list[int]:
    """Find the rows that name an id as their successor or as a parent."""
    naming = (  # two halves, each with an index of its own
        f"SELECT docid FROM memories WHERE ns = ?1 AND superseded_by {one_of('?2')}"
        " UNION SELECT docid FROM memories WHERE ns = ?1 AND source_parents <> '[]'"
        f" AND (NOT {is_json('source_parents')}"
        f" OR EXISTS (SELECT 1 FROM {_PARENTS} AS parent WHERE parent.value {one_of('?2')}))"
    )
    return column(db, naming, (ns, listed(ids)))


def clean_row(db: Transaction, docid: int, heirs: Heirs) -> None:
    """Remove erased ids from a row, if it still exists, and link its chain past them."""
    ns = docid >> SEQ_BITS
    row = memories.by_docids(db, ns, [docid]).get(docid)
    if row is None:
        return
    said = {"superseded_by": row.superseded_by, "source_parents": row.source_parents}
    changes = _without_ids(said, frozenset(heirs))
    heir = heir_of(heirs, row.superseded_by)
    known = memories.docids_of(db, ns, [heir] if heir else [])
    if heir in known and heir not in (row.id, row.superseded_by):
        changes["superseded_by"] = heir
        links.link(db, known[heir], docid, "supersedes")
    memories.overwrite(db, row, changes)


_STATES = f"SELECT docid, rev, {STATE} FROM versions WHERE docid"


def states_naming(db: Transaction, ns: int, ids: frozenset[str]) -> list[tuple[int, int]]:
    """Find the earlier states that name an id: row id and revision of each."""
    return [
        (docid, rev)
        for docid, rev, *_, earlier in db.execute(f"{_STATES} BETWEEN ? AND ?", docid_range(ns))
        if (_without_ids(said, ids) if (said := mapping_in(earlier)) else _holds(earlier, ids))
    ]


def clean_state(db: Transaction, state: tuple[int, int], ids: frozenset[str]) -> None:
    """Remove ids from an earlier state, by row id and revision, if it still exists."""
    for _, _, *found in db.execute(f"{_STATES} = ? AND rev = ?", state).fetchall():
        earlier = mapping_in(found[-1])
        if not earlier and _holds(found[-1], ids):  # damaged: they go only with all of it
            db.execute("DELETE FROM versions WHERE docid = ? AND rev = ?", state)
        elif changes := _without_ids(earlier, ids):
            left = rows.amended(memories.by_docid(db, state[0]), State(*found), changes)
            query = "UPDATE versions SET earlier = ? WHERE docid = ? AND rev = ?"
            db.execute(query, (left, *state))


def _without_ids(state: dict[str, Any], ids: frozenset[str]) -> dict[str, Any]:
    """Return those fields of a state that name one of the ids, with the ids removed."""
    changes: dict[str, Any] = {}
    if state.get("superseded_by") in ids:
        changes["superseded_by"] = None
    spelt = state.get("source_parents")
    parents = strings_in(spelt or "[]")
    if not ids.isdisjoint(parents) or (not parents and _holds(spelt, ids)):
        kept = [parent for parent in parents if parent not in ids]
        changes["source_parents"] = json.dumps(kept, ensure_ascii=False)
    return changes


_EVENTS = "SELECT event, ns, at, kind, docid, detail, seal FROM events WHERE"


def events_naming(db: Transaction, ns: int, ids: frozenset[str]) -> list[int]:
    """Find the events whose details name an id."""
    return [
        event
        for event, *_, detail, _ in db.execute(f"{_EVENTS} ns = ? AND detail IS NOT NULL", (ns,))
        if (_pruned(said, ids) != said if (said := mapping_in(detail)) else _holds(detail, ids))
    ]


def clean_event(db: Transaction, event: int, ids: frozenset[str]) -> bool:
    """Remove ids from the details of an event; return whether it was about nothing else."""
    found = db.execute(f"{_EVENTS} event = ? AND detail IS NOT NULL", (event,)).fetchone()
    if found is None:
        return False
    _, ns, at, kind, docid, detail, seal = found
    kept = _pruned(mapping_in(detail), ids)
    if not any(kept.values()):
        db.execute("DELETE FROM events WHERE event = ?", (event,))
        strength_fold.events_went(db)
        return True
    left = json.dumps(kept)
    changed = rows.is_changed(ns, at, kind, docid, detail, seal)
    new = seal if changed else rows.seal_of(ns, at, kind, docid, left)
    db.execute("UPDATE events SET detail = ?, seal = ? WHERE event = ?", (left, new, event))
    return False


def _pruned(said: dict[str, Any], ids: frozenset[str]) -> dict[str, Any]:
    """Leave out what names one of the ids: an item of a list, or a key with its value."""
    kept = {key: one for key, one in said.items() if key in _WORDS or not _names(one, ids)}
    lists = {key: one for key, one in kept.items() if isinstance(one, list)}
    return kept | {key: _left(key, one, ids) for key, one in lists.items()}


def _left(key: str, items: list[Any], ids: frozenset[str]) -> list[Any]:
    """Leave out items of a list; in an answer a gap stays, to keep the ranks of the others."""
    if key != SHOWN:
        return [item for item in items if not _names(item, ids)]
    left = ["" if _names(item, ids) else item for item in items]
    while left and not left[-1]:
        left.pop()
    return left


def _holds(damaged: object, ids: frozenset[str]) -> bool:
    """Return whether an unreadable value contains one of the ids."""
    return any(one in str(damaged) for one in ids)


def _names(value: object, ids: frozenset[str]) -> bool:
    return isinstance(value, str) and value in ids


def erasures(db: Transaction) -> int:
    """Count how often something was erased from this store."""
    return int(meta.get(db, "erasures") or 0)


def owe(db: Transaction, parts: Iterable[str]) -> None:
    """Count an erasure, and note what is left to do."""
    number = erasures(db) + 1
    for name in ("erasures", *(f"erasing {part}" for part in parts)):
        meta.put(db, name, number)


def owed(db: Transaction) -> dict[str, int]:
    """Return the parts still to be cleaned, each with the number of the last erasure."""
    found = {name.removeprefix("erasing "): number for name, number in meta.below(db, "erasing ")}
    return {part: found[part] for part in (ROWS, *PARTS) if part in found}


def settle(db: Transaction, part: str, number: int) -> None:
    """Note that a part was done, unless something else was erased meanwhile."""
    query = "DELETE FROM meta WHERE name = ? AND value <= ?"
    db.execute(query, (f"erasing {part}", number))


def still_there(db: Transaction, ns: int, ids: Iterable[str]) -> list[str]:
    """Return those of some ids that name a memory, in order."""
    wanted = list(ids)
    known = memories.docids_of(db, ns, wanted)
    return [memory_id for memory_id in wanted if memory_id in known]


FEW = 128
"""Maximum number of memories that one transaction erases; more of them are marked, see `mark`."""
AT_ONCE = 128
"""Maximum number of memories that one transaction deletes, with some rows of each other table: 10
ms."""

_MARK, _IDS = "doomed:", "doomed ids:"


class Marked(NamedTuple):
    """Memories of a namespace that were erased at a revision, and whose rows are being deleted."""

    ns: int
    rev: int

    @property
    def name(self) -> str:
        """Name in ``meta`` of the progress of their deletion."""
        return f"{_MARK}{self.ns}:{self.rev}"

    @property
    def ids(self) -> str:
        """Prefix of the names in ``meta`` of their ids."""
        return f"{_IDS}{self.ns}:{self.rev}:"


def mark(db: Transaction, ns: int, docids: Collection[int], now: int) -> None:
    """Hide memories from every reader, and note that their rows are to be deleted."""
    marked = Marked(ns, leave_numbers(db, ns, [*docids]))
    meta.put(db, marked.name, 0)
    memories.record(db, ns, now, Event.ERASED, None, {"memories": len(docids)})
    owe(db, [ROWS])


def marked(db: Transaction) -> list[Marked]:
    """Return what is marked and not wholly deleted yet, of every namespace."""
    names = [name.split(":") for name, _ in meta.below(db, _MARK)]
    return [Marked(int(ns), int(rev)) for _, ns, rev in names]


def delete_some(db: Transaction, which: Marked) -> dict[str, int] | None:
    """Delete the next rows, and note their ids; returns how many, by table, or None at the end."""
    last = meta.get(db, which.name)
    if last is None:
        return None  # another process did the rest
    query = "SELECT docid FROM erased WHERE ns = ? AND rev = ? AND docid > ? ORDER BY docid LIMIT ?"
    after = (which.ns, which.rev, last, AT_ONCE)
    docids = column(db, query, after)
    if not docids:
        return None
    meta.put(db, f"{which.ids}{docids[0]}", json.dumps(successors(db, docids)))
    counts = delete(db, docids)
    meta.put(db, which.name, docids[-1])
    return counts


def heirs_of(db: Transaction, which: Marked) -> dict[str, str | None]:
    """Return the ids of what was deleted, each with that of its successor."""
    heirs: dict[str, str | None] = {}
    for _, noted in meta.below(db, which.ids):
        heirs |= json.loads(noted)
    return heirs


def drop_ids(db: Transaction, which: Marked) -> int:
    """Delete some of the notes of ids; returns how many, 0 if none was left."""
    query = f"DELETE FROM meta WHERE name IN (SELECT name FROM meta WHERE {meta.BELOW} LIMIT ?2)"
    return db.execute(query, (which.ids, AT_ONCE)).rowcount


def unmark(db: Transaction, which: Marked) -> None:
    """Note that all these rows are deleted; if no others are marked, that the files are next."""
    if meta.drop(db, which.name) and not marked(db):
        meta.drop(db, f"erasing {ROWS}")
        owe(db, PARTS)


def make_way(db: Transaction, ns: int, ids: Iterable[str]) -> None:
    """Delete at once those of some ids that are erased but not deleted yet: they come again."""
    if not is_under_way(db):
        return
    query = (
        f"SELECT docid, id FROM memories WHERE ns = ? AND id {one_of()}"
        " AND docid IN (SELECT docid FROM erased)"
    )
    doomed = dict(db.execute(query, (ns, listed(ids))).fetchall())
    if doomed:
        heirs = successors(db, [*doomed])
        delete(db, [*doomed])
        forget_ids(db, ns, heirs)


def is_under_way(db: Transaction) -> bool:
    """Return whether rows of erased memories are still being deleted."""
    return single(db, UNDER_WAY) is not None


UNDER_WAY = f"SELECT 1 FROM meta WHERE name = 'erasing {ROWS}'"
"""Query that finds a row while erased memories are still being deleted."""
