"""Read a moment or a length of time as people and models write them. Pure; no clock."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date, datetime, time, timedelta

from memento.language.when import NAMED_TIMES, times_of

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
"""Seconds of each unit of a length of time."""
EXAMPLES = "2025-05-01, 2025-05-01T14:30, yesterday, last monday or 7d"
"""Moments, for a message about one that cannot be read."""

_AGO = re.compile(
    r"(?:(an?)|(\d+(?:\.\d+)?))\s*(?:([smhdw])|(sec|min|hour)\w*(?=\s+ago$))(?:\s+ago)?"
)
_CLOCK = re.compile(
    r"(?:[ ,]{1,3}at)?[ ,]{1,3}(?P<h>\d{1,2})(?:(?::(?P<m>\d\d))?\s*(?P<half>[ap]m)|:(?P<mm>\d\d))$"
)
_NOON = 12


def seconds_of(text: str) -> float:
    """Read a length of time: seconds, or a number with one of the units s, m, h, d, w.

    Raises:
        ValueError: If the text is not a length of time.

    >>> seconds_of("90"), seconds_of("1.5h")
    (90.0, 5400.0)
    """
    unit = UNITS.get(text[-1:])
    try:
        return float(text) if unit is None else float(text[:-1]) * unit
    except ValueError:
        raise ValueError(f"{text!r:.60} is not a duration such as 90, 15m, 12h or 7d") from None


def moment_of(text: str, now: datetime, *, ahead: bool = False) -> datetime:
    """Read a moment: ISO 8601, a length of time ago, or any time that a question may name.

    Args:
        text: Such as ``2025-05-01T14:30``, ``now``, ``7d`` for seven days ago, ``last monday``,
            ``tomorrow at 9am``. A day or a longer time is its beginning.
        now: The present, in the time zone of what names none.
        ahead: Whether a time that may be past or to come, such as a weekday, is to come.

    Raises:
        ValueError: If the text is not a moment, or is outside the calendar.

    >>> now = datetime(2025, 5, 3, 10, 20)  # a Saturday
    >>> moment_of("last monday", now).isoformat(), moment_of("2h ago", now).isoformat()
    ('2025-04-28T00:00:00', '2025-05-03T08:20:00')
    """
    said = " ".join(text.lower().split())
    try:
        if said == "now":
            return now
        if found := _AGO.fullmatch(said):
            unit = UNITS[(found[3] or found[4])[0]]
            return now - timedelta(seconds=float(found[2] or 1) * unit)
        with suppress(ValueError):
            at = datetime.fromisoformat(text.strip())
            return at if at.tzinfo else at.replace(tzinfo=now.tzinfo)
        return _named(said, now, ahead=ahead)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r:.60} is not a moment such as {EXAMPLES}") from None


def _named(said: str, now: datetime, *, ahead: bool) -> datetime:
    """Read the beginning of the only time that a text names; refuse one that says more."""
    clock = _CLOCK.search(said)
    day = said[: clock.start()] if clock else said
    found = times_of(day, now.date(), range(now.year - 1, now.year + 2))
    if len(found.named) != 1 or re.search(r"\w", NAMED_TIMES.sub("", found.rest)):
        raise ValueError(said)
    starts, today = sorted(one.start for one in found.named[0]), now.date().toordinal()
    near = [start for start in starts if (start >= today if ahead else start <= today)]
    first = (near or starts)[0 if ahead else -1]
    at = _time(clock) if clock else time()
    return datetime.combine(date.fromordinal(first), at, now.tzinfo)


def _time(clock: re.Match[str]) -> time:
    hour = int(clock["h"])
    if clock["half"]:
        hour = hour % _NOON + (_NOON if clock["half"] == "pm" else 0)
    return time(hour, int(clock["m"] or clock["mm"] or 0))
