"""Does anybody wait for another's document? Users who ask beside one who pasted a long text.

    python benchmarks/neighbours.py [--users 24] [--paste 370000] [--piece 1500] [--rounds 4]

One process, one store, one namespace per user. In each round every user tells something new and
asks at once, with ``retrieve(wait=5)``; all do so at the same moment. First the store is quiet;
then another user has pasted a document that is still to be embedded, and the rounds are repeated.
``--asyncio`` asks through ``AsyncMemoryManager`` and measures the default thread pool as well.

The times are ratios within one run. The last columns do not depend on the machine: how many texts
of the document were embedded between a question and its answer, and the share of answers with
nothing missing.
"""

from __future__ import annotations

import argparse
import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from common import EMBEDDERS, embedder_named, environment, percentile, table, write_json

from memento import AsyncMemoryManager, MemoryManager
from memento.embed import resolve
from memento.protocols import Embedder

WAIT = 5.0
MARK = "Clause"
"""First word of each text of the document, by which it is counted."""
POOL_TASKS = 50
"""Looks at the default thread pool in one round of ``--asyncio``."""


class Counting:
    """An embedder that counts the texts of the document.

    Args:
        name: Name of an embedder, see ``common.EMBEDDERS``.
    """

    def __init__(self, name: str) -> None:
        embedder = resolve(embedder_named(name) or "default")
        assert embedder is not None
        self._embedder: Embedder = embedder
        self.name, self.dim = embedder.name, embedder.dim
        self.document = 0
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Any:
        """Embed texts and count those of the document."""
        made = self._embedder.embed(texts)
        with self._lock:
            self.document += sum(text.startswith(MARK) for text in texts)
        return made


@dataclass(slots=True)
class Measured:
    """The answers of some rounds.

    Attributes:
        seconds: From each question to its answer.
        between: Texts of the document embedded meanwhile.
        whole: For each answer, whether nothing was missing.
        pool: Seconds that an unrelated task waited for the default thread pool.
    """

    seconds: list[float] = field(default_factory=list)
    between: list[int] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    pool: list[float] = field(default_factory=list)

    def note(self, began: float, before: int, embedder: Counting, missing: object) -> None:
        """Note one answer."""
        self.seconds.append(time.perf_counter() - began)
        self.between.append(embedder.document - before)
        self.whole.append(not missing)


