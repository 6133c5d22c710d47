"""Open, search and close one Chroma folder: everything specific to Chroma is here.

The server that may take its place is in ``chroma_server``. This module knows neither the ledger nor
the owner of the folder. Every error of Chroma, including Rust panics, is raised as `ChromaFault`.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib
import json
import os
import struct
import sys
import threading
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memento.base.files import read_regular
from memento.base.forks import whole
from memento.tiers.folder import make_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

LongSample = tuple[tuple[str, ...], str, "NDArray[np.float32]"]
"""Namespace, id and vector of a row that the long tier should hold."""

Samples = dict[str, list[tuple[str, "NDArray[np.float32]"]]]
"""Rows that should be stored, id and vector, by collection."""

LOOK_AMONG = 10
"""A stored vector must be among this many of its nearest; equal vectors may push it out."""
SAME = 0.9999
"""Cosine similarity from which two vectors are equal."""
MISSES_ALLOWED = 0.05
"""Share of a collection's samples that may fail to find themselves. The graph is approximate (1 of
400 failed in a sound one); in a damaged one most fail."""
LOOK_BATCH = 64
"""Vectors per query of a health check."""

ROOTS = 32
"""Rows that a collection needs before larger pieces are written to it, see `ROOT_BATCH`."""
ROOT_BATCH = 4
"""Rows in a piece while a collection is small. Chroma links the rows of a piece in parallel, and
they do not see each other; in an almost empty graph some of them are then never found. Measured: 13
of 30,000 rows lost in collections of 150 rows that were written 64 at a time; 0 of 195,000 when
begun like this."""

EF_SEARCH = 200
"""Neighbours that Chroma visits in one search. Retrieval asks for the 200 nearest; with Chroma's
default of 100 it misses one in sixteen of the nearest 100."""
EF_CONSTRUCTION, MAX_NEIGHBORS = 200, 24
"""Thoroughness of Chroma's index. With these values a search for 400 among 20,000 rows finds
99.9 % of the nearest 200; with Chroma's defaults of 100 and 16 it finds 99.1 %. They cost 0.4 ms
more per memory, in the background."""

WEATHER = (
    "disk is full", "No space left", "database is locked", "Too many open files",
    "after shutdown", "at interpreter shutdown",
)  # fmt: skip
"""Words of temporary errors with an outside cause; the folder is not damaged."""
CANNOT_OPEN = "unable to open database file"
"""SQLite's message both for a missing file and if no descriptor is left."""
DESCRIPTORS = 16
"""Number of free descriptors that is surely enough: three times those of a connection."""


class ChromaFault(Exception):
    """Chroma failed.

    ``damage`` is whether the folder is damaged; False if the cause is outside and may pass, such
    as a full disk or the lock of another program.
    """

    def __init__(self, problem: str, *, damage: bool) -> None:
        super().__init__(problem)
        self.damage = damage


@contextlib.contextmanager
def faults(ids: Sequence[str] = ()) -> Iterator[None]:
    """Turn every error of Chroma into `ChromaFault`, with ``ids`` removed from its message."""
    try:
        yield
    except ChromaFault:
        raise
    except BaseException as error:  # chromadb raises many types, none documented
        kind = type(error).__name__
        if not isinstance(error, Exception) and kind != "PanicException":  # from its Rust code
            raise
        said = str(error)
        for memory_id in sorted(ids, key=len, reverse=True):  # an id may contain another one
            said = said.replace(memory_id, "...")
        text = f"Chroma says {kind}: {' '.join(said.split())[:300] or 'no message'}"
        raise ChromaFault(text, damage=not will_pass(text)) from error


def will_pass(text: str) -> bool:
    """Return whether an error message is about a temporary cause outside the folder."""
    return any(words in text for words in WEATHER) or (CANNOT_OPEN in text and _few_descriptors())


