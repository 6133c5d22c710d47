"""Every change of the ``memories`` table, each meant to run inside one writer job.

Functions take the connection first and never commit: the writer does. Each change of a row
takes the next revision of its namespace, so that caches learn what changed by asking for later
ones.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memento import layout
from memento.errors import IdConflict, InvalidInput, NotFound, StoreUnusable
from memento.language.words import Columns
from memento.ledger.contract import Session
from memento.ledger.dialect import (
    SKIP_IF_THERE,
    each_of,
    field_of,
    join_numbers,
    same,
    skipping,
    without_index,
)
from memento.ledger.merge import MAX_STATES, merged
from memento.ledger.predicate import Filters, predicate
from memento.ledger.rows import (
    COLUMNS,
    HOLES,
    STATE,
    Row,
    State,
    columns_of,
    damaged,
    docid_of,
    docid_range,
    is_changed_link,
    is_changed_state,
    is_sound,
    is_whole,
    mapping_in,
    seal_of,
    sound,
    state_of,
    string_in,
    strings_in,
)
from memento.ledger.schema import SEQ_BITS, SEQ_MASK
from memento.status import check_transition, having, sql, sql_lacking
from memento.types import Kind, Status, Tier

MAX_METADATA = 1_048_576
"""Largest metadata as JSON, bytes, unless the settings say otherwise."""
CHUNK = 500
"""Most values bound to one ``IN``; SQLite's own limit is 32,766."""

# Beside row ids the namespace is compared as ``+ns``: past eight of them SQLite would rather go
# through all rows of the namespace by some index that begins with it.

_FOUND, _ENDED, _IN_RING = sql("found"), sql("ended"), sql("in_ring")
_HOLDS_SLOT, _OF_SLOT = sql("holds_slot"), sql("holds_slot", "ended")
_KEEPS_NO_ID = sql_lacking("keeps_id")

SLOT_HOLDING = frozenset(having("holds_slot"))
ENDED = frozenset(having("ended"))
INDEXED = frozenset(having("in_index"))
ACCEPTED = frozenset(having("accepted"))

_NS = without_index("ns")
_SAME_SESSION, _PAST = same("session"), skipping()

_INSERT = f"INSERT INTO memories ({COLUMNS}) VALUES ({HOLES})"
_SELECT = f"SELECT {COLUMNS} FROM memories"
_KEEP = f"INSERT INTO versions (docid, rev, {STATE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"


@dataclass(slots=True)
class Entry:
    """An accepted memory on its way into the ledger.

    Attributes:
        row: All columns; ``docid``, ``ns`` and ``rev`` are set on insertion.
        text: What full text indexes: title, head, rest.
        chosen_id: Whether the caller gave the id.
        supersedes: Ids it takes the place of.
        related: Ids it is linked to.
        derived: Columns whose value the caller did not give.
        metadata_bytes: Largest metadata as JSON, bytes, where it is joined with another's.
        redacted: Secrets taken out of it, by kind, and how often.
        telling: The words whose novelty its importance waits for.
        weigh: Takes the share of them not met before, [0, 1], and settles importance and tier; None
            if these are given.
    """

    row: Row
    text: Columns
    chosen_id: bool
    supersedes: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    metadata_bytes: int = MAX_METADATA
    redacted: Mapping[str, int] = field(default_factory=dict)
    telling: Sequence[str] = ()
    weigh: Callable[[float], None] | None = None


def add(
    connection: Session, ns: int, entries: Sequence[Entry], *, now: int, ring: int
) -> list[Row]:
    """Insert entries, fold repeated ones into what is there, and let the ring overflow.

    A repeat that says something new about the content is merged into it, see ``merge``.

    Args:
        connection: Inside a transaction.
        ns: Namespace number.
        entries: What to insert, in order of arrival.
        now: The present moment, microseconds.
        ring: Capacity of a session's ring buffer; older turns move to medium.

    Returns:
        One row an entry, in order: the new one, or the one that was there.

    Raises:
        IdConflict: If a chosen id is taken by another content.
        NotFound: If ``supersedes`` or ``related`` names no memory of this namespace.
    """
    before = latest_rev(connection, ns) if len(entries) > 1 else 0
    answers = [row for run in _runs(entries) for row in _add_run(connection, ns, run, now)]
    for entry, row in zip(entries, answers, strict=True):
        for memory_id in entry.related:
            other = by_id(connection, ns, memory_id, damaged=True)
            link(connection, row.docid, other.docid, "related")
        if entry.redacted and row is entry.row:
            record(connection, ns, now, "redacted", row.docid, entry.redacted)
    _overflow(connection, ns, {row.session for row in answers if _short(row)}, now, ring)
    return _as_they_are(connection, ns, answers, before) if len(entries) > 1 else answers


def by_id(connection: Session, ns: int, memory_id: str, *, damaged: bool = False) -> Row:
    """Read one memory.

    Args:
        connection: To the ledger.
        ns: Namespace number.
        memory_id: Which one.
        damaged: Whether one that is damaged will do: to hide it, or to take its place.

    Raises:
        NotFound: If the namespace has no such id.
        StoreUnusable: If it is damaged and that will not do, or it is perhaps another's.
    """
    found = connection.execute(f"{_SELECT} WHERE ns = ? AND id = ?", (ns, memory_id)).fetchone()
    if found is None:
        raise NotFound(memory_id)
    row = Row(*found)
    return row if damaged and row.docid >> SEQ_BITS == ns else sound(row, memory_id)


