"""One writer a process, behind group commit: the first to come commits for those who wait.

Between processes the gate lets them take turns.

An uncontended write runs in its caller's own thread, since every hand-over to another thread
costs a scheduler tick. When several threads write, whoever leads takes all that wait into one
transaction and one fsync.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from memento.errors import StoreClosed, StoreError
from memento.ledger.gate import Gate
from memento.ledger.sqlite import Connection, Error, explain, translated

T = TypeVar("T")

MAX_GROUP = 256
"""Most jobs in one commit; bounds how long the first of them waits."""


class _Ticket(Generic[T]):
    """A job in the queue and what became of it."""

    __slots__ = ("done", "error", "job", "result")

    def __init__(self, job: Callable[[Connection], T]) -> None:
        self.job = job
        self.result: T | None = None
        self.error: BaseException | None = None
        self.done = False

    def run(self, connection: Connection) -> None:
        self.result = self.job(connection)

    def answer(self) -> T:
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]  # set by run() before done


class Writer:
    """Runs jobs on the one writing connection, each atomic, several to a commit.

    Args:
        path: Ledger file, for error messages.
        connection: The writing connection; nobody else may use it.
        gate: Where writers of several processes queue; closed with the connection.
    """

    def __init__(self, path: Path, connection: Connection, gate: Gate) -> None:
        self._path = path
        self._gate = gate
        self._connection = connection
        self._turn = threading.Condition()
        self._waiting: deque[_Ticket[object]] = deque()
        self._leading = False
        self._closed = False

    def run(self, job: Callable[[Connection], T]) -> T:
        """Run a job inside a transaction and return when it is on the disk.

        Args:
            job: Called with the connection inside ``BEGIN IMMEDIATE``. It may run in
                another caller's thread and must not commit. If it raises, its changes
                alone are undone.

        Returns:
            What the job returned.

        Raises:
            StoreClosed: If it was closed before the job's turn came.
            StoreError: If the disk or another process stood in the way; nothing was written.
        """
        ticket = _Ticket(job)
        with self._turn:
            self._waiting.append(ticket)  # type: ignore[arg-type]  # a queue of tickets of any type
        while True:
            with self._turn:
                while self._leading and not ticket.done:
                    self._turn.wait()
                if ticket.done:
                    return ticket.answer()
                self._leading = True
                group = [self._waiting.popleft() for _ in range(min(len(self._waiting), MAX_GROUP))]
            self._lead(group)

    def close(self) -> None:
        """Close the connection; SQLite folds the write-ahead log into the file.

        Jobs still waiting, and later ones, get ``StoreClosed``.
        """
        with self._turn:
            while self._leading:
                self._turn.wait()
            if not self._closed:
                self._closed = True
                self._connection.close()
                self._gate.close()

    def forget(self) -> None:
        """Let go of the gate in a forked child; the connection stays the parent's."""
        self._gate.forget()

    def checkpoint(self) -> None:
        """Fold what it can of the write-ahead log into the file without making anyone wait."""
        self.hold()
        try:
            if not self._closed:
                with translated(self._path):
                    self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        finally:
            self.release()

    def alone(self, job: Callable[[Connection], T]) -> T:
        """Run a job outside any transaction, while no other process has its turn to write.

        Args:
            job: Called with the connection; it makes its own transactions, if any.

        Raises:
            StoreClosed: If it was closed before.
            StoreError: If the disk or another process stood in the way.
        """
        self.hold()
        try:
            if self._closed:
                raise StoreClosed(self._path.parent)
            try:
                self._gate.enter()
                with translated(self._path):
                    return job(self._connection)
            finally:
                self._gate.leave()
        finally:
            self.release()

    def hold(self) -> None:
        """Wait for the commit in hand and let no other begin until ``release``."""
        with self._turn:
            while self._leading:
                self._turn.wait()
            self._leading = True

    def release(self) -> None:
        """Let the next leader go."""
        with self._turn:
            self._leading = False
            self._turn.notify_all()

    def _lead(self, group: list[_Ticket[object]]) -> None:
        """Commit a group, then let the next leader go. Its own job may be in a later group."""
        try:
            self._commit(group)
        finally:
            with self._turn:
                for member in group:
                    member.done = True
                self._leading = False
                self._turn.notify_all()

    def _commit(self, group: list[_Ticket[object]]) -> None:
        """Commit a group; if it fails as a whole, every member learns of it."""
        try:
            self._transact(group)
        except Exception as error:  # noqa: BLE001 - handed to the callers it belongs to
            failure = explain(self._path, error) if isinstance(error, Error) else error
            for member in group:
                member.error = member.error or failure
        except BaseException:
            for member in group:
                member.error = member.error or StoreError(
                    self._path, "the writing thread was interrupted; nothing was written"
                )
            raise

    def _transact(self, group: list[_Ticket[object]]) -> None:
        if self._closed:
            raise StoreClosed(self._path.parent)
        try:
            self._gate.enter()
            self._transact_alone(group)
        finally:
            self._gate.leave()

    def _transact_alone(self, group: list[_Ticket[object]]) -> None:
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        try:
            if len(group) == 1:
                group[0].run(self._connection)
            else:
                for member in group:
                    self._run_apart(member)
            execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                execute("ROLLBACK")
            raise

    def _run_apart(self, member: _Ticket[object]) -> None:
        """Run one job of several so that its failure undoes its own changes only."""
        execute = self._connection.execute
        execute("SAVEPOINT job")
        try:
            member.run(self._connection)
        except Exception as error:
            if not self._connection.in_transaction:  # SQLite gave up on the whole group
                raise
            execute("ROLLBACK TO job")
            member.error = explain(self._path, error) if isinstance(error, Error) else error
        execute("RELEASE job")