def _few_descriptors() -> bool:
    """Return whether this process can open hardly any file."""
    with contextlib.ExitStack() as opened, contextlib.suppress(OSError):
        for _ in range(DESCRIPTORS):
            opened.callback(os.close, os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        return False
    return True


@lru_cache(maxsize=1024)
def collection_name(namespace: tuple[str, ...]) -> str:
    """Return a collection name for a namespace that does not reveal its labels.

    >>> collection_name(("acme", "rami"))
    'm-27153a8176471d20ca6c957e0d275d84'
    """
    labels = json.dumps(namespace, ensure_ascii=False, separators=(",", ":"))
    return f"m-{hashlib.sha256(labels.encode()).hexdigest()[:32]}"


def by_collection(samples: Sequence[LongSample]) -> Samples:
    """Group rows by the Chroma collection of their namespace."""
    grouped: Samples = {}
    for namespace, row, vector in samples:
        grouped.setdefault(collection_name(namespace), []).append((row, vector))
    return grouped


class Collections:
    """The collections of an open Chroma, one per namespace, created by the first write.

    All methods raise `ChromaFault` if Chroma fails.
    """

    _client: Any

    def __init__(self) -> None:
        self._collections: dict[str, Any] = {}
        self._rooted: dict[str, int] = {}  # minimum number of rows in collections written to

    def count(self, name: str) -> int:
        """Count the rows of a collection; 0 if it does not exist."""
        with faults():
            collection = self._find(name)
            return 0 if collection is None else int(collection.count())

    def upsert(
        self,
        name: str,
        ids: Sequence[str],
        vectors: NDArray[np.float32],
        metadatas: Sequence[Mapping[str, str | int]],
    ) -> None:
        """Store n >= 1 rows and replace those with the same ids; see `LongTier.upsert`."""
        with self._using(name, ids, writing=True) as laid_out:
            collection = self._find(name) or self._make(name)
            first, start = name not in self._rooted, 0
            rows = int(collection.count()) if first else self._rooted[name]
            while start < len(ids):
                part = slice(start, len(ids) if rows >= ROOTS else start + ROOT_BATCH)
                given = [dict(metadata) for metadata in metadatas[part]]
                collection.upsert(
                    ids=list(ids[part]),
                    embeddings=vectors[part],
                    metadatas=given if any(given) else None,
                )
                laid_out()
                start, rows = part.stop, rows + part.stop - start
            self._rooted[name] = rows
            if first:
                # The write after the first search repeats all writes before it (1-4 s for 1,000
                # rows of 384), so the first search is done while there are few rows.
                collection.query(query_embeddings=vectors[:1], n_results=1, include=[])

    @contextlib.contextmanager
    def _using(
        self,
        name: str,  # noqa: ARG002 - see ChromaFolder
        ids: Sequence[str] = (),
        *,
        writing: bool = False,  # noqa: ARG002 - the same
    ) -> Iterator[Callable[[], None]]:
        """Guard the use of a collection; yield a function to call after each piece written."""
        with faults(ids):
            yield lambda: None

    def remove(self, name: str, ids: Sequence[str]) -> None:
        """Remove rows; unknown ids are ignored."""
        with self._using(name, ids, writing=True):
            if collection := self._find(name):
                collection.delete(ids=list(ids))

    def search(
        self, name: str, vectors: NDArray[np.float32], n: int
    ) -> list[list[tuple[str, float]]]:
        """Find for each vector up to n (id, cosine similarity), best first, ties by id."""
        with self._using(name):
            collection = self._find(name)
            if collection is None:
                return [[] for _ in vectors]
            found = collection.query(query_embeddings=vectors, n_results=n, include=["distances"])
            return [
                _ordered(ids, distances)
                for ids, distances in zip(found["ids"], found["distances"], strict=True)
            ]

    def ailment(self, samples: Samples) -> str | None:
        """Describe the fault of the index; None if searches find the rows known to be stored."""
        for name, stored in samples.items():
            lost = 0
            for start in range(0, len(stored), LOOK_BATCH):
                part = stored[start : start + LOOK_BATCH]
                hits = self.search(name, np.stack([vector for _, vector in part]), LOOK_AMONG)
                lost += sum(
                    not _among(row, near) for (row, _), near in zip(part, hits, strict=True)
                )
            if lost > int(len(stored) * MISSES_ALLOWED):
                return (
                    f"{lost} of {len(stored)} stored vectors are not found by a search for "
                    "themselves"
                )
        return None

    def _find(self, name: str) -> Any | None:
        if name in self._collections:
            return self._collections[name]
        errors = importlib.import_module("chromadb.errors")
        try:
            found = self._client.get_collection(name, embedding_function=None)
        except errors.NotFoundError:
            return None
        self._collections[name] = found
        return found

    def _make(self, name: str) -> Any:
        hnsw = {"space": "cosine", "ef_search": EF_SEARCH,
                "ef_construction": EF_CONSTRUCTION, "max_neighbors": MAX_NEIGHBORS}  # fmt: skip
        made = self._collections[name] = self._client.get_or_create_collection(
            name,
            embedding_function=None,
            configuration={"hnsw": hnsw},
            metadata={"memento_format": 1},
        )
        return made


class ChromaFolder(Collections):
    """An open Chroma folder, made if missing, in which the indexes are blank; see `blank_all`.

    Raises:
        ChromaFault: If Chroma cannot be imported or cannot open it, if another client of this
            process has it open, or if it was open when this process was forked. So do all methods
            if Chroma fails.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder, self._path = folder, str(folder)
        if self._path in _forked:
            raise ChromaFault("it was already open when this process was forked", damage=False)
        self._used: set[str] = set()  # collections whose index is laid out
        self._writing = threading.Lock()
        with faults():
            folder.mkdir(mode=0o700, exist_ok=True)
            self._blanked = _written(folder)
            with contextlib.ExitStack() as held, whole():  # so that a forked child knows
                self._client = _connect(held.enter_context(_named(folder)))
                _open[self._path] = self._client
                self._held = held.pop_all()

    @property
    def opened(self) -> int:
        """Number of collections used since the folder was opened."""
        return len(self._collections)

    def close(self) -> None:
        """Close the folder and stop Chroma's threads."""
        self._collections.clear()
        with faults(), whole():
            _open.pop(self._path, None)
            self._client.close()
            self._held.close()
        # Chroma's threads allocate from arenas of their own, which glibc keeps even when they are
        # empty: 50 collections cost 45 MB at each reopening, and nothing if they are trimmed.
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)

    @contextlib.contextmanager
    def _using(
        self, name: str, ids: Sequence[str] = (), *, writing: bool = False
    ) -> Iterator[Callable[[], None]]:
        """Blank an index after its first use, in which Chroma allocates its files; make it private.

        If it writes or is the first use, no other call writes or allocates meanwhile. Yield a
        function to call right after the first use; the end of the block also calls it.
        """

        def laid_out() -> None:
            if name not in self._used:
                self._blank_new()
                self._used.add(name)

        alone = writing or name not in self._used
        with faults(ids), self._writing if alone else contextlib.nullcontext():
            try:
                yield laid_out
            finally:
                laid_out()

    def _blank_new(self) -> None:
        """Blank the indexes written since the last call; no thread may write during it."""
        for index, at in _written(self._folder).items():
            if self._blanked.get(index) != at:
                blank(Path(index))
                self._blanked[index] = _last_written(index)
                make_private(Path(index))

    def first_rows(self) -> Samples:
        """Read back the first row of each collection."""
        found: Samples = {}
        with faults():
            for collection in self._client.list_collections():
                first = collection.get(limit=1, include=["embeddings"])
                rows = zip(first["ids"], first["embeddings"], strict=True)
                found[collection.name] = [(row, np.asarray(v, np.float32)) for row, v in rows]
        return found


