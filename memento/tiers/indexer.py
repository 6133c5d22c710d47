"""The background thread that owes the indexes nothing for long.

It works off the ledger's backlog: embeds in small bites, writes the vectors to the ledger, then
tells the long tier. Each step can be repeated, so a crash anywhere is a replay. It waits while a
query is in flight, and keeps house in quiet moments: snapshot, write-ahead log.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Protocol

from memento.errors import (
    EmbedderError,
    InvalidInput,
    MementoError,
    MissingExtra,
    StoreClosed,
    TierUnavailable,
)
from memento.ledger import vectors
from memento.ledger.ledger import Ledger
from memento.ledger.vectors import Owed
from memento.tiers.config import IndexConfig

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger("memento.tiers.indexer")

EXIT_SECONDS = 30.0
"""Longest wait, when the interpreter ends, for a thread that was left loading."""

_BLOCKS = {"embedder": {"embed"}, "long": {"index", "drop"}, "store": {"embed", "index", "drop"}}
"""What cannot be settled while a part is in trouble."""
_UNFIT = (EmbedderError, InvalidInput, MissingExtra)
"""What an embedder raises that cannot work: broken, misnamed or not installed."""


class Index(Protocol):
    """What the indexer asks of the long tier."""

    def upsert(  # noqa: D102 - see LongTier
        self,
        namespace: tuple[str, ...],
        ids: Sequence[str],
        vectors: NDArray[np.float32],
        metadatas: Sequence[dict[str, str | int]],
    ) -> None: ...

    def remove(self, namespace: tuple[str, ...], ids: Sequence[str]) -> None: ...  # noqa: D102


class Embedding(Protocol):
    """What the indexer asks of the embedder: vectors, and under which number they are stored."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...  # noqa: D102 - see Embedder

    def warm(self) -> None: ...  # noqa: D102 - loads what embed() needs

    def model(self) -> int: ...  # noqa: D102 - number in the ledger


