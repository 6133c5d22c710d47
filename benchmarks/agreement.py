"""Do a scan, Chroma and exact search give the same answers? The same store, asked each way.

    python benchmarks/agreement.py [-n 20000] [--queries 500] [--index scan,chroma]
                                   [--embedder default|hash] [--json OUT]

The texts are made up (corpus.py) and stand in sessions of forty turns. The store is filled once;
then it is opened with ``long_index="exact"`` and with each other index, once Chroma has loaded and
learnt all of it, and asked the same questions through the public interface, ten hits each, nothing
recorded. At 100,000 memories the default model embeds for some minutes.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from common import FIGURE_HEADERS, Figure, embedder_named, table, unindexed, write_json
from corpus import Corpus

from memento import Config, MemoryManager
from memento.types import Draft

if TYPE_CHECKING:
    from collections.abc import Sequence

DEPTH = 10
TURNS = 40
BITE = 1000
WAIT = 120.0
FLOORS = {"chroma": 95.0, "scan": 99.0}


def fill(root: Path, options: argparse.Namespace) -> None:
    """Fill the store and wait until all of it has vectors, and Chroma knows it if it is asked."""
    texts = Corpus(3).texts(options.memories, sentences=1)
    with MemoryManager(root=root, embedder=embedder_named(options.embedder)) as memory:
        for start in range(0, len(texts), BITE):
            memory.add_many(
                Draft(text, "medium", session=f"s{n // TURNS}")
                for n, text in enumerate(texts[start : start + BITE], start)
            )
        if "chroma" in options.index:
            memory.flush(wait=True)
            assert not unindexed(memory)
        while memory.store.stats().backlog.get("embed"):
            time.sleep(0.1)


def answers(root: Path, index: str, asked: Sequence[str], model: str) -> list[list[str]]:
    """Ask all questions of one index; return the ids of the hits.

    Raises:
        RuntimeError: If Chroma does not load, so that exact search would answer for it.
    """
    config = Config(long_index=index)
    with MemoryManager(root=root, config=config, embedder=embedder_named(model)) as memory:
        memory.retrieve(asked[0], DEPTH, record=False)  # loads what answers
        ends = time.monotonic() + WAIT
        while index == "chroma" and memory._engine.long_state() != "ready":  # noqa: SLF001 - no public word says who answers
            if time.monotonic() > ends:
                raise RuntimeError("Chroma did not load")
            time.sleep(0.1)
            memory.retrieve(asked[0], DEPTH, record=False)
        found = [memory.retrieve(text, DEPTH, record=False) for text in asked]
        assert not any(one.missing for one in found)
        assert index != "scan" or any((root / "derived").iterdir())
        return [[hit.id for hit in one] for one in found]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("-n", "--memories", type=int, default=20_000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--index", default="scan,chroma", help="compared with exact search")
    parser.add_argument("--embedder", choices=("default", "hash"), default="default")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result there")
    options = parser.parse_args(arguments)
    indexes = options.index.split(",")
    if unknown := set(indexes) - FLOORS.keys():
        parser.error(f"no such index: {', '.join(sorted(unknown))}")
    asked = Corpus(4).questions(options.queries)
    with TemporaryDirectory(prefix="memento-agreement-") as root:
        fill(Path(root), options)
        exact = answers(Path(root), "exact", asked, options.embedder)
        others = {one: answers(Path(root), one, asked, options.embedder) for one in indexes}
    note = f"{len(asked)} questions, {options.memories} memories, embedder {options.embedder}"
    figures = [
        figure for index, found in others.items() for figure in compared(index, exact, found, note)
    ]
    print(table(FIGURE_HEADERS, [figure.cells() for figure in figures]))
    write_json(options.json, {"figures": figures})


def compared(
    index: str, exact: Sequence[list[str]], found: Sequence[list[str]], note: str
) -> list[Figure]:
    """Compare the answers of an index with those of exact search."""
    pairs = list(zip(exact, found, strict=True))
    shared = [len(set(a) & set(b)) / max(1, len(a), len(b)) for a, b in pairs]
    return [
        Figure(
            f"{index} and exact: the same ten hits",
            100 * sum(set(a) == set(b) for a, b in pairs) / len(pairs),
            FLOORS[index],
            unit="%",
            higher=True,
            note=note,
        ),
        Figure(
            f"{index}: in the same order",
            100 * sum(a == b for a, b in pairs) / len(pairs),
            unit="%",
            higher=True,
        ),
        Figure(f"{index}: hits in common", 100 * sum(shared) / len(shared), unit="%", higher=True),
    ]


if __name__ == "__main__":
    main()
