"""LifeBench: does a lifecycle of memories help finding them? Seeded, offline, without a judge.

    python benchmarks/lifecycle.py [--only need,wrong] [--seed N] [--worlds 3] [--slots FILE]
        [--json OUT]

A world is one namespace with a clock that is set. The product is used through its public methods
only; the baselines are other orders of the product's own first 30 hits, with its lifecycle switched
off: as found, newest first, and the formulas of CrewAI, Generative Agents and MemoryBank.

    need    one of six memories that are alike is needed, more often the one needed before; half of
            the answers are told which hit was of use. hit@1, hit@3, MRR of the last 600 questions
    null    the same, but every need is drawn evenly: must not differ from no lifecycle
    wrong   a right and a wrong statement of one thing by two agents; half of the answers get a
            verdict, 15 % of them mistaken. The right one first after 1, 3, 5 and 10 rounds; and
            after 1,000 praises of every wrong one by a tool, by an agent, and with caps and trust
            switched off, which must do harm
    noise   facts that were confirmed, beside lines that share more words with the question
    loop    600 answers are shown and nothing is rated; then a better memory comes for each topic
    drift   the talk of one user over 400 days, in which facts change; the slots are those of
            ``sets/life_slots.json`` (``dev``) or of a file of the same shape, see ``slot_files``

Ends with exit code 1 if a floor is missed. Results of other seeds and slots should hold as well: no
setting of the lifecycle was fitted on any of them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import life_drift
import life_need
import life_verdicts
from common import Figure, measured, table, write_json
from life_orders import BASELINES
from life_world import PRODUCT, Scores

PLAIN = next(iter(BASELINES))
WORLDS = 3
Found = dict[str, Scores]
"""Name of a scenario, or of a part of it, to its results."""


def main() -> int:
    """Run the chosen scenarios; print their tables, and the figures beside their floors."""
    options = _options()
    seeds = range(options.seed, options.seed + options.worlds)
    found: Found = {}

    def played(name: str) -> Iterator[Figure]:
        began = time.perf_counter()
        part = SCENARIOS[name](seeds, options.slots)
        for label, scores in part.items():
            print(f"\n{label}\n{_laid_out(scores)}", flush=True)
        print(f"({time.perf_counter() - began:.0f} s)")
        found.update(part)
        yield from FIGURES[name](part)

    groups, failed = measured({name: partial(played, name) for name in options.only})
    figures = [figure for group in groups.values() for figure in group]
    results = {name: scores.table() for name, scores in found.items()}
    write_json(options.json, {"results": results, "figures": figures, "failed": failed})
    return int(bool(failed) or any(figure.verdict == "MISSED" for figure in figures))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="LifeBench")
    parser.add_argument("--only", type=_names, default=list(SCENARIOS), help="scenarios, by comma")
    parser.add_argument("--seed", type=int, default=0, help="of the first world")
    parser.add_argument("--worlds", type=int, default=WORLDS, help="worlds of each scenario")
    parser.add_argument("--slots", type=Path, default=life_drift.SLOTS, help="things that change")
    parser.add_argument("--json", type=Path, help="file for the results")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in SCENARIOS]:
        raise argparse.ArgumentTypeError(f"no scenarios: {', '.join(unknown)}")
    return names


def _laid_out(scores: Scores) -> str:
    """Lay out the results of a scenario: a line for each way to order."""
    found = scores.table()
    metrics = list(found[PRODUCT])
    rows = [
        [way, *(f"{values[name]:.1f}" if name in values else "" for name in metrics)]
        for way, values in found.items()
    ]
    return table(("", *metrics), rows)


def _wrong(seeds: Sequence[int], _slots: Path) -> Found:
    return {
        "wrong" if attack is None else f"wrong, praised: {name}": life_verdicts.wrong(seeds, attack)
        for name, attack in life_verdicts.ATTACKS.items()
    }


SCENARIOS: dict[str, Callable[[Sequence[int], Path], Found]] = {
    "need": lambda seeds, _: {"need": life_need.need(seeds)},
    "null": lambda seeds, _: {"null": life_need.need(seeds, persistent=False)},
    "wrong": _wrong,
    "noise": lambda seeds, _: {"noise": life_verdicts.noise(seeds)},
    "loop": lambda seeds, _: {"loop": life_need.loop(seeds)},
    "drift": lambda seeds, slots: {"drift": life_drift.drift(seeds, life_drift.read(slots))},
}


def _at_least(what: str, value: float, floor: float, aim: float, note: str = "") -> Figure:
    return Figure(what, value, floor, aim, unit="%", higher=True, note=note)


def _of_need(found: Found) -> Iterator[Figure]:
    scores = found["need"]
    best = f"oracle {scores.percent(life_need.ORACLE, 'hit1'):.1f}"
    yield _at_least("need: hit@1", scores.percent(PRODUCT, "hit1"), 45, 54, best)
    best = f"oracle {scores.percent(life_need.ORACLE, 'mrr'):.1f}"
    yield _at_least("need: MRR", scores.percent(PRODUCT, "mrr"), 62, 70, best)


def _of_null(found: Found) -> Iterator[Figure]:
    scores = found["null"]
    more = scores.percent(PRODUCT, "hit1") - scores.percent(PLAIN, "hit1")
    yield _at_least("null: hit@1, more than without", more, -1, 0, "points")


def _of_wrong(found: Found) -> Iterator[Figure]:
    last = f"round{max(life_verdicts.ROUNDS)}"
    right = found["wrong"].percent(PRODUCT, last)
    yield _at_least("wrong: right@1, last round", right, 75, 88)
    lost = {
        name: right - found[f"wrong, praised: {name}"].percent(PRODUCT, last)
        for name, attack in life_verdicts.ATTACKS.items()
        if attack is not None
    }
    tool, agent, control = lost.values()
    yield Figure("wrong: lost, praised by a tool", tool, 0, 0, "%", note="points")
    yield Figure("wrong: lost, praised by an agent", agent, 6, 3, "%", note="points")
    yield _at_least("wrong: lost without caps and trust", control, 30, 30, "null control")


def _of_noise(found: Found) -> Iterator[Figure]:
    scores = found["noise"]
    yield _at_least("noise: fact@1, easy", scores.percent(PRODUCT, "easy1"), 75, 90)
    yield _at_least("noise: fact@3, easy", scores.percent(PRODUCT, "easy3"), 95, 100)
    yield _at_least("noise: fact@3, hard", scores.percent(PRODUCT, "hard3"), 0, 40)


def _of_loop(found: Found) -> Iterator[Figure]:
    better = found["loop"].percent(PRODUCT, "first")
    yield _at_least("loop: the better one first", better, 100, 100)


def _of_drift(found: Found) -> Iterator[Figure]:
    scores = found["drift"]
    clean, first = (scores.percent(PRODUCT, name) for name in ("clean", "changed1"))
    yield _at_least("drift: no stale one above", clean, 58, 80, "of things that changed")
    yield _at_least("drift: current@1", first, 38, 50, "of things that changed")


FIGURES: dict[str, Callable[[Found], Iterator[Figure]]] = {
    "need": _of_need,
    "null": _of_null,
    "wrong": _of_wrong,
    "noise": _of_noise,
    "loop": _of_loop,
    "drift": _of_drift,
}


if __name__ == "__main__":
    raise SystemExit(main())