class Indexer:
    """Works off the backlog in one daemon thread, started on first need.

    Args:
        ledger: Where backlog and vectors are.
        embedding: The embedder, or None to leave all this to a process that has one.
        open_index: Returns the long tier, open; called from the background thread only.
        index_lost: Tells whether the long tier's index is gone and has to be made again.
        chores: Called before each bite; does what must not wait for the backlog.
        take_up: Called before each round of work; puts on the backlog what just came.
        waiting: Tells whether anything came that is not on the backlog yet.
        housekeeping: Called in quiet moments.
        busy: Tells whether somebody asks right now.
        streaming: Tells whether one add follows the other right now.
        config: Sizes and pauses.
    """

    def __init__(
        self,
        ledger: Ledger,
        embedding: Embedding | None,
        open_index: Callable[[], Index],
        index_lost: Callable[[], bool],
        *,
        chores: Callable[[], None],
        take_up: Callable[[], None],
        waiting: Callable[[], bool],
        housekeeping: Callable[[], None],
        busy: Callable[[], bool],
        streaming: Callable[[], bool],
        config: IndexConfig,
    ) -> None:
        self._ledger = ledger
        self._embedding = embedding
        self._open_index = open_index
        self._index_lost = index_lost
        self._wanted = False
        self._again = False
        self._refused: set[int] = set()
        self._loading = False
        self._chores = chores
        self._take_up = take_up
        self._waiting = waiting
        self._housekeeping = housekeeping
        self._turn = threading.Lock()
        self._pausing = 0
        self._busy = busy
        self._streaming = streaming
        self._behind = False
        self._config = config
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._settled = threading.Condition()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self.trouble: dict[str, str] = {}
        """What does not work at present: ``embedder``, ``long`` or ``store`` to the reason."""
        self._pauses: dict[str, tuple[float, float]] = {}

    def start(self) -> None:
        """Start the thread if it does not run, and tell it there is work."""
        if self._thread is None or not self._thread.is_alive():
            with self._lock:
                if not self._stopping and (self._thread is None or not self._thread.is_alive()):
                    self._wanted |= self._embedding is not None and self._index_lost()
                    self._thread = threading.Thread(
                        target=self._run, name="memento-indexer", daemon=True
                    )
                    self._thread.start()
        if self._embedding is not None and not self._wake.is_set():
            self._wake.set()

    def wait(self, timeout: float | None, owed: Callable[[], bool] | None = None) -> bool:
        """Wait until nothing is owed that this process can settle.

        Args:
            timeout: Seconds to wait at most, or None.
            owed: Tells whether there is still something to wait for; None for all of the backlog.

        Returns:
            Whether it was worked off.
        """
        owed = owed or self._owes
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            self.start()
            with self._settled:
                if not owed():
                    return True
                left = None if deadline is None else deadline - time.monotonic()
                if self._stopping or (left is not None and left <= 0):
                    return False
                if self.trouble and self._given_up():
                    return False
                self._settled.wait(min(0.2, left) if left is not None else 0.2)

    def stop(self, timeout: float) -> None:
        """End the thread after the bite in hand; the rest stays in the backlog.

        A thread that is still loading the model or Chroma has nothing in hand and is left to
        find out by itself.
        """
        self._stopping = True
        self._wake.set()
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return
        deadline = time.monotonic() + timeout
        while thread.is_alive() and not self._loading and time.monotonic() < deadline:
            thread.join(0.01)
        if thread.is_alive():
            _left.add(thread)

    def _owes(self) -> bool:
        ops = self._ops()

        def on_backlog() -> bool:
            return bool(self._ledger.read(lambda c: vectors.owed(c, ops, 1)))

        return bool(ops) and (
            self._wanted
            or on_backlog()
            or self._waiting()
            or on_backlog()  # what was taken up since it was asked first
        )

    def _ops(self) -> tuple[str, ...]:
        if self._embedding is None:
            return ()
        return ("embed", "index", "drop")

    def _given_up(self) -> bool:
        """Whether what is left cannot be settled while the trouble lasts."""
        left = self._ledger.read(vectors.backlog_size)
        stuck = {op for name in list(self.trouble) for op in _BLOCKS[name]}
        return set(left) <= stuck

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let the thread stand still, after the bite in hand, while the block runs."""
        with self._lock:
            self._pausing += 1
        try:
            with self._turn:
                yield
        finally:
            with self._lock:
                self._pausing -= 1

    def want_index(self) -> None:
        """Open the long tier even if nothing is owed to it: a search would use it."""
        self._wanted = True
        self.start()

    def retry(self) -> None:
        """Forget earlier failures and try again at once."""
        self.trouble.clear()
        self._refused.clear()
        self._pauses.clear()
        self._again = True
        self.start()

    def _run(self) -> None:
        time.sleep(self._config.start_seconds)
        seen = -1
        while not self._stopping:
            try:
                version = self._ledger.data_version()
                news = version != seen or bool(self.trouble) or self._wanted or self._again
                seen = version
                if self._again:
                    self._again = False
                self._wake.clear()
                if self._ready("store") and self._work(news=news):
                    continue
            except StoreClosed:
                return
            except MementoError as error:
                self._trouble("store", error)
            except Exception as error:
                log.exception("the indexer met what it does not know; it goes on")
                self._trouble("store", error)
            self._tell_waiting()
            self._wake.wait(self._config.poll_seconds)
            time.sleep(self._config.start_seconds)  # lets a burst of writes come together

    def _work(self, *, news: bool) -> bool:
        """Do what there is to do, unless ``paused``; tell whether there may be more at once."""
        while self._pausing and not self._stopping:
            time.sleep(0.001)
        with self._turn:
            self._chores()
            if news and self._round():
                return True
            self._housekeeping()
            self._well("store")
            return False

    def _round(self) -> bool:
        """Do one bite of everything; tell whether there may be more."""
        worked = False
        if self._embedding is None:
            return False
        self._behind = self._ledger.read(lambda c: vectors.is_behind(c, self._config.behind_rows))
        self._give_way()
        self._take_up()
        if self._ready("embedder"):
            worked = self._embed_bite(self._embedding)
        if self._ready("long") and not self._stopping:
            worked = self._index_bite(self._embedding) or worked
        return worked

    def _embed_bite(self, embedding: Embedding) -> bool:
        room = self._config.index_rows + len(self._refused)
        owed = self._ledger.read(lambda c: vectors.owed(c, ("embed",), room))
        lines = [line for line in owed if line.docid not in self._refused]
        if not lines:
            return False
        try:
            with self._at_leisure():
                model = embedding.model()
                embedding.warm()
            for bite in self._bites(lines):
                self._give_way()
                if self._stopping:
                    break
                stored = self._embedded(embedding, bite)
                self._ledger.write(lambda c, stored=stored: vectors.store(c, model, stored))  # type: ignore[misc]
            self._tell_waiting()
        except _UNFIT as error:
            self._trouble("embedder", error)
            return False
        if not self._refused:
            self._well("embedder")
        return True

    def _embedded(self, embedding: Embedding, bite: Sequence[Owed]) -> list[tuple[Owed, bytes]]:
        """Embed a bite; if that fails, each text alone, so that one bad text holds up no other.

        Raises:
            EmbedderError: If it takes no text at all: the embedder is at fault, not a text.
        """
        try:
            made = embedding.embed([spoken(line) for line in bite])
        except _UNFIT as error:
            if len(bite) == 1:
                embedding.embed(["Does the embedder take any text?"])
                self._refuse(bite[0], error)
                return []
            return [pair for line in bite for pair in self._embedded(embedding, [line])]
        return [(line, made[at].tobytes()) for at, line in enumerate(bite)]

    def _refuse(self, line: Owed, error: Exception) -> None:
        """Pass a text over for the life of this process; full text finds it all the same."""
        self._refused.add(line.docid)
        refused = f"{len(self._refused)} texts refused, the last one {line.id}: {error}"
        log.warning("%s", refused)
        self.trouble["embedder"] = refused

    def _bites(self, lines: Sequence[Owed]) -> list[list[Owed]]:
        """Cut lines into bites of texts of like length, short ones first."""
        bites: list[list[Owed]] = []
        for line in sorted(lines, key=lambda line: len(line.text)):
            last = bites[-1] if bites else None
            if (
                last
                and len(last) < self._config.bite_texts
                and (len(last) + 1) * len(line.text) <= self._config.bite_chars
            ):
                last.append(line)
            else:
                bites.append([line])
        return bites

    def _index_bite(self, embedding: Embedding) -> bool:
        lines = self._ledger.read(
            lambda c: vectors.owed(c, ("index", "drop"), self._config.index_rows)
        )
        if not lines and not self._wanted:
            return False
        try:
            self._give_way()
            with self._at_leisure():
                index = self._open_index()
            self._wanted = False
            for ns, group in groupby(lines, key=lambda line: line.ns):
                self._tell_index(index, embedding, self._ledger.labels(ns), list(group))
        except (TierUnavailable, *_UNFIT) as error:
            self._trouble("long", error)
            return False
        self._well("long")
        if lines:
            self._ledger.write(lambda c: vectors.settle(c, lines))
        return bool(lines)

    def _tell_index(
        self, index: Index, embedding: Embedding, labels: tuple[str, ...], lines: list[Owed]
    ) -> None:
        import numpy as np  # noqa: PLC0415 - must not load with memento

        model = embedding.model()
        keep = [line for line in lines if line.op == "index"]
        held = self._ledger.read(lambda c: vectors.read(c, [line.docid for line in keep], model))
        keep = [line for line in keep if line.docid in held]
        if keep:
            matrix = np.stack([np.frombuffer(held[line.docid], np.float32) for line in keep])
            index.upsert(
                labels, [line.id for line in keep], matrix, [{"tier": x.tier} for x in keep]
            )
        gone = [line.id for line in lines if line.op == "drop"]
        if gone:
            index.remove(labels, gone)

    @contextmanager
    def _at_leisure(self) -> Iterator[None]:
        """Mark that nothing would be lost if the process ended here."""
        self._loading = True
        try:
            yield
        finally:
            self._loading = False

    def _trouble(self, where: str, error: Exception) -> None:
        """Note a failure and pause that stage, longer each time, up to a minute."""
        if self.trouble.get(where) != str(error) and not self._stopping:
            log.warning("%s", error)
        self.trouble[where] = str(error)
        _, pause = self._pauses.get(where, (0.0, self._config.retry_seconds / 2))
        pause = min(60.0, pause * 2)
        self._pauses[where] = (time.monotonic() + pause, pause)

    def _well(self, where: str) -> None:
        self.trouble.pop(where, None)
        self._pauses.pop(where, None)

    def _ready(self, where: str) -> bool:
        not_before, _ = self._pauses.get(where, (0.0, 0.0))
        return time.monotonic() >= not_before

    def _give_way(self) -> None:
        """Let queries go first, and while little is owed a stream of adds; but not forever."""
        deadline = time.monotonic() + 0.1
        while (
            (self._busy() or (self._streaming() and not self._behind))
            and not self._stopping
            and time.monotonic() < deadline
        ):
            time.sleep(0.001)

    def _tell_waiting(self) -> None:
        with self._settled:
            self._settled.notify_all()


_left: weakref.WeakSet[threading.Thread] = weakref.WeakSet()


@atexit.register
def _wait_for_the_left() -> None:
    """Let threads that were left behind come out of the libraries they were loading.

    An interpreter that ends meanwhile stops a thread where it returns to Python. Inside the C++
    of an inference runtime that aborts the whole process, with an exit status of failure.
    """
    for thread in list(_left):
        thread.join(EXIT_SECONDS)


def spoken(line: Owed) -> str:
    """Compose what is embedded of a memory: who says it, and what."""
    return f"{line.speaker}: {line.text}" if line.speaker else line.text
