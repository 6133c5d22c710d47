"""One of several processes that use a store at once; see `harness_owners`.

    python chroma_owner.py ROLE ROOT FIRST STOP [--control]

``server`` keeps the store open, adds and asks; ``script`` opens it, adds, waits for the indexes
and closes, again and again, both until the file STOP is there; ``check`` looks at what is left.
Each memory that was acknowledged is named on standard output at once, as are the moments at which
the Chroma folder is opened and left.

Chroma writes its index to disk every 20 rows here, so that a short run has many such moments.
``--control`` lets every process believe that it owns the Chroma folder.
"""

from __future__ import annotations

import json
import os
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from memento import Config, MemoryManager
from memento.config import IndexConfig
from memento.ledger import vectors
from memento.testing import HashEmbedder
from memento.tiers.chroma import EF_SEARCH, ChromaFolder
from memento.tiers.folder import FolderLock

CONFIG = Config(long_index="chroma", index=IndexConfig(start_seconds=0.0, poll_seconds=0.02))
DIM = 32
EVERY = 100_000
"""As many vectors as there are."""


def write_often() -> None:
    """Let Chroma write its index to disk every 20 rows instead of every 1,000."""

    def make(self: ChromaFolder, name: str) -> Any:
        hnsw = {"space": "cosine", "ef_search": EF_SEARCH, "sync_threshold": 20, "batch_size": 10}
        made = self._client.get_or_create_collection(
            name, embedding_function=None, configuration={"hnsw": hnsw}
        )
        self._collections[name] = made
        return made

    ChromaFolder._make = make  # type: ignore[method-assign]


def tell_of_ownership() -> None:
    """Say when a Chroma folder is opened and when it is closed."""
    make, close = ChromaFolder.__init__, ChromaFolder.close

    def making(self: ChromaFolder, folder: Path) -> None:
        say(f"own {time.monotonic()}")
        make(self, folder)

    def closing(self: ChromaFolder) -> None:
        close(self)
        say(f"left {time.monotonic()}")

    ChromaFolder.__init__ = making  # type: ignore[method-assign]
    ChromaFolder.close = closing  # type: ignore[method-assign]


def say(line: str) -> None:
    """Print a line in one piece, whichever thread it comes from."""
    os.write(1, f"{line}\n".encode())


def disown() -> None:
    """Take the lock away: everybody owns the folder."""
    FolderLock.acquire = lambda *_: True  # type: ignore[method-assign]
    FolderLock.release = lambda *_: None  # type: ignore[method-assign]
    FolderLock.fileno = lambda *_: 0  # type: ignore[method-assign]


def opened(root: Path) -> MemoryManager:
    """Open the store."""
    return MemoryManager(root, embedder=HashEmbedder(DIM), config=CONFIG)


def add(memory: MemoryManager, n: int) -> None:
    """Add the n-th memory and acknowledge it."""
    memory.add(f"note {n} says word{n} and word{n * 7}", "long", id=f"m{n}")
    say(f"m{n}")


def settled(memory: MemoryManager) -> None:
    """Wait until it is known whose the Chroma folder is, and say so."""
    while (now := memory.store.stats()).long != "ready" and "long" not in now.trouble:
        memory.flush(wait=True, timeout=0.2)
    say("settled")


def server(root: Path, first: int, stop: Path) -> None:
    """Keep the store open, add and ask."""
    with opened(root) as memory:
        add(memory, first)
        settled(memory)
        for n in count(first + 1):
            if stop.exists():
                return
            add(memory, n)
            if n % 10 == 0:
                memory.retrieve(f"word{n - 5}", k=3)


def script(root: Path, first: int, stop: Path) -> None:
    """Open the store, add, wait for the indexes, close; again and again."""
    for start in count(first, 20):
        with opened(root) as memory:
            for n in range(start, start + 20):
                add(memory, n)
            if start == first:
                settled(memory)
            memory.flush(wait=True, timeout=2)
        if stop.exists():
            return


def check(root: Path, *_: object) -> None:
    """Open the store as the only one; print what is there and whether the index is whole."""
    with opened(root) as memory:
        flushed = memory.flush(wait=True, timeout=60)
        memory.retrieve("word1", k=1)
        memory.flush(wait=True, timeout=60)
        engine = memory._engine
        model = engine.embedding.model()  # type: ignore[union-attr]
        rows = engine.ledger.read(lambda c: vectors.sample(c, model, EVERY))
        tier = engine.open_long()
        found = [
            tier.search(memory.store.namespace, np.frombuffer(vector, np.float32), 10)
            for _, _, vector in rows
        ]
        missed = [
            row
            for (_, row, _), near in zip(rows, found, strict=True)
            if all(other != row and score < 0.9999 for other, score in near)
        ]
        said = {
            "ids": [found.id for found in memory.list(limit=EVERY)],
            "flushed": flushed,
            "rows": len(rows),
            "count": tier.count(memory.store.namespace),
            "missed": missed,
            "state": memory.store.stats().long,
            "reason": tier.reason,
        }
    say(json.dumps(said))


if __name__ == "__main__":
    role, root, first, stop = sys.argv[1:5]
    write_often()
    tell_of_ownership()
    if "--control" in sys.argv:
        disown()
    act = {"server": server, "script": script, "check": check}[role]
    act(Path(root), int(first), Path(stop))
