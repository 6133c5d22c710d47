"""Find dates in German, French, Spanish, Japanese and Chinese, and in numbers. Pure.

English is read by `dates`; `date_tables` has the words of five more languages, numeric dates, and a
few forms that only a question in English needs ("on Monday", "the last three days").

A general library was measured first and not used: on 41 short questions in these languages its
search found the right day, week or month for 30, and for two of the others a wrong day.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, timedelta

from dateutil.relativedelta import relativedelta

from memento.text.date_tables import Tongue, compiled, tongues
from memento.text.dates import Mention, Period, Years, around, day, known, months, whole_year

_YEAR_WORDS = {
    "一昨年": -2, "前年": -2, "去年": -1, "昨年": -1, "今年": 0, "来年": 1, "來年": 1, "明年": 1,
}  # fmt: skip
_MONTHS_A_YEAR = 12
_CENTURY = 100
_ENGLISH_PARTS = ("day", "week", "month", "year", "afternoon", "evening")
"""Every English phrase of `date_tables` has one of these words."""
_NEARBY = 6  # alternatives of a weekday that is named alone


def mentions(text: str, on: date, years: Years, *, spoken: bool) -> Iterator[Mention]:
    """Find the dates in a text that are in one of these languages or in numbers.

    Args:
        text: The text.
        on: The day it was said.
        years: Years of a date that names none.
        spoken: Whether it is a statement; a weekday that is named alone is not read in one.
    """
    for tongue, sure in tongues(text):
        if tongue.name == "en" and (spoken or not _may_be_english(text)):
            continue
        for kind, shape in tongue.shapes:
            if spoken and kind in {"weekday", "weekend"}:
                continue
            for match in compiled(shape).finditer(text):
                if not sure and match.group().lower() in tongue.doubtful:
                    continue
                if periods := _periods(kind, match, tongue, on, years):
                    yield Mention(*match.span(), periods, loose=kind in {"weekday", "weekend"})


def _may_be_english(text: str) -> bool:
    """Tell cheaply whether the English phrases can be in a text at all."""
    small = text.lower()
    return not text.isascii() or any(part in small for part in _ENGLISH_PARTS)


def _periods(
    kind: str, match: re.Match[str], tongue: Tongue, on: date, years: Years
) -> tuple[Period, ...]:
    try:
        return tuple(_READERS[kind](match.groupdict(), tongue, on, years))
    except (ValueError, OverflowError):  # 31 June, year 0: not a date
        return ()


_Groups = Mapping[str, str | None]


def _look(table: Mapping[str, int] | Mapping[str, str], word: str) -> int | str:
    """Find a word by the longest of the table's beginnings that it has."""
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
    """Move by whole units; what is far away is rarely said to the day."""
    if unit == "day":
        return day(on + timedelta(days=by))
    if unit == "week":
        return around(on + timedelta(weeks=by), 3)
    if unit == "month":
        moved = on + relativedelta(months=by)
        return months(moved.year, moved.month)
    return whole_year(on.year + by)


def _ago(groups: _Groups, tongue: Tongue, on: date, _years: Years) -> Iterator[Period]:
    unit = str(_look(tongue.units, groups["u"] or ""))
    yield _moved(on, unit, -_count(groups["n"] or "", tongue))


def _ahead(groups: _Groups, tongue: Tongue, on: date, _years: Years) -> Iterator[Period]:
    unit = str(_look(tongue.units, groups["u"] or ""))
    yield _moved(on, unit, _count(groups["n"] or "", tongue))


_DAYS = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}


def _span(groups: _Groups, tongue: Tongue, on: date, _years: Years) -> Iterator[Period]:
    """Read "the last three days" as the days up to today."""
    length = _DAYS[str(_look(tongue.units, groups["u"] or ""))] * _count(groups["n"] or "", tongue)
    today = on.toordinal()
    back = int(_look(tongue.ways, groups["way"] or "")) < 0
    yield Period(today - length, today) if back else Period(today, today + length)


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


def _weekday_in(on: date, weekday: int, by: int, *, spaced: bool) -> Period:
    """Read "last Monday" as the last one before today, but 上周一 as the one of last week."""
    if spaced:
        return day(on + timedelta(weeks=by, days=weekday - on.weekday()))
    before = (on.weekday() - weekday - 1) % 7 + 1
    after = (weekday - on.weekday() - 1) % 7 + 1
    return day(on + timedelta(days=-before if by < 0 else after))


def _alternatives(nearest: date) -> Iterator[date]:
    for weeks in range(_NEARBY):
        yield nearest - timedelta(weeks=weeks)
        yield nearest + timedelta(weeks=weeks + 1)


def _weekday(groups: _Groups, tongue: Tongue, on: date, _years: Years) -> Iterator[Period]:
    """Read a weekday without "last" or "next": the last one, the next one, those around them."""
    away = (on.weekday() - int(_look(tongue.weekdays, groups["wd"] or "")) - 1) % 7 + 1
    yield from map(day, _alternatives(on - timedelta(days=away)))


def _weekend(_groups: _Groups, _tongue: Tongue, on: date, _years: Years) -> Iterator[Period]:
    saturday = on - timedelta(days=(on.weekday() + 2) % 7)
    yield from (around(one, 1) for one in _alternatives(saturday))


_READERS: dict[str, Callable[[_Groups, Tongue, date, Years], Iterator[Period]]] = {
    "date": _date,
    "near": _near,
    "ago": _ago,
    "ahead": _ahead,
    "span": _span,
    "shift": _shift,
    "weekday": _weekday,
    "weekend": _weekend,
}
