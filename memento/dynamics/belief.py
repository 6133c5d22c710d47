"""The chance that a memory is right: counts for and against it, which fade and are capped.

Source: the beta reputation system, Jøsang & Ismail 2002.
"""

from __future__ import annotations

import math

from memento.types import Trust

Counts = tuple[float, float]
"""Evidence for and against, the parameters of a beta distribution, each > 0."""

LEAST = 0.25
"""Smallest count of either side: log odds stay within ±4.1 with a cap of 16."""

_PRIORS: dict[str, Counts] = {Trust.USER: (4.0, 1.0), Trust.AGENT: (2.0, 1.0)}
_STRANGER: Counts = (1.0, 1.0)


def prior(trust: str) -> Counts:
    """Return what speaks for and against a memory before any verdict, by its class of trust.

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
    """Let evidence fade towards what was there before any: the difference halves by half-lives.

    Args:
        counts: Evidence.
        before: The prior.
        days: >= 0.
        half_life: Days, > 0.

    >>> fade((8.0, 1.0), (4.0, 1.0), 90.0, 90.0)
    (6.0, 1.0)
    """
    left = 0.5 ** (days / half_life)
    return (
        before[0] + (counts[0] - before[0]) * left,
        before[1] + (counts[1] - before[1]) * left,
    )


def judge(counts: Counts, valence: float, *, cap: float) -> Counts:
    """Add evidence.

    Over the cap both counts are scaled down in proportion, which keeps the mean: no past outweighs
    every future. Neither falls below `LEAST`.

    Args:
        counts: Evidence so far.
        valence: > 0 speaks for the memory, < 0 against it.
        cap: Largest sum of both counts, > 0.

    >>> judge((4.0, 1.0), -2.0, cap=16.0)
    (4.0, 3.0)
    """
    for_it, against = counts[0] + max(0.0, valence), counts[1] + max(0.0, -valence)
    scale = min(1.0, cap / (for_it + against))
    return max(LEAST, for_it * scale), max(LEAST, against * scale)
