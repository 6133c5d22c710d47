"""Share open stores: the managers of one folder share one, and the last closes it.

Managers of one process with equal settings share an engine: its files, threads and caches. One with
another configuration, embedder, clock or reranker gets a separate engine, as in another process.

A manager without references releases its hold. Its finalizer may run in any thread at any point, so
it only makes a note; the indexer at its next poll, or the next call that opens a manager, closes
stores without holders.
"""

from __future__ import annotations

import os
from collections import Counter, deque
from contextlib import suppress
from pathlib import Path
from threading import Lock, RLock
from typing import TYPE_CHECKING
from weakref import finalize

from memento.engine import Engine
from memento.errors import MementoError, StoreClosed

if TYPE_CHECKING:
    from memento.config import Config
    from memento.protocols import Clock, Embedder, Reranker

_Place = tuple[str, Engine]
"""A folder, with links resolved, and an engine for it."""

_holds: Counter[_Place] = Counter()
_dropped: deque[_Place] = deque()
_doors = [RLock() for _ in range(64)]
"""Locks held while an engine is opened or closed; folders are distributed over them."""
_sweeping = Lock()


class Hold:
    """The hold of a manager and its views on an open store.

    Args:
        engine: The open store.
        place: What it releases in the end; None if the store outlives it in any case.
    """

    def __init__(self, engine: Engine, place: _Place | None = None) -> None:
        self.engine = engine
        self._closed = False
        self._end = None if place is None else finalize(self, _dropped.append, place)
        if self._end is not None:
            self._end.atexit = False  # at exit, all engines are closed anyway

    @property
    def closed(self) -> bool:
        """Whether this manager or the store was closed."""
        return self._closed or self.engine.ledger.closed

    def use(self) -> Engine:
        """Return the store.

        Raises:
            StoreClosed: If the manager was closed, though others may use it.
        """
        if self._closed and not self.engine.ledger.closed:  # else the engine raises it
            raise StoreClosed(self.engine.ledger.root)
        return self.engine

    def close(self) -> None:
        """Release the store; the last holder closes it. Idempotent."""
        self._closed = True
        if self._end is not None and (found := self._end.detach()) is not None:
            _release(*found[2], waits=True)


def hold(
    root: str | Path,
    config: Config,
    embedder: str | Embedder | None,
    clock: Clock,
    reranker: Reranker | None,
) -> Hold:
    """Open a store, or share one that is open with the same settings."""
    folder = _followed(root)
    with _door(folder):
        for where, engine in list(_holds):
            if where == folder and engine.suits(config, embedder, clock, reranker):
                if engine.indexer.trouble:
                    engine.indexer.retry()  # as a new engine would
                break
        else:
            sweep()  # may free files that are needed
            engine = Engine(root, config, embedder, clock, reranker, sweep=sweep)
        place = folder, engine
        _holds[place] += 1
        found = Hold(engine, place)
    sweep()
    return found


def sweep() -> None:
    """Close the stores without holders, unless another thread is doing so."""
    if not _dropped or not _sweeping.acquire(blocking=False):
        return
    try:
        for _ in range(len(_dropped)):
            place = _dropped.popleft()
            with suppress(MementoError):  # the ledger has all memories
                if not _release(place, waits=False):  # its lock's owner may wait for this thread
                    _dropped.append(place)
    finally:
        _sweeping.release()


def _release(place: _Place, *, waits: bool) -> bool:
    """Release one hold; the last closes the store. Return False if the lock was not free."""
    folder, engine = place
    door = _door(folder)
    if not door.acquire(blocking=waits):
        return False
    try:
        _holds[place] -= 1
        if _holds[place] <= 0:
            del _holds[place]
            engine.close()
    finally:
        door.release()
    return True


def _followed(root: str | Path) -> str:
    try:
        return os.path.realpath(root)
    except (OSError, TypeError, ValueError):
        return ""  # not a folder; the engine raises the error


def _door(folder: str) -> RLock:
    return _doors[hash(folder) % len(_doors)]


def _after_fork() -> None:
    global _sweeping
    _sweeping, _doors[:] = Lock(), [RLock() for _ in _doors]


os.register_at_fork(after_in_child=_after_fork)
