"""Lock and pin memories: what the user does not want changed, or does not want to fade."""

from __future__ import annotations

from memento.lifecycle import locks
from memento.types import LockName, Memory
from memento.views import View


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
        now = self._engine.now()
        return self._change(id, now, lambda work: locks.lock(work, id, level), verb="lock")

    def unlock(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Take the lock of a memory away, whatever its level. One without a lock stays as it is.

        The verdicts that were given while it was locked have their effect from then on.

        Raises:
            NotFound: If this namespace has no such id.
        """
        return self._change(
            id, self._engine.now(), lambda work: locks.unlock(work, id), verb="unlock"
        )

    def pin(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Let a memory never fade, like ``add(pinned=True)``; it can still be changed.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If it is not active or has expired.
            UntrustedSource: If it is not from the user.
        """
        return self._change(id, self._engine.now(), lambda work: locks.pin(work, id), verb="pin")

    def unpin(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Let a memory fade again. One that is not pinned stays as it is.

        Raises:
            NotFound: If this namespace has no such id.
        """
        return self._change(
            id, self._engine.now(), lambda work: locks.unpin(work, id), verb="unpin"
        )
