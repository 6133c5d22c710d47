"""Judge candidates: collect the evidence, and set score, confidence and place of each.

`judge` is the order of the steps: ``evidence`` collects the pieces for each candidate, ``scoring``
multiplies each by its weight (``config.retrieve.Weights``), adds them up and turns the sum into a
score, ``confidence`` says how sure that is, and ``lifecycle`` moves places by use and belief.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from memento.retrieve import by_time, confidence, evidence, scoring
from memento.retrieve import former as pasts
from memento.retrieve.confidence import Signs
from memento.retrieve.evidence import Evidence
from memento.retrieve.gather import Gathered
from memento.retrieve.look import Look, Rerank
from memento.retrieve.roster import Floats, Rows

_SURE = 10  # candidates that bound the confidence of each
_READ = 16  # candidates whose texts are read for the kind of answer that the query wants
_STAGE, _MOST_IN_STAGE = 16, 64  # candidates whose texts are read together


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Candidates with their scores and confidence; every array has one value per candidate.

    Attributes:
        order: Their places, best first.
        rows: Their rows.
        scores: [0, 1].
        sure: Confidence, [0, 1].
        parts: Piece of evidence to its contribution.
        signs: Numbers that give the confidence.
        pull: What decides between equal scores if uses and verdicts moved any candidate.
    """

    order: Rows
    rows: Rows
    scores: Floats
    sure: Floats
    parts: Mapping[str, Floats]
    signs: Signs
    pull: Floats

    def stages(self) -> Iterator[tuple[Rows, float]]:
        """Yield the candidates in batches, each with the score of the candidate after it."""
        start, size, last = 0, _STAGE, len(self.order)
        while start < last:
            end = min(last, start + size)
            following = self.order[min(end, last - 1)]
            yield self.order[start:end], float(self.scores[following])
            start, size = end, min(end, _MOST_IN_STAGE)


def judge(look: Look, gathered: Gathered, known: Rows, most: float) -> Judged:
    """Order the candidates that are not in the answer yet.

    Args:
        look: The question, the namespace and what is known of both.
        gathered: The candidates.
        known: Rows that are in the answer already; they are left out.
        most: Highest score that a candidate may have: the lowest one in the answer.
    """
    weighed = _weigh(look, gathered)
    weights, alone = look.config.weights, look.config.alone
    sums, parts = scoring.total(weighed, weights, alone)
    weighed, sums = _formed(look, weighed, sums, parts)
    strict = "form" in parts and look.query.form is not None and look.query.form.strict
    seen = confidence.signs(weighed, sums, weights, alone, hollow=look.query.hollow, strict=strict)
    if look.rerank is not None and not len(known) and not look.query.only_time:
        parts["reranked"] = _reranked(look, weighed.rows, sums, look.rerank)
        sums = sums + parts["reranked"]
    scores = scoring.scale(sums, scoring.strength(weighed.cosine, weighed.cover))
    named = np.zeros(len(weighed.rows), np.float32)
    best = np.argsort(-scores, kind="stable")[:_SURE]
    sure = confidence.of_hits(seen, best, look.config.sure)
    if look.query.continues:
        sure *= np.float32(confidence.CONTINUES)
    if look.then is not None and look.query.only_time:
        scores = by_time.scores(look.then, look.snap, weighed.rows)
        held = np.float32(by_time.SURE if look.query.form is None else by_time.ASKS_MORE)
        sure = np.where(scores > 0, held, sure)
    if gathered.named:
        named[:] = [gathered.named.get(row, 0) for row in weighed.rows.tolist()]
        scores = scoring.lift(scores, named)
    sure = np.maximum(named, sure)
    if look.query.former is not None:
        matched = gathered.words.matched
        scores, sure = pasts.first(
            look.query, look.snap, look.heirs, weighed.rows, matched, (scores, sure)
        )
    order = np.lexsort((-weighed.rows, -scores))
    if len(known):
        order = order[~np.isin(weighed.rows[order], known)]
        scores = np.minimum(scores, np.float32(most))
    pull = np.zeros_like(sums)
    if look.life is not None and not look.query.only_time and look.query.former is None:
        moved = look.life.move(
            look.snap, weighed.rows, order, sums=sums, named=named, scores=scores
        )
        if moved is not None:
            order, scores, pull = moved.order, moved.scores, moved.pull
            parts |= moved.parts
    return Judged(order, weighed.rows, scores, sure, parts, seen, pull)


def _weigh(look: Look, gathered: Gathered) -> Evidence:
    """Collect the evidence; read the most promising texts if the query asks about dates."""
    query, snap, rows, words = look.query, look.snap, gathered.rows, gathered.words
    among = int(np.count_nonzero(look.mask))
    weighed = evidence.weigh(query, snap, rows, words, look.meaning, among)
    if look.then is None:
        return weighed
    if query.last_talk:
        return evidence.with_calendar(weighed, look.then.inside[rows].astype(np.float32))
    sums, _ = scoring.total(weighed, look.config.weights, look.config.alone)
    dated = evidence.dated(query, snap, rows[np.argsort(-sums, kind="stable")]).tolist()
    read = look.then.read
    missing = [row for row in dated if row not in read]
    known = look.texts.read(missing)
    spoken = evidence.dates_in({row: known[row] for row in missing}, snap, query.days)
    spoken |= {row: read[row] for row in dated if row in read}
    return evidence.with_said_dates(query, weighed, spoken, look.then.told_fit)


def _formed(
    look: Look, weighed: Evidence, sums: Floats, parts: dict[str, Floats]
) -> tuple[Evidence, Floats]:
    """Add to evidence, sums and parts whether the most promising texts hold the kind of answer."""
    query = look.query
    if query.form is None or query.only_time or query.former is not None:
        return weighed, sums
    best = weighed.rows[np.argsort(-sums, kind="stable")[:_READ]].tolist()
    known = look.texts.read(best)
    texts = {row: known[row] for row in best}
    weighed = evidence.with_form(query.form, look.snap, weighed, texts)
    weights = scoring.weights_of(["form"], weighed, look.config.weights, look.config.alone)
    parts["form"] = weighed.signals["form"] * weights["form"]
    return weighed, sums + parts["form"]


def _reranked(look: Look, rows: Rows, sums: Floats, rerank: Rerank) -> Floats:
    """Let the reranker score the best candidates; the others get 0."""
    best = np.argsort(-sums, kind="stable")[: look.config.rerank]
    value = np.zeros(len(rows), np.float32)
    if len(best):
        texts = look.texts.read(rows[best].tolist())
        judged = rerank(look.text, [texts[row] for row in rows[best].tolist()])
        value[best] = evidence.spread(judged, np.ones(len(best), np.bool_))
    return value * np.float32(look.config.weights.reranked)
