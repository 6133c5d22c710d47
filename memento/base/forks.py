"""Make a fork wait for work that its child could not finish.

A fork copies every lock in its present state, but only the thread that forks. So a module that
another thread is importing would stay locked in the child for ever, and so would each lock held by
a native library while it starts, or by SQLite while it copies a store. Such work therefore runs
under `whole`, and a fork waits until no thread is in such a block, or for `FORK_SECONDS`. Lock
order: `whole` may be entered while holding a lock of the ledger, since a fork takes those locks
only when no thread is in a `whole` block; see ``ledger.lite.store``.

A parent also waits until its child has taken over what both have open; see `Handover`.
"""

from __future__ import annotations

import logging
import os
import select
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FORK_SECONDS = 30.0
"""Maximum wait of a fork, in seconds. An import that needs a lock of the forking thread would never
end."""
HANDOVER_SECONDS = 5.0
"""Maximum wait of a parent for its child, in seconds; a child can be stopped as it begins."""

log = logging.getLogger("memento.base.forks")


class ForkGate:
    """Lets many threads run blocks that a fork must not interrupt; a fork waits for all of them.

    A thread that forks inside such a block does not wait for itself.
    """

    def __init__(self) -> None:
        self._renew_lock()
        self._working: Counter[int] = Counter()

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Keep other threads from forking during the block."""
        me = threading.get_ident()
        depth = self._working[me]
        try:
            try:
                with self._lock:
                    self._working[me] = depth + 1
                yield
            finally:
                self._back_to(me, depth)
        except BaseException:
            self._back_to(me, depth)  # the first may have been interrupted
            raise

    def _back_to(self, me: int, depth: int) -> None:
        """Set how many such blocks a thread is in; may be repeated."""
        with self._lock:
            self._working[me] = depth
            self._left.notify_all()

    def _renew_lock(self) -> None:
        # A Condition is entered in Python, where a signal handler may raise between taking the lock
        # and the block; so it is used only to wait, and the lock, written in C, is taken directly.
        self._lock = threading.RLock()
        self._left = threading.Condition(self._lock)

    def wait(self, until: float) -> None:
        """Wait until no other thread is in a block, or until this ``time.monotonic`` moment."""
        with self._lock:
            while self._others() and (left := until - time.monotonic()) > 0:
                self._left.wait(left)

    def shut(self, until: float) -> bool:
        """Let no thread enter a block until ``reopen``, if no other thread is in one.

        Returns:
            Whether it is shut. False if another thread is in one and the ``time.monotonic`` moment
            has not passed; after that moment it shuts regardless, and logs a warning.
        """
        self._lock.acquire()
        if self._others():
            if time.monotonic() < until:
                self._lock.release()
                return False
            log.warning(
                "forked while another thread was loading a library or copying a store, after "
                "waiting %g s for it; the child may wait for that thread forever",
                FORK_SECONDS,
            )
        return True

    def reopen(self) -> None:
        """Let blocks begin again; call it from the thread that called ``shut``."""
        self._lock.release()

    def reopen_in_child(self) -> None:
        """Let blocks begin in a forked child, where only the forking thread exists."""
        me = threading.get_ident()
        self._working = Counter({me: self._working[me]})
        self._renew_lock()

    def _others(self) -> bool:
        me = threading.get_ident()
        return any(depth for thread, depth in self._working.items() if thread != me)


class Handover:
    """Makes a parent wait until its child has taken over what both have open.

    They share a pipe: the child closes its writing end when it is ready, and the system does so if
    the child dies or the fork fails.
    """

    def __init__(self) -> None:
        self._pipe: tuple[int, int] | None = None

    def prepare(self, *, needed: bool) -> None:
        """Open the pipe, before the fork. If no descriptor is free, the parent will not wait."""
        with suppress(OSError):
            self._pipe = os.pipe() if needed else None

    def wait(self) -> None:
        """Wait in the parent until the child is ready, or for `HANDOVER_SECONDS`."""
        if self._pipe is None:
            return
        (ready, said), self._pipe = self._pipe, None
        os.close(said)
        look = select.poll()
        look.register(ready, select.POLLIN)
        try:
            if not look.poll(HANDOVER_SECONDS * 1000):
                log.warning(
                    "a forked child did not start within %g s; if this process closes the store "
                    "before that, the child cannot use it",
                    HANDOVER_SECONDS,
                )
        finally:
            os.close(ready)

    def end(self) -> None:
        """Tell the parent that this child is ready."""
        if self._pipe is not None:
            for descriptor in self._pipe:
                os.close(descriptor)
            self._pipe = None


gate = ForkGate()
whole = gate.whole
