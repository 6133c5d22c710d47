"""Weigh the candidates: one named value in [0, 1] per piece of evidence, times its weight, summed.

`PIECES` is the table of what is known without a candidate's text. A piece that does not apply to
the query or to the namespace (no participant named, no sessions, no vectors) is left out, so that
it neither helps nor harms. No weight (`Weights`) is negative, so more evidence never
harms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from memento.embed.common_words import is_form_of_common
from memento.retrieve.by_meaning import Cosines, Meaning
from memento.retrieve.by_time import LONG, Then, fit
from memento.retrieve.by_words import Lexical
from memento.retrieve.columns import KINDS, Floats, Mask, RosterView, Rows
from memento.retrieve.context import Look, Rerank
from memento.retrieve.question import Query
from memento.text.answer_form import Form
from memento.text.sentences import merely_asks
from memento.text.when import SPOKEN, Period
from memento.text.words import Cue
from memento.types import Kind

BY_NAME = 0.5
"""A candidate above this value is matched by name; up to it, by its exact text."""
_PLAIN = 0.9  # highest score of other candidates if some are matched by name or exact text
_NAMED = 0.95
_SOON = 2  # days before the day asked about in which people make plans for it
_SHORT_PERIOD = 3  # days; a period of at most so many is "a day"
_LINGER = {True: 10.0, False: 20.0}  # days in which people still talk about a day, about a month
_MONTH = 31
_READ = 100  # candidates whose texts are read for dates
_READ_FOR_FORM = 16  # candidates whose texts are read for the kind of answer that the query wants
_ASKS = 0.25  # share of its evidence that is kept by a turn that only asks
_KIND_NAMES = {code: name for name, code in KINDS.items()}


@dataclass(frozen=True, slots=True)
class Weights:
    """Weight of each piece of evidence: what a memory that has it fully adds to its sum.

    Fitted together (listwise softmax, L2 1e-3) on the development halves of two public
    benchmarks, LoCoMo and BEAM, each with half of the mass, by ``benchmarks/fit_weights.py``;
    then rounded. Unit: nats of that softmax. All >= 0. Only ``calendar`` was raised afterwards,
    from 3.3 to 4.0: the words of a date are no longer looked up, so the other words of a question
    with a date earn more than they did in the fit. ``form`` was fitted with the others held fixed.
    When a piece for the words of the session was taken out, seven weights were moved in steps of
    0.2 and 0.3, until neither file lost in any@10 or nDCG@10.

    Attributes:
        window: BM25 of the memory and its neighbours' heads, relative to the best candidate.
        cover: Share of the query's words, by rarity, in the memory and its neighbours' heads.
        meaning: Cosine to the query, smoothed over neighbours, min-max over the candidates.
        own_meaning: Its own cosine to the query, min-max over the candidates.
        session_meaning: Best cosine in its session, min-max over the candidates.
        speaker: The query names one participant, who said it.
        calendar: It was said at a time that the query names, or soon after.
        said_date: Its text mentions a time that the query names.
        when: The query asks when, and it has a word about time.
        digit: The query asks how many, and it has a digit.
        first_person: It is in the first person.
        user: It is not from an assistant or tool, and the query does not ask for a summary.
        opens: It is the user's first turn of the session.
        standing: It is a standing instruction, and a turn (what people tell an assistant to do when
            they ask for something is for any question) or the query may ask for a rule.
        form: It holds the kind of answer that the query wants: a name, a time, a number, a place, a
            negation, or it is a decision or a rule.
        answers: The turn before it is a question like this one, by cosine or shared words.
        importance: Its importance; a bounded prior, not fitted.
        reranked: The reranker's score, min-max over the memories it scored; only with a reranker.
    """

    window: float = 3.2
    cover: float = 1.5
    meaning: float = 2.5
    own_meaning: float = 0.0
    session_meaning: float = 1.8
    speaker: float = 2.5
    calendar: float = 4.0
    said_date: float = 1.3
    when: float = 1.4
    digit: float = 1.8
    first_person: float = 1.1
    user: float = 2.6
    opens: float = 1.0
    standing: float = 1.9
    form: float = 0.5
    answers: float = 1.4
    importance: float = 0.3
    reranked: float = 1.0


TURNS = Weights()
"""The weights for a turn of a session."""
NOTES = Weights(
    window=2.0,
    cover=2.2,
    meaning=3.5,
    own_meaning=0.9,
    user=3.9,
    form=2.0,
    first_person=0.3,
    standing=1.8,
)
"""The same for a memory outside any session, whose neighbours lend it nothing: its meaning counts
more and a single shared word less. Fitted to two development lives of short notes and chats, with
`TURNS` held fixed; L2 0.01 on the differences (``benchmarks/fit_notes.py``)."""

Reads = Callable[[Sequence[int]], Mapping[int, str]]
"""Returns the texts of rows, perhaps with others."""


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The candidates and the evidence for each.

    Attributes:
        rows: (m,) rows of the candidates, ascending.
        signals: Name, as in `Weights`, to (m,) values in [0, 1].
        cosine: (m,) the larger of own and smoothed cosine, or None without vectors.
        cover: (m,) share of the query's idf in the row and its neighbours, [0, 1].
        alone: (m,) whether it belongs to no session.
        unknown: Share of the query's idf in words that no memory has, [0, 1].
        among: Number of memories that were searched, >= 0.
    """

    rows: Rows
    signals: Mapping[str, Floats]
    cosine: Floats | None
    cover: Floats
    alone: Mask
    unknown: float = 0.0
    among: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class _Case:
    """Input of the pieces of evidence; ``cosines`` is None if no candidate has a vector."""

    query: Query
    snap: RosterView
    rows: Rows
    lexical: Lexical
    meaning: Meaning | None
    cosines: Cosines | None
    session: NDArray[np.int32]
    cues: NDArray[np.uint32]
    then: Then | None

    def has(self, cue: Cue) -> Floats:
        marked: Mask = (self.cues & np.uint32(cue)) != 0
        return marked.astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """The candidates with their evidence added up; every array has one value per candidate.

    Attributes:
        evidence: The evidence of each.
        parts: Contribution of each piece to the sums, by name.
        sums: The sums of all evidence; of those that only ask, a share.
        total: The same with what the reranker adds.
        scores: The sums as scores, [0, 1].
        asks: Which of them only ask.
    """

    evidence: Evidence
    parts: dict[str, Floats]
    sums: Floats
    total: Floats
    scores: Floats
    asks: Mask


