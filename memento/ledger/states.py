"""Earlier states of memories, as whole rows. SQL only; ``memories`` writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from memento import layout
from memento.errors import StoreUnusable
from memento.ledger.contract import Session
from memento.ledger.dialect import one_of
from memento.ledger.rows import (
    STATE,
    Row,
    State,
    damaged,
    docid_range,
    earlier_state,
    is_changed_state,
)


def at_revision(session: Session, row: Row, rev: int) -> Row:
    """Return a memory as it was in its earlier state of a revision, which is there.

    Raises:
        StoreUnusable: If that state is damaged.
    """
    query = f"SELECT {STATE} FROM versions WHERE docid = ? AND rev = ?"
    return past(row, State(*session.execute(query, (row.docid, rev)).fetchone()))


def past(row: Row, state: State) -> Row:
    """Return a memory as it was in an earlier state.

    Raises:
        StoreUnusable: If that state is damaged.
    """
    found = None if is_changed_state(row, state) else earlier_state(row, state)
    if found is None:
        raise StoreUnusable(layout.LEDGER, f"an earlier state of {damaged([row.id])}")
    return found


def at_moment(session: Session, row: Row, moment: int) -> Row | None:
    """Return a memory as it was recorded at a moment, microseconds; None if it was not yet.

    Raises:
        StoreUnusable: If that state is damaged.
    """
    query = f"SELECT {STATE} FROM versions WHERE docid = ? AND until > ? ORDER BY rev LIMIT 1"
    found = session.execute(query, (row.docid, moment)).fetchone()
    then = row if found is None else past(row, State(*found))
    return then if then.created_at <= moment else None


def touched_between(session: Session, ns: int, since: int, until: int) -> list[int]:
    """Return the row ids of the memories that came or changed after a moment, up to another."""
    low, high = docid_range(ns)
    query = (
        "SELECT docid FROM memories WHERE docid BETWEEN ?1 AND ?2"
        " AND created_at > ?3 AND created_at <= ?4"
        " UNION SELECT docid FROM versions WHERE docid BETWEEN ?1 AND ?2"
        " AND until > ?3 AND until <= ?4 ORDER BY docid"
    )
    return [docid for (docid,) in session.execute(query, (low, high, since, until))]


def numbered(session: Session, docid: int) -> list[tuple[State, int | None, str | None]]:
    """Read the earlier states of a memory, oldest first, each with the change that ended it.

    Returns:
        The state, the number of the change, and the class of who made it; None if not known.
    """
    query = (
        f"SELECT {STATE}, versions.change, changes.by FROM versions"
        " LEFT JOIN changes ON changes.change = versions.change WHERE docid = ? ORDER BY rev"
    )
    found = session.execute(query, (docid,)).fetchall()
    return [(State(*one[:-2]), one[-2], one[-1]) for one in found]


def names(session: Session, docids: Sequence[int]) -> dict[int, str]:
    """Return the ids of some memories by row id, in order of arrival."""
    query = f"SELECT docid, id FROM memories WHERE docid {one_of()} ORDER BY docid"
    return dict(session.execute(query, (json.dumps([*docids]),)).fetchall())
