"""The dynamics of many memories at once, as a sleep needs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memento.config import Config
from memento.consolidate.night import Felt
from memento.dynamics.fold import begin, standing
from memento.ledger import dynamics
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
    today, settings = calendar.until(now), config.dynamics
    for start in range(0, len(rows), _AT_ONCE):
        part = [row for row in rows[start : start + _AT_ONCE] if is_sound(row)]
        states = dynamics.states_of(session, [row.docid for row in part])
        for row in part:
            basis = dynamics.basis_of(row)
            state = states.get(row.docid) or begin(basis, calendar.until(basis.at), settings)
            yield Felt(row, state, standing(state, now, today, basis, settings))
