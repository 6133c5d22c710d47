"""How sure an answer is: chances read off four signs that compare across queries. Pure.

A score only orders the hits of one query. A sign means the same for every query: how close the
vectors are, how many of the query's words are there, how much of the evidence this memory has of
all candidates', and how much of what there could be. A logistic over them, fitted to questions
whose answers are known and to as many that have none, is the chance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memento.retrieve.config import Sure, Weights
from memento.retrieve.evidence import Evidence
from memento.retrieve.roster import Floats, Rows

_LEAST = 1e-6  # share whose logarithm is still told apart


@dataclass(frozen=True, slots=True, eq=False)
class Signs:
    """What tells how sure each candidate is, (m,) each.

    Attributes:
        cosine: The larger of own and smoothed cosine, [-1, 1], or None without vectors.
        cover: Share of the query's words, by rarity, in it and its neighbours' heads, [0, 1].
        share: Its share of the mass of all candidates, [0, 1], summing to 1: the softmax of
            the sums of evidence, which is what the weights were fitted as.
        fit: Its sum of evidence against the most that was to be had, [0, 1].
    """

    cosine: Floats | None
    cover: Floats
    share: Floats
    fit: Floats

    def of(self, places: Rows) -> list[dict[str, float]]:
        """Return the signs of some candidates by name."""
        known = {"cover": self.cover, "share": self.share, "fit": self.fit}
        if self.cosine is not None:
            known["cosine"] = self.cosine
        values = [column[places].tolist() for column in known.values()]
        return [dict(zip(known, row, strict=True)) for row in zip(*values, strict=True)]


def signs(evidence: Evidence, sums: Floats, weights: Weights) -> Signs:
    """Read the signs off the evidence and its sums; see `rank.total`."""
    mass: Floats = np.exp(sums - np.max(sums, initial=0.0), dtype=np.float32)
    share: Floats = (mass / mass.sum()).astype(np.float32)
    most = sum(getattr(weights, name) for name in evidence.signals)
    fit: Floats = np.clip(sums / np.float32(most or 1.0), 0, 1)
    return Signs(evidence.cosine, evidence.cover, share, fit)


def of_hits(found: Signs, sure: Sure) -> Floats:
    """Estimate for each candidate the chance that it answers the query, (m,) in [0, 1]."""
    told = np.log(np.maximum(found.share, np.float32(_LEAST)))
    if found.cosine is None:
        by_cover, by_share, constant = sure.hit_by_words
        return _chance(by_cover * found.cover + by_share * told + constant)
    by_cosine, by_cover, by_share, constant = sure.hit
    return _chance(by_cosine * found.cosine + by_cover * found.cover + by_share * told + constant)


def of_answer(cosine: float | None, cover: float, fit: float, sure: Sure) -> float:
    """Estimate the chance that an answer is among the hits, [0, 1].

    Args:
        cosine: Largest cosine of a hit, or None without vectors.
        cover: Largest cover of a hit.
        fit: Largest fit of a hit.
        sure: The logistics.
    """
    if cosine is None:
        by_cover, by_fit, constant = sure.answer_by_words
        return 1 / (1 + math.exp(-(by_cover * cover + by_fit * fit + constant)))
    by_cosine, by_cover, by_fit, constant = sure.answer
    logit = by_cosine * cosine + by_cover * cover + by_fit * fit + constant
    return 1 / (1 + math.exp(-logit))


def of_nearest(cosines: Floats, sure: Sure) -> Floats:
    """Estimate the same for memories found by a vector alone, (m,) in [0, 1]."""
    by_cosine, constant = sure.near
    return _chance(by_cosine * cosines + constant)


def _chance(logit: NDArray[np.floating[Any]]) -> Floats:
    chance: Floats = (1 / (1 + np.exp(-logit))).astype(np.float32)
    return chance
