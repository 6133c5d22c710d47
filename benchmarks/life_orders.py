"""Other ways to order the same hits, as other memories do it. Pure.

Each takes the product's own first hits, without its lifecycle, and the history of each memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

HOURS = 24.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A hit of the product without its lifecycle.

    Attributes:
        n: Number of the memory in its world.
        score: Its score.
        cosine: Of its vector and the question's, >= 0.
        importance: [0, 1].
        at: Day on which it was said.
    """

    n: int
    score: float
    cosine: float
    importance: float
    at: float


@dataclass(slots=True)
class History:
    """The accesses of each memory, by its number: how often, and on which day the last one."""

    calls: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    last: dict[int, float] = field(default_factory=dict)

    def note(self, numbers: Sequence[int], day: float) -> None:
        """Note that memories were shown or used."""
        for n in numbers:
            self.calls[n] += 1
            self.last[n] = day

    def since(self, one: Candidate, day: float) -> float:
        """Return the days since a memory was said or accessed."""
        return day - max(one.at, self.last.get(one.n, one.at))


Order = Callable[[Sequence[Candidate], History, float], list[Candidate]]
"""Orders candidates by their history on a day."""


def as_found(hits: Sequence[Candidate], _history: History, _day: float) -> list[Candidate]:
    """Keep the product's own order."""
    return list(hits)


def recency(hits: Sequence[Candidate], _history: History, _day: float) -> list[Candidate]:
    """Put the newest first among hits with at least 0.6 of the best score."""
    near = [one for one in hits if one.score >= 0.6 * hits[0].score]
    far = [one for one in hits if one.score < 0.6 * hits[0].score]
    return sorted(near, key=lambda one: -one.at) + far


def crewai(hits: Sequence[Candidate], _history: History, day: float) -> list[Candidate]:
    """Order by 0.5 similarity + 0.3 recency, halved in 30 days, + 0.2 importance.

    Source: CrewAI, unified memory, composite score.
    """
    return sorted(
        hits,
        key=lambda one: (
            -(0.5 * one.cosine + 0.3 * 0.5 ** ((day - one.at) / 30) + 0.2 * one.importance)
        ),
    )


def generative_agents(hits: Sequence[Candidate], history: History, day: float) -> list[Candidate]:
    """Order by the sum of recency, importance and relevance, each scaled to [0, 1].

    Source: Park et al. 2023, Generative Agents; recency is 0.995 to the hours since the last
    access.
    """
    recent = _scaled([0.995 ** (HOURS * history.since(one, day)) for one in hits])
    weighty = _scaled([one.importance for one in hits])
    near = _scaled([one.cosine for one in hits])
    sums = [sum(three) for three in zip(recent, weighty, near, strict=True)]
    return [hits[at] for at in sorted(range(len(hits)), key=lambda at: (-sums[at], at))]


def memory_bank(hits: Sequence[Candidate], history: History, day: float) -> list[Candidate]:
    """Order by similarity times what is retained; every recall makes it last longer.

    Source: Zhong et al. 2024, MemoryBank: e^(-t / S), here with S of 30 days at first.
    """
    return sorted(
        hits,
        key=lambda one: (
            -one.cosine
            * 2.718281828 ** (-history.since(one, day) / (30 * (1 + history.calls[one.n])))
        ),
    )


def _scaled(values: Sequence[float]) -> list[float]:
    least, most = min(values), max(values)
    return [(one - least) / (most - least) if most > least else 0.0 for one in values]


BASELINES: dict[str, Order] = {
    "no lifecycle": as_found,
    "recency": recency,
    "CrewAI": crewai,
    "Generative Agents": generative_agents,
    "MemoryBank": memory_bank,
}
"""The baselines by name. The product without its lifecycle is the first one."""
