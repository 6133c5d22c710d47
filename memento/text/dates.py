"""Find the dates an English text mentions, as intervals of days. Pure; no clock.

"Last Friday" in a statement is relative to the day it was said; in a question it is relative to
now. Other languages and numeric dates are in `date_words`; `when` reads a text in all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import NamedTuple

from dateutil.easter import easter
from dateutil.relativedelta import FR, MO, SA, SU, TH, TU, WE, relativedelta, weekday


class Period(NamedTuple):
    """Days from ``start`` to ``end``, both included, as proleptic ordinals (`date.toordinal`)."""

    start: int
    end: int

    @property
    def days(self) -> int:
        """Length in days, >= 1."""
        return self.end - self.start + 1

    def overlaps(self, other: Period) -> bool:
        """Tell whether the two periods share a day."""
        return self.start <= other.end and other.start <= self.end


_MONTHS = [
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
]  # fmt: skip
_MONTH_OF = (
    {name: number for number, name in enumerate(_MONTHS, 1)}
    | {name[:3]: number for number, name in enumerate(_MONTHS, 1)}
    | {"sept": 9}
)
_WEEKDAYS = dict(
    zip(
        ("mon", "tue", "wed", "thu", "fri", "sat", "sun"), (MO, TU, WE, TH, FR, SA, SU), strict=True
    )
)
_SEASONS = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}
_NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
    "a": 1, "an": 1, "couple of": 2, "a couple of": 2, "few": 3, "a few": 3, "several": 4,
}  # fmt: skip
_SLACK = {"day": 0, "week": 3}  # "two weeks ago" is rarely said to the day
_AHEAD = 2  # months: "in December", said in November, is this year's; said in May, the last one

_MONTH = "|".join([*_MONTHS, *(m[:3] for m in _MONTHS), "sept"])
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_COUNT = r"(?:a\s+)?(?:couple\s+of|few)|several|an?|\d{1,3}|" + "|".join(list(_NUMBERS)[:12])
_UNIT = r"days?|weeks?|months?|years?"
_NAMED_DAY = (
    "mon(?:day)?|tue(?:s|sday)?|wed(?:nesday)?|thu(?:rs|rsday)?"
    "|fri(?:day)?|sat(?:urday)?|sun(?:day)?"
)
_SEASON = "|".join(_SEASONS)
_FEASTS: dict[str, tuple[int, int] | int] = {
    "christmas": (12, 25), "christmas day": (12, 25), "christmas eve": (12, 24),
    "boxing day": (12, 26), "halloween": (10, 31), "valentine day": (2, 14),
    "new year day": (1, 1), "new year eve": (12, 31), "heiligabend": (12, 24),
    "silvester": (12, 31), "nochebuena": (12, 24), "nochevieja": (12, 31), "easter": 0,
    "easter sunday": 0, "easter monday": 1, "good friday": -2, "maundy thursday": -3,
    "ash wednesday": -46, "palm sunday": -7, "ascension day": 39, "whit sunday": 49,
    "whit monday": 50, "ostersonntag": 0, "ostermontag": 1, "karfreitag": -2,
    "pfingstsonntag": 49, "pfingstmontag": 50, "lundi de pâques": 1, "vendredi saint": -2,
    "lundi de pentecôte": 50, "domingo de pascua": 0, "lunes de pascua": 1, "viernes santo": -2,
    "lunedì di pasqua": 1, "pasquetta": 1, "venerdì santo": -2, "domingo de páscoa": 0,
    "sexta-feira santa": -2, "goede vrijdag": -2, "tweede paasdag": 1, "tweede pinksterdag": 50,
}  # fmt: skip
"""Days of the year by name: month and day, or days after Easter Sunday. Thanksgiving is apart."""
FEAST = "|".join(
    name.replace(" ", r"(?:'s)?\s+" if name.startswith(("new", "valentine")) else r"\s+").replace(
        r"new(?:'s)?", "new"
    )
    for name in sorted((*_FEASTS, "thanksgiving"), key=len, reverse=True)
)
_SHAPE = rf"""\b(?:
      (?P<iso>(?<!\d[./-])(?P<iy>\d{{4}})[-/.](?P<im>\d{{1,2}})(?:[-/.](?P<id>\d{{1,2}}))?)(?!\d)
    | (?P<dmy>(?P<dd>{_DAY})\s+(?:of\s+)?(?P<dm>{_MONTH})\b\.?(?:,?\s+(?P<dy>\d{{4}}))?)
    | (?P<mdy>(?P<md>{_MONTH})\b\.?\s+(?P<mn>{_DAY})(?!\d)(?:,?\s+(?P<mdyear>\d{{4}}))?)
    | (?P<my>(?P<mm>{_MONTH})\b\.?(?:,?\s+(?:of\s+)?(?P<myear>\d{{4}}))?)
    | (?P<ago>(?P<an>{_COUNT})\s+(?P<au>{_UNIT})\s+(?:ago|back|earlier))
    | (?P<shift>(?P<way>last|next|this|past|previous|coming)\s+
        (?P<su>week-?end|week|month|year|night|{_SEASON}|{_NAMED_DAY}))
    | (?P<season>(?P<sn>{_SEASON})\s+(?:of\s+)?(?P<sy>\d{{4}}))
    | (?P<feast>{FEAST})(?:,?\s+(?:of\s+)?(?P<fy>\d{{4}}))?
    | (?P<near>(?:the\s+day\s+before\s+)?yesterday|last\s+night|today|tonight|this\s+morning
        |tomorrow)
    | (?:in|of|since|during|year)\s+(?P<year>(?:19|20)\d{{2}})
    )\b"""
_EXPRESSION = re.compile(_SHAPE, re.IGNORECASE | re.VERBOSE)
_SMALL = re.compile(_SHAPE, re.VERBOSE)
"""The same for ASCII in small letters, in less than half the time."""
_TOKEN = re.compile(r"[a-z]+|\d+")
_TELLING = frozenset(_MONTH_OF) | {
    "ago", "back", "earlier", "yesterday", "today", "tonight", "tomorrow",
    "thanksgiving", *(_TOKEN.findall(name)[-1] for name in _FEASTS),
}  # fmt: skip
_WAYS = frozenset(["last", "next", "this", "past", "previous", "coming"])
_UNITS = ("week", "month", "year", "night", "morning", *_SEASONS, *_WEEKDAYS)
_PLAIN_MONTHS = frozenset(_MONTHS) - {"may"}
_LED_IN = re.compile(r"\b(?:in|last|next|this|of|since|by|until|early|late|mid)\s+$", re.IGNORECASE)
_VERB_MAY = re.compile(r"may\s+(?:be|have|also|not|feel|i|we|you|want|need)\b", re.IGNORECASE)


Years = Callable[[int, date], Iterator[int]]
"""Gives the years of a date that names none, from its month and the day it is said."""


class Mention(NamedTuple):
    """A place in a text that names a time.

    Attributes:
        start: Index of its first character.
        end: Index after its last character.
        periods: Periods that it may mean: several if it names no year, or only a weekday.
        loose: Whether it is a weekday or weekend that nothing tells from those before and after.
    """

    start: int
    end: int
    periods: tuple[Period, ...]
    loose: bool = False


def mentions(text: str, on: date, years: Years) -> Iterator[Mention]:
    """Find the English and ISO dates in a text.

    Args:
        text: The text.
        on: The day it was said.
        years: Years of a date that names none.
    """
    for match in _mentions(text):
        if periods := tuple(_read(match, on, years)):
            yield Mention(*match.span(), periods)


def nearest_year(month: int, on: date) -> Iterator[int]:
    """Yield the year in which a statement means a month without a year."""
    yield on.year if month <= on.month + _AHEAD else on.year - 1


def _may_speak_of_dates(text: str) -> bool:
    """Tell cheaply whether the full pattern can find a date at all."""
    found = set(_TOKEN.findall(text.lower()))
    if not found.isdisjoint(_TELLING):
        return True
    if found.isdisjoint(_WAYS):
        return any(len(token) == 4 and token.isdecimal() for token in found)  # noqa: PLR2004 - a year
    return any(token.startswith(_UNITS) for token in found)


def _mentions(text: str) -> Iterator[re.Match[str]]:
    if not _may_speak_of_dates(text):
        return
    found = _SMALL.finditer(text.lower()) if text.isascii() else _EXPRESSION.finditer(text)
    for match in found:
        if not match["my"] or _is_month(text, match):
            yield match


def _is_month(text: str, match: re.Match[str]) -> bool:
    """Tell a month from the verb "may" and from names such as Jan, which need more context."""
    name = text[match.start("mm") : match.end("mm")]
    if match["myear"] or name.lower() in _PLAIN_MONTHS:
        return True
    led = _LED_IN.search(text, max(0, match.start() - 12), match.start())
    return not _VERB_MAY.match(text, match.start()) and bool(led or name == "May")


def _read(match: re.Match[str], on: date, years: Years) -> list[Period]:
    try:
        return list(_READERS[_kind(match)](match, on, years))
    except (ValueError, OverflowError):  # 31 June, year 0: not a date
        return []


def _kind(match: re.Match[str]) -> str:
    return next(name for name in _READERS if match[name])


def _iso(match: re.Match[str], _on: date, _years: Years) -> Iterator[Period]:
    year, month = int(match["iy"]), int(match["im"])
    yield day(date(year, month, int(match["id"]))) if match["id"] else months(year, month)


def _dmy(match: re.Match[str], on: date, years: Years) -> Iterator[Period]:
    yield from _dated(match["dd"], match["dm"], match["dy"], on, years)


def _mdy(match: re.Match[str], on: date, years: Years) -> Iterator[Period]:
    yield from _dated(match["mn"], match["md"], match["mdyear"], on, years)


def _dated(told: str, name: str, year: str | None, on: date, years: Years) -> Iterator[Period]:
    month, number = _MONTH_OF[name.lower()], int(told.rstrip("stndrhSTNDRH"))
    for each in [int(year)] if year else years(month, on):
        yield from known(each, lambda each: day(date(each, month, number)))


def _my(match: re.Match[str], on: date, years: Years) -> Iterator[Period]:
    month = _MONTH_OF[match["mm"].lower()]
    for year in [int(match["myear"])] if match["myear"] else years(month, on):
        yield from known(year, lambda year: months(year, month))


def _ago(match: re.Match[str], on: date, _years: Years) -> Iterator[Period]:
    count, unit = _count(match["an"]), match["au"].lower().rstrip("s")
    if unit in _SLACK:
        middle = on - timedelta(days=count * (7 if unit == "week" else 1))
        yield around(middle, _SLACK[unit])
    elif unit == "month":
        past = on - relativedelta(months=count)
        yield months(past.year, past.month)
    else:
        yield whole_year(on.year - count)


def _count(said_as: str) -> int:
    word = " ".join(said_as.lower().split())
    return _NUMBERS.get(word) or int(word)


def _shift(match: re.Match[str], on: date, _years: Years) -> Iterator[Period]:
    unit = match["su"].lower().replace("-", "")
    sign = {"next": 1, "coming": 1, "this": 0}.get(match["way"].lower(), -1)
    monday = on - timedelta(days=on.weekday()) + timedelta(weeks=sign)
    if unit == "night":
        yield day(on + timedelta(days=min(sign, 0)))
    elif unit == "week":
        yield Period(monday.toordinal(), monday.toordinal() + 6)
    elif unit == "weekend":
        yield around(monday + timedelta(days=5), 1)
    elif unit == "month":
        month = on + relativedelta(months=sign)
        yield months(month.year, month.month)
    elif unit == "year":
        yield whole_year(on.year + sign)
    elif unit in _SEASONS:
        yield _season(unit, on, sign)
    else:
        yield day(_weekday(on, _WEEKDAYS[unit[:3]], sign))


def _weekday(on: date, day: weekday, sign: int) -> date:
    if sign < 0:
        return _shifted(on, relativedelta(days=-1, weekday=day(-1)))
    return _shifted(on, relativedelta(days=+1, weekday=day(+1)))


def _shifted(day: date, by: relativedelta) -> date:
    moved: date = day + by
    return moved


def _season(name: str, on: date, sign: int) -> Period:
    month = _SEASONS[name]
    behind = sign < 0 and month >= on.month
    return months(on.year + (1 if sign > 0 else -1 if behind else 0), month, 3)


def _season_of(match: re.Match[str], _on: date, _years: Years) -> Iterator[Period]:
    yield months(int(match["sy"]), _SEASONS[match["sn"].lower()], 3)


def _feast(match: re.Match[str], on: date, years: Years) -> Iterator[Period]:
    name = " ".join(match["feast"].lower().replace("'s", "").split())
    for year in [int(match["fy"])] if match["fy"] else years(_feast_day(name, on.year).month, on):
        yield from known(year, lambda year: around(_feast_day(name, year), 1))


def _feast_day(name: str, year: int) -> date:
    if name == "thanksgiving":
        return _shifted(date(year, 11, 1), relativedelta(weekday=TH(+4)))
    told = _FEASTS[name]
    if isinstance(told, tuple):
        return date(year, *told)
    found: date = easter(year) + timedelta(days=told)
    return found


def _near(match: re.Match[str], on: date, _years: Years) -> Iterator[Period]:
    word = match["near"].lower()
    away = 1 if word == "tomorrow" else -2 if "before" in word else -1
    yield day(
        on if word in {"today", "tonight"} or "morning" in word else on + timedelta(days=away)
    )


def _year(match: re.Match[str], _on: date, _years: Years) -> Iterator[Period]:
    yield whole_year(int(match["year"]))


_READERS: dict[str, Callable[[re.Match[str], date, Years], Iterator[Period]]] = {
    "iso": _iso,
    "dmy": _dmy,
    "mdy": _mdy,
    "my": _my,
    "ago": _ago,
    "shift": _shift,
    "season": _season_of,
    "feast": _feast,
    "near": _near,
    "year": _year,
}


def known(year: int, read: Callable[[int], Period]) -> Iterator[Period]:
    """Yield the period in a year, or nothing if it has none (29 February, Easter of 9999)."""
    try:
        yield read(year)
    except (ValueError, OverflowError):
        return


def day(one: date) -> Period:
    """Return one day as a period."""
    return Period(one.toordinal(), one.toordinal())


def around(middle: date, slack: int) -> Period:
    """Return the days up to ``slack`` days away from a day."""
    return Period(middle.toordinal() - slack, middle.toordinal() + slack)


def months(year: int, month: int, count: int = 1) -> Period:
    """Return so many whole months from a month on."""
    first = date(year, month, 1)
    return Period(first.toordinal(), (first + relativedelta(months=count, days=-1)).toordinal())


def whole_year(year: int) -> Period:
    """Return a year as a period."""
    return Period(date(year, 1, 1).toordinal(), date(year, 12, 31).toordinal())
