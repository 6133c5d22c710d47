"""Find dates by the tables of six languages, and in numbers. Pure.

The months, seasons and feasts of English are read by `dates`; `date_tables` has the other words for
time of English and of five more languages, and numeric dates. A date relative to another one ("a
week from Friday", "the Monday after Easter") is read by `composed`, in any of them.

A general library was measured first and not used: on 41 short questions in these languages its
search found the right day, week or month for 30, and for two of the others a wrong day.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date, timedelta
from functools import partial
from itertools import chain

from dateutil.relativedelta import relativedelta, weekday

from memento.text.date_tables import Tongue, compiled, tongues
from memento.text.dates import Mention, Period, Years, around, day, known, months, whole_year

_YEAR_WORDS = {
    "一昨年": -2, "前年": -2, "去年": -1, "昨年": -1, "今年": 0, "来年": 1, "來年": 1, "明年": 1,
}  # fmt: skip
_MONTHS_A_YEAR = 12
_MOST_APART = 14  # months between two of "Tuesday the 1st"
_CENTURY = 100
_ENGLISH = re.compile(
    r"day|week|fortnight|month|year|night|morning|noon|evening|tomorrow"
    r"|\d(?:st|nd|rd|th)\b| (?:mon|tue|wed|thu|fri|sat|sun)\b",
    re.IGNORECASE,
)
"""One of these words is in every English phrase of `date_tables`."""
_SO_FAR = re.compile(
    r"\b(?:ha(?:ve|s|d)(?:n['\u2019]t|\s+not)|never|first|once|twice|times|how\s+\w+)\b",
    re.IGNORECASE,
)
"""Words with which "in two weeks" is a time that has passed, or a rate."""
_NEARBY = 6  # alternatives of a weekday that is named alone
_Groups = Mapping[str, str | None]
_LED_BY = 48  # characters before a date, in which "the second Monday of the" stands
_NEAR = 16  # characters before a date that hold the last two words
_STEPS = 3  # "the day after the second Monday of June" takes two
_MONTH = 28  # days of the shortest one
_YEAR = 366
_WEEK = 7
_SATURDAY = 5
_WEEKEND = 3  # days, with the evening before
_NEARLY = 3  # days: people rarely say to the day what is weeks away
_STEP = {
    "day": relativedelta(days=1),
    "week": relativedelta(weeks=1),
    "fortnight": relativedelta(weeks=2),
    "month": relativedelta(months=1),
    "weekend": relativedelta(weeks=1),
    "year": relativedelta(years=1),
}


def mentions(text: str, on: date, years: Years) -> Iterator[Mention]:
    """Find the dates in a text that are in one of these languages or in numbers.

    Args:
        text: The text.
        on: The day it was said.
        years: Years of a date that names none.
    """
    digits = re.search(r"\d", text)
    for tongue, sure in tongues(text):
        if tongue.name == "en" and not _ENGLISH.search(text):
            continue
        for kind, shape in tongue.shapes:
            if kind == "monthday" and not digits:
                continue
            for match in compiled(shape).finditer(text):
                if not sure and match.group().lower() in tongue.doubtful:
                    continue
                at = match.start()
                if kind == "ahead" and _SO_FAR.search(text, max(0, at - _LED_BY), at):
                    continue
                if periods := _periods(kind, match, tongue, on, years):
                    start = max(at, match.end("led")) if "led" in match.re.groupindex else at
                    loose = kind in {"weekday", "weekend", "monthday"}
                    weeks = kind in {"ahead", "ago"} and periods[0].days == _WEEK
                    weekend = kind in {"weekend", "shift"} and periods[0].days == _WEEKEND
                    slack = (_NEARLY, _NEARLY) if weeks else (int(weekend), 0)
                    dated = kind in {"date", "monthday"} and bool(match.groupdict().get("d"))
                    yield Mention(start, match.end(), periods, loose, slack, dated=dated)


def composed(found: Iterable[Mention], text: str, on: date) -> Iterator[Mention]:
    """Combine each date with words beside it that make it another, as in "a week from Friday".

    Args:
        found: The dates in a text.
        text: The text.
        on: The day it was said.
    """
    spoken = [tongue for tongue, _ in tongues(text) if tongue.offset]
    for one in found:
        for _ in range(_STEPS):
            if (longer := next(_longer(one, text, spoken, on), None)) is None:
                break
            one = longer  # noqa: PLW2901 - it stands in its place
        yield one


def _longer(one: Mention, text: str, spoken: Iterable[Tongue], on: date) -> Iterator[Mention]:
    soon = one.loose or (
        len(one.periods) == 1 and one.periods[0].start - on.toordinal() in range(8)
    )
    near = text[max(0, one.start - _NEAR) : one.start].lower().split()[-2:]
    for tongue in spoken:
        if soon and tongue.later and (after := compiled(tongue.later).match(text, one.end)):
            groups = {"n": "1"} | after.groupdict()
            yield from _led(one, one.start, after.end(), groups, "from", tongue)
        led = (*tongue.relations, *tongue.units)
        if not any(word.startswith(led) for word in near):  # nearly always
            continue
        before = compiled(tongue.offset).search(text, max(0, one.start - _LED_BY), one.start)
        if before and (soon or before["relation"]):  # "a week tomorrow" is from tomorrow
            relation = str(_look(tongue.relations, before["relation"] or "from"))
            yield from _led(one, before.start(), one.end, before.groupdict(), relation, tongue)


def _led(
    one: Mention, start: int, end: int, groups: _Groups, relation: str, tongue: Tongue
) -> Iterator[Mention]:
    """Read the time named from ``start`` to ``end``, where the date ``one`` is a part."""
    nth, number, wd, unit = (groups.get(name) for name in ("nth", "n", "wd", "u"))
    unit = unit and str(_look(tongue.units, unit))
    at = int(_look(tongue.weekdays, wd)) if wd else _SATURDAY if unit == "weekend" else None
    count = int(_look(tongue.ordinals, nth)) if nth else _count(number or "1", tongue)
    coming = one.loose and relation == "from"
    exactly = bool(number and unit)
    vague = exactly and relation != "from" and unit in {"week", "fortnight"}
    periods = list[Period]()
    with suppress(ValueError, OverflowError):  # beyond the calendar
        for period in one.exact[1:2] if coming else one.exact:
            if relation == "within":
                periods += _picked(period, count, at, unit) if nth else ()
            elif relation != "from" or (exactly and period.days == 1):
                sign = -1 if relation == "before" else 1
                beside = _beside(period, sign, abs(count), at, unit)
                periods.append(Period(beside[sign > 0], beside[sign > 0]) if exactly else beside)
    wide = _NEARLY if vague else int(unit == "weekend")
    slack = (_NEARLY, _NEARLY) if vague else (wide, 0)
    counted = relation == "within" and nth and (at is not None)
    if periods or (counted and one.periods[0].days >= _MONTH):  # a fifth Friday that does not exist
        wider = (Period(one.start - wide, one.end + wide) for one in periods)
        loose = one.loose and not coming
        yield Mention(start, end, tuple(dict.fromkeys(wider)), loose, slack)


def _picked(period: Period, nth: int, at: int | None, unit: str | None) -> Iterator[Period]:
    """Read "the second Monday of June" and "the last week of June"."""
    if not _MONTH <= period.days <= _YEAR or (at is None and unit not in {"day", "week"}):
        return
    days = [one for one in range(period.start, period.end + 1) if at in {None, (one - 1) % _WEEK}]
    size = 1 if unit != "week" else _WEEK
    first = size * (nth - 1) if nth > 0 else len(days) + size * nth
    if len(some := days[max(0, first) : first + size]) == size:
        yield Period(some[0], some[-1])


def _beside(period: Period, sign: int, nth: int, at: int | None, unit: str | None) -> Period:
    """Read "the Friday before Christmas", "the day after Easter" and "the week before March"."""
    edge = date.fromordinal(period.end if sign > 0 else period.start)
    if at is not None:
        return day(edge + relativedelta(days=sign, weekday=weekday(at)(sign * nth)))
    step = _STEP[unit or "day"]
    near = edge + step * (sign * (nth - 1)) + timedelta(days=sign)
    far = edge + step * (sign * nth)
    return Period(min(near, far).toordinal(), max(near, far).toordinal())


def _periods(
    kind: str, match: re.Match[str], tongue: Tongue, on: date, years: Years
) -> tuple[Period, ...]:
    try:
        return tuple(_READERS[kind](match.groupdict(), tongue, on, years))
    except (ValueError, OverflowError):  # 31 June, year 0: not a date
        return ()


def _look(table: Mapping[str, int] | Mapping[str, str], word: str) -> int | str:
    """Return the entry of the longest prefix of a word in a table."""
    folded = " ".join(word.lower().lstrip("个個").split())
    begun = [start for start in table if folded.startswith(start)]
    if not begun:
        raise ValueError(word)
    return table[max(begun, key=len)]


def _count(word: str, tongue: Tongue) -> int:
    spoken = " ".join(word.lower().removeprefix("a ").split())
    return int(spoken) if spoken.isdecimal() else tongue.numbers[spoken]


def _date(groups: _Groups, tongue: Tongue, on: date, years: Years) -> Iterator[Period]:
    year, month, number = (groups.get(name) for name in ("y", "m", "d"))
    told = None if year is None else int(year) + (2000 if int(year) < _CENTURY else 0)
    if month is None:
        yield whole_year(int(told or 0))
        return
    if month.isdecimal():
        at, on_day = int(month), None if number is None else _number(number, tongue)
        if on_day and at > _MONTHS_A_YEAR >= on_day:
            at, on_day = on_day, at  # 03/14/2025: only the first number can be a month
    else:
        names = tongue.months or tongue.numbers
        at, on_day = int(_look(names, month)), None if number is None else _number(number, tongue)
    for each in [told] if told else years(at, on):
        yield from known(
            each, lambda each: months(each, at) if on_day is None else day(date(each, at, on_day))
        )


def _number(word: str, tongue: Tongue) -> int:
    plain = word.removesuffix("er")
    return int(plain) if plain.isdecimal() else tongue.numbers[word]


def _near(groups: _Groups, tongue: Tongue, on: date, _years: Years) -> Iterator[Period]:
    yield day(on + timedelta(days=int(_look(tongue.near, groups["near"] or ""))))


def _moved(on: date, unit: str, by: int) -> Period:
    """Return the day or period ``by`` units away; weeks have slack, as few people are exact."""
    if unit in {"day", "week", "fortnight"}:
        return around(on + _STEP[unit] * by, 0 if unit == "day" else _NEARLY)
    if unit == "month":
        moved = on + relativedelta(months=by)
        return months(moved.year, moved.month)
    return whole_year(on.year + by)


def _ahead(
    groups: _Groups, tongue: Tongue, on: date, _years: Years, sign: int = 1
) -> Iterator[Period]:
    unit = str(_look(tongue.units, groups["u"] or ""))
    yield _moved(on, unit, sign * _count(groups["n"] or "", tongue))


def _span(groups: _Groups, tongue: Tongue, on: date, _years: Years) -> Iterator[Period]:
    """Read "the last three days" or "the next three days" as the days up to or from today."""
    length = _STEP[str(_look(tongue.units, groups["u"] or ""))] * _count(groups["n"] or "", tongue)
    back = int(_look(tongue.ways, groups["way"] or "")) < 0
    first, last = (on - length, on) if back else (on, on + length)
    yield Period(first.toordinal(), last.toordinal())


def _shift(groups: _Groups, tongue: Tongue, on: date, _years: Years) -> Iterator[Period]:
    if said := groups.get("yy"):
        yield whole_year(on.year + _YEAR_WORDS[said])
        return
    by = int(_look(tongue.ways, groups["way"] or ""))
    if said := groups.get("wd"):
        yield _weekday_in(on, int(_look(tongue.weekdays, said)), by, spaced=not tongue.common)
        return
    unit = str(_look(tongue.units, groups["u"] or ""))
    monday = on + timedelta(weeks=by, days=-on.weekday())
    if unit == "week":
        yield Period(monday.toordinal(), monday.toordinal() + 6)
    elif unit == "weekend":
        yield around(monday + timedelta(days=5), 1)
    else:
        yield _moved(on, unit, by)


def _weekday_in(on: date, number: int, by: int, *, spaced: bool) -> Period:
    """Read "last Monday" as the last one before today, but 上周一 as Monday of last week."""
    if spaced:
        return day(on + timedelta(weeks=by, days=number - on.weekday()))
    if by < 0:
        return day(on + relativedelta(days=-1, weekday=weekday(number)(by)))
    return day(on + relativedelta(days=1, weekday=weekday(number)(max(by, 1))))


def _alternatives(nearest: date) -> Iterator[date]:
    for weeks in range(_NEARBY):
        yield nearest - timedelta(weeks=weeks)
        yield nearest + timedelta(weeks=weeks + 1)


def _weekday(groups: _Groups, tongue: Tongue, on: date, _years: Years) -> Iterator[Period]:
    """Read a weekday alone as several alternatives: the last, the next, those around them."""
    away = (on.weekday() - int(_look(tongue.weekdays, groups["wd"] or "")) - 1) % 7 + 1
    yield from map(day, _alternatives(on - timedelta(days=away)))


def _month(_groups: _Groups, _tongue: Tongue, on: date, _years: Years) -> Iterator[Period]:
    """Read "the month" of "the last Friday of the month": this one or, if it is over, the next."""
    yield from (_moved(on, "month", by) for by in (0, 1))


def _monthday(groups: _Groups, _tongue: Tongue, on: date, _years: Years) -> Iterator[Period]:
    """Read "the 8th" as the 8th of any month near: the last, the next, the one before."""
    number, first = int(groups["d"] or ""), on.replace(day=1)
    found = list[Period]()
    for by in range(-_MOST_APART, _MOST_APART + 1):
        with suppress(ValueError, OverflowError):  # no 31 June
            found.append(day((first + relativedelta(months=by)).replace(day=number)))
    behind = [one for one in reversed(found) if one.end < on.toordinal()]
    yield from chain.from_iterable(zip(behind, found[len(behind) :], strict=False))


def _weekend(_groups: _Groups, _tongue: Tongue, on: date, _years: Years) -> Iterator[Period]:
    saturday = on - timedelta(days=(on.weekday() + 2) % 7)
    yield from (around(one, 1) for one in _alternatives(saturday))


_READERS: dict[str, Callable[[_Groups, Tongue, date, Years], Iterator[Period]]] = {
    "date": _date,
    "near": _near,
    "ago": partial(_ahead, sign=-1),
    "ahead": _ahead,
    "span": _span,
    "shift": _shift,
    "weekday": _weekday,
    "weekend": _weekend,
    "month": _month,
    "monthday": _monthday,
}
