"""Archive memories that nobody needs any more, and bring them back."""

from __future__ import annotations

from memento.lifecycle import archive
from memento.types import Memory
from memento.views import View


class Archive(View):
    """The verbs that set memories aside: ``MemoryManager`` has them all."""

    def archive(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Set a memory aside: it is not found any more unless somebody asks for it.

        ``retrieve(include_archived=True)`` finds it, and so does a query that names its key or an
        alias. It keeps its text and its vector. ``unarchive``, ``undo`` or a verdict that it was
        used or is right brings it back. One that is archived already stays as it is.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If it is not active.
            LockedMemory: If the user locked it.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     note = memory.add("The lift was out of order in spring", aliases=["lift"])
        ...     memory.archive(note.id).status.value
        ...     asked = memory.retrieve("spring", include_archived=True)
        ...     len(memory.retrieve("spring")), len(asked), len(memory.retrieve("lift"))
        'archived'
        (0, 1, 1)
        """
        now = self._engine.now()
        return self._change(
            id, now, lambda work: archive.archive(work, id), verb="archive", makes_room=True
        )

    def unarchive(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Bring a memory back from the archive; an active one stays as it is.

        If another memory fills its slot by now, it comes back superseded by that one.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If it is neither archived nor active.
        """
        now = self._engine.now()
        return self._change(id, now, lambda work: archive.unarchive(work, id), verb="unarchive")
