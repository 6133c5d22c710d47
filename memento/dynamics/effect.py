"""The effect of uses and verdicts on the order of answers: its settings, and how use is learnt.

An effect is in nats, like the evidence of the ranking: log odds that a memory is needed, log odds
that it is right, and its worth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from memento.errors import InvalidInput

MOST_USE = 1.5
"""Largest weight of use. A memory used all the time gains less than twice that, nats."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Settings of the effect of uses and verdicts on the order of an answer.

    They move memories among those that match the query alike, by name, letter for letter or not at
    all, and never change a score. Without uses and verdicts nothing moves.

    Attributes:
        use: Weight of the uses of a memory, [0, 1.5]. Each namespace starts with it and learns its
            own from feedback.
        learn: Whether that weight is learnt; if not, it is ``use`` everywhere.
        rate: How fast it is learnt, [0, 1].
        belief: Weight of the log odds that a memory is right, [0, 10].
        worth: Weight of how much a memory helped, [0, 10].
        associated: Weight of what memories lead to that are used together with the first hits,
            [0, 10].
        bound: Largest effect of all together, nats, [0, 10]. A memory whose evidence is more than
            twice that better is never overtaken.
        rivals: Outcome, from 0 down to minus this, of the hits of an answer that claim something
            about the same as one that was used, [0, 1]; 0 for none. It lowers their worth.
        fade_below: ``Hit.fading`` is true if less of a memory is left, [0, 1].
    """

    use: float = 0.3
    learn: bool = True
    rate: float = 0.05
    belief: float = 1.5
    worth: float = 0.5
    associated: float = 0.8
    bound: float = 3.0
    rivals: float = 0.0
    fade_below: float = 0.3

    def __post_init__(self) -> None:
        for name, most in _MOST.items():
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not 0 <= value <= most:
                raise InvalidInput(f"effect.{name}", f"must be in [0, {most}], not {value!r}")
        if not isinstance(self.learn, bool):
            raise InvalidInput("effect.learn", f"must be True or False, not {self.learn!r}")

    @classmethod
    def off(cls) -> Effect:
        """Return settings with which uses and verdicts move nothing.

        >>> Effect.off().acts, Effect().acts
        (False, True)
        """
        return cls(use=0.0, learn=False, belief=0.0, worth=0.0, associated=0.0, bound=0.0)

    @property
    def acts(self) -> bool:
        """Whether any memory can move."""
        weights = (self.use, self.learn, self.belief, self.worth, self.associated)
        return self.bound > 0 and any(weights)


_MOST = {
    "use": MOST_USE,
    "rate": 1.0,
    "belief": 10.0,
    "worth": 10.0,
    "associated": 10.0,
    "bound": 10.0,
    "rivals": 1.0,
    "fade_below": 1.0,
}


@dataclass(frozen=True, slots=True)
class Lesson:
    """The first hits of an answer one of which was used.

    Attributes:
        used: Place of the hit that was used, >= 0.
        sums: Sum of the evidence of each hit, without its use, nats.
        uses: What the uses of each say for it, before this one; see ``use.telling``.
    """

    used: int
    sums: Sequence[float]
    uses: Sequence[float]


def learn(weight: float, lesson: Lesson, rate: float) -> float:
    """Return the weight of use after a lesson: w + rate · (u of the used one - Σ p u), bounded.

    It is a gradient step of the logarithm of p of the used hit, p being the softmax of
    ``sum + w · u``: how likely the order would have been right.

    Args:
        weight: The weight before, [0, 1.5].
        lesson: What was used, and beside what.
        rate: Size of the step, [0, 1].

    Source: listwise softmax likelihood, Cao et al. 2007 (ListNet), with one hit that is right.

    >>> round(learn(0.3, Lesson(1, [0.0, 0.0], [0.0, 1.0]), 0.05), 4)
    0.3213
    """
    sums = [a + weight * u for a, u in zip(lesson.sums, lesson.uses, strict=True)]
    top = max(sums)
    odds = [math.exp(one - top) for one in sums]
    expected = sum(p * u for p, u in zip(odds, lesson.uses, strict=True)) / sum(odds)
    return min(MOST_USE, max(0.0, weight + rate * (lesson.uses[lesson.used] - expected)))
