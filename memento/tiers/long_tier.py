"""The long tier: a Chroma folder that finds memories by meaning, and that can be rebuilt.

Everything in it comes from the ledger, so any doubt has the same cure: set the folder aside, start
with an empty one, and tell the caller (``on_reset``) to feed it again. A folder that a killed
process left is taken over if a check in a child process finds no fault. A folder found damaged in
use or by that check is replaced at most ``MAX_RESETS`` times per process.

    COLD ──open──▶ READY ──Chroma fails, or a vector is lost──▶ ASIDE ──open──▶ READY (empty)

It does not know the ledger. `search` may be called from any thread; `open`, `upsert`, `remove`
and `healthy` only from the one background thread that feeds it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import threading
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memento.base import layout
from memento.errors import StoreUnusable, TierUnavailable
from memento.tiers import folder as files
from memento.tiers.check_in_child import probe
from memento.tiers.chroma import (
    ChromaFault,
    ChromaFolder,
    Collections,
    LongSample,
    blank_all,
    by_collection,
    chroma_version,
    collection_name,
    load,
    refuse_if_shared,
)
from memento.tiers.folder import FolderLock, LongState, Stamp, Taken, sum_of, why_not, write_stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

BATCH = 64
"""Rows written to Chroma in one call. More are cheaper per row and delay searches longer: 100 rows
of 384 take 72 ms of CPU."""
PROBE_SECONDS = 20.0
"""Time limit, in seconds, of the child process that checks a suspect folder."""
MAX_RESETS = 3
"""Maximum number of resets after damage per process and folder. Without a limit, a disk that
corrupts files would cause endless rebuilding and fill up."""
SETTLED_AFTER = 256
"""Calls after which an unclean end no longer leads to a rebuild: a folder whose owner dies early
twice is rebuilt, one whose owner is killed daily is probed."""
DRAIN_SECONDS = 10.0
"""Maximum wait, in seconds, for running calls before closing."""
SYNC_ROWS = 1_000
"""Rows after which Chroma writes an index to the disk: the default of its ``sync_threshold``."""

OPEN_COLLECTIONS = 128
"""Number of namespaces used after which `open` opens the folder again: each keeps one to three
megabytes of Chroma's data in RAM. Chroma's own limit, ``hnsw_cache_size``, drops graphs that were
never written to the disk, and then does not find their rows."""

logger = logging.getLogger("memento.tiers")

_resets: Counter[Path] = Counter()
"""Resets after damage, by folder, in this process."""


class Index(ABC):
    """The interface of a long tier, whether its Chroma is a folder or a server.

    All methods raise `TierUnavailable` if it cannot be used.
    """

    mark: str | None = None
    """Mark, in the ledger, of the index that takes rows now; None if only this process feeds it."""

    @abstractmethod
    def _asking(self) -> AbstractContextManager[Collections]:
        """Yield the open Chroma for one call, and record its errors."""

    @property
    @abstractmethod
    def state(self) -> LongState:
        """Whether it can be searched."""

    @property
    @abstractmethod
    def reason(self) -> str:
        """The reason of this state, as a sentence for people."""

    @abstractmethod
    def open(self) -> None:
        """Make it ready; does nothing if it is."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""

    @abstractmethod
    def healthy(self, sample: Sequence[LongSample]) -> bool:
        """Check that rows which were stored find themselves; if not, `open` repairs the tier."""

    def renounce(self) -> None:  # noqa: B027 - a folder has nothing to stop
        """Stop using the index, as the ledger names another; a folder has one owner and stays."""

    def named(self, namespace: tuple[str, ...]) -> str:
        """Return the name of the collection of a namespace."""
        return collection_name(namespace)

    def upsert(
        self,
        namespace: tuple[str, ...],
        ids: Sequence[str],
        vectors: NDArray[np.float32],
        metadatas: Sequence[Mapping[str, str | int]],
    ) -> None:
        """Store rows and replace those with the same ids. Repeating it is harmless.

        The n ids are distinct, the vectors (n, dim) and finite. The metadata, perhaps empty, are
        for people who open Chroma.
        """
        for part in _parts(len(ids)):
            with self._asking() as chroma:
                chroma.upsert(self.named(namespace), ids[part], vectors[part], metadatas[part])

    def remove(self, namespace: tuple[str, ...], ids: Sequence[str]) -> None:
        """Remove rows from the index; unknown ids are ignored.

        The bytes of the vectors may stay in Chroma's files until the folder is set aside.
        """
        for part in _parts(len(ids)):
            with self._asking() as chroma:
                chroma.remove(self.named(namespace), ids[part])

    def search(
        self, namespace: tuple[str, ...], vector: NDArray[np.float32], n: int
    ) -> list[tuple[str, float]]:
        """Find the n rows of a namespace nearest to a vector, (dim,) float32.

        Returns:
            (id, cosine similarity in [-1, 1]), best first; equal ones by id.
        """
        with self._asking() as chroma:
            return chroma.search(self.named(namespace), vector[np.newaxis], n)[0]

    def count(self, namespace: tuple[str, ...]) -> int:
        """Count the rows of a namespace."""
        with self._asking() as chroma:
            return chroma.count(self.named(namespace))


