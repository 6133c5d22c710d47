"""The rows of the ``memories`` table, their earlier states, events and backlog: SQL only.

`insert_rows` has the INSERT. For an ``add``, the rest of its transaction is in
``lifecycle.remember``: which repeat is folded, who takes whose place, what is quarantined. An
import (``ledger.transfer``) and ``lifecycle.slots.revert`` insert too. Functions take the
connection first and never commit: the writer does. Each change of a row takes the next revision of
its namespace, so that caches learn what changed by asking for later ones.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from memento.errors import NotFound
from memento.ledger.contract import Session, Work
from memento.ledger.dialect import (
    each_of,
    join_numbers,
    same,
    skipping,
    without_index,
)
from memento.ledger.predicate import Filters, predicate
from memento.ledger.rows import (
    COLUMNS,
    STATE,
    USER,
    Row,
    State,
    docid_of,
    docid_range,
    is_changed_state,
    is_sound,
    is_whole,
    mapping_in,
    seal_of,
    sound,
    state_of,
    string_in,
)
from memento.ledger.schema import SEQ_BITS, SEQ_MASK
from memento.status import check_transition, having, sql, sql_lacking
from memento.text.words import Columns
from memento.types import Event, Reason

CHUNK = 500
"""Most values bound to one ``IN``; SQLite's own limit is 32,766."""

# Beside row ids the namespace is compared as ``+ns``: past eight of them SQLite would rather go
# through all rows of the namespace by some index that begins with it.

_FOUND, _ENDED, _IN_RING = sql("found"), sql("ended"), sql("in_ring")
_FOLDS_REPEATS, _KEEPS_NO_ID = sql("folds_repeats"), sql_lacking("keeps_id")

_GIVEN_UP = "(created_at < valid_from AND ifnull(valid_until <= valid_from, 0))"
"""Of a plan that another value replaced before its day came: it never held."""
_BASIS = frozenset({"trust", "kind", "importance", "created_at"})
"""Columns on which ``dynamics`` of a memory depend, beside its events."""

_NS = without_index("ns")
NOT_ERASED = "docid NOT IN (SELECT docid FROM erased)"
"""For a writer, which would see erased rows until they are deleted, see ``erase_many``."""
_SAME_SESSION, _PAST = same("session"), skipping()

_SELECT = f"SELECT {COLUMNS} FROM memories"
_KEEP = f"INSERT INTO versions (docid, rev, {STATE}, change) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


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
    query = f"{_SELECT} WHERE ns = ? AND id = ? AND {NOT_ERASED}"
    found = connection.execute(query, (ns, memory_id)).fetchone()
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


def by_ids(connection: Session, ns: int, ids: Sequence[str]) -> dict[str, Row]:
    """Read several memories of one namespace by id, damaged ones too; absent ones are left out."""
    rows: dict[str, Row] = {}
    for part in _chunks(ids):
        marks = ", ".join("?" * len(part))
        query = f"{_SELECT} WHERE ns = ? AND id IN ({marks}) AND {NOT_ERASED}"
        for values in connection.execute(query, (ns, *part)):
            row = Row(*values)
            rows[row.id] = row
    return rows


def repeatable(connection: Session, ns: int, hashes: Sequence[bytes], now: int) -> list[Row]:
    """Find the memories that hold by now and have one of some contents; damaged ones are left out.

    Returns:
        The rows, of equal content the oldest last.
    """
    rows: list[Row] = []
    for part in _chunks(hashes):
        marks = ", ".join("?" * len(part))
        query = (
            f"SELECT docid FROM memories WHERE ns = ? AND content_hash IN ({marks})"
            f" AND {_FOLDS_REPEATS} AND (expires_at IS NULL OR expires_at > ?)"
            f" AND (valid_until IS NULL OR valid_until > ?) AND {NOT_ERASED} ORDER BY docid DESC"
        )
        found = connection.execute(query, (ns, *map(bytearray, part), now, now)).fetchall()
        if found:  # rarely: asking for one column costs half of what asking for all does
            known = by_docids(connection, ns, [docid for (docid,) in found])
            rows += [known[docid] for (docid,) in found if is_sound(known[docid])]
    return rows


