"""Search by time: propose the memories of the days that a query names. Pure.

A memory belongs to a time if it happened then (``occurred_at``), or if its text names that time: a
plan that was made in March for the third of May, a story told on Monday about Sunday. The dates of
a plan are those to come: "Thursday" is the next one, as for ``due_at``. The moments of all memories
are columns of the roster, in RAM, so no database is read to compare them; only the texts of a few
memories are read for the dates they name.

Days are those of the query's time zone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from memento.base.clock import day_in, to_micros
from memento.ledger.match import All, Any, Match, Phrase, Word
from memento.retrieve.by_meaning import Meaning
from memento.retrieve.columns import KINDS, Floats, Mask, RosterView, Rows, best_rows, distinct
from memento.retrieve.ledger_source import TextSource
from memento.retrieve.question import Days, Query
from memento.text.date_tables import MONTHS
from memento.text.when import SPOKEN, Period
from memento.text.words import Cue
from memento.types import Kind

LONG = 100
"""Days; a longer period is too vague for a date in a text to speak of it."""
READ = 100
"""Memories whose texts are read for dates, of each of three kinds; see `_told`."""
_NEAR = 14  # days around a period in which people speak of it as "tomorrow" or "last week"
_ALTERNATIVES = 3  # meanings of one date for which texts are read
_POOL = 1000  # memories of the time asked about whose vectors are compared
_MONTH = 31
_DAYS = 3  # a period of at most so many days counts as about each of them
_CURRENT = 3_600_000_000  # microseconds; a conversation goes on for so long after its last turn
_FIRST, _LAST = 0.9, 0.8  # first and last score if the query asks only for a time
SURE = 0.8
"""Confidence of a memory of the time asked for, when nothing else was asked."""
ASKS_MORE = 0.4
"""The same for a question that has no other subject, but asks where or who: some memory of that
time may tell."""


@dataclass(frozen=True, slots=True, eq=False)
class Then:
    """The memories of the time that a query asks about.

    Attributes:
        inside: (n,) which rows happened then.
        told: Other rows whose text names that time, to the start of the period that it names,
            microseconds since 1970 UTC.
        told_fit: The same rows to how precisely the text names the time, (0, 1].
        read: Rows whose texts were read for this, to the periods that their texts name.
    """

    inside: Mask
    told: Mapping[int, int]
    told_fit: Mapping[int, float]
    read: Mapping[int, Sequence[Period]]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known of that time."""
        return not self.told and not self.inside.any()

    def in_order(self, snap: RosterView) -> Rows:
        """Return the rows that happened then, earliest first, followed by those in ``told``."""
        happened = np.flatnonzero(self.inside)
        happened = happened[np.lexsort((happened, snap.occurred_at[happened]))]
        named = sorted(self.told, key=lambda row: (self.told[row], row))
        return np.concatenate([happened, np.array(named, np.intp)]).astype(np.intp)


def find(
    query: Query, snap: RosterView, source: TextSource, mask: Mask, now: datetime
) -> Then | None:
    """Find the memories of the time that a query asks about; None if it names no time."""
    if query.last_talk:
        return Then(_last_talk(snap, mask, now, query.days), {}, {}, {})
    if not query.times:
        return None
    days = query.days.of(snap.occurred_at)
    tried = [period for one in query.times for period in one[:_ALTERNATIVES]]
    texts = _told([one for one in tried if one.days < LONG], snap, source, mask, days)
    meant = [
        period
        for one in query.times
        for period in _meant(one, query.only_time, days[mask], texts.values())
    ]
    inside = mask & _within(days, meant)
    about = {row: _about(spoken, meant) for row, spoken in texts.items() if not inside[row]}
    told = {row: found for row, found in about.items() if found is not None}
    return Then(
        inside,
        {row: query.days.start(period.start) for row, period in told.items()},
        {row: fit(period) for row, period in told.items()},
        texts,
    )


def propose(
    then: Then, query: Query, snap: RosterView, words: Floats, meaning: Meaning | None, count: int
) -> Rows:
    """Return rows of the time asked about, at most ``count`` by words and ``count`` by meaning.

    If the query asks only for a time, return the first ``count`` in order of time.
    """
    every = then.in_order(snap)
    if query.only_time or len(every) <= count:
        return every[:count]
    worded = np.sort(every[words[every] > 0])
    pool = np.sort(every[-_POOL:])
    near = pool[-count:]
    if meaning is not None:
        cosines = np.zeros(snap.n, np.float32)
        cosines[pool] = meaning.of(pool).smooth
        near = best_rows(pool, cosines, count)
    return distinct(np.concatenate([best_rows(worded, words, count), near]))


def scores(then: Then, snap: RosterView, rows: Rows) -> Floats:
    """Score rows if the query asks only for a time: falling in order, 0 for other rows."""
    order = then.in_order(snap)
    value = np.zeros(snap.n, np.float32)
    value[order] = np.linspace(_FIRST, _LAST, len(order), dtype=np.float32)
    return value[rows]


def fit(period: Period) -> float:
    """Rate how precisely a text names a time: 1 up to a month, less for longer ones."""
    return min(1.0, _MONTH / period.days)


