"""Does it stay fast, small and whole? A day of use by many people, compressed.

    python benchmarks/soak.py [--adds 20000] [--seed 1] [--dim 16] [--root FOLDER] [--json OUT]

One process plays 24 hours, a tenth of the adds at a time for the table: turns of sessions come in
batches (``add_many``), others one by one; some change or supersede earlier ones, some are forgotten
and a few restored; people ask; snapshots are written; every hour the store is closed and opened
again. Half of all memories are one user's, the rest are spread over 49. The clock is set by hand.
The embedder is the cheap one for tests, with few dimensions: what is soaked is the store.

At the end every index has to agree with the rows: full text, vectors, backlog, ring, Chroma. The
exit status is 0 if it does, adds took at most twice as long in the last tenth as in the first, and
each memory of the last half cost at most 2 KiB of RAM of the process's own.

The cost of a memory as long as its row is in the ledger (also if forgotten, until erased): 90
bytes of the roster, as many again while it has room to grow; 4 bytes a dimension for exact search
in a namespace of up to 15,000; and what Chroma keeps, 4 bytes a dimension, some 300 for the links
of its graph, and the rest, up to 1 KB, for the names of rows and room to grow. A namespace that was
written to since the store was opened costs one to three megabytes more, Chroma's price of an open
collection, of which 128 stay open; so everyone says something before it is measured. Pages of the
ledger that the system keeps mapped are counted apart: they are a cache, which it takes back when it
needs the room.
Bounded caches fill up meanwhile: 256 rings of 50 turns, some 2 KB each, and 50,000 known words.
A run of 15,000 is too short to tell that apart and measures 4 KB a memory; 50 users who only add
cost 1.7 KB.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import random
import resource
import sys
import time
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from common import FIGURE_HEADERS, Figure, median, table, write_json
from corpus import Corpus

from memento import MemoryManager
from memento.ledger.schema import SEQ_BITS
from memento.testing import HashEmbedder, ManualClock
from memento.tiers.chroma import ChromaFolder, collection_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memento.ledger.contract import Transaction

HOURS = 24
PARTS = 10
BATCH = 50
SINGLES = 10
"""Single adds after each batch."""
USERS = 50
BYTES_A_MEMORY = 2048


@dataclass(slots=True)
class Part:
    """The cost of one tenth of the day.

    Attributes:
        memories: Adds up to its end.
        add_cpu_us: CPU of the calling thread for one single add, mean.
        add_ms: Wall time of one single add, median.
        batch_cpu_us: CPU of the calling thread a memory of a batch, mean.
        retrieve_ms: Wall time of one retrieval, median.
        own_mb: Memory that is the process's own at its end: not backed by a file.
        rss_mb: All its resident memory, mapped pages of the ledger and of libraries included.
        ledger_mb: Size of the ledger at its end.
        seconds: Wall time of it all.
    """

    memories: int = 0
    add_cpu_us: float = 0.0
    add_ms: float = 0.0
    batch_cpu_us: float = 0.0
    retrieve_ms: float = 0.0
    own_mb: float = 0.0
    rss_mb: float = 0.0
    ledger_mb: float = 0.0
    seconds: float = 0.0


@dataclass(slots=True)
class Times:
    """Measurements since the last part was closed: CPU and wall seconds of each call."""

    add: list[tuple[float, float]] = field(default_factory=list)
    batch: list[tuple[float, float]] = field(default_factory=list)
    retrieve: list[tuple[float, float]] = field(default_factory=list)


class Day:
    """The people and what they do, over one store that is opened again each hour."""

    def __init__(self, root: Path, options: argparse.Namespace) -> None:
        self.root = root
        self.options = options
        self.clock = ManualClock()
        self.dice = random.Random(options.seed)
        self.corpus = Corpus(options.seed)
        self.times = Times()
        self.parts: list[Part] = []
        self.added = self.opened = 0
        self.done = dict.fromkeys(("updated", "superseded", "forgotten", "restored", "asked"), 0)
        self.known: dict[int, list[str]] = {user: [] for user in range(USERS)}
        self.began = time.monotonic()
        self.memory = self._open()

    def _open(self) -> MemoryManager:
        self.opened += 1
        embedder = HashEmbedder(self.options.dim)
        return MemoryManager(self.root, embedder=embedder, clock=self.clock)

    def live(self) -> None:
        """Play the day."""
        adds = self.options.adds
        hours = [adds * (n + 1) // HOURS for n in range(HOURS)]
        parts = [adds * (n + 1) // PARTS for n in range(PARTS)]
        while self.added < adds:
            self._visit()
            if self.added >= hours[0]:
                hours.pop(0)
                self._end_hour()
            if parts and self.added >= parts[0]:
                parts.pop(0)
                self._everyone()
                self._end_part()
                self._progress()
        self.memory.close()

    def _visit(self) -> None:
        """Let one person hold a conversation, tell some things, and change a mind or two."""
        user = 0 if self.dice.random() < 0.5 else self.dice.randrange(1, USERS)
        view = self.memory.of(f"user{user}")
        session = f"s{self.dice.randrange(20)}"
        turns = [{"text": self._text(), "tier": "short", "session": session} for _ in range(BATCH)]
        made = self._timed(self.times.batch, lambda: view.add_many(turns))
        self._remember(user, [memory.id for memory in made])
        for _ in range(SINGLES):
            tier = self.dice.choice(("short", "medium", "long", None))
            text = self._text()
            one = self._timed(self.times.add, lambda text=text, tier=tier: view.add(text, tier))
            self._remember(user, [one.id])
        self.added += BATCH + SINGLES
        self._change(view, user)
        self._timed(self.times.retrieve, lambda: view.retrieve(self._text(), k=5))
        self.done["asked"] += 1
        self.clock.advance(timedelta(days=1) * (BATCH + SINGLES) / self.options.adds)

    def _text(self) -> str:
        return f"{self.corpus.text(1)} {self.dice.randrange(10**9):x}"

    def _remember(self, user: int, ids: Sequence[str]) -> None:
        known = self.known[user]
        known.extend(ids)
        del known[:-500]

    def _change(self, view: MemoryManager, user: int) -> None:
        known = self.known[user]
        view.update(known[self.dice.randrange(len(known))], text=self._text())
        self.done["updated"] += 1
        view.add(self._text(), "long", key=f"user/slot{self.dice.randrange(20)}")
        self.added += 1
        self.done["superseded"] += 1
        gone = [known.pop(self.dice.randrange(len(known))) for _ in range(2)]
        for memory_id in gone:
            view.forget(memory_id)
        self.done["forgotten"] += len(gone)
        if self.dice.random() < 0.2:
            view.restore(gone[0])
            self.done["restored"] += 1

    def _timed(self, where: list[tuple[float, float]], call: Any) -> Any:
        cpu, wall = time.thread_time(), time.perf_counter()
        result = call()
        where.append((time.thread_time() - cpu, time.perf_counter() - wall))
        return result

    def _end_hour(self) -> None:
        """Write the snapshot, let the indexes catch up, close and open."""
        assert self.memory.flush(wait=True, timeout=3600), "the indexes did not catch up"
        self.memory.close()
        self.memory = self._open()

    def _everyone(self) -> None:
        """Let each user say one thing, so that every collection is open."""
        for user in range(USERS):
            self.memory.of(f"user{user}").add(self._text(), "long")
        self.added += USERS
        assert self.memory.flush(wait=True, timeout=3600), "the indexes did not catch up"

    def _end_part(self) -> None:
        times, self.times = self.times, Times()
        began, self.began = self.began, time.monotonic()
        part = Part(
            memories=self.added,
            add_cpu_us=fmean(cpu for cpu, _ in times.add) * 1e6,
            add_ms=median([wall for _, wall in times.add]) * 1e3,
            batch_cpu_us=fmean(cpu for cpu, _ in times.batch) / BATCH * 1e6,
            retrieve_ms=median([wall for _, wall in times.retrieve]) * 1e3,
            own_mb=own_mb(),
            rss_mb=rss_mb(),
            ledger_mb=self.memory.store.stats().ledger_bytes / 1e6,
            seconds=self.began - began,
        )
        self.parts.append(part)

    def _progress(self) -> None:
        part = self.parts[-1]
        said = ", ".join(f"{name} {value:.4g}" for name, value in asdict(part).items())
        print(said, file=sys.stderr, flush=True)


def rss_mb() -> float:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


def own_mb() -> float:
    """Return the anonymous resident memory of this process in MB. Source: proc(5).

    Freed memory that is still in the allocator's lists, one per thread, is given back before.
    """
    gc.collect()
    with contextlib.suppress(AttributeError):  # not every C library has it
        ctypes.CDLL(None).malloc_trim(0)
    status = Path("/proc/self/status").read_text("ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("RssAnon:"))
    return int(line.split()[1]) * 1024 / 1e6


def orphans(root: Path, dim: int) -> dict[str, int]:
    """Count what disagrees between the rows and what is derived from them; all should be 0."""
    with MemoryManager(root, embedder=HashEmbedder(dim)) as memory:
        found = {"backlog left": int(not memory.flush(wait=True, timeout=3600))}
        for finding in memory.store.doctor(repair=False):
            found[f"doctor: {finding.check}"] = int(not finding.ok)
        read = memory._engine.ledger.read
        found |= read(_disagreements)
        expected = read(_indexed)
    return found | _chroma_disagreements(root / "chroma", expected)


def _disagreements(connection: Transaction) -> dict[str, int]:
    counts = {
        "full text without row": "SELECT count(*) FROM memories_fts_docsize"
        " WHERE id NOT IN (SELECT docid FROM memories)",
        "vectors without row": "SELECT count(*) FROM embeddings"
        " WHERE docid NOT IN (SELECT docid FROM memories)",
        "rows without vector": "SELECT count(*) FROM memories WHERE status = 'active'"
        " AND docid NOT IN (SELECT docid FROM embeddings)",
        "backlog": "SELECT count(*) FROM backlog",
        "versions without row": "SELECT count(*) FROM versions"
        " WHERE docid NOT IN (SELECT docid FROM memories)",
        "links without row": "SELECT count(*) FROM links WHERE src NOT IN"
        " (SELECT docid FROM memories) OR dst NOT IN (SELECT docid FROM memories)",
    }
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if "memories_fts_docsize" not in tables:  # kept without sizes: then by its content
        counts["full text without row"] = counts["full text without row"].replace(
            "memories_fts_docsize", "memories_fts_content"
        )
    return {name: connection.execute(sql).fetchone()[0] for name, sql in counts.items()}


def _indexed(connection: Transaction) -> dict[str, set[str]]:
    """Collection name to the ids that Chroma has to hold."""
    labels = dict(connection.execute("SELECT ns, labels FROM namespaces"))
    rows = connection.execute(
        "SELECT docid, id FROM memories WHERE status = 'active' AND tier <> 'short'"
    )
    names = {ns: _collection(text) for ns, text in labels.items()}
    expected: dict[str, set[str]] = {}
    for docid, memory_id in rows:
        expected.setdefault(names[docid >> SEQ_BITS], set()).add(memory_id)
    return expected


def _collection(labels: str) -> str:
    import json  # noqa: PLC0415

    return collection_name(tuple(json.loads(labels)))


def _chroma_disagreements(folder: Path, expected: dict[str, set[str]]) -> dict[str, int]:
    opened = ChromaFolder(folder)
    found = {"in Chroma without row": 0, "rows not in Chroma": 0}
    listed = opened._client.list_collections()  # noqa: SLF001 - memento never lists what Chroma holds
    held = {collection.name: _ids(collection) for collection in listed}
    for name in {*held, *expected}:
        there, due = held.get(name, set()), expected.get(name, set())
        found["in Chroma without row"] += len(there - due)
        found["rows not in Chroma"] += len(due - there)
    opened.close()
    return found


def _ids(collection: Any) -> set[str]:
    held: set[str] = set()
    while len(held) < collection.count():
        held.update(collection.get(include=[], limit=50_000, offset=len(held))["ids"])
    return held


def figures(parts: Sequence[Part], wrong: dict[str, int]) -> list[Figure]:
    """Hold the last tenth against the first, and the second half's RAM against its memories."""
    first, last, middle = parts[0], parts[-1], parts[len(parts) // 2 - 1]
    grown = (last.own_mb - middle.own_mb) * 1e6 / (last.memories - middle.memories)
    return [
        Figure("single add, CPU, last tenth / first", last.add_cpu_us / first.add_cpu_us, 2, 1.2),
        Figure("single add, wall p50, last tenth / first", last.add_ms / first.add_ms, 2, 1.2),
        Figure("batch, CPU a memory, last tenth / first",
               last.batch_cpu_us / first.batch_cpu_us, 2, 1.2),
        Figure("RAM a memory, second half", grown, BYTES_A_MEMORY, 512, unit="bytes"),
        Figure("disagreements between rows and indexes", sum(wrong.values()), 0, unit=""),
    ]  # fmt: skip


def soak(root: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Play the day and look at what is left."""
    day = Day(root, options)
    began = time.monotonic()
    day.live()
    seconds = time.monotonic() - began
    wrong = orphans(root, options.dim)
    return {
        "adds": day.added,
        "opened": day.opened,
        **day.done,
        "seconds": seconds,
        "parts": [asdict(part) for part in day.parts],
        "disagreements": wrong,
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        "figures": figures(day.parts, wrong),
    }


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="a day of use, compressed")
    parser.add_argument("--adds", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dim", type=int, default=16, help="dimensions of the test embedder")
    parser.add_argument("--root", type=Path, help="keep the store there; must not exist")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result there")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Soak and print."""
    options = parsed(arguments)
    with TemporaryDirectory(prefix="memento-soak-") as folder:
        said = soak(options.root or Path(folder, "store"), options)
    parts = [[f"{value:,.4g}" for value in part.values()] for part in said["parts"]]
    print(table([name.replace("_", " ") for name in said["parts"][0]], parts))
    print(table(FIGURE_HEADERS, [figure.cells() for figure in said["figures"]]))
    print(", ".join(f"{name} {said[name]:,}" for name in ("adds", "opened", "updated", "superseded",
          "forgotten", "restored", "asked")))  # fmt: skip
    for name, count in said["disagreements"].items():
        if count:
            print(f"{name}: {count}")
    write_json(options.json, said)
    return 1 if any(figure.verdict == "MISSED" for figure in said["figures"]) else 0


if __name__ == "__main__":
    sys.exit(main())