def past_values(connection: Session, ns: int, content_hash: bytes, now: int) -> list[Row]:
    """Find the superseded memories of some content that began to hold by now.

    Returns:
        Those that have not expired and are not damaged, the oldest last.
    """
    found = connection.execute(
        f"{_SELECT} WHERE ns = ? AND content_hash = ? AND {_ENDED}"
        " AND valid_from <= ? AND (expires_at IS NULL OR expires_at > ?)"
        f" AND NOT {_GIVEN_UP} AND {NOT_ERASED} ORDER BY docid DESC",
        (ns, content_hash, now, now),
    )
    return [row for row in (Row(*values) for values in found) if is_sound(row)]


def texts(connection: Session, ns: int, docids: Sequence[int]) -> dict[int, str]:
    """Read the texts of some rows of one namespace; absent ones are left out."""
    found: dict[int, str] = {}
    for part in _chunks(docids):
        marks = ", ".join("?" * len(part))
        query = f"SELECT docid, text FROM memories WHERE docid IN ({marks}) AND {_NS} = ?"
        rows = connection.execute(query, (*part, ns))
        found |= {docid: string_in(text) or "" for docid, text in rows}
    return found


def reword_as_of(
    connection: Session, rows: Iterable[Row], moment: int, *, known_at: int | None = None
) -> set[int]:
    """Give rows the text they had at a moment, microseconds; returns those where it is damaged.

    No text from quarantine answers for the past. With ``known_at``, changes after it are ignored.
    """
    garbled: set[int] = set()
    for row in rows:
        if row.version > 1:
            earlier = connection.execute(_STATE_AT, (row.docid, moment, known_at)).fetchone()
            if earlier is not None:
                state = State(*earlier)
                if is_changed_state(row, state):
                    garbled.add(row.docid)
                row.text = state.text
    return garbled


_STATE_AT = (
    f"SELECT {STATE} FROM versions WHERE docid = ?1 AND until > ?2 AND until <= coalesce(?3, until)"
    f" AND {sql('accepted')} ORDER BY rev LIMIT 1"
)


def docids_of(connection: Session, ns: int, ids: Sequence[str]) -> dict[str, int]:
    """Translate ids of one namespace to row ids; absent ones are left out."""
    found: dict[str, int] = {}
    for part in _chunks(ids):
        marks = ", ".join("?" * len(part))
        query = f"SELECT id, docid FROM memories WHERE ns = ? AND id IN ({marks}) AND {NOT_ERASED}"
        found.update(connection.execute(query, (ns, *part)).fetchall())
    return found


def ids_like(connection: Session, ns: int, part: str, *, least: int) -> list[str]:
    """Return the id that a text is, or else up to 10 of those that begin or end with it.

    Args:
        connection: To the ledger.
        ns: Namespace number.
        part: The text.
        least: Characters below which a text stands only for itself.
    """
    found = connection.execute("SELECT id FROM memories WHERE ns = ? AND id = ?", (ns, part))
    if (exact := found.fetchone()) is not None:
        return [exact[0]]
    if len(part) < least:
        return []
    alike = connection.execute(
        "SELECT id FROM memories WHERE ns = ?1 AND (substr(id, 1, ?2) = ?3 OR substr(id, -?2) = ?3)"
        " ORDER BY id LIMIT 10",
        (ns, len(part), part),
    )
    return [memory_id for (memory_id,) in alike]


def docids_named(connection: Session, ns: int, ids: Sequence[str]) -> str:
    """Translate hundreds of ids of one namespace to row ids, in half the time of `docids_of`.

    Returns:
        The row ids, joined by commas; absent ones are left out.
    """
    (docids,) = connection.execute(_NAMED, (json.dumps(ids), ns)).fetchone()
    return docids or ""


_NAMED = (
    f"SELECT {join_numbers('docid')} FROM {each_of('?')} AS asked"
    " CROSS JOIN memories ON ns = ? AND memories.id = asked.value"
)


