"""Days of a time zone: the same as the standard library's, also where the clocks change."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.base.clock import EPOCH, to_micros
from memento.retrieve.columns import ALWAYS, NEVER
from memento.retrieve.question import Days

ZONES = [
    "Asia/Tokyo",
    "America/New_York",
    "America/Havana",  # the clocks change at midnight
    "America/Sao_Paulo",  # 23:00 came twice
    "Pacific/Apia",  # had no 30 December 2011
    "Asia/Kathmandu",
]
moments = st.datetimes(datetime(1890, 1, 2), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - UTC, as the third argument says


@given(st.lists(moments, max_size=8), st.sampled_from(ZONES))
def test_days_are_those_of_the_standard_library(found, name):
    """One array of moments gives the days that a loop over zoneinfo gives."""
    zone = ZoneInfo(name)
    days = Days(zone).of(np.array([to_micros(one) for one in found], np.int64))
    assert days.tolist() == [one.astimezone(zone).toordinal() for one in found]


@pytest.mark.parametrize("name", ZONES)
@pytest.mark.parametrize("year", [2011, 2018, 2025])
def test_every_hour_of_a_year_has_its_day(name, year):
    """Also the hours around each change of the clocks."""
    zone = ZoneInfo(name)
    hours = [datetime(year, 1, 1, tzinfo=UTC) + timedelta(hours=n) for n in range(366 * 24)]
    days = Days(zone).of(np.array([to_micros(one) for one in hours], np.int64))
    assert days.tolist() == [one.astimezone(zone).toordinal() for one in hours]


def test_a_day_may_be_shorter_or_longer():
    """In New York the ninth of March 2025 has 23 hours and the second of November 25."""
    days = Days(ZoneInfo("America/New_York"))
    for day, hours in ((date(2025, 3, 9), 23), (date(2025, 3, 10), 24), (date(2025, 11, 2), 25)):
        length = days.start(day.toordinal() + 1) - days.start(day.toordinal())
        assert timedelta(microseconds=length) == timedelta(hours=hours)


@pytest.mark.parametrize("name", ["America/New_York", "Asia/Tokyo"])
def test_the_ends_of_the_calendar_have_a_day(name):
    """No day is outside the calendar, and what never ends is after every day."""
    ends = [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
    days = Days(ZoneInfo(name)).of(np.array([*map(to_micros, ends), ALWAYS, NEVER], np.int64))
    assert days[:2].tolist() == [1, date.max.toordinal()]
    assert days[2] <= 1
    assert days[3] > date.max.toordinal()


def test_the_default_is_the_day_of_utc():
    """The first moment of a day and the last one of the day before."""
    start = Days().start(date(2025, 3, 14).toordinal())
    assert EPOCH + timedelta(microseconds=start) == datetime(2025, 3, 14, tzinfo=UTC)
    found = Days().of(np.array([start - 1, start], np.int64))
    assert (date(2025, 3, 14).toordinal() - found).tolist() == [1, 0]
