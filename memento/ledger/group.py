"""Group commit, the same for every engine: the first writer commits for those that wait.

An uncontended write runs in its caller's own thread, since every hand-over to another thread costs
a scheduler tick. When several threads write, one of them takes all that wait into one transaction
and one fsync. The jobs of a background thread are kept out, or a caller of ``add`` would do the
work of that thread, and wait for it.

A signal handler may raise after any call. So each ``try`` begins before the call that it must undo,
and the undoing may run twice. Locks are held by ``with``, which Python does not interrupt for a
lock written in C; a ``Condition`` is written in Python, so it is used for waiting only.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from memento.errors import StoreError

T = TypeVar("T")

MAX_GROUP = 256
"""Maximum number of jobs in one commit; bounds how long the first of them waits."""

_LOOK_AGAIN = 0.1
"""Seconds after which a background thread looks again whether callers wait."""
_INTERRUPTED = "the writing thread was interrupted; {}"


_thread = threading.local()


def commit_separately() -> None:
    """Commit the jobs of the calling thread separately from now on; see ``contract.Ledger``."""
    _thread.separately = True


class Joinable(Protocol):
    """A job that can be done together with others that wait for the same commit."""

    @property
    def joins(self) -> Hashable:
        """A key that is equal for jobs that can be done together; None if it joins no other."""

    def together(self, session: Any, jobs: Sequence[Any]) -> Sequence[Any]:
        """Do several jobs, this one among them, and return the result of each.

        If it raises, each of them is done by itself.
        """


class Ticket(Generic[T]):
    """A job in the queue, and its outcome.

    ``spaces`` are the numbers of the namespaces that it changes; None for any.
    """

    __slots__ = ("done", "error", "job", "kept", "result", "spaces")

    def __init__(self, job: Callable[[Any], T], spaces: Collection[int] | None = None) -> None:
        self.job = job
        self.spaces = spaces
        self.result: T | None = None
        self.error: BaseException | None = None
        self.kept = False
        self.done = False

    def run(self, connection: Any) -> None:
        """Do the job in a transaction, and close the answers that it did not read to the end."""
        try:
            self.result = self.job(connection)
        finally:
            connection.end_job()

    def answer(self, path: Path | str) -> T:
        """Return the result, or raise what prevented it."""
        if (error := self.error) is not None:
            try:
                raise error
            finally:  # the error refers to this frame: nothing may refer back to it
                self.error = error = None
        if not self.kept:  # the writing thread ended without reporting
            raise StoreError(path, _INTERRUPTED.format("it may have been written"))
        return self.result  # type: ignore[return-value]  # set by run() before kept


class Group(list[Ticket[object]]):
    """The jobs of one commit, and its progress."""

    __slots__ = ("apart", "grows", "kept", "sent")

    def __init__(self, members: Iterable[Ticket[object]] = ()) -> None:
        super().__init__(members)
        self.grows = not members  # whether others that wait may join it until its jobs begin
        self.apart = False  # whether each job is done by itself, since together they failed
        self.sent = False  # whether COMMIT may have been done
        self.kept = False  # whether it was, with the files still in their place

    def fail(self, error: Exception) -> None:
        """Give an error to every member that has none of its own."""
        for member in self:
            member.error = member.error or error

    @property
    def spaces(self) -> list[int] | None:
        """The namespaces that its jobs change, ascending; None if they may be any."""
        named = [member.spaces for member in self]
        if any(spaces is None for spaces in named):
            return None
        return sorted({ns for spaces in named for ns in spaces or ()})

    def joined(self) -> list[list[Ticket[object]]]:
        """Return its jobs in lists that can be done together."""
        sets: dict[object, list[Ticket[object]]] = {}
        for member in self:
            key = getattr(member.job, "joins", None)
            sets.setdefault(member if key is None else key, []).append(member)
        return list(sets.values())

    def end(self) -> None:
        """Give every member its answer; harmless if repeated."""
        for member in self:
            member.kept = self.kept
            member.done = True


class GroupCommit(ABC):
    """Runs jobs one after the other, each atomic, several to a commit.

    Args:
        path: The ledger, for messages.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = path
        self._lock = threading.RLock()  # never lost by an interrupted Condition.wait
        self._turn = threading.Condition(self._lock)
        self._waiting: deque[Ticket[object]] = deque()
        self._leader: object = None  # the one that may use the connection
        self._holders = 0

    @abstractmethod
    def _transact(self, group: Group) -> None:
        """Run the jobs of a group in one transaction, and set ``sent`` and ``kept``."""

    @abstractmethod
    def _in_turn(self, work: Callable[[], T]) -> T:
        """Do some work while no other process writes; ``StoreClosed`` after ``close``."""

    @abstractmethod
    def _explained(self, error: Exception) -> Exception:
        """Return the memento error for what made a group fail."""

    @abstractmethod
    def _is_over(self, session: Any, error: Exception) -> bool:
        """Return whether the transaction ended with an error of one of its jobs."""

    def run(self, job: Callable[[Any], T], spaces: Collection[int] | None = None) -> T:
        """Run a job in a transaction; return when it is durable. See ``contract.Ledger.write``."""
        ticket = Ticket(job, spaces)
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

    def hold(self, holder: object) -> None:
        """Wait for the commit in progress and let no other begin until ``release``.

        Writers that come meanwhile must wait for the holder: otherwise a thread that writes without
        pause would lead again before the holder has woken up.
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
                self._turn.notify_all()  # first, so that it is repeated if interrupted
                self._leader = None

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

    def _run_separately(self, ticket: Ticket[T]) -> None:
        """Commit a job by itself in this thread, after those that wait already."""
        group = Group([ticket])  # type: ignore[list-item]  # tickets of any type
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

    def _withdraw(self, ticket: Ticket[T]) -> None:
        """Remove a job that has not begun from the queue, since its caller gave up."""
        with self._lock:
            self._turn.notify_all()
            if ticket in self._waiting:
                self._waiting.remove(ticket)  # type: ignore[arg-type]  # tickets of any type

    def _lead_or_wait(self, ticket: Ticket[T]) -> None:
        """Commit a group, then let the next leader go. The ticket may be in a later group."""
        group = Group()
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

    def _end(self, ticket: Ticket[T], group: Group) -> None:
        """Give a group its answers and let the next leader go; harmless if repeated."""
        if self._leader is ticket:
            with self._lock:
                group.end()
                while self._waiting and self._waiting[0].done:  # removing them was interrupted
                    self._waiting.popleft()
                self._turn.notify_all()
                self._leader = None

    def _commit(self, group: Group) -> None:
        """Commit a group; if it fails as a whole, every member learns of it."""
        try:
            self._transact_twice(group)
        except Exception as error:  # a job may raise anything; every member learns of it
            if group.kept:  # a signal handler raised it
                raise
            group.fail(self._explained(error))
        except BaseException:  # an interruption of this thread; the others must not wait on
            if not group.kept:
                written = "it may have been written" if group.sent else "nothing was written"
                group.fail(StoreError(self._path, _INTERRUPTED.format(written)))
            raise

    def _transact_twice(self, group: Group) -> None:
        """Do the jobs of a group, together where possible; each by itself if that fails."""
        try:
            self._in_turn(lambda: self._transact(group))
        except _TogetherError:
            group.apart = True
            self._in_turn(lambda: self._transact(group))

    def _run_jobs(self, group: Group, session: Any) -> None:
        """Do the jobs of a group; the failure of one undoes its own changes only."""
        sets = [[member] for member in group] if group.apart else group.joined()
        if len(sets) == 1:  # it is undone with the whole transaction
            self._run_together(sets[0], session)
            return
        for members in sets:
            if len(members) == 1 or not self._run_set_apart(members, session):
                for member in members:
                    self._run_apart(member, session)

    def _run_set_apart(self, members: Sequence[Ticket[object]], session: Any) -> bool:
        """Do jobs together beside others; if that fails, undo what they did, and return False."""
        session.execute("SAVEPOINT job")
        try:
            self._run_together(members, session)
        except _TogetherError:
            session.execute("ROLLBACK TO job")
            return False
        session.execute("RELEASE job")
        return True

    def _run_together(self, members: Sequence[Ticket[object]], session: Any) -> None:
        if len(members) == 1:
            members[0].run(session)
            return
        jobs = [member.job for member in members]
        try:
            results = jobs[0].together(session, jobs)  # type: ignore[attr-defined]  # see `joined`
        except Exception as error:  # a job may raise anything; apart, its caller gets it
            if self._is_over(session, error):
                raise
            raise _TogetherError from error
        finally:
            session.end_job()
        for member, result in zip(members, results, strict=True):
            member.result = result

    def _run_apart(self, member: Ticket[object], session: Any) -> None:
        """Do one job of several so that its failure undoes its own changes only."""
        session.execute("SAVEPOINT job")
        try:
            member.run(session)
        except Exception as error:  # a job may raise anything; its caller gets it
            if self._is_over(session, error):
                raise
            session.execute("ROLLBACK TO job")
            member.error = self._explained(error)
        session.execute("RELEASE job")


class _TogetherError(Exception):
    """Jobs that were done together failed; they are undone, and each is done by itself."""
