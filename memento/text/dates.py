"""Find ISO dates, English months, seasons and feasts in a text, as intervals of days. Pure.

"Last summer" in a statement is relative to the day it was said; in a question it is relative to
now. Other words for time are in tables, see `foreign_dates`; `when` reads a text for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import NamedTuple

from dateutil.easter import easter
from dateutil.relativedelta import TH, relativedelta


class Period(NamedTuple):
    """Days from ``start`` to ``end``, both included, as proleptic ordinals (`date.toordinal`)."""

    start: int
    end: int

    @property
    def days(self) -> int:
        """Length in days, >= 1."""
        return self.end - self.start + 1

    def overlaps(self, other: Period) -> bool:
        """Return whether the two periods share a day."""
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
_SEASONS = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}
_AHEAD = 2  # months: "in December", said in November, is this year's; said in May, the last one

_MONTH = "|".join([*_MONTHS, *(m[:3] for m in _MONTHS), "sept"])
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_WAY = "last|next|this|past|previous|coming"
_SEASON = "|".join(_SEASONS)
_FEASTS: dict[str, tuple[int, int] | int] = {
    "may day": (5, 1), "april fool's day": (4, 1), "st patrick's day": (3, 17), "epiphany": (1, 6),
    "all saint's day": (11, 1), "pentecost": 49, "shrove tuesday": -47, "nikolaustag": (12, 6),
    "ferragosto": (8, 15), "eerste kerstdag": (12, 25), "tweede kerstdag": (12, 26),
    "oudejaarsavond": (12, 31), "christmas": (12, 25), "christmas day": (12, 25),
    "christmas eve": (12, 24),
    "boxing day": (12, 26), "halloween": (10, 31), "valentine's day": (2, 14),
    "new year's day": (1, 1), "new year's eve": (12, 31), "heiligabend": (12, 24),
    "silvester": (12, 31), "nochebuena": (12, 24), "nochevieja": (12, 31), "easter": 0,
    "easter sunday": 0, "easter monday": 1, "good friday": -2, "maundy thursday": -3,
    "ash wednesday": -46, "palm sunday": -7, "ascension day": 39, "whit sunday": 49,
    "whit monday": 50, "ostersonntag": 0, "ostermontag": 1, "karfreitag": -2,
    "pfingstsonntag": 49, "pfingstmontag": 50, "lundi de pâques": 1, "vendredi saint": -2,
    "lundi de pentecôte": 50, "domingo de pascua": 0, "lunes de pascua": 1, "viernes santo": -2,
    "lunedì di pasqua": 1, "pasquetta": 1, "venerdì santo": -2, "domingo de páscoa": 0,
    "sexta-feira santa": -2, "goede vrijdag": -2, "tweede paasdag": 1, "tweede pinksterdag": 50,
    "weihnachten": (12, 25), "ostern": 0, "pfingsten": 49, "pâques": 0, "navidad": (12, 25),
    "pascua": 0,
}  # fmt: skip
"""Yearly days by name: month and day, or days after Easter Sunday. Thanksgiving is separate."""
_NAMES = {
    name: name.replace("'s ", r"(?:['’]s|s['’]?)?\s+").replace(" ", r"\s+")  # noqa: RUF001 - real
    for name in sorted((*_FEASTS, "thanksgiving"), key=len, reverse=True)
}
"""How each feast may be spelt, with or without an apostrophe; the longest name first."""
FEAST = "|".join(_NAMES.values())
_SHAPE = rf"""\b(?:
      (?P<iso>(?<!\d[./-])(?P<iy>\d{{4}})[-/.](?P<im>\d{{1,2}})(?:[-/.](?P<id>\d{{1,2}}))?)(?!\d)
    | (?P<dated>(?P<dd>{_DAY})\s+(?:of\s+)?(?P<dm>{_MONTH})\b\.?
        |(?P<md>{_MONTH})\b\.?\s+(?:the\s+(?=\d+[a-z]))?(?P<mn>{_DAY})(?!\d))(?:,?\s+(?P<dy>\d{{4}}))?
    | (?:(?P<way>{_WAY})\s+(?!(?:{_MONTH})\b\.?\s+\d))?
        (?:(?P<feast>{FEAST})|(?P<month>{_MONTH})\b\.?|(?P<season>{_SEASON}))
        (?:,?\s+(?:of\s+)?(?P<year>\d{{4}}))?
    )\b"""
_EXPRESSION = re.compile(_SHAPE, re.IGNORECASE | re.VERBOSE)
_SMALL = re.compile(_SHAPE, re.VERBOSE)
"""The same for ASCII in lower case, in less than half the time."""
_TOKEN = re.compile(r"[a-z]+|\d+")
_TELLING = frozenset(_MONTH_OF) | {
    "thanksgiving", *_SEASONS, *(_TOKEN.findall(name)[-1] for name in _FEASTS),
}  # fmt: skip
_PLAIN_MONTHS = frozenset(_MONTHS) - {"may"}
_LED_IN = re.compile(r"\b(?:in|last|next|this|of|since|by|until|early|late|mid)\s+$", re.IGNORECASE)
_SUBJECT = re.compile(r"\b(?:i|you|he|she|we|they)\s+$", re.IGNORECASE)
"""Words before a month in lower case that is a verb: "what did I march for"."""
_VERB_MAY = re.compile(r"may\s+(?:be|have|also|not|feel|i|we|you|want|need)\b", re.IGNORECASE)


Years = Callable[[int, date], Iterator[int]]
"""Yields the years of a date without a year, from its month and the day it was said."""


class Mention(NamedTuple):
    """A place in a text that names a time.

    Attributes:
        start: Index of its first character.
        end: Index after its last character.
        periods: Periods that it may mean: several if it names no year, or only a weekday.
        loose: Whether it is a weekday or weekend that may be any of several weeks.
        slack: Days added at each end of a named period, because stories are not exact.
        dated: Whether it names the day of a month: "8 May", "the 8th".
        open: Whether all the time before is meant: "before March".
    """

    start: int
    end: int
    periods: tuple[Period, ...]
    loose: bool = False
    slack: tuple[int, int] = (0, 0)
    dated: bool = False
    open: bool = False

    @property
    def exact(self) -> tuple[Period, ...]:
        """The periods as they are named."""
        before, after = self.slack
        return tuple(Period(one.start + before, one.end - after) for one in self.periods)


def mentions(text: str, on: date, years: Years) -> Iterator[Mention]:
    """Find the English and ISO dates in a text.

    Args:
        text: The text.
        on: The day it was said.
        years: Years of a date that names none.
    """
    for match in _mentions(text):
        if periods := tuple(_read(match, on, years)):
            slack = (1, 1) if match["feast"] else (0, 0)
            dated = bool(match["dated"] or match["id"])
            yield Mention(*match.span(), periods, slack=slack, dated=dated)


def nearest_year(month: int, on: date) -> Iterator[int]:
    """Yield the year meant by a statement that names a month without a year."""
    yield on.year if month <= on.month + _AHEAD else on.year - 1


def _may_speak_of_dates(text: str) -> bool:
    """Return, cheaply, whether the full pattern may find a date."""
    found = set(_TOKEN.findall(text.lower()))
    years = (token for token in found if len(token) == 4 and token.isdecimal())  # noqa: PLR2004
    return not found.isdisjoint(_TELLING) or any(years)


def _mentions(text: str) -> Iterator[re.Match[str]]:
    if not _may_speak_of_dates(text):
        return
    found = _SMALL.finditer(text.lower()) if text.isascii() else _EXPRESSION.finditer(text)
    for match in found:
        if not match["month"] or _is_month(text, match):
            yield match


def _is_month(text: str, match: re.Match[str]) -> bool:
    """Return whether it is a month, not the verb "may" or "march", or a name such as Jan."""
    at = match.start("month")
    name = text[at : match.end("month")]
    if match["year"]:
        return True
    if name.islower() and _SUBJECT.search(text, max(0, at - 12), at):
        return False
    if name.lower() in _PLAIN_MONTHS:
        return True
    led = _LED_IN.search(text, max(0, at - 12), at)
    return bool(led) or (name == "May" and not _VERB_MAY.match(text, at))


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


def _dated(match: re.Match[str], on: date, years: Years) -> Iterator[Period]:
    month = _MONTH_OF[(match["dm"] or match["md"]).lower()]
    number = int((match["dd"] or match["mn"]).rstrip("stndrhSTNDRH"))
    for year in [int(match["dy"])] if match["dy"] else years(month, on):
        yield from known(year, lambda year: day(date(year, month, number)))


def _month(match: re.Match[str], on: date, years: Years) -> Iterator[Period]:
    month = _MONTH_OF[match["month"].lower()]
    return _yearly(match, on, years(month, on), lambda year: months(year, month))


def _yearly(
    match: re.Match[str], on: date, years: Iterator[int], read: Callable[[int], Period]
) -> Iterator[Period]:
    """Read a yearly event: in the year named, the last, this or the next one, or of each year."""
    if match["year"] or not match["way"]:
        told = [int(match["year"])] if match["year"] else years
        return (one for year in told for one in known(year, read))
    today = on.toordinal()
    near = [one for by in (-1, 0, 1) for one in known(on.year + by, read)]
    ended, coming = [p for p in near if p.end < today], [p for p in near if p.start > today]
    return iter({-1: ended[-1:], 0: near[1:2], 1: coming[:1]}[_sign(match["way"])])


def _sign(way: str) -> int:
    return {"next": 1, "coming": 1, "this": 0}.get(way.lower(), -1)


def _season(match: re.Match[str], on: date, _years: Years) -> Iterator[Period]:
    month = _SEASONS[match["season"].lower()]
    if match["year"]:
        yield months(int(match["year"]), month, 3)
    elif match["way"]:
        sign = _sign(match["way"])
        behind = sign < 0 and month >= on.month
        yield months(on.year + (1 if sign > 0 else -1 if behind else 0), month, 3)


def _feast(match: re.Match[str], on: date, years: Years) -> Iterator[Period]:
    said = match["feast"].lower()
    name = next(one for one, spelt in _NAMES.items() if re.fullmatch(spelt, said))
    within = years(_feast_day(name, on.year).month, on)
    return _yearly(match, on, within, lambda year: around(_feast_day(name, year), 1))


def _feast_day(name: str, year: int) -> date:
    if name == "thanksgiving":
        moved: date = date(year, 11, 1) + relativedelta(weekday=TH(+4))
        return moved
    told = _FEASTS[name]
    if isinstance(told, tuple):
        return date(year, *told)
    found: date = easter(year) + timedelta(days=told)
    return found


_READERS: dict[str, Callable[[re.Match[str], date, Years], Iterator[Period]]] = {
    "iso": _iso,
    "dated": _dated,
    "month": _month,
    "season": _season,
    "feast": _feast,
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
    """Return ``count`` whole months, beginning with the given one."""
    first = date(year, month, 1)
    return Period(first.toordinal(), (first + relativedelta(months=count, days=-1)).toordinal())


def whole_year(year: int) -> Period:
    """Return a year as a period."""
    return Period(date(year, 1, 1).toordinal(), date(year, 12, 31).toordinal())
