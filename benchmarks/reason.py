"""Do chains of memories lead to the answer of a question that no single memory answers?

    python benchmarks/reason.py [FILE] [--held] [--shuffle] [--no-embedder] [--json OUT]
    python benchmarks/reason.py --facts 5000 [--held]
    python benchmarks/reason.py --around 5000 [--held]

Without FILE it measures a set of its own (see reason_set.py): 500 facts of which a quarter is told
again with another value, and 100 questions over two to four facts, 12 of them written by hand.
``--held`` takes the half that was kept aside: other facts, and other words in the questions.
``--facts`` makes that many facts instead, all of the same relations, so that more and more of them
compete; then the 12 questions written by hand are left out. ``--around`` adds that many other
memories, of the kind agents keep, to the 500 facts.

FILE is JSON: ``{"facts": [...], "questions": [{"question": ..., "answers": [...]}]}``, or records,
one a line or in a list, with ``context`` (numbered facts, one a line), ``questions`` and
``answers``. Later facts replace earlier ones.

A chain is right if its last memory holds an answer word for word; the flat search if any of ten
hits does. ``--shuffle`` gives each fact the last name of another one: then nothing should be found.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from common import FIGURE_HEADERS, Figure, median, percentile, table, write_json
from corpus import Corpus
from reason_set import FACTS, Asked, Set, made, written

from memento import MemoryManager

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FLAT = 10
HOPS = 4
FLOORS = ((2_500, (0.45, 0.65)), (10_000, (0.40, 0.60)), (10**9, (0.30, 0.50)))
"""Up to how many facts: least share, and aim, of answers at the end of the first chain."""
_NUMBER = re.compile(r"^\s*\d+\s*[.):]\s+")
_LAST = re.compile(r"\S+\s*$")


@dataclass(slots=True)
class Run:
    """How many questions were answered, by each way, and what they cost."""

    asked: int = 0
    first: int = 0
    any_chain: int = 0
    flat: int = 0
    facts: list[int] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def share(self, right: int) -> float:
        """Return a count as a share of the questions."""
        return right / max(1, self.asked)


def measure(given: Set, run: Run, *, embed: bool, around: int = 0) -> None:
    """Fill a store with the facts of a set and put its questions to it."""
    others = Corpus(seed=3).texts(around, sentences=1)
    texts = [*others[::2], *given.facts, *others[1::2]]
    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any] = {} if embed else {"embedder": None}
        with MemoryManager(folder, **options) as memory:
            memory.add_many([{"text": text, "tier": "long"} for text in texts])
            memory.flush(wait=True)
            for one in given.questions:  # relations are embedded once
                memory.insight.reason(one.question, hops=HOPS)
            for one in given.questions:
                ask(memory, one, run)


def ask(memory: MemoryManager, one: Asked, run: Run) -> None:
    """Put one question by chains and by the flat search."""
    hits = memory.retrieve(one.question, k=FLAT, record=False)
    began = time.process_time()
    found = memory.insight.reason(one.question, hops=HOPS)
    run.cpu.append(time.process_time() - began)
    run.asked += 1
    run.flat += any(holds(hit.text, one) for hit in hits)
    ends = [chain.facts[-1].text for chain in found.chains]
    run.first += bool(ends) and holds(ends[0], one)
    run.any_chain += any(holds(end, one) for end in ends)
    run.facts.append(len(found.chains[0].facts) if found.chains else 0)


def holds(text: str, one: Asked) -> bool:
    """Tell whether a text has one of the answers, word for word."""
    said = f" {plain(text)} "
    return any(f" {plain(answer)} " in said for answer in one.answers if plain(answer))


def plain(text: str) -> str:
    """Return the words of a text, in small letters."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def shuffled(given: Set) -> Set:
    """Give each fact the last word of another one."""
    ends = [_LAST.search(fact) for fact in given.facts]
    last = [end[0] if end else "" for end in ends]
    Random(0).shuffle(last)
    facts = [_LAST.sub("", fact) + end for fact, end in zip(given.facts, last, strict=True)]
    return replace(given, facts=tuple(facts), name=f"{given.name}, last names shuffled")


