"""The contents of a process's memory, and the part that gets into the index's files.

Chroma writes a new index as the C library gave it the memory: with what the process freed before. A
round is a process's day in small: threads handle texts that bear a mark and end, as those of a
server do; then namespaces that are new get an index, whose files are searched for the mark. No
memory ever bears it. The null control leaves the files as Chroma writes them.
"""

from __future__ import annotations

import random
import shutil
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from trust_result import TrustResult

from memento import Config, MemoryManager
from memento.config import IndexConfig
from memento.testing import HashEmbedder
from memento.tiers.chroma import ChromaFolder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MARK = "zq-nobody-stored-this"
CONFIG = Config(index=IndexConfig(start_seconds=0.0, poll_seconds=0.02))
NAMESPACES = 3
THREADS = 6
DIM = 128
GROWN = 1_100
"""Memories after which Chroma has written a whole index again."""
MISSES = 80
"""Rounds of the control that may miss the mark before the control counts as not failed."""


def handle_texts(dice: random.Random) -> None:
    """Make marked texts of many lengths, keep a few for a while, and let go of all."""
    kept: list[bytes] = []
    for number in range(200):
        kept.append(f"{MARK} {number} ".encode() * dice.randrange(1, 8_000))
        if len(kept) > THREADS:
            kept.pop(dice.randrange(THREADS))


def chatter(dice: random.Random) -> None:
    """Let threads handle marked texts and end; Chroma's get the memory they leave."""
    seeds = [dice.random() for _ in range(THREADS)]
    threads = [threading.Thread(target=handle_texts, args=(random.Random(s),)) for s in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def holding(root: Path) -> list[str]:
    """List the files of a store that hold the mark."""
    files = [path for path in root.rglob("*") if path.is_file()]
    return [str(path.relative_to(root)) for path in files if MARK.encode() in path.read_bytes()]


def a_round(root: Path, dice: random.Random, rows: int) -> tuple[list[str], int]:
    """Index new namespaces; returns the files that hold the mark, and how many were searched."""
    chatter(dice)
    with MemoryManager(root, embedder=HashEmbedder(DIM), config=CONFIG) as memory:
        for number in range(NAMESPACES):
            chatter(dice)
            memory.of(f"tenant {number}").add_many(
                {"text": f"{number} says {row}", "tier": "long"} for row in range(rows)
            )
            assert memory.flush(wait=True, timeout=60)
        assert len(list(root.glob("chroma/*/data_level0.bin"))) == NAMESPACES
        found = set(holding(root))
    found |= set(holding(root))
    searched = sum(path.is_file() for path in root.rglob("*"))
    shutil.rmtree(root)
    return sorted(found), searched


@contextmanager
def as_chroma_writes_them() -> Iterator[None]:
    """Leave what Chroma writes as it is."""
    blank_new = ChromaFolder._blank_new
    ChromaFolder._blank_new = lambda _: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        ChromaFolder._blank_new = blank_new  # type: ignore[method-assign]


def control(root: Path, dice: random.Random, rounds: int) -> tuple[int, int]:
    """Leave the files as Chroma writes them; returns the rounds tried and those that held the mark.

    About one round in three holds it. A few rounds may all miss it by luck, so the control goes on
    until one does not, up to `MISSES` rounds.
    """
    tried = spoilt = 0
    with as_chroma_writes_them():
        while tried < rounds or (not spoilt and tried < MISSES):
            spoilt += bool(a_round(root, dice, 6)[0])
            tried += 1
    return tried, spoilt


def no_memory_of_the_process_gets_into_the_index(
    folder: Path, *, full: bool, seed: int
) -> TrustResult:
    """Search the files of new indexes for what the process had in its memory."""
    dice = random.Random(seed)
    rounds = 300 if full else 4
    held: list[str] = []
    files = 0
    for number in range(rounds):
        rows = GROWN if number % 50 == 0 else 6
        found, searched = a_round(folder / "store", dice, rows)
        files += searched
        held += [f"round {number}: {', '.join(found)}"] if found else []
    tried, spoilt = control(folder / "control", dice, rounds)
    return TrustResult(
        name="process memory in the index files",
        promise="No index file contains anything from the process's memory except the ids and"
        " vectors of that index: no text, erased or not, and no secret of the host.",
        cases=rounds,
        failures=len(held),
        control="the files as Chroma writes them",
        control_failed=spoilt > 0,
        seed=seed,
        figures={
            "new indexes": rounds * NAMESPACES,
            "files searched": files,
            "rounds whose files contained the mark": len(held),
            "control: rounds whose files contained the mark": f"{spoilt} of {tried}",
        },
        details=tuple(held),
    )


HARNESSES = (no_memory_of_the_process_gets_into_the_index,)
