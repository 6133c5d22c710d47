"""The process that a damaged Chroma folder is tried on, so that it may die of it.

    python chroma_user.py ROOT [--control | --open | --held]
    python chroma_user.py ROOT --build --rows N [--start N]

It opens the store, asks at once, waits until the index is back, asks everything again of Chroma
alone, and prints what it saw as JSON. ``--control`` takes away what guards the host: no judgement
of the stamp, no probe, no health check. ``--build`` makes a store, or lets one grow. ``--open``
says ``open`` once the index is there and waits for a line before it asks; ``--held`` does so
when it has asked for the first time.

The process has no right to pass over the permissions of files, even if it is root's.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
import time
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memento import Config, MemoryManager
from memento.config import IndexConfig
from memento.tiers import long_tier
from memento.tiers.chroma import ChromaFolder
from memento.tiers.long_tier import LongState, LongTier

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

DIM = 32
NEAR = 0.35
"""Length of what a question's vector differs by from that of the memory it asks for."""
CONFIG = Config(long_index="chroma", index=IndexConfig(start_seconds=0.0, poll_seconds=0.02))
CAPABILITIES_V3 = 0x20080522
PR_CAPBSET_DROP = 24
SYLLABLES = ("ba", "ke", "di", "mo", "ru", "fa", "ne", "ti", "go", "lu")


class Topics:
    """An embedder that knows which memory ``ask N`` asks for, though they share no word.

    Full text is thus no help: what is found was found by its vector.
    """

    name, dim = "topics", DIM

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed memories by their text and questions by the memory they ask for."""
        return np.stack([self._one(text) for text in texts])

    def _one(self, text: str) -> NDArray[np.float32]:
        asked = text.removeprefix("ask ")
        if asked == text:
            return _unit(_noise(text))
        return _unit(_unit(_noise(text_of(int(asked)))) + NEAR * _unit(_noise(text)))


def _noise(text: str) -> NDArray[np.float32]:
    seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
    return np.random.default_rng(seed).standard_normal(DIM, np.float32)


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    found: NDArray[np.float32] = vector / np.linalg.norm(vector)
    return found


def text_of(n: int) -> str:
    """Return the text of the n-th memory: one made-up word of its own, no digits."""
    return "note " + "".join(SYLLABLES[int(digit)] for digit in f"{n:05d}")


def build(root: Path, start: int, rows: int) -> None:
    """Let a store have so many memories, all in Chroma, closed in order."""
    with MemoryManager(root, embedder=Topics(), config=CONFIG) as memory:
        start += memory.store.stats().memories
        memory.add_many(
            {"text": text_of(n), "id": f"m{n}", "tier": "long"} for n in range(start, rows)
        )
        assert memory.flush(wait=True, timeout=300)


def give_up_rights() -> None:
    """Drop CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, here and for the children to come."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(CAPABILITIES_V3, 0)
    held = (ctypes.c_uint32 * 6)()
    libc.capget(header, held)
    for bit in (1, 2):
        libc.prctl(PR_CAPBSET_DROP, bit, 0, 0, 0)
        for word in range(3):
            held[word] &= ~(1 << bit)
    if libc.capset(header, held):
        raise OSError(ctypes.get_errno(), "capset")


def answers(memory: MemoryManager, questions: int, rows: int) -> list[list[str]]:
    """Ask; returns the ids of the ten best of each question."""
    asked = [f"ask {n * rows // questions}" for n in range(questions)]
    return [[hit.id for hit in memory.retrieve(q, k=10, record=False)] for q in asked]


def unguarded() -> None:
    """Take the guards away: whatever lies there is opened and believed."""
    long_tier.why_not = lambda stamp, *_: None if stamp else "new"  # type: ignore[assignment]
    long_tier.probe = lambda *_, **__: None  # type: ignore[assignment]
    ChromaFolder.ailment = lambda *_: None  # type: ignore[method-assign]


class Counted:
    """Counts which searches Chroma answered."""

    def __init__(self) -> None:
        self.searches = 0
        search = LongTier.search

        def counting(*given: Any) -> Any:
            found = search(*given)
            self.searches += 1
            return found

        LongTier.search = counting  # type: ignore[method-assign]


def say_open() -> None:
    """Tell the parent, and wait until it has done what it wants to."""
    sys.stdout.write("open\n")
    sys.stdout.flush()
    sys.stdin.readline()


def until_back(memory: MemoryManager, seconds: float) -> str:
    """Wait until the index answers and owes nothing; returns the state it is in."""
    deadline = time.monotonic() + seconds
    for state in _states(memory, seconds):
        if state == LongState.READY or time.monotonic() > deadline:
            return state
        memory.retrieve("ask 0", k=1, record=False)  # what a user does; it wakes the index
        time.sleep(0.05)
    raise AssertionError


def _states(memory: MemoryManager, seconds: float) -> Iterator[str]:
    while True:
        memory.flush(wait=True, timeout=seconds)
        yield memory.store.stats().long


def host(root: Path, questions: int, rows: int, wait: str) -> dict[str, Any]:
    """Be the host of a store whose Chroma folder is damaged."""
    counted = Counted()
    began = time.monotonic()
    memory = MemoryManager(root, embedder=Topics(), config=CONFIG)
    if wait == "open":
        until_back(memory, 60)
        say_open()
        began = time.monotonic()
    at_once = answers(memory, min(questions, 20), rows)
    seconds = time.monotonic() - began
    if wait == "held":
        while "owns the Chroma folder" not in memory.store.stats().trouble.get("long", ""):
            memory.flush(wait=True, timeout=1)
        say_open()
    state = until_back(memory, 60)
    counted.searches = 0
    after = answers(memory, questions, rows)
    said = {
        "at_once": at_once,
        "seconds": seconds,
        "state": state,
        "after": after,
        "by_chroma": counted.searches,
        "backlog": sum(memory.store.stats().backlog.values()),
    }
    memory.close()
    return said


def main() -> None:
    """Build a store, or be the host of a damaged one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=Path)
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--control", action="store_true")
    parser.add_argument("--open", action="store_const", const="open", dest="wait", default="")
    parser.add_argument("--held", action="store_const", const="held", dest="wait")
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1_200)
    options = parser.parse_args()
    if options.build:
        build(options.root, options.start, options.start + options.rows)
        return
    give_up_rights()
    if options.control:
        unguarded()
    said = host(options.root, options.questions, options.rows, options.wait)
    sys.stdout.write(f"\n{json.dumps(said)}\n")


if __name__ == "__main__":
    main()
