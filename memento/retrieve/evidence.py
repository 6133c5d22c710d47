"""Collect the evidence for each candidate: one named value in [0, 1] per piece of evidence.

Pure. A piece that does not apply to the query or to the namespace (no participant named, no
sessions, no vectors) is left out, so that it neither helps nor harms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from memento.embed.common_words import is_form_of_common
from memento.retrieve import by_time
from memento.retrieve.by_meaning import Cosines, Meaning
from memento.retrieve.by_words import Lexical
from memento.retrieve.columns import KINDS, Floats, Mask, Rows, Snapshot
from memento.retrieve.question import Days, Query
from memento.text.answer_form import Form
from memento.text.when import SPOKEN, Period
from memento.text.words import Cue

_SOON = 2  # days before the day asked about in which people make plans for it
_SHORT_PERIOD = 3  # days; a period of at most so many is "a day"
_LINGER = {True: 10.0, False: 20.0}  # days in which people still talk about a day, about a month
_MONTH = 31
_KIND_NAMES = {code: name for name, code in KINDS.items()}
_READ = 100  # candidates whose texts are read for dates
_FIRST_PERSON, _STANDING = np.uint32(Cue.FIRST_PERSON), np.uint32(Cue.STANDING)
_TIME_WORD, _DIGIT = np.uint32(Cue.TIME_WORD), np.uint32(Cue.DIGIT)
_USER, _ASSISTANT = np.uint32(Cue.USER), np.uint32(Cue.ASSISTANT)


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


def weigh(
    query: Query,
    snap: Snapshot,
    rows: Rows,
    lexical: Lexical,
    meaning: Meaning | None,
    among: int,
) -> Evidence:
    """Collect the evidence for the candidates, except that which needs their texts.

    Args:
        query: The query.
        snap: The namespace.
        rows: Candidates, ascending.
        lexical: Scores of every row by the words of the query.
        meaning: Gives cosines; None to search by words only.
        among: Number of memories that were searched.
    """
    cosines = None if meaning is None else meaning.of(rows)
    answers = answering(snap, rows, lexical, meaning)
    cover = lexical.cover[rows]
    signals = {"window": share_of_best(lexical.score[rows]), "cover": cover, "answers": answers}
    session = snap.session[rows]
    in_session = session >= 0
    any_session = bool(in_session.any())
    if any_session:
        by_text = np.where(in_session, lexical.sessions[session], np.float32(0))
        signals["session_text"] = share_of_best(by_text)
    if cosines is not None and cosines.known.any():
        same = cosines.smooth is cosines.own
        own = spread(cosines.own, cosines.known)
        signals["meaning"] = own if same else spread(cosines.smooth, cosines.known)
        signals["own_meaning"] = own
        if any_session:
            signals["session_meaning"] = _by_session(cosines, session)
    signals |= _traits(query, snap, rows, in_session)
    if query.periods:
        signals["calendar"] = calendar(query.periods, query.days.of(snap.occurred_at[rows]))
    cosine = None if cosines is None else cosines.best
    return Evidence(rows, signals, cosine, cover, ~in_session, lexical.unknown, among)


def answering(snap: Snapshot, rows: Rows, lexical: Lexical, meaning: Meaning | None) -> Floats:
    """Rate how well each candidate answers a question like this one, [0, 1].

    The turn before it is a question: the value is the cosine of that question to the query, or
    the share of the query's words in it when there are no vectors.
    """
    value = np.zeros(len(rows), np.float32)
    if not snap.talks:  # no turn has a turn before it
        return value
    before = snap.neighbours(rows, -1)
    asks = (before >= 0) & ((snap.cues[before] & np.uint32(Cue.QUESTION)) != 0)
    asked = before[asks]
    if len(asked):
        alike = lexical.cover[asked] if meaning is None else meaning.of(asked).own
        value[asks] = np.clip(alike, 0, 1)
    return value


def dated(query: Query, snap: Snapshot, rows: Rows) -> Rows:
    """Return the candidates whose texts to read for dates; empty if the query names no date.

    Args:
        query: The query.
        snap: The namespace.
        rows: Candidates, best first as far as known without their texts.
    """
    rows = rows[:_READ]
    if not any(period.days < by_time.LONG for period in query.periods):
        return rows[:0]
    cues = snap.cues[rows]
    telling = (cues & np.uint32(Cue.TIME_WORD | Cue.DIGIT)) != 0
    chosen: Rows = rows[telling & ((cues & np.uint32(Cue.ASSISTANT)) == 0)]
    return chosen


def _traits(query: Query, snap: Snapshot, rows: Rows, in_session: Mask) -> dict[str, Floats]:
    """Return the evidence that is known about the rows without their texts."""
    cues = snap.cues[rows]
    traits = {"first_person": _FIRST_PERSON, "standing": _STANDING}
    if query.wants_time:
        traits["when"] = _TIME_WORD
    if query.wants_number:
        traits["digit"] = _DIGIT
    found = {name: ((cues & cue) != 0).astype(np.float32) for name, cue in traits.items()}
    if not query.wants_summary:
        found["user"] = ((cues & _ASSISTANT) == 0).astype(np.float32)
    opens = ((cues & _USER) != 0) & in_session & (snap.prev[rows] < 0)
    found["opens"] = opens.astype(np.float32)
    if query.speaker is not None:
        found["speaker"] = (snap.actor[rows] == query.speaker).astype(np.float32)
    found["importance"] = snap.importance[rows]
    return found


def calendar(periods: Sequence[Period], day: NDArray[np.int64]) -> Floats:
    """Rate how well days fit the times asked about.

    1 inside a period (less for one longer than a month), falling to 0 in the days after it, in
    which people still talk about it; one half in the two days before a single day.
    """
    best = np.zeros(len(day), np.float32)
    for period in periods:
        brief = period.days <= _SHORT_PERIOD
        fit = np.clip(1 - (day - period.end) / _LINGER[brief], 0, 1)
        early = period.start - day
        fit = np.where(early > 0, np.where(brief & (early <= _SOON), 0.5, 0.0), fit)
        best = np.maximum(best, fit.astype(np.float32) * np.float32(tightness(period)))
    return best


def tightness(period: Period) -> float:
    """Rate how precise a period is: 1 up to a season, less for years."""
    return 1.0 if period.days < by_time.LONG else _MONTH / period.days


def dates_in(texts: Mapping[int, str], snap: Snapshot, days: Days) -> dict[int, Sequence[Period]]:
    """Read the dates in the texts of some rows."""
    told_on = days.of(snap.occurred_at[list(texts)]).tolist()
    return {
        row: SPOKEN.of(text, day) for (row, text), day in zip(texts.items(), told_on, strict=True)
    }


def with_said_dates(
    query: Query,
    found: Evidence,
    spoken: Mapping[int, Sequence[Period]],
    known: Mapping[int, float],
) -> Evidence:
    """Add the evidence from dates in the texts of candidates.

    Args:
        query: The query.
        found: The evidence so far.
        spoken: Row to the dates in its text, for those that `dated` names.
        known: Value of rows whose texts tell of the time that is asked about.
    """
    wanted = [period for period in query.periods if period.days < by_time.LONG]
    values = np.zeros(len(found.rows), np.float32)
    for at, row in enumerate(found.rows.tolist()):
        values[at] = known.get(row, 0.0)
        if row in spoken and row not in known:
            fitting = [one for one in spoken[row] if any(map(one.overlaps, wanted))]
            values[at] = max(map(by_time.fit, fitting), default=0.0)
    return replace(found, signals={**found.signals, "said_date": values})


def with_calendar(found: Evidence, values: Floats) -> Evidence:
    """Add the evidence that candidates are of the time asked about."""
    return replace(found, signals={**found.signals, "calendar": values})


def with_form(form: Form, snap: Snapshot, found: Evidence, texts: Mapping[int, str]) -> Evidence:
    """Add the evidence that candidates hold the kind of answer that the query wants.

    Args:
        form: The kind.
        snap: The namespace.
        found: The evidence so far.
        texts: Row to text, for the most promising candidates; the others get nothing.
    """
    values = np.zeros(len(found.rows), np.float32)
    read = np.array(list(texts), np.intp)
    kinds = snap.kind[read].tolist()
    values[np.searchsorted(found.rows, read)] = [
        form.fit(text, _KIND_NAMES[kind], is_form_of_common)
        for text, kind in zip(texts.values(), kinds, strict=True)
    ]
    return replace(found, signals={**found.signals, "form": values})


def _by_session(cosines: Cosines, session: NDArray[np.int32]) -> Floats:
    """Return for each candidate the best cosine of its session, spread over [0, 1]."""
    best = np.full(int(np.max(session)) + 1, -1.0, np.float32)
    inside = (session >= 0) & cosines.known
    np.maximum.at(best, session[inside], cosines.own[inside])
    mine = best[session]
    return spread(mine, (session >= 0) & (mine > -1.0))


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
