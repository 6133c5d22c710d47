"""Open and close turns: one outcome for all that several answers showed."""

from __future__ import annotations

from collections.abc import Sequence

from memento.dynamics.config import Dynamics
from memento.errors import InvalidInput
from memento.ledger import dynamics, loops, memories
from memento.ledger.contract import Work
from memento.ledger.loops import Turn
from memento.lifecycle.steps import ACCEPTED, log_event
from memento.types import Event, Trust

_SECOND = 1_000_000


def start(work: Work, loop: str, session: str | None, seconds: float) -> Turn:
    """Open a turn, and close those of the namespace that expired."""
    loops.expire(work.db, work.ns, work.now)
    until = work.now + int(seconds * _SECOND)
    turn = Turn(loop, work.ns, session, work.now, until, None, {})
    loops.insert(work.db, turn)
    return turn


def show(work: Work, loop: str, ids: Sequence[str]) -> None:
    """Note which memories an answer of a turn showed, best first.

    Raises:
        InvalidInput: If there is no such turn, or it is closed.
    """
    loops.show(work.db, _open(work, loop), ids)


def finish(
    work: Work, loop: str, outcome: float | None, source: Trust, config: Dynamics
) -> list[str]:
    """Close a turn; its outcome goes to the memories that it showed.

    Args:
        work: The transaction.
        loop: Its id.
        outcome: [-1, 1]; None for none.
        source: Who says so.
        config: Settings.

    Returns:
        Ids of the memories that have a share in it.

    Raises:
        InvalidInput: If there is no such turn, or it is closed.
    """
    turn = _open(work, loop)
    shared: list[str] = []
    there = memories.docids_of(work.db, work.ns, list(turn.shown)) if outcome is not None else {}
    for memory_id, rank in turn.shown.items():
        if memory_id not in there:
            continue
        row = memories.by_id(work.db, work.ns, memory_id)
        if row.status in ACCEPTED:
            detail = {"source": source.value, "rank": rank, "outcome": outcome}
            log_event(work, row, Event.OUTCOME, detail)
            shared.append(memory_id)
    loops.close(work.db, turn, work.now, outcome)
    if shared:
        dynamics.catch_up(work.db, config)
    return shared


def _open(work: Work, loop: str) -> Turn:
    turn = loops.find(work.db, work.ns, loop)
    if turn is None:
        raise InvalidInput("loop", f"this namespace has no loop {loop!r}")
    if turn.closed_at is not None or turn.expires_at <= work.now:
        raise InvalidInput("loop", f"{loop!r} is closed; open a new one")
    return turn
