"""A world of LifeBench: one namespace, a clock that is set, and the results of all ways to order.

The product is used through its public methods only. The other orders are made of its own first 30
hits, with its lifecycle switched off.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from tempfile import TemporaryDirectory
from typing import Any, Self

from life_orders import BASELINES, Candidate, History

from memento import Config, Hit, MemoryManager, Retrieval
from memento.dynamics.formulas import Effect
from memento.dynamics.settings import Dynamics
from memento.testing import ManualClock

PRODUCT = "lifecycle"
START = datetime(2025, 1, 1, 9, tzinfo=UTC)
DAY = timedelta(days=1)
FOUND = 30
"""Hits that are ordered."""
NOWHERE = 99
"""Place of a memory that is not among them."""


@dataclass(frozen=True, slots=True)
class Item:
    """A memory to add.

    Attributes:
        text: Its text.
        at: Day on which it is said.
        actor: Who says it.
        role: ``user`` or ``assistant``.
        session: Name of its session, or None.
        source: Class of trust.
    """

    text: str
    at: float
    actor: str = "user"
    role: str | None = None
    session: str | None = None
    source: str = "user"
    more: Mapping[str, Any] = field(default_factory=dict)


class Scores:
    """The results of one scenario: way to order, then metric, to its values."""

    def __init__(self) -> None:
        self._values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))

    def note(self, way: str, **values: float) -> None:
        """Note one observation of some metrics."""
        for name, value in values.items():
            self._values[way][name].append(float(value))

    def place(self, way: str, order: Sequence[int], wanted: int) -> None:
        """Note at which place the wanted memory is."""
        place = order.index(wanted) if wanted in order else NOWHERE
        self.note(way, hit1=place < 1, hit3=place < 3, mrr=1 / (place + 1))

    def percent(self, way: str, metric: str) -> float:
        """Return the mean of a metric in percent."""
        values = self._values[way][metric]
        return 100 * sum(values) / len(values)

    def table(self) -> dict[str, dict[str, float]]:
        """Return the mean of every metric in percent, by way to order."""
        return {
            way: {name: self.percent(way, name) for name in metrics}
            for way, metrics in self._values.items()
        }


class World(AbstractContextManager["World"]):
    """One store, opened with and without the lifecycle.

    Args:
        dynamics: Settings of the sums; None for the default.
        effect: Settings of the effects; None for the default.
    """

    def __init__(self, dynamics: Dynamics | None = None, effect: Effect | None = None) -> None:
        self._folder = TemporaryDirectory(prefix="lifebench-")
        self.clock = ManualClock(START)
        config = Config(
            long_index="exact",
            dynamics=dynamics or Dynamics(),
            effect=effect or Effect(),
        )
        self.memory = MemoryManager(self._folder.name, clock=self.clock, config=config)
        off = Config(long_index="exact", dynamics=config.dynamics, effect=Effect.off())
        self._plain = MemoryManager(self._folder.name, clock=self.clock, config=off)
        self.ids: list[str] = []
        self._days: list[float] = []
        self._numbers: dict[str, int] = {}
        self._found: dict[str, list[Candidate]] = {}
        self.histories = {way: History() for way in BASELINES}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failed: object) -> None:
        self._plain.close()
        self.memory.close()
        self._folder.cleanup()

    def at(self, day: float) -> None:
        """Set the clock to a day since the start; it never runs back."""
        wanted = START + day * DAY
        if wanted > self.clock():
            self.clock.advance(wanted - self.clock())

    def add(self, items: Sequence[Item]) -> list[int]:
        """Add memories and wait until they can be found; returns their numbers."""
        drafts = [
            {
                "text": one.text,
                "actor": one.actor,
                "role": one.role,
                "session": one.session,
                "source": one.source,
                "occurred_at": START + one.at * DAY,
                **one.more,
            }
            for one in items
        ]
        added = self.memory.add_many(drafts)
        first = len(self.ids)
        for one, item in zip(added, items, strict=True):
            self._numbers.setdefault(one.id, len(self.ids))
            self.ids.append(one.id)
            self._days.append(item.at)
        self.memory.flush(wait=True)
        self._found.clear()
        return list(range(first, len(self.ids)))

    def number(self, hit: Hit) -> int:
        """Return the number of a hit."""
        return self._numbers[hit.id]

    def numbers(self, found: Retrieval) -> list[int]:
        """Return the numbers of an answer, best first."""
        return [self.number(hit) for hit in found]

    def ask(self, question: str, *, record: bool = False) -> Retrieval:
        """Ask the product, with its lifecycle."""
        return self.memory.retrieve(question, FOUND, fold=False, record=record)

    def plain(self, question: str) -> list[Candidate]:
        """Ask the product without its lifecycle; kept until something is added."""
        if question not in self._found:
            found = self._plain.retrieve(question, FOUND, fold=False, record=False)
            self._found[question] = [self._candidate(hit) for hit in found]
        return self._found[question]

    def _candidate(self, hit: Hit) -> Candidate:
        n = self.number(hit)
        cosine = max(0.0, hit.signs.get("cosine", 0.0))
        return Candidate(n, hit.score, cosine, hit.memory.importance, self._days[n])

    def orders(self, question: str, day: float) -> dict[str, list[int]]:
        """Return the numbers that every baseline finds, best first."""
        hits = self.plain(question)
        return {
            way: [one.n for one in order(hits, self.histories[way], day)]
            for way, order in BASELINES.items()
        }
