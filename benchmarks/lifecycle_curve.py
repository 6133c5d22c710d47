"""A year in the life of a store: is what is needed still found, and does the rest go aside?

    python benchmarks/lifecycle_curve.py [--seed 1] [--memories 2000] [--preset personal_assistant]
    python benchmarks/lifecycle_curve.py --json OUT

Memories come on every day of a year. One in ten is asked for again, one to six times, with gaps
that have a heavy tail; durable kinds more often. Each answer that was needed is told ``used``. The
store sleeps every night. In the middle nobody uses it for 120 days, in which it goes on sleeping.
It is judge-free and offline: each memory has a name that no other has, and is asked for by it.

Three figures: of the memories that were asked for, the share that the default answer still finds
at that moment; of those that nobody ever asked for, the share that is archived at the end; and the
number of memories that are not as they were after the pause, which must be 0.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from common import FIGURE_HEADERS, Figure, table, write_json

from memento import Config, MemoryManager
from memento.dynamics.formulas import retention
from memento.testing import ManualClock

DAYS = 365
PAUSE = 120
BREAK_AT = 200
"""Day before which nobody uses the store for `PAUSE` days."""
SHARES = {"episode": 0.40, "fact": 0.20, "context": 0.15} | dict.fromkeys(
    ("preference", "decision", "opinion", "emotion", "question"), 0.05
)
"""Kinds of memories, and how many of them there are."""
DURABLE = frozenset({"fact", "preference", "decision"})
ASKED = 0.10
TAIL = 0.8
FLOORS = {
    "chatbot": (99.5, 28.0),
    "task_agent": (98.0, 55.0),
    "personal_assistant": (99.5, 35.0),
    "researcher": (99.5, 0.0),
}
"""Preset to the least shares in percent: asked for and found, never asked for and archived."""


@dataclass(slots=True)
class Life:
    """The future of one memory.

    Attributes:
        day: Day on which it comes.
        kind: Kind of statement.
        importance: [0, 1].
        asked: Days on which it is asked for.
    """

    day: int
    kind: str
    importance: float
    asked: list[int] = field(default_factory=list)


def lives(seed: int, count: int) -> list[Life]:
    """Draw the futures of some memories; the same for the same seed."""
    rng = random.Random(f"curve/{seed}")
    found = []
    for _ in range(count):
        kind = rng.choices(list(SHARES), list(SHARES.values()))[0]
        importance = min(1.0, max(0.0, rng.gauss(0.4, 0.15)))
        one = Life(rng.randrange(DAYS), kind, importance)
        if rng.random() < ASKED * (1.5 if kind in DURABLE else 0.7):
            day = float(one.day)
            for _ in range(rng.randint(1, 6)):
                day += rng.paretovariate(TAIL)
                if day < DAYS:
                    one.asked.append(int(day))
        found.append(one)
    return found


@dataclass(slots=True)
class Outcome:
    """The events of a year, counted.

    Attributes:
        asked: Questions for a memory.
        found: Those that the default answer answers.
        idle: Memories that nobody ever asked for.
        archived: Those of them that are archived at the end.
        moved: Memories that are not as they were after the pause.
        ruled: Memories that nobody asked for and that the rule alone would archive by the end: no
            store can archive more of those that were drawn.
    """

    asked: int = 0
    found: int = 0
    idle: int = 0
    archived: int = 0
    moved: int = 0
    ruled: int = 0


def run(seed: int, count: int, preset: str, folder: Path) -> Outcome:
    """Let a store live for a year, with a pause, and return what was seen."""
    drawn, seen = lives(seed, count), Outcome()
    coming: dict[int, list[int]] = {}
    asking: dict[int, list[int]] = {}
    for number, one in enumerate(drawn):
        coming.setdefault(one.day, []).append(number)
        for day in one.asked:
            asking.setdefault(day, []).append(number)
    clock = ManualClock(datetime(2025, 1, 1, 9, tzinfo=UTC))
    config = getattr(Config, preset)()
    with MemoryManager(folder / "store", embedder=None, clock=clock, config=config) as memory:
        for day in range(DAYS):
            if day == BREAK_AT:
                seen.moved = _pause(memory, clock)
            _one_day(memory, drawn, coming.get(day, []), asking.get(day, []), seen)
            clock.advance(timedelta(hours=14))
            memory.sleep.run(seconds=60)
            clock.advance(timedelta(hours=10))
        hidden = {one.id for one in memory.list(status="archived", limit=100_000)}
    idle = [number for number, one in enumerate(drawn) if not one.asked]
    seen.idle, seen.archived = len(idle), sum(name(number) in hidden for number in idle)
    seen.ruled = sum(_is_ruled_out(drawn[number], config) for number in idle)
    return seen


def _is_ruled_out(one: Life, config: Config) -> bool:
    """Tell whether a memory that nobody uses is forgotten by the last day, and may go."""
    sleep = config.sleep
    may_go = one.kind in sleep.perishable and one.importance < sleep.archive_importance
    stability = config.dynamics.first_stability(one.kind) * (0.5 + one.importance)
    return may_go and retention(DAYS - 1 - one.day, stability) < sleep.archive_below


def name(number: int) -> str:
    """Return the id of a memory, which its text has as well."""
    return f"item{number:05d}"


def _one_day(
    memory: MemoryManager, drawn: list[Life], new: list[int], asked: list[int], seen: Outcome
) -> None:
    """Let memories come, and ask for some."""
    memory.add_many(
        {
            "text": f"Note {name(number)} of that day",
            "id": name(number),
            "kind": drawn[number].kind,
            "importance": drawn[number].importance,
        }
        for number in new
    )
    for number in asked:
        hits = memory.retrieve(f"note {name(number)}", 5, record=False)
        seen.asked += 1
        if name(number) in [hit.id for hit in hits]:
            seen.found += 1
        memory.feedback.rate(name(number), verdict="used")


def _pause(memory: MemoryManager, clock: ManualClock) -> int:
    """Leave the store alone, but for its sleep; return how many memories changed."""
    memory.sleep.run(seconds=60)
    before = _standing(memory)
    for _ in range(PAUSE):
        clock.advance(timedelta(days=1))
        memory.sleep.run(seconds=60)
    after = _standing(memory)
    return sum(before[one] != after[one] for one in before)


def _standing(memory: MemoryManager) -> dict[str, tuple[str, str]]:
    every = memory.list(status=["active", "superseded", "archived"], limit=100_000)
    return {one.id: (one.status.value, one.tier.value) for one in every}


def figures(seen: Outcome, preset: str) -> list[Figure]:
    """Return what was seen beside what it has to reach."""
    found, archived = FLOORS[preset]
    best = 100 * seen.ruled / max(1, seen.idle)
    return [
        Figure(
            f"{preset}: asked for and found",
            100 * seen.found / max(1, seen.asked),
            found,
            99.9,
            "%",
            higher=True,
            note=f"{seen.asked:,} questions",
        ),
        Figure(
            f"{preset}: never asked for and archived",
            100 * seen.archived / max(1, seen.idle),
            archived,
            None,
            "%",
            higher=True,
            note=f"{seen.idle:,} memories, at most {best:.1f}",
        ),
        Figure(f"{preset}: changed by a pause of {PAUSE} days", seen.moved, 0.0, 0.0, "memories"),
    ]


def main() -> int:
    """Run the year and print a table; the status is 1 if a floor is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--memories", type=int, default=2000)
    parser.add_argument("--preset", choices=sorted(FLOORS), default="personal_assistant")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    began = time.perf_counter()
    with TemporaryDirectory() as folder:
        seen = run(given.seed, given.memories, given.preset, Path(folder))
    found = figures(seen, given.preset)
    print(table(FIGURE_HEADERS, [one.cells() for one in found]))
    print(f"{time.perf_counter() - began:.0f} s")
    if given.json:
        write_json(given.json, {"figures": found})
    return int(any(one.verdict == "MISSED" for one in found))


if __name__ == "__main__":
    sys.exit(main())
