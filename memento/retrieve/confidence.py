"""Estimate how sure an answer is, from four signs that are comparable across queries. Pure.

A score only orders the hits of one query. A sign means the same for every query: how close the
vectors are, which share of the query's words is there, the memory's share of the evidence of all
candidates, and its share of the greatest evidence possible. The chance is a logistic function of
the signs, fitted to questions with known answers and as many without an answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memento.config.retrieve import Sure, Weights
from memento.retrieve import rank
from memento.retrieve.evidence import Evidence
from memento.retrieve.roster import Floats, Rows

CONTINUES = 0.5
"""Share of its confidence that a hit keeps if the query is a short question after other lines: what
was said before often finds the memory it was about, and not the answer to the question. On two
development lives, a third of such first hits is right."""
_LEAST = 1e-6  # smallest share; smaller ones are raised to it before the logarithm


@dataclass(frozen=True, slots=True, eq=False)
class Signs:
    """The signs of how sure each candidate is, one (m,) array per sign.

    Attributes:
        cosine: The larger of own and smoothed cosine, [-1, 1], or None without vectors.
        cover: Share of the query's words, by rarity, in it and its neighbours' heads, [0, 1].
        share: Its share among all candidates, [0, 1], summing to 1: the softmax of the sums of
            evidence, as in the fit of the weights.
        fit: Its sum of evidence divided by the largest sum possible, [0, 1].
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


def signs(
    evidence: Evidence, sums: Floats, weights: Weights, alone: Weights, *, hollow: bool = False
) -> Signs:
    """Compute the signs from the evidence and its sums; see `rank.total`.

    Args:
        evidence: The candidates and their evidence.
        sums: The sums.
        weights: Weights for turns of a session.
        alone: Weights for memories outside any session.
        hollow: Whether the query has no word of content, so that its words are no sign.
    """
    mass: Floats = np.exp(sums - np.max(sums, initial=0.0), dtype=np.float32)
    share: Floats = (mass / mass.sum()).astype(np.float32)
    most = np.zeros(len(sums), np.float32)
    for weight in rank.weights_of(evidence.signals, evidence, weights, alone).values():
        most += weight
    fit: Floats = np.clip(sums / np.where(most > 0, most, np.float32(1)), 0, 1)
    cover = np.zeros_like(evidence.cover) if hollow else evidence.cover
    return Signs(evidence.cosine, cover, share, fit)


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
    """Estimate the chance for memories found only by a vector, (m,) in [0, 1]."""
    by_cosine, constant = sure.near
    return _chance(by_cosine * cosines + constant)


def _chance(logit: NDArray[np.floating[Any]]) -> Floats:
    chance: Floats = (1 / (1 + np.exp(-logit))).astype(np.float32)
    return chance
