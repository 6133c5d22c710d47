"""Look through memories without a query: list, count, the ring, the history, the links.

Nothing here ranks, and nothing needs an index: each verb reads rows of the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Unpack

from memento.check import check_count, check_id, check_word, optional_name
from memento.ledger import memories
from memento.ledger.filters import Filtering, check_known_at, filtering, filters_of
from memento.status import having
from memento.types import Related, Status, StatusName, Tallied, Version
from memento.upkeep import lineage
from memento.views import Memories, View

Versions = list[Version]
Relations = list[Related]
"""Named here, because inside the class ``list`` is a method."""


class Browse(View):
    """Verbs of the manager that list, count and follow memories through time and links."""

    def list(
        self,
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
        """List memories in order, without ranking.

        Args:
            status: ``active`` (the default), ``superseded``, ``archived``, ``forgotten``,
                ``quarantined``, or several of these.
            order: ``arrival``, or ``occurred`` for the order of ``occurred_at``.
            newest_first: Reverse the order.
            limit: Most memories to return, 1 to 1,000,000.
            offset: Number of memories to skip first, >= 0.
            as_of: Only memories that were valid at this moment, with the text that they had then;
                unless ``status`` says otherwise, superseded ones too.
            known_at: List what this call would have listed at this moment, as it was recorded; see
                ``retrieve``.
            filters: See ``Filtering``.

        Raises:
            InvalidInput: If an argument cannot be accepted.
            StoreUnusable: If a memory, or its state of then, is damaged.
        """
        check_word("order", order, ("arrival", "occurred"))
        now = self._engine.now()
        moment = check_known_at(known_at, now, statuses=status)
        present = now if moment is None else moment
        return self._listed(
            filtering(present, filters, Browse.list, statuses=status, as_of=as_of),
            by_time=order == "occurred",
            newest_first=newest_first,
            limit=limit,
            offset=offset,
            known_at=moment,
        )

    def counts(self, by: Tallied = "scope", **filters: Unpack[Filtering]) -> dict[str, int]:
        """Count memories without reading them.

        Args:
            by: ``scope``, ``tag``, ``kind``, ``tier``, ``session``, ``actor`` or ``key``; memories
                without a value are not counted.
            filters: See ``Filtering``.

        Returns:
            Each scope, tag and so on to its number of active memories, sorted by name. The sum over
            scopes is the number of memories.

        Raises:
            InvalidInput: If an argument cannot be accepted.
        """
        check_word("by", by, sorted(memories.TALLIED))
        asked = self._looked(filtering(self._engine.now(), filters, Browse.counts))
        return self._ask(lambda c, ns: memories.tally(c, ns, asked, by)) or {}

    def recent(self, n: int | None = None, *, session: str | None = None) -> Memories:
        """Return the newest memories of a session's ring buffer, oldest first.

        Args:
            n: Most memories to return; None for all in the ring.
            session: The session; None for memories without one.

        Raises:
            InvalidInput: If ``n`` is not a positive whole number.
        """
        if n is not None:
            check_count("n", n)
        name = optional_name("session", session)
        if (ns := self._ns) is None:
            return []
        return self._read(self._engine.short.recent(ns, name, n, self._engine.now()))

    def related(
        self,
        id: str,  # noqa: A002 - the field's own name
        *,
        status: Status | StatusName | Sequence[Status | StatusName] | None = None,
    ) -> Relations:
        """Return the memories that are linked to one, in order of arrival.

        A link is followed in both directions, whichever of the two was added later.

        Args:
            id: Id of the memory; it may have any status.
            status: Statuses of the memories to return; None for ``active`` and ``superseded``.

        Returns:
            The linked memories of this namespace that have not expired, each with its relation.

        Raises:
            InvalidInput: If an argument cannot be accepted.
            NotFound: If this namespace has no such id.
            StoreUnusable: If a link or a linked memory is damaged.
        """
        memory_id = check_id(id)
        chosen = having("found", "ended") if status is None else status
        filters = filters_of(self._engine.now(), statuses=chosen)
        ns = self._known_namespace(memory_id)
        found = lineage.related(self._engine.ledger, ns, memory_id, filters)
        ends = self._read(row for row, _, _ in found)
        return [
            Related(end, relation, outgoing)
            for end, (_, relation, outgoing) in zip(ends, found, strict=True)
        ]
