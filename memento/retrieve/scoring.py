"""Add up weighted evidence, and turn the sums into scores. Pure.

Evidence adds up linearly; no weight is negative and every value is in [0, 1], so that more
evidence never harms. The weights are in ``config.retrieve.Weights``; `judging` puts the steps
together.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from memento.config import Weights
from memento.retrieve.columns import Floats
from memento.retrieve.evidence import Evidence

BY_NAME = 0.5
"""A candidate above this value is matched by name; up to it, by its exact text."""
_PLAIN = 0.9  # highest score of other candidates if some are matched by name or exact text
_NAMED = 0.95


def total(evidence: Evidence, weights: Weights, alone: Weights) -> tuple[Floats, dict[str, Floats]]:
    """Add up the weighted evidence.

    Args:
        evidence: The candidates and their evidence.
        weights: Weights for turns of a session.
        alone: Weights for memories outside any session.

    Returns:
        The sums, (m,), and the contribution of each piece to them.
    """
    by_name = weights_of(evidence.signals, evidence, weights, alone)
    parts = {name: values * by_name[name] for name, values in evidence.signals.items()}
    sums = np.zeros(len(evidence.rows), np.float32)
    for added in parts.values():
        sums += added
    return sums, parts


def most(evidence: Evidence, weights: Weights, alone: Weights) -> Floats | np.float32:
    """Return the largest sum that each candidate could have, or one number for all of them."""
    if not evidence.alone.any():
        return _sum(evidence.signals, weights)
    if evidence.alone.all():
        return _sum(evidence.signals, alone)
    both = _sum(evidence.signals, alone), _sum(evidence.signals, weights)
    return np.where(evidence.alone, *both)


def _sum(names: Iterable[str], weights: Weights) -> np.float32:
    """Add up weights one by one: the sum of floats depends on the order."""
    total = np.float32(0)
    for name in names:
        total += np.float32(getattr(weights, name))
    return total


def weights_of(
    names: Iterable[str], evidence: Evidence, weights: Weights, alone: Weights
) -> dict[str, Floats | np.float32]:
    """Return the weights of pieces of evidence by name, each for all candidates or for each."""
    if evidence.alone.all():
        return {name: np.float32(getattr(alone, name)) for name in names}
    if not evidence.alone.any():
        return {name: np.float32(getattr(weights, name)) for name in names}
    return {
        name: np.where(
            evidence.alone, np.float32(getattr(alone, name)), np.float32(getattr(weights, name))
        )
        for name in names
    }


def strength(cosine: Floats | None, cover: Floats) -> Floats:
    """Rate how strong each candidate is independently of the others, [0, 1].

    All words of the query are enough, and so is a very close vector; partial values combine like
    independent chances.
    """
    missed = 1 - np.float32(0.95) * cover
    if cosine is not None:
        missed = missed * (1 - np.float32(0.9) * ((cosine - 0.15) / 0.6).clip(0, 1))
    return 1 - missed


def scale(sums: Floats, strengths: Floats) -> Floats:
    """Turn sums of evidence into scores in [0, 1].

    A score is the share of the best sum, times the strength of the strongest among the ten best. A
    score of 1 is a memory with every word of the query in a store where nothing fits better.
    """
    best = float(sums.max()) if len(sums) else 0.0
    if best <= 0:
        return np.zeros_like(sums)
    top = (-sums).argsort(kind="stable")[:10]
    shares: Floats = (sums / np.float32(best)).clip(0, 1) * strengths[top].max()
    return shares


def lift(scores: Floats, named: Floats) -> Floats:
    """Raise the scores of candidates that are matched by name or by exact text.

    Args:
        scores: Scores so far, [0, 1].
        named: 0 for neither; up to 0.5 for exact text; above 0.5 for a name; 1 is the best.

    Returns:
        Scores up to 1 for a name, up to 0.95 for exact text, below 0.9 for the others.
    """
    by_name = named > BY_NAME
    degree = np.where(by_name, 2 * named - 1, 2 * named)
    lifted = np.where(by_name, _NAMED, _PLAIN) + np.float32(0.05) * (0.8 * degree + 0.2 * scores)
    return np.where(named > 0, lifted, scores * _PLAIN).astype(np.float32)
