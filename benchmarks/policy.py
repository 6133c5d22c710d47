"""What does a policy cost, how much of a prompt does it leave the same, and do conditions hold?

    python benchmarks/policy.py [--memories 10000] [--calls 60] [--embedder default|none]
                                [--json OUT]

Prefix: a simulated session of 60 calls whose history grows, with 15 writes of rules and facts in
between. Measured is the share of each prompt that is the beginning of the prompt before, with the
head in the system message and the tail behind the last message, and beside it today's form: the
recalled block at the end of the system message. Cost: the CPU time to compile a policy of 200 rules
among the memories, and from RAM. Conditions: 20 conditional rules and 50 messages of our own, each
with the rules that hold; recall, and how many of the 20 are switched on per message.

The exit status is 0 if the floors hold: at least 0.90 of the prompt repeated, 5 ms to compile and
0.1 ms from RAM, recall of conditions 0.85 with at most 2 of 20 on.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory

from common import table, write_json

from memento import Kind, MemoryManager
from memento.prompt import conditions
from memento.text.words import estimate
from memento.verbs import rules

SET = Path(__file__).parent / "sets" / "conditions.json"
RULES = 200
WRITES = 15
FLOORS = {"prefix": 0.90, "recall": 0.85}
CEILINGS = {"compile_ms": 5.0, "cached_ms": 0.1, "on": 2.0}
SYSTEM = " ".join(
    f"Rule {n}: answer in short sentences, name your sources, and ask if something is unclear."
    for n in range(20)
)
THINGS = ("boiler", "bike", "garden", "insurance", "piano", "car", "passport", "oven", "cellar")


def said(call: int) -> tuple[str, str]:
    """Return the question and the answer of a call."""
    thing = THINGS[call % len(THINGS)]
    return f"Question {call}: what of the {thing}?", f"Answer {call}: the {thing} is fine. " * 6


def write(memory: MemoryManager, n: int) -> None:
    """Write one memory: rules, preferences and facts in turn."""
    kind = (Kind.RULE, Kind.PREFERENCE, Kind.FACT)[n % 3]
    memory.add(f"Note {n} about the {THINGS[n % len(THINGS)]}: keep it dry", "long", kind=kind)


def prompts(form: str, calls: int) -> list[str]:
    """Simulate the session and return the prompt of each call."""
    made: list[str] = []
    due = {round((n + 1) * calls / (WRITES + 1)): n for n in range(WRITES)}
    with TemporaryDirectory() as root, MemoryManager(root, embedder=None) as memory:
        for n in range(90):
            write(memory, n)
        history: list[str] = []
        for call in range(calls):
            if call in due:
                write(memory, 1_000 + due[call])
            asked, answer = said(call)
            if form == "policy":
                got = memory.rules.policy(asked, session="s")
                head, last = got.head, f"{asked}\n\n{got.tail}"
            else:
                head, last = memory.prompt(asked, 5), asked
            made.append("\n".join([SYSTEM, head, *history, last]))
            history += [asked, answer]
    return made


def repeated(made: Sequence[str]) -> tuple[float, int, int]:
    """Return the share of the prompts that repeats, the tokens that do not, and all."""
    total = fresh = 0
    for before, prompt in pairwise(made):
        same = sum(1 for _ in takewhile(lambda p: p[0] == p[1], zip(before, prompt, strict=False)))
        total += estimate(prompt)
        fresh += estimate(prompt[same:])
    return 1 - fresh / total, fresh, total


def seconds(call: Callable[[], object], times: int) -> float:
    """Return the median CPU time of a call in this thread: other programs do not count."""
    taken = []
    for _ in range(times):
        began = time.thread_time()
        call()
        taken.append(time.thread_time() - began)
    return statistics.median(taken)


def costs(memories: int) -> dict[str, float]:
    """Return what compiling costs, milliseconds."""
    with TemporaryDirectory() as root, MemoryManager(root, embedder=None) as memory:
        for start in range(0, memories - RULES, 1_000):
            stop = min(start + 1_000, memories - RULES)
            memory.add_many(
                {"text": f"fact {n} about the {THINGS[n % 9]}", "tier": "long"}
                for n in range(start, stop)
            )
        memory.add_many(
            {"text": f"Answer questions of sort {n} with the source that they need", "kind": "rule"}
            for n in range(RULES)
        )

        def compiled() -> None:
            rules.forget()
            memory.rules.policy()

        memory.rules.policy(session="s")
        memory.flush(wait=True)  # the CPU of the background thread is no part of the cost
        return {
            "compile_ms": 1e3 * seconds(compiled, 50),
            "cached_ms": 1e3 * seconds(memory.rules.policy, 500),
            "session_ms": 1e3 * seconds(lambda: memory.rules.policy(session="s"), 200),
        }


def switched(embedder: str | None) -> dict[str, float]:
    """Return how well conditions hold for the messages of the set."""
    asked = json.loads(SET.read_text(encoding="utf-8"))
    clauses = list(asked["conditions"])
    at = rules.HOLDS_AT
    hits = wanted = on = 0
    with TemporaryDirectory() as root, MemoryManager(root, embedder=embedder) as memory:
        for message, right in asked["messages"]:
            near = memory.rules._near(message)  # noqa: SLF001 - what a policy scores them with
            held = conditions.holding(clauses, message, {}, near=near, at=at)
            found = {n for n, holds in enumerate(held) if holds}
            hits += len(found & set(right))
            wanted += len(right)
            on += len(found)
    return {
        "recall": hits / wanted,
        "precision": hits / on if on else 0.0,
        "on": on / len(asked["messages"]),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and tell whether the floors hold."""
    parser = argparse.ArgumentParser(description="policy: prefix, cost, conditions")
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--embedder", choices=("default", "none"), default="default")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the result there")
    options = parser.parse_args(arguments)
    rows = []
    figures: dict[str, float] = {}
    for form in ("policy", "recalled block in the system message"):
        share, fresh, total = repeated(prompts(form, options.calls))
        rows.append((form, f"{share:.3f}", f"{fresh:,}", f"{total:,}"))
        figures.setdefault("prefix", share)
    print(table(["form", "repeated", "new tokens", "tokens"], rows))
    figures |= costs(options.memories)
    figures |= switched(None if options.embedder == "none" else options.embedder)
    print(table(["figure", "value"], [(name, f"{value:.3f}") for name, value in figures.items()]))
    write_json(options.json, figures)
    wrong = [name for name, least in FLOORS.items() if figures[name] < least]
    wrong += [name for name, most in CEILINGS.items() if figures[name] > most]
    print(f"missed: {', '.join(wrong)}" if wrong else "every floor holds")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
