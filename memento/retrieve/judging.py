"""Judge candidates: set score, confidence and place of each.

`judge` calls the steps: ``evidence`` collects the pieces for each candidate, weighs them, adds them
up and turns the sum into a score; the signs here give the confidence; and ``usage_boost`` changes
places by use and belief.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memento.retrieve import by_time, evidence
from memento.retrieve import former_values as pasts
from memento.retrieve.columns import Floats, Mask, Rows
from memento.retrieve.context import Look
from memento.retrieve.evidence import Evidence, weigh
from memento.retrieve.gather import Gathered

CONTINUES = 0.5
"""Share of its confidence that a hit keeps if the query is a short question after other lines: what
was said before often finds the memory it was about, and not the answer to the question. On two
development lives, a third of such first hits is right."""
_UNRELATED, _SPREAD = 0.07, 0.09
"""Mean and standard deviation of the cosine of a question and an unrelated memory, measured with
the default model and our English set, see `RetrieveConfig.noise`."""
_KNOWN = 400
"""Memories from which unknown words and the fit are full signs. With fewer, most words are unknown,
those of answered questions too, and there is little evidence to compare with: these two signs are
weaker by the logarithm of the number of memories."""
_PLAIN_FIT = 0.74
"""Fit of a memory outside any session, where it does not tell answered questions from others. With
this value one constant is calibrated for dialogues (0.72 in the middle for answered questions, 0.62
for foreign ones) and for notes."""
_BOTH = 0.6
"""Added to the mean of the logits of answer and best hit, because the second is the smaller one.
Fitted on LoCoMo and BEAM, where it lowers the calibration error of answers on both (0.052 and 0.058
without the best hit, 0.041 and 0.043 with it)."""
_BEST = 10
"""Candidates among which the kind of answer wanted is searched for."""
_LACKING = 0.8
"""Share of the evidence that belongs to notes without the kind of answer wanted, from which the
answer is missing. Of answered questions of five development lives 2 % have as much, of unanswerable
ones about the same persons and things 21 %."""
HIT = (5.0, 1.0, 0.9, -2.7, -0.6)
"""Factors of cosine, cover, share and unknown words, and a constant, in a logistic function: the
chance that a hit is an answer. The cosine is the one above noise, and of the share it is the
natural logarithm; see `Signs`.

