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
LEAST_EVIDENCE = 0.5
"""Smallest weight of evidence: what feedback may leave of its differences."""
_STEP_OF_EVIDENCE = 0.2
"""Size of its steps beside those of the weight of use: evidence spans some 10 nats, use 2."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Settings of the effect of uses and verdicts on the order of an answer.

    They move memories among those that match the query alike, by name, letter for letter or not at
    all, and never change a score. Without uses and verdicts nothing moves.

    Attributes:
        use: Weight of the uses of a memory, [0, 1.5]. Each namespace starts with it and learns its
            own from feedback, and with it how much of the evidence counts where memories match
            alike, [0.5, 1].
        learn: Whether these are learnt; if not, they are ``use`` and 1 everywhere.
        rate: How fast they are learnt, [0, 1].
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


@dataclass(frozen=True, slots=True)
class Learnt:
    """The lessons of one namespace about the order of its answers, added up.

    Attributes:
        use: Weight of use, [0, 1.5].
        evidence: Weight of the differences of evidence, [0.5, 1]. It is below 1 where what was
            used had less evidence than what stood beside it, more often than the evidence says.
    """

    use: float
    evidence: float = 1.0


def learn(before: Learnt, lesson: Lesson, rate: float) -> Learnt:
    """Return what is known after a lesson.

    Both weights take a gradient step of the logarithm of p of the used hit, p being the softmax of
    ``evidence · sum + use · u``: how likely the order would have been right. So
    w + rate · (u of the used one - Σ p u), and the same with the sums; both bounded.

    Args:
        before: The lessons until now.
        lesson: What was used, and beside what.
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