def _ordered(ids: Sequence[str], distances: Sequence[float]) -> list[tuple[str, float]]:
    nearest_first = sorted(zip(distances, ids, strict=True))
    cosines = np.clip(1.0 - np.array([distance for distance, _ in nearest_first]), -1.0, 1.0)
    return [(row, cosine) for (_, row), cosine in zip(nearest_first, cosines.tolist(), strict=True)]


def _among(row: str, near: Sequence[tuple[str, float]]) -> bool:
    if any(found == row for found, _ in near):
        return True
    # More equal vectors than places: the row may come after its equals.
    return len(near) == LOOK_AMONG and near[-1][1] >= SAME


# Chroma writes whole arrays to its files, including places without a row, which it never reads.
# These hold earlier contents of this process's memory, such as an erased text.

ROWS_FILE = "data_level0.bin"
HEADER = struct.Struct("<iQQQQ")
"""Version, offset of level 0, places, rows stored, bytes of a row; more follows."""
VERSION = 1
SECOND = 1_000_000_000
LENGTH_BYTES = 4
"""Bytes of a row in ``length.bin``."""


def blank_all(folder: Path) -> None:
    """Overwrite the unused places of all indexes in a folder that no process has open."""
    with faults():
        for index in _written(folder):
            blank(Path(index))


def _written(folder: Path) -> dict[str, int]:
    """Return the folders of indexes, each with the time its rows were last written."""
    found = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                found[entry.path] = _last_written(entry.path)
    return found


def _last_written(index: str) -> int:
    return os.stat(f"{index}/{ROWS_FILE}").st_mtime_ns  # noqa: PTH116 - half as fast, by the thousand


