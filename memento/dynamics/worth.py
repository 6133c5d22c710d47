"""How much a memory helped: the running mean of the outcomes that it had a share in."""

from __future__ import annotations


def reward(worth: float, outcome: float, *, rate: float, share: float) -> float:
    """Return the worth after an outcome: V + rate · share · (outcome - V).

    Args:
        worth: V, [-1, 1].
        outcome: [-1, 1].
        rate: Speed of learning, [0, 1].
        share: How much of the outcome is this memory's, [0, 1].

    Source: Rescorla & Wagner 1972; the share is an eligibility, Sutton & Barto 2018, chapter 12.

    >>> reward(0.0, 1.0, rate=0.2, share=1.0)
    0.2
    """
    return worth + rate * share * (outcome - worth)


def eligibility(rank: int) -> float:
    """Return how much of the outcome of an answer is its hit's at a rank, (0, 1].

    Args:
        rank: Place in the answer, >= 1.

    >>> [round(eligibility(rank), 2) for rank in (1, 2, 3, 4)]
    [1.0, 0.67, 0.5, 0.4]
    """
    return 1 / (1 + 0.5 * (rank - 1))
