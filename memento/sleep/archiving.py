"""Archive faded memories of a perishable kind that nobody used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from math import ceil

from memento.config import Config, Sleep
from memento.dynamics import formulas
from memento.dynamics.fold import VERDICTS
from memento.ledger import links, memories, sleep_rows, usage_events
from memento.ledger.contract import Transaction, Work
from memento.ledger.rows import Row
from memento.sleep.night import Felt, Night, Plan, Step, felt, still
from memento.types import Event, Reason
from memento.write import change

_USES = frozenset({*(kind for kind, effect in VERDICTS.items() if effect.use), Event.REINFORCED})
_TINY = 1e-9


def plan(session: Transaction, night: Night) -> Plan:
    """Find the memories to archive, the most forgotten first.

    If more than ``Sleep.most_active`` would stay active, other unused memories follow; ``skipped``
    counts those that are still over the quota.
    """
    sleep = night.config.sleep
    rows = [row for row in sleep_rows.active(session, night.ns) if row.key is None]
    found = list(felt(session, rows, night.at, night.config))
    cited = sleep_rows.parents_of_articles(session, night.ns)
    faded = sorted((one for one in found if _faded(one, night.config)), key=_order)
    room = max(0, ceil(sleep.archive_share * night.active) - night.done)
    chosen = list(islice(_unused(session, faded, cited), room))
    active = sleep_rows.count_active(session, night.ns)
    over = 0 if sleep.most_active is None else active - sleep.most_active
    skipped = Counter[str]()
    if over > len(chosen):
        known = {one.row.docid for one in chosen}
        others = sorted(
            (one for one in found if one.row.docid not in known), key=lambda one: _rank(one, sleep)
        )
        chosen += islice(_unused(session, others, cited), over - len(chosen))
        skipped["over the quota"] = max(0, over - len(chosen))
    return Plan([one.row.docid for one in chosen], len(found), +skipped)


def _faded(one: Felt, config: Config) -> bool:
    """Return whether a memory has faded, and neither kind, importance nor verdicts keep it."""
    sleep, row = config.sleep, one.row
    prior = formulas.mean(formulas.prior(row.trust))
    return (
        one.standing.retention < sleep.archive_below
        and row.kind in sleep.perishable
        and row.importance < sleep.archive_importance
        and formulas.mean(one.standing.belief) <= prior + _TINY
    )


def _order(one: Felt) -> tuple[float, int]:
    return one.standing.retention, one.row.docid


def _rank(one: Felt, sleep: Sleep) -> tuple[bool, float, int]:
    """Return the sort key for the quota: perishable kinds first, then the lowest worth."""
    lasting = one.row.kind not in sleep.perishable
    worth = one.standing.retention * (one.row.importance if lasting else 1.0)
    return lasting, worth, one.row.docid


def _unused(session: Transaction, found: Sequence[Felt], cited: set[str]) -> Iterator[Felt]:
    """Yield the memories that nobody used, that replaced no other, and that no article cites."""
    for one in found:
        if one.row.id not in cited and not _is_needed(session, one.row):
            yield one


def _is_needed(session: Transaction, row: Row) -> bool:
    """Return whether a memory was used, was archived before, or supersedes another."""
    if memories.count_states(session, row.docid, Reason.ARCHIVED):
        return True
    told = usage_events.standing_ones(usage_events.told_of(session, row.docid))
    return any(one.kind in _USES for one in told) or links.is_successor(session, row.ns, row.id)


def carry_out(work: Work, _night: Night, docid: int) -> Sequence[Row]:
    """Archive one memory, unless it changed in the meantime."""
    row = still(work, docid)
    if row is None or row.key is not None or _is_needed(work.db, row):
        return []
    return [change.put_away(work, row)]


STEP = Step("archive", plan, carry_out)
