"""The settings of the dynamics, each with its unit, its range and where its default comes from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields

from memento.check import MAX_INTEGER, check_count, check_number
from memento.errors import InvalidInput
from memento.types import Kind


@dataclass(frozen=True, slots=True)
class Stability:
    """First stability of a memory by its kind, in active days; see `retention`.

    It is multiplied by 0.5 + importance. The defaults are those of a personal assistant: what
    happened fades within a month or two, what holds in general lasts for years.

    Attributes:
        fact: > 0.
        preference: > 0.
        rule: > 0.
        decision: > 0.
        procedure: > 0.
        episode: > 0.
        relation: > 0.
        emotion: > 0.
        opinion: > 0.
        context: > 0.
        question: > 0.
        article: > 0.
        plan: > 0.
    """

    fact: float = 180.0
    preference: float = 730.0
    rule: float = 3650.0
    decision: float = 730.0
    procedure: float = 730.0
    episode: float = 30.0
    relation: float = 180.0
    emotion: float = 90.0
    opinion: float = 90.0
    context: float = 14.0
    question: float = 14.0
    article: float = 730.0
    plan: float = 90.0

    def __post_init__(self) -> None:
        for name in fields(self):
            check_number(
                f"dynamics.stability.{name.name}", getattr(self, name.name), _TINY, math.inf
            )

    def of(self, kind: str) -> float:
        """Return the stability of a kind, active days."""
        known = {
            Kind.FACT: self.fact,
            Kind.PREFERENCE: self.preference,
            Kind.RULE: self.rule,
            Kind.DECISION: self.decision,
            Kind.PROCEDURE: self.procedure,
            Kind.EPISODE: self.episode,
            Kind.RELATION: self.relation,
            Kind.EMOTION: self.emotion,
            Kind.OPINION: self.opinion,
            Kind.CONTEXT: self.context,
            Kind.QUESTION: self.question,
            Kind.ARTICLE: self.article,
            Kind.PLAN: self.plan,
        }
        return known[Kind(kind)]


@dataclass(frozen=True, slots=True)
class Dynamics:
    """Settings that turn uses and verdicts into strengths.

    Processes that share a store should have equal settings: one that finds the events folded with
    others folds them again.

    Attributes:
        decay: Exponent with which the need odds fall, (0, 1). 0.5 is ACT-R's.
        chance: Need odds that are nothing special, > 0. 0.38 is one use a week ago.
        shown: Weight of being among the first hits of a recorded retrieval, against 1 for being
            used, [0, 1].
        shown_first: Hits of a retrieval that count as shown, >= 0.
        massed: Uses within this many seconds of the last one count once, >= 0.
        agent: Weight of a verdict of the agent, against 1 for the user's, [0, 1].
        day_cap: Most evidence, for and against, that the user's verdicts on one memory bring in a
            day (UTC), >= 0.
        stability: First stability by kind.
        gain: How much a use adds to the stability, >= 0. From FSRS-6.
        flat: How much less the steady gain, >= 0. From FSRS-6.
        spacing: How much more the half-forgotten gain, >= 0. From FSRS-6.
        most_stable: Largest stability, active days, > 0.
        a1: Rate at which the short strength fades, per day, > 0.
        a2: Rate at which the long strength fades, per day, > 0.
        mu2: Rate at which the short strength feeds the long one, per day, >= 0.
        presented: What a presentation adds to the short strength, times 0.5 + importance, >= 0.
        half_life: Days in which half of the evidence of verdicts fades, > 0.
        belief_cap: Largest evidence for and against together, >= 5.
        worth_rate: How fast the worth of a memory follows outcomes, [0, 1].
    """

    decay: float = 0.5
    chance: float = 0.38
    shown: float = 0.1
    shown_first: int = 5
    massed: float = 3600.0
    agent: float = 0.5
    day_cap: float = 4.0
    stability: Stability = field(default_factory=Stability)
    gain: float = 2.0
    flat: float = 0.17
    spacing: float = 0.8
    most_stable: float = 3650.0
    a1: float = 0.15
    a2: float = 0.005
    mu2: float = 0.08
    presented: float = 0.3
    half_life: float = 180.0
    belief_cap: float = 16.0
    worth_rate: float = 0.2

    def __post_init__(self) -> None:
        for name, (least, most) in _RANGES.items():
            check_number(f"dynamics.{name}", getattr(self, name), least, most)
        check_count("dynamics.shown_first", self.shown_first, least=0, most=MAX_INTEGER)
        if not isinstance(self.stability, Stability):
            raise InvalidInput("dynamics.stability", f"must be a Stability, not {self.stability!r}")


_TINY = 1e-9
_RANGES = {
    "decay": (0.01, 0.99),
    "chance": (_TINY, math.inf),
    "shown": (0.0, 1.0),
    "massed": (0.0, math.inf),
    "agent": (0.0, 1.0),
    "day_cap": (0.0, math.inf),
    "gain": (0.0, 100.0),
    "flat": (0.0, 1.0),
    "spacing": (0.0, 10.0),
    "most_stable": (_TINY, math.inf),
    "a1": (_TINY, 1000.0),
    "a2": (_TINY, 1000.0),
    "mu2": (0.0, 1000.0),
    "presented": (0.0, 2.0),
    "half_life": (_TINY, math.inf),
    "belief_cap": (5.0, 1e6),
    "worth_rate": (0.0, 1.0),
}
