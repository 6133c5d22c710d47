"""Changes: each call that ended a state of a memory, numbered; see ``write.undo`` for the rules.

A write that ends a state takes a number, which the state keeps. At the end of its transaction the
write becomes one row of ``changes``, with the revisions that it took. A plain ``add``, a repeat
that brings nothing new, a later expiry and an overflow of the ring end no state, so they write
nothing here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from memento.ledger import links, memories, past, quotes
from memento.ledger.contract import Transaction, Work
from memento.ledger.dialect import SKIP_IF_THERE
from memento.ledger.rows import Row, Table, column, docid_of, docid_range, mapping_in, single
from memento.ledger.schema import SEQ_MASK
from memento.types import Event, Reason, Trust


@dataclass(frozen=True, slots=True)
class Recorded:
    """One row of ``changes``.

    ``change`` is its key, made of the namespace and the number in it (see ``number_of``), so that
    no namespace can count the changes of others. ``run`` is the first change of a call that made
    several, ``kind`` the verb, ``by`` who called it. It took the revisions from ``rev_from`` to
    ``rev_to``; ``rev_to`` is one less than ``rev_from`` if it ended no state, but wrote events that
    undo takes back.
    """

    change: int
    ns: int
    run: int | None
    at: int
    kind: str
    by: str
    rev_from: int
    rev_to: int
    undone_by: int | None
    undoes: int | None


@dataclass(frozen=True, slots=True)
class Ended:
    """The states of one memory that a change ended, by their first and last revision.

    The first one is the state before the change.
    """

    docid: int
    before: int
    last: int


CHANGE = "change"
"""Key in the detail of an event: the number of the change that wrote it, which undo looks for."""
CHANGES = Table("changes", Recorded, ("change",))


def number_of(change: int) -> int:
    """Return the number of a change in its namespace, from 1 in the order they were made."""
    return change & SEQ_MASK


def begin(work: Work) -> int:
    """Make a write a change, unless it is one already; return the key of the change."""
    trace = work.trace
    if trace.number is None:
        low, high = docid_range(work.ns)
        query = "SELECT coalesce(max(change), ?) + 1 FROM changes WHERE change BETWEEN ? AND ?"
        trace.number = int(single(work.db, query, (low, low, high)))
        if trace.first is None:
            trace.first = memories.next_rev(work.db, work.ns)
    return trace.number


def comes_with(work: Work) -> None:
    """Include what is inserted from here on in the change, if the write becomes one."""
    if work.trace.first is None:
        work.trace.first = memories.next_rev(work.db, work.ns)


def keep_version(work: Work, row: Row, reason: Reason) -> None:
    """Store the present state of a row before this change ends it."""
    memories.keep_version(work.db, row, reason, work.now, begin(work))


def revise(work: Work, row: Row, changes: Mapping[str, Any], reason: Reason) -> Row:
    """Change columns of a row and keep its earlier state; see ``memories.revise``."""
    return memories.revise(work.db, row, changes, reason, begin(work))


def link(work: Work, src: int, dst: int, relation: str, weight: float = 1.0) -> None:
    """Link two memories; linking them again changes nothing."""
    if links.link(work.db, src, dst, relation, weight):
        _note_link(work, src, dst, relation, weight, made=True)


def unlink(work: Work, src: int, dst: int, relation: str) -> None:
    """Remove a link between two memories, if there is one."""
    weight = links.unlink(work.db, src, dst, relation)
    if weight is not None:
        _note_link(work, src, dst, relation, weight, made=False)


def _note_link(work: Work, src: int, dst: int, relation: str, weight: float, *, made: bool) -> None:
    """Note that a change made or removed a link; a write that is no change needs no note."""
    if work.trace.number is None:
        return
    work.db.execute(
        f"INSERT INTO changed_links VALUES (?, ?, ?, ?, ?, ?) {SKIP_IF_THERE}",
        (work.trace.number, src, dst, relation, weight, int(made)),
    )


def finish(
    work: Work,
    kind: str,
    by: str = Trust.USER,
    *,
    run: int | None = None,
    begins_run: bool = False,
    undoes: int | None = None,
) -> int | None:
    """Store the change that a write made and return its key; None if it made none.

    An article that quotes what the change altered is withdrawn by it, see ``quotes``. If a call
    makes several changes, the first one ``begins_run``, and its key is the ``run`` of the others.
    """
    trace = work.trace
    if trace.number is None or trace.first is None:
        return None
    quotes.withdraw_outdated(work)
    made = Recorded(
        change=trace.number,
        ns=work.ns,
        run=trace.number if begins_run and run is None else run,
        at=work.now,
        kind=kind,
        by=str(by),
        rev_from=trace.first,
        rev_to=memories.latest_rev(work.db, work.ns),
        undone_by=None,
        undoes=undoes,
    )
    CHANGES.put(work.db, made)
    return made.change


def find(db: Transaction, ns: int, number: int) -> Recorded | None:
    """Read a change of a namespace; None if it has none of that number, or it is damaged."""
    return CHANGES.find(db, "WHERE change = ? AND ns = ?", (number, ns))


def of_run(db: Transaction, ns: int, run: int) -> list[Recorded]:
    """Read the changes of a run, the newest first; damaged ones are left out."""
    return list(CHANGES.select(db, "WHERE run = ? AND ns = ? ORDER BY change DESC", (run, ns)))


def listed(
    db: Transaction,
    ns: int,
    *,
    since: int | None,
    docid: int | None,
    run: int | None,
    before: int,
    limit: int,
) -> list[Recorded]:
    """Read changes of a namespace before one, the newest first; damaged ones are left out."""
    rest = (
        "WHERE ns = ?1 AND change < ?7 AND at >= coalesce(?2, at) AND (run = ?3 OR ?3 IS NULL)"
        " AND (change IN (SELECT change FROM versions WHERE docid = ?4)"
        " OR ?4 - ?5 BETWEEN rev_from AND rev_to OR ?4 IS NULL) ORDER BY change DESC LIMIT ?6"
    )
    return list(CHANGES.select(db, rest, (ns, since, run, docid, docid_of(ns, 0), limit, before)))


def ended(db: Transaction, number: int) -> list[Ended]:
    """Return which states a change ended, in order of the arrival of the memories."""
    query = (
        "SELECT docid, min(rev), max(rev) FROM versions WHERE change = ?"
        f" AND {memories.NOT_ERASED} GROUP BY docid ORDER BY docid"
    )
    return [Ended(*found) for found in db.execute(query, (number,))]


def brought(db: Transaction, one: Recorded) -> list[int]:
    """Return the row ids of the memories that a change added, as far as they still exist."""
    low, high = docid_of(one.ns, one.rev_from), docid_of(one.ns, one.rev_to)
    where = f"docid BETWEEN ? AND ? AND {memories.NOT_ERASED} ORDER BY docid"
    return column(db, f"SELECT docid FROM memories WHERE {where}", (low, high))


def ids_of(db: Transaction, one: Recorded) -> tuple[list[str], list[str]]:
    """Return the ids of the memories that a change altered, and of those that it added."""
    docids = brought(db, one)
    new = past.names(db, docids)
    altered = [found.docid for found in ended(db, one.change) if found.docid not in new]
    old = past.names(db, altered)
    return [old[docid] for docid in altered if docid in old], [*new.values()]


def later(db: Transaction, docid: int, rev: int) -> list[tuple[int | None, int | None]]:
    """Return (change, what it undid) of each state of a memory that ended after a revision."""
    found = db.execute(f"SELECT change, undoes {_AFTER}", (docid, rev))
    return list(dict.fromkeys((number, undoes) for number, undoes in found))


_AFTER = "FROM versions LEFT JOIN changes USING (change) WHERE docid = ? AND rev > ? ORDER BY rev"


def is_written_over(db: Transaction, one: Recorded, row: Row, rev: int) -> bool:
    """Return whether a write that is no change altered a memory since a state of it ended."""
    found = db.execute(f"SELECT rev, rev_to {_AFTER}", (row.docid, rev)).fetchall()
    revs = [*(made for made, _ in found), row.rev]
    made_by = [one.rev_to, *(last for _, last in found)]
    return any(last is None or made > last for made, last in zip(revs, made_by, strict=True))


def set_expiry(db: Transaction, one: Recorded, docid: int) -> bool:
    """Return whether a change set the expiry of a memory."""
    if Reason.REPLACED in reasons(db, one.change, docid):
        return True
    query = "SELECT detail FROM events WHERE docid = ? AND at = ? AND kind IN (?, ?)"
    found = db.execute(query, (docid, one.at, Event.UPDATED, Event.MERGED))
    return any("expires_at" in mapping_in(detail or "{}").get("fields", []) for (detail,) in found)


def latest_of(db: Transaction, docid: int) -> int | None:
    """Return the number of the last change of a memory; None if it has none."""
    query = "SELECT change FROM versions WHERE docid = ? ORDER BY rev DESC LIMIT 1"
    number: int | None = single(db, query, (docid,))
    return number


def reasons(db: Transaction, number: int, docid: int) -> set[str]:
    """Return the reasons for which a change ended states of a memory."""
    query = "SELECT reason FROM versions WHERE change = ? AND docid = ?"
    return set(column(db, query, (number, docid)))


def changed_links(db: Transaction, number: int) -> list[tuple[int, int, str, float, bool]]:
    """Return the links that a change made or removed: from, to, relation, weight, whether made."""
    query = "SELECT src, dst, relation, weight, made FROM changed_links WHERE change = ?"
    found = db.execute(f"{query} ORDER BY src, relation, dst", (number,))
    return [(src, dst, relation, weight, bool(made)) for src, dst, relation, weight, made in found]


def mark_undone(db: Transaction, one: Recorded, by: int | None) -> None:
    """Note which change undid another one; None if the undoing was itself undone."""
    CHANGES.put(db, replace(one, undone_by=by))


def set_back_to(db: Transaction, moment: int) -> None:
    """Delete all changes later than a moment, microseconds, and every reference to them."""
    db.execute("DELETE FROM changes WHERE at > ?", (moment,))
    db.execute("DELETE FROM changed_links WHERE change NOT IN (SELECT change FROM changes)")
    for one in CHANGES.select(db, "WHERE undone_by NOT IN (SELECT change FROM changes)"):
        mark_undone(db, one, None)
