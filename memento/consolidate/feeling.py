"""The dynamics of many memories at once, as a sleep needs them.

A day of use is one on which somebody asked, rated or added: the log has the first two, and the
memories themselves say when they came.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from memento.config import Config
from memento.consolidate.night import Felt
from memento.dynamics.fold import DAY, State, begin, standing
from memento.dynamics.retention import retention
from memento.ledger import dynamics, sleeping
from memento.ledger.contract import Session
from memento.ledger.rows import Row, is_sound

_AT_ONCE = 500


def felt(session: Session, rows: Sequence[Row], now: int, config: Config) -> Iterator[Felt]:
    """Yield the memories that are sound, each with its dynamics, in the same order.

    Args:
        session: Of any job, after the events were folded.
        rows: Memories of one namespace.
        now: The moment, microseconds.
        config: Settings.
    """
    if not rows:
        return
    calendar = dynamics.calendar_of(session, rows[0].ns)
    days = days_of_use(session, rows[0].ns)
    today, settings = bisect_right(days, now // DAY), config.dynamics
    for start in range(0, len(rows), _AT_ONCE):
        part = [row for row in rows[start : start + _AT_ONCE] if is_sound(row)]
        states = dynamics.states_of(session, [row.docid for row in part])
        for row in part:
            basis = dynamics.basis_of(row)
            state = states.get(row.docid) or begin(basis, 0, settings)
            last = bisect_right(days, _last_day(state, row, calendar.days))
            found = standing(state, now, state.day, basis, settings)
            left = retention(today - last, state.stability)
            yield Felt(row, state, replace(found, retention=left))


def days_of_use(session: Session, ns: int) -> list[int]:
    """Return the days on which a namespace was asked, rated or added to, ascending, since 1970.

    Args:
        session: Of any job, after the events were folded.
        ns: Namespace number.
    """
    calendar = dynamics.calendar_of(session, ns)
    return sorted({*calendar.days, *sleeping.arrivals(session, ns, 0)})


def _last_day(state: State, row: Row, logged: Sequence[int]) -> int:
    """Return the day on which a memory was last used or came, in days since 1970."""
    came, changed = row.created_at // DAY, state.at // DAY
    if state.day > len(logged):
        return max(came, changed)  # a sleep changed it on a day that nobody used
    return max(came, min(logged[state.day - 1], changed)) if state.day > 0 else came
