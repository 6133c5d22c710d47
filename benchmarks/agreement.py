"""Do Chroma and exact search give the same answers? The same store, asked side by side.

    python benchmarks/agreement.py [-n 20000] [--queries 500] [--notes]
                                   [--embedder default|hash] [--root DIR] [--json OUT]

The texts are made up (corpus.py) and stand in sessions of forty turns; with ``--notes`` in none.
The store is filled once and opened twice at the same time: with exact search, and with Chroma, once
it has loaded and learnt all of it. Each question is put to both before the next one, ten hits each,
nothing recorded. An answer differs if another memory is in it; the questions with other answers are
printed. CPU is that of the whole process a question, in turns.

With ``--root`` the store is made in that folder, or taken from there if it is there. At 100,000
memories the default model embeds for some minutes, and Chroma links for as long.
"""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from common import FIGURE_HEADERS, Figure, embedder_named, median, table, unindexed, write_json
from corpus import Corpus

from memento import Config, MemoryManager
from memento.config import LongIndex
from memento.types import Draft

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

DEPTH = 10
TURNS = 40
BITE = 1000
WAIT = 120.0
FLOOR = 98.0
INDEXES = (LongIndex.CHROMA, LongIndex.EXACT)
"""In the order in which they are opened: the folder of Chroma has one owner."""
SHOWN = 5
"""Differences that are printed of each index."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one index to a question.

    Attributes:
        ids: The hits, best first.
        scores: Their scores.
        cpu: CPU seconds of the process.
    """

    ids: list[str]
    scores: list[float]
    cpu: float


def fill(root: Path, options: argparse.Namespace) -> None:
    """Fill the store and wait until Chroma knows all of it."""
    with MemoryManager(root=root, embedder=embedder_named(options.embedder)) as memory:
        there = memory.store.stats().memories
        texts = Corpus(3).texts(options.memories, sentences=1)
        for start in range(there, len(texts), BITE):
            memory.add_many(
                Draft(text, "medium", session=None if options.notes else f"s{n // TURNS}")
                for n, text in enumerate(texts[start : start + BITE], start)
            )
        while not memory.flush(wait=True):
            time.sleep(0.1)
        assert not unindexed(memory)


def ask(memory: MemoryManager, text: str) -> Answer:
    """Put a question to the store."""
    began = time.process_time()
    found = memory.retrieve(text, DEPTH, record=False)
    cpu = time.process_time() - began
    assert not found.missing
    return Answer([hit.id for hit in found], [hit.score for hit in found], cpu)


@contextmanager
def opened(root: Path, index: LongIndex, first: str, model: str) -> Iterator[MemoryManager]:
    """Open the store with one index, and wait until it answers.

    Raises:
        RuntimeError: If Chroma does not load, so that another index would answer for it.
    """
    config, embedder = Config(long_index=index), embedder_named(model)
    with MemoryManager(root=root, config=config, embedder=embedder) as memory:
        memory.retrieve(first, DEPTH, record=False)  # loads what answers
        ends = time.monotonic() + WAIT
        while index is LongIndex.CHROMA and memory._engine.long_state() != "ready":
            if time.monotonic() > ends:
                raise RuntimeError("Chroma did not load")
            time.sleep(0.1)
            memory.retrieve(first, DEPTH, record=False)
        yield memory


def side_by_side(root: Path, asked: Sequence[str], model: str) -> dict[str, list[Answer]]:
    """Put each question to both indexes, and the next one to the other first."""
    with ExitStack() as stack:
        open_to = {
            index: stack.enter_context(opened(root, index, asked[0], model)) for index in INDEXES
        }
        found: dict[str, list[Answer]] = {index: [] for index in INDEXES}
        for number, text in enumerate(asked):
            for index in INDEXES if number % 2 else reversed(INDEXES):
                found[index].append(ask(open_to[index], text))
        return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("-n", "--memories", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--notes", action="store_true", help="in no sessions")
    parser.add_argument("--embedder", choices=("default", "hash"), default="default")
    parser.add_argument("--root", type=Path, metavar="DIR", help="make or take the store there")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result there")
    options = parser.parse_args(arguments)
    asked = Corpus(4).questions(options.queries)
    with TemporaryDirectory(prefix="memento-agreement-") as temporary:
        root = options.root or Path(temporary)
        fill(root, options)
        found = side_by_side(root, asked, options.embedder)
    note = f"{len(asked)} questions, {options.memories} memories, embedder {options.embedder}"
    figures = compared(found, note)
    print(table(FIGURE_HEADERS, [figure.cells() for figure in figures]))
    print_differences(asked, found)
    write_json(options.json, {"figures": figures})


def compared(found: Mapping[str, Sequence[Answer]], note: str) -> list[Figure]:
    """Compare the answers of Chroma with those of exact search."""
    pairs = list(zip(found["exact"], found["chroma"], strict=True))
    shared = [len(set(a.ids) & set(b.ids)) / max(1, len(a.ids), len(b.ids)) for a, b in pairs]
    costs = {name: 1e3 * median([one.cpu for one in found[name]]) for name in INDEXES}
    how = f"median; exact search {costs[LongIndex.EXACT]:.1f} ms"
    return [
        Figure(
            "Chroma and exact: the same ten hits",
            100 * sum(set(a.ids) == set(b.ids) for a, b in pairs) / len(pairs),
            FLOOR,
            unit="%",
            higher=True,
            note=note,
        ),
        _share("Chroma: in the same order", [a.ids == b.ids for a, b in pairs]),
        _share("Chroma: with the same scores", [a.scores == b.scores for a, b in pairs]),
        _share("Chroma: hits in common", shared),
        Figure("Chroma: CPU a question", costs[LongIndex.CHROMA], unit="ms", note=how),
    ]


def _share(what: str, values: Sequence[float]) -> Figure:
    return Figure(what, 100 * sum(values) / len(values), unit="%", higher=True)


def print_differences(asked: Sequence[str], found: Mapping[str, Sequence[Answer]]) -> None:
    """Print the first questions whose hits are others, with those that only one of them found."""
    other = [
        (text, sorted({*a.ids} - {*b.ids}), sorted({*b.ids} - {*a.ids}))
        for text, a, b in zip(asked, found["exact"], found["chroma"], strict=True)
        if {*a.ids} != {*b.ids}
    ]
    print(f"\nChroma: {len(other)} of {len(asked)} questions have other hits than exact search")
    for text, missed, instead in other[:SHOWN]:
        print(f"  {text}\n    not found: {', '.join(missed)}; instead: {', '.join(instead)}")


if __name__ == "__main__":
    main()
