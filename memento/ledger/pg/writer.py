"""Group commit on the server, and the check of a commit whose answer was lost.

A group is one transaction. It begins by locking what it may change: the rows of its namespaces, in
order, and the store shared; or the whole store, if one of its jobs names none. These locks are the
server's own and end with the transaction, so that they work behind a pooler and no crash leaves
them. Each commit is counted in one of the rows of ``written``, by which others see that something
changed; the count is sent with the commit, so that nobody waits for it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg import errors

from memento.errors import CommitUnknown, StoreClosed, StoreError
from memento.ledger.group import MAX_GROUP, Group, GroupCommit
from memento.ledger.pg.connect import BY_INDEX, Error, Lost, PgTransaction, explain

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

T = TypeVar("T")

SLOTS = 64
"""Number of rows of ``written``, so that processes seldom wait for each other to count a commit."""
DOUBT_SECONDS = 30.0
"""Seconds for which the server is asked what became of a commit, before `CommitUnknown`."""
ASKED_EVERY = 0.25
TRIES = 5
"""How often a group is tried if the server aborts it to end a deadlock."""

DURABLE = (
    "SELECT set_config('synchronous_commit', 'on', true)"
    " WHERE current_setting('synchronous_commit') = 'off'"
)
"""Even if a role or a database was reconfigured since the store was opened."""
_NAMED = f"SELECT set_config('memento.spaces', '{{{{{{}}}}}}', true), {BY_INDEX}"
_NUMBER = "SELECT pg_current_xact_id()::text"
_WHOLE = "SELECT pg_advisory_xact_lock(hashtext(current_schema()), 0)"
_SHARED = "SELECT pg_advisory_xact_lock_shared(hashtext(current_schema()), 0)"
_SPACES = (
    "SELECT ns, fts_upto FROM namespaces WHERE ns = ANY ('{{{}}}') ORDER BY ns FOR NO KEY UPDATE"
)
_ASSIGNED = "SELECT pg_current_xact_id_if_assigned()::text"
_COUNT_AND_COMMIT = "UPDATE written SET n = n + 1 WHERE slot = {}; COMMIT"
_RETRIED = (errors.DeadlockDetected, errors.SerializationFailure)


class PgWriter(GroupCommit):
    """Runs jobs on a connection of the pool, each atomic, several to a commit.

    Args:
        shown: The address without a password, for messages.
        lend: Lends a connection of the pool.
        home: See ``connect.at_home``.
    """

    def __init__(
        self,
        shown: str,
        lend: Callable[[], AbstractContextManager[psycopg.Connection[Any]]],
        home: str,
    ) -> None:
        super().__init__(shown)
        self._shown, self._lend = shown, lend
        self._start = f"BEGIN; {home}; {DURABLE}"
        self._closed = False

    def close(self) -> None:
        """Wait for the commit in progress; later jobs get ``StoreClosed``."""
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

    def _is_over(self, session: PgTransaction, error: Exception) -> bool:
        return _is_lost(session.connection) or isinstance(error, _RETRIED)

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
                transaction, upto = self._begin(connection, group.spaces)
                self._take_more(group, upto)
                self._run_jobs(group, PgTransaction(connection, upto))
                transaction = transaction or _number(connection)
                group.sent = bool(transaction)
                slot = random.randrange(SLOTS)  # noqa: S311 - no secret
                connection.execute(_COUNT_AND_COMMIT.format(slot) if transaction else "COMMIT")
                group.kept = True
            except Lost as error:
                if not (group.sent and _is_lost(connection)):
                    _end(connection)
                    raise
                self._settle(group, transaction, error)
            except BaseException:  # also an interruption: no transaction stays open
                _end(connection)
                raise

    def _begin(
        self, connection: psycopg.Connection[Any], spaces: Sequence[int] | None
    ) -> tuple[str, dict[int, int]]:
        """Begin a transaction with its locks.

        Returns:
            The number of the transaction, ``""`` if it locked the whole store; and how far the full
            text is, for each namespace that it locked.
        """
        if spaces is None:
            connection.execute(f"{self._start}; {_WHOLE}")
            return "", {}
        named = ",".join(map(str, spaces))
        locks = f"{_SHARED}; {_NAMED.format(named)}; {_NUMBER}; {_SPACES.format(named)}"
        answer = connection.execute(f"{self._start}; {locks}")
        found: list[list[Any]] = []
        while answer.nextset():
            found.append(answer.fetchall() if answer.description else [])
        ((number,),), locked = found[-2:]
        return number, dict(locked)

    def _take_more(self, group: Group, locked: Collection[int]) -> None:
        """Add jobs that came while the locks were waited for, and need no others."""
        with self._lock:
            while group.grows and self._waiting and len(group) < MAX_GROUP:
                first = self._waiting[0]
                if first.spaces is None or not set(first.spaces) <= set(locked):
                    break
                group.append(first)
                self._waiting.popleft()

    def _settle(self, group: Group, transaction: str, error: Exception) -> None:
        """Ask the server whether a transaction whose answer was lost was committed."""
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
                        self._shown,
                        "the server connection was lost before the commit; nothing was written",
                    ) from error
            time.sleep(ASKED_EVERY)
        raise CommitUnknown(self._shown, transaction) from error


def _number(connection: psycopg.Connection[Any]) -> str:
    """Return the number of a transaction; ``""`` if it changed nothing."""
    (number,) = connection.execute(_ASSIGNED).fetchone() or (None,)
    return number or ""


def _is_lost(connection: psycopg.Connection[Any]) -> bool:
    return connection.closed or connection.broken


def _end(connection: psycopg.Connection[Any]) -> None:
    """Roll back; if that fails, close the connection, and the pool makes another."""
    try:
        connection.rollback()
    except Error:
        connection.close()