These logistics were fitted on the development halves of LoCoMo and BEAM, where half of the
questions belong to another store than the one that is asked (``benchmarks/reliability.py --fit``),
and on two lives, each as one store and as stores of 25 memories, to which other people's questions,
small talk and general questions were put as well. Then rounded. The factors of cosine, cover and
fit in `ANSWER` are older and were held."""
HIT_BY_WORDS = (1.0, 1.0, -5.0, -0.5)
"""Of cover, share, unknown words, and a constant: the same without vectors."""
ANSWER = (8.0, 3.0, 11.0, -2.0, -10.0)
"""Of cosine, cover, fit, unknown words, and a constant: the chance that an answer is among the
hits. On LoCoMo and BEAM, half way between that and the chance that the question belongs to this
store."""
ANSWER_BY_WORDS = (3.6, 9.9, -3.3, -8.6)
"""Of cover, fit, unknown words, and a constant: the same without vectors."""
NEAR = (6.7, -5.7)
"""Of the cosine, and a constant: the chance that a hit of a search by vector alone is an answer."""
LACKS = -2.0
"""Factor of the sign of that name in all four: how much less likely an answer is if the kind of
thing asked for is missing. From its frequency among answered questions of five lives (2 %) and
among unanswerable ones about the same persons and things (21 %): their logarithmic ratio is -2.4,
rounded towards 0."""
ONESELF = 0.8
"""Added to the logit of the chance that an answer is among the hits, if the query asks about the
person who asks and a note is the first hit. On ten lives the mean chance of such
questions was too low: 0.49, with 0.80 answered, in stores of 30 to 60 notes, and 0.59 with 0.88 in
larger ones; for other questions it was 0.52 with 0.48, and 0.60 with 0.75. Fitted 1.5, rounded
towards 0."""
_LEAST = 1e-6  # smallest share; smaller ones are raised to it before the logarithm


@dataclass(frozen=True, slots=True, eq=False)
class Signs:
    """The signs of how sure each candidate is, one (m,) array per sign.

    Attributes:
        cosine: The larger of own and smoothed cosine, [-1, 1], or None without vectors.
        cover: Share of the query's words, by rarity, in it and its neighbours' heads, [0, 1].
        share: Its share among all candidates, [0, 1], summing to 1: the softmax of the sums of
            evidence, as in the fit of the weights.
        fit: Its sum of evidence divided by the largest sum possible, [0, 1]; nearer to a constant
            in a small store, and that constant for memories outside any session.
        unknown: Share of the query's words, by rarity, that no memory has, [0, 1]; less in a small
            store. The same for every candidate.
        noise: Cosine that the nearest of as many unrelated memories has. The same for every
            candidate.
        lacks: 1 if the query asks for a number, an age, a colour, a place or a negation, and hardly
            any of the best candidates holds one; else 0, and 0 without vectors.
            The same for every candidate.
    """

    cosine: Floats | None
    cover: Floats
    share: Floats
    fit: Floats
    unknown: float
    noise: float
    lacks: float = 0.0

    def best_of(self, places: Rows) -> dict[str, float]:
        """Return the largest value that each sign has among some candidates; not the share."""
        best = {
            "cover": self.cover[places].max().item(),
            "fit": self.fit[places].max().item(),
            "unknown": self.unknown,
            "lacks": self.lacks,
        }
        if self.cosine is not None:
            best |= {"cosine": self.cosine[places].max().item(), "noise": self.noise}
        return best

    def of(self, places: Rows) -> list[dict[str, float]]:
        """Return the signs of some candidates by name."""
        columns = {"cover": self.cover, "share": self.share, "fit": self.fit}
        shared = {"unknown": self.unknown}
        if self.cosine is not None:
            columns["cosine"] = self.cosine
            shared["noise"] = self.noise
        shared["lacks"] = self.lacks
        values = [column[places].tolist() for column in columns.values()]
        return [dict(zip(columns, one, strict=True)) | shared for one in zip(*values, strict=True)]


def signs(
    found: Evidence,
    sums: Floats,
    *,
    hollow: bool = False,
    strict: bool = False,
) -> Signs:
    """Compute the signs from the evidence and its sums.

    A ``hollow`` query has no word of content, so its words are no sign. For a ``strict`` one, a
    note without the kind of answer wanted is hardly an answer.
    """
    most = max(sums.max(), np.float32(0)) if len(sums) else np.float32(0)
    mass: Floats = np.exp(sums - most, dtype=np.float32)
    share: Floats = (mass / mass.sum()).astype(np.float32)
    among = max(found.among, 1)
    known = min(1.0, math.log(among) / math.log(_KNOWN))
    cover = np.zeros_like(found.cover) if hollow else found.cover
    fit = _fit(found, sums, known)
    by_words = found.cosine is None  # then the other signs are too few to outweigh this one
    lacks = _lacks(found, share) if strict and not by_words else 0.0
    return Signs(found.cosine, cover, share, fit, found.unknown * known, noise(among), lacks)


def _lacks(found: Evidence, share: Floats) -> float:
    """Return 1.0 if the kind of answer wanted is missing; turns of a session never lack it."""
    lacking = found.alone & (found.signals["form"] <= 0)
    best = np.argsort(-share, kind="stable")[:_BEST]
    return float(share[best][lacking[best]].sum() > _LACKING * share[best].sum())


def _fit(found: Evidence, sums: Floats, known: float) -> Floats:
    """Divide the sums by the largest ones possible; see `Signs`."""
    if found.alone.all():
        return np.full(len(sums), _PLAIN_FIT, np.float32)
    most = sum(evidence.weights_of(found.signals, found).values(), np.float32(0))
    fit: Floats = np.clip(sums / np.where(most > 0, most, np.float32(1)), 0, 1)
    fit = np.where(found.alone, 0, known) * (fit - _PLAIN_FIT) + _PLAIN_FIT
    return fit.astype(np.float32)


def noise(among: int) -> float:
    """Return the cosine that the nearest of some unrelated memories has, about.

    Args:
        among: Number of memories, >= 1.

    Source: Fisher & Tippett, Limiting Forms of the Frequency Distribution of the Largest or
    Smallest Member of a Sample, 1928: the largest of n normal values grows as sqrt(2 ln n).

    >>> round(noise(20), 2), round(noise(400), 2)
    (0.29, 0.38)
    """
    return _UNRELATED + _SPREAD * math.sqrt(2 * math.log(among))


def of_hits(found: Signs, best: Rows) -> Floats:
    """Estimate for each candidate the chance that it answers the query, (m,) in [0, 1].

    None exceeds the chance that an answer is among the ``best`` candidates.
    """
    if not len(found.share):
        return found.share
    alone = _alone(found)
    most: Floats = np.minimum(alone, np.float32(_of_answer(found.best_of(best))))
    return most


def _alone(found: Signs) -> Floats:
    """Estimate the chance of each candidate from its own signs."""
    told = np.log(np.maximum(found.share, np.float32(_LEAST)))
    lost = LACKS * found.lacks
    if found.cosine is None:
        by_cover, by_share, by_unknown, constant = HIT_BY_WORDS
        base = by_unknown * found.unknown + constant + lost
        return _chance(by_cover * found.cover + by_share * told + base)
    by_cosine, by_cover, by_share, by_unknown, constant = HIT
    base = by_unknown * found.unknown + constant - by_cosine * found.noise + lost
    return _chance(by_cosine * found.cosine + by_cover * found.cover + by_share * told + base)


def of_answer(found: Sequence[Mapping[str, float]]) -> float:
    """Estimate the chance that an answer is among some hits, at least one, by their signs."""
    names = [name for name in found[0] if name != "share"]
    return _of_answer({name: max([signs[name] for signs in found]) for name in names})


def _of_answer(best: Mapping[str, float]) -> float:
    """Estimate the chance from the best value of each sign; see `of_answer`."""
    if "cosine" not in best:
        by_cover, by_fit, by_unknown, constant = ANSWER_BY_WORDS
        logit = constant
    else:
        by_cosine, by_cover, by_fit, by_unknown, constant = ANSWER
        logit = by_cosine * (best["cosine"] - best["noise"]) + constant
    logit += by_cover * best["cover"] + by_fit * best["fit"] + by_unknown * best["unknown"]
    logit += LACKS * best["lacks"]
    return 1 / (1 + math.exp(-logit))


def of_both(answer: float, best: float) -> float:
    """Join the chance that an answer is among the hits with that of the best hit, [0, 1].

    The first takes the best cosine, cover and so on from any hit; the second takes them from one
    memory. Their logits are averaged.

    >>> of_both(0.7, 0.05) < 0.5 < of_both(0.7, 0.5)
    True
    """
    odds = math.sqrt(_odds(answer) * _odds(best)) * math.exp(_BOTH)
    return odds / (1 + odds)


def surer(chance: float, by: float) -> float:
    """Raise a chance by a logit.

    >>> round(surer(0.5, 1.0), 2)
    0.73
    """
    odds = _odds(chance) * math.exp(by)
    return odds / (1 + odds)


def _odds(chance: float) -> float:
    within = min(max(chance, _LEAST), 1 - _LEAST)
    return within / (1 - within)


def of_nearest(cosines: Floats) -> Floats:
    """Estimate the chance for memories found only by a vector, (m,) in [0, 1]."""
    by_cosine, constant = NEAR
    return _chance(by_cosine * cosines + constant)


def _chance(logit: NDArray[np.floating[Any]]) -> Floats:
    chance: Floats = (1 / (1 + np.exp(-logit))).astype(np.float32)
    return chance


_SURE = 10  # candidates that bound the confidence of each
_STAGE, _MOST_IN_STAGE = 16, 64  # candidates whose texts are read together


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Candidates with their scores and confidence; every array has one value per candidate.

    ``order`` has their indexes, best first; ``pull`` decides between equal scores if uses and
    verdicts moved any candidate; ``asks`` marks those that only ask.
    """

    order: Rows
    rows: Rows
    scores: Floats
    sure: Floats
    parts: Mapping[str, Floats]
    signs: Signs
    pull: Floats
    asks: Mask

    def stages(self) -> list[Rows]:
        """Return the indexes of the candidates, best first, in growing batches."""
        found, start, size = [], 0, _STAGE
        while start < len(self.order):
            found.append(self.order[start : start + size])
            start += size
            size = min(start, _MOST_IN_STAGE)
        return found


