"""The rows of the ``memories`` table, their earlier states, events and backlog.

Functions take the session of a job first and never commit: the writer does. Each change of a row
takes the next revision of its namespace, so that caches learn what changed by asking for later
ones. What an ``add`` does in its transaction is in ``write.remember``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from memento.base.plain import composed
from memento.errors import NotFound
from memento.ledger import dialect, rows, succession_rows
from memento.ledger.contract import Trace, Transaction, Work
from memento.ledger.dialect import each_of, listed, one_of, one_of_numbers
from memento.ledger.predicate import Filters, predicate
from memento.ledger.rows import STATE, Row, State, column, docid_range, first, single, strings_in
from memento.ledger.schema import SEQ_BITS, SEQ_MASK
from memento.status import check_transition, having, sql, sql_lacking
from memento.text.words import Columns
from memento.types import Event, Kind, Reason

# Beside row ids the namespace is compared as ``+ns``: with more than eight row ids SQLite would
# otherwise go through all rows of the namespace by an index that begins with ``ns``.

_FOUND, _ENDED, _IN_RING = sql("found"), sql("ended"), sql("in_ring")
_ACCEPTED = sql("accepted")
_FOLDS_REPEATS, _KEEPS_NO_ID = sql("folds_repeats"), sql_lacking("keeps_id")

_GIVEN_UP = "(created_at < valid_from AND coalesce(valid_until <= valid_from, false))"
"""The condition of a plan that another value replaced before it began: it never held."""
_BASIS = frozenset({"trust", "kind", "importance", "created_at"})
"""Columns on which ``dynamics`` of a memory depend, beside its events."""

_NS = dialect.without_index("ns")
_BY_DOCIDS = f"SELECT {rows.COLUMNS} FROM memories WHERE docid {one_of_numbers()} AND {_NS} = ?"
NOT_ERASED = "docid NOT IN (SELECT docid FROM erased)"
"""For a writer, which would see erased rows until they are deleted, see ``erasure``."""
_SAME_SESSION, _PAST = dialect.same("session"), dialect.skipping()

_KEEP = f"INSERT INTO versions (docid, rev, {STATE}, change) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


def by_id(db: Transaction, ns: int, memory_id: str, *, damaged: bool = False) -> Row:
    """Read one memory; a damaged one only with ``damaged``, to hide or to replace it.

    Raises ``NotFound`` if the namespace has no such id, in any Unicode form.
    """
    row = first(db, f"ns = ? AND id = ? AND {NOT_ERASED}", (ns, composed(memory_id)))
    if row is None:
        raise NotFound(memory_id)
    return row if damaged and row.docid >> SEQ_BITS == ns else rows.sound(row, memory_id)


def by_docid(db: Transaction, docid: int) -> Row:
    """Read one memory that is known to exist, of any namespace."""
    return next(rows.select(db, "docid = ?", (docid,)))


def by_docids(db: Transaction, ns: int, docids: Iterable[int]) -> dict[int, Row]:
    """Read several memories of one namespace by row id; absent ones are left out."""
    found = [Row(*one) for one in db.execute(_BY_DOCIDS, (listed(docids), ns))]
    return {row.docid: row for row in found}


def by_ids(db: Transaction, ns: int, ids: Iterable[str]) -> dict[str, Row]:
    """Read several memories of one namespace by id, damaged ones too; absent ones are left out."""
    where = f"ns = ? AND id {one_of()} AND {NOT_ERASED}"
    return {row.id: row for row in rows.select(db, where, (ns, listed(ids)))}


def repeatable(db: Transaction, ns: int, hashes: Sequence[bytes], now: int) -> list[Row]:
    """Find the sound memories with one of some content hashes that have not ended, oldest last."""
    wanted = [*dict.fromkeys(hashes)]
    if not wanted:
        return []
    holes = 1 << (len(wanted) - 1).bit_length()  # few statements, which are kept prepared
    query = (
        f"SELECT docid FROM memories WHERE ns = ? AND content_hash IN ({', '.join('?' * holes)})"
        f" AND {_FOLDS_REPEATS} AND (expires_at IS NULL OR expires_at > ?)"
        f" AND (valid_until IS NULL OR valid_until > ?) AND {NOT_ERASED} ORDER BY docid DESC"
    )
    wanted += wanted[-1:] * (holes - len(wanted))
    read = db.execute(query, (ns, *map(bytearray, wanted), now, now)).fetchall()
    found = [docid for (docid,) in read]
    known = by_docids(db, ns, found) if found else {}
    return [known[docid] for docid in found if rows.is_sound(known[docid])]


def past_values(db: Transaction, ns: int, content_hash: bytes, now: int) -> list[Row]:
    """Find the sound superseded memories with a content hash that have begun, oldest last."""
    found = rows.select(
        db,
        f"ns = ? AND content_hash = ? AND {_ENDED}"
        " AND valid_from <= ? AND (expires_at IS NULL OR expires_at > ?)"
        f" AND NOT {_GIVEN_UP} AND {NOT_ERASED} ORDER BY docid DESC",
        (ns, content_hash, now, now),
    )
    return [row for row in found if rows.is_sound(row)]


def texts(db: Transaction, ns: int, docids: Sequence[int]) -> dict[int, str]:
    """Read the texts of some rows of one namespace; absent ones are left out."""
    query = f"SELECT docid, text FROM memories WHERE docid {one_of_numbers()} AND {_NS} = ?"
    found = db.execute(query, (listed(docids), ns))
    return {docid: rows.string_in(text) or "" for docid, text in found}


def reword_as_of(
    db: Transaction, found: Iterable[Row], moment: int, *, known_at: int | None = None
) -> set[int]:
    """Give rows the text they had at a moment, microseconds; return the row ids of damaged texts.

    A text from quarantine is never used. With ``known_at``, changes after it are ignored.
    """
    garbled: set[int] = set()
    which = (
        f"docid = ? AND until > ? AND until <= coalesce(?, until) AND {sql('accepted')}"
        " ORDER BY rev LIMIT 1"
    )
    for row in found:
        if row.version > 1:
            for state in states_where(db, which, (row.docid, moment, known_at)):
                if rows.is_changed_state(row, state):
                    garbled.add(row.docid)
                row.text = state.text
    return garbled


def docids_of(db: Transaction, ns: int, ids: Iterable[str]) -> dict[str, int]:
    """Translate ids of one namespace to row ids; absent ones are left out."""
    query = f"SELECT id, docid FROM memories WHERE ns = ? AND id {one_of()} AND {NOT_ERASED}"
    return dict(db.execute(query, (ns, listed(ids))).fetchall())


def accepted_ids(db: Transaction, ns: int, ids: Iterable[str]) -> set[str]:
    """Return those of some ids whose memory in a namespace is trusted, or was approved."""
    query = (
        f"SELECT id FROM memories WHERE ns = ? AND id {one_of()} AND {_ACCEPTED} AND {NOT_ERASED}"
    )
    return set(column(db, query, (ns, listed(ids))))


def ids_like(db: Transaction, ns: int, part: str, *, least: int) -> list[str]:
    """Return the id that equals a text, or else up to 10 ids that begin or end with it.

    A text of less than ``least`` characters matches only the id that equals it.
    """
    exact = column(db, "SELECT id FROM memories WHERE ns = ? AND id = ?", (ns, part))
    if exact or len(part) < least:
        return exact
    query = (
        "SELECT id FROM memories WHERE ns = ?1 AND ?2 IN (substr(id, 1, length(?2)),"
        " substr(id, 1 + length(id) - length(?2))) ORDER BY id LIMIT 10"
    )
    return column(db, query, (ns, part))


def docids_named(db: Transaction, ns: int, ids: Sequence[str]) -> str:
    """Translate hundreds of ids to row ids, joined by commas, in half the time of `docids_of`."""
    query = (
        f"SELECT {dialect.join_numbers('docid')} FROM {each_of('?')} AS asked"
        f" {dialect.IN_THIS_ORDER} memories ON ns = ? AND memories.id = asked.value"
    )
    return single(db, query, (listed(ids), ns)) or ""


def hidden_ids(db: Transaction, ns: int, ids: Sequence[str], now: int) -> set[str]:
    """Return those of some ids whose memory is not found by default."""
    query = (
        f"SELECT id FROM memories WHERE ns = ? AND id {one_of()} AND ({_KEEPS_NO_ID}"
        f" OR NOT {_FOUND} OR coalesce(expires_at <= ?, false)"
        " OR coalesce(valid_until <= ?, false))"
    )
    return set(column(db, query, (ns, listed(ids), now, now)))


class Page(NamedTuple):
    """The part of a list that is wanted, in order of arrival or of occurrence (``by_time``)."""

    by_time: bool = False
    newest_first: bool = False
    limit: int = dialect.EVERY
    offset: int = 0


ALL = Page()


def select(db: Transaction, ns: int, filters: Filters, page: Page = ALL) -> list[Row]:
    """Read the memories that fit the filters."""
    condition, values = predicate(ns, filters)
    way = "DESC" if page.newest_first else "ASC"
    order = f"occurred_at {way}, docid {way}" if page.by_time else f"docid {way}"
    where = f"{condition} ORDER BY {order} LIMIT ? OFFSET ?"
    return list(rows.select(db, where, (*values, page.limit, page.offset)))


def matching(db: Transaction, ns: int, filters: Filters) -> list[int]:
    """Return the row ids that fit the filters, ascending."""
    condition, values = predicate(ns, filters)
    query = f"SELECT docid FROM memories WHERE {condition} ORDER BY docid"
    return column(db, query, values)


def fitting(db: Transaction, ns: int, filters: Filters, docids: Iterable[int]) -> list[Row]:
    """Read those of some rows that fit the filters, their ids aside, in order of arrival."""
    condition, values = predicate(ns, replace(filters, ids=()))
    where = f"docid {one_of_numbers()} AND {condition} ORDER BY docid"
    return list(rows.select(db, where, (listed(docids), *values)))


def fitting_docids(db: Transaction, ns: int, filters: Filters, docids: Iterable[int]) -> set[int]:
    """Return those of some row ids that fit the filters, their ids aside."""
    condition, values = predicate(ns, replace(filters, ids=()))
    query = f"SELECT docid FROM memories WHERE docid {one_of_numbers()} AND {condition}"
    return set(column(db, query, (listed(docids), *values)))


def expired(db: Transaction, ns: int, now: int) -> list[int]:
    """Return the row ids of the active memories that have expired, ascending."""
    query = (
        f"SELECT docid FROM memories WHERE docid BETWEEN ? AND ? AND {_FOUND}"
        " AND expires_at <= ? ORDER BY docid"
    )
    return column(db, query, (*docid_range(ns), now))


def ended(db: Transaction, ns: int, now: int) -> list[Row]:
    """Read the active memories whose validity is over, in order of arrival."""
    where = (
        f"docid BETWEEN ? AND ? AND {_FOUND} AND valid_until <= ?"
        " AND (expires_at IS NULL OR expires_at > ?) ORDER BY docid"
    )
    return list(rows.select(db, where, (*docid_range(ns), now, now)))


def locked(db: Transaction, ns: int) -> list[int]:
    """Return the row ids of the memories that the user locked, ascending."""
    query = (
        f"SELECT docid FROM memories WHERE docid BETWEEN ? AND ? AND (pinned & {rows.USER}) <> 0"
        f" AND {_FOUND} AND {NOT_ERASED} ORDER BY docid"
    )
    return column(db, query, docid_range(ns))


_OF_POLICY = (
    "(kind IN ('rule', 'preference', 'decision', 'procedure', 'plan')"
    " OR signal = 'identity' OR pinned <> 0)"
)
"""The condition of the index ``memories_of_policy``, word for word: else it is not used."""


class PolicyMark(NamedTuple):
    """Tells whether the memories of a policy changed: their largest revision, and how many."""

    newest: int
    size: int


def policy_mark(db: Transaction, ns: int) -> PolicyMark:
    """Return the mark of a namespace, from the index alone."""
    query = f"SELECT coalesce(max(rev), 0), count(*) FROM memories WHERE ns = ? AND {_OF_POLICY}"
    return PolicyMark(*db.execute(query, (ns,)).fetchone())


def policy_rows(db: Transaction, ns: int, scopes: Sequence[str]) -> list[Row]:
    """Read the sound memories that a policy may hold in some scopes, in order of arrival."""
    where = f"ns = ? AND {_OF_POLICY} AND {_FOUND} AND {NOT_ERASED} AND scope {one_of()}"
    found = rows.select(db, where, (ns, listed(scopes)))
    return sorted(filter(rows.is_sound, found), key=lambda row: row.docid)


def tally(db: Transaction, ns: int, filters: Filters, by: str) -> dict[str, int]:
    """Count what fits the filters by one of ``TALLIED``; rows without a value are left out."""
    condition, values = predicate(ns, filters)
    source, value = TALLIED[by]
    query = (
        f"SELECT {value}, count(*) FROM {source.format(condition)} WHERE {value} IS NOT NULL"
        " GROUP BY 1 ORDER BY 1"
    )
    return dict(db.execute(query, values).fetchall())


TALLIED = {
    name: (f"(SELECT {name} FROM memories WHERE {{}}) AS chosen", name)
    for name in ("scope", "session", "kind", "tier", "actor", "key")
} | {
    "tag": (f"(SELECT tags FROM memories WHERE {{}}) AS chosen, {each_of('chosen.tags')}", "value")
}
"""Maps what memories can be counted by to its table and column."""


def counts(db: Transaction, ns: int, now: int) -> dict[str, int]:
    """Count the live memories of a namespace by tier, and the hidden ones by status."""
    query = (
        f"SELECT CASE WHEN {_FOUND} THEN tier ELSE status END, count(*) FROM memories"
        " WHERE docid BETWEEN ? AND ? AND (expires_at IS NULL OR expires_at > ?)"
        f" AND (NOT ({_FOUND}) OR valid_until IS NULL OR valid_until > ?) GROUP BY 1"
    )
    return dict(db.execute(query, (*docid_range(ns), now, now)).fetchall())


def insert_rows(
    db: Transaction, ns: int, fresh: Sequence[tuple[Row, Columns]], trace: Trace | None = None
) -> None:
    """Insert rows with what full text indexes of each; they get their row id and revision here.

    If they are few, full text and the backlog take them later, see ``contract.Words``. The trace of
    a write, if given, learns which revision came first.
    """
    if not fresh:
        return
    first = next_rev(db, ns)
    if trace is not None and trace.first is None:
        trace.first = first
    for rev, (row, _) in enumerate(fresh, start=first):
        row.ns, row.rev, row.docid = ns, rev, rows.docid_of(ns, rev)
    present = [row.present() for row, _ in fresh]
    index_now = db.words.is_due(fresh[-1][0].docid, len(fresh))
    if index_now:
        db.words.catch_up(ns)
    for names, group in groupby(present, key=itemgetter(0)):
        db.executemany(_insertion(names), [values for _, values in group])
    if index_now:
        db.words.index_next(ns, [(row.docid, columns) for row, columns in fresh])


@lru_cache(maxsize=64)
def _insertion(names: tuple[str, ...]) -> str:
    """Return the statement that inserts a row whose other columns are null."""
    holes = ", ".join("?" * len(names))
    return f"INSERT INTO memories ({', '.join(names)}) VALUES ({holes})"


def overflow(work: Work, sessions: Iterable[str | None]) -> None:
    """Move the turns that no longer fit the rings of some sessions to the medium tier."""
    db = work.db
    for session in sessions:
        pushed_out = db.execute(
            f"SELECT docid FROM memories WHERE ns = ? AND {_SAME_SESSION} AND tier = 'short'"
            f" AND {_IN_RING} ORDER BY docid DESC {_PAST}",
            (work.ns, session, work.rules.ring),
        ).fetchall()
        if not pushed_out:
            continue
        first = next_rev(db, work.ns)
        moves = [(rev, work.now, docid) for rev, (docid,) in enumerate(pushed_out, start=first)]
        db.executemany(
            "UPDATE memories SET tier = 'medium', rev = ?, updated_at = ? WHERE docid = ?", moves
        )
        db.executemany(
            "INSERT INTO backlog VALUES (?1, ?2,"
            f" CASE WHEN {_NO_VECTOR} THEN 'embed' ELSE 'index' END)"
            " ON CONFLICT (docid) DO UPDATE SET rev = ?2, op = excluded.op"
            " WHERE backlog.op <> 'embed'",
            [(docid, rev) for rev, _, docid in moves],
        )


def revise(
    db: Transaction, row: Row, changes: Mapping[str, Any], reason: Reason, change: int | None = None
) -> Row:
    """Change columns of a row, in place, and keep its earlier state as a part of a change.

    The columns must hold ``updated_at``. Rules call ``changes.revise``, which numbers the change.
    """
    keep_version(db, row, reason, changes["updated_at"], change)
    return overwrite(db, row, changes)


def overwrite(db: Transaction, row: Row, changes: Mapping[str, Any], *, anew: bool = False) -> Row:
    """Change columns of a row under a new revision, without keeping the earlier state.

    A damaged row gets no new seal, which would make the damage look sound, unless the changes
    replace all of it (``anew``).
    """
    whole = anew or rows.is_whole(row)
    if "status" in changes and whole and not anew:
        check_transition(row.id, row.status, changes["status"])
    if changes.get("text", row.text) != row.text:
        succession_rows.drop(db, row.docid)
    for name, value in changes.items():
        setattr(row, name, value)
    row.rev = next_rev(db, row.ns)
    if whole:
        row.seal()
    if not _BASIS.isdisjoint(changes):
        db.execute("UPDATE dynamics SET stale = 1 WHERE docid = ?", (row.docid,))
    names = [*changes, "rev", "checksum"]
    marks = ", ".join(f"{name} = ?" for name in names)
    values = [getattr(row, name) for name in names]
    db.execute(f"UPDATE memories SET {marks} WHERE docid = ?", (*values, row.docid))
    return row


def keep_version(
    db: Transaction, row: Row, reason: Reason, until: int, change: int | None = None
) -> None:
    """Store the present state of a row before it changes; see ``revise``."""
    db.execute(_KEEP, (row.docid, row.rev, *rows.state_of(row, until, reason.value), change))


def states_where(db: Transaction, where: str, values: Sequence[Any]) -> list[State]:
    """Read the earlier states that a ``WHERE`` clause selects, damaged ones too."""
    query = f"SELECT {STATE} FROM versions WHERE {where}"
    return [State(*found) for found in db.execute(query, values).fetchall()]


def states(db: Transaction, docid: int) -> list[State]:
    """Read the earlier states of a memory, oldest first, damaged ones too."""
    return states_where(db, "docid = ? ORDER BY rev", (docid,))


def count_states(db: Transaction, docid: int, reason: str) -> int:
    """Count the earlier states of a memory that ended for a reason."""
    query = "SELECT count(*) FROM versions WHERE docid = ? AND reason = ?"
    return int(single(db, query, (docid, reason)))


def versions(db: Transaction, row: Row) -> list[State]:
    """Read the earlier states of a memory, oldest first; those that are damaged are left out."""
    return [one for one in states(db, row.docid) if not rows.is_changed_state(row, one)]


def of_source(db: Transaction, ns: int, uri: str) -> list[Row]:
    """Return the memories whose source has an address, in order of arrival."""
    return list(rows.select(db, "ns = ? AND source_uri = ? ORDER BY docid", (ns, uri)))


LEARNT_WITHIN = 1_024
"""Number of rows after a message that can hold statements learned from it: they are written with
it, after the other messages of the same call."""


def outdated(db: Transaction, ns: int, turns: Mapping[str, int], now: int) -> dict[str, Outdated]:
    """Find the messages all of whose learned statements were superseded by now.

    Args:
        db: The store.
        ns: Namespace number.
        turns: Maps the ids of messages to their row ids.
        now: Microseconds.

    Returns:
        Such ids, each with what superseded the last of its statements.
    """
    query = (
        f"SELECT status, valid_until, superseded_by, source_parents FROM memories WHERE ns = ?"
        f" AND source_parents <> '[]' AND kind <> '{Kind.ARTICLE}' AND {sql('found', 'ended')}"
        " AND docid BETWEEN ? AND ?"
    )
    found: dict[str, Outdated] = {}
    for name, docid in turns.items():
        learnt = [
            Outdated(until or 0, by) if status in having("ended") else None
            for status, until, by, parents in db.execute(query, (ns, docid, docid + LEARNT_WITHIN))
            if name in strings_in(parents)
        ]
        ends = [one for one in learnt if one is not None and one.by is not None]
        if ends and len(ends) == len(learnt) and (last := max(ends)).until <= now:
            found[name] = last
    return found


class Outdated(NamedTuple):
    """When the last statement of a message was superseded, microseconds, and by which memory."""

    until: int
    by: str


def derivations(db: Transaction, ns: int) -> Iterator[tuple[str, str]]:
    """Yield (id, ids of its parents as JSON) of every memory derived from others."""
    query = "SELECT id, source_parents FROM memories WHERE ns = ? AND source_parents <> '[]'"
    return iter(db.execute(query, (ns,)))


def enqueue(db: Transaction, row: Row, op: str) -> None:
    """Queue a row for the indexer; one that lacks a vector is queued for that first.

    A superseded one needs a vector too: the turns beside it use it, and it answers for its own
    time. So it gets one no matter how quick the background thread was.
    """
    db.execute(
        "INSERT INTO backlog VALUES (?1, ?2,"
        f" CASE WHEN ?4 AND {_NO_VECTOR} THEN 'embed' ELSE ?3 END)"
        " ON CONFLICT (docid) DO UPDATE SET rev = ?2,"
        " op = CASE WHEN backlog.op = 'embed' AND ?4 THEN backlog.op ELSE excluded.op END",
        (row.docid, row.rev, op, row.status in OWED_VECTOR),
    )


OWED_VECTOR = frozenset(having("owed_vector"))
"""Statuses in which a memory needs a vector."""

_NO_VECTOR = "NOT EXISTS (SELECT 1 FROM embeddings WHERE docid = ?1)"


def record(
    db: Transaction,
    ns: int,
    at: int,
    kind: str,
    docid: int | None,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Append one event."""
    event = (ns, at, str(kind), docid, json.dumps(detail) if detail else None)
    db.execute(
        "INSERT INTO events (ns, at, kind, docid, detail, seal) VALUES (?, ?, ?, ?, ?, ?)",
        (*event, rows.seal_of(*event)),
    )


