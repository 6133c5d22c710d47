"""Review what untrusted sources said: ``memory.quarantine``."""

from __future__ import annotations

from collections.abc import Sequence

from memento.admit.redact import Redaction
from memento.check import MAX_URI, check_count, check_flag, check_id, short_name
from memento.errors import InvalidInput
from memento.ledger import memories
from memento.ledger.filters import filters_of
from memento.ledger.rows import Row
from memento.types import Memories, Memory, Status
from memento.views import Part
from memento.write import change, trust

Rows = list[Row]
"""Named here, because inside the class ``list`` is a method."""


class Quarantine(Part):
    """Approves or rejects untrusted memories; available as ``memory.quarantine``.

    >>> import tempfile
    >>> from memento import MemoryManager
    >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
    ...     page = memory.add("The museum opens at nine", source="web")
    ...     [waiting.text for waiting in memory.quarantine.list()]
    ...     memory.quarantine.approve(page.id).status.value
    ['The museum opens at nine']
    'active'
    """

    def list(
        self,
        *,
        source: str | None = None,
        newest_first: bool = False,
        limit: int = 100,
        offset: int = 0,
    ) -> Memories:
        """List memories from untrusted sources that are neither approved nor rejected.

        Args:
            source: Only memories from this source: a trust class such as ``web``, or an exact
                address, as in ``Source.uri``.
            newest_first: Reverse the order of arrival.
            limit: Maximum number of memories to return, 1 to 1,000,000.
            offset: Number of memories to skip, >= 0.

        Raises:
            InvalidInput: If an argument is invalid.
        """
        return self._view.listed(
            filters_of(self._view.engine.now(), statuses=Status.QUARANTINED, source=source),
            newest_first=newest_first,
            limit=limit,
            offset=offset,
        )

    def approve(self, seen: Memory | str, *, version: int | None = None) -> Memory:
        """Make a quarantined memory active, so it replaces the memories that it supersedes.

        If the memory is a value for a slot and became valid before the current value, it becomes
        part of the slot's history. A memory that has changed since you read it is not approved. An
        approved memory keeps its source, so it cannot become a rule or be pinned. Only people
        should call this: the quarantine does not protect an agent that can approve memories itself.

        Args:
            seen: The memory as you read it, or its id.
            version: With an id: the ``Memory.version`` that you read; None if its text never
                changed in quarantine.

        Raises:
            ChangedSince: If its version has changed or, if only an id is given, its text ever
                changed in quarantine.
            NotFound: If no memory in this namespace has this id.
            InvalidInput: If the memory was rejected or forgotten, or one of its parents is
                quarantined.
            LockedMemory: If the memory would replace a locked memory.
        """
        read = None if version is None else check_count("version", version)
        memory_id = check_id(seen.id if isinstance(seen, Memory) else seen)
        what = seen if isinstance(seen, Memory) else read
        return self._view.change(
            memory_id, lambda work: trust.approve(work, memory_id, what), verb="approve"
        )

    def approve_all(self, seen: Sequence[Memory]) -> Memories:
        """Approve several memories exactly as you reviewed them; see ``approve``.

        Each transaction approves a few hundred memories. All changes form a single run, so
        ``undo(run=...)`` reverts them together.

        Args:
            seen: The memories, as returned by ``list``.

        Returns:
            The memories in their current state.

        Raises:
            ChangedSince: If a memory has changed since you read it; memories approved in earlier
                transactions stay approved.
            NotFound: If a memory is not in this namespace.
            InvalidInput: If ``seen`` contains anything but memories, or a memory cannot be
                approved.
            LockedMemory: If a memory would replace a locked memory.
        """
        if not isinstance(seen, Sequence) or not all(isinstance(one, Memory) for one in seen):
            raise InvalidInput("seen", "must be the memories that you read, not their ids")
        for one in seen[:1]:
            self._view.known_namespace(one.id)
        rows = self._view.change_rows(
            lambda _c, _ns: [*seen],
            lambda work, some: [trust.approve(work, one.id, one) for one in some],
            verb="approve",
        )
        return Memories(map(self._view.memory, rows))

    def reject(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Forget a quarantined memory; ``restore`` returns it to quarantine.

        Raises:
            NotFound: If no memory in this namespace has this id.
            InvalidInput: If the memory is not quarantined.
        """
        return self._view.change(
            id, lambda work: trust.reject(work, id), verb="reject", makes_room=True
        )

    def forget_source(self, uri: str, *, dry_run: bool = False) -> Memories:
        """Hide a source's memories and everything derived from them; see ``restore_source``.

        As in ``forget_many``, each transaction changes a few hundred memories.

        Args:
            uri: The address, as in ``Source.uri``.
            dry_run: Only report what would be hidden.

        Returns:
            The memories that this call hides, or would hide, in order of arrival.

        Raises:
            InvalidInput: If ``uri`` is not an address.
            LockedMemory: If the user locked one of the memories; nothing is hidden.
        """
        check_flag("dry_run", dry_run)
        address = self._address(uri)
        if dry_run:
            found = self._view.ask(
                lambda c, ns: memories.by_docids(c, ns, trust.to_disown(c, ns, address))
            )
            return Memories(self._view.read([row for _, row in sorted((found or {}).items())]))
        hidden: Rows = []
        while rows := self._view.change_rows(  # derived memories may be added in the meantime
            lambda c, ns: trust.to_disown(c, ns, address),
            trust.disown,
            verb="forget_source",
            makes_room=True,
        ):
            hidden += rows
        return Memories(self._view.memory(row) for row in sorted(hidden, key=lambda row: row.docid))

    def restore_source(self, uri: str) -> Memories:
        """Undo ``forget_source``: each memory returns to its earlier status.

        Memories that were forgotten or rejected individually stay hidden.

        Raises:
            InvalidInput: If ``uri`` is not an address.
        """
        address = self._address(uri)
        rows = self._view.change_rows(
            lambda c, ns: trust.disowned(c, ns, address),
            lambda work, some: [change.restore(work, one) for one in some],
            verb="restore_source",
        )
        return Memories(self._view.memory(row) for row in rows)

    def _address(self, uri: str) -> str:
        """Return an address in the form in which it is stored."""
        checked = short_name("uri", uri, most=MAX_URI)
        return Redaction(self._view.engine.config.secrets).text("uri", checked)
