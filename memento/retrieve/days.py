"""Which day a moment is in, for a user in any time zone. Pure.

A day there may be 23 or 25 hours long, and the offset of a zone changes over the years, so a day is
found by the moments at which it and the next day begin, never by adding an offset.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from memento.clock import EPOCH, to_micros

DAY = 86_400_000_000
"""Microseconds of a day of UTC."""
_EPOCH_DAY = EPOCH.toordinal()
_LAST_DAY = date.max.toordinal()
_ENDS = np.iinfo(np.int64)
_CLOSE = 8_192  # days between the first and the last from which each is looked at alone


@dataclass(frozen=True, slots=True)
class Days:
    """The days of one time zone, numbered as by `datetime.date.toordinal`.

    Attributes:
        zone: The time zone.
    """

    zone: tzinfo = UTC

    def of(self, moments: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the days of moments.

        Args:
            moments: (n,) microseconds since 1970 UTC.

        Returns:
            (n,) days, none before the first day of the calendar.

        >>> from zoneinfo import ZoneInfo
        >>> Days(ZoneInfo("Asia/Tokyo")).of(np.array([0, 15 * 3_600_000_000])) - _EPOCH_DAY
        array([0, 1])
        """
        days = moments // DAY + _EPOCH_DAY
        if self.zone is UTC:
            return days
        distinct, at = _distinct(days)
        begun, over = (
            np.array([self.start(day + step) for day in distinct.tolist()], np.int64)
            for step in (0, 1)
        )
        days += (moments >= over[at]).astype(np.int64) - (moments < begun[at])
        return np.maximum(days, 1)  # no offset is a whole day, so it is one of these three days

    def start(self, day: int) -> int:
        """Return the first moment of a day, microseconds since 1970 UTC.

        A day outside the calendar begins before or after every moment.
        """
        if not 1 <= day <= _LAST_DAY:
            return int(_ENDS.min if day < 1 else _ENDS.max)
        return _start(self.zone, day)


def _distinct(days: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return some days among which all given ones are, and the place of each among them.

    Days close to each other need not be sorted, which takes 60 ms for a million.
    """
    if len(days):
        first, last = int(days.min()), int(days.max())
        if last - first <= min(len(days), _CLOSE):
            return np.arange(first, last + 1), days - first
    distinct, at = np.unique(days, return_inverse=True)
    return distinct, at


@lru_cache(maxsize=16_384)
def _start(zone: tzinfo, day: int) -> int:
    midnight = datetime.combine(date.fromordinal(day), datetime.min.time(), zone)
    return to_micros(midnight)  # a midnight that the clocks skip is the moment at which they do
