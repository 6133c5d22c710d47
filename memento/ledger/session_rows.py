"""The rows of sessions and of their checkpoints; the rules are in ``write.session_marks``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from memento.ledger import erasure, loop_rows
from memento.ledger.contract import Transaction
from memento.ledger.erasure import Chosen
from memento.ledger.rows import Table
from memento.ledger.schema import SEQ_MASK

MOVED = 1_000_000
"""Microseconds after which a write of a session moves ``touched`` again: within a second it would
only make each ``add`` write one more page."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A session; its ``id`` is the ``session`` of its memories. Times are microseconds.

    Attributes:
        scope: Scope in which it applies; ``""`` means everywhere.
        goal: The task, or None.
        touched: When it was last written to, to the second.
        outcome: How it ended, or None.
        owner: Who works on it; ``""`` for nobody.
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


@dataclass(frozen=True, slots=True)
class Noted:
    """A checkpoint of a session, numbered from 1; ``body`` is what it says, as JSON.

    ``rev`` is the newest revision of the namespace when it was made.
    """

    ns: int
    session: str
    number: int
    at: int
    rev: int
    body: str


SESSIONS = Table("sessions", Begun, ("ns", "id"), unsealed="touched")
CHECKPOINTS = Table("checkpoints", Noted, ("ns", "session", "number"))
put = SESSIONS.put
whole, whole_checkpoint = SESSIONS.whole, CHECKPOINTS.whole


def find(db: Transaction, ns: int, session: str) -> Begun | None:
    """Read a session; None if nobody began it."""
    return SESSIONS.find(db, "WHERE ns = ? AND id = ?", (ns, session))


def newest(db: Transaction, ns: int, *, open_only: bool = False) -> Iterator[Begun]:
    """Yield the sessions of a namespace, the one written to last first, each read lazily."""
    ended = " AND ended IS NULL" if open_only else ""
    query = f"SELECT id FROM sessions WHERE ns = ?{ended} ORDER BY touched DESC, id"
    names = db.execute(query, (ns,)).fetchall()
    yield from (one for (name,) in names if (one := find(db, ns, name)) is not None)


def touch(db: Transaction, ns: int, sessions: Iterable[str], now: int) -> None:
    """Note that sessions were written to, if they have a row. In a transaction."""
    query = "UPDATE sessions SET touched = ? WHERE ns = ? AND id = ? AND touched < ?"
    for session in sessions:
        db.execute(query, (now, ns, session, now - MOVED))


def put_checkpoint(db: Transaction, one: Noted, keep: int) -> Noted:
    """Write a checkpoint under the next number of its session, and keep only the newest ones."""
    query = "SELECT coalesce(max(number), 0) + 1 FROM checkpoints WHERE ns = ? AND session = ?"
    (number,) = db.execute(query, (one.ns, one.session)).fetchone()
    made = replace(one, number=number)
    insert_checkpoint(db, made)
    query = "DELETE FROM checkpoints WHERE ns = ? AND session = ? AND number <= ?"
    db.execute(query, (one.ns, one.session, number - keep))
    return made


insert_checkpoint = CHECKPOINTS.add


def checkpoints(db: Transaction, ns: int, session: str, limit: int) -> list[Noted]:
    """Read checkpoints of a session, the newest first."""
    rest = "WHERE ns = ? AND session = ? ORDER BY number DESC LIMIT ?"
    return list(CHECKPOINTS.select(db, rest, (ns, session, limit)))


def seq_at(db: Transaction, ns: int, session: str, moment: int) -> int:
    """Return the number of the newest memory of a session stored by a moment; 0 if none."""
    query = "SELECT max(docid) FROM memories WHERE ns = ? AND session = ? AND created_at <= ?"
    (newest_of_them,) = db.execute(query, (ns, session, moment)).fetchone()
    return (newest_of_them or 0) & SEQ_MASK


def drop(db: Transaction, ns: int, what: Chosen) -> dict[str, int]:
    """Remove the sessions that are erased with their memories; return how many rows, by table.

    No open turn keeps the name of an erased session. No other session keeps the fixed part of its
    policy: it quotes memories, and any of them may be among the erased ones.
    """
    counts = {"sessions": 0, "checkpoints": 0}
    query = f"{SESSIONS.query} WHERE ns = ? AND head IS NOT NULL"
    for values in db.execute(query, (ns,)).fetchall():  # damaged ones too
        one = Begun(*values[:-1])
        put(db, replace(one, head=None, epoch=one.epoch + 1))
    if not what.everything and what.session is None:
        return counts
    for table, column in (("sessions", "id"), ("checkpoints", "session")):
        query = f"DELETE FROM {table} WHERE ns = ? AND {column} = coalesce(?, {column})"
        counts[table] = db.execute(query, (ns, what.session)).rowcount
    if loop_rows.forget_session(db, ns, what.session) or any(counts.values()):
        erasure.owe(db, erasure.PARTS)
    return counts


def set_back_to(db: Transaction, moment: int) -> None:
    """Undo what happened to sessions after a moment; clear their owners and fixed policies."""
    for table, column in (("sessions", "started"), ("checkpoints", "at")):
        db.execute(f"DELETE FROM {table} WHERE {column} > ?", (moment,))
    for one in SESSIONS.select(db):
        over = one.ended is not None and one.ended <= moment
        then = replace(one, touched=min(one.touched, moment), owner="", head=None)
        put(db, then if over else replace(then, ended=None, outcome=None))