def blank(index: Path) -> None:
    """Overwrite the places of one index that have no row.

    If a file is damaged or has another layout, raise `ChromaFault` and change nothing.
    """
    header = read_regular(index / "header.bin")
    if len(header) < HEADER.size:
        raise ChromaFault("header.bin is truncated", damage=True)
    version, _, places, rows, row_bytes = HEADER.unpack_from(header)
    if version != VERSION or rows > places or not row_bytes:
        problem = "header.bin is damaged or has an unknown layout"
        raise ChromaFault(problem, damage=True)
    parts = {index / ROWS_FILE: rows * row_bytes, index / "length.bin": rows * LENGTH_BYTES}
    for path, used in parts.items():
        if path.stat(follow_symlinks=False).st_size < used:
            problem = f"{path.name} is too short for the {rows} rows it should contain"
            raise ChromaFault(problem, damage=True)
    for path, used in parts.items():
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        with os.fdopen(fd, "wb", buffering=0):
            before = os.fstat(fd)
            os.pwrite(fd, bytes(before.st_size - used), used)
            # Clocks of file systems advance every few milliseconds; a later write must be visible.
            os.utime(fd, ns=(before.st_atime_ns, before.st_mtime_ns - SECOND))


# The client.


def chroma_version() -> str:
    """Return the version of chromadb that is installed, without importing it."""
    with whole():  # from Python 3.12 on, importlib imports parts of itself at the first call
        return version("chromadb")


def load() -> None:
    """Import chromadb, which takes a second; `ChromaFault` without damage if that fails."""
    try:
        with whole():
            importlib.import_module("chromadb")
    except Exception as error:  # it runs much foreign code, and at exit no thread can start
        raise ChromaFault(f"chromadb cannot be imported: {error}", damage=False) from error


@contextlib.contextmanager
def _named(folder: Path) -> Iterator[str]:
    """Yield a path of a folder in UTF-8, as Chroma requires: its own, or one below /proc."""
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield f"/proc/self/fd/{opened}"
        finally:
            os.close(opened)
    else:
        yield str(folder)


def _connect(path: str) -> Any:
    load()
    refuse_if_shared(Path(path))
    chosen = settings("chromadb.api.rust.RustBindingsAPI")
    try:
        return sys.modules["chromadb"].PersistentClient(path, settings=chosen)
    except BaseException:
        # Chroma caches a system before it starts it, and would return the failed one next time.
        _systems().pop(path, None)
        raise


def settings(api: str, *, verify: bool | None = None) -> Any:
    """Return Chroma's settings, which no environment variable or ``.env`` file changes."""
    return sys.modules["chromadb"].config.Settings(
        _env_file=None,
        anonymized_telemetry=False,
        chroma_api_impl=api,
        chroma_otel_collection_endpoint="",
        chroma_server_nofile=None,
        chroma_server_ssl_verify=verify,
        migrations="apply",
        migrations_hash_algorithm="md5",
        allow_reset=False,
    )


def refuse_if_shared(folder: Path) -> None:
    """Raise `ChromaFault` if another client of this process has the folder open.

    Chroma keeps one system per path and process; our client would share it, and continue to work on
    a folder that was set aside.
    """
    if str(folder) in _systems():
        raise ChromaFault("another Chroma client of this process has it open", damage=False)


def _systems() -> dict[str, Any]:
    shared = sys.modules.get("chromadb.api.shared_system_client")
    client = getattr(shared, "SharedSystemClient", None)
    if client is None:  # not imported, or another thread is importing it: there is no client yet
        return {}
    systems: dict[str, Any] = client._identifier_to_system  # noqa: SLF001 -- there is no other way to see them
    return systems


def forget_client(client: Any) -> None:
    """Drop a client of a server from Chroma's cache: two systems, under three names."""
    own = [one._system for one in (client, client._admin_client)]  # noqa: SLF001 - as above
    systems = _systems()
    for name in [name for name, one in systems.items() if any(one is mine for mine in own)]:
        systems.pop(name, None)


_open: dict[str, Any] = {}
_forked: set[str] = set()


def _abandon() -> None:
    """Make the parent's clients unreachable in a forked child.

    Their threads exist only in the parent: freeing a client here would wait for them for ever, at
    the latest when the interpreter exits. So each is made immortal and removed from Chroma's cache.
    A second client on the same path would also wait for ever, hence `_forked`.
    """
    for path, client in _open.items():
        bindings = client._server.bindings  # noqa: SLF001 -- it owns the threads
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(bindings))
        _systems().pop(client._identifier, None)  # noqa: SLF001 -- as above
        _forked.add(path)
    _open.clear()


os.register_at_fork(after_in_child=_abandon)