def read(path: Path) -> Iterator[Set]:
    """Read the sets of a file."""
    text = path.read_text(encoding="utf-8")
    try:
        found = json.loads(text)
    except ValueError:
        found = [json.loads(line) for line in text.splitlines() if line.strip()]
    for number, record in enumerate(found if isinstance(found, list) else [found], start=1):
        yield Set(f"{path.name} {number}", tuple(_facts(record)), tuple(_questions(record)))


def _facts(record: dict[str, Any]) -> Iterator[str]:
    if "facts" in record:
        yield from record["facts"]
        return
    for line in record["context"].splitlines():
        if _NUMBER.match(line):
            yield _NUMBER.sub("", line).strip()


def _questions(record: dict[str, Any]) -> Iterator[Asked]:
    answers = record.get("answers", ())
    for place, one in enumerate(record["questions"]):
        if isinstance(one, dict):
            right = one["answers"] if "answers" in one else [one["answer"]]
            yield Asked(one["question"], tuple(right), one.get("hops", 0))
        else:
            right = answers[place]
            yield Asked(one, (right,) if isinstance(right, str) else tuple(right), 0)


def figures(run: Run, *, shuffle: bool, facts: int) -> list[Figure]:
    """Return the measures that have a floor, beside it."""
    first, flat = run.share(run.first), run.share(run.flat)
    if shuffle:
        return [Figure("first chain, names shuffled", first, 0.03, 0.0, "", higher=False)]
    times = first / flat if flat else float(run.first)
    cpu = 1e3 * median(run.cpu)
    least, aim = next(rates for most, rates in FLOORS if facts <= most)
    return [
        Figure("answer at the end of the first chain", first, least, aim, "", higher=True),
        Figure("times as often as among ten hits", times, 1.5, 3.0, "", higher=True),
        Figure("CPU of a question", cpu, 15.0, 10.0, "ms", higher=False),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    options = parsed(arguments)
    made_here = own(held=options.held, facts=options.facts)
    sets = list(read(options.file)) if options.file else made_here
    run = Run()
    for given in sets:
        asked = shuffled(given) if options.shuffle else given
        measure(asked, run, embed=not options.no_embedder, around=options.around)
    largest = max(len(given.facts) for given in sets)
    shown = figures(run, shuffle=options.shuffle, facts=largest)
    print(
        f"{', '.join(given.name for given in sets)}, {options.around} other memories: "
        f"{run.asked} questions"
    )
    print(
        f"first chain {run.share(run.first):.1%}, any of five {run.share(run.any_chain):.1%}, "
        f"flat among {FLAT} {run.share(run.flat):.1%}; facts in the first chain "
        f"{median(run.facts):.0f}; CPU p50 {1e3 * median(run.cpu):.1f} ms, "
        f"p95 {1e3 * percentile(run.cpu, 0.95):.1f} ms\n"
    )
    print(table(FIGURE_HEADERS, [figure.cells() for figure in shown]))
    if options.json:
        write_json(options.json, {figure.what: figure.value for figure in shown})


def own(*, held: bool, facts: int = FACTS) -> list[Set]:
    """Return the sets of this benchmark: those to develop on, or those kept aside."""
    asked = made(2 if held else 1, phrasing=int(held), facts=facts)
    return [asked, written(int(held))] if facts == FACTS else [asked]


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("file", nargs="?", type=Path, help="facts and questions, as JSON")
    parser.add_argument("--held", action="store_true", help="the half that was kept aside")
    parser.add_argument("--facts", type=int, default=FACTS, help="facts to make")
    parser.add_argument("--around", type=int, default=0, help="other memories in the store")
    parser.add_argument("--shuffle", action="store_true", help="the null control")
    parser.add_argument("--no-embedder", action="store_true", help="words alone")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result there")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
