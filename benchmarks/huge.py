"""The children of speed.py for a million memories, each a process of its own.

    python benchmarks/huge.py fill ROOT N             make the store, with vectors
    python benchmarks/huge.py ask ROOT HOW            put questions to it: words, exact or chroma

Each prints one JSON object. The vectors are made by hashing words, as a million from the default
model would take an hour. Each question is embedded by the default model all the same, and what that
costs is in its time; only the vector is then made by hashing.

Chroma answers only if asked to. For the rest this process holds the lock of its folder, as another
process that uses the store would: a vector takes Chroma 0.85 ms and more.
"""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import median, percentile
from corpus import Corpus

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memento import MemoryManager

DIM = 384
BITE = 1_000
ADDS = 500
QUERIES = 100
WARM = 5
LOADING = 600.0
"""Maximum number of seconds until Chroma has loaded its index."""
UNKNOWN = "who is Zyxabeth?"
"""A name that no memory has: once a process, the words of the store are read to correct it."""


class Questioned:
    """Hashes words; a single text is embedded by the default model as well, for its cost."""

    name = f"hash-{DIM}"
    dim = DIM

    def __init__(self, *, asks: bool) -> None:
        from memento.embed import resolve  # noqa: PLC0415 - loads the runtime
        from memento.testing import HashEmbedder  # noqa: PLC0415 - loads numpy

        self._hash = HashEmbedder(DIM)
        self._model = resolve("default") if asks else None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts."""
        if self._model is not None and len(texts) == 1:
            self._model.embed(texts)
        return self._hash.embed(texts)


@contextmanager
def without_chroma(root: Path) -> Iterator[None]:
    """Hold the lock of Chroma's folder."""
    from memento.base import layout  # noqa: PLC0415 - what is measured imports it
    from memento.tiers.folder import FolderLock  # noqa: PLC0415

    lock = FolderLock(layout.lock_of(root / layout.CHROMA))
    root.mkdir(parents=True, exist_ok=True)
    if not lock.acquire():
        raise RuntimeError("another process has Chroma")
    try:
        yield
    finally:
        lock.release()


def fill(root: str, n: str) -> dict[str, Any]:
    """Make the store; say what an add costs when it is small and when it is full."""
    from memento import MemoryManager  # noqa: PLC0415
    from memento.tiers import indexer  # noqa: PLC0415

    indexer.BITE_TEXTS, indexer.BITE_CHARS = 1_024, 1_000_000
    corpus, began = Corpus(5), time.process_time()
    with (
        without_chroma(Path(root)),
        MemoryManager(root=root, embedder=Questioned(asks=False)) as memory,
    ):
        memory.add_many(corpus.texts(BITE))
        early = added(memory, corpus)
        for first in range(BITE + ADDS, int(n) - ADDS, BITE):
            memory.add_many(corpus.texts(min(BITE, int(n) - ADDS - first)))
        filled = time.process_time() - began
        while memory.store.stats().backlog.get("embed"):
            time.sleep(0.5)
        late = added(memory, corpus)
        while memory.store.stats().backlog.get("embed"):
            time.sleep(0.1)
    return {"early": early, "late": late, "filled": filled, "cpu": time.process_time() - began}


def added(memory: MemoryManager, corpus: Corpus) -> dict[str, float]:
    """Add memories one by one; return the medians of what one took, seconds."""
    walls, cpus = [], []
    for text in corpus.texts(ADDS):
        wall, cpu = time.perf_counter(), time.thread_time()
        memory.add(text)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.thread_time() - cpu)
    return {"wall": median(walls), "cpu": median(cpus)}


def ask(root: str, how: str) -> dict[str, Any]:
    """Put questions to the store; say what the first one and the others cost, and the memory."""
    import memento  # noqa: PLC0415 - before the clock starts

    embedder = None if how == "words" else Questioned(asks=True)
    opening = time.process_time()
    with (
        nullcontext() if how == "chroma" else without_chroma(Path(root)),
        memento.MemoryManager(root=root, embedder=embedder) as memory,
    ):
        if how == "chroma":
            fed(memory)
            opening = time.process_time()
        questions = Corpus(77).questions(WARM + QUERIES)
        first = [*asked(memory, questions[:1], opening), *asked(memory, questions[1:2])]
        asked(memory, [*questions[2:WARM], UNKNOWN])
        before, walls, cpus, near = time.process_time(), [], [], 0
        for question in questions[WARM:]:
            wall, cpu = time.perf_counter(), time.process_time()
            found = memory.retrieve(question, k=10, record=False)
            walls.append(time.perf_counter() - wall)
            cpus.append(time.process_time() - cpu)
            near += any("meaning" in hit.ranks for hit in found)
        mean = (time.process_time() - before) / QUERIES
        memory_bytes = resident()
    if how != "words" and not near:
        raise RuntimeError(f"not hybrid: {dict(found.missing)}")
    return {
        "first": first[0], "second": first[1], "p50": median(walls), "cpu": median(cpus),
        "cpu_p99": percentile(cpus, 0.99), "mean": mean, **memory_bytes,
    }  # fmt: skip


def fed(memory: MemoryManager) -> None:
    """Wait until Chroma has all vectors and answers.

    Raises:
        RuntimeError: If it does not.
    """
    if not memory.flush(wait=True):
        raise RuntimeError(f"not indexed: {dict(memory.store.stats().trouble)}")
    ends = time.monotonic() + LOADING
    while memory._engine.long_state() != "ready":
        if time.monotonic() > ends:
            raise RuntimeError("Chroma did not load")
        memory.retrieve("what is open?", record=False)  # loads what answers
        time.sleep(1)


def asked(
    memory: MemoryManager, questions: Sequence[str], since: float | None = None
) -> list[float]:
    """Put questions to the store; return the CPU seconds of each, the first since a moment."""
    found = []
    for question in questions:
        began, since = time.process_time() if since is None else since, None
        memory.retrieve(question, k=10, record=False)
        found.append(time.process_time() - began)
    return found


def resident() -> dict[str, int]:
    """Return the memory of this process in bytes: its own, and mapped files that are in RAM."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    sizes = dict(line.split(":", 1) for line in status.splitlines())
    return {
        "anon": 1024 * int(sizes["RssAnon"].split()[0]),
        "file": 1024 * int(sizes["RssFile"].split()[0]),
    }


STEPS = {"fill": fill, "ask": ask}

if __name__ == "__main__":
    print(json.dumps(STEPS[sys.argv[1]](*sys.argv[2:])))