def hidden_ids(connection: Session, ns: int, ids: Sequence[str], now: int) -> set[str]:
    """Return those of some ids whose memory is not found without being asked for."""
    found: set[str] = set()
    for part in _chunks(ids):
        marks = ", ".join("?" * len(part))
        query = (
            f"SELECT id FROM memories WHERE ns = ? AND id IN ({marks}) AND ({_KEEPS_NO_ID}"
            f" OR NOT {_FOUND} OR ifnull(expires_at <= ?, 0) OR ifnull(valid_until <= ?, 0))"
        )
        rows = connection.execute(query, (ns, *part, now, now))
        found.update(memory_id for (memory_id,) in rows)
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
        filters: The conditions.
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


def ended(connection: Session, ns: int, now: int) -> list[Row]:
    """Read the active memories whose validity is over, in order of arrival."""
    query = (
        f"{_SELECT} WHERE docid BETWEEN ? AND ? AND {_FOUND} AND valid_until <= ?"
        " AND (expires_at IS NULL OR expires_at > ?) ORDER BY docid"
    )
    return [Row(*found) for found in connection.execute(query, (*docid_range(ns), now, now))]


def locked(connection: Session, ns: int) -> list[int]:
    """Return the row ids of the memories that the user locked, ascending."""
    query = (
        f"SELECT docid FROM memories WHERE docid BETWEEN ? AND ? AND (pinned & {USER}) <> 0"
        f" AND {_FOUND} AND {NOT_ERASED} ORDER BY docid"
    )
    return [docid for (docid,) in connection.execute(query, docid_range(ns))]


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
    for name in ("scope", "session", "kind", "tier", "actor", "key")
} | {
    "tag": (
        f"(SELECT tags FROM memories WHERE {{}}) AS chosen, {each_of('chosen.tags')}",
        "value",
    )
}
"""Names of columns that memories can be counted by, to their table and column."""


def counts(connection: Session, ns: int, now: int) -> dict[str, int]:
    """Count the live memories of a namespace by tier, and the hidden ones by status."""
    query = (
        f"SELECT CASE WHEN {_FOUND} THEN tier ELSE status END, count(*) FROM memories"
        " WHERE docid BETWEEN ? AND ? AND (expires_at IS NULL OR expires_at > ?)"
        f" AND (NOT ({_FOUND}) OR valid_until IS NULL OR valid_until > ?) GROUP BY 1"
    )
    return dict(connection.execute(query, (*docid_range(ns), now, now)).fetchall())


def insert_rows(connection: Session, ns: int, fresh: Sequence[tuple[Row, Columns]]) -> None:
    """Insert rows; few of them wait for full text and the backlog, see ``contract.Words``.

    Args:
        connection: Inside a transaction.
        ns: Namespace number.
        fresh: Rows, which get their place and revision here, and what full text indexes of each.
    """
    if not fresh:
        return
    first = next_rev(connection, ns)
    for rev, (row, _) in enumerate(fresh, start=first):
        row.ns, row.rev, row.docid = ns, rev, docid_of(ns, rev)
    index_now = connection.words.is_due(fresh[-1][0].docid, len(fresh))
    if index_now:
        connection.words.catch_up(ns)
    for names, rows in groupby([row.present() for row, _ in fresh], key=itemgetter(0)):
        connection.executemany(_insertion(names), [values for _, values in rows])
    if index_now:
        connection.words.index_next(ns, [(row.docid, columns) for row, columns in fresh])


@lru_cache(maxsize=64)
def _insertion(names: tuple[str, ...]) -> str:
    """Return the statement that inserts a row whose other columns are null."""
    holes = ", ".join("?" * len(names))
    return f"INSERT INTO memories ({', '.join(names)}) VALUES ({holes})"