def _meant(
    named: Sequence[Period],
    only_time: bool,
    days: NDArray[np.int64],
    texts: Collection[Sequence[Period]],
) -> Sequence[Period]:
    """Choose among the periods that a date may mean: the likeliest that has memories.

    If the query asks for more than a time, keep them all; its other words decide.
    """
    if not only_time or len(named) == 1:
        return named
    for period in named:
        spoken = any(_about(one, [period]) for one in texts) if period.days < LONG else False
        if spoken or bool(_within(days, [period]).any()):
            return [period]
    return named[:1]


def _within(days: NDArray[np.int64], periods: Sequence[Period]) -> Mask:
    """Mark the days in one of some periods."""
    inside = np.zeros(len(days), np.bool_)
    for period in periods:
        inside |= (days >= period.start) & (days <= period.end)
    return inside


def _about(spoken: Sequence[Period], meant: Sequence[Period]) -> Period | None:
    """Return the shortest period named in a text that is about the time asked for, or None.

    "This year" is not about yesterday, although yesterday is in it.
    """
    fitting = [
        one
        for one in spoken
        if any(one.overlaps(time) and one.days <= max(_DAYS, time.days) for time in meant)
    ]
    return min(fitting, key=lambda one: one.days, default=None)


def _told(
    periods: Sequence[Period],
    snap: RosterView,
    source: TextSource,
    mask: Mask,
    days: NDArray[np.int64],
) -> dict[int, Sequence[Period]]:
    """Read the dates in the texts that may speak of some periods.

    These are the texts from days near a period, those that spell out one of its dates, and the
    latest plans made before it, whose dates are those to come.
    """
    if not periods:
        return {}
    heard = mask & ((snap.cues & np.uint32(Cue.ASSISTANT)) == 0)
    written = snap.rows_of(source.postings([Any(tuple(_spellings(periods)))], 2 * READ)[0])
    planned = snap.kind == KINDS[Kind.PLAN]
    last = max(period.end for period in periods)
    plans = np.flatnonzero(heard & planned & (days <= last))
    near = _around(periods, snap, heard, days)
    rows = distinct(np.concatenate([near, written[heard[written]][-READ:], plans[-READ:]])).tolist()
    texts = source.texts(snap.docid[rows].tolist())
    return {
        row: SPOKEN.of(text, int(days[row]), plan=bool(planned[row]))
        for row, text in zip(rows, texts, strict=True)
    }


def _around(
    periods: Sequence[Period], snap: RosterView, heard: Mask, days: NDArray[np.int64]
) -> Rows:
    """Return rows near, but outside, the periods: with time words or digits first, then nearest."""
    away = np.full(snap.n, _NEAR + 1, np.int64)
    for period in periods:
        outside = np.maximum(period.start - days, days - period.end)
        away = np.minimum(away, np.where(outside > 0, outside, _NEAR + 1))
    rows = np.flatnonzero(heard & (away <= _NEAR))
    silent = (snap.cues[rows] & np.uint32(Cue.TIME_WORD | Cue.DIGIT)) == 0
    near = -(away[rows] + (_NEAR + 1) * silent).astype(np.float32)
    return rows[best_rows(np.arange(len(rows)), near, READ)]


def _spellings(periods: Sequence[Period]) -> Iterator[Match]:
    """Yield expressions that find a date written out, as a day or as a month."""
    for period in periods:
        first = date.fromordinal(period.start)
        if period.days == 1:
            yield from _day_spellings(first)
        for days in range(0, period.days, 28):
            month = (first + timedelta(days=days)).month
            if period.days > 1:
                yield Any(tuple(map(Word, MONTHS[month - 1])))
                yield Phrase((str(month), "月"))


def _day_spellings(one: date) -> Iterator[Match]:
    month = Any(tuple(map(Word, MONTHS[one.month - 1])))
    ending = {1: "st", 2: "nd", 3: "rd"}.get(one.day % 10 if one.day // 10 != 1 else 0, "th")
    yield All((month, Any((Word(str(one.day)), Word(f"{one.day}{ending}")))))
    year, spelt = str(one.year), (str(one.month), str(one.day))
    padded = (f"{one.month:02}", f"{one.day:02}")
    yield Phrase((year, *padded))
    for month_number, day_number in dict.fromkeys((spelt, padded)):
        yield Phrase((day_number, month_number, year))
    yield Phrase((spelt[0], "月", spelt[1]))  # the next character is part of a pair


def _last_talk(snap: RosterView, mask: Mask, now: datetime, calendar: Days) -> Mask:
    """Mark the last conversation before the present one, or the last day with memories."""
    moment = to_micros(now)
    past = mask & (snap.occurred_at <= moment)
    turns = np.flatnonzero(past & (snap.session >= 0))
    if not len(turns):
        return _last_day(past, calendar.of(snap.occurred_at), day_in(calendar.zone, now))
    ends = np.full(len(snap.session_names.names), np.iinfo(np.int64).min)
    np.maximum.at(ends, snap.session[turns], snap.occurred_at[turns])
    known = np.unique(snap.session[turns])
    latest = known[np.argsort(ends[known], kind="stable")][-2:]
    still = moment - ends[latest[-1]] < _CURRENT
    last = latest[0] if still else latest[-1]
    found: Mask = past & (snap.session == last)
    return found


def _last_day(past: Mask, days: NDArray[np.int64], today: date) -> Mask:
    earlier = past & (days < today.toordinal())
    found: Mask = earlier & (days == np.max(days[earlier], initial=0))
    return found