def by_docid(connection: Session, docid: int) -> Row:
    """Read one memory that is known to be there, of whatever namespace."""
    return Row(*connection.execute(f"{_SELECT} WHERE docid = ?", (docid,)).fetchone())


def by_docids(connection: Session, ns: int, docids: Sequence[int]) -> dict[int, Row]:
    """Read several memories of one namespace by row id; absent ones are left out."""
    rows: dict[int, Row] = {}
    for part in _chunks(docids):
        marks = ", ".join("?" * len(part))
        query = f"{_SELECT} WHERE docid IN ({marks}) AND {_NS} = ?"
        rows |= {values[0]: Row(*values) for values in connection.execute(query, (*part, ns))}
    return rows


def texts(connection: Session, ns: int, docids: Sequence[int]) -> dict[int, str]:
    """Read the texts of some rows of one namespace; absent ones are left out."""
    found: dict[int, str] = {}
    for part in _chunks(docids):
        marks = ", ".join("?" * len(part))
        query = f"SELECT docid, text FROM memories WHERE docid IN ({marks}) AND {_NS} = ?"
        rows = connection.execute(query, (*part, ns))
        found.update((docid, string_in(text) or "") for docid, text in rows)
    return found


def reword_as_of(connection: Session, rows: Iterable[Row], moment: int) -> set[int]:
    """Give rows the text they had at a moment, microseconds; returns those where it is damaged."""
    garbled: set[int] = set()
    for row in rows:
        if row.version > 1:
            earlier = connection.execute(
                f"SELECT {STATE} FROM versions WHERE docid = ? AND until > ? ORDER BY rev LIMIT 1",
                (row.docid, moment),
            ).fetchone()
            if earlier is not None:
                state = State(*earlier)
                if is_changed_state(row, state):
                    garbled.add(row.docid)
                row.text = state.text
    return garbled


def docids_of(connection: Session, ns: int, ids: Sequence[str]) -> dict[str, int]:
    """Translate ids of one namespace to row ids; absent ones are left out."""
    found: dict[str, int] = {}
    for part in _chunks(ids):
        marks = ", ".join("?" * len(part))
        query = f"SELECT id, docid FROM memories WHERE ns = ? AND id IN ({marks})"
        found.update(connection.execute(query, (ns, *part)).fetchall())
    return found


def docids_in_place(connection: Session, ns: int, ids: Sequence[str]) -> tuple[str, str]:
    """Translate hundreds of ids of one namespace to row ids, in half the time of `docids_of`.

    Returns:
        Places in ``ids``, from 0, and the row ids that belong there, each joined by commas; absent
        ones are left out.
    """
    places, docids = connection.execute(
        _IN_PLACE,
        (json.dumps(ids), ns),
    ).fetchone()
    return places or "", docids or ""


_IN_PLACE = (
    f"SELECT {join_numbers('asked.key')}, {join_numbers('docid')} FROM {each_of('?')} AS asked"
    " CROSS JOIN memories ON ns = ? AND memories.id = asked.value"
)


def hidden_ids(connection: Session, ns: int, ids: Sequence[str]) -> set[str]:
    """Return those of some ids whose memory is quarantined or forgotten."""
    found: set[str] = set()
    for part in _chunks(ids):
        marks = ", ".join("?" * len(part))
        query = f"SELECT id FROM memories WHERE ns = ? AND id IN ({marks}) AND {_KEEPS_NO_ID}"
        found.update(memory_id for (memory_id,) in connection.execute(query, (ns, *part)))
    return found


def select(
    connection: Session,
    ns: int,
    filters: Filters,
    *,
    newest_first: bool = False,
    by_time: bool = False,
    limit: int = -1,
    offset: int = 0,
) -> list[Row]:
    """List what fits the filters, in order of arrival or of occurrence."""
    condition, values = predicate(ns, filters)
    way = "DESC" if newest_first else "ASC"
    order = f"occurred_at {way}, docid {way}" if by_time else f"docid {way}"
    query = f"{_SELECT} WHERE {condition} ORDER BY {order} LIMIT ? OFFSET ?"
    return [Row(*found) for found in connection.execute(query, (*values, limit, offset))]


def matching(connection: Session, ns: int, filters: Filters) -> list[int]:
    """Return the row ids that fit the filters, ascending."""
    condition, values = predicate(ns, filters)
    query = f"SELECT docid FROM memories WHERE {condition} ORDER BY docid"
    return [docid for (docid,) in connection.execute(query, values)]


def fitting(connection: Session, ns: int, filters: Filters, docids: Sequence[int]) -> list[Row]:
    """Read those of some rows that fit the filters, in order of arrival.

    Args:
        connection: To the ledger.
        ns: Namespace number.
        filters: What was asked for.
        docids: What fitted before, at most ``CHUNK``; so the ids asked for are known to fit.
    """
    condition, values = predicate(ns, replace(filters, ids=()))
    marks = ", ".join("?" * len(docids))
    query = f"{_SELECT} WHERE docid IN ({marks}) AND {condition} ORDER BY docid"
    return [Row(*found) for found in connection.execute(query, (*docids, *values))]