def document(chars: int, piece: int) -> list[str]:
    """Make up the texts of a document."""
    count = max(1, chars // piece)
    line = "the supplier delivers {} crates of apples to the quay within {} days of the order. "
    return [
        (f"{MARK} {at}: " + "".join(line.format(at, n) for n in range(piece // 60)))[:piece]
        for at in range(count)
    ]


def told(user: int, at: int) -> tuple[str, str]:
    """Return what a user tells and asks in a round."""
    return f"User {user} keeps the key number {at} under the flower pot", f"where is key {at}?"


def ask_in_threads(memory: MemoryManager, embedder: Counting, users: int, at: int) -> Measured:
    """Let every user tell and ask at the same moment, each in a thread."""
    measured, ready = Measured(), threading.Barrier(users)

    def one(user: int) -> None:
        view = memory.of(f"user{user}")
        text, question = told(user, at)
        ready.wait()
        began, before = time.perf_counter(), embedder.document
        view.add(text, "short", session="talk")
        found = view.retrieve(question, wait=WAIT)
        measured.note(began, before, embedder, found.missing)

    with ThreadPoolExecutor(users) as pool:
        list(pool.map(one, range(users)))
    return measured


def ask_in_loop(memory: MemoryManager, embedder: Counting, users: int, at: int) -> Measured:
    """Let every user tell and ask at the same moment, as coroutines of one event loop."""
    measured = Measured()
    shared = object.__new__(AsyncMemoryManager)
    shared._sync = memory  # the same store for both ways of asking

    async def one(user: int) -> None:
        view = shared.of(f"user{user}")
        text, question = told(user, at)
        began, before = time.perf_counter(), embedder.document
        await view.add(text, "short", session="talk")
        found = await view.retrieve(question, wait=WAIT)
        measured.note(began, before, embedder, found.missing)

    async def look(stop: asyncio.Event) -> None:
        while not stop.is_set():
            began = time.perf_counter()
            await asyncio.to_thread(lambda: None)
            measured.pool.append(time.perf_counter() - began)
            await asyncio.sleep(WAIT / POOL_TASKS / 10)

    async def all_of_them() -> None:
        stop = asyncio.Event()
        looking = asyncio.create_task(look(stop))
        await asyncio.gather(*(one(user) for user in range(users)))
        stop.set()
        await looking

    asyncio.run(all_of_them())
    return measured


def rounds(
    ask: Callable[[MemoryManager, Counting, int, int], Measured],
    memory: MemoryManager,
    embedder: Counting,
    users: int,
    numbers: range,
) -> Measured:
    """Ask several times; return all answers together."""
    every = Measured()
    for at in numbers:
        one = ask(memory, embedder, users, at)
        every.seconds += one.seconds
        every.between += one.between
        every.whole += one.whole
        every.pool += one.pool
    return every


def run(options: argparse.Namespace, root: Path) -> dict[str, Measured]:
    """Measure the quiet store, and the same beside a document that is being embedded."""
    ask = ask_in_loop if options.asyncio else ask_in_threads
    embedder = Counting(options.embedder)
    with MemoryManager(root, embedder=embedder) as memory:
        rounds(ask, memory, embedder, options.users, range(1))  # the model is loaded
        memory.flush(wait=True)
        quiet = rounds(ask, memory, embedder, options.users, range(1, options.rounds + 1))
        memory.flush(wait=True)
        pasting = memory.of("pasting")
        texts = document(options.paste, options.piece)
        pasting.add_many({"text": text, "tier": "short", "session": "s"} for text in texts)
        before = embedder.document
        while embedder.document == before:  # the document is being embedded now
            time.sleep(0.001)
        numbers = range(options.rounds + 1, 2 * options.rounds + 1)
        beside = rounds(ask, memory, embedder, options.users, numbers)
        left = pasting.store.stats().backlog.get("embed", 0)
    if not left:
        print("the document was embedded before the last answer: take a longer one (--paste)")
    return {"quiet": quiet, "beside the document": beside}


def lines(found: dict[str, Measured]) -> list[list[str]]:
    """Lay out the results, with ratios against the quiet store."""
    quiet = found["quiet"]
    made = []
    for name, one in found.items():
        cells = [name]
        for share in (0.5, 0.95):
            value = percentile(one.seconds, share)
            cells.append(
                f"{value * 1000:,.0f} ms ({value / percentile(quiet.seconds, share):.2f} x)"
            )
        cells.append(f"{percentile(one.between, 0.5)} / {max(one.between)}")
        cells.append(f"{sum(one.whole) / len(one.whole):.0%}")
        cells.append(f"{max(one.pool) * 1000:,.0f} ms" if one.pool else "-")
        made.append(cells)
    return made


def main() -> None:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--users", type=int, default=24)
    parser.add_argument("--paste", type=int, default=370_000, help="characters of the document")
    parser.add_argument("--piece", type=int, default=1_500, help="characters of one memory of it")
    parser.add_argument("--rounds", type=int, default=4, help="questions of each user, twice")
    parser.add_argument("--embedder", choices=EMBEDDERS[:2], default="default")
    parser.add_argument("--asyncio", action="store_true", help="ask from one event loop")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        found = run(options, Path(folder) / "store")
    head = ("store", "answer p50", "answer p95", "texts between p50 / max", "whole", "pool max")
    print(table(head, lines(found)))
    write_json(options.json, {"lines": lines(found), "environment": environment()})


if __name__ == "__main__":
    main()
