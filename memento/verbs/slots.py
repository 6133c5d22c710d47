"""Lock and pin memories: what the user does not want changed, or does not want to fade."""

from __future__ import annotations

from datetime import datetime
from typing import overload

from memento.check import check_flag, check_id, check_moment, short_name
from memento.errors import AmbiguousId, InvalidInput, NotFound
from memento.ledger import memories, past, slot_rows
from memento.ledger.filters import check_known_at
from memento.types import LockName, Memory, SlotValue, Version
from memento.upkeep import lineage
from memento.views import View
from memento.write import locks, slots

Versions = list[Version]
SlotValues = list[SlotValue]
"""Named here, because inside some classes ``list`` is a method."""
SHORTEST_ID = 6
"""Least number of characters of an id that stand for the whole id."""


class Locks(View):
    """The verbs that protect memories: ``MemoryManager`` has them all.

    They are for people and the program, not for an agent: no adapter hands them to a model.
    """

    def lock(self, id: str, level: LockName = "user") -> Memory:  # noqa: A002 - the field's own name
        """Lock a memory, so that nothing changes it until ``unlock``.

        A memory with the lock ``user`` is not updated, forgotten, moved or replaced: the call
        raises ``LockedMemory`` and writes nothing. Verdicts on it are kept and have no effect while
        it is locked, and it loses its expiry. ``store.erase`` removes it all the same, and its
        receipt says so. One with the lock ``promoted`` may be changed, but replaced by the user
        only; it loses the lock when two verdicts of different days or sources say it is wrong.

        At most 100 memories of a namespace can have the lock ``user``;
        ``store.stats().trouble`` has a warning from 80 on.

        Args:
            id: Id of an active memory that the user said.
            level: ``user`` or ``promoted``.

        Returns:
            The memory as it is now.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If it is not active or has expired, or there is no such level.
            UntrustedSource: If it is not from the user.
            TooManyLocks: If 100 are locked already.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> from memento.errors import LockedMemory
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     rule = memory.add("Never deploy on a Friday", kind="rule", key="deploy/when")
        ...     memory.lock(rule.id).lock
        ...     try:
        ...         memory.add("Deploy whenever you like", kind="rule", key="deploy/when")
        ...     except LockedMemory as error:
        ...         error.memory_id == rule.id, memory.value("deploy/when").text
        'user'
        (True, 'Never deploy on a Friday')
        """
        return self._change(id, lambda work: locks.lock(work, id, level), verb="lock")

    def unlock(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Take the lock of a memory away, whatever its level. One without a lock stays as it is.

        The verdicts that were given while it was locked have their effect from then on.

        Raises:
            NotFound: If this namespace has no such id.
        """
        return self._change(id, lambda work: locks.unlock(work, id), verb="unlock")

    def pin(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Let a memory never fade, like ``add(pinned=True)``; it can still be changed.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If it is not active or has expired.
            UntrustedSource: If it is not from the user.
        """
        return self._change(id, lambda work: locks.pin(work, id), verb="pin")

    def unpin(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Let a memory fade again. One that is not pinned stays as it is.

        Raises:
            NotFound: If this namespace has no such id.
        """
        return self._change(id, lambda work: locks.unpin(work, id), verb="unpin")


class Slots(View):
    """Verbs of the manager that read slots and the history of memories."""

    def value(
        self,
        key: str,
        *,
        scope: str = "",
        as_of: datetime | None = None,
        known_at: datetime | None = None,
    ) -> Memory | None:
        """Return the memory that holds a slot.

        A value that was told for a later moment (``occurred_at``) holds the slot only from then on;
        until then it is the value before, although that is already superseded.

        Args:
            key: The slot, such as ``user/editor``.
            scope: Scope of the slot, exactly; outer scopes are not looked at.
            as_of: The moment at which it must hold, with a time zone; None for now. For another
                moment, the memory has the text that it had then.
            known_at: The value that this call would have returned at this moment, as it was
                recorded; see ``retrieve``.

        Returns:
            The memory; None if nothing holds the slot. A forgotten, quarantined or expired memory
            does not hold a slot, at any moment.

        Raises:
            InvalidInput: If an argument cannot be accepted.
            StoreUnusable: If the memory is damaged.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     vim = memory.add("Rami uses Vim", key="rami/editor")
        ...     helix = memory.add("Rami uses Helix", key="rami/editor")
        ...     memory.value("rami/editor").text, memory.value("rami/shell")
        ('Rami uses Helix', None)
        """
        slot = self._slot(key, scope)
        now = self._engine.now()
        moment = None if as_of is None else check_moment("as_of", as_of)
        known = check_known_at(known_at, now)
        found = self._ask(lambda c, ns: past.value(c, ns, slot, moment, known, now=now))
        return None if found is None else self._memory(found)

    @overload
    def history(self, id: str, *, chain: bool = False) -> Versions: ...

    @overload
    def history(self, *, key: str, scope: str = "") -> SlotValues: ...

    def history(
        self,
        id: str | None = None,  # noqa: A002 - the field's own name
        *,
        key: str | None = None,
        scope: str = "",
        chain: bool = False,
    ) -> Versions | SlotValues:
        """Return every state of a memory, or every value of a slot.

        Args:
            id: Id of a memory, whatever its status.
            key: A slot, instead of an id.
            scope: Scope of the slot, exactly.
            chain: For an id: whether to return also the states of what superseded the memory, of
                what it superseded, and so on, memory by memory, the oldest first.

        Returns:
            For an id, the states of that memory, oldest first; the last is the present one. For a
            key, the values of the slot in the order in which they began to be valid, each with the
            time in which it held and why it ended; see ``SlotValue``. Forgotten, quarantined and
            expired memories are left out.

        Raises:
            NotFound: If this namespace has no such id. A slot without values has an empty history.
            InvalidInput: If not exactly one of ``id`` and ``key`` is given, or ``scope`` without
                ``key``, or ``chain`` with it.
            StoreUnusable: If a state or a value is damaged.
        """
        if (id is None) == (key is None):
            raise InvalidInput("id", "give either the id of a memory or key= of a slot")
        check_flag("chain", chain)
        if key is not None:
            if chain:
                raise InvalidInput("chain", "is for an id; a key has all values of its slot")
            slot, now = self._slot(key, scope), self._engine.now()
            return self._values(lambda c, ns: slot_rows.values(c, ns, slot, now))
        if scope != "":
            raise InvalidInput("scope", "is for a key; an id needs none")
        memory_id = check_id(id)
        ns = self._known_namespace(memory_id)
        return lineage.history(self._engine.ledger, ns, memory_id, chain=chain)

    def revert(self, key: str, *, scope: str = "") -> Memory:
        """Let the value that a slot had before hold again, from now on.

        It is added as a new memory with the fields of that value, and ``source.parents`` names it.
        The present value, or a planned one, is superseded and stays in the history. So the history
        keeps what held when, and reverting again brings the other value back.

        The value before is the newest one that held and says something else than the present one.
        If the present value was forgotten or has expired, it is the newest one that held.

        Args:
            key: The slot, such as ``user/editor``.
            scope: Scope of the slot, exactly.

        Returns:
            The memory that holds the slot now.

        Raises:
            InvalidInput: If no earlier value is left, or it was valid only until a past moment.
            LockedMemory: If the present value is locked.
            StoreUnusable: If the value before is damaged.
            StoreError: If it could not be written.
        """
        slot = self._slot(key, scope)
        if (ns := self._ns) is None:
            raise slots.nothing_before(*slot)
        (row,) = self._change_together(ns, lambda work: [slots.revert(work, *slot)], verb="revert")
        self._engine.background.words.fresh.add(ns)
        return self._memory(row)

    def full_id(self, short: str) -> str:
        """Return the whole id for the first or the last characters of one.

        The ids that memento makes begin with the time, so that memories of one day begin alike; the
        last characters tell them apart sooner.

        Args:
            short: An id, or at least 6 characters from its start or its end.

        Raises:
            NotFound: If no id of this namespace is, begins or ends like this.
            AmbiguousId: If several do.
            InvalidInput: If it is not an id.
        """
        part = check_id(short)
        ns = self._known_namespace(part)
        found = self._engine.ledger.read(
            lambda c: memories.ids_like(c, ns, part, least=SHORTEST_ID)
        )
        if not found:
            raise NotFound(part)
        if len(found) > 1:
            raise AmbiguousId(part, found)
        return found[0]

    def _slot(self, key: str, scope: str) -> tuple[str, str]:
        """Accept the key and the scope of a slot."""
        return short_name("key", key), self._present_scope(scope)
