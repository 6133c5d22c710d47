"""Find stale memories and unusual days, for a person to look at. Writes nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import date, timedelta

from memento.base.clock import DAY
from memento.config import Config
from memento.dynamics import formulas
from memento.ledger import co_use, sleep_rows, strength_fold
from memento.ledger.contract import Transaction
from memento.sleep.night import Felt, felt
from memento.sleep.tick_values import Anomaly
from memento.types import Event

UNUSUAL = 3.5
"""Absolute score above which a value is an outlier."""
_TO_DEVIATION = 1.4826
"""Factor from the median absolute deviation of a normal distribution to its standard deviation."""


def median(values: Sequence[float]) -> float:
    """Return the median of one or more values."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def outlier(value: float, window: Sequence[float]) -> float:
    """Return the robust standard score of a value: (x - median) / max(1, 1.4826 MAD).

    Outliers would shift a mean and a standard deviation, and so hide themselves; the minimum spread
    of 1 keeps a constant series from flagging its first change by one.

    Source: Iglewicz & Hoaglin 1993, who flag scores beyond 3.5.

    >>> outlier(30, [9, 10, 10, 11, 10, 12, 8, 10, 10, 11])
    20.0
    """
    middle = median(window)
    spread = _TO_DEVIATION * median([abs(one - middle) for one in window])
    return (value - middle) / max(1.0, spread)


WINDOW = 30
"""Number of preceding days of use with which a day is compared."""
_FEWEST = 7
"""Minimum number of days with which a day can be compared."""
_AGAINST = (Event.WRONG.value, Event.HARMFUL.value)
_TINY = 1e-9
_EPOCH = date(1970, 1, 1)


def notes(session: Transaction, ns: int, now: int, config: Config) -> dict[str, int]:
    """Count what somebody should look at, see ``Tick.notes``."""
    return {
        "stale": len(stale(session, ns, now, config, ())),
        "anomalies": len(unusual(session, ns, now - WINDOW * DAY)),
        "links": co_use.count(session, ns)[1],
    }


def stale(
    session: Transaction, ns: int, now: int, config: Config, kinds: Collection[str]
) -> list[tuple[Felt, tuple[str, ...]]]:
    """Find active memories that somebody should look at, the most forgotten first.

    Pinned and locked ones are not among them. Empty ``kinds`` stand for all.
    """
    rows = [row for row in sleep_rows.active(session, ns) if not kinds or row.kind in kinds]
    found = [(one, _reasons(one, now)) for one in felt(session, rows, now, config)]
    told = [one for one in found if one[1]]
    return sorted(told, key=lambda one: (one[0].standing.retention, one[0].row.docid))


def _reasons(one: Felt, now: int) -> tuple[str, ...]:
    """Return why a memory is stale; empty if it is not."""
    row, prior = one.row, formulas.mean(formulas.prior(one.row.trust))
    if row.expires_at is not None and row.expires_at <= now:
        return ()  # nobody sees it any more
    said = {
        "expired": row.valid_until is not None and row.valid_until <= now,
        "doubted": formulas.mean(one.standing.belief) < prior - _TINY,
        "fading": one.standing.retention < formulas.FADE_BELOW,
    }
    return tuple(name for name, holds in said.items() if holds)


def unusual(session: Transaction, ns: int, since: int) -> list[Anomaly]:
    """Find the days of use since a moment whose counts are outliers against the 30 before them."""
    counted = {
        "added": sleep_rows.arrivals(session, ns, 0),
        "opposed": sleep_rows.daily(session, ns, _AGAINST, 0),
    }
    used = set(strength_fold.calendar_of(session, ns).days).union(*counted.values())
    days = sorted(used)
    found = [
        one for what, counts in counted.items() for one in _compared(days, counts, what, since)
    ]
    return sorted(found, key=lambda one: (one.day, one.what))


def _compared(days: list[int], counts: dict[int, int], what: str, since: int) -> Iterator[Anomaly]:
    """Yield the days whose count is an outlier against the days of use before them."""
    for at, day in enumerate(days):
        window = [counts.get(one, 0) for one in days[max(0, at - WINDOW) : at]]
        if len(window) < _FEWEST or day < since // DAY:
            continue
        count = counts.get(day, 0)
        score = outlier(count, window)
        if abs(score) > UNUSUAL:
            yield Anomaly(_EPOCH + timedelta(day), what, count, median(window), score)
