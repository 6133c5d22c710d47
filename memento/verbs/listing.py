"""List memories without a query. Nothing here ranks, and nothing needs an index."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Unpack

from memento.check import check_word
from memento.ledger.filters import Filtering, check_known_at, filtering
from memento.types import Memories, Status, StatusName
from memento.views import View


def list(  # noqa: A001 - the verb's name, which its errors tell
    view: View,
    *,
    status: Status | StatusName | Sequence[Status | StatusName] | None = None,
    order: Literal["arrival", "occurred"] = "arrival",
    newest_first: bool = False,
    limit: int = 100,
    offset: int = 0,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    **filters: Unpack[Filtering],
) -> Memories:
    """Do what ``MemoryManager.list`` does; see there."""
    check_word("order", order, ("arrival", "occurred"))
    now = view.engine.now()
    moment = check_known_at(known_at, now, statuses=status)
    present = now if moment is None else moment
    return view.listed(
        filtering(present, filters, list, statuses=status, as_of=as_of),
        by_time=order == "occurred",
        newest_first=newest_first,
        limit=limit,
        offset=offset,
        known_at=moment,
    )
