"""Find stale memories, and days that are unlike others, for a person to look at. Writes nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from memento.config import Config
from memento.consolidate.feeling import felt
from memento.consolidate.night import Felt
from memento.dynamics import anomaly, belief
from memento.dynamics.fold import DAY
from memento.ledger import associations, dynamics, sleeping
from memento.ledger.contract import Session
from memento.types import Event

WINDOW = 30
"""Days of use with which a day is compared."""
_FEWEST = 7
"""Fewest days with which a day can be compared."""
_AGAINST = (Event.WRONG.value, Event.HARMFUL.value)
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class Unusual:
    """A day that is unlike others; the fields are those of ``memento.tick.Anomaly``."""

    day: int
    what: str
    count: int
    usual: float
    score: float


def notes(session: Session, ns: int, now: int, config: Config) -> dict[str, int]:
    """Count what somebody should look at; the fields are those of ``memento.tick.Tick.notes``.

    Args:
        session: Of any job.
        ns: Namespace number.
        now: The present moment, microseconds.
        config: Settings.
    """
    return {
        "stale": len(stale(session, ns, now, config, ())),
        "anomalies": len(unusual(session, ns, now - WINDOW * DAY)),
        "links": associations.count(session, ns)[1],
    }


def stale(
    session: Session, ns: int, now: int, config: Config, kinds: Collection[str]
) -> list[tuple[Felt, tuple[str, ...]]]:
    """Find active memories that somebody should look at, the most forgotten first.

    Pinned and locked ones are not among them.

    Args:
        session: Of any job.
        ns: Namespace number.
        now: The present moment, microseconds.
        config: Settings.
        kinds: Only these kinds; empty for all.
    """
    rows = [row for row in sleeping.active(session, ns) if not kinds or row.kind in kinds]
    found = [(one, _reasons(one, now, config)) for one in felt(session, rows, now, config)]
    told = [one for one in found if one[1]]
    return sorted(told, key=lambda one: (one[0].standing.retention, one[0].row.docid))


def _reasons(one: Felt, now: int, config: Config) -> tuple[str, ...]:
    """Say why a memory is stale; nothing if it is not."""
    row, prior = one.row, belief.mean(belief.prior(one.row.trust))
    if row.expires_at is not None and row.expires_at <= now:
        return ()  # nobody sees it any more
    said = {
        "expired": row.valid_until is not None and row.valid_until <= now,
        "doubted": belief.mean(one.standing.belief) < prior - _TINY,
        "fading": one.standing.retention < config.sleep.fade_below,
    }
    return tuple(name for name, holds in said.items() if holds)


def unusual(session: Session, ns: int, since: int) -> list[Unusual]:
    """Find the days of use, from a moment on, that are unlike the 30 before them."""
    counted = {
        "added": sleeping.arrivals(session, ns, 0),
        "opposed": sleeping.daily(session, ns, _AGAINST, 0),
    }
    used = set(dynamics.calendar_of(session, ns).days).union(*counted.values())
    days = sorted(used)
    found = [one for what, counts in counted.items() for one in _compared(days, counts, what)]
    return sorted(
        (one for one in found if one.day >= since // DAY), key=lambda one: (one.day, one.what)
    )


def _compared(days: list[int], counts: dict[int, int], what: str) -> Iterator[Unusual]:
    """Yield the days whose count is unlike that of the days of use before."""
    for at, day in enumerate(days):
        window = [counts.get(one, 0) for one in days[max(0, at - WINDOW) : at]]
        if len(window) < _FEWEST:
            continue
        count = counts.get(day, 0)
        score = anomaly.outlier(count, window)
        if abs(score) > anomaly.UNUSUAL:
            yield Unusual(day, what, count, anomaly.median(window), score)