def weigh(look: Look, rows: Rows, lexical: Lexical, *, rerank: bool) -> Weighed:
    """Weigh candidates, ascending rows: collect the evidence, add it up, and score the sums.

    The texts of the most promising ones are read if the query asks about dates or wants a certain
    kind of answer. ``rerank``: whether the reranker, if there is one, may score the best.
    """
    query, then = look.query, look.then
    found = _collect(look, rows, lexical)
    if then is not None and not query.last_talk:
        sums, _ = total(found)
        best = rows[np.argsort(-sums, kind="stable")]
        found = with_said_dates(query, look.snap, found, then, best, look.texts.read)
    sums, parts = total(found)
    found, sums = _formed(look, found, sums, parts)
    asks = _asking(look, rows, sums)
    sums = np.where(asks, _ASKS * sums, sums)
    every = sums
    if look.rerank is not None and rerank and not query.only_time:
        parts["reranked"] = _reranked(look, rows, sums, look.rerank)
        every = sums + parts["reranked"]
    scores = scale(every, strength(found.cosine, found.cover))
    return Weighed(found, parts, sums, every, scores, asks)


def _collect(look: Look, rows: Rows, lexical: Lexical) -> Evidence:
    """Collect the evidence that does not need the texts of the candidates."""
    snap, meaning = look.snap, look.meaning
    cosines = None if meaning is None else meaning.of(rows)
    nearest = None if cosines is None else cosines.best
    known = cosines if cosines is not None and cosines.known.any() else None
    session, cues = snap.session[rows], snap.cues[rows]
    case = _Case(look.query, snap, rows, lexical, meaning, known, session, cues, look.then)
    found = {name: read(case) for name, read in PIECES}
    return Evidence(
        rows,
        {name: values for name, values in found.items() if values is not None},
        nearest,
        lexical.cover[rows],
        session < 0,
        lexical.unknown,
        among=int(np.count_nonzero(look.mask)),
    )


def _formed(
    look: Look, found: Evidence, sums: Floats, parts: dict[str, Floats]
) -> tuple[Evidence, Floats]:
    """Add to evidence, sums and parts whether the most promising texts hold the kind of answer."""
    query = look.query
    if query.form is None or query.only_time or query.former is not None:
        return found, sums
    best = found.rows[np.argsort(-sums, kind="stable")[:_READ_FOR_FORM]].tolist()
    known = look.texts.read(best)
    found = with_form(query.form, look.snap, found, {row: known[row] for row in best})
    parts["form"] = found.signals["form"] * weights_of(["form"], found)["form"]
    return found, sums + parts["form"]


