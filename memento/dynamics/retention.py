"""Forgetting, and how use that is spread over time slows it down."""

from __future__ import annotations

import math


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
    once (R = 1) gains nothing; the more was forgotten, the more is gained; what is steady gains
    less.

    Args:
        stability: S before, days, > 0.
        days: Active days since the last use.
        gain: Growth, >= 0.
        flat: How much less the steady gain, >= 0.
        spacing: How much more the forgotten gain, >= 0.
        most: Largest stability, days.

    Source: the recall branch of FSRS-6, with ``gain`` for e^w8 · (11 - D).
    """
    gained = math.exp(spacing * (1 - retention(days, stability))) - 1
    return min(most, stability * (1 + gain * math.pow(stability, -flat) * gained))
