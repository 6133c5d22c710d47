"""Need odds: how likely a memory is needed again, from how often and when it was used.

The odds fall with a power of the time since each use, and uses add up. A history is kept as 13
leaky sums, from which the power law is composed: exact under any split of the time, independent of
the order of the uses, and independent of the exponent.

Sources: Anderson & Schooler 1991; Anderson & Lebiere 1998 (base-level learning, B = ln of the
odds); Murre & Chessa 2011 (power laws emerge from averaged exponentials); Beylkin & Monzon 2010
(the quadrature).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

FLOOR = 1 / 24
"""Youngest age that is told apart, days: all uses of the last hour count alike."""

RATES = tuple(48.0 * 3.4**-m for m in range(13))
"""Rates of the leaky sums per day, from 48 (half an hour) down to 2.0e-5 (137 years)."""

UNUSED = (0.0,) * len(RATES)
"""The leaky sums of a memory that was never used."""


def need(ages: Sequence[float], decay: float, weights: Sequence[float] | None = None) -> float:
    """Return the exact need odds of a history: the sum of weight · age^-decay; 0 of none.

    `odds` approximates it from the leaky sums to 0.002 nats.

    Args:
        ages: Days since each use, >= 0; less than `FLOOR` counts as `FLOOR`.
        decay: Exponent, (0, 1).
        weights: One for each use, >= 0; None for 1 each.

    >>> need([4.0, 1.0, 0.25], 0.5)
    3.5
    """
    weights = [1.0] * len(ages) if weights is None else weights
    return sum(w * math.pow(max(age, FLOOR), -decay) for age, w in zip(ages, weights, strict=True))


def leak(sums: Sequence[float], days: float) -> tuple[float, ...]:
    """Advance the leaky sums by some days, >= 0."""
    return tuple(s * math.exp(-rate * days) for s, rate in zip(sums, RATES, strict=True))


def used(sums: Sequence[float], weight: float) -> tuple[float, ...]:
    """Add a use of this moment, of a weight >= 0, to the leaky sums."""
    return tuple(s + weight for s in sums)


def odds(sums: Sequence[float], decay: float) -> float:
    """Return the need odds that leaky sums stand for, >= 0.

    They should have leaked at least `FLOOR` since the last use.

    Args:
        sums: As of the moment that is asked about.
        decay: Exponent, (0, 1).

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
        chance: c, need odds that are nothing special, > 0.

    >>> round(telling(1.0, 0.38), 2), telling(0.0, 0.38)
    (1.14, 0.0)
    """
    return 2 * need_odds / (need_odds + 2 * chance)