def _asking(look: Look, every: Rows, sums: Floats) -> Mask:
    """Mark turns that only ask, reading texts until all of the best candidates have been read.

    Such turns answer nothing, whatever words they share with the question, unless it asks for them.
    """
    asks = np.zeros(len(every), np.bool_)
    if look.query.kind == Kind.QUESTION or look.request.filters.kinds == (Kind.QUESTION,):
        return asks
    unread = (look.snap.cues[every] & np.uint32(Cue.QUESTION)) != 0
    while unread.any():
        best = np.argsort(-np.where(asks, _ASKS * sums, sums), kind="stable")[:_READ_FOR_FORM]
        best = best[unread[best]]
        if not len(best):
            break
        unread[best] = False
        rows = every[best].tolist()
        texts = look.texts.read(rows)
        asks[best] = [merely_asks(texts[row]) for row in rows]
    return asks


def _reranked(look: Look, rows: Rows, sums: Floats, rerank: Rerank) -> Floats:
    """Let the reranker score the best candidates; the others get 0."""
    best = np.argsort(-sums, kind="stable")[: look.config.rerank]
    value = np.zeros(len(rows), np.float32)
    if len(best):
        texts = look.texts.read(rows[best].tolist())
        judged = rerank(look.request.query, [texts[row] for row in rows[best].tolist()])
        value[best] = spread(judged, np.ones(len(best), np.bool_))
    return value * np.float32(TURNS.reranked)


def _answers(case: _Case) -> Floats:
    """Rate how well each candidate answers a question like this one.

    The turn before it is a question: the value is the cosine of that question to the query, or
    the share of the query's words in it when there are no vectors.
    """
    value = np.zeros(len(case.rows), np.float32)
    if not case.snap.talks:  # no turn has a turn before it
        return value
    before = case.snap.neighbours(case.rows, -1)
    asks = (before >= 0) & ((case.snap.cues[before] & np.uint32(Cue.QUESTION)) != 0)
    asked = before[asks]
    if len(asked):
        meaning = case.meaning
        alike = case.lexical.cover[asked] if meaning is None else meaning.of(asked).own
        value[asks] = np.clip(alike, 0, 1)
    return value


def _spread(cosines: Cosines | None, which: str) -> Floats | None:
    return None if cosines is None else spread(getattr(cosines, which), cosines.known)


def _session_meaning(case: _Case) -> Floats | None:
    """Return for each candidate the best cosine of its session, spread over [0, 1]."""
    session, cosines = case.session, case.cosines
    if cosines is None or not (session >= 0).any():
        return None
    best = np.full(int(np.max(session)) + 1, -1.0, np.float32)
    inside = (session >= 0) & cosines.known
    np.maximum.at(best, session[inside], cosines.own[inside])
    mine = best[session]
    return spread(mine, (session >= 0) & (mine > -1.0))


def _opens(case: _Case) -> Floats:
    return case.has(Cue.USER) * ((case.session >= 0) & (case.snap.prev[case.rows] < 0))


def _speaker(case: _Case) -> Floats | None:
    speaker = case.query.speaker
    return None if speaker is None else (case.snap.actor[case.rows] == speaker).astype(np.float32)


def _calendar(case: _Case) -> Floats | None:
    if case.query.last_talk and case.then is not None:
        return case.then.inside[case.rows].astype(np.float32)
    if not case.query.periods:
        return None
    return calendar(case.query.periods, case.query.days.of(case.snap.occurred_at[case.rows]))


PIECES: Sequence[tuple[str, Callable[[_Case], Floats | None]]] = (
    ("window", lambda case: share_of_best(case.lexical.score[case.rows])),
    ("cover", lambda case: case.lexical.cover[case.rows]),
    ("answers", _answers),
    ("meaning", lambda case: _spread(case.cosines, "smooth")),
    ("own_meaning", lambda case: _spread(case.cosines, "own")),
    ("session_meaning", _session_meaning),
    ("first_person", lambda case: case.has(Cue.FIRST_PERSON)),
    (
        "standing",
        lambda case: case.has(Cue.STANDING) * (case.query.wants_rule | (case.session >= 0)),
    ),
    ("when", lambda case: case.has(Cue.TIME_WORD) if case.query.wants_time else None),
    ("digit", lambda case: case.has(Cue.DIGIT) if case.query.wants_number else None),
    ("user", lambda case: None if case.query.wants_summary else 1 - case.has(Cue.ASSISTANT)),
    ("opens", _opens),
    ("speaker", _speaker),
    ("importance", lambda case: case.snap.importance[case.rows]),
    ("calendar", _calendar),
)
"""Name of each piece, see `Weights`, and a function that returns its value for all candidates, or
None if it does not apply. ``said_date`` and ``form`` are added later, from texts. What each is
worth: docs/explanation/ablation.md."""


