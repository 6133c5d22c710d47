"""The system's clock, and moments as the store keeps them: whole microseconds since 1970 UTC.

``MemoryManager(clock=...)`` takes another clock: any ``protocols.Clock``, such as
``testing.ManualClock``. Names of files that are set aside, and the ids that memento makes (UUID 7),
use the system's clock regardless.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache

from memento.errors import InvalidInput

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 86_400_000_000
"""A day in microseconds."""
_MICROSECOND = timedelta(microseconds=1)


def system_clock() -> datetime:
    """Return the present moment, UTC."""
    return datetime.now(UTC)


def to_micros(moment: datetime) -> int:
    """Convert an aware datetime to microseconds since 1970 UTC, exactly."""
    return (moment - EPOCH) // _MICROSECOND


@lru_cache(maxsize=256)  # the moments of one memory are mostly equal
def from_micros(micros: int) -> datetime:
    """Convert microseconds since 1970 to an aware UTC datetime, exactly."""
    return EPOCH + timedelta(0, 0, micros)


def zone_of(name: str, field: str = "timezone") -> tzinfo:
    """Return a time zone by its IANA name, such as ``Asia/Tokyo``.

    Raises:
        InvalidInput: If this machine does not know the time zone; names the field.
    """
    if name == "UTC":
        return UTC
    problem = f"{name!r:.60} is not a time zone known to this machine, such as Europe/Berlin"
    if not isinstance(name, str):
        raise InvalidInput(field, problem)
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - the default needs none of it

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # no such name, no name at all, the name of a folder
        raise InvalidInput(field, problem) from None


def in_zone(zone: tzinfo, moment: datetime) -> datetime:
    """Return an aware datetime in a time zone; in UTC where that is before year 1 or after 9999."""
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment.astimezone(UTC)


def day_in(zone: tzinfo, moment: datetime) -> date:
    """Return the day of an aware datetime in a time zone, as ``in_zone``.

    >>> day_in(zone_of("Asia/Tokyo"), datetime(2025, 3, 14, 15, tzinfo=UTC)).isoformat()
    '2025-03-15'
    """
    return in_zone(zone, moment).date()


def in_name(moment: datetime) -> str:
    """Format a moment for a file name; such names sort in order of time.

    >>> in_name(datetime(2026, 3, 1, 9, 30, tzinfo=UTC))
    '20260301T093000000000Z'
    """
    return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%S%fZ")
