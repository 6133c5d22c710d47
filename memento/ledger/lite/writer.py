"""One writer in each process, behind group commit, see ``group``.

The gate lets the writers of several processes take turns.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from memento.errors import StoreClosed, StoreError, StoreGone
from memento.ledger.group import Group, GroupCommit
from memento.ledger.lite.gate import Gate
from memento.ledger.lite.library import Error
from memento.ledger.lite.presence import Presence
from memento.ledger.lite.sqlite import Connection, begin, explain, translated

T = TypeVar("T")

LOG_PAGES = 8192
"""Number of pages (32 MiB) beyond which a writer itself folds the log into the file; the background
thread does it much earlier, so that no ``add`` waits for it."""
LEAST_PAGES = 64
"""The same on a disk that is nearly full."""
ROOM_SHARE = 4
"""The log may grow to one in this many free bytes: folding it makes the file grow as much, and a
log that cannot be folded can take nothing more, not even what makes room."""
ROOM_EVERY = 8
"""Number of commits between two checks of the free space; a check takes two microseconds."""
PAGE_BYTES = 4096


def free_bytes(folder: Path) -> int:
    """Return the free bytes on the disk of a folder; a guess if the system does not tell."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return LOG_PAGES * PAGE_BYTES * ROOM_SHARE
    return found.f_bavail * found.f_frsize


def growth(connection: Connection, path: Path) -> int:
    """Return how many bytes the file will grow by when the log is folded into it."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    return int(pages) * PAGE_BYTES - path.stat().st_size


class Writer(GroupCommit):
    """Runs jobs on the one writing connection, each atomic, several to a commit.

    Nobody else may use the connection. ``close`` closes the gate too.
    """

    def __init__(self, path: Path, connection: Connection, gate: Gate, presence: Presence) -> None:
        super().__init__(path)
        self._file = path
        self._presence = presence
        self._gone = False
        self._commits = 0
        self._pages = 0
        self._gate = gate
        self._connection = connection
        self._closed = False

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
        """Release the gate in a forked child; the connection stays the parent's."""
        self._gate.forget()
        return self._presence

    def fold(self, *, if_room: bool = False) -> None:
        """Fold as much of the log as possible into the file, without making anyone wait.

        With ``if_room`` it does so only if the disk has room for the growth of the file: otherwise
        it would use up the rest and fold nothing.
        """
        self._held(lambda: self._fold(if_room=if_room))

    def _fold(self, *, if_room: bool) -> None:
        if self._closed:
            return
        with translated(self._file):
            self._roll_back()
            if if_room:
                free = free_bytes(self._file.parent)
                if growth(self._connection, self._file) > free:
                    self._pages = 0
                    self._connection.execute("PRAGMA wal_autocheckpoint=0").fetchone()
                    return
                self._bound_log(free)
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()

    def alone(self, job: Callable[[Connection], T]) -> T:
        """Run a job outside any transaction, while no other process has its turn to write."""

        def looked_after() -> T:
            self._look()
            with translated(self._file):
                self._roll_back()
                try:
                    result = job(self._connection)
                finally:
                    self._roll_back()
            self._look()
            return result

        return self._held(lambda: self._in_turn(looked_after))

    def _explained(self, error: Exception) -> Exception:
        """Return the memento error for a failed group; a missing log would look like damage."""
        if not isinstance(error, Error):
            return error
        try:
            self._presence.check()
        except StoreError as gone:
            return gone
        return explain(self._file, error)

    def _is_over(self, session: Connection, error: Exception) -> bool:  # noqa: ARG002 - see base
        return not session.in_transaction  # SQLite gave up on the whole group

    def _in_turn(self, work: Callable[[], T]) -> T:
        """Do some work while no other process writes."""
        if self._closed:  # then the gate is also closed
            raise StoreClosed(self._file.parent)
        try:
            try:
                self._gate.enter()
                return work()
            finally:
                self._gate.leave()
        except BaseException:
            self._gate.leave()  # the first may have been interrupted
            raise

    def _transact(self, group: Group) -> None:
        execute = self._connection.execute
        if self._gone:
            self._look()
        try:
            self._roll_back()
            begin(self._connection, self._gate.seconds)
            self._run_jobs(group, self._connection)
            group.sent = True
            execute("COMMIT")
            self._look()
            group.kept = True
            self._mind_room()
        except BaseException as error:  # also an interruption: no transaction stays open
            self._undo(group, error)
            raise

    def _undo(self, group: Group, error: BaseException) -> None:
        """Roll back, unless a signal handler raised only after COMMIT had returned."""
        if self._roll_back():
            group.sent = False
        elif group.sent and not isinstance(error, (Error, StoreError)):
            self._look()
            group.kept = True

    def _roll_back(self) -> bool:
        """Roll back a transaction that was left open; return whether there was one."""
        left = self._connection.in_transaction
        self._connection.rollback()
        self._connection.end_job()
        return left

    def _look(self) -> None:
        """Check that the files are still in place, between a commit and its acknowledgement.

        Once they are not, each group checks before it begins, so that nothing more is written into
        a file that nobody will open.
        """
        try:
            self._presence.check()
        except StoreGone:
            self._gone = True
            raise
        self._gone = False

    def _mind_room(self) -> None:
        """Every `ROOM_EVERY` commits, bound the log by the room that folding it would take."""
        if self._commits % ROOM_EVERY == 0:
            free = free_bytes(self._file.parent)
            if self._pages or growth(self._connection, self._file) <= free:
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
