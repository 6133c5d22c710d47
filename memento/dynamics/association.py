"""Links between memories that are used together, and how they spread to candidates of a query.

The weight of a link from one memory to another tends to the share of uses of the first in which the
second was used too. Only verdicts count, never being shown together.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from memento.check import check_number

LEAST = 0.05
"""Weight below which a link is dropped."""
MOST = 16
"""Maximum number of links from a memory; the strongest are kept."""
ACTS_FROM = 0.38
"""Weight from which a link acts; at the default rate, the third joint use reaches it."""
STRONGEST = 2.0
"""Nats: a memory with more than e² (7.4) links that act spreads nothing."""
SEEDS = 5
"""Number of candidates of a query, the first ones, from which links spread."""

_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Association:
    """Settings for links between memories that are used together.

    Processes that share a store should use the same settings; otherwise, each process recomputes
    the links that the others computed.

    Attributes:
        rate: How much each joint use strengthens a link, [0, 1]; 0 for no links.
        budget: Maximum total strength of the links from one memory, > 0. Links that exceed it are
            scaled down with each use.
    """

    rate: float = 0.15
    budget: float = 2.0

    def __post_init__(self) -> None:
        for name, least, most in (("rate", 0.0, 1.0), ("budget", LEAST, float(MOST))):
            check_number(f"association.{name}", getattr(self, name), least, most)


@dataclass(frozen=True, slots=True)
class Link:
    """A link from one memory to another.

    Attributes:
        weight: (0, 1].
        count: Uses of both together.
        at: When it last changed, microseconds.
    """

    weight: float
    count: int
    at: int


def associate(weight: float, together: bool, rate: float) -> float:
    """Return the weight of a link after a use of the memory it starts from: w + rate (x - w).

    Source: Oja 1982 with the active unit at 1, so that the fixed point is P(other | this one).

    >>> round(associate(associate(associate(0.0, True, 0.15), True, 0.15), True, 0.15), 6)
    0.385875
    """
    return weight + rate * ((1.0 if together else 0.0) - weight)


def used(
    links: Mapping[int, Link], together: Collection[int], at: int, rate: float, *, daily: bool
) -> dict[int, Link]:
    """Return the links from a memory after a use of it.

    Args:
        links: Maps the row id of another memory to the link to it.
        together: Row ids of the memories that were used with it.
        at: When, microseconds.
        rate: How much the use changes a weight, [0, 1].
        daily: Whether a link changes at most once a day (UTC), as for an agent's verdicts.

    >>> used({}, [7], 0, 0.15, daily=False)
    {7: Link(weight=0.15, count=1, at=0)}
    """
    after = dict(links)
    for other, link in links.items():
        if not (daily and link.at // _DAY == at // _DAY):
            both = other in together
            weight = associate(link.weight, both, rate)
            after[other] = Link(weight, link.count + both, at)
    for other in together:
        if other not in links:
            after[other] = Link(associate(0.0, True, rate), 1, at)
    kept = [(-link.weight, other) for other, link in after.items() if link.weight >= LEAST]
    return {other: after[other] for _, other in sorted(kept)[:MOST]}


def scaled(links: Mapping[int, Link], budget: float) -> dict[int, Link]:
    """Scale down the links from a memory to a budget; drop those below `LEAST`.

    Proportions are kept. Doing it twice gives the same as doing it once.

    Source: synaptic homeostasis, Tononi & Cirelli 2014, as a budget and not as a factor per night.

    >>> {other: one.weight for other, one in scaled({1: Link(0.9, 9, 0)}, 0.6).items()}
    {1: 0.6}
    """
    total = math.fsum(link.weight for link in links.values())
    if total <= budget:
        return dict(links)
    return {
        other: Link(weight, link.count, link.at)
        for other, link in links.items()
        if (weight := link.weight * budget / total) >= LEAST
    }


def spread(sources: Iterable[tuple[float, float, int]]) -> float:
    """Return how strongly some memories lead to one that they are linked to, [0, 1].

    Args:
        sources: For each linked memory: its share of attention (the shares sum to at most 1), the
            weight of its link, and how many memories its links lead to, >= 1.

    Source: ACT-R, the fan effect: Anderson & Reder 1999. Here divided by the strongest association.

    >>> round(spread([(0.5, 0.8, 1), (0.5, 0.4, 4)]), 4)
    0.4614
    """
    return sum(share * weight * reach(fan) for share, weight, fan in sources)


def reach(fan: int) -> float:
    """Return how much a memory with ``fan`` links spreads, [0, 1].

    >>> reach(1), reach(8)
    (1.0, 0.0)
    """
    return max(0.0, STRONGEST - math.log(max(1, fan))) / STRONGEST
