"""How long does each verb hold the store's one writer? And how long does an add wait meanwhile?

    python benchmarks/writers.py [--rows 300000] [--json OUT]

Words only (``embedder=None``): vectors are made by the background thread, in bites of its own. For
each verb: seconds it took, the longest time that no other writer had a turn, and the longest
``add`` of a thread that adds without a pause. The full form, 300,000 rows, takes half an hour.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest import mock

from common import environment, table, write_json

from memento import MemoryManager, Source, Trust
from memento.admit import redact
from memento.ledger.lite.writer import Writer

if TYPE_CHECKING:
    from memento.ledger.lite.sqlite import Connection

BATCH = 1_000
TEXT = "memory number {} about the garden and the house of the family, with some more words"
SOURCE = "https://example.org/page"
KEYS = " ".join(f"AKIA{'QYLPMN5HHHFPZAM2'} PWD=tr0ub4dor-{at:06}" for at in range(20_000))
"""Metadata of nearly 1 MB, with 40,000 keys of two formats."""


@dataclass(slots=True)
class Held:
    """Reasons for which the writer was held.

    Attributes:
        seconds: Longest time in one piece.
        rows: Most rows that one transaction inserted, changed or deleted.
        steps: Most steps of SQLite's machine in one transaction, in thousands.
        searched: Most characters that one transaction looked through for secrets.
        longest_add: Seconds of the longest add of another thread, where one was watched.
    """

    seconds: float = 0.0
    rows: int = 0
    steps: int = 0
    searched: int = 0
    longest_add: float = 0.0


@contextmanager
def watched() -> Iterator[Held]:
    """Watch every transaction of this process."""
    held, inside = Held(), threading.local()
    transact = Writer._transact  # noqa: SLF001 - where the writer is held
    alone, look = Writer.alone, redact.redact

    def noted(connection: Connection, run: Callable[[], Any]) -> Any:
        steps: list[None] = []
        inside.searched, before, began = 0, connection.total_changes, time.perf_counter()
        connection.set_progress_handler(lambda: steps.append(None), 1_000)
        try:
            return run()
        finally:
            connection.set_progress_handler(None, 0)
            held.steps = max(held.steps, len(steps))
            held.seconds = max(held.seconds, time.perf_counter() - began)
            held.rows = max(held.rows, connection.total_changes - before)
            held.searched = max(held.searched, inside.searched)
            inside.searched = None

    def watched_transaction(writer: Writer, group: Any) -> None:
        connection = writer._connection  # noqa: SLF001 - as above
        noted(connection, lambda: transact(writer, group))

    def watched_alone(writer: Writer, job: Callable[[Connection], Any]) -> Any:
        return alone(writer, lambda connection: noted(connection, lambda: job(connection)))

    def watched_search(text: str, found: Any) -> str:
        if getattr(inside, "searched", None) is not None:
            inside.searched += len(text)
        return look(text, found)

    with (
        mock.patch.object(Writer, "_transact", watched_transaction),
        mock.patch.object(Writer, "alone", watched_alone),
        mock.patch.object(redact, "redact", watched_search),
    ):
        yield held


@contextmanager
def adding(memory: MemoryManager) -> Iterator[list[float]]:
    """Add from another thread, one after the other, meanwhile; yields how long each took."""
    ended, took = threading.Event(), [0.0]

    def work() -> None:
        made = 0
        while not ended.is_set():
            began, made = time.perf_counter(), made + 1
            memory.add(f"an innocent add, {made} of many {began}")
            took.append(time.perf_counter() - began)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield took
    finally:
        ended.set()
        thread.join()


def fill(memory: MemoryManager, rows: int) -> None:
    """Put in so many memories: an eighth with a tag, an eighth from one source."""
    for start in range(0, rows, BATCH):
        memory.add_many([drafted(at) for at in range(start, min(rows, start + BATCH))])


def drafted(at: int) -> dict[str, Any]:
    """Make one of them."""
    source = Source(Trust.USER, SOURCE) if at % 8 == 1 else None
    tags = ["t"] if at % 8 == 0 else []
    return {"text": TEXT.format(at), "id": f"m{at}", "tags": tags, "source": source}


def verbs(memory: MemoryManager, rows: int, export: Path) -> dict[str, Callable[[], object]]:
    """List what is measured, in order; each works on what those before have left."""
    other = memory.of("imported")
    every = [f"m{at}" for at in range(min(rows, 100_000))]
    return {
        f"add_many of {BATCH:,}": lambda: memory.add_many(
            [f"{TEXT.format(at)} again" for at in range(BATCH)]
        ),
        "update, 1 MB with 40,000 keys": lambda: memory.update(
            "m2", metadata={"a": KEYS[:999_000]}
        ),
        f"touch of {len(every):,}": lambda: memory.store.touch(every, 10_000_000),
        f"import_from of {rows:,}": lambda: other.store.import_from(export, trust="user"),
        f"forget_source of {rows // 8:,}": lambda: other.quarantine.forget_source(SOURCE),
        f"restore_source of {rows // 8:,}": lambda: other.quarantine.restore_source(SOURCE),
        f"forget_many of {rows // 8:,}": lambda: other.forget_many(tag="t"),
        "forget_many of all": lambda: other.forget_many(within=""),
        "doctor": memory.store.doctor,
        "erase of one": lambda: memory.store.erase("m2"),
        "erase of a namespace": lambda: other.store.erase(everything=True),
    }


def measure(rows: int, folder: Path) -> dict[str, dict[str, float]]:
    """Measure every verb in a store of so many memories.

    Returns:
        Verb to seconds: ``took``, ``held`` and ``add``, the longest add meanwhile.
    """
    figures = {}
    with MemoryManager(folder / "store", embedder=None) as memory:
        fill(memory, rows)
        memory.store.export(folder / "export.jsonl")
        for name, verb in verbs(memory, rows, folder / "export.jsonl").items():
            began = time.perf_counter()
            with watched() as held, adding(memory) as adds:
                verb()
                took = time.perf_counter() - began
            figures[name] = {"took": took, "held": held.seconds, "add": max(adds)}
            print(f"{name}: {figures[name]}", flush=True)
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=300_000, help="memories in the store")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    asked = parser.parse_args()
    with TemporaryDirectory(prefix="memento-writers-") as folder:
        figures = measure(asked.rows, Path(folder))
    rows = [[name, *(f"{one:.2f}" for one in took.values())] for name, took in figures.items()]
    print(table(["verb", "took, s", "writer held, s", "longest add, s"], rows))
    write_json(asked.json, {"rows": asked.rows, "figures": figures, "machine": environment()})


if __name__ == "__main__":
    main()
