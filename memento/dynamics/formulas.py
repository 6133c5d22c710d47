"""The formulas: retention, need, belief, and what an answer teaches about the weight of use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from memento.check import check_flag, check_number
from memento.types import Trust


def retention(days: float, stability: float) -> float:
    """Return the share that is still remembered, (0, 1]: e^(-days / stability).

    Args:
        days: Active days since the last use; less than 0 counts as 0.
        stability: Days after which 37 % is left, > 0.

    Source: Ebbinghaus 1885, in the exponential form of Wozniak 1995.

    >>> round(retention(30.0, 100.0), 3)
    0.741
    """
    return math.exp(-max(0.0, days) / stability)


def steadier(
    stability: float, days: float, *, gain: float, flat: float, spacing: float, most: float
) -> float:
    """Return the stability after a use.

    S' = S · (1 + gain · S^-flat · (e^(spacing · (1 - R)) - 1)), at most ``most``. A repetition at
    once (R = 1) gains nothing; the more was forgotten, the more is gained; a stable memory gains
    less.

    Args:
        stability: S before, days, > 0.
        days: Active days since the last use.
        gain: Growth, >= 0.
        flat: How much less a stable memory gains, >= 0.
        spacing: How much more a forgotten memory gains, >= 0.
        most: Maximum stability, days.

    Source: the recall branch of FSRS-6, with ``gain`` for e^w8 · (11 - D).
    """
    gained = math.exp(spacing * (1 - retention(days, stability))) - 1
    return min(most, stability * (1 + gain * math.pow(stability, -flat) * gained))


FLOOR = 1 / 24
"""Smallest age that is distinguished, days: all uses of the last hour count alike."""

RATES = tuple(48.0 * 3.4**-m for m in range(13))
"""Rates of the leaky sums per day, from 48 (half an hour) down to 2.0e-5 (137 years)."""

UNUSED = (0.0,) * len(RATES)
"""The leaky sums of a memory that was never used."""


def leak(sums: Sequence[float], days: float) -> tuple[float, ...]:
    """Advance the leaky sums by some days, >= 0."""
    return tuple(s * math.exp(-rate * days) for s, rate in zip(sums, RATES, strict=True))


def used(sums: Sequence[float], weight: float) -> tuple[float, ...]:
    """Add a use of this moment, of a weight >= 0, to the leaky sums."""
    return tuple(s + weight for s in sums)


def odds(sums: Sequence[float], decay: float) -> float:
    """Return the need odds that leaky sums stand for: the sum of weight · age^-decay over the uses.

    They should have leaked at least `FLOOR` since the last use.

    >>> round(odds(leak(used(UNUSED, 1.0), 4.0), 0.5), 2)
    0.5
    """
    return sum(c * s for c, s in zip(coefficients(decay), sums, strict=True))


@cache
def coefficients(decay: float) -> tuple[float, ...]:
    """Return c with t^-decay ≈ the sum of c · e^(-rate · t), for t from an hour to ten years.

    t^-d = 1/Γ(d) · the integral of x^(d-1) e^(-xt) dx; in u = ln x the integrand is smooth and
    falls to 0 at both ends, so that the rectangle rule on equidistant u is accurate: to 1.0 % with
    d = 0.5 and 2.4 % with 0.3. The last term takes the tail below the lowest rate.

    Source: Beylkin & Monzon 2010.
    """
    step = math.log(RATES[0] / RATES[1])
    found = [step * rate**decay / math.gamma(decay) for rate in RATES]
    lowest = RATES[-1] * math.exp(-step / 2)
    found[-1] += lowest**decay / decay / math.gamma(decay)
    return tuple(found)


def telling(need_odds: float, chance: float) -> float:
    """Return how far use speaks for a memory, nats, [0, 2): 2U / (U + 2c).

    It is 2 tanh(½ ln(1 + U/c)): the log odds against a chance of need that every memory has,
    saturating at 2. A memory that nobody used has 0, whatever its age.

    Args:
        need_odds: U, >= 0.
        chance: c, need odds of an unremarkable memory, > 0.

    >>> round(telling(1.0, 0.38), 2), telling(0.0, 0.38)
    (1.14, 0.0)
    """
    return 2 * need_odds / (need_odds + 2 * chance)


Counts = tuple[float, float]
"""Evidence for and against, the parameters of a beta distribution, each > 0."""

LEAST = 0.25
"""Smallest count of either side: log odds stay within ±4.1 with a cap of 16."""

_PRIORS: dict[str, Counts] = {Trust.USER: (4.0, 1.0), Trust.AGENT: (2.0, 1.0)}
_STRANGER: Counts = (1.0, 1.0)


def prior(trust: str) -> Counts:
    """Return the evidence for and against a memory before any verdict, by its trust class.

    >>> prior("user"), prior("agent"), prior("web")
    ((4.0, 1.0), (2.0, 1.0), (1.0, 1.0))
    """
    return _PRIORS.get(trust, _STRANGER)


def mean(counts: Counts) -> float:
    """Return the chance of being right, (0, 1).

    >>> mean((4.0, 1.0))
    0.8
    """
    return counts[0] / (counts[0] + counts[1])


def log_odds(counts: Counts) -> float:
    """Return the log odds of being right, nats."""
    return math.log(counts[0] / counts[1])


def fade(counts: Counts, before: Counts, days: float, half_life: float) -> Counts:
    """Let evidence fade towards a prior: the difference halves in each half-life, days.

    >>> fade((8.0, 1.0), (4.0, 1.0), 90.0, 90.0)
    (6.0, 1.0)
    """
    left = 0.5 ** (days / half_life)
    return (before[0] + (counts[0] - before[0]) * left, before[1] + (counts[1] - before[1]) * left)


def judge(counts: Counts, valence: float, *, cap: float) -> Counts:
    """Add evidence.

    Above the cap both counts are scaled down in proportion, which keeps the mean, so that new
    evidence always matters. Neither falls below `LEAST`.

    Args:
        counts: Evidence so far.
        valence: > 0 speaks for the memory, < 0 against it.
        cap: Maximum sum of both counts, > 0.

    >>> judge((4.0, 1.0), -2.0, cap=16.0)
    (4.0, 3.0)
    """
    for_it, against = counts[0] + max(0.0, valence), counts[1] + max(0.0, -valence)
    scale = min(1.0, cap / (for_it + against))
    return max(LEAST, for_it * scale), max(LEAST, against * scale)


MOST_USE = 1.5
"""Maximum weight of use. A memory used all the time gains less than twice that, nats."""
LEAST_EVIDENCE = 0.5
"""Minimum weight of evidence: feedback may shrink its differences to half."""
_STEP_OF_EVIDENCE = 0.2
"""Size of its steps relative to those of the weight of use: evidence spans some 10 nats, use 2."""


LEARN_RATE = 0.05
"""How fast the weights of a namespace are learned, [0, 1]; see `learn`."""
FADE_BELOW = 0.3
"""Retention below which a memory counts as fading: ``Hit.fading`` and ``sleep.stale`` say so."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Settings for how uses and verdicts affect the order of results.

    They reorder only memories that match the query in the same way (by name, literally or neither),
    and never change a score. Without uses or verdicts, the order is unaffected.

    Attributes:
        use: Initial weight of past use, [0, 1.5]. From feedback, each namespace then learns its own
            weight and how much small differences in evidence should count, [0.5, 1].
        learn: Whether to learn these two weights; if False, they are ``use`` and 1 in every
            namespace.
        bound: Maximum combined effect, in nats, [0, 10]. A memory whose evidence is better by more
            than twice this amount is never overtaken.
        rivals: How much worth a hit loses if another hit about the same subject was used instead,
            [0, 1]; 0 for none.
    """

    use: float = 0.3
    learn: bool = True
    bound: float = 3.0
    rivals: float = 0.0

    def __post_init__(self) -> None:
        for name, most in _MOST.items():
            check_number(f"effect.{name}", getattr(self, name), 0, most)
        check_flag("effect.learn", self.learn)

    @classmethod
    def off(cls) -> Effect:
        """Return settings with which uses and verdicts move nothing.

        >>> Effect.off().acts, Effect().acts
        (False, True)
        """
        return cls(use=0.0, learn=False, bound=0.0)

    @property
    def acts(self) -> bool:
        """Whether any memory can move."""
        return self.bound > 0


_MOST = {"use": MOST_USE, "bound": 10.0, "rivals": 1.0}


@dataclass(frozen=True, slots=True)
class Lesson:
    """The first hits of an answer, one of which was used.

    Attributes:
        used: Index of the hit that was used, >= 0.
        sums: Sum of the evidence of each hit, without its use, nats.
        uses: How far earlier use speaks for each hit, nats; see `telling`.
    """

    used: int
    sums: Sequence[float]
    uses: Sequence[float]


@dataclass(frozen=True, slots=True)
class Learnt:
    """The weights that a namespace has learned for the order of its answers.

    Attributes:
        use: Weight of use, [0, 1.5].
        evidence: Weight of the differences of evidence, [0.5, 1]. It is below 1 where hits with
            less evidence than their neighbours were used more often than the evidence predicts.
    """

    use: float
    evidence: float = 1.0


def learn(before: Learnt, lesson: Lesson, rate: float) -> Learnt:
    """Return the weights after a lesson.

    Both weights take a gradient step that raises log p of the used hit, where p is the softmax of
    ``evidence · sum + use · u``: use + rate · (u of the used hit - Σ p u), and the same for
    evidence with the sums; both are clamped to their ranges.

    Args:
        before: The weights so far.
        lesson: The hit that was used, and its neighbours.
        rate: Size of the step, [0, 1]; a fifth of it for the evidence.

    Source: listwise softmax likelihood, Cao et al. 2007 (ListNet), with one hit that is right.

    >>> after = learn(Learnt(0.3), Lesson(1, [0.0, 0.0], [0.0, 1.0]), 0.05)
    >>> round(after.use, 4), after.evidence
    (0.3213, 1.0)
    >>> round(learn(Learnt(0.3), Lesson(1, [2.0, 0.0], [0.0, 0.0]), 0.05).evidence, 4)
    0.9824
    """
    pairs = list(zip(lesson.sums, lesson.uses, strict=True))
    pull = [before.evidence * said + before.use * u for said, u in pairs]
    top = max(pull)
    odds = [math.exp(one - top) for one in pull]
    total = sum(odds)
    u = sum(p * one for p, one in zip(odds, lesson.uses, strict=True)) / total
    said = sum(p * one for p, one in zip(odds, lesson.sums, strict=True)) / total
    use = before.use + rate * (lesson.uses[lesson.used] - u)
    evidence = before.evidence + _STEP_OF_EVIDENCE * rate * (lesson.sums[lesson.used] - said)
    return Learnt(min(MOST_USE, max(0.0, use)), min(1.0, max(LEAST_EVIDENCE, evidence)))
