"""One writer a process, behind group commit: the first to come commits for those who wait.

Between processes the gate lets them take turns.

An uncontended write runs in its caller's own thread, since every hand-over to another thread
costs a scheduler tick. When several threads write, one of them takes all that wait into one
transaction and one fsync. The jobs of a background thread are not among them: a caller of ``add``
would carry out the work of that thread, and pay for it.

A signal handler may raise after any call, so nothing that must be undone is left to the statement
after the call that did it: each ``try`` begins first, and what ends it may be done twice. Locks
are held by ``with``, which Python does not interrupt for a lock written in C; a ``Condition`` is
written in Python, and only waits.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Generic, TypeVar

from memento.errors import StoreClosed, StoreError, StoreGone
from memento.ledger.lite.gate import Gate
from memento.ledger.lite.library import Error
from memento.ledger.lite.presence import Presence
from memento.ledger.lite.sqlite import Connection, begin, explain, translated

T = TypeVar("T")

LOG_PAGES = 8192
"""A writer folds the log into the file by itself only past this many pages (32 MiB); the
background thread does it much earlier, so that no ``add`` pays for it."""
LEAST_PAGES = 64
"""As many on a disk that is nearly full."""
ROOM_SHARE = 4
"""The log may grow to one in so many bytes that are free: folding it makes the file grow as much,
and a log that cannot be folded could take nothing more, not even what makes room."""
ROOM_EVERY = 8
"""Commits from one look at the free room to the next; a look takes two microseconds."""
PAGE_BYTES = 4096

MAX_GROUP = 256
"""Maximum number of jobs in one commit; bounds how long the first of them waits."""

_LOOK_AGAIN = 0.1
"""Seconds after which a background thread looks again whether callers wait."""
_INTERRUPTED = "the writing thread was interrupted; {}"


_thread = threading.local()


def commit_separately() -> None:
    """Commit the jobs of the calling thread separately from now on; see ``contract.Ledger``."""
    _thread.separately = True


def free_bytes(folder: Path) -> int:
    """Return how much may still be written to the disk of a folder; a guess if it does not say."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return LOG_PAGES * PAGE_BYTES * ROOM_SHARE
    return found.f_bavail * found.f_frsize


