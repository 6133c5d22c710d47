"""Do both engines of the ledger give the same answers, and what does each cost?

    python benchmarks/engines.py [-n 100000] [--queries 500] [--only answers|adds] [--json OUT]

*Answers*: one store in a folder and one on a PostgreSQL server take the same memories, and each
question is put to both, ten hits each, nothing recorded. The order is the same if the ids are, hit
by hit. CPU is that of the thread that asks, and on the server that of the processes that serve
it, in turns, after all questions were asked once.

*Adds*: sixteen threads add to one namespace of each engine, in turns; then so many processes as
are asked for add to a namespace of each on the server, and one process alone. Times are those of
the wall: they compare within one run.

Words alone: no embedder, so that the questions are about the ledger. The server is one of its own,
on this machine, in a temporary folder.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest import mock

from common import ROOT, Figure, child_environment, measured, median, write_json
from corpus import Corpus

from memento import MemoryManager
from memento.types import Draft

sys.path.insert(0, str(ROOT / "tests"))
import postgres

if TYPE_CHECKING:
    from collections.abc import Sequence

DEPTH = 10
BITE = 2_000
TURNS = 40
THREADS = 16
ROUNDS = 3
"""How often many workers and one take turns; on a busy machine either may have a bad time."""
TICK = 1 / os.sysconf("SC_CLK_TCK")
SHOWN = 5


def main() -> int:
    """Measure, and print what was found beside what it has to reach."""
    options = _parsed()
    settings = "shared_buffers=256MB", "max_wal_size=4GB"
    with (
        TemporaryDirectory(prefix="memento-engines-") as folder,
        postgres.Server(*settings) as server,
    ):
        os.environ["MEMENTO_CACHE"] = f"{folder}/cache"
        groups = {"answers": answers, "adds": adds}
        found, failed = measured(
            {
                name: partial(group, Path(folder), server, options)
                for name, group in groups.items()
                if options.only in {None, name}
            }
        )
    figures = [one for group in found.values() for one in group]
    write_json(options.json, {"figures": [one.cells() for one in figures], "failed": failed})
    return int(bool(failed) or any(one.verdict == "MISSED" for one in figures))


# --- answers


def answers(folder: Path, server: Any, options: argparse.Namespace) -> list[Figure]:
    """Put the same questions to both engines."""
    questions = Corpus(7).questions(options.queries)
    address = f"{server.address('answers')}&application_name=asked"
    with (
        MemoryManager(folder / "lite", embedder=None) as lite,
        MemoryManager(address, embedder=None) as there,
    ):
        for memory in (lite, there):
            _fill(memory, options.memories)
        differ = []
        for question in questions:
            ours, theirs = (
                [hit.id for hit in memory.retrieve(question, DEPTH, record=False)]
                for memory in (lite, there)
            )
            if ours != theirs:
                differ.append(question)
        costs: dict[str, list[float]] = {"lite": [], "pg": []}
        before = _cpu_of_server(server)
        for question in questions:
            for name, memory in (("lite", lite), ("pg", there)):
                began = time.thread_time()
                memory.retrieve(question, DEPTH, record=False)
                costs[name].append(time.thread_time() - began)
        of_server = (_cpu_of_server(server) - before) / len(questions)
        messages = _messages(there, questions)
        anew = _messages(there, questions[:50], writes=True)
    for question in differ[:SHOWN]:
        print(f"another order: {question}")
    size = f"{options.memories:,} memories, {len(questions)} questions"
    in_folder, on_server = median(costs["lite"]), median(costs["pg"])
    return [
        Figure("same order of ten", 100 - 100 * len(differ) / len(questions), 99.5, unit="%",
               higher=True, note=size),
        Figure("CPU of a question, PostgreSQL to SQLite", on_server / in_folder, 1.5,
               note=f"{1e3 * on_server:.1f} and {1e3 * in_folder:.1f} ms, medians"),
        Figure("messages of a question", median(messages), 6, unit="",
               note=f"at most {max(messages)}"),
        Figure("messages of a question after a write", median(anew), 6, unit="",
               note=f"at most {max(anew)}"),
        Figure("CPU of the server", 1e3 * of_server, 1.0, unit="ms", note="mean of a question"),
    ]  # fmt: skip


def _messages(
    memory: MemoryManager, questions: Sequence[str], *, writes: bool = False
) -> list[int]:
    """Count the messages to the server for each question, with its commit.

    Statements that are sent together are one. With ``writes`` a memory is added before each.
    """
    import psycopg  # noqa: PLC0415 - may be missing

    counts: list[int] = []
    execute, pipeline = psycopg.Connection.execute, psycopg.Connection.pipeline

    def executed(connection: Any, *args: Any, **kwargs: Any) -> Any:
        counts[-1] += not connection.pgconn.pipeline_status
        return execute(connection, *args, **kwargs)

    def piped(connection: Any) -> Any:
        counts[-1] += 1
        return pipeline(connection)

    for number, question in enumerate(questions):
        if writes:
            memory.add(f"a note that is written just before question {number}")
        counts.append(1)
        with (
            mock.patch.object(psycopg.Connection, "execute", executed),
            mock.patch.object(psycopg.Connection, "pipeline", piped),
        ):
            memory.retrieve(question, DEPTH, record=False)
    return counts


def _fill(memory: MemoryManager, count: int) -> None:
    texts = Corpus(3).texts(count, sentences=1)
    for start in range(0, count, BITE):
        memory.add_many(
            Draft(
                text,
                "medium",
                id=f"m{n}",
                session=f"s{n // TURNS}",
                occurred_at=START + timedelta(minutes=n),
            )
            for n, text in enumerate(texts[start : start + BITE], start)
        )
    memory.flush(wait=True)


START = datetime(2025, 6, 15, tzinfo=UTC)


def _cpu_of_server(server: Any) -> float:
    """Return the CPU seconds of the processes that serve questions."""
    head = int((Path(server.data) / "postmaster.pid").read_text().split()[0])
    total = 0
    for process in Path(f"/proc/{head}/task/{head}/children").read_text().split():
        if b"[local]" not in Path(f"/proc/{process}/cmdline").read_bytes():
            continue  # it serves nobody
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total * TICK


# --- adds


def adds(folder: Path, server: Any, options: argparse.Namespace) -> list[Figure]:
    """Add from threads to one namespace, and from processes to one each."""
    rates = {}
    for name, root in (("pg", server.address("hot")), ("lite", str(folder / "hot"))):
        with MemoryManager(root, embedder=None) as memory:
            _warm(memory)
            rates[name] = _rate(memory, options.seconds)
    address, counts = server.address("workers"), (options.workers, 1)
    rounds = [
        [_processes(address, n, options.seconds / ROUNDS) for n in counts] for _ in range(ROUNDS)
    ]
    several, one = map(median, zip(*rounds, strict=True))
    return [
        Figure("adds/s to one namespace, 16 threads", rates["pg"], 2_000, unit="/s", higher=True,
               note=f"SQLite in the same run {rates['lite']:.0f}"),
        Figure(f"{options.workers} workers on as many namespaces, to one", several / one, 1.5,
               higher=True, note=f"{several:.0f} and {one:.0f} adds/s"),
    ]  # fmt: skip


def _warm(memory: MemoryManager) -> None:
    """Let a process load all that an ``add`` needs, now or later: 0.2 s of CPU, once."""
    for number, text in enumerate(Corpus(99).texts(20, sentences=1)):
        memory.add(f"{text} {number}")
    memory.flush(wait=True)


def _rate(memory: MemoryManager, seconds: float, threads: int = THREADS) -> float:
    """Add from several threads for so many seconds; return how many a second."""
    counts = [0] * threads
    said = [Corpus(thread).texts(2_000, sentences=1) for thread in range(threads)]
    until = time.monotonic() + seconds

    def run(thread: int) -> None:
        texts = said[thread]
        while time.monotonic() < until:
            memory.add(f"{texts[counts[thread] % len(texts)]} {thread} {counts[thread]}")
            counts[thread] += 1

    running = [threading.Thread(target=run, args=(one,)) for one in range(threads)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    return sum(counts) / seconds


def _processes(address: str, count: int, seconds: float) -> float:
    """Let so many processes add, each to a namespace of its own; return how many a second."""
    environment = child_environment()
    children = [
        subprocess.Popen(
            [sys.executable, __file__, "--work", address, f"{count}x{number}", str(seconds)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True,
        )
        for number in range(count)
    ]  # fmt: skip
    for child in children:
        assert child.stdout is not None
        child.stdout.readline()  # it has opened the store
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    return sum(float(child.communicate()[0]) for child in children)


def _work(address: str, label: str, seconds: str) -> None:
    """Be a process that adds from one thread once it is told to."""
    with MemoryManager(address, namespace=(label,), embedder=None) as memory:
        _warm(memory)
        print("ready", flush=True)
        sys.stdin.readline()
        print(_rate(memory, float(seconds), threads=1))


def _parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="two engines of the ledger, side by side")
    parser.add_argument("-n", "--memories", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=10.0, help="of adding, each time")
    parser.add_argument("--workers", type=int, default=32)
    parser.add_argument("--only", choices=("answers", "adds"))
    parser.add_argument("--json", type=Path, metavar="OUT")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    asked = _parsed()
    if asked.work:
        _work(*asked.work)
    else:
        sys.exit(main())
