"""The relations between memories that an answer needs: which of two conflicting ones stands higher.

Finding links between the best candidates takes one index lookup, and nothing in a namespace without
flagged pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from memento.base.scopes import contains
from memento.claims.standing import Stand, stands_higher
from memento.dynamics.fold import VERDICTS
from memento.dynamics.formulas import log_odds, prior
from memento.dynamics.settings import Dynamics
from memento.ledger import memories, strength_fold, usage_events
from memento.ledger.contract import Ledger, Transaction
from memento.ledger.links import CONFLICTS, QUOTES, Linked, any_flagged, pairs
from memento.ledger.rows import Row, is_sound
from memento.ledger.schema import SEQ_BITS
from memento.status import having

_FOUND = frozenset(having("found"))

Opposed: TypeAlias = Callable[[Sequence[int]], Sequence[tuple[int, int]]]
"""Returns the pairs among some memories that conflict, by row id, the higher one first."""
Quoted: TypeAlias = Callable[[Sequence[int]], Sequence[tuple[int, int]]]
"""Returns the pairs (article, memory that it quotes) of some memories, by row id."""


@dataclass(frozen=True, slots=True)
class Links:
    """The relations between memories of one namespace, for one query."""

    ledger: Ledger
    ns: int
    now: int
    settings: Dynamics
    linked: Linked

    def opposed(self, docids: Sequence[int]) -> Sequence[tuple[int, int]]:
        """Return the pairs among some memories that conflict, the higher one first."""
        if not self.linked.may_conflict(docids):
            return ()
        return self.ledger.read(lambda c: pairs_among(c, docids, self.now, self.settings))

    def quoted(self, docids: Sequence[int]) -> Sequence[tuple[int, int]]:
        """Return the pairs (article, memory that it quotes) of some articles."""
        return self.ledger.read(lambda c: pairs(c, docids, [QUOTES], "src"))

    def known(self, one: int, other: int) -> bool:
        """Return whether a person settled a pair or judged one of them."""
        return self.ledger.read(lambda c: is_known(c, one, other))


def is_known(session: Transaction, one: int, other: int) -> bool:
    """Return whether a person said that two memories do not conflict, or judged one of them."""
    settled, judged = usage_events.were_settled(session, one, other)
    return settled or (
        judged
        and any(
            happened.kind in VERDICTS
            for docid in (one, other)
            for happened in usage_events.standing_ones(usage_events.told_of(session, docid))
        )
    )


def pairs_among(
    session: Transaction, docids: Sequence[int], now: int, settings: Dynamics
) -> list[tuple[int, int]]:
    """Return the pairs among some memories, at least one, that conflict, the higher one first."""
    linked = pairs(session, docids, CONFLICTS)
    if not linked:
        return []
    ends = sorted({docid for pair in linked for docid in pair})
    rows = memories.by_docids(session, docids[0] >> SEQ_BITS, ends)
    return _ordered(session, linked, rows, now, settings)


def outside(
    session: Transaction, ns: int, ids: Sequence[str], now: int, settings: Dynamics
) -> dict[str, int]:
    """Find statements outside an answer that contradict memories in it and stand higher.

    Args:
        session: An open session.
        ns: Namespace number.
        ids: Ids of the memories of the answer.
        now: Microseconds.
        settings: Settings for computing the belief in a memory.

    Returns:
        Ids of memories of the answer to the time of the latest such statement, microseconds. Only
        statements count that hold now, in the same scope or one that contains it.
    """
    if not ids or not any_flagged(session, ns):
        return {}
    shown = set(memories.docids_of(session, ns, ids).values())
    linked = [
        pair for pair in pairs(session, shown, CONFLICTS, "either") if not shown.issuperset(pair)
    ]
    ends = sorted({docid for pair in linked for docid in pair})
    rows = memories.by_docids(session, ns, ends) if ends else {}
    rows = {docid: row for docid, row in rows.items() if docid in shown or _holds(row, now)}
    found: dict[str, int] = {}
    for higher, lower in _ordered(session, linked, rows, now, settings):
        one, other = rows[higher], rows[lower]
        if lower in shown and contains(one.scope, other.scope):
            found[other.id] = max(one.occurred_at, found.get(other.id, one.occurred_at))
    return found


def _holds(row: Row, now: int) -> bool:
    """Return whether a memory is found by default at a moment."""
    ends = [end for end in (row.expires_at, row.valid_until) if end is not None]
    return row.status in _FOUND and row.valid_from <= now and all(end > now for end in ends)


def _ordered(
    session: Transaction,
    linked: Sequence[tuple[int, int]],
    rows: Mapping[int, Row],
    now: int,
    settings: Dynamics,
) -> list[tuple[int, int]]:
    """Return the pairs of which both ends are known, the higher one first."""
    stands = {
        docid: _stand(session, row, now, settings) for docid, row in rows.items() if is_sound(row)
    }
    return [
        (one, other) if stands_higher(stands[one], stands[other]) else (other, one)
        for one, other in linked
        if {one, other} <= stands.keys()
    ]


def _stand(session: Transaction, row: Row, now: int, settings: Dynamics) -> Stand:
    _, found, _ = strength_fold.look(session, row, now, settings)
    belief = log_odds(found.belief) - log_odds(prior(row.trust))
    return Stand(row.trust, row.role, row.valid_from, row.docid, belief)
