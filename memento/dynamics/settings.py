"""The settings of the dynamics, each with its unit, its range and where its default comes from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from memento.check import check_number, check_share, check_word
from memento.errors import InvalidInput
from memento.types import Kind, KindName


class Rates(NamedTuple):
    """How fast use is forgotten.

    Attributes:
        decay: Exponent with which the need odds fall, (0, 1). 0.5 is ACT-R's.
        a1: Rate at which the short strength fades, per day.
        a2: Rate at which the long strength fades, per day.
        mu2: Rate at which the short strength feeds the long one, per day.
    """

    decay: float
    a1: float
    a2: float
    mu2: float


PaceName: TypeAlias = Literal["fast", "usual", "slow", "slowest"]
PACES: Mapping[str, Rates] = {
    "fast": Rates(decay=0.6, a1=0.35, a2=0.010, mu2=0.25),
    "usual": Rates(decay=0.5, a1=0.15, a2=0.005, mu2=0.08),
    "slow": Rates(decay=0.4, a1=0.10, a2=0.003, mu2=0.06),
    "slowest": Rates(decay=0.4, a1=0.05, a2=0.001, mu2=0.06),
}
STABILITY: Mapping[Kind, float] = {
    Kind.FACT: 180.0,
    Kind.PREFERENCE: 730.0,
    Kind.RULE: 3650.0,
    Kind.DECISION: 730.0,
    Kind.PROCEDURE: 730.0,
    Kind.EPISODE: 30.0,
    Kind.RELATION: 180.0,
    Kind.EMOTION: 90.0,
    Kind.OPINION: 90.0,
    Kind.CONTEXT: 14.0,
    Kind.QUESTION: 14.0,
    Kind.ARTICLE: 730.0,
    Kind.PLAN: 90.0,
}
"""First stability of a memory by its kind, in active days; see `retention`. It is multiplied by
0.5 + importance. These are the values of a personal assistant: what happened fades within a month
or two, what holds in general lasts for years."""


@dataclass(frozen=True, slots=True)
class Dynamics:
    """Settings for how uses and verdicts affect the strength of memories.

    Processes that share a store should use the same settings; otherwise, each process recomputes
    the strengths that the others computed.

    Attributes:
        pace: How quickly the effect of each use fades: ``fast``, ``usual``, ``slow`` or
            ``slowest``.
        stability: For each kind, the number of active days in which an unused memory of importance
            0.5 fades to 0.37, > 0. Kinds left out keep their defaults, see `STABILITY`.
        agent: Weight of a verdict by an agent, relative to 1 for the user's verdicts, [0, 1].
        half_life: Number of days after which a verdict has lost half its weight, > 0.
    """

    pace: PaceName = "usual"
    stability: Mapping[KindName, float] = field(default_factory=dict)
    agent: float = 0.5
    half_life: float = 180.0

    def __post_init__(self) -> None:
        check_word("dynamics.pace", self.pace, PACES)
        check_share("dynamics.agent", self.agent)
        check_number("dynamics.half_life", self.half_life, _TINY)
        if not isinstance(self.stability, Mapping):
            raise InvalidInput("dynamics.stability", "must be a mapping of kinds to days")
        for kind, days in self.stability.items():
            check_word("dynamics.stability", kind, Kind)
            check_number("dynamics.stability", days, _TINY, math.inf)

    @property
    def rates(self) -> Rates:
        """The rates of its pace."""
        return PACES[self.pace]

    def first_stability(self, kind: str) -> float:
        """Return the first stability of a kind, active days."""
        return self.stability.get(kind) or STABILITY[Kind(kind)]  # type: ignore[call-overload]


_TINY = 1e-9
