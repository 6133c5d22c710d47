"""The system's clock, and moments as the store keeps them: whole microseconds since 1970 UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def system_clock() -> datetime:
    """Return the present moment, UTC."""
    return datetime.now(UTC)


def to_micros(moment: datetime) -> int:
    """Convert an aware datetime to microseconds since 1970 UTC, exactly."""
    return (moment - EPOCH) // _MICROSECOND


@lru_cache(maxsize=256)  # the moments of one memory are mostly one moment
def from_micros(micros: int) -> datetime:
    """Convert microseconds since 1970 to an aware UTC datetime, exactly."""
    return EPOCH + timedelta(0, 0, micros)


def in_name(moment: datetime) -> str:
    """Write a moment as part of a file name; in order of name is in order of time.

    >>> in_name(datetime(2026, 3, 1, 9, 30, tzinfo=UTC))
    '20260301T093000000000Z'
    """
    return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%S%fZ")
