"""See what changed a memory, when and how: ``memory.changes``.

A change is a call that ended a state of a memory, see ``ledger.changes``; a plain ``add`` is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from memento.base.clock import from_micros
from memento.base.lazy import later
from memento.check import (
    check_count,
    check_flag,
    check_id,
    check_moment,
)
from memento.errors import InvalidInput
from memento.ledger import changes as sql
from memento.ledger import links, memories, past, slot_rows, usage_events
from memento.ledger.changes import Recorded
from memento.ledger.contract import Session
from memento.ledger.rows import Row, docid_of, sound
from memento.ledger.schema import SEQ_MASK
from memento.types import (
    Change,
    Diff,
    Memory,
    SlotValue,
    Trust,
    Version,
)
from memento.upkeep import lineage
from memento.upkeep.lineage import between
from memento.views import Part
from memento.write.steps import ENDED, SLOT_HOLDING

if TYPE_CHECKING:
    from memento.observe import derive
else:
    derive = later("memento.observe.derive")

Versions = list[Version]
"""Named here, because inside the class ``list`` is a method."""


class Changes(Part):
    """Changes to memories: ``memory.changes``. To take a change back, use ``memory.undo``."""

    def head(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Return the newest memory in a chain of superseded memories.

        Args:
            id: Id of a memory. If nothing superseded it, it is the head itself.

        Raises:
            NotFound: If this namespace has no such id.
            StoreUnusable: If the memory or the head is damaged.
        """
        ns = self._view.known_namespace(check_id(id))

        def job(session: Session) -> Row:
            row = memories.by_id(session, ns, id)
            return memories.by_id(session, ns, links.head(session, row))

        return self._view.memory(self._view.engine.ledger.read(job))

    def evolution(self, key_or_id: str, *, scope: str = "") -> list[SlotValue]:
        """Return the values that a slot or a chain of memories had, with the period of each.

        Args:
            key_or_id: The key of a slot, or the id of a memory. For a memory with a key, the values
                of its slot are returned; for another one, its chain of superseded memories.
            scope: Scope of the slot, if a key is given; only this exact scope is searched.

        Returns:
            The values, in the order in which they became valid; empty if there are none. Forgotten,
            quarantined and expired memories are left out.

        Raises:
            InvalidInput: If an argument cannot be accepted.
            StoreUnusable: If a value is damaged.
        """
        name, where = check_id(key_or_id, "key_or_id"), self._view.present_scope(scope)
        now = self._view.engine.now()

        def job(session: Session, ns: int) -> list[Row]:
            row = memories.by_ids(session, ns, [name]).get(name)
            if row is None:
                return slot_rows.values(session, ns, (name, where), now)
            if sound(row).key is not None:
                return slot_rows.values(session, ns, (str(row.key), row.scope), now)
            shown = SLOT_HOLDING | ENDED
            chain = links.members(session, ns, links.head(session, row))
            return [
                one
                for one in chain
                if one.status in shown and (one.expires_at is None or one.expires_at > now)
            ]

        return self._view.values(job)

    def diff(
        self, since: datetime, until: datetime | None = None, *, limit: int = 1_000_000
    ) -> Diff:
        """Compare what was recorded at two moments: what was added, changed, hidden and restored.

        The moments refer to when things were recorded, not to when they were true. Erased memories
        do not appear.

        Args:
            since: The earlier moment, with a time zone.
            until: The later moment; None for now.
            limit: Maximum number of memories to compare, 1 to 1,000,000: those that were added or
                changed last.

        Raises:
            InvalidInput: If a moment has no time zone, ``until`` is before ``since``, or ``limit``
                cannot be accepted.
            StoreUnusable: If an earlier state is damaged.
        """
        first = check_moment("since", since)
        last = self._view.engine.now() if until is None else check_moment("until", until)
        if last < first:
            raise InvalidInput("until", "is before since")
        most, view = check_count("limit", limit, most=1_000_000), self._view
        return between(view.engine.ledger, view.ns, view.namespace, first, last, most)

    def list(
        self,
        *,
        since: datetime | None = None,
        id: str | None = None,  # noqa: A002 - the field's own name
        run: int | None = None,
        limit: int = 100,
    ) -> list[Change]:
        """List the calls that changed memories, newest first.

        A call is listed if it changed an existing memory: every ``update``, ``correct``, ``forget``
        and so on, and an ``add`` that superseded or merged. Plain adds, repeats, ``store.touch``,
        erasures, and turns that leave the ring buffer are not listed. A sleep is also listed if it
        only replayed memories or scaled down their links.

        Args:
            since: Earliest moment, with a time zone; None for any.
            id: Only changes that affected this memory; None for all.
            run: The run of a call that made several changes; None for any.
            limit: Maximum number of changes to return, 1 to 1,000,000.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If an argument cannot be accepted.
        """
        check_count("limit", limit, most=1_000_000)
        after = None if since is None else check_moment("since", since)
        asked = None if run is None else check_count("run", run, most=SEQ_MASK)
        name = None if id is None else check_id(id)
        if name is not None:
            self._view.known_namespace(name)

        def job(session: Session, ns: int) -> list[Change]:
            docid = None if name is None else memories.by_id(session, ns, name).docid
            key = None if asked is None else docid_of(ns, asked)
            found = sql.listed(session, ns, since=after, docid=docid, run=key, limit=limit)
            told = _told_by(session, ns, found)
            return [_change(session, one, told.get(one.change, [])) for one in found]

        return self._view.ask(job) or []

    def history(self, id: str, *, chain: bool = False) -> Versions:  # noqa: A002 - the field's own name
        """Return every state of a memory, oldest first; the last is the current one.

        Args:
            id: Id of a memory, whatever its status.
            chain: Whether to include the memories that superseded it or that it superseded, and so
                on, memory by memory, oldest first.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If an argument cannot be accepted.
            StoreUnusable: If a state is damaged.
        """
        check_flag("chain", chain)
        ns = self._view.known_namespace(check_id(id))
        return lineage.history(self._view.engine.ledger, ns, id, chain=chain)


def _told_by(session: Session, ns: int, found: Sequence[Recorded]) -> dict[int, list[str]]:
    """Return the memories of the changes that only wrote to the log: change to ids."""
    moments = {sql.number_of(one.change): one.at for one in found if one.rev_to < one.rev_from}
    told = usage_events.written_by(session, ns, moments)
    names = past.names(session, sorted({one.docid for one in told if one.docid is not None}))
    docids: dict[int, set[int]] = {}
    for one in told:
        if one.docid in names and one.change is not None:
            docids.setdefault(docid_of(ns, one.change), set()).add(one.docid)
    return {change: [names[docid] for docid in sorted(each)] for change, each in docids.items()}


def _change(session: Session, one: Recorded, told: Sequence[str]) -> Change:
    changed, added = sql.ids_of(session, one)
    return Change(
        number=sql.number_of(one.change),
        at=from_micros(one.at),
        kind=one.kind,
        by=Trust(one.by),
        run=shown_number(one.run),
        rev_from=one.rev_from,
        rev_to=one.rev_to,
        changed=tuple(changed or told),
        added=tuple(added),
        undone_by=shown_number(one.undone_by),
        undoes=shown_number(one.undoes),
    )


def shown_number(key: int | None) -> int | None:
    """Return the number of a change, if there is one."""
    return None if key is None else sql.number_of(key)