def calendar(periods: Sequence[Period], day: NDArray[np.int64]) -> Floats:
    """Rate how well days fit the times asked about.

    1 inside a period (less for one longer than a month), falling to 0 in the days after it, in
    which people still talk about it; one half in the two days before a single day.
    """
    best = np.zeros(len(day), np.float32)
    for period in periods:
        brief = period.days <= _SHORT_PERIOD
        close = np.clip(1 - (day - period.end) / _LINGER[brief], 0, 1)
        early = period.start - day
        close = np.where(early > 0, np.where(brief & (early <= _SOON), 0.5, 0.0), close)
        precise = 1.0 if period.days < LONG else _MONTH / period.days
        best = np.maximum(best, close.astype(np.float32) * np.float32(precise))
    return best


def with_said_dates(
    query: Query, snap: RosterView, found: Evidence, then: Then, best: Rows, read: Reads
) -> Evidence:
    """Add the evidence that texts mention the time asked about.

    If the query names a short time, the texts of the best candidates are read. Other texts count
    only if the search by time has read them.
    """
    wanted = [period for period in query.periods if period.days < LONG]
    best = best[:_READ] if wanted else best[:0]
    cues = snap.cues[best]
    telling = (cues & np.uint32(Cue.TIME_WORD | Cue.DIGIT)) != 0
    dated = best[telling & ((cues & np.uint32(Cue.ASSISTANT)) == 0)].tolist()
    missing = [row for row in dated if row not in then.read]
    texts, days = read(missing), query.days.of(snap.occurred_at[missing]).tolist()
    spoken = {row: SPOKEN.of(texts[row], day) for row, day in zip(missing, days, strict=True)}
    values = dict(then.told_fit)
    for row in dated:
        if row not in values:
            said = spoken[row] if row in spoken else then.read[row]
            fitting = [one for one in said if any(map(one.overlaps, wanted))]
            values[row] = max(map(fit, fitting), default=0.0)
    each = np.array([values.get(row, 0.0) for row in found.rows.tolist()], np.float32)
    return replace(found, signals={**found.signals, "said_date": each})


def with_form(form: Form, snap: RosterView, found: Evidence, texts: Mapping[int, str]) -> Evidence:
    """Add the evidence that candidates hold the kind of answer that the query wants.

    ``texts`` are those of the most promising candidates; the others get 0.
    """
    values = np.zeros(len(found.rows), np.float32)
    read = np.array(list(texts), np.intp)
    kinds = snap.kind[read].tolist()
    values[np.searchsorted(found.rows, read)] = [
        form.fit(text, _KIND_NAMES[kind], is_form_of_common)
        for text, kind in zip(texts.values(), kinds, strict=True)
    ]
    return replace(found, signals={**found.signals, "form": values})


def share_of_best(values: Floats) -> Floats:
    """Divide by the largest value; all 0 if none is positive."""
    best = float(values.max()) if len(values) else 0.0
    return values / np.float32(best) if best > 0 else np.zeros_like(values)


def spread(values: Floats, known: Mask) -> Floats:
    """Stretch known values over [0, 1]; an unknown one gets their mean."""
    told = values[known]
    if not len(told):
        return np.zeros_like(values)
    low, high = told.min(), told.max()
    if high <= low:
        return np.ones_like(values)
    stretched: Floats = (values - low) / (high - low)
    if len(told) < len(values):
        stretched[~known] = stretched[known].mean()
    return stretched


def total(evidence: Evidence) -> tuple[Floats, dict[str, Floats]]:
    """Return the sums of the weighted evidence, (m,), and the contribution of each piece to them.

    Turns of a session and memories outside any session have different weights.
    """
    by_name = weights_of(evidence.signals, evidence)
    parts = {name: values * by_name[name] for name, values in evidence.signals.items()}
    sums = np.zeros(len(evidence.rows), np.float32)
    for added in parts.values():
        sums += added
    return sums, parts


def weights_of(names: Iterable[str], evidence: Evidence) -> dict[str, Floats | np.float32]:
    """Return the weights of pieces of evidence by name, each for all candidates or for each."""
    if evidence.alone.all():
        return {name: np.float32(getattr(NOTES, name)) for name in names}
    if not evidence.alone.any():
        return {name: np.float32(getattr(TURNS, name)) for name in names}
    return {
        name: np.where(
            evidence.alone, np.float32(getattr(NOTES, name)), np.float32(getattr(TURNS, name))
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
