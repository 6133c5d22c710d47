"""Two strengths of a memory: a short one that fades fast, and a long one that grows out of it.

Source: the Memory Chain Model, Chessa & Murre 2007; Murre, Chessa & Meeter 2013, Table 1.
"""

from __future__ import annotations

import math

MOST = 2.0
"""Largest short strength."""

_SAME = 1e-9
"""Rates nearer than this are one rate."""


def advance(
    short: float, long: float, days: float, *, a1: float, a2: float, mu2: float
) -> tuple[float, float]:
    """Return both strengths some days later.

    short' = -a1 · short and long' = mu2 · short - a2 · long, in closed form: however often it is
    called, the result is the same.

    Args:
        short: Short strength, >= 0.
        long: Long strength, >= 0.
        days: >= 0.
        a1: Rate at which the short strength fades, per day, > 0.
        a2: Rate at which the long strength fades, per day, > 0.
        mu2: Rate at which the short strength feeds the long one, per day, >= 0.
    """
    left1, left2 = math.exp(-a1 * days), math.exp(-a2 * days)
    alike = abs(a1 - a2) < _SAME
    passed = mu2 * days * left1 if alike else mu2 / (a1 - a2) * (left2 - left1)
    return short * left1, long * left2 + short * passed


def recall(short: float, long: float) -> float:
    """Return the chance of recall, [0, 1): 1 - e^-(short + long)."""
    return -math.expm1(-(short + long))