def overflow(work: Work, sessions: Iterable[str | None]) -> None:
    """Move to medium what the rings of some sessions cannot hold any more."""
    connection = work.db
    for session in sessions:
        pushed_out = connection.execute(
            f"SELECT docid FROM memories WHERE ns = ? AND {_SAME_SESSION} AND tier = 'short'"
            f" AND {_IN_RING} ORDER BY docid DESC {_PAST}",
            (work.ns, session, work.rules.ring),
        ).fetchall()
        if not pushed_out:
            continue
        first = next_rev(connection, work.ns)
        moves = [(rev, work.now, docid) for rev, (docid,) in enumerate(pushed_out, start=first)]
        connection.executemany(
            "UPDATE memories SET tier = 'medium', rev = ?, updated_at = ? WHERE docid = ?", moves
        )
        connection.executemany(
            "INSERT INTO backlog VALUES (?1, ?2,"
            f" CASE WHEN {_NO_VECTOR} THEN 'embed' ELSE 'index' END)"
            " ON CONFLICT (docid) DO UPDATE SET rev = ?2, op = excluded.op WHERE op <> 'embed'",
            [(docid, rev) for rev, _, docid in moves],
        )


def revise(
    connection: Session,
    row: Row,
    changes: Mapping[str, Any],
    reason: Reason,
    change: int | None = None,
) -> Row:
    """Change columns of a row and keep its earlier state.

    Rules call ``changes.revise``, which begins a numbered change first.

    Args:
        connection: Inside a transaction.
        row: The row as it is; changed in place.
        changes: Column names to new values; must hold ``updated_at``.
        reason: What changes it, for ``versions``.
        change: Number of the change that this is a part of; None for none.

    Returns:
        The row as it is now.
    """
    keep_version(connection, row, reason, changes["updated_at"], change)
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
    if not _BASIS.isdisjoint(changes):
        connection.execute("UPDATE dynamics SET stale = 1 WHERE docid = ?", (row.docid,))
    names = [*changes, "rev", "checksum"]
    marks = ", ".join(f"{name} = ?" for name in names)
    values = [getattr(row, name) for name in names]
    connection.execute(f"UPDATE memories SET {marks} WHERE docid = ?", (*values, row.docid))
    return row


def keep_version(
    connection: Session, row: Row, reason: Reason, until: int, change: int | None = None
) -> None:
    """Write down the present state of a row before it changes; see ``revise``."""
    connection.execute(_KEEP, (row.docid, row.rev, *state_of(row, until, reason.value), change))


def states(connection: Session, docid: int) -> list[State]:
    """Read the earlier states of a memory, oldest first, as the file has them."""
    query = f"SELECT {STATE} FROM versions WHERE docid = ? ORDER BY rev"
    return [State(*found) for found in connection.execute(query, (docid,))]


def count_states(connection: Session, docid: int, reason: str) -> int:
    """Count the earlier states of a memory that ended for a reason."""
    query = "SELECT count(*) FROM versions WHERE docid = ? AND reason = ?"
    (kept,) = connection.execute(query, (docid, reason)).fetchone()
    return int(kept)


def versions(connection: Session, row: Row) -> list[State]:
    """Read the earlier states of a memory, oldest first; those that are damaged are left out."""
    return [one for one in states(connection, row.docid) if not is_changed_state(row, one)]


def of_source(connection: Session, ns: int, uri: str) -> list[Row]:
    """Return the memories whose source has an address, in order of arrival."""
    query = f"{_SELECT} WHERE ns = ? AND source_uri = ? ORDER BY docid"
    return [Row(*found) for found in connection.execute(query, (ns, uri))]


def derivations(connection: Session, ns: int) -> Iterator[tuple[str, str]]:
    """Yield (id, ids of its parents as JSON) of every memory derived from others."""
    query = "SELECT id, source_parents FROM memories WHERE ns = ? AND source_parents <> '[]'"
    return iter(connection.execute(query, (ns,)))


def fitting_all(
    connection: Session, ns: int, filters: Filters, docids: Sequence[int]
) -> dict[int, Row]:
    """Read those of any number of rows that fit filters without ids; see ``fitting``."""
    return {
        row.docid: row for part in _chunks(docids) for row in fitting(connection, ns, filters, part)
    }


