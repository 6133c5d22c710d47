"""The rows of a namespace that the filters of a query choose, with what only the ledger knows."""

from __future__ import annotations

from dataclasses import replace

from memento.ledger.predicate import Filters
from memento.retrieve.ledger_source import LedgerSource
from memento.retrieve.roster import Mask, Snapshot
from memento.retrieve.visible import allow, needs_ledger
from memento.status import having

BY_NAME = having("by_name")
"""Statuses of memories that are found if the query names them."""
_FOUND = having("found")


def chosen(source: LedgerSource, snap: Snapshot, filters: Filters) -> Mask:
    """Mark the rows that pass filters."""
    docids = source.matching(filters) if needs_ledger(filters) else None
    return allow(snap, filters, docids, source.hidden(filters))


def set_aside(source: LedgerSource, snap: Snapshot, filters: Filters) -> Mask | None:
    """Mark the rows that only their name finds; None if there are none, or none are wanted."""
    if filters.statuses != _FOUND or not snap.named_only:
        return None
    return chosen(source, snap, replace(filters, statuses=BY_NAME))