class LongTier(Index):
    """A disposable semantic index over vectors that are stored in the ledger.

    The constructor does no I/O and does not import chromadb. All other methods raise
    `TierUnavailable` if the index cannot be used, and say why; some rows may be written then.

    Args:
        folder: The Chroma folder. ``<folder>.lock``, ``<folder>.json`` and at most one
            ``<folder>.bad-<time>`` that it made are beside it; its parent must exist.
        identity: Name of the embedder in use; a folder of another embedder is set aside.
        samples: Returns some rows that the folder should hold; called while opening.
        on_reset: Called with the reason whenever the folder starts empty, before it takes
            rows: the caller must queue everything again. It may be called more than once.
        mark: Returns the mark of the folder that was fed last, from the ledger.
        set_mark: Stores a new mark in the ledger; it must survive a crash.
    """

    def __init__(
        self,
        folder: Path,
        *,
        identity: str,
        samples: Callable[[], Sequence[LongSample]],
        on_reset: Callable[[str], object],
        mark: Callable[[], str | None],
        set_mark: Callable[[str], None],
    ) -> None:
        self._folder = Path(folder).absolute()
        self._stamp_path = layout.stamp_of(self._folder)
        self._stamp = Stamp(identity, mark="")
        self._samples, self._on_reset = samples, on_reset
        self._mark, self._set_mark = mark, set_mark
        self._lock = FolderLock(layout.lock_of(self._folder))
        self._pid = os.getpid()
        self._gate = threading.Lock()  # one open, reset or close at a time
        self._guard = threading.RLock()  # guards all below
        self._idle = threading.Condition(self._guard)  # only waits; see ``forks``
        self._state = LongState.COLD
        self._reason = "Chroma is not loaded yet"
        self._chroma: ChromaFolder | None = None
        self._running = self._served = self._written = 0
        self._closed = threading.Event()

    @property
    def state(self) -> LongState:
        """Whether it can be searched."""
        return LongState.COLD if os.getpid() != self._pid else self._state

    @property
    def reason(self) -> str:
        """The reason of this state, as a sentence for people."""
        if os.getpid() != self._pid:
            return f"Chroma was opened by process {self._pid} before it was forked into this one"
        if self._closed.is_set():
            return "the store is closed"
        if self._state is LongState.ASIDE and self._given_up():
            resets = _resets[self._folder]
            return f"rebuilt {resets} times in this process, and again {self._reason}"
        return self._reason

    def _given_up(self) -> bool:
        """Return whether the folder was damaged too often in this process to be replaced again."""
        return _resets[self._folder] >= MAX_RESETS

    def open(self) -> None:
        """Become the owner of the folder and open it; does nothing if it is open.

        A folder that cannot be trusted is set aside and replaced by an empty one. May take seconds
        (it imports chromadb, and may first check the folder in a child process).
        """
        if self._chroma is None:
            with self._opening():
                pass  # no import if the folder cannot be owned
            try:
                load()  # without owning the folder, so that `close` need not wait
            except ChromaFault as fault:
                raise self._unavailable(LongState.COLD, str(fault)) from fault
        with self._opening():
            if self._state is LongState.ASIDE:
                self._rebuild(self._reason)
            elif self._chroma is None:
                self._enter()
            elif self._chroma.opened > OPEN_COLLECTIONS:
                self._set(LongState.COLD, "being opened again")
                self._leave(sound=False)
                self._chroma = ChromaFolder(self._folder)
                self._set(LongState.READY, "ready")

    def close(self) -> None:
        """Close in order, so that the folder is trusted next time, and release it.

        Waits for running calls; stops an `open` that is checking the folder. An `open` that is
        importing chromadb notices it afterwards and never owns the folder.
        """
        if os.getpid() != self._pid:
            return
        self._closed.set()
        with self._gate:
            sound = self._state is LongState.READY
            self._set(LongState.COLD, "the store is closed")
            try:
                self._leave(sound=sound)
            finally:
                self._lock.release()

    def upsert(
        self,
        namespace: tuple[str, ...],
        ids: Sequence[str],
        vectors: NDArray[np.float32],
        metadatas: Sequence[Mapping[str, str | int]],
    ) -> None:
        """Store rows; see `Index`."""
        super().upsert(namespace, ids, vectors, metadatas)
        self._written += len(ids)
        if self._written >= SYNC_ROWS:  # Chroma makes one more file in the folder of an index then
            self._written = 0
            files.make_private(self._folder)

    def healthy(self, sample: Sequence[LongSample]) -> bool:
        """Check that rows which were stored find themselves; if not, `open` repairs the tier."""
        try:
            with self._asking() as chroma:
                if problem := chroma.ailment(by_collection(sample)):
                    raise ChromaFault(problem, damage=True)
        except TierUnavailable:
            if self.state is LongState.ASIDE and not self._given_up():
                return False
            raise
        return True

    # Opening and closing. All of it runs under the gate.

    @contextlib.contextmanager
    def _opening(self) -> Iterator[None]:
        """Own the folder during the block, and afterwards if it is open then."""
        if os.getpid() != self._pid:
            raise TierUnavailable("long", self.reason)
        with self._gate:
            if self._closed.is_set():
                raise TierUnavailable("long", self.reason)
            try:
                owned = self._lock.acquire()
            except (OSError, StoreUnusable) as error:
                reason = f"its lock file cannot be used: {error}"
                raise self._unavailable(LongState.COLD, reason) from error
            if not owned:
                self._set(LongState.COLD, f"{self._lock.holder()} owns the Chroma folder")
                raise Taken("long", self._reason)
            try:
                if self._chroma is None:
                    refuse_if_shared(self._folder)
                yield
            except (ChromaFault, OSError) as error:
                reason = f"it could not be opened: {error}"
                raise self._unavailable(LongState.COLD, reason) from error
            finally:
                if self._chroma is None:
                    self._lock.release()

    def _enter(self) -> None:
        """Take the folder over as it is, or start with an empty one."""
        stamp = files.read_stamp(self._stamp_path)
        there = sum_of(self._folder, chroma_version())
        if why := why_not(stamp, there, self._stamp.identity, self._mark()):
            self._start_empty(why)
            return
        assert stamp is not None  # noqa: S101 - else there was a reason
        try:
            self._take_over(stamp)
        except ChromaFault as fault:
            if not fault.damage:
                self._leave(sound=False)
                raise
            self._rebuild(str(fault))
        else:
            self._set(LongState.READY, "ready")

    def _take_over(self, stamp: Stamp) -> None:
        """Open the folder as it is; `ChromaFault` if it shows damage."""
        held = by_collection(self._samples())
        if not stamp.left:
            seconds, lock = PROBE_SECONDS, self._lock.fileno()
            if why := probe(self._folder, held, seconds=seconds, lock=lock, cancel=self._closed):
                raise ChromaFault(f"not closed properly; {why}", damage=True)
            blank_all(self._folder)
        if why := self._attach(stamp.unclean + 1).ailment(held):
            raise ChromaFault(why, damage=True)

    def _rebuild(self, why: str) -> None:
        """Start with an empty folder after damage, unless that happened too often."""
        if self._given_up():
            self._leave(sound=False)
            raise self._unavailable(LongState.ASIDE, why)
        _resets[self._folder] += 1
        self._start_empty(why)

    def _start_empty(self, why: str) -> None:
        """Set the present folder aside and begin with an empty one.

        ``on_reset`` is called before the new folder is made: after a crash in between there is no
        folder, and it is called again. It is also called before the tier is ready, so that no
        search sees an empty index whose backlog is not known yet.
        """
        logger.info("starting the Chroma folder %s empty: %s", self._folder, why)
        self._set(LongState.COLD, f"being rebuilt: {why}")
        self._leave(sound=False)
        with contextlib.suppress(PermissionError):  # it cannot be read: kept, without a mark
            if self._folder.is_dir() and files.is_ours(self._folder):
                files.mark(self._folder)
        files.set_aside(self._folder)
        if not files.is_stamp(self._stamp_path):  # it would be overwritten
            files.set_aside(self._stamp_path)
        self._on_reset(why)
        self._folder.mkdir(mode=0o700)
        self._attach(1)
        self._set(LongState.READY, f"started empty: {why}")

    def _attach(self, unclean: int) -> ChromaFolder:
        """Open the folder with a new mark."""
        self._stamp = Stamp(self._stamp.identity, secrets.token_hex(8))
        self._set_mark(self._stamp.mark)
        write_stamp(self._stamp_path, replace(self._stamp, unclean=unclean))
        files.mark(self._folder)
        self._chroma, self._served = ChromaFolder(self._folder), 0
        files.make_private(self._folder)  # owned even if that fails
        return self._chroma

    def _leave(self, *, sound: bool) -> None:
        """Close the folder, if it is open; if `sound`, stamp it as closed in order."""
        with self._guard:
            drained = self._idle.wait_for(lambda: not self._running, DRAIN_SECONDS)
            chroma, self._chroma = self._chroma, None
        if chroma is None:
            return
        try:
            chroma.close()
        except ChromaFault as fault:
            logger.warning("Chroma did not close properly: %s", fault)
            return
        files.make_private(self._folder)
        if sound and drained:
            left = sum_of(self._folder, chroma_version())
            with contextlib.suppress(OSError):  # then it is probed next time
                write_stamp(self._stamp_path, replace(self._stamp, left=left))

    def _set(self, state: LongState, reason: str) -> None:
        with self._guard:
            self._state, self._reason = state, reason

    def _unavailable(self, state: LongState, reason: str) -> TierUnavailable:
        """Record why it cannot be used from now on; return the error that says so."""
        self._set(state, reason)
        return TierUnavailable("long", self.reason)

    # Asking, from any thread.

    @contextlib.contextmanager
    def _asking(self) -> Iterator[ChromaFolder]:
        """Yield the open folder for one call, and record its errors."""
        if os.getpid() != self._pid:  # before taking the lock, which a fork may have copied locked
            raise TierUnavailable("long", self.reason)
        with self._guard:
            chroma = self._chroma
            if self._state is not LongState.READY or chroma is None:
                raise TierUnavailable("long", self.reason)
            self._running += 1
        try:
            yield chroma
        except ChromaFault as fault:
            if fault.damage:
                self._note_damage(chroma, str(fault))
            raise TierUnavailable("long", str(fault)) from fault
        finally:
            with self._guard:
                self._running -= 1
                self._served += 1
                self._idle.notify_all()
                if self._served == SETTLED_AFTER and self._state is LongState.READY:
                    with contextlib.suppress(OSError):  # losing the note costs one rebuild
                        write_stamp(self._stamp_path, self._stamp)

    def _note_damage(self, chroma: ChromaFolder, problem: str) -> None:
        with self._guard:
            if self._chroma is chroma and self._state is LongState.READY:
                logger.warning("the Chroma folder %s is damaged: %s", self._folder, problem)
                self._state, self._reason = LongState.ASIDE, problem


def _parts(n: int) -> Iterator[slice]:
    for start in range(0, n, BATCH):
        yield slice(start, start + BATCH)
