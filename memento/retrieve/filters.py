"""Which rows may be found at all: one mask per query, before anything is ranked or limited."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from memento.ledger.predicate import Filters
from memento.retrieve.roster import KINDS, NEVER, STATUSES, TIERS, Interned, Mask, Snapshot
from memento.scopes import contains
from memento.types import Status


def needs_ledger(filters: Filters) -> bool:
    """Tell whether the roster alone cannot decide: some of it only the ledger has."""
    return bool(
        filters.tags
        or filters.any_tags
        or filters.where
        or filters.ids
        or filters.pinned is not None
    )


def allow(snap: Snapshot, filters: Filters, docids: NDArray[np.int64] | None = None) -> Mask:
    """Mark the rows that pass; agrees with `ledger.predicate.predicate`.

    Args:
        snap: The namespace.
        filters: What the caller asked to see.
        docids: Rows that passed in the ledger, when `needs_ledger`; None for all.

    Returns:
        (snap.n,) mask.
    """
    mask = _in(snap.status, [STATUSES[status] for status in filters.statuses])
    mask &= snap.expires_at > filters.now
    if filters.tiers:
        mask &= _in(snap.tier, [TIERS[tier] for tier in filters.tiers])
    if filters.kinds:
        mask &= _in(snap.kind, [KINDS[kind] for kind in filters.kinds])
    if filters.scopes:
        mask &= _named(snap.scope, snap.scopes, _about(snap.scopes, filters.scopes))
    if filters.within:
        mask &= _named(snap.scope, snap.scopes, _below(snap.scopes, filters.within))
    if filters.sessions:
        known = (snap.session_names.find(name) for name in filters.sessions)
        mask &= _named(snap.session, snap.session_names, [at for at in known if at is not None])
    if filters.since is not None:
        mask &= snap.occurred_at >= filters.since
    if filters.until is not None:
        mask &= snap.occurred_at < filters.until
    mask &= _holding(snap, filters)
    if docids is not None:
        chosen = np.zeros(snap.n, np.bool_)
        chosen[snap.rows_of(docids)] = True
        mask &= chosen
    return mask


@dataclass(frozen=True, slots=True, eq=False)
class Open:
    """What a query without filters may find, as long as no row changes.

    Attributes:
        mask: One value for every row.
        since: From when on, microseconds since 1970 UTC.
        until: Up to when, exclusive; then something expires or ends.
    """

    mask: Mask
    since: int
    until: int

    @classmethod
    def of(cls, snap: Snapshot, filters: Filters) -> Self:
        """Mark the rows that pass filters that ask for nothing in particular."""
        mask, now = allow(snap, filters), filters.now
        mask.flags.writeable = False
        ends = (snap.expires_at, snap.valid_until)
        until = min(int(np.min(end[end > now], initial=NEVER)) for end in ends)
        return cls(mask, now, until)


def _holding(snap: Snapshot, filters: Filters) -> Mask:
    """Mark what holds at the moment asked about; superseded ones shown on request may not."""
    if filters.as_of is None:
        holds: Mask = snap.valid_until > filters.now
        holds |= snap.status == STATUSES[Status.SUPERSEDED]
        return holds
    held: Mask = snap.valid_until > filters.as_of
    held &= snap.valid_from <= filters.as_of
    return held


def _in(codes: NDArray[np.int8], wanted: Collection[int]) -> Mask:
    mask = np.zeros(len(codes), np.bool_)
    for code in wanted:
        mask |= codes == code
    return mask


def _about(known: Interned, asked: Collection[str]) -> list[int]:
    """List the codes of scopes at, below or above one of those asked about."""
    return [
        code
        for code, path in enumerate(list(known.names))
        if any(contains(scope, path) or contains(path, scope) for scope in asked)
    ]


def _below(known: Interned, asked: Collection[str]) -> list[int]:
    """List the codes of scopes at or below one of those asked about."""
    return [
        code
        for code, path in enumerate(list(known.names))
        if any(contains(scope, path) for scope in asked)
    ]


def _named(codes: NDArray[np.int32], known: Interned, wanted: Collection[int]) -> Mask:
    table = np.zeros(len(known.names) + 1, np.bool_)  # the last entry answers for -1, no name
    table[list(wanted)] = True
    return table[codes]
