"""Move memories between the tiers as their long strength grows and fades.

Strengths are read at the end of the last day on which the store was used, so that an idle store
does not change. Only memories whose tier memento chose move, unless the settings say otherwise. The
ring moves turns from short to medium, and this step never touches it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from math import ceil

from memento.admit.importance import LONG_FROM
from memento.base.clock import DAY
from memento.ledger import memories, sleep_rows
from memento.ledger.contract import Transaction, Work
from memento.ledger.rows import TIER_GIVEN, Row
from memento.sleep.night import Felt, Night, Plan, Step, days_of_use, felt, still
from memento.types import Reason, Tier
from memento.write import change

Move = tuple[int, str, str]
"""Row id of a memory, its tier, and the tier it goes to."""

PROMOTE_AT, DEMOTE_AT = 0.25, 0.10
"""Long strength from which a memory goes to the long tier, and below which it returns to the medium
tier unless its importance keeps it there."""


def plan(session: Transaction, night: Night) -> Plan:
    """Find the memories to move to another tier, in order of arrival."""
    config, skipped = night.config, Counter[str]()
    found = list(sleep_rows.active(session, night.ns, tiers=(Tier.MEDIUM, Tier.LONG)))
    ours = [row for row in found if config.sleep.move_given or not row.given & TIER_GIVEN]
    skipped["given"] = len(found) - len(ours)
    moves = (move for move in _moves(session, ours, night) if not _taken_back(session, move[0]))
    room = max(0, ceil(config.sleep.tier_share * night.active) - night.done)
    return Plan(list(islice(moves, room)), len(ours), +skipped)


def _taken_back(session: Transaction, docid: int) -> bool:
    """Return whether somebody undid the last change of a memory."""
    return [one.reason for one in memories.states(session, docid)][-1:] == [Reason.UNDONE]


def _moves(session: Transaction, rows: Sequence[Row], night: Night) -> Iterator[Move]:
    """Yield the moves, in order of arrival."""
    config, days = night.config, days_of_use(session, night.ns)
    used = min(night.at, (days[-1] + 1) * DAY) if days else 0
    for one in felt(session, rows, used, config):
        target = target_of(one)
        if target is not None:
            yield one.row.docid, one.row.tier, target.value


def target_of(one: Felt) -> Tier | None:
    """Return the tier to move a memory to; None if it stays.

    Source: two strengths of a memory, see ``dynamics.fold.advance``; the gap between the two
    thresholds keeps a memory from going back and forth.
    """
    strength = one.standing.long
    if one.row.tier == Tier.MEDIUM and strength >= PROMOTE_AT:
        return Tier.LONG
    weak = strength < DEMOTE_AT and one.row.importance < LONG_FROM
    return Tier.MEDIUM if one.row.tier == Tier.LONG and weak else None


def carry_out(work: Work, _night: Night, move: Move) -> Sequence[Row]:
    """Move one memory, unless it changed in the meantime."""
    docid, before, target = move
    row = still(work, docid)
    if row is None or row.tier != before:
        return []
    return [change.into_tier(work, row, target, row.given)]


STEP = Step("tiers", plan, carry_out)
