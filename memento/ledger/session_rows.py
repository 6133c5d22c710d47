"""The rows of sessions and of their checkpoints. SQL only; the rules are in ``lifecycle.sessions``.

A row that is not as it was written is left out of every answer; ``doctor`` reports it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memento.ledger import erasure, loop_rows
from memento.ledger.contract import Session
from memento.ledger.dialect import SKIP_IF_THERE, or_replace
from memento.ledger.erasure import Chosen
from memento.ledger.rows import seal_of
from memento.ledger.schema import SEQ_MASK

MOVED = 1_000_000
"""Microseconds after which a write of a session moves ``touched`` again: what follows within a
second would only make each ``add`` write one more page."""


@dataclass(frozen=True, slots=True)
class Begun:
    """The row of a session, fields in the order of its columns but for the seal.

    Attributes:
        ns: Namespace number.
        id: Name of the session, the ``session`` of its memories.
        scope: Where it applies; ``""`` is everywhere.
        goal: The task, or None.
        started: When it began, microseconds.
        touched: When it was last written to, microseconds, to the second.
        ended: When it ended, microseconds; None if it has not.
        outcome: How it ended, or None.
        owner: Who works on it, see ``lifecycle.owners``; ``""`` for nobody.
        epoch: How often its policy was made again.
        head: What its policy holds fixed, as JSON; None before the first policy.
    """

    ns: int
    id: str
    scope: str
    goal: str | None
    started: int
    touched: int
    ended: int | None
    outcome: str | None
    owner: str
    epoch: int
    head: str | None

    def values(self) -> tuple[Any, ...]:
        """Return the values in the order of the columns, the seal last."""
        fixed = (self.ns, self.id, self.scope, self.goal, self.started)
        rest = (self.ended, self.outcome, self.owner, self.epoch, self.head)
        return (*fixed, self.touched, *rest, seal_of(*fixed, *rest))


@dataclass(frozen=True, slots=True)
class Noted:
    """The row of a checkpoint, fields in the order of its columns but for the seal.

    Attributes:
        ns: Namespace number.
        session: Name of the session.
        number: Number in the session, from 1.
        at: When, microseconds.
        rev: Newest revision of the namespace when it was made.
        body: What it says, as JSON.
    """

    ns: int
    session: str
    number: int
    at: int
    rev: int
    body: str

    def values(self) -> tuple[Any, ...]:
        """Return the values in the order of the columns, the seal last."""
        values = (self.ns, self.session, self.number, self.at, self.rev, self.body)
        return (*values, seal_of(*values))


_SESSIONS = "ns, id, scope, goal, started, touched, ended, outcome, owner, epoch, head, seal"
_CHECKPOINTS = "ns, session, number, at, rev, body, seal"
_SELECT = f"SELECT {_SESSIONS} FROM sessions"
_SELECT_NOTED = f"SELECT {_CHECKPOINTS} FROM checkpoints"
_CHANGED = tuple(name for name in _SESSIONS.split(", ") if name not in ("ns", "id"))
_PUT = (
    f"INSERT INTO sessions ({_SESSIONS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    f" {or_replace('ns, id', *_CHANGED)}"
)


def whole(values: Sequence[Any]) -> Begun | None:
    """Make a session of the values of its row; None if it is not as it was written."""
    made = Begun(*values[:-1])
    sound = made.values() == tuple(values) and isinstance(made.touched, int)
    return made if sound else None


def whole_checkpoint(values: Sequence[Any]) -> Noted | None:
    """Make a checkpoint of the values of its row; None if it is not as it was written."""
    made = Noted(*values[:-1])
    return made if made.values() == tuple(values) else None


def put(db: Session, one: Begun) -> None:
    """Write the row of a session, new or changed. Inside a transaction."""
    db.execute(_PUT, one.values())


def find(db: Session, ns: int, session: str) -> Begun | None:
    """Read a session; None if nobody began it."""
    found = db.execute(f"{_SELECT} WHERE ns = ? AND id = ?", (ns, session)).fetchone()
    return None if found is None else whole(found)


def newest(db: Session, ns: int, *, open_only: bool = False) -> Iterator[Begun]:
    """Yield the sessions of a namespace, the one written to last first, each read when due.

    Args:
        db: Of any job.
        ns: Namespace number.
        open_only: Leave out those that have ended.
    """
    ended = " AND ended IS NULL" if open_only else ""
    query = f"SELECT id FROM sessions WHERE ns = ?{ended} ORDER BY touched DESC, id"
    names = db.execute(query, (ns,)).fetchall()
    yield from (one for (name,) in names if (one := find(db, ns, name)) is not None)


def touch(db: Session, ns: int, sessions: Iterable[str | None], now: int) -> None:
    """Note that sessions are written to; those that nobody began have no row. In a transaction."""
    for session in sessions:
        if session is not None:
            db.execute(
                "UPDATE sessions SET touched = ? WHERE ns = ? AND id = ? AND touched < ?",
                (now, ns, session, now - MOVED),
            )


def put_checkpoint(db: Session, one: Noted, keep: int) -> Noted:
    """Write the next checkpoint of a session, and remove all but the newest ones.

    Args:
        db: Inside a transaction.
        one: The checkpoint; its number is given here.
        keep: How many the session keeps, >= 1.
    """
    query = "SELECT ifnull(max(number), 0) + 1 FROM checkpoints WHERE ns = ? AND session = ?"
    (number,) = db.execute(query, (one.ns, one.session)).fetchone()
    made = replace(one, number=number)
    insert_checkpoint(db, made)
    query = "DELETE FROM checkpoints WHERE ns = ? AND session = ? AND number <= ?"
    db.execute(query, (one.ns, one.session, number - keep))
    return made


def insert_checkpoint(db: Session, one: Noted) -> None:
    """Write a checkpoint under the number that it has, unless there is one."""
    db.execute(
        f"INSERT INTO checkpoints ({_CHECKPOINTS}) VALUES (?, ?, ?, ?, ?, ?, ?) {SKIP_IF_THERE}",
        one.values(),
    )


def checkpoints(db: Session, ns: int, session: str, limit: int) -> list[Noted]:
    """Read checkpoints of a session, the newest first."""
    query = f"{_SELECT_NOTED} WHERE ns = ? AND session = ? ORDER BY number DESC LIMIT ?"
    found = db.execute(query, (ns, session, limit)).fetchall()
    return [one for one in map(whole_checkpoint, found) if one is not None]


def seq_at(db: Session, ns: int, session: str, moment: int) -> int:
    """Return the number of the newest memory of a session that was stored by a moment; 0 if none.

    Args:
        db: Of any job.
        ns: Namespace number.
        session: Name of the session.
        moment: Microseconds.
    """
    query = "SELECT max(docid) FROM memories WHERE ns = ? AND session = ? AND created_at <= ?"
    (newest_of_them,) = db.execute(query, (ns, session, moment)).fetchone()
    return (newest_of_them or 0) & SEQ_MASK


def changed(db: Session) -> tuple[int, int]:
    """Count the sessions, and the checkpoints, that are not as they were written."""
    begun = db.execute(_SELECT)
    wrong = sum(whole(values) is None for values in begun)
    noted = db.execute(_SELECT_NOTED)
    return wrong, sum(whole_checkpoint(values) is None for values in noted)


def drop(db: Session, ns: int, what: Chosen) -> dict[str, int]:
    """Remove the sessions that are erased; no other session keeps its fixed policy.

    No open turn keeps the name of an erased session. The fixed part of a policy quotes memories,
    and any of them may be among the erased ones.

    Args:
        db: Inside a transaction.
        ns: Namespace number.
        what: Which memories are erased; with all of a session the session itself goes.

    Returns:
        How many rows were removed, by table.
    """
    counts = {"sessions": 0, "checkpoints": 0}
    query = f"{_SELECT} WHERE ns = ? AND head IS NOT NULL"
    for values in db.execute(query, (ns,)).fetchall():
        one = Begun(*values[:-1])
        put(db, replace(one, head=None, epoch=one.epoch + 1))
    for table, column in (("sessions", "id"), ("checkpoints", "session")):
        if what.everything:
            done = db.execute(f"DELETE FROM {table} WHERE ns = ?", (ns,))
        elif what.session is not None:
            query = f"DELETE FROM {table} WHERE ns = ? AND {column} = ?"
            done = db.execute(query, (ns, what.session))
        else:
            continue
        counts[table] = done.rowcount
    named = 0
    if what.everything or what.session is not None:
        named = loop_rows.forget_session(db, ns, what.session)
    if named or any(counts.values()):
        erasure.owe(db, erasure.PARTS)
    return counts


def set_back_to(db: Session, moment: int) -> None:
    """Undo what happened to sessions after a moment, microseconds.

    The owner of a session is not known any more, and a policy is made again when it is asked for.
    """
    for table, column in (("sessions", "started"), ("checkpoints", "at")):
        db.execute(f"DELETE FROM {table} WHERE {column} > ?", (moment,))
    for values in db.execute(_SELECT).fetchall():
        one = whole(values)
        if one is not None:
            over = one.ended is not None and one.ended <= moment
            put(
                db,
                replace(
                    one,
                    touched=min(one.touched, moment),
                    ended=one.ended if over else None,
                    outcome=one.outcome if over else None,
                    owner="",
                    head=None,
                ),
            )
