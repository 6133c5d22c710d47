"""Background thread that keeps the vector indexes up to date.

It processes the ledger's backlog: it embeds texts in small batches, writes the vectors to the
ledger, and then to the long tier. Each step can be repeated, so after a crash the work is simply
done again. It waits while a query is running, and does housekeeping in quiet moments: the snapshot
and the write-ahead log.
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

from memento.config.tiers import IndexConfig
from memento.errors import (
    EmbedderError,
    InvalidInput,
    MementoError,
    MissingExtra,
    StoreClosed,
    TierUnavailable,
)
from memento.ledger import vectors
from memento.ledger.checks import Sees, everyone
from memento.ledger.contract import Ledger
from memento.ledger.vectors import Owed
from memento.tiers.refused import Refused

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger("memento.tiers.indexer")

EXIT_SECONDS = 30.0
"""Longest wait, in seconds, when the interpreter ends, for a thread that is still loading."""

_BLOCKS = {"embedder": {"embed"}, "long": {"index", "drop"}, "store": {"embed", "index", "drop"}}
"""Backlog operations that cannot be done while a part has a problem."""
_UNFIT = (EmbedderError, InvalidInput, MissingExtra)
"""Errors of an embedder that cannot work: broken, misnamed or not installed."""


class Index(Protocol):
    """The part of the long tier that the indexer uses."""

    def upsert(  # noqa: D102 - see LongTier
        self,
        namespace: tuple[str, ...],
        ids: Sequence[str],
        vectors: NDArray[np.float32],
        metadatas: Sequence[dict[str, str | int]],
    ) -> None: ...

    def remove(self, namespace: tuple[str, ...], ids: Sequence[str]) -> None: ...  # noqa: D102


class Embedding(Protocol):
    """The part of the embedder that the indexer uses: vectors, and the number they get."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...  # noqa: D102 - see Embedder

    def warm(self) -> None: ...  # noqa: D102 - loads what embed() needs

    def model(self) -> int: ...  # noqa: D102 - number in the ledger