def expired(connection: Session, ns: int, now: int) -> list[int]:
    """Return the row ids of the active memories whose time is over, ascending."""
    query = (
        f"SELECT docid FROM memories WHERE docid BETWEEN ? AND ? AND {_FOUND}"
        " AND expires_at <= ? ORDER BY docid"
    )
    return [docid for (docid,) in connection.execute(query, (*docid_range(ns), now))]


def tally(connection: Session, ns: int, filters: Filters, by: str) -> dict[str, int]:
    """Count what fits the filters by one of ``TALLIED``; rows that have none are left out."""
    condition, values = predicate(ns, filters)
    source, value = TALLIED[by]
    query = (
        f"SELECT {value}, count(*) FROM {source.format(condition)} WHERE {value} IS NOT NULL"
        " GROUP BY 1 ORDER BY 1"
    )
    return dict(connection.execute(query, values).fetchall())


TALLIED = {
    name: (f"(SELECT {name} FROM memories WHERE {{}})", name)
    for name in ("scope", "session", "kind", "tier", "actor")
} | {
    "tag": (
        f"(SELECT tags FROM memories WHERE {{}}) AS chosen, {each_of('chosen.tags')}",
        "value",
    )
}
"""What memories can be counted by, to where it is found and its column."""


def counts(connection: Session, ns: int, now: int) -> dict[str, int]:
    """Count the live memories of a namespace by tier, and the hidden ones by status."""
    query = (
        f"SELECT CASE WHEN {_FOUND} THEN tier ELSE status END, count(*) FROM memories"
        " WHERE docid BETWEEN ? AND ? AND (expires_at IS NULL OR expires_at > ?)"
        f" AND (NOT ({_FOUND}) OR valid_until IS NULL OR valid_until > ?) GROUP BY 1"
    )
    return dict(connection.execute(query, (*docid_range(ns), now, now)).fetchall())


def revise(connection: Session, row: Row, changes: Mapping[str, Any], reason: str) -> Row:
    """Change columns of a row and keep its earlier state.

    Args:
        connection: Inside a transaction.
        row: The row as it is; changed in place.
        changes: Column names to new values; must hold ``updated_at``.
        reason: What changes it, for ``versions``.

    Returns:
        The row as it is now.
    """
    keep_version(connection, row, reason, changes["updated_at"])
    return overwrite(connection, row, changes)


def overwrite(
    connection: Session, row: Row, changes: Mapping[str, Any], *, anew: bool = False
) -> Row:
    """Change columns of a row under a new revision, without keeping the earlier state.

    A row that was damaged stays so, as a seal would say that the damage is what was written;
    unless the changes are all there is to it (``anew``).

    Raises:
        StoreUnusable: If a whole row would change to a status that its own does not lead to.
    """
    whole = anew or is_whole(row)
    if "status" in changes and whole and not anew:
        check_transition(row.id, row.status, changes["status"])
    for name, value in changes.items():
        setattr(row, name, value)
    row.rev = next_rev(connection, row.ns)
    if whole:
        row.seal()
    names = [*changes, "rev", "checksum"]
    marks = ", ".join(f"{name} = ?" for name in names)
    values = [getattr(row, name) for name in names]
    connection.execute(f"UPDATE memories SET {marks} WHERE docid = ?", (*values, row.docid))
    return row


def keep_version(connection: Session, row: Row, reason: str, until: int) -> None:
    """Write down the present state of a row before it changes."""
    connection.execute(_KEEP, (row.docid, row.rev, *state_of(row, until, reason)))


def states(connection: Session, docid: int) -> list[State]:
    """Read the earlier states of a memory, oldest first, as the file has them."""
    query = f"SELECT {STATE} FROM versions WHERE docid = ? ORDER BY rev"
    return [State(*found) for found in connection.execute(query, (docid,))]


def versions(connection: Session, row: Row) -> list[State]:
    """Read the earlier states of a memory, oldest first; those that are damaged are left out."""
    return [one for one in states(connection, row.docid) if not is_changed_state(row, one)]


def supersede(connection: Session, old: Row, new: Row, now: int) -> None:
    """Hide ``old`` behind ``new``: it stops holding when the new one starts."""
    if old.docid == new.docid:
        raise InvalidInput("supersedes", "a memory cannot supersede itself")
    ends = new.valid_from
    if is_whole(old):
        ends = max(old.valid_from, ends)
        ends = ends if old.valid_until is None else min(ends, old.valid_until)
    changes = {
        "status": Status.SUPERSEDED.value,
        "superseded_by": new.id,
        "valid_until": ends,
        "updated_at": now,
    }
    revise(connection, old, changes, "superseded")
    link(connection, new.docid, old.docid, "supersedes")
    enqueue(connection, old, "drop")
    record(connection, old.ns, now, "superseded", old.docid, {"by": new.id})