def growth(connection: Connection, path: Path) -> int:
    """Return how many bytes the file will grow by when the log is folded into it."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    return int(pages) * PAGE_BYTES - path.stat().st_size


class _Ticket(Generic[T]):
    """A job in the queue and what became of it."""

    __slots__ = ("done", "error", "job", "kept", "result")

    def __init__(self, job: Callable[[Connection], T]) -> None:
        self.job = job
        self.result: T | None = None
        self.error: BaseException | None = None
        self.kept = False
        self.done = False

    def run(self, connection: Connection) -> None:
        try:
            self.result = self.job(connection)
        finally:
            connection.end_job()

    def answer(self, path: Path) -> T:
        if (error := self.error) is not None:
            try:
                raise error
            finally:  # the error refers to this frame: nothing may refer back to it
                self.error = error = None
        if not self.kept:  # nobody came to say why
            raise StoreError(path, _INTERRUPTED.format("it may have been written"))
        return self.result  # type: ignore[return-value]  # set by run() before kept


class _Group(list[_Ticket[object]]):
    """Jobs of one commit, and how far that came."""

    __slots__ = ("kept", "sent")

    def __init__(self, members: Iterable[_Ticket[object]] = ()) -> None:
        super().__init__(members)
        self.sent = False  # whether COMMIT may have been done
        self.kept = False  # whether it was, with the files still in their place

    def fail(self, error: Exception) -> None:
        """Tell every member that has no error of its own."""
        for member in self:
            member.error = member.error or error

    def end(self) -> None:
        """Let every member have its answer; harmless if repeated."""
        for member in self:
            member.kept = self.kept
            member.done = True


class Writer:
    """Runs jobs on the one writing connection, each atomic, several to a commit.

    Nobody else may use the connection. The gate, where the processes queue, is closed with it.
    """

    def __init__(self, path: Path, connection: Connection, gate: Gate, presence: Presence) -> None:
        self._path = path
        self._presence = presence
        self._gone = False
        self._commits = 0
        self._pages = 0
        self._gate = gate
        self._connection = connection
        self._lock = threading.RLock()  # never lost by an interrupted Condition.wait
        self._turn = threading.Condition(self._lock)
        self._waiting: deque[_Ticket[object]] = deque()
        self._leader: object = None  # the one that may use the connection
        self._holders = 0
        self._closed = False

    def run(self, job: Callable[[Connection], T]) -> T:
        """Run a job inside ``BEGIN IMMEDIATE``; return when it is on the disk."""
        ticket = _Ticket(job)
        if getattr(_thread, "separately", False):
            self._run_separately(ticket)
            return ticket.answer(self._path)
        try:
            with self._lock:
                self._waiting.append(ticket)  # type: ignore[arg-type]  # tickets of any type
            while not ticket.done:
                self._lead_or_wait(ticket)
        except BaseException:  # mostly an interruption: nobody will fetch the answer
            self._withdraw(ticket)
            raise
        return ticket.answer(self._path)

    def check_present(self) -> None:
        """Raise ``StoreGone`` unless the files are still the ones that were opened."""
        self._presence.check()

    def close(self) -> None:
        """Close the connection; jobs still waiting, and later ones, get ``StoreClosed``."""
        with self._lock:
            while self._leader is not None:
                self._turn.wait()
            if not self._closed:
                self._closed = True
                self._connection.close()
                self._gate.close()

    def forget(self) -> Presence:
        """Let go of the gate in a forked child; the connection stays the parent's."""
        self._gate.forget()
        return self._presence

    def fold(self, *, if_room: bool = False) -> None:
        """Fold what it can of the log into the file without making anyone wait.

        With ``if_room`` nothing is tried unless the disk has room for what the file then grows by:
        it would take what is left and fold nothing.
        """
        self._held(lambda: self._fold(if_room=if_room))

    def _fold(self, *, if_room: bool) -> None:
        if self._closed:
            return
        with translated(self._path):
            self._roll_back()
            if if_room:
                free = free_bytes(self._path.parent)
                if growth(self._connection, self._path) > free:
                    self._pages = 0
                    self._connection.execute("PRAGMA wal_autocheckpoint=0").fetchone()
                    return
                self._bound_log(free)
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def alone(self, job: Callable[[Connection], T]) -> T:
        """Run a job outside any transaction, while no other process has its turn to write."""

        def looked_after() -> T:
            self._look()
            with translated(self._path):
                self._roll_back()
                try:
                    result = job(self._connection)
                finally:
                    self._roll_back()
            self._look()
            return result

        return self._held(lambda: self._in_turn(looked_after))

    def _held(self, work: Callable[[], T]) -> T:
        """Do some work while nobody else leads."""
        holder = object()
        try:
            try:
                self.hold(holder)
                return work()
            finally:
                self.release(holder)
        except BaseException:
            self.release(holder)  # the first may have been interrupted
            raise

    def hold(self, holder: object) -> None:
        """Wait for the commit in hand and let no other begin until ``release``.

        Others that write meanwhile come after it: a thread that writes without pause would
        otherwise lead again before this one has woken up.
        """
        with self._lock:
            self._holders += 1
            try:
                while self._leader is not None:
                    self._turn.wait()
                self._leader = holder
            finally:
                self._holders -= 1
                self._turn.notify_all()  # if it was interrupted, those behind it may go

    def release(self, holder: object) -> None:
        """Let the next leader go; harmless if repeated."""
        if self._leader is holder:
            with self._lock:
                self._turn.notify_all()  # first, so that an interrupt of it is made good
                self._leader = None

    def _run_separately(self, ticket: _Ticket[T]) -> None:
        """Commit a job in this thread and no other job with it, after those that wait already."""
        group = _Group([ticket])  # type: ignore[list-item]  # tickets of any type
        try:
            self._let_pass()
            self._held(lambda: self._commit(group))
        finally:
            group.end()

    def _let_pass(self) -> None:
        """Wait until the jobs that wait now have begun; a busy thread would starve them."""
        with self._lock:
            last = self._waiting[-1] if self._waiting else None
            while last is not None and last in self._waiting:
                self._turn.wait(_LOOK_AGAIN)

    def _withdraw(self, ticket: _Ticket[T]) -> None:
        """Take back a job that nobody began, since its caller gave up."""
        with self._lock:
            self._turn.notify_all()
            if ticket in self._waiting:
                self._waiting.remove(ticket)  # type: ignore[arg-type]  # tickets of any type

    def _lead_or_wait(self, ticket: _Ticket[T]) -> None:
        """Commit a group, then let the next leader go. The ticket may be in a later group."""
        group = _Group()
        try:
            try:
                with self._lock:
                    while (self._leader is not None or self._holders) and not ticket.done:
                        self._turn.wait()
                    if ticket.done:
                        return
                    self._leader = ticket
                    group += islice(self._waiting, MAX_GROUP)
                    for _ in group:
                        self._waiting.popleft()
                self._commit(group)
            finally:
                self._end(ticket, group)
        except BaseException:
            self._end(ticket, group)  # the first may have been interrupted
            raise

    def _end(self, ticket: _Ticket[T], group: _Group) -> None:
        """Let a group have its answers and the next leader go; harmless if repeated."""
        if self._leader is ticket:
            with self._lock:
                group.end()
                while self._waiting and self._waiting[0].done:  # it was interrupted on its way
                    self._waiting.popleft()
                self._turn.notify_all()
                self._leader = None

    def _commit(self, group: _Group) -> None:
        """Commit a group; if it fails as a whole, every member learns of it."""
        try:
            self._in_turn(lambda: self._transact(group))
        except Exception as error:  # a job may raise anything; every member learns of it
            if group.kept:  # a signal handler raised it
                raise
            group.fail(self._explained(error))
        except BaseException:  # an interruption of this thread; the others must not wait on
            if not group.kept:
                written = "it may have been written" if group.sent else "nothing was written"
                group.fail(StoreError(self._path, _INTERRUPTED.format(written)))
            raise

    def _explained(self, error: Exception) -> Exception:
        """Say in memento's words why a group failed; without its log, a file looks damaged."""
        if not isinstance(error, Error):
            return error
        try:
            self._presence.check()
        except StoreError as gone:
            return gone
        return explain(self._path, error)

    def _in_turn(self, work: Callable[[], T]) -> T:
        """Do some work while no other process writes."""
        if self._closed:  # then the gate is also closed
            raise StoreClosed(self._path.parent)
        try:
            try:
                self._gate.enter()
                return work()
            finally:
                self._gate.leave()
        except BaseException:
            self._gate.leave()  # the first may have been interrupted
            raise

    def _transact(self, group: _Group) -> None:
        execute = self._connection.execute
        if self._gone:
            self._look()
        try:
            self._roll_back()
            begin(self._connection, self._gate.seconds)
            if len(group) == 1:
                group[0].run(self._connection)
            else:
                for member in group:
                    self._run_apart(member)
            group.sent = True
            execute("COMMIT")
            self._look()
            group.kept = True
            self._mind_room()
        except BaseException as error:  # also an interruption: no transaction stays open
            self._undo(group, error)
            raise

    def _undo(self, group: _Group, error: BaseException) -> None:
        """Roll back, unless COMMIT returned and only then a signal handler raised."""
        if self._roll_back():
            group.sent = False
        elif group.sent and not isinstance(error, (Error, StoreError)):
            self._look()
            group.kept = True

    def _roll_back(self) -> bool:
        """End a transaction that was left, if there is one; tell whether there was."""
        left = self._connection.in_transaction
        self._connection.rollback()
        self._connection.end_job()
        return left

    def _look(self) -> None:
        """Look whether the files are where they were, between a commit and its acknowledgement.

        Once they are not, each group looks before it begins: into a file that nobody will
        open, nothing more is written.
        """
        try:
            self._presence.check()
        except StoreGone:
            self._gone = True
            raise
        self._gone = False

    def _mind_room(self) -> None:
        """Now and then, bound the log by the room that folding it would take."""
        if self._commits % ROOM_EVERY == 0:
            free = free_bytes(self._path.parent)
            if self._pages or growth(self._connection, self._path) <= free:
                self._bound_log(free)
        self._commits += 1

    def _bound_log(self, free: int) -> None:
        allowed = max(LEAST_PAGES, min(LOG_PAGES, free // ROOM_SHARE // PAGE_BYTES))
        pages = 1 << allowed.bit_length() - 1  # steps, as each change costs more than the look
        if pages != self._pages:
            kept = -1 if pages == LOG_PAGES else pages * PAGE_BYTES
            self._connection.execute(f"PRAGMA journal_size_limit={kept}").fetchone()
            self._connection.execute(f"PRAGMA wal_autocheckpoint={pages}").fetchone()
            self._pages = pages

    def _run_apart(self, member: _Ticket[object]) -> None:
        """Run one job of several so that its failure undoes its own changes only."""
        execute = self._connection.execute
        execute("SAVEPOINT job")
        try:
            member.run(self._connection)
        except Exception as error:  # a job may raise anything; its caller gets it
            if not self._connection.in_transaction:  # SQLite gave up on the whole group
                raise
            execute("ROLLBACK TO job")
            member.error = explain(self._path, error) if isinstance(error, Error) else error
        execute("RELEASE job")
