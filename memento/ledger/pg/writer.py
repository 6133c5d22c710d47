"""Group commit on the server, and what became of a commit whose answer was lost.

A group is one transaction. It begins with the lock of the store, which is the server's own and ends
with the transaction, so that it works behind a pooler and no crash leaves it. What was committed is
counted in one of the rows of ``written``, by which others see that something changed; the count is
the last statement, so that nobody waits for it longer than a commit takes.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg import errors

from memento.errors import CommitUnknown, StoreClosed, StoreError
from memento.ledger.group import Group, GroupCommit, Ticket
from memento.ledger.pg.connect import Error, Lost, PgSession, explain

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

T = TypeVar("T")

SLOTS = 64
"""Rows of ``written``: as many processes count what they commit without waiting for each other."""
DOUBT_SECONDS = 30.0
"""Seconds for which the server is asked what became of a commit, before `CommitUnknown`."""
ASKED_EVERY = 0.25
TRIES = 5
"""Times that a group is tried when the server chose it to end a deadlock."""

_BEGIN = "BEGIN; SELECT pg_advisory_xact_lock(hashtext(current_schema()), 0)"
_COUNT = (
    "UPDATE written SET n = n + 1 WHERE slot = $1 AND pg_current_xact_id_if_assigned() IS NOT NULL"
    " RETURNING pg_current_xact_id()::text"
)
_RETRIED = (errors.DeadlockDetected, errors.SerializationFailure)


class PgWriter(GroupCommit):
    """Runs jobs on a connection of the pool, each atomic, several to a commit.

    Args:
        shown: The address without a password, for messages.
        lend: Lends a connection of the pool.
    """

    def __init__(
        self, shown: str, lend: Callable[[], AbstractContextManager[psycopg.Connection[Any]]]
    ) -> None:
        super().__init__(shown)
        self._shown, self._lend = shown, lend
        self._slot = random.randrange(SLOTS)  # noqa: S311 - no secret
        self._looked: dict[int, int] = {}
        self._closed = False

    def close(self) -> None:
        """Let the commit in hand end; later jobs get ``StoreClosed``."""
        with self._lock:
            while self._leader is not None:
                self._turn.wait()
            self._closed = True

    def _in_turn(self, work: Callable[[], T]) -> T:
        if self._closed:
            raise StoreClosed(self._shown)
        return work()

    def _explained(self, error: Exception) -> Exception:
        return explain(self._shown, error) if isinstance(error, Error) else error

    def _transact(self, group: Group) -> None:
        for left in reversed(range(TRIES)):
            try:
                self._try(group)
            except _RETRIED:
                if not left:
                    raise
                for member in group:
                    member.error = None
            else:
                return

    def _try(self, group: Group) -> None:
        with self._lend() as connection:
            transaction = ""
            try:
                connection.execute(_BEGIN)
                session = PgSession(connection, self._looked)
                if len(group) == 1:
                    group[0].run(session)
                else:
                    for member in group:
                        self._run_apart(member, session)
                counted = connection.execute(_COUNT, (self._slot,)).fetchone()
                transaction = counted[0] if counted else ""
                group.sent = True
                connection.execute("COMMIT")
                group.kept = True
            except Lost as error:
                group.sent = group.sent and bool(transaction)
                if not (group.sent and _is_lost(connection)):
                    _end(connection)
                    raise
                self._settle(group, transaction, error)
            except BaseException:  # also an interruption: no transaction stays open
                _end(connection)
                raise

    def _run_apart(self, member: Ticket[object], session: PgSession) -> None:
        """Run one job of several so that its failure undoes its own changes only."""
        execute = session.connection.execute
        execute("SAVEPOINT job")
        try:
            member.run(session)
        except Exception as error:  # a job may raise anything; its caller gets it
            if _is_lost(session.connection) or isinstance(error, _RETRIED):
                raise
            execute("ROLLBACK TO job")
            member.error = self._explained(error)
        execute("RELEASE job")

    def _settle(self, group: Group, transaction: str, error: Exception) -> None:
        """Ask the server what became of a commit whose answer did not come."""
        until = time.monotonic() + DOUBT_SECONDS
        while time.monotonic() < until:
            with suppress(*Error), self._lend() as connection:
                query = "SELECT pg_xact_status($1::text::xid8)"
                (status,) = connection.execute(query, (transaction,)).fetchone() or (None,)
                if status == "committed":
                    group.kept = True
                    return
                if status == "aborted":
                    group.sent = False
                    raise StoreError(
                        self._shown, "the server went away before the commit; nothing was written"
                    ) from error
            time.sleep(ASKED_EVERY)
        raise CommitUnknown(self._shown, transaction) from error


def _is_lost(connection: psycopg.Connection[Any]) -> bool:
    return connection.closed or connection.broken


def _end(connection: psycopg.Connection[Any]) -> None:
    """Undo what is open; a connection that cannot is closed, and the pool makes another."""
    try:
        connection.rollback()
    except Error:
        connection.close()
