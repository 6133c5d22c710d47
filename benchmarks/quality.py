"""Does it find what answers the question? Retrieval quality on a public benchmark file.

    python benchmarks/quality.py FILE [--level turn|session|message] [--categories]
                                 [--no-embedder] [--k 10] [--limit N] [--keep FOLDER] [--json OUT]
                                 [--use-earlier-answers] [--weight W] [--list] [--server]

FILE is LoCoMo, BEAM or LongMemEval (see dialogues.py), which you bring yourself. Every conversation
gets a store of its own, filled and asked through the public interface alone, as an application
would; ``--keep`` holds on to the filled stores, so that the next run need not embed again.

A turn is right if it is one of those the benchmark names. At session level a session ranks where
its best turn ranks. LoCoMo's adversarial questions count at session level only: what they ask for
did not happen, so no turn answers them. A near-identical memory folded into a hit counts for
nothing, though the caller learns of it: the strict reading.

With ``--use-earlier-answers`` every right turn that was found is said to be of use, and the next
question comes an hour later: what earlier answers teach must not harm the later ones. As a control,
``--weight 1.5`` fixes the weight of use instead of learning it.

``--server`` keeps the stores on a PostgreSQL server of the run's own in place of folders.

``--list`` measures the multi-hop questions of LoCoMo at greater depth, and within 2,000 tokens,
with and without the order of the tail (see ``memento.retrieve.order``).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import FIGURE_HEADERS, ROOT, Figure, median, percentile, table, write_json
from dialogues import ADVERSARIAL, DEFAULT_LEVELS, Conversation, Dataset, Query, load
from metrics import best_of_each, score, summary
from stores import opened

from memento import Config
from memento.dynamics.formulas import Effect
from memento.retrieve import order
from memento.testing import ManualClock

sys.path.insert(0, str(ROOT / "tests"))
import postgres

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memento import MemoryManager, Retrieval

SESSION_DEPTH = 100
"""Turns asked for at session level, so that 20 sessions come together."""

FIGURES = {
    ("locomo", "turn"): {
        "any@5": (0.81, 0.86),
        "any@10": (0.88, 0.92),
        "nDCG@10": (0.65, 0.70),
        "all@10": (0.74, 0.80),
    },
    ("locomo", "session"): {
        "any@5": (0.94, 0.96),
        "any@10": (0.97, 0.985),
        "frac@10": (0.94, 0.97),
    },
    ("beam", "message"): {"any@10": (0.78, 0.86), "nDCG@10": (0.53, 0.62)},
    ("locomo", "turn", "no embedder"): {"any@10": (0.85, 0.88)},
    ("beam", "message", "no embedder"): {"any@10": (0.75, 0.81)},
}
"""Floor and aim by benchmark, level and embedder."""

MULTI_HOP = "multi-hop"
DEPTHS = (10, 20, 30, 50)
BUDGET = 2_000
"""Tokens of a generous prompt block."""

MULTI_HOP_FIGURES = {"all@10": (0.25, 0.40), "all@30": (0.45, 0.60)}


@dataclass(slots=True)
class Run:
    """The figures of one run.

    Attributes:
        scores: (category, measures) of each question.
        wall: Seconds each ``retrieve`` took.
        cpu: CPU seconds of the process for all ``retrieve`` calls.
        drafts: Turns stored.
        ingest: Seconds until all was stored and indexed; of kept stores, until they were open.
    """

    scores: list[tuple[str, dict[str, float]]] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    cpu: float = 0.0
    drafts: int = 0
    ingest: float = 0.0


def measure(conversation: Conversation, run: Run, options: argparse.Namespace) -> None:
    """Fill a store with a conversation and put its questions to it."""
    started = time.perf_counter()
    clock = ManualClock(conversation.now or datetime.now(UTC))
    with opened(
        conversation,
        embed=not options.no_embedder,
        keep=options.keep,
        config=None if options.weight is None else fixed(options.weight),
        clock=clock if options.use_earlier_answers else None,
        server=options.server,
    ) as memory:
        run.ingest += time.perf_counter() - started
        run.drafts += len(conversation.drafts)
        for query in asked(conversation, options.level):
            hits = timed_retrieve(memory, query, run, options)
            ranked = names(hits, options.level)
            gold = query.sessions if options.level == "session" else query.turns
            if gold:
                run.scores.append((query.category, score(ranked, gold, options.k)))
            if options.use_earlier_answers:
                for hit in hits:
                    if hit.metadata["turn"] in query.turns:
                        memory.feedback.rate(hit, useful=True)
                clock.advance(timedelta(hours=1))


def fixed(weight: float) -> Config:
    """Return settings with which the weight of use is not learnt."""
    return Config(effect=Effect(use=weight, learn=False))


def asked(conversation: Conversation, level: str) -> list[Query]:
    """Return the questions that count at this level."""
    return [
        query
        for query in conversation.queries
        if level == "session" or query.category != ADVERSARIAL
    ]


def timed_retrieve(
    memory: MemoryManager, query: Query, run: Run, options: argparse.Namespace
) -> Retrieval:
    """Ask one question."""
    depth = SESSION_DEPTH if options.level == "session" else max(20, options.k)
    wall, cpu = time.perf_counter(), time.process_time()
    hits = memory.retrieve(query.text, k=depth, record=False)
    run.wall.append(time.perf_counter() - wall)
    run.cpu += time.process_time() - cpu
    return hits


def names(hits: Retrieval, level: str) -> list[str]:
    """Return the ids of the turns or sessions that were found, best first."""
    if level == "session":
        return best_of_each(str(hit.memory.session) for hit in hits)
    return [str(hit.metadata["turn"]) for hit in hits]


def report(dataset: Dataset, run: Run, options: argparse.Namespace) -> dict[str, Any]:
    """Put the figures together."""
    categories = sorted({category for category, _ in run.scores})
    by_category = {
        name: [row for category, row in run.scores if category == name] for name in categories
    }
    return {
        "benchmark": dataset.name,
        "file": options.file.name,
        "level": options.level,
        "embedder": None if options.no_embedder else "default",
        "conversations": len(dataset.conversations),
        "drafts": run.drafts,
        "questions": len(run.scores),
        "all": summary([row for _, row in run.scores]),
        "categories": {
            name: {"questions": len(rows), **summary(rows)} for name, rows in by_category.items()
        },
        "retrieve_ms": {
            "p50": 1e3 * median(run.wall),
            "p95": 1e3 * percentile(run.wall, 0.95),
            "cpu": 1e3 * run.cpu / len(run.wall),
        },
        "ingest_s": run.ingest,
    }


def measure_lists(dataset: Dataset, options: argparse.Namespace) -> list[Figure]:
    """Measure the questions that need several turns, with and without the order of the tail."""
    shares = {ordered: list_shares(dataset, options, ordered=ordered) for ordered in (False, True)}
    before, after = shares[False], shares[True]
    for name in before:
        print(f"multi-hop {name}: {before[name]:.1%} without, {after[name]:.1%} with the tail")
    return [
        Figure("first ten hits changed", after["changed"], 0.0, 0.0, "", higher=False),
        Figure("gain of all@50", after["all@50"] - before["all@50"], 0.05, 0.07, "", higher=True),
        Figure(f"all within {BUDGET} tokens", after["budget"], 0.52, 0.60, "", higher=True),
    ]


def list_shares(
    dataset: Dataset, options: argparse.Namespace, *, ordered: bool
) -> dict[str, float]:
    """Return in what share of the questions all turns are among so many hits."""
    pool, order.POOL = order.POOL, order.POOL if ordered else 0
    found: Counter[str] = Counter()
    count = 0
    try:
        for conversation in dataset.conversations:
            with opened(
                conversation,
                embed=not options.no_embedder,
                keep=options.keep,
                server=options.server,
            ) as memory:
                for query in asked(conversation, "turn"):
                    if query.category == MULTI_HOP and query.turns:
                        count += 1
                        found += list_counts(memory, query)
    finally:
        order.POOL = pool
    names = [*(f"all@{depth}" for depth in DEPTHS), "budget", "changed"]
    return {name: found[name] / max(1, count) for name in names}


def list_counts(memory: MemoryManager, query: Query) -> Counter[str]:
    """Count the depths at which all turns of one question are found."""
    gold = {str(turn) for turn in query.turns}
    ranked = turns_of(memory.retrieve(query.text, k=max(DEPTHS), record=False))
    first = turns_of(memory.retrieve(query.text, k=min(DEPTHS), record=False))
    within = turns_of(memory.retrieve(query.text, k=200, tokens=BUDGET, record=False))
    found = Counter(f"all@{depth}" for depth in DEPTHS if gold <= set(ranked[:depth]))
    found["budget"] = int(gold <= set(within))
    found["changed"] = int(first != ranked[: len(first)])
    return found


def turns_of(hits: Retrieval) -> list[str]:
    """Return the turns of an answer."""
    return [str(hit.metadata["turn"]) for hit in hits]


def figures(result: dict[str, Any]) -> list[Figure]:
    """Return the measures that have a floor, beside it."""
    bare = () if result["embedder"] else ("no embedder",)
    where = (result["benchmark"], result["level"], *bare)
    rows = [
        Figure(f"{' '.join(where)} {name}", result["all"][name]["mean"], *marks, "", higher=True)
        for name, marks in FIGURES.get(where, {}).items()
        if name in result["all"]
    ]
    hops = result["categories"].get("multi-hop", {}) if where == ("locomo", "turn") else {}
    rows += [
        Figure(f"multi-hop {name}", hops[name]["mean"], *marks, "", higher=True)
        for name, marks in MULTI_HOP_FIGURES.items()
        if name in hops
    ]
    return rows


def show(result: dict[str, Any], *, categories: bool) -> None:
    """Print the result as tables."""
    groups = {"all": {"questions": result["questions"], **result["all"]}}
    groups |= result["categories"] if categories else {}
    measures = list(result["all"])
    rows = [
        [name, str(group["questions"]), *(cell(group[measure]) for measure in measures)]
        for name, group in groups.items()
    ]
    took = result["retrieve_ms"]
    print(
        f"{result['benchmark']} {result['file']}, {result['level']} level, embedder "
        f"{result['embedder']}: {result['conversations']} stores, {result['drafts']} turns, "
        f"{result['questions']} questions\n"
    )
    print(table(["per cent (95 % interval)", "n", *measures], rows))
    print(
        f"\nretrieve: p50 {took['p50']:.1f} ms, p95 {took['p95']:.1f} ms, "
        f"CPU {took['cpu']:.1f} ms; ingest and index: {result['ingest_s']:.1f} s\n"
    )
    if held := figures(result):
        print(table(FIGURE_HEADERS[:-1], [figure.cells()[:-1] for figure in held]))


def cell(measure: dict[str, float]) -> str:
    """Return a mean with its interval, in per cent."""
    return f"{100 * measure['mean']:.1f} ({100 * measure['low']:.0f}-{100 * measure['high']:.0f})"


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("file", type=Path, help="LoCoMo, BEAM or LongMemEval, gzipped or not")
    parser.add_argument("--level", choices=("turn", "session", "message"))
    parser.add_argument("--categories", action="store_true", help="one line for each category")
    parser.add_argument("--no-embedder", action="store_true", help="full text alone")
    parser.add_argument("--k", type=int, default=10, help="depth of all@k and frac@k")
    parser.add_argument("--limit", type=int, help="only the first N conversations")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the filled stores there")
    place.add_argument("--server", action="store_true", help="stores on a PostgreSQL server")
    parser.add_argument("--use-earlier-answers", action="store_true", help="right turns were used")
    parser.add_argument("--weight", type=float, metavar="W", help="fixed weight of use, [0, 1.5]")
    parser.add_argument("--list", action="store_true", help="the tail of multi-hop questions")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result there")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    options = parsed(arguments)
    dataset = load(options.file)
    dataset = Dataset(dataset.name, dataset.conversations[: options.limit])
    options.level = options.level or DEFAULT_LEVELS[dataset.name]
    run = Run()
    with postgres.Server() if options.server else nullcontext() as options.server:
        if options.list:
            held = measure_lists(dataset, options)
            print()
            print(table(FIGURE_HEADERS[:-1], [figure.cells()[:-1] for figure in held]))
            write_json(options.json, {figure.what: figure.value for figure in held})
            return
        for conversation in dataset.conversations:
            measure(conversation, run, options)
    result = report(dataset, run, options)
    show(result, categories=options.categories)
    write_json(options.json, result)


if __name__ == "__main__":
    main()
