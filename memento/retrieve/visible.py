"""Decide which rows may be found: the twin of ``ledger/predicate.py``, for the rows in RAM.

`predicate` there says the same in SQL, and ``tests/retrieve/test_visible.py`` compares them: change
both or neither. `retrieve` makes one mask per query, before anything is ranked or limited.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from memento.base.scopes import contains
from memento.ledger.predicate import Filters
from memento.retrieve.columns import (
    ERASED,
    KINDS,
    NEVER,
    STATUSES,
    TIERS,
    Interned,
    Mask,
    RosterView,
    having_trait,
    still_holding,
)
from memento.retrieve.ledger_source import LedgerSource
from memento.status import having
from memento.types import Status


def needs_ledger(filters: Filters) -> bool:
    """Return whether filters need facts that only the ledger has, not the roster."""
    return bool(
        filters.tags
        or filters.any_tags
        or filters.where
        or filters.keys
        or filters.actors
        or filters.roles
        or filters.sources
        or filters.ids
        or filters.pinned is not None
    )


def allow(
    snap: RosterView,
    filters: Filters,
    docids: NDArray[np.int64] | None = None,
    hidden: NDArray[np.int64] | None = None,
) -> Mask:
    """Mark the rows that pass the filters, (snap.n,); agrees with `ledger.predicate.predicate`.

    ``docids`` passed in the ledger, if `needs_ledger`; ``hidden`` are the rows of
    ``filters.without``.
    """
    mask = _of_status(snap, filters)
    if filters.tiers:
        mask &= _in(snap.tier, [TIERS[tier] for tier in filters.tiers])
    if filters.kinds:
        mask &= _in(snap.kind, [KINDS[kind] for kind in filters.kinds])
    paths = list(enumerate(snap.scopes.names)) if filters.scopes or filters.within else []
    if filters.scopes:
        about = [
            code
            for code, path in paths
            if any(contains(scope, path) or contains(path, scope) for scope in filters.scopes)
        ]
        mask &= _named(snap.scope, snap.scopes, about)
    if filters.within:
        below = [
            code for code, path in paths if any(contains(scope, path) for scope in filters.within)
        ]
        mask &= _named(snap.scope, snap.scopes, below)
    if filters.sessions:
        known = (snap.session_names.find(name) for name in filters.sessions)
        mask &= _named(snap.session, snap.session_names, [at for at in known if at is not None])
    _limit_times(mask, snap, filters)
    mask &= _holding(snap, filters)
    if docids is not None:
        chosen = np.zeros(snap.n, np.bool_)
        chosen[snap.rows_of(docids)] = True
        mask &= chosen
    if hidden is not None:
        mask[snap.rows_of(hidden)] = False
    return mask


@dataclass(frozen=True, slots=True, eq=False)
class Open:
    """The rows that a query without filters may find, as long as no row changes.

    Valid from ``since`` until ``until``, exclusive, when a memory expires or ends; microseconds.
    """

    mask: Mask
    since: int
    until: int

    @classmethod
    def of(cls, snap: RosterView, filters: Filters) -> Self:
        """Mark the rows that pass when the caller set no filters."""
        mask, now = allow(snap, replace(filters, until_a_plan=True)), filters.now
        mask.flags.writeable = False
        ends = (snap.expires_at, snap.valid_until)
        until = min(int(np.min(end[end > now], initial=NEVER)) for end in ends)
        return cls(mask, now, until)


def _of_status(snap: RosterView, filters: Filters) -> Mask:
    """Mark the rows that have the wanted status and have not expired."""
    mask: Mask = snap.status != STATUSES[ERASED]
    if filters.statuses:
        mask &= _in(snap.status, [STATUSES[status] for status in filters.statuses])
    if filters.until_a_plan:
        mask |= still_holding(snap, slice(None), filters.now)
    live = snap.expires_at > filters.now
    if Status.FORGOTTEN in filters.statuses:
        live |= snap.status == STATUSES[Status.FORGOTTEN]
    return mask & live


def _limit_times(mask: Mask, snap: RosterView, filters: Filters) -> None:
    """Leave out, in place, the rows that happened before or after the wanted time."""
    if filters.since is not None:
        mask &= snap.occurred_at >= filters.since
    if filters.until is not None:
        mask &= snap.occurred_at < filters.until


def _holding(snap: RosterView, filters: Filters) -> Mask:
    """Mark the rows that are valid at the moment asked about.

    Rows of the past, shown only on request, need not be valid now.
    """
    if filters.as_of is None:
        holds: Mask = snap.valid_until > filters.now
        holds |= ~having_trait(snap.status, "current")
        holds |= snap.successor != 0
        return holds
    held: Mask = snap.valid_until > filters.as_of
    held &= snap.valid_from <= filters.as_of
    return held


def _in(codes: NDArray[np.int8], wanted: Collection[int]) -> Mask:
    mask = np.zeros(len(codes), np.bool_)
    for code in wanted:
        mask |= codes == code
    return mask


def _named(codes: NDArray[np.int32], known: Interned, wanted: Collection[int]) -> Mask:
    table = np.zeros(len(known.names) + 1, np.bool_)  # the last entry is for -1, no name
    table[list(wanted)] = True
    return table[codes]


BY_NAME = having("by_name")
"""Statuses of memories that are found if the query names them."""
_FOUND = having("found")


def chosen(source: LedgerSource, snap: RosterView, filters: Filters) -> Mask:
    """Mark the rows that pass filters."""
    docids = source.matching(filters) if needs_ledger(filters) else None
    return allow(snap, filters, docids, source.hidden(filters))


def set_aside(source: LedgerSource, snap: RosterView, filters: Filters) -> Mask | None:
    """Mark the rows found only by name; None if there are none, or none are wanted."""
    if filters.statuses != _FOUND or not snap.named_only:
        return None
    return chosen(source, snap, replace(filters, statuses=BY_NAME))