def give_back(connection: Session, row: Row, now: int) -> list[Row]:
    """Let the memories whose place a quarantined row took have it again; it proposes to take it.

    A place that somebody else took meanwhile stays his.

    Returns:
        The memories that are active again.
    """
    query = (
        f"SELECT {COLUMNS} FROM memories WHERE {_NS} = ? AND superseded_by = ? AND docid IN"
        " (SELECT dst FROM links WHERE src = ? AND relation = 'supersedes')"
        f" AND {_ENDED} ORDER BY docid"
    )
    found = connection.execute(query, (row.ns, row.id, row.docid)).fetchall()
    returned: list[Row] = []
    for old in [Row(*values) for values in found]:
        if old.key is not None and slot_holder(connection, old) is not None:
            continue
        changes = {"status": Status.ACTIVE.value, "superseded_by": None, "updated_at": now}
        revise(connection, old, changes | {"valid_until": _held_until(connection, old)}, "returned")
        connection.execute(
            "DELETE FROM links WHERE src = ? AND dst = ? AND relation = 'supersedes'",
            (row.docid, old.docid),
        )
        link(connection, row.docid, old.docid, "proposes")
        enqueue(connection, old, "embed")
        record(connection, old.ns, now, "returned", old.docid)
        returned.append(old)
    return returned


def _held_until(connection: Session, row: Row) -> int | None:
    """Say until when a superseded memory would hold, had nothing taken its place."""
    found = connection.execute(
        f"SELECT {field_of('earlier', 'valid_until')} FROM versions"
        f" WHERE docid = ? AND reason = 'superseded' AND {_HOLDS_SLOT}"
        " ORDER BY rev DESC LIMIT 1",
        (row.docid,),
    ).fetchone()
    return None if found is None else found[0]


def hide(connection: Session, row: Row, now: int, reason: str) -> Row:
    """Make a row forgotten, for a reason; one that is so already stays as it is."""
    if row.status == Status.FORGOTTEN:
        return row
    changes = {"status": Status.FORGOTTEN.value, "updated_at": now}
    revise(connection, row, changes, reason)
    enqueue(connection, row, "drop")
    record(connection, row.ns, now, reason, row.docid)
    return row


def of_source(connection: Session, ns: int, uri: str) -> list[Row]:
    """Return the memories whose source has an address, in order of arrival."""
    query = f"{_SELECT} WHERE ns = ? AND source_uri = ? ORDER BY docid"
    return [Row(*found) for found in connection.execute(query, (ns, uri))]


def derivations(connection: Session, ns: int) -> Iterator[tuple[str, str]]:
    """Yield (id, ids of its parents as JSON) of every memory derived from others."""
    query = "SELECT id, source_parents FROM memories WHERE ns = ? AND source_parents <> '[]'"
    return iter(connection.execute(query, (ns,)))


def proposed(connection: Session, docid: int) -> list[Row]:
    """Return the memories whose place a quarantined one will take when it is approved.

    Raises:
        StoreUnusable: If the ledger garbles which.
    """
    links = _links(connection, docid, "src = ?1 AND relation = 'proposes'")
    replaced = by_docids(connection, docid >> SEQ_BITS, [dst for _, dst, _ in links])
    return [row for _, row in sorted(replaced.items())]


def slot_holder(connection: Session, row: Row) -> Row | None:
    """Return the active memory that fills the same slot as ``row``, if there is another."""
    found = connection.execute(
        f"{_SELECT} WHERE ns = ? AND key = ? AND scope = ? AND {_HOLDS_SLOT} AND docid <> ?"
        " ORDER BY docid DESC LIMIT 1",  # mostly the newest; the index would begin with the oldest
        (row.ns, row.key, row.scope, row.docid),
    ).fetchone()
    return None if found is None else Row(*found)


def link(connection: Session, src: int, dst: int, relation: str) -> None:
    """Link two memories; linking them again changes nothing."""
    put_link(connection, src, dst, relation, 1.0)


def put_link(connection: Session, src: int, dst: int, relation: str, weight: float) -> bool:
    """Link two memories unless they are linked so; tells whether a link was made."""
    made = connection.execute(
        "INSERT INTO links (src, dst, relation, weight, seal) VALUES (?, ?, ?, ?, ?)"
        f" {SKIP_IF_THERE}",
        (src, dst, relation, weight, seal_of(src, dst, relation, weight)),
    )
    return made.rowcount > 0


def linked(connection: Session, docid: int) -> list[tuple[int, int, str]]:
    """Return (row id it goes from, row id it goes to, relation) of every link of a memory.

    Raises:
        StoreUnusable: If one of them is damaged.
    """
    return [
        *_links(connection, docid, "src = ?1"),
        *_links(connection, docid, "dst = ?1 AND src <> dst"),
    ]


def _links(connection: Session, docid: int, condition: str) -> list[tuple[int, int, str]]:
    links = connection.execute(
        f"SELECT src, dst, relation, weight, seal FROM links WHERE {condition}", (docid,)
    ).fetchall()
    if any(is_changed_link(*found) for found in links):
        raise StoreUnusable(layout.LEDGER, f"a link of {damaged([by_docid(connection, docid).id])}")
    return [(src, dst, relation) for src, dst, relation, *_ in links]


def fitting_all(
    connection: Session, ns: int, filters: Filters, docids: Sequence[int]
) -> dict[int, Row]:
    """Read those of any number of rows that fit filters without ids; see ``fitting``."""
    return {
        row.docid: row for part in _chunks(docids) for row in fitting(connection, ns, filters, part)
    }


