"""Tell a day that is unlike the days before it."""

from __future__ import annotations

from collections.abc import Sequence

UNUSUAL = 3.5
"""Score beyond which a value is an outlier, whatever its sign."""
_TO_DEVIATION = 1.4826
"""Median absolute deviation of a normal distribution to its standard deviation."""


def median(values: Sequence[float]) -> float:
    """Return the middle of some values, at least one."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def outlier(value: float, window: Sequence[float]) -> float:
    """Return the robust standard score of a value: (x - median) / max(1, 1.4826 MAD).

    A mean and a standard deviation would be moved by the very values that they are to notice; the
    least spread of 1 keeps a constant series from flagging the first change by one.

    Args:
        value: The value.
        window: The values before it, at least one.

    Source: Iglewicz & Hoaglin 1993, who flag scores beyond 3.5.

    >>> outlier(30, [9, 10, 10, 11, 10, 12, 8, 10, 10, 11])
    20.0
    """
    middle = median(window)
    spread = _TO_DEVIATION * median([abs(one - middle) for one in window])
    return (value - middle) / max(1.0, spread)
