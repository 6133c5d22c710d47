"""Keep the answer within what the caller can use. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def within(ranked: Sequence[T], k: int, tokens: int | None, cost: Callable[[T], int]) -> list[T]:
    """Take hits in their order until there are k, skipping those that no longer fit.

    Args:
        ranked: Hits, best first.
        k: Most hits, >= 0.
        tokens: Most tokens in all, >= 0; None for no limit.
        cost: Tokens of one hit, >= 0.

    Returns:
        Hits in the same order.

    >>> within(["aaa", "bb", "c"], 3, 4, len)
    ['aaa', 'c']
    """
    if tokens is None:
        return list(ranked[:k])
    kept: list[T] = []
    for hit in ranked:
        if len(kept) == k:
            break
        if (price := cost(hit)) <= tokens:
            tokens -= price
            kept.append(hit)
    return kept