class Indexer:
    """Processes the backlog in one daemon thread, started on first use.

    Args:
        ledger: The ledger with the backlog and the vectors.
        embedding: The embedder, or None to leave the work to a process that has one.
        open_index: Returns the open long tier; called only from the background thread.
        index_lost: Tells whether the long tier's index is lost and must be rebuilt.
        chores: Called before each batch; does work that must not wait for the backlog.
        take_up: Called before each round of work; puts new memories on the backlog.
        waiting: Tells whether there are new memories that are not on the backlog yet.
        housekeeping: Called in quiet moments.
        busy: Tells whether a query is running now.
        streaming: Tells whether adds follow each other closely now.
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
        self._embedding = None if embedding is None else _Contained(embedding)
        self._open_index = open_index
        self._index_lost = index_lost
        self._wanted = False
        self._again = False
        self._refused = Refused(ledger)
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
        self._settling = threading.RLock()
        self._settled = threading.Condition(self._settling)  # only waits; see ``forks``
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.trouble: dict[str, str] = {}
        """Parts that do not work at present: ``embedder``, ``long`` or ``store`` to the reason.

        No reason names or quotes a memory. Problems of single texts are in ``trouble_for``.
        """
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

    def trouble_for(self, sees: Sees) -> dict[str, str]:
        """Report present problems to a caller who sees these namespaces and no others."""
        found = dict(self.trouble)
        if "embedder" not in found and (why := self._refused.told(sees)):
            found["embedder"] = why
        return found

    def refused_unseen(self, sees: Sees) -> int:
        """Count the texts of other namespaces that the embedder refused."""
        return self._refused.unseen(sees)

    def wait(
        self,
        timeout: float | None,
        owed: Callable[[], bool] | None = None,
        *,
        sees: Sees = everyone,
    ) -> bool:
        """Wait until the backlog is empty, as far as this process can process it.

        Args:
            timeout: Seconds to wait at most, or None.
            owed: Tells whether there is still something to wait for; None for the whole backlog.
            sees: The caller's namespaces; refused texts of other namespaces are not waited for.

        Returns:
            Whether the backlog was processed.
        """
        owed = owed or (lambda: self._owes(sees))
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            self.start()
            with self._settling:
                if not owed():
                    return True
                left = None if deadline is None else deadline - time.monotonic()
                if self._stopping or (left is not None and left <= 0):
                    return False
                if (self.trouble or self._refused) and self._given_up():
                    return False
                self._settled.wait(min(0.2, left) if left is not None else 0.2)

    def stop(self, timeout: float) -> None:
        """End the thread after its current batch; the rest stays in the backlog.

        A thread that is still loading the model or Chroma has no batch; it is not waited for and
        ends by itself later.
        """
        self._stop.set()
        self._wake.set()
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return
        deadline = time.monotonic() + timeout
        while thread.is_alive() and not self._loading and time.monotonic() < deadline:
            thread.join(0.01)
        if thread.is_alive():
            _left.add(thread)

    @property
    def _stopping(self) -> bool:
        return self._stop.is_set()

    def _owes(self, sees: Sees = everyone) -> bool:
        ops = self._ops()

        def on_backlog() -> bool:
            if others := self._refused.unseen(sees):
                return sum(self._ledger.read(vectors.backlog_size).values()) > others
            return bool(self._ledger.read(lambda c: vectors.owed(c, ops, 1)))

        return bool(ops) and (
            self._wanted
            or on_backlog()
            or self._waiting()
            or on_backlog()  # memories put on the backlog since the first check
        )

    def _ops(self) -> tuple[str, ...]:
        if self._embedding is None:
            return ()
        return ("embed", "index", "drop")

    def _given_up(self) -> bool:
        """Whether the rest of the backlog cannot be processed while the problem lasts."""
        left = self._ledger.read(vectors.backlog_size)
        stuck = {op for name in list(self.trouble) for op in _BLOCKS[name]}
        if left.get("embed", 0) <= len(self._refused.owed()):
            stuck.add("embed")
        return set(left) <= stuck

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the thread, after its current batch, while the block runs."""
        with self._lock:
            self._pausing += 1
        try:
            with self._turn:
                yield
        finally:
            with self._lock:
                self._pausing -= 1

    def want_index(self) -> None:
        """Open the long tier even without a backlog for it, because a search would use it."""
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
        self._stop.wait(self._config.start_seconds)
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
            except BaseException as error:  # such as a clock of the application that exits
                log.exception("the indexer met an unexpected error; it continues")
                unknown = f"{type(error).__name__}, see the log"  # its text may quote a memory
                self._trouble("store", MementoError(unknown))
            self._tell_waiting()
            self._wake.wait(self._config.poll_seconds)
            self._stop.wait(self._config.start_seconds)  # a burst of writes is processed together

    def _work(self, *, news: bool) -> bool:
        """Do the present work, unless ``paused``; tell whether there may be more at once."""
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
        """Do one batch of each kind of work; tell whether there may be more."""
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
        lines = [line for line in owed if line not in self._refused]
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
        self._well("embedder")
        return True

    def _embedded(self, embedding: Embedding, bite: Sequence[Owed]) -> list[tuple[Owed, bytes]]:
        """Embed a batch; if that fails, each text alone, so that one bad text delays no other.

        Raises:
            EmbedderError: If it embeds no text at all: the fault is the embedder's, not a text's.
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
        """Skip a text until this process ends; full text still finds it."""
        self._refused.note(line, error)
        log.warning(
            "the embedder refused a text (%s); for id and why see store.stats().trouble of its"
            " namespace",
            type(error).__name__,
        )

    def _bites(self, lines: Sequence[Owed]) -> list[list[Owed]]:
        """Cut lines into batches of texts of similar length, short ones first."""
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
        """Mark that no work is lost if the process ends during the block."""
        self._loading = True
        try:
            yield
        finally:
            self._loading = False

    def _trouble(self, where: str, error: Exception) -> None:
        """Record a failure and pause that stage, longer each time, up to a minute."""
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
        """Let queries go first, and also adds while the backlog is short; but not for ever."""
        deadline = time.monotonic() + 0.1
        while (
            (self._busy() or (self._streaming() and not self._behind))
            and not self._stopping
            and time.monotonic() < deadline
        ):
            time.sleep(0.001)

    def _tell_waiting(self) -> None:
        with self._settling:
            self._settled.notify_all()


class _Contained:
    """An embedder that ends no thread: it may raise SystemExit, and some libraries do.

    No signal handler runs in a background thread, so nobody else meant it.
    """

    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        with _contained():
            return self._embedding.embed(texts)

    def warm(self) -> None:
        with _contained():
            self._embedding.warm()

    def model(self) -> int:
        with _contained():
            return self._embedding.model()


@contextmanager
def _contained() -> Iterator[None]:
    try:
        yield
    except Exception:
        raise
    except BaseException as error:
        raise EmbedderError(f"the embedder raised {type(error).__name__}: {error}") from error


_left: weakref.WeakSet[threading.Thread] = weakref.WeakSet()


@atexit.register
def _wait_for_the_left() -> None:
    """Wait for threads that are still inside the libraries they were loading.

    An interpreter that ends stops a thread where it returns to Python. Inside the C++ code of an
    inference runtime that aborts the whole process, with an exit status of failure.
    """
    for thread in list(_left):
        thread.join(EXIT_SECONDS)


def spoken(line: Owed) -> str:
    """Compose the text to embed for a memory: the speaker and the text."""
    return f"{line.speaker}: {line.text}" if line.speaker else line.text