def fitting_docids(
    connection: Session, ns: int, filters: Filters, docids: Sequence[int]
) -> set[int]:
    """Return those of any number of row ids that fit filters without ids."""
    condition, values = predicate(ns, replace(filters, ids=()))
    found: set[int] = set()
    for part in _chunks(docids):
        marks = ", ".join("?" * len(part))
        query = f"SELECT docid FROM memories WHERE docid IN ({marks}) AND {condition}"
        found.update(docid for (docid,) in connection.execute(query, (*part, *values)))
    return found


def enqueue(connection: Session, row: Row, op: str) -> None:
    """Tell the indexer about a row. One that has no vector is queued for that first.

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
"""Statuses in which a memory needs a vector, whenever it got there."""

_NO_VECTOR = "NOT EXISTS (SELECT 1 FROM embeddings WHERE docid = ?1)"


def record(
    connection: Session,
    ns: int,
    at: int,
    kind: Event,
    docid: int | None,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Append one event."""
    append_event(connection, ns, at, kind.value, docid, detail)


def append_event(
    connection: Session,
    ns: int,
    at: int,
    kind: str,
    docid: int | None,
    detail: Mapping[str, Any] | None,
) -> None:
    """Append an event whose word may come from a file; `record` is for our own."""
    event = (ns, at, kind, docid, json.dumps(detail) if detail else None)
    connection.execute(
        "INSERT INTO events (ns, at, kind, docid, detail, seal) VALUES (?, ?, ?, ?, ?, ?)",
        (*event, seal_of(*event)),
    )


def redactions(connection: Session, ns: int) -> Counter[str]:
    """Count the secrets taken out of the memories of a namespace, by kind."""
    query = f"SELECT detail FROM events WHERE ns = ? AND kind = '{Event.REDACTED}'"
    total: Counter[str] = Counter()
    for (detail,) in connection.execute(query, (ns,)):
        said = mapping_in(detail)
        total.update({kind: count for kind, count in said.items() if isinstance(count, int)})
    return total


def next_rev(connection: Session, ns: int) -> int:
    """Return the revision that the next change of a namespace takes. Inside a transaction."""
    return latest_rev(connection, ns) + 1


def newest_short(connection: Session, ns: int, session: str | None, limit: int) -> list[Row]:
    """Return the newest turns of a session's ring, newest first."""
    query = (
        f"{_SELECT} WHERE ns = ? AND {_SAME_SESSION} AND tier = 'short' AND {_IN_RING}"
        " ORDER BY docid DESC LIMIT ?"
    )
    return [Row(*found) for found in connection.execute(query, (ns, session, limit))]


def next_turn(connection: Session, turn: Row) -> Row | None:
    """Return the turn of the same session that came next, or None."""
    if turn.session is None:
        return None
    found = connection.execute(
        f"{_SELECT} WHERE ns = ? AND {_SAME_SESSION} AND docid > ? AND role IS NOT NULL"
        f" AND {NOT_ERASED} ORDER BY docid LIMIT 1",
        (turn.ns, turn.session, turn.docid),
    ).fetchone()
    return None if found is None else Row(*found)


def latest_rev(connection: Session, ns: int) -> int:
    """Return the newest revision of a namespace; 0 if nothing is in it."""
    low, high = docid_range(ns)
    newest, changed, erased = connection.execute(_LATEST, (low, high, ns, ns)).fetchone()
    return max((newest or low) & SEQ_MASK, int(changed or 0), int(erased or 0))


# What damage made too large for a revision, or text, would lead new rows into another namespace.
_LATEST = (
    "SELECT (SELECT max(docid) FROM memories WHERE docid BETWEEN ? AND ?),"
    f" (SELECT max(rev) FROM memories WHERE ns = ? AND rev <> (docid & {SEQ_MASK})"
    f" AND rev <= {SEQ_MASK}),"
    f" (SELECT max(rev) FROM erased WHERE ns = ? AND rev <= {SEQ_MASK})"
)


def _chunks(values: Sequence[Any]) -> Iterable[Sequence[Any]]:
    for start in range(0, len(values), CHUNK):
        yield values[start : start + CHUNK]