def judge(look: Look, gathered: Gathered, known: Rows, most: float) -> Judged:
    """Order the candidates that are not ``known``, that is, not in the answer already.

    If any are known, no score is above ``most``, the lowest one in the answer.
    """
    query, words = look.query, gathered.words
    found = weigh(look, gathered.rows, words, rerank=not len(known))
    weighed, rows, parts, scores = found.evidence, found.evidence.rows, found.parts, found.scores
    strict = "form" in parts and query.form is not None and query.form.strict
    seen = signs(weighed, found.sums, hollow=query.hollow, strict=strict)
    named = np.zeros(len(rows), np.float32)
    best = np.argsort(-np.where(found.asks, 0, scores), kind="stable")[:_SURE]
    sure = np.where(found.asks, 0, of_hits(seen, best))
    if query.continues:
        sure *= np.float32(CONTINUES)
    if look.then is not None and query.only_time:
        scores = by_time.scores(look.then, look.snap, rows)
        held = np.float32(by_time.SURE if query.form is None else by_time.ASKS_MORE)
        sure = np.where(scores > 0, held, sure)
    if gathered.named:
        named[:] = [gathered.named.get(row, 0) for row in rows.tolist()]
        scores = evidence.lift(scores, named)
    sure = np.maximum(named, sure)
    if query.former is not None:
        scores, sure = pasts.first(
            query, look.snap, look.heirs, rows, words.matched, (scores, sure)
        )
    order = np.lexsort((-rows, -scores))
    if len(known):
        order = order[~np.isin(rows[order], known)]
        scores = np.minimum(scores, np.float32(most))
    pull = np.zeros_like(found.total)
    if look.life is not None and not query.only_time and query.former is None:
        moved = look.life.move(look.snap, rows, order, sums=found.total, named=named, scores=scores)
        if moved is not None:
            order, scores, pull = moved.order, moved.scores, moved.pull
            parts |= moved.parts
    return Judged(order, rows, scores, sure, parts, seen, pull, found.asks)
