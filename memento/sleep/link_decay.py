"""Scale down the links of a memory that together exceed their budget; proportions are kept.

The event is the truth of it, so that the links can be folded again from the log.
"""

from __future__ import annotations

from collections.abc import Sequence

from memento.ledger import co_use, memories, usage_events
from memento.ledger.contract import Session, Work
from memento.ledger.rows import Row
from memento.sleep.night import Night, Plan, Step, is_free, still
from memento.types import Event
from memento.write.steps import note_event


def plan(session: Session, night: Night) -> Plan:
    """Find the memories whose links exceed the budget, in order of arrival."""
    found = co_use.heavy(session, night.ns, night.config.association.budget)
    rows = memories.by_docids(session, night.ns, found)
    free = [docid for docid in found if docid in rows and is_free(rows[docid])]
    wanted = [docid for docid in free if not _taken_back(session, docid)]
    skipped = {
        "pinned, locked or hidden": len(found) - len(free),
        "undone": len(free) - len(wanted),
    }
    skipped = {why: count for why, count in skipped.items() if count}
    return Plan(wanted, co_use.count(session, night.ns)[0], skipped)


def _taken_back(session: Session, docid: int) -> bool:
    """Return whether somebody undid the last scaling of a memory, and its links are as then."""
    told = co_use.told_of(session, docid)
    last = max((one.event for one in told if one.kind == Event.WEAKENED), default=0)
    later = [one for one in usage_events.standing_ones(told) if one.event >= last]
    return bool(last) and not later


def carry_out(work: Work, night: Night, docid: int) -> Sequence[Row]:
    """Scale down the links of one memory, unless somebody did or it changed in the meantime."""
    config, agent = night.config.association, night.config.dynamics.agent
    row = still(work, docid)
    if row is None or docid not in co_use.heavy(work.db, work.ns, config.budget):
        return []
    note_event(work, row, Event.WEAKENED, {co_use.BUDGET: config.budget})
    while co_use.catch_up(work.db, config, agent):
        pass
    return [row]


STEP = Step("links", plan, carry_out)
