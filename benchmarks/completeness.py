"""Does it find all that answers the question, within what a prompt has room for?

    python benchmarks/completeness.py FILE [FILE ...] [--tokens 1000] [--keep FOLDER] [--json OUT]
                                      [--articles [COSINE]]

FILE is as for quality.py. Asked are the questions with two right turns or more, and, as a check
that nothing is lost, those with one. Each is asked four ways, through the public interface:

    five whole       ``k=5``, what a caller gets who says nothing
    as wanted        ``k=None``: more for a question that wants several
    whole, budget    ``k=None`` within the token budget, memories whole (``passage`` and
                     ``long`` None)
    passages, budget ``k=None`` within the same budget, of long memories the passage asked about

``frac`` is the share of the right turns among the hits, ``all`` that none is missing; a
turn of which a passage is shown counts as found.

With ``--articles`` a sleep writes articles first, of turns whose cosine is at least that large; a
turn that a shown article quotes counts as found. The articles stay in a folder of kept stores.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from common import table, write_json
from dialogues import ADVERSARIAL, Conversation, Query, load
from metrics import interval
from stores import opened

from memento import Config
from memento.config import Articles, RetrieveConfig
from memento.retrieve.question import wants_several
from memento.sleep import articles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memento import MemoryManager
    from memento.types import Hit


@dataclass(frozen=True, slots=True)
class Way:
    """A way to ask.

    Attributes:
        k: Most hits, or None.
        budget: Whether the token budget holds.
        passages: Whether long memories may be shortened.
    """

    k: int | None
    budget: bool
    passages: bool = False


WAYS = {
    "five whole": Way(5, budget=False),
    "as wanted": Way(None, budget=False),
    "whole, budget": Way(None, budget=True),
    "passages, budget": Way(None, budget=True, passages=True),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """The result of one question in one way."""

    file: str
    way: str
    several: bool
    recognised: bool
    frac: float
    all: float
    hits: int


def measure(
    name: str, conversation: Conversation, way: str, options: argparse.Namespace
) -> list[Asked]:
    """Put the questions of a conversation to its store, one way."""
    chosen = WAYS[way]
    config = Config()
    if not chosen.passages:
        config = replace(config, retrieve=replace(RetrieveConfig(), passage=None, long=None))
    if options.articles is not None:
        config = replace(config, articles=Articles("extractive"))
        articles.NEAR = options.articles
    with opened(conversation, keep=options.keep, config=config) as memory:
        if options.articles is not None:
            memory.sleep.run(steps=["articles"], seconds=3600)
            memory.flush(wait=True)
        return [
            judged(
                name,
                way,
                query,
                memory.retrieve(
                    query.text,
                    chosen.k,
                    tokens=options.tokens if chosen.budget else None,
                    record=False,
                ).hits,
                memory,
            )
            for query in conversation.queries
            if query.category != ADVERSARIAL
        ]


def judged(name: str, way: str, query: Query, hits: Sequence[Hit], memory: MemoryManager) -> Asked:
    """Compare the hits, and what articles among them quote, with the right turns."""
    written = [hit.memory for hit in hits if hit.memory.kind == "article"]
    quoted = [memory.get(parent) for article in written for parent in article.source.parents]
    turns = [hit.memory for hit in hits if hit.memory.kind != "article"]
    found = query.turns & {str(one.metadata["turn"]) for one in [*turns, *quoted]}
    return Asked(
        name,
        way,
        len(query.turns) > 1,
        wants_several(query.text),
        len(found) / len(query.turns),
        float(found == query.turns),
        len(hits),
    )


def rows(asked: Sequence[Asked]) -> list[list[str]]:
    """Lay out each file, kind of question and way."""
    lines: list[list[str]] = []
    for name in dict.fromkeys(one.file for one in asked):
        for several in (True, False):
            for way in WAYS:
                here = [o for o in asked if (o.file, o.several, o.way) == (name, several, way)]
                if here:
                    kind = "several right" if several else "one right"
                    told = sum(one.recognised for one in here) / len(here)
                    lines.append(
                        [
                            name,
                            kind,
                            str(len(here)),
                            f"{100 * told:.0f}",
                            way,
                            cell([one.frac for one in here]),
                            cell([one.all for one in here]),
                            f"{sum(one.hits for one in here) / len(here):.1f}",
                        ]
                    )
    return lines


def cell(values: Sequence[float]) -> str:
    """Return the mean with its 95 % interval, in per cent."""
    low, high = interval(values)
    return f"{100 * sum(values) / len(values):.1f} ({100 * low:.0f}-{100 * high:.0f})"


HEADERS = ["file", "questions", "n", "told %", "asked", "frac", "all", "hits"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("files", type=Path, nargs="+", help="LoCoMo, BEAM or LongMemEval")
    parser.add_argument("--tokens", type=int, default=1000, help="tokens a prompt has room for")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the filled stores there")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result there")
    parser.add_argument("--articles", type=float, nargs="?", const=articles.NEAR, metavar="COSINE")
    options = parser.parse_args(arguments)
    asked: list[Asked] = []
    for file in options.files:
        dataset = load(file)
        for way in WAYS:
            for conversation in dataset.conversations:
                asked += measure(dataset.name, conversation, way, options)
    print(f"within {options.tokens} tokens; told: share recognised as wanting several\n")
    print(table(HEADERS, rows(asked)))
    write_json(options.json, {"tokens": options.tokens, "asked": asked})


if __name__ == "__main__":
    main()
