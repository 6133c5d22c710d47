"""The gate between processes: writers queue for their turn instead of racing for SQLite's lock.

SQLite's busy handler sleeps and tries again; whoever tries at the right moment wins, so a process
that writes without a pause can keep another one waiting for many seconds. Two kernel locks make a
queue of it. A writer takes the *queue*, waits in it for the *turn*, and leaves the queue once it
has the turn. The writer that had the turn last finds the queue taken and comes after those that
wait. The kernel drops both locks when their holder dies, however it dies.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import threading
import weakref
from pathlib import Path

from memento.base import layout
from memento.base.files import explain_os, open_folder
from memento.errors import StoreBusy

log = logging.getLogger("memento.ledger.lite.gate")

PATIENCE = 2.0
"""Seconds after which a wait is logged; writes take milliseconds."""

_TRY = fcntl.LOCK_EX | fcntl.LOCK_NB


class Gate:
    """Lets one process at a time through, in order of arrival. For one thread at a time.

    The queue is a ``flock`` on the folder, the turn a ``flock`` on a file in it: four system calls
    for a lone writer, 2 to 3 µs. A forked child must ``forget`` its copy.
    """

    def __init__(self, ledger: Path, seconds: float) -> None:
        self._ledger = ledger
        self.seconds = seconds
        self._wait: _Wait | None = None
        self._alone = False
        path = ledger.with_name(layout.TURN)
        try:
            self._queue = open_folder(ledger.parent)
        except OSError as error:
            raise explain_os(ledger.parent, error) from error
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._turn = os.open(path, flags, 0o600)
        except OSError as error:
            os.close(self._queue)
            raise explain_os(path, error) from error
        # A manager that was collected without ``close`` gives its descriptors back too.
        self._give_back = weakref.finalize(self, _close, self._turn, self._queue)
        self._give_back.atexit = False  # then the kernel does it

    def enter(self) -> None:
        """Wait for the turn, or raise ``StoreBusy``. Either way ``leave`` must follow."""
        try:
            if self._wait is not None or not self._enter_at_once():
                self._enter_queue()
        except OSError as error:
            raise explain_os(self._ledger, error) from error

    def leave(self) -> None:
        """Let the next one through."""
        fcntl.flock(self._turn, fcntl.LOCK_UN)
        if not self._alone:  # else it left the queue when it came in
            fcntl.flock(self._queue, fcntl.LOCK_UN)
        self._alone = False

    def close(self) -> None:
        """Give back the descriptors; the gate cannot be used any more."""
        self._give_back()

    def forget(self) -> None:
        """Close the copies of a forked child, which leaves the locks with the parent."""
        self.close()
        if self._wait is not None:
            self._wait.forget()

    def _enter_at_once(self) -> bool:
        """Try without waiting. If only the turn is taken, stay in the queue."""
        try:
            fcntl.flock(self._queue, _TRY)
            fcntl.flock(self._turn, _TRY)
        except BlockingIOError:
            return False
        fcntl.flock(self._queue, fcntl.LOCK_UN)
        self._alone = True
        return True

    def _enter_queue(self) -> None:
        """Wait in a thread of its own, as ``flock`` has no time limit."""
        wait = self._wait
        if wait is None or not wait.resume():
            wait = self._wait = _Wait(self._queue, self._turn)
        try:
            wait.start()
            first = min(PATIENCE, self.seconds)
            came = wait.finished.wait(first)
            if not came:
                tell(self.seconds)
                came = wait.finished.wait(self.seconds - first) or not wait.abandon()
        except BaseException:  # mostly an interruption: the thread must not keep the locks
            if not wait.abandon():
                self._wait = None
            raise
        if not came:
            raise StoreBusy(self._ledger, "another process is writing; try again")
        self._wait = None
        if wait.error is not None:
            raise wait.error


def tell(seconds: float) -> None:
    """Log that we wait for another process."""
    log.warning("another process is writing; waiting up to %.0f s for it to finish", seconds)


def is_taken(ledger: Path) -> bool:
    """Return whether somebody has the turn now, in this process or another one."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        turn = os.open(ledger.with_name(layout.TURN), flags)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(turn, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(turn)
    return False


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


class _Wait:
    """A thread that waits for both locks. If nobody wants them any more, it releases them."""

    def __init__(self, queue: int, turn: int) -> None:
        self.finished = threading.Event()
        self.error: OSError | None = None
        self._wanted = True
        self._lock = threading.Lock()
        self._queue, self._turn = os.dup(queue), os.dup(turn)  # the gate may close meanwhile
        self._thread = threading.Thread(target=self._run, name="memento-gate", daemon=True)

    def start(self) -> None:
        """Begin to wait, unless it has begun."""
        if self._thread.ident is None:
            try:
                self._thread.start()
            except RuntimeError as error:  # the system gives no more threads
                self.error = OSError(errno.EAGAIN, str(error))
                self.forget()
                self.finished.set()

    def abandon(self) -> bool:
        """Note that nobody waits any more; False if the thread has finished already."""
        with self._lock:
            if not self.finished.is_set():
                self._wanted = False
            return not self.finished.is_set()

    def resume(self) -> bool:
        """Wait for it again; False if the thread has finished."""
        with self._lock:
            self._wanted = self._thread.is_alive() and not self.finished.is_set()
            return self._wanted

    def forget(self) -> None:
        """Close the copies of a forked child, where the thread does not run."""
        _close(self._turn, self._queue)

    def _run(self) -> None:
        try:
            fcntl.flock(self._queue, fcntl.LOCK_EX)
            fcntl.flock(self._turn, fcntl.LOCK_EX)
        except OSError as error:
            self.error = error
        with self._lock:
            if not self._wanted:
                fcntl.flock(self._turn, fcntl.LOCK_UN)
            fcntl.flock(self._queue, fcntl.LOCK_UN)
            self.forget()
            self.finished.set()