def enqueue(connection: Session, row: Row, op: str) -> None:
    """Tell the indexer about a row. One that has no vector is owed that first.

    So is one that is superseded, even if that happened before it was embedded: it lends its vector
    to the turns beside it, and answers for its own time. Else both would depend on how quick the
    background thread was.
    """
    connection.execute(
        "INSERT INTO backlog VALUES (?1, ?2,"
        f" CASE WHEN ?4 AND {_NO_VECTOR} THEN 'embed' ELSE ?3 END)"
        " ON CONFLICT (docid) DO UPDATE SET rev = ?2,"
        " op = CASE WHEN op = 'embed' AND ?4 THEN op ELSE excluded.op END",
        (row.docid, row.rev, op, row.status in OWED_VECTOR),
    )


OWED_VECTOR = frozenset(having("owed_vector"))
"""Statuses in which a memory is owed a vector, whenever it got there."""

_NO_VECTOR = "NOT EXISTS (SELECT 1 FROM embeddings WHERE docid = ?1)"


def record(
    connection: Session,
    ns: int,
    at: int,
    kind: str,
    docid: int | None,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Append one event."""
    event = (ns, at, kind, docid, json.dumps(detail) if detail else None)
    connection.execute(
        "INSERT INTO events (ns, at, kind, docid, detail, seal) VALUES (?, ?, ?, ?, ?, ?)",
        (*event, seal_of(*event)),
    )


def redactions(connection: Session, ns: int) -> Counter[str]:
    """Count the secrets taken out of the memories of a namespace, by kind."""
    query = "SELECT detail FROM events WHERE ns = ? AND kind = 'redacted'"
    total: Counter[str] = Counter()
    for (detail,) in connection.execute(query, (ns,)):
        said = mapping_in(detail)
        total.update({kind: count for kind, count in said.items() if isinstance(count, int)})
    return total


def next_rev(connection: Session, ns: int) -> int:
    """Return the revision that the next change of a namespace takes. Inside a transaction."""
    return latest_rev(connection, ns) + 1


def overflow(connection: Session, ns: int, session: str | None, *, now: int, ring: int) -> None:
    """Move what a session's ring cannot hold any more to medium."""
    _overflow(connection, ns, {session}, now, ring)


def _runs(entries: Sequence[Entry]) -> Iterable[Sequence[Entry]]:
    """Cut a batch into runs that may be inserted at once.

    One that takes another's place stands alone: what it replaces may come just before it.
    """
    start = 0
    for at, entry in enumerate(entries):
        if entry.row.key is not None or entry.supersedes:
            yield from (run for run in (entries[start:at], [entry]) if run)
            start = at + 1
    if start < len(entries):
        yield entries[start:]


def _add_run(connection: Session, ns: int, run: Sequence[Entry], now: int) -> list[Row]:
    """Insert what is new of a run and merge the rest; returns one row an entry."""
    known = _known(connection, ns, run, now)
    fresh: list[Entry] = []
    repeated: list[tuple[Entry, Row]] = []
    settled: list[tuple[Entry, Row]] = []
    answers: list[Row] = []
    for entry in run:
        content = entry.row.content_hash, _standing(entry.row)
        found = None if _is_turn(entry) else known.get(_name_of(entry))
        answers.append(found or entry.row)
        if found is None:
            known[entry.row.id] = entry.row
            known.setdefault(content, entry.row)
            fresh.append(entry)
        elif found.content_hash != entry.row.content_hash:
            raise IdConflict(entry.row.id)
        else:
            repeated.append((entry, found))
            if entry.chosen_id:
                sound(found, entry.row.id)
                continue  # a retry: all but what it adds was done the first time
        settled.append((entry, answers[-1]))
    insert(connection, ns, fresh)
    for entry, row in repeated:
        _repeat(connection, row, entry, now)
    for entry, row in settled:
        take_place(connection, ns, entry, row, now)
    return answers


def _name_of(entry: Entry) -> object:
    """Return what an entry is known by: the id of the caller's, or else its content."""
    return entry.row.id if entry.chosen_id else (entry.row.content_hash, _standing(entry.row))


def _standing(row: Row) -> bool:
    """Tell whether a memory is accepted: equal content is one memory only on the same side."""
    return row.status in ACCEPTED


def _is_turn(entry: Entry) -> bool:
    """Tell whether an entry is a turn of a conversation, where the same is said many times.

    Of one whose moment was given the same again is a repeat: nobody says it twice at once.
    """
    row = entry.row
    if entry.chosen_id or row.session is None or "occurred_at" not in entry.derived:
        return False
    return row.tier == Tier.SHORT or row.kind == Kind.EPISODE


def _as_they_are(connection: Session, ns: int, rows: Sequence[Row], since: int) -> list[Row]:
    """Read again those rows that changed after they came, such as by a later one of a batch."""
    query = f"{_SELECT} WHERE ns = ? AND rev > ? AND rev <> (docid & {SEQ_MASK})"
    changed = {values[0]: Row(*values) for values in connection.execute(query, (ns, since))}
    return [changed.get(row.docid, row) for row in rows]


def _short(row: Row) -> bool:
    return row.tier == Tier.SHORT


def _known(connection: Session, ns: int, entries: Sequence[Entry], now: int) -> dict[object, Row]:
    """Find what is there already: chosen ids, and equal content that still holds.

    Content is equal only among what counts or among what is quarantined: a page that repeats
    what the user said neither strengthens it nor gets by as the user's.
    """
    known: dict[object, Row] = {}
    ids = [entry.row.id for entry in entries if entry.chosen_id]
    for part in _chunks(ids):
        marks = ", ".join("?" * len(part))
        query = f"{_SELECT} WHERE ns = ? AND id IN ({marks})"
        for values in connection.execute(query, (ns, *part)):
            row = Row(*values)
            known[row.id] = row
    hashes = [
        entry.row.content_hash for entry in entries if not (entry.chosen_id or _is_turn(entry))
    ]
    for part in _chunks(hashes):
        marks = ", ".join("?" * len(part))
        query = (
            f"SELECT docid FROM memories WHERE ns = ? AND content_hash IN ({marks})"
            f" AND {sql('folds_repeats')} AND (expires_at IS NULL OR expires_at > ?)"
            " AND (valid_until IS NULL OR valid_until > ?) ORDER BY docid DESC"
        )
        found = connection.execute(query, (ns, *part, now, now)).fetchall()
        if found:  # rarely: asking for one column costs half of what asking for all does
            rows = by_docids(connection, ns, [docid for (docid,) in found])
            in_order = [rows[docid] for (docid,) in found if is_sound(rows[docid])]
            known |= {(row.content_hash, _standing(row)): row for row in in_order}
    for entry in entries:
        if _is_dated_value(entry) and _name_of(entry) not in known:
            known |= {_name_of(entry): row for row in _past_values(connection, ns, entry, now)}
    return known


def _is_dated_value(entry: Entry) -> bool:
    """Tell whether an entry is a value of a slot that holds from a moment the caller gave."""
    row = entry.row
    named = row.key is not None and not entry.chosen_id and row.status in SLOT_HOLDING
    return named and "valid_from" not in entry.derived


def _past_values(connection: Session, ns: int, entry: Entry, now: int) -> list[Row]:
    """Return the superseded values of a slot that say what an entry says, of the same moment.

    Who gave up a plan and makes it again says something new.
    """
    found = connection.execute(
        f"{_SELECT} WHERE ns = ? AND content_hash = ? AND {_ENDED}"
        " AND valid_from <= ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY docid DESC",
        (ns, entry.row.content_hash, now, now),
    )
    return [row for row in (Row(*values) for values in found) if is_sound(row)]


def insert(connection: Session, ns: int, fresh: Sequence[Entry]) -> None:
    """Insert rows; few of them wait for full text and the backlog, see ``contract.Words``."""
    if not fresh:
        return
    first = next_rev(connection, ns)
    for rev, entry in enumerate(fresh, start=first):
        entry.row.ns, entry.row.rev, entry.row.docid = ns, rev, docid_of(ns, rev)
    index_now = connection.words.is_due(fresh[-1].row.docid, len(fresh))
    if index_now:
        connection.words.catch_up(ns)
    connection.executemany(_INSERT, [entry.row.values() for entry in fresh])
    if index_now:
        connection.words.insert(ns, [(entry.row.docid, entry.text) for entry in fresh])


def take_place(connection: Session, ns: int, entry: Entry, row: Row, now: int) -> None:
    """Let a memory take its slot and the place of those it supersedes, if it counts."""
    if row.status == Status.QUARANTINED:
        for memory_id in entry.supersedes:
            old = by_id(connection, ns, memory_id, damaged=True)
            link(connection, row.docid, old.docid, "proposes")
        return
    for memory_id in entry.supersedes:
        old = by_id(connection, ns, memory_id, damaged=True)
        if old.status in SLOT_HOLDING:
            supersede(connection, old, row, now)
    holder = None if row.key is None else slot_holder(connection, row)
    if holder is None or row.status not in SLOT_HOLDING:
        return
    dated, planned = "valid_from" not in entry.derived, _is_planned(holder, now)
    if dated and _is_past(connection, row, holder, planned=planned, now=now):
        after = _following(connection, row, holder)
        supersede(connection, row, after, now)
        _end_before(connection, row, after, now)
        return
    after = _following(connection, row, holder) if planned else holder
    supersede(connection, holder, row, now)
    if planned:
        _end_before(connection, row, after, now)


def _is_planned(holder: Row, now: int) -> bool:
    """Tell whether the value that fills a slot was said to hold only from a later moment on.

    One that began when it was told was not, even if the clock was set back since.
    """
    if not is_whole(holder) or not isinstance(holder.updated_at, int):
        return False
    return holder.valid_from > max(now, holder.created_at, holder.updated_at)


def _is_past(connection: Session, row: Row, holder: Row, *, planned: bool, now: int) -> bool:
    """Tell whether a dated value held before the present one, so that it cannot replace it.

    A planned value is not the present one: it makes history of nothing that holds now.
    """
    if planned:
        between = f"valid_from > ?3 AND valid_from <= {now:d}"
        return _in_slot(connection, row, between, "valid_from, docid") is not None
    starts = holder.valid_from
    if not isinstance(starts, int) or row.valid_from >= starts or not is_whole(holder):
        return False
    return holder.expires_at is None or holder.expires_at > now


def _following(connection: Session, row: Row, holder: Row) -> Row:
    """Return the value of a slot that begins next after another one, or else the holder."""
    return _in_slot(connection, row, "valid_from > ?3", "valid_from, docid") or holder


def _end_before(connection: Session, row: Row, after: Row, now: int) -> None:
    """Let the value before this one in its slot end where this one starts, instead of `after`."""
    before = _in_slot(connection, row, "valid_from <= ?3", "valid_from DESC, docid DESC")
    if before is None or before.superseded_by != after.id:
        return
    ends = row.valid_from if before.valid_until is None else min(row.valid_from, before.valid_until)
    changes = {"superseded_by": row.id, "valid_until": ends, "updated_at": now}
    revise(connection, before, changes, "superseded")
    connection.execute(
        "DELETE FROM links WHERE src = ? AND dst = ? AND relation = 'supersedes'",
        (after.docid, before.docid),
    )
    link(connection, row.docid, before.docid, "supersedes")
    record(connection, row.ns, now, "superseded", before.docid, {"by": row.id})


def _in_slot(connection: Session, row: Row, condition: str, order: str) -> Row | None:
    """Return the first other value of a slot, present or past, that fits a condition."""
    query = (
        f"SELECT docid FROM memories WHERE ns = ?1 AND key = ?2 AND {condition} AND scope = ?4"
        f" AND docid <> ?5 AND {_OF_SLOT} ORDER BY {order} LIMIT 1 OFFSET ?6"
    )
    asked = (row.ns, row.key, row.valid_from, row.scope, row.docid)
    place = 0
    while found := connection.execute(query, (*asked, place)).fetchone():
        if is_sound(other := by_docid(connection, found[0])):
            return other
        place += 1  # damaged ones are passed over
    return None


def _repeat(connection: Session, row: Row, entry: Entry, now: int) -> None:
    """Let a memory take over what the same content, come again, says about it.

    A retry, under an id of the caller's, is not counted. A later expiry alone makes no version.
    """
    changes: dict[str, Any] = {}
    if _may_take(row, entry, now):
        changes = merged(row, entry.row, entry.derived, entry.metadata_bytes)
    if row.status in ENDED:
        changes.pop("valid_until", None)  # that ends where the next value begins
    count: dict[str, Any] = {}
    if not entry.chosen_id:
        count = {"reinforced": row.reinforced + 1, "updated_at": now}
    if changes.keys() <= {"expires_at"}:
        if changes or count:
            overwrite(connection, row, changes | count)
        if count:
            record(connection, row.ns, now, "reinforced", row.docid)
        return
    _merge(connection, row, changes, count, now)
    if entry.redacted:
        record(connection, row.ns, now, "redacted", row.docid, entry.redacted)


def _merge(
    connection: Session,
    row: Row,
    changes: dict[str, Any],
    count: dict[str, Any],
    now: int,
) -> None:
    """Change a memory as a repeat says, and keep its earlier state.

    Repeats can be without number, so that only the first ones leave a state; a change of source
    always does, as it takes away what the source before it had said.
    """
    names = sorted(changes)
    if "trust" in changes or _merges(connection, row) < MAX_STATES:
        keep_version(connection, row, "merged", now)
    if not changes.keys().isdisjoint(("aliases", "tags")):
        columns = columns_of(replace(row, **changes))
        changes |= {"words": columns.words, "head_words": columns.head_words}
        connection.words.replace(row.docid, columns)
    if "source_parents" in changes:
        connection.execute("DELETE FROM awaited WHERE docid = ?", (row.docid,))
    changes |= {"version": row.version + 1, "updated_at": now}
    overwrite(connection, row, changes | count)
    if "tier" in names:
        enqueue(connection, row, "index" if row.status in INDEXED else "drop")
    record(connection, row.ns, now, "merged", row.docid, {"fields": names})


def _merges(connection: Session, row: Row) -> int:
    """Count the earlier states of a memory that a repeat ended."""
    query = "SELECT count(*) FROM versions WHERE docid = ? AND reason = 'merged'"
    (kept,) = connection.execute(query, (row.docid,)).fetchone()
    return int(kept)


def _may_take(row: Row, entry: Entry, now: int) -> bool:
    """Tell whether a repeat may change a memory: it is not over, and both have one standing."""
    if row.status in ENDED:
        return entry.row.status in SLOT_HOLDING
    return _standing(row) == _standing(entry.row) and _holds(row, now)


def _holds(row: Row, now: int) -> bool:
    """Tell whether a memory is still to be found."""
    ends = (end for end in (row.expires_at, row.valid_until) if end is not None)
    return all(end > now for end in ends)


def _overflow(
    connection: Session, ns: int, sessions: Iterable[str | None], now: int, ring: int
) -> None:
    for session in sessions:
        pushed_out = connection.execute(
            f"SELECT docid FROM memories WHERE ns = ? AND {_SAME_SESSION} AND tier = 'short'"
            f" AND {_IN_RING} ORDER BY docid DESC {_PAST}",
            (ns, session, ring),
        ).fetchall()
        if not pushed_out:
            continue
        first = next_rev(connection, ns)
        moves = [(rev, now, docid) for rev, (docid,) in enumerate(pushed_out, start=first)]
        connection.executemany(
            "UPDATE memories SET tier = 'medium', rev = ?, updated_at = ? WHERE docid = ?", moves
        )
        connection.executemany(
            "INSERT INTO backlog VALUES (?1, ?2,"
            f" CASE WHEN {_NO_VECTOR} THEN 'embed' ELSE 'index' END)"
            " ON CONFLICT (docid) DO UPDATE SET rev = ?2, op = excluded.op WHERE op <> 'embed'",
            [(docid, rev) for rev, _, docid in moves],
        )


def changes_since(connection: Session, ns: int, rev: int, *, limit: int) -> list[Row]:
    """Return the rows of a namespace that came or changed after ``rev``."""
    found = connection.execute(f"{_SINCE.format(COLUMNS)} LIMIT ?", (*_since(ns, rev), limit))
    return [Row(*values) for values in found]


def newest_short(connection: Session, ns: int, session: str | None, limit: int) -> list[Row]:
    """Return the newest turns of a session's ring, newest first."""
    query = (
        f"{_SELECT} WHERE ns = ? AND {_SAME_SESSION} AND tier = 'short' AND {_IN_RING}"
        " ORDER BY docid DESC LIMIT ?"
    )
    return [Row(*found) for found in connection.execute(query, (ns, session, limit))]


def outlines_since(connection: Session, ns: int, rev: int) -> list[tuple[Any, ...]]:
    """Return what the read path keeps in RAM of every row that came, changed or went after ``rev``.

    Each is (docid, session, actor, scope, tier, kind, status, words, head_words, cues,
    importance, occurred_at, expires_at, valid_from, valid_until, key, aliases), times in
    microseconds since 1970 UTC, aliases as JSON. Of what was erased only the row id is left.
    """
    outlines = connection.execute(_SINCE.format(_OUTLINE), _since(ns, rev)).fetchall()
    return outlines + [(docid, *_NOTHING) for docid in erased_since(connection, ns, rev)]


def said_since(
    connection: Session, ns: int, rev: int, first: int
) -> Iterator[tuple[int, str, str | None, list[str | None]]]:
    """Yield what is said in every row from ``first`` on that came or changed after ``rev``.

    Each is (docid, status, text, names): actor or role, key, aliases, tags. What is damaged is None
    or left out.
    """
    low, high, _, _ = _since(ns, rev)
    columns = "docid, status, text, ifnull(actor, role), key, aliases, tags"
    query = f"SELECT * FROM ({_SINCE.format(columns)}) WHERE docid >= ?5"
    for docid, status, text, who, key, aliases, tags in connection.execute(
        query, (low, high, ns, rev, first)
    ):
        names = [string_in(who), string_in(key), *strings_in(aliases), *strings_in(tags)]
        yield docid, status, string_in(text), names


def erased_since(connection: Session, ns: int, rev: int) -> list[int]:
    """Return the row ids that came up to ``rev`` and were erased after it."""
    low, _ = docid_range(ns)
    query = "SELECT docid FROM erased WHERE ns = ? AND rev > ? AND docid <= ?"
    return [docid for (docid,) in connection.execute(query, (ns, rev, low + rev))]


_NOTHING = (
    None, None, "", "medium", "fact", "erased", 0, 0, 0, 0.0, 0, None, 0, None, None, "[]",
)  # fmt: skip
"""The outline of an erased memory, but for its row id."""


_OUTLINE = (
    "docid, session, actor, scope, tier, kind, status, words, head_words, cues, importance,"
    " occurred_at, expires_at, valid_from, valid_until, key, aliases"
)
_SINCE = (
    "SELECT {0} FROM memories WHERE docid > ?1 AND docid <= ?2"
    " UNION ALL SELECT {0} FROM memories WHERE ns = ?3 AND rev > ?4"
    " AND rev <> (docid & 1099511627775) AND docid <= ?1"
)


def _since(ns: int, rev: int) -> tuple[int, int, int, int]:
    low, high = docid_range(ns)
    return low + rev, high, ns, rev


def latest_rev(connection: Session, ns: int) -> int:
    """Return the newest revision of a namespace; 0 if nothing is in it."""
    low, high = docid_range(ns)
    newest, changed, erased = connection.execute(_LATEST, (low, high, ns, ns)).fetchone()
    return max((newest or low) & SEQ_MASK, int(changed or 0), int(erased or 0))


# What damage made too large for a revision, or text, would lead new rows into another namespace.
_LATEST = (
    "SELECT (SELECT max(docid) FROM memories WHERE docid BETWEEN ? AND ?),"
    " (SELECT max(rev) FROM memories WHERE ns = ? AND rev <> (docid & 1099511627775)"
    " AND rev <= 1099511627775),"
    " (SELECT max(rev) FROM erased WHERE ns = ? AND rev <= 1099511627775)"
)


def _chunks(values: Sequence[Any]) -> Iterable[Sequence[Any]]:
    for start in range(0, len(values), CHUNK):
        yield values[start : start + CHUNK]
