"""The long tier on a Chroma server, which several machines share.

Whenever the server fails, exact search over the ledger's vectors answers instead, and ``reason``
says why. Each call has a deadline, because a frozen server would block its caller for ever.

The collections of one index have its mark in their names, as has an extra one without rows, which
names the embedder. The ledger holds the mark in use. A process that finds that index missing,
foreign or damaged begins a new one. All rows then go on the backlog, and writing them to the old
index removes none from it. So no process needs to own the server.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import re
import secrets
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

from memento.errors import TierUnavailable
from memento.ledger import vectors
from memento.tiers.chroma import (
    ChromaFault,
    Collections,
    LongSample,
    Samples,
    collection_name,
    faults,
    forget_client,
    load,
    settings,
)
from memento.tiers.folder import LongState
from memento.tiers.long_tier import MAX_RESETS, Index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memento.config import ChromaConfig
    from memento.ledger.contract import Ledger

T = TypeVar("T")

log = logging.getLogger("memento.tiers.chroma_server")

OLDEST = (1, 5, 9)
"""An earlier server in Python runs code that a stranger names (CVE-2026-45829)."""
IN_RUST = "1.0.0"
"""The version that every server in Rust reports; only those have the path `HEALTH`."""
HEALTH = "/healthcheck"
SHARE = 0.9
"""Share of the time for a call that its connection has, to end before the thread is abandoned."""
CONNECTS = 3
"""Factor for the time to connect, which takes several calls, in the background."""
LISTED = 1_000
"""Collections that are listed at once."""

_damaged: Counter[str] = Counter()
"""Indexes found damaged in this process, by address."""


class ServerCollections(Collections):
    """The collections of one index on a server; a call that takes too long is a `ChromaFault`."""

    def __init__(self, config: ChromaConfig) -> None:
        super().__init__()
        self._config = config
        with faults():
            for name in ("httpx", "chromadb.api.fastapi"):  # slow, and no call to the server
                importlib.import_module(name)
        self._client = self.within(self._connect, self._config.call_seconds * CONNECTS)

    def within(self, job: Callable[[], T], seconds: float | None = None) -> T:
        """Run a job in its own thread, and abandon it when its time is over."""
        seconds = seconds or self._config.call_seconds
        done: list[T] = []
        failed: list[BaseException] = []

        def run() -> None:
            try:
                with faults():
                    done.append(job())
            except BaseException as error:  # noqa: BLE001 - raised below, in the caller's thread
                failed.append(error)

        thread = threading.Thread(target=run, name="memento-chroma", daemon=True)
        thread.start()
        thread.join(seconds)
        if failed and isinstance(failed[0], ChromaFault):  # `open` finds out whether it is damage
            raise ChromaFault(str(failed[0]), damage=False) from failed[0]
        if failed:
            raise failed[0]
        if not done:
            problem = f"no answer within {seconds:g} s"
            raise ChromaFault(problem, damage=False)
        return done[0]

    def _connect(self) -> Any:
        host, port, tls = self._config.place()
        token, seconds = self._config.token, SHARE * self._config.call_seconds
        sent = {"Authorization": f"Bearer {token}", "X-Chroma-Token": token} if token else {}
        address = f"http{'s' * tls}://{f'[{host}]' if ':' in host else host}:{port}/api/v2"
        httpx = importlib.import_module("httpx")
        with httpx.Client(base_url=address, headers=sent, timeout=seconds, verify=tls) as asking:
            _refuse_old(asking)
        # Without TLS no client needs the certificates, which take 20 ms of CPU to read.
        chosen = settings("chromadb.api.fastapi.FastAPI", verify=None if tls else False)
        chromadb = importlib.import_module("chromadb")
        client = chromadb.HttpClient(host, port, tls, headers=sent, settings=chosen)
        for session in _sessions(client):
            session.timeout = seconds  # else abandoned threads stay for ever
        return client

    def close(self) -> None:
        """Close the connections, which Chroma would leave open, and let Chroma forget them."""
        for session in _sessions(self._client):
            with contextlib.suppress(ChromaFault):
                self.within(session.close)
        forget_client(self._client)

    def count(self, name: str) -> int:
        """Count the rows of a collection; 0 if it does not exist."""
        return self.within(lambda: super(ServerCollections, self).count(name))

    def upsert(
        self,
        name: str,
        ids: Sequence[str],
        vectors: NDArray[np.float32],
        metadatas: Sequence[Mapping[str, str | int]],
    ) -> None:
        """Store rows; see `Collections`."""
        self.within(lambda: super(ServerCollections, self).upsert(name, ids, vectors, metadatas))

    def remove(self, name: str, ids: Sequence[str]) -> None:
        """Remove rows; unknown ids are ignored."""
        self.within(lambda: super(ServerCollections, self).remove(name, ids))

    def search(
        self, name: str, vectors: NDArray[np.float32], n: int
    ) -> list[list[tuple[str, float]]]:
        """Find the nearest of each vector; see `Collections`."""
        return self.within(lambda: super(ServerCollections, self).search(name, vectors, n))

    def identity(self, mark: str) -> str | None:
        """Return the name of the embedder of an index; None if the server lacks the index."""
        found = self.within(lambda: self._find(_named(mark)))
        return None if found is None else str((found.metadata or {}).get("embedder"))

    def begin(self, mark: str, identity: str) -> None:
        """Create an empty index."""
        about = {"memento_format": 1, "embedder": identity}
        name = _named(mark)
        self.within(
            lambda: self._client.get_or_create_collection(
                name, embedding_function=None, metadata=about
            )
        )

    def drop(self, marks: Sequence[str]) -> None:
        """Delete indexes."""
        names = self.within(self._names)
        errors = importlib.import_module("chromadb.errors")
        for name in names:
            if name.startswith(tuple(map(_named, marks))):
                with contextlib.suppress(errors.NotFoundError):  # another process was faster
                    self.within(lambda name=name: self._client.delete_collection(name))  # type: ignore[misc]

    def _names(self) -> list[str]:
        found: list[str] = []
        while len(found) % LISTED == 0:
            page = self._client.list_collections(limit=LISTED, offset=len(found))
            found += [one.name for one in page]
            if not page:
                break
        return found


def _named(mark: str) -> str:
    return f"memento-{mark}"


def _sessions(client: Any) -> list[Any]:
    return [one._server._session for one in (client, client._admin_client)]  # noqa: SLF001 - it has neither timeout nor end


def _refuse_old(asking: Any) -> None:
    """Raise `ChromaFault` if the server reports a version that is too old."""
    reply = asking.get("/version")
    version = str(reply.raise_for_status().json())
    if version == IN_RUST and asking.get(HEALTH).is_success:
        return
    numbers = tuple(map(int, re.findall(r"\d+", version)[: len(OLDEST)]))
    if numbers < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ChromaFault(
            f"version {version} is not supported; {oldest} is the oldest supported version",
            damage=False,
        )


class ServerTier(Index):
    """A disposable index over vectors that are stored in the ledger, on a server.

    `search` may be called from any thread; `open`, `upsert`, `remove` and `healthy` only from the
    one background thread that feeds it. All of them raise `TierUnavailable`.

    Args:
        ledger: The ledger, which names the index in use and has the backlog.
        config: Where the server is.
        model: Number of the embedder.
        identity: Its name.
        samples: Returns some rows that the index should hold; called while opening.
        on_fault: Called with the error of a search, from its thread.
    """

    def __init__(
        self,
        ledger: Ledger,
        config: ChromaConfig,
        *,
        model: int,
        identity: str,
        samples: Callable[[], Sequence[LongSample]],
        on_fault: Callable[[TierUnavailable], object],
    ) -> None:
        self._ledger, self._config = ledger, config
        self._model, self._identity, self._samples = model, identity, samples
        self._on_fault = on_fault
        self._pid = os.getpid()
        self._gate = threading.Lock()  # one open at a time
        self._server: ServerCollections | None = None
        self._state, self._reason = LongState.COLD, "Chroma is not asked yet"
        self._doubted: str | None = None
        """Mark of an index that was found damaged."""
        self._closed = False

    @property
    def state(self) -> LongState:
        """Whether it can be searched."""
        return LongState.COLD if os.getpid() != self._pid else self._state

    @property
    def reason(self) -> str:
        """The reason of this state, as a sentence for people."""
        return "the store is closed" if self._closed else self._reason

    def open(self) -> None:
        """Connect, and begin a new index if the one in use is missing or unsound."""
        with self._gate:
            if self._closed or self.state is LongState.READY:
                return
            try:
                load()
                self._server = server = ServerCollections(self._config)
                self.mark = self._right(server)
                self._tidy(server)
            except ChromaFault as fault:
                raise self._fail(fault) from fault
            self._state, self._reason = LongState.READY, "ready"

    def _right(self, server: ServerCollections) -> str:
        """Return the mark of a sound index of this embedder, which may be a new one."""
        before = self._ledger.read(vectors.mark)
        self.mark = before
        why = self._what_is_wrong(server, before)
        if not why:
            return str(before)
        new = secrets.token_hex(8)
        server.begin(new, self._identity)  # first: whoever reads the mark finds the index
        if self._ledger.write(lambda c: vectors.begin_generation(c, self._model, before, new)):
            log.info("starting the index on %s empty: %s", self._config.url, why)
            return new
        server.drop([new])
        return self._right(server)  # another process began one

    def _what_is_wrong(self, server: ServerCollections, mark: str | None) -> str | None:
        if mark is None or mark not in self._ledger.read(vectors.generations):
            return "there was none"
        if (identity := server.identity(mark)) != self._identity:
            return "the server lost it" if identity is None else f"it belongs to {identity}"
        doubt = "it lacks a namespace" if mark == self._doubted else None
        if (damage := server.ailment(self._by_collection(self._samples())) or doubt) is None:
            return None
        url = str(self._config.url)
        if _damaged[url] >= MAX_RESETS:
            problem = f"rebuilt {MAX_RESETS} times in this process, and again {damage}"
            raise ChromaFault(problem, damage=False)
        _damaged[url] += 1
        return damage

    def _tidy(self, server: ServerCollections) -> None:
        """Delete the indexes that are no longer used."""
        if old := [one for one in self._ledger.read(vectors.generations) if one != self.mark]:
            server.drop(old)
            self._ledger.write(lambda c: vectors.end_generations(c, old))

    def close(self) -> None:
        """Let go of the server."""
        self._closed = True
        self._leave()
        self._state = LongState.COLD

    def _leave(self) -> None:
        server, self._server = self._server, None
        if server is not None and os.getpid() == self._pid:
            server.close()

    def named(self, namespace: tuple[str, ...]) -> str:
        """Return the name of the collection of a namespace."""
        return f"{_named(str(self.mark))}-{collection_name(namespace)[2:]}"

    def search(
        self, namespace: tuple[str, ...], vector: NDArray[np.float32], n: int
    ) -> list[tuple[str, float]]:
        """Find the n rows of a namespace nearest to a vector; see `Index`.

        Only for a namespace that should have rows: no result is taken for damage.
        """
        try:
            found = super().search(namespace, vector, n)
            if not found:
                self._doubted = self.mark
                raise self._fail(ChromaFault("it lacks a namespace", damage=True))
        except TierUnavailable as error:
            self._on_fault(error)
            raise
        return found

    def renounce(self) -> None:
        """Stop using the index because the ledger names another; the next `open` finds that one."""
        self._fail(ChromaFault("another process began a new index", damage=False))

    def healthy(self, sample: Sequence[LongSample]) -> bool:
        """Check that searches find stored rows; if not, `open` repairs the tier."""
        with self._asking() as server:
            problem = server.ailment(self._by_collection(sample))
        if problem:
            self._fail(ChromaFault(problem, damage=True))
        return not problem

    def _by_collection(self, rows: Sequence[LongSample]) -> Samples:
        grouped: Samples = {}
        for namespace, row, vector in rows:
            grouped.setdefault(self.named(namespace), []).append((row, vector))
        return grouped

    @contextlib.contextmanager
    def _asking(self) -> Iterator[ServerCollections]:
        server = self._server
        if server is None or self.state is not LongState.READY:
            raise TierUnavailable("long", self.reason)
        try:
            yield server
        except ChromaFault as fault:
            raise (self._fail(fault) if self._server is server else self._refusal()) from fault

    def _fail(self, fault: ChromaFault) -> TierUnavailable:
        """Stop using the server until the next `open`; return the error that says why."""
        self._leave()
        self._state = LongState.ASIDE if fault.damage else LongState.COLD
        self._reason = f"the Chroma server {self._config.url}: {fault}"
        return self._refusal()

    def _refusal(self) -> TierUnavailable:
        return TierUnavailable("long", self.reason)


def forget(ledger: Ledger, config: ChromaConfig) -> str | None:
    """Delete everything of a store on the server; return why it is impossible now, or None."""
    if not (marks := ledger.read(vectors.generations)):
        return None
    if config.url is None:
        return "its index on a Chroma server must be deleted; set chroma.url"
    try:
        load()
        server = ServerCollections(config)
        try:
            server.drop(marks)
        finally:
            server.close()
    except ChromaFault as fault:
        return f"the Chroma server {config.url}: {fault}"
    ledger.write(lambda c: vectors.end_generations(c, marks))
    return None
