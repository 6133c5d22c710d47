"""Turns whose outcome is still open: the rows of ``loops``. SQL only.

A turn that its process left open is still there for another one, until it expires. Its outcome goes
into the event log, memory by memory; the row is only the list of what was shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memento.ledger.contract import Transaction
from memento.ledger.rows import mapping_in

MOST_SHOWN = 100
"""Maximum number of memories in one turn that share in its outcome; those shown first."""

_KEPT = 86_400_000_000
"""Time, in microseconds, that a closed turn is kept, so that a late outcome is recognised."""
_COLUMNS = "loop, ns, session, opened_at, expires_at, closed_at, shown"


@dataclass(frozen=True, slots=True)
class Turn:
    """One row; it is closed without an outcome from ``expires_at`` on. Times are microseconds.

    ``shown`` maps the ids of memories to their best rank in an answer of the turn, >= 1.
    """

    id: str
    ns: int
    session: str | None
    opened_at: int
    expires_at: int
    closed_at: int | None
    shown: Mapping[str, int]


def insert(db: Transaction, turn: Turn) -> None:
    """Add a turn."""
    values = (turn.id, turn.ns, turn.session, turn.opened_at, turn.expires_at)
    db.execute(f"INSERT INTO loops ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, NULL, '{{}}')", values)


def find(db: Transaction, ns: int, loop: str) -> Turn | None:
    """Read a turn of a namespace; None if it has none of that id."""
    query = f"SELECT {_COLUMNS} FROM loops WHERE loop = ? AND ns = ?"
    found = db.execute(query, (loop, ns)).fetchone()
    if found is None:
        return None
    ranks = {one: rank for one, rank in mapping_in(found[-1]).items() if type(rank) is int}
    loop, number, name, opened_at, expires_at, closed_at, _ = found
    return Turn(loop, number, name, opened_at, expires_at, closed_at, ranks)


def show(db: Transaction, turn: Turn, ids: Sequence[str]) -> None:
    """Note which memories an answer of a turn showed, best first."""
    shown = dict(turn.shown)
    for rank, one in enumerate(ids, start=1):
        if one in shown or len(shown) < MOST_SHOWN:
            shown[one] = min(rank, shown.get(one, rank))
    _set_shown(db, turn.id, shown)


def close(db: Transaction, turn: Turn, at: int, outcome: float | None) -> None:
    """Close a turn; its session and what it showed are needed no longer."""
    query = (
        "UPDATE loops SET closed_at = ?, outcome = ?, shown = '{}', session = NULL WHERE loop = ?"
    )
    db.execute(query, (at, outcome, turn.id))


def expire(db: Transaction, ns: int, now: int) -> int:
    """Close the turns of a namespace that expired; returns how many. Drop those closed long ago."""
    db.execute("DELETE FROM loops WHERE ns = ? AND closed_at < ?", (ns, now - _KEPT))
    query = (
        "UPDATE loops SET closed_at = expires_at, shown = '{}', session = NULL"
        " WHERE ns = ? AND closed_at IS NULL AND expires_at <= ?"
    )
    return db.execute(query, (ns, now)).rowcount


def forget(db: Transaction, ns: int, ids: Iterable[str]) -> int:
    """Take erased memories out of all turns of a namespace; returns how many turns named one."""
    gone, changed = frozenset(ids), 0
    query = "SELECT loop, shown FROM loops WHERE ns = ? AND shown <> '{}'"
    for loop, shown in db.execute(query, (ns,)).fetchall():
        ranks = mapping_in(shown)
        left = {one: rank for one, rank in ranks.items() if one not in gone}
        if left != ranks or not ranks:
            _set_shown(db, loop, left)
            changed += 1
    return changed


def forget_session(db: Transaction, ns: int, name: str | None) -> int:
    """Take the name of a session, or every name (None), out of the open turns; returns how many."""
    query = "UPDATE loops SET session = NULL WHERE ns = ? AND session = coalesce(?, session)"
    return db.execute(query, (ns, name)).rowcount


def set_back_to(db: Transaction, moment: int) -> None:
    """Undo what happened to turns after a moment; those closed since do not open again."""
    db.execute("DELETE FROM loops WHERE opened_at > ?", (moment,))


def _set_shown(db: Transaction, loop: str, shown: Mapping[str, int]) -> None:
    db.execute("UPDATE loops SET shown = ? WHERE loop = ?", (json.dumps(shown), loop))