def redactions(db: Transaction, ns: int) -> Counter[str]:
    """Count the secrets taken out of the memories of a namespace, by kind."""
    query = f"SELECT detail FROM events WHERE ns = ? AND kind = '{Event.REDACTED}'"
    total: Counter[str] = Counter()
    for (detail,) in db.execute(query, (ns,)):
        said = rows.mapping_in(detail)
        total.update({kind: count for kind, count in said.items() if isinstance(count, int)})
    return total


def next_rev(db: Transaction, ns: int) -> int:
    """Return the revision that the next change of a namespace takes. Inside a transaction."""
    return latest_rev(db, ns) + 1


def newest_short(db: Transaction, ns: int, session: str | None, limit: int) -> list[Row]:
    """Return the newest turns of a session's ring, newest first."""
    where = (
        f"ns = ? AND {_SAME_SESSION} AND tier = 'short' AND {_IN_RING} ORDER BY docid DESC LIMIT ?"
    )
    return list(rows.select(db, where, (ns, session, limit)))


def next_turn(db: Transaction, turn: Row) -> Row | None:
    """Return the turn of the same session that came next, or None."""
    if turn.session is None:
        return None
    where = (
        f"ns = ? AND {_SAME_SESSION} AND docid > ? AND role IS NOT NULL"
        f" AND {NOT_ERASED} ORDER BY docid LIMIT 1"
    )
    return first(db, where, (turn.ns, turn.session, turn.docid))


def latest_rev(db: Transaction, ns: int) -> int:
    """Return the newest revision of a namespace; 0 if nothing is in it."""
    low = ns << SEQ_BITS
    found = db.execute(f"SELECT {rows.LATEST}", (low, low | SEQ_MASK, ns)).fetchone()
    return rows.rev_of(low, *found)


def erased_at(db: Transaction, ns: int) -> int:
    """Return the newest revision at which something was erased from a namespace; 0 for never."""
    return int(single(db, "SELECT max(rev) FROM erased WHERE ns = ?", (ns,)) or 0)
