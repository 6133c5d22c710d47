"""The long tier: a Chroma folder that finds memories by meaning, and that can be rebuilt.

Everything in it comes from the ledger, so every fault has the same cure: set the folder aside,
start with an empty one, and tell the caller (``on_reset``) to feed it again. One that is damaged
is replaced at most ``max_resets`` times per process; one that is missing, or of another embedder,
without counting.

    COLD ──open──▶ READY ──Chroma fails, or a vector is lost──▶ DAMAGED ──open──▶ READY (empty)
      ╰──▶ ELSEWHERE (another process owns the folder)   too many resets ──▶ GIVEN_UP

It does not know the ledger. `search` may be called from any thread; `open`, `upsert`, `remove`
and `healthy` only from the one background thread that feeds it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import threading
from collections import Counter
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memento.base import layout
from memento.config import LongConfig
from memento.errors import InvalidInput, StoreUnusable, TierUnavailable
from memento.tiers.check_in_child import ProbeCancelled, probe
from memento.tiers.chroma import (
    ChromaFault,
    ChromaFolder,
    ForkedFolder,
    LongSample,
    Sample,
    blank_all,
    by_collection,
    chroma_version,
    collection_name,
    load,
    refuse_if_shared,
)
from memento.tiers.folder import (
    FolderLock,
    Stamp,
    Taken,
    Trust,
    is_ours,
    is_stamp,
    judge,
    make_private,
    manifest,
    mark,
    read_stamp,
    set_aside,
    write_stamp,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

SYNC_ROWS = 1_000
"""Rows after which Chroma writes an index to the disk: the default of its ``sync_threshold``."""

OPEN_COLLECTIONS = 128
"""Number of namespaces used after which the folder is opened again: each keeps one to three
megabytes of Chroma's data in RAM. Chroma's own limit, ``hnsw_cache_size``, drops graphs that were
never written to the disk, and then does not find their rows."""

logger = logging.getLogger("memento.tiers")

_resets: Counter[Path] = Counter()
"""Resets after damage, by folder, in this process."""


class TooManyResets(Exception):
    """The folder is damaged again, and was replaced too often in this process."""


class LongState(StrEnum):
    """Whether the long tier can be searched."""

    COLD = "cold"
    """Not open: not needed yet, opening, or prevented by a temporary cause."""
    READY = "ready"
    """It answers from the rows written to it so far."""
    ELSEWHERE = "elsewhere"
    """Another owner has the folder; a later `open` may succeed."""
    DAMAGED = "damaged"
    """Its index cannot be trusted; the next `open` starts a new one."""
    GIVEN_UP = "given up"
    """It was damaged too often in this process; a new process helps."""
    CLOSED = "closed"
    """Closed for good."""


class LongTier:
    """A disposable semantic index over vectors that are stored in the ledger.

    The constructor does no I/O and does not import chromadb.

    Args:
        folder: The Chroma folder. ``<folder>.lock``, ``<folder>.json`` and at most one
            ``<folder>.bad-<time>`` that it made are beside it; its parent must exist.
        identity: Name of the embedder in use; a folder of another embedder is set aside.
        dim: Length of its vectors, >= 1.
        samples: Returns some rows that the folder should hold; called while opening.
        on_reset: Called with the reason whenever the folder starts empty, before it takes
            rows: the caller must queue everything again. It may be called more than once.
        marks: Returns the marks that the ledger knows of the folder which was fed last.
        set_marks: Stores one or two marks in their place; they must survive a crash.
        config: How to use Chroma.
    """

    def __init__(
        self,
        folder: Path,
        *,
        identity: str,
        dim: int,
        samples: Callable[[], Sequence[LongSample]],
        on_reset: Callable[[str], None],
        marks: Callable[[], Sequence[str]],
        set_marks: Callable[[Sequence[str]], None],
        config: LongConfig = LongConfig(),
    ) -> None:
        self._folder = Path(folder).absolute()
        self._stamp_path = layout.stamp_of(self._folder)
        self._identity, self._mark = identity, ""
        self._samples, self._on_reset = samples, on_reset
        self._marks, self._set_marks = marks, set_marks
        self._lock = FolderLock(layout.lock_of(self._folder))
        self._dim = dim
        self._config = config
        self._pid = os.getpid()
        self._gate = threading.Lock()  # one open, reset or close at a time
        self._guard = threading.RLock()  # guards all below
        self._idle = threading.Condition(self._guard)  # only waits; see ``forks``
        self._state = LongState.COLD
        self._reason = "Chroma is not loaded yet"
        self._chroma: ChromaFolder | None = None
        self._running = 0
        self._refreshing = False
        self._served = 0
        self._written = 0
        self._cancel = threading.Event()

    @property
    def state(self) -> LongState:
        """Whether it can be searched."""
        return LongState.ELSEWHERE if os.getpid() != self._pid else self._state

    @property
    def reason(self) -> str:
        """The reason of this state, as a sentence for people."""
        if os.getpid() != self._pid:
            return f"Chroma was opened by process {self._pid} before it was forked into this one"
        return self._reason

    def open(self) -> None:
        """Become the owner of the folder and open it; does nothing if it is open.

        A folder that cannot be trusted is set aside and replaced by an empty one. May take seconds
        (it imports chromadb, and may first check the folder in a child process).

        Raises:
            TierUnavailable: If another process owns the folder, this tier is closed or has
                given up, or a temporary cause (a full disk, a lock) prevents it.
        """
        self._import()
        with self._opening():
            if self._state is LongState.READY:
                return
            if self._state is LongState.GIVEN_UP:
                raise self._unavailable()
            damaged = self._state is LongState.DAMAGED
            how = self._rebuild(self._reason) if damaged else self._enter()
            self._set(LongState.READY, how)

    def close(self) -> None:
        """Close in order, so that the folder is trusted next time, and release it.

        Waits for running calls; stops an `open` that is checking the folder. An `open` that is
        importing chromadb notices it afterwards and never owns the folder.
        """
        if os.getpid() != self._pid:
            return
        self._cancel.set()
        with self._gate:
            if self._state is LongState.CLOSED:
                return
            sound = self._state is LongState.READY
            self._set(LongState.CLOSED, "this memory is closed")
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
        """Store rows and replace those with the same ids. Repeating it is harmless.

        Args:
            namespace: Namespace of the rows.
            ids: n different ids.
            vectors: (n, dim) float32, finite.
            metadatas: n mappings of facts for people who open Chroma; may be empty.

        Raises:
            InvalidInput: If the arguments do not fit together.
            TierUnavailable: If it is not ready or Chroma fails; some rows may be stored.
        """
        rows = self._checked("vectors", vectors, (len(ids), self._dim))
        if len(metadatas) != len(ids):
            raise InvalidInput("metadatas", f"{len(metadatas)} given for {len(ids)} ids")
        if len(set(ids)) != len(ids):
            raise InvalidInput("ids", "an id is given twice")
        name = collection_name(namespace)
        for part in self._parts(len(ids)):
            with self._asking() as chroma:
                chroma.upsert(name, ids[part], rows[part], metadatas[part])
        self._hide_new_files(len(ids))
        self._refresh()

    def _hide_new_files(self, rows: int) -> None:
        """Make Chroma's files private again when it may have made new ones.

        It makes one more in the folder of an index when that reaches ``SYNC_ROWS`` rows. Those of a
        new index are made private by `ChromaFolder`.
        """
        self._written += rows
        if self._written >= SYNC_ROWS:
            self._written = 0
            make_private(self._folder)

    def remove(self, namespace: tuple[str, ...], ids: Sequence[str]) -> None:
        """Remove rows from the index; unknown ids are ignored.

        The bytes of the vectors may stay in Chroma's files until the folder is set aside.

        Raises:
            TierUnavailable: If it is not ready or Chroma fails; some rows may be removed.
        """
        name = collection_name(namespace)
        for part in self._parts(len(ids)):
            with self._asking() as chroma:
                chroma.remove(name, ids[part])

    def search(
        self, namespace: tuple[str, ...], vector: NDArray[np.float32], n: int
    ) -> list[tuple[str, float]]:
        """Find the rows of a namespace nearest to a vector.

        Args:
            namespace: Namespace to search.
            vector: (dim,) float32, finite.
            n: Most rows to return, >= 1.

        Returns:
            (id, cosine similarity in [-1, 1]), best first; equal ones by id.

        Raises:
            InvalidInput: If the vector or `n` is not as described.
            TierUnavailable: If it is not ready or Chroma fails.
        """
        row = self._checked("vector", vector, (self._dim,))
        if n < 1:
            raise InvalidInput("n", f"must be at least 1, not {n}")
        with self._asking() as chroma:
            return chroma.search(collection_name(namespace), row[np.newaxis], n)[0]

    def count(self, namespace: tuple[str, ...]) -> int:
        """Count the rows of a namespace.

        Raises:
            TierUnavailable: If it is not ready or Chroma fails.
        """
        with self._asking() as chroma:
            return chroma.count(collection_name(namespace))

    def healthy(self, sample: Sequence[LongSample]) -> bool:
        """Check that stored vectors find themselves; if not, the tier is damaged from now on.

        Args:
            sample: Rows that were stored in it and not removed.

        Returns:
            Whether they do. After False the state is `DAMAGED`, and `open` repairs it.

        Raises:
            TierUnavailable: If it is not ready, or a temporary cause prevents the check.
        """
        try:
            with self._asking() as chroma:
                if problem := chroma.ailment(by_collection(sample), {}):
                    raise ChromaFault(problem, damage=True)
        except TierUnavailable:
            if self.state is LongState.DAMAGED:
                return False
            raise
        return True

    # Opening.

    def _import(self) -> None:
        """Import chromadb before owning the folder, so that `close` need not wait for it."""
        if self._chroma is not None:
            return
        with self._opening():
            pass  # no import if the folder has another owner
        try:
            load()
        except ChromaFault as fault:
            self._set(LongState.COLD, str(fault))
            raise self._unavailable() from fault

    # Everything down to `_set` runs under the gate.

    @contextlib.contextmanager
    def _opening(self) -> Iterator[None]:
        """Own the folder while the block runs, and afterwards unless the block fails."""
        if os.getpid() != self._pid:
            raise self._unavailable()
        with self._gate:
            if self._state is LongState.CLOSED:
                raise self._unavailable()
            self._claim()
            try:
                if self._chroma is None:
                    refuse_if_shared(self._folder)
                yield
            except ForkedFolder:
                self._set(LongState.ELSEWHERE, "it was open when this process was forked")
                raise self._unavailable() from None
            except TooManyResets as damage:
                self._set(LongState.GIVEN_UP, str(damage))
                raise self._unavailable() from None
            except ProbeCancelled:
                raise TierUnavailable("long", "closed while opening") from None
            except (ChromaFault, OSError) as error:
                self._set(LongState.COLD, f"it could not be opened: {error}")
                raise self._unavailable() from error
            finally:
                if self._chroma is None:
                    self._lock.release()

    def _claim(self) -> None:
        try:
            owned = self._lock.acquire()
        except (OSError, StoreUnusable) as error:
            self._set(LongState.COLD, f"its lock file cannot be used: {error}")
            raise self._unavailable() from error
        if not owned:
            self._set(LongState.ELSEWHERE, f"{self._lock.holder()} owns the Chroma folder")
            raise Taken("long", self._reason)

    def _enter(self) -> str:
        """Open the folder as it is if it can be trusted; otherwise start with an empty one.

        Returns:
            How the tier became ready, for people; as do the next two.
        """
        stamp = read_stamp(self._stamp_path)
        trust, why = judge(stamp, manifest(self._folder), self._stamp(), self._marks())
        if trust is Trust.ANEW or not isinstance(stamp, Stamp):
            return self._start_empty(why)
        held = by_collection(self._samples())
        if trust is Trust.CHECK and (problem := self._probe(held, stamp)):
            return self._rebuild(f"{why}; {problem}")
        if problem := self._load(held, stamp):
            return self._rebuild(problem)
        return "ready"

    def _rebuild(self, why: str) -> str:
        """Start with an empty folder after damage, unless that happened too often."""
        if (done := _resets[self._folder]) >= self._config.max_resets:
            self._leave(sound=False)
            raise TooManyResets(f"rebuilt {done} times in this process, and again {why}")
        _resets[self._folder] += 1
        return self._start_empty(why)

    def _start_empty(self, why: str) -> str:
        """Set the present folder aside and begin with an empty one.

        ``on_reset`` is called before the new folder is made: after a crash in between there is no
        folder, and it is called again. It is also called before the tier is ready, so that no
        search sees an empty index whose backlog is not known yet.
        """
        logger.info("starting the Chroma folder %s empty: %s", self._folder, why)
        self._set(LongState.COLD, f"being rebuilt: {why}")
        self._leave(sound=False)
        with contextlib.suppress(PermissionError):  # nobody may look into it: kept, without a mark
            if self._folder.is_dir() and is_ours(self._folder):
                mark(self._folder)
        set_aside(self._folder)
        if not is_stamp(self._stamp_path):  # it would be written over
            set_aside(self._stamp_path)
        self._on_reset(why)
        self._folder.mkdir(mode=0o700)
        self._attach(unclean=1)
        return f"started empty: {why}"

    def _probe(self, held: Mapping[str, Sequence[Sample]], known: Stamp) -> str | None:
        """Look at the folder in a child process; return its fault."""
        seconds, lock = self._config.probe_seconds, self._lock.fileno()
        return probe(
            self._folder, held, known.rows, seconds=seconds, lock=lock, cancel=self._cancel
        )

    def _load(self, held: Mapping[str, Sequence[Sample]], known: Stamp) -> str | None:
        """Open the folder as it is; return the damage that shows only then."""
        try:
            if not known.clean:
                blank_all(self._folder)
            chroma = self._attach(unclean=known.unclean + 1, before=known.mark)
            return chroma.ailment(held, known.rows)
        except ChromaFault as fault:
            if fault.damage:
                return str(fault)
            self._leave(sound=False)
            raise

    def _attach(self, *, unclean: int, before: str | None = None) -> ChromaFolder:
        """Open the folder with a new mark; until the stamp has it, the old mark is valid also."""
        self._mark = secrets.token_hex(8)
        self._set_marks([self._mark] if before is None else [self._mark, before])
        write_stamp(self._stamp_path, replace(self._stamp(), unclean=unclean))
        if before is not None:
            self._set_marks([self._mark])
        mark(self._folder)
        self._chroma, self._served = ChromaFolder(self._folder), 0
        make_private(self._folder)  # it is owned even if that fails
        return self._chroma

    def _stamp(self) -> Stamp:
        return Stamp(self._identity, self._dim, chroma_version(), mark=self._mark)

    def _refresh(self) -> None:
        """Open the folder again when too many graphs are in RAM; its state does not change.

        Chroma does not drop any by itself. A search in the meantime waits for a tenth of a second.
        """
        chroma = self._chroma
        if chroma is None or chroma.opened <= OPEN_COLLECTIONS:
            return
        with self._gate:
            if self._chroma is not chroma or self._state is not LongState.READY:
                return
            self._refreshing = True
            try:
                if self._drain():  # otherwise a search hangs; try again later
                    self._chroma = None
                    chroma.close()
                    self._chroma = ChromaFolder(self._folder)
            except ChromaFault as fault:
                self._set(LongState.COLD, f"it could not be opened again: {fault}")
                self._lock.release()
            finally:
                with self._guard:
                    self._refreshing = False
                    self._idle.notify_all()

    def _leave(self, *, sound: bool) -> None:
        """Close the folder, if it is open; if `sound`, stamp it as trustworthy."""
        drained = self._drain()
        chroma, self._chroma = self._chroma, None
        if chroma is None:
            return
        try:
            rows = {name: chroma.count(name) for name in chroma.names()} if sound else {}
            chroma.close()
        except ChromaFault as fault:
            logger.warning("Chroma did not close in order: %s", fault)
            return
        make_private(self._folder)
        if sound and drained:
            stamp = replace(self._stamp(), clean=True, files=manifest(self._folder), rows=rows)
            with contextlib.suppress(OSError):  # then it is probed next time
                write_stamp(self._stamp_path, stamp)

    def _drain(self) -> bool:
        with self._guard:
            return self._idle.wait_for(lambda: not self._running, self._config.drain_seconds)

    def _set(self, state: LongState, reason: str) -> None:
        with self._guard:
            self._state, self._reason = state, reason

    # Asking, from any thread.

    @contextlib.contextmanager
    def _asking(self) -> Iterator[ChromaFolder]:
        """Lend the open folder to one call, and record its errors."""
        chroma = self._lend()
        try:
            yield chroma
        except ChromaFault as fault:
            if fault.damage:
                self._note_damage(chroma, str(fault))
            raise TierUnavailable("long", str(fault)) from fault
        finally:
            self._take_back()

    def _lend(self) -> ChromaFolder:
        if os.getpid() != self._pid:  # before taking the lock, which a fork may have copied locked
            raise self._unavailable()
        with self._guard:
            self._idle.wait_for(lambda: not self._refreshing, self._config.drain_seconds)
            if self._state is not LongState.READY or self._chroma is None:
                raise TierUnavailable("long", self._reason)
            self._running += 1
            return self._chroma

    def _take_back(self) -> None:
        with self._guard:
            self._running -= 1
            self._served += 1
            settled = self._served == self._config.settled_after
            self._idle.notify_all()
            if settled and self._state is LongState.READY:
                with contextlib.suppress(OSError):  # a lost note costs one rebuild
                    write_stamp(self._stamp_path, self._stamp(), durable=False)

    def _note_damage(self, chroma: ChromaFolder, problem: str) -> None:
        with self._guard:
            if self._chroma is chroma and self._state is LongState.READY:
                logger.warning("the Chroma folder %s is damaged: %s", self._folder, problem)
                self._state, self._reason = LongState.DAMAGED, problem

    def _unavailable(self) -> TierUnavailable:
        return TierUnavailable("long", self.reason)

    def _parts(self, n: int) -> Iterator[slice]:
        for start in range(0, n, self._config.batch):
            yield slice(start, start + self._config.batch)

    def _checked(
        self, field: str, given: NDArray[np.float32], shape: tuple[int, ...]
    ) -> NDArray[np.float32]:
        array = np.ascontiguousarray(given, np.float32)
        if array.shape != shape:
            raise InvalidInput(field, f"shape {array.shape}, expected {shape}")
        if not np.isfinite(array).all():
            raise InvalidInput(field, "holds NaN or infinity")
        return array
