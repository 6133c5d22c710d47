"""Replay important, half-forgotten memories: each gains a little of what a use would give.

Source: prioritised replay, Schaul et al. 2016; Mattar & Daw 2018 (need times gain). Nothing is
drawn at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from memento.base.clock import DAY
from memento.ledger import memories, sleep_rows, strength_fold, usage_events
from memento.ledger.contract import Transaction, Work
from memento.ledger.rows import Row
from memento.sleep.night import Night, Plan, Step, felt
from memento.types import Event
from memento.write.steps import FOUND, note_event

MOST = 200
"""Maximum number of memories that are replayed on an active day."""


def plan(session: Transaction, night: Night) -> Plan:
    """Find the memories to replay: those with the largest importance · (1 - retention).

    A memory is replayed at most once a day, and only on a day on which the namespace is used, so
    that an idle store does not change.
    """
    sleep = night.config.sleep
    replayed = sleep_rows.replayed_since(session, night.ns, night.at // DAY * DAY)
    room = min(ceil(sleep.replay * night.active), MOST) - len(replayed)
    days = strength_fold.calendar_of(session, night.ns).days
    if room <= 0 or not days or days[-1] != night.at // DAY:
        return Plan()
    rows = [row for row in sleep_rows.active(session, night.ns) if row.docid not in replayed]
    found = list(felt(session, rows, night.at, night.config))
    worth = sorted(
        (one.row.importance * (one.standing.retention - 1), one.row.id, one.row.docid)
        for one in found
    )
    return Plan([docid for gain, _, docid in worth[:room] if gain < 0], len(found))


def carry_out(work: Work, night: Night, docid: int) -> Sequence[Row]:
    """Record the replay of one memory, unless it was replayed today or is hidden by now."""
    row = memories.by_docids(work.db, work.ns, [docid]).get(docid)
    last = usage_events.last_of(work.db, docid, Event.REPLAYED)
    before = usage_events.happening(work.db, work.ns, last)
    today = before is not None and before.at // DAY == night.at // DAY
    if row is None or row.status not in FOUND or today:
        return []
    note_event(work, row, Event.REPLAYED)
    return [row]


STEP = Step("replay", plan, carry_out)
