"""Measures of a ranking against what should have been found. Pure.

``ranked`` is a list of ids, best first, without repeats; ``gold`` the ids that answer the question.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

ANY_AT = (1, 5, 10, 20)
"""Depths at which it is asked whether anything of the gold was found."""

NDCG_AT = 10
RESAMPLES = 2_000
Z95 = 1.959964
"""Quantile of the normal distribution that leaves 2.5 % on either side."""


def any_at(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return 1 if at least one gold id is among the first k, else 0."""
    return float(any(unit in gold for unit in ranked[:k]))


def frac_at(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return the share of the gold that is among the first k, [0, 1]."""
    return sum(unit in gold for unit in ranked[:k]) / len(gold)


def all_at(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return 1 if the whole gold is among the first k, else 0."""
    return float(sum(unit in gold for unit in ranked[:k]) == len(gold))


def ndcg_at(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """Return the normalised discounted cumulative gain of the first k, [0, 1].

    Source: Järvelin & Kekäläinen, TOIS 2002, with binary gain.

    >>> ndcg_at(["a", "x"], {"a"}, 10)
    1.0
    """
    gain = sum(1 / math.log2(rank + 1) for rank, unit in enumerate(ranked[:k], 1) if unit in gold)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(gold)) + 1))
    return gain / ideal


def reciprocal_rank(ranked: Sequence[str], gold: Collection[str]) -> float:
    """Return one over the rank of the first gold id, 0 if none was found."""
    return next((1 / rank for rank, unit in enumerate(ranked, start=1) if unit in gold), 0.0)


def score(ranked: Sequence[str], gold: Collection[str], k: int = 10) -> dict[str, float]:
    """Measure one ranking in every way.

    Args:
        ranked: What was found.
        gold: What should have been found, not empty.
        k: Depth of ``all@k`` and ``frac@k``.

    Returns:
        Name of the measure to its value in [0, 1].
    """
    return {
        **{f"any@{depth}": any_at(ranked, gold, depth) for depth in ANY_AT},
        f"all@{k}": all_at(ranked, gold, k),
        f"frac@{k}": frac_at(ranked, gold, k),
        f"nDCG@{NDCG_AT}": ndcg_at(ranked, gold, NDCG_AT),
        "MRR": reciprocal_rank(ranked, gold),
    }


def best_of_each(labels: Iterable[str]) -> list[str]:
    """Rank labels by the best unit that bears them: the first time each appears.

    >>> best_of_each(["s1", "s2", "s1"])
    ['s1', 's2']
    """
    return list(dict.fromkeys(labels))


def interval(values: Sequence[float], seed: int = 7) -> tuple[float, float]:
    """Return the 95 % percentile bootstrap interval of the mean.

    Args:
        values: One value a question, at least one.
        seed: Seed of the resampling: the same values give the same interval.

    Source: Efron, Annals of Statistics 1979.
    """
    sample = np.asarray(values, dtype=float)
    picks = np.random.default_rng(seed).integers(len(sample), size=(RESAMPLES, len(sample)))
    low, high = np.percentile(sample[picks].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def wilson(right: int, n: int) -> tuple[float, float]:
    """Return the 95 % Wilson interval of a share.

    Args:
        right: Cases that were right, 0 to ``n``.
        n: Cases, at least one.

    Source: Wilson, Journal of the American Statistical Association 1927.

    >>> [round(end, 3) for end in wilson(7, 10)]
    [0.397, 0.892]
    """
    share, z2 = right / n, Z95**2
    middle = share + z2 / (2 * n)
    half = Z95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    scale = 1 + z2 / n
    return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)


def summary(scores: Sequence[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return mean and interval of every measure over questions.

    Args:
        scores: Results of ``score``, at least one.

    Returns:
        Measure to ``mean``, ``low`` and ``high``.
    """
    result = {}
    for measure in scores[0]:
        values = [row[measure] for row in scores]
        low, high = interval(values)
        result[measure] = {"mean": sum(values) / len(values), "low": low, "high": high}
    return result
