"""A session that a program works on."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self, Unpack

from memento.sessions.values import TOKENS, Checkpoint, Resumption, Said, SessionInfo
from memento.types import Memory


class Keeper(Protocol):
    """The manager, as far as a session uses it; see ``memento.sessions.Sessions``."""

    def checkpoint(self, session: str, **said: Unpack[Said]) -> Checkpoint:
        """Note where the work stands."""
        ...

    def resume(self, session: str, *, tokens: int) -> Resumption | None:
        """Say where the work stands."""
        ...

    def _session_info(self, session: str) -> SessionInfo: ...

    def _end_session(
        self, session: str, outcome: str | None, summary: str | None
    ) -> Memory | None: ...

    def _leave_session(self, session: str) -> None: ...


class Named:
    """An object that stands for a session: ``checkpoint`` and ``resume`` take it for the name."""

    __slots__ = ("id",)

    def __init__(self, session: str) -> None:
        self.id = session

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r}>"


class Session(Named):
    """A session that was begun: ``memory.session(...)`` returns it.

    As a context manager it ends the session, or leaves it interrupted if an error comes out.

    Attributes:
        id: Name of the session; give it as ``session`` to ``add`` and ``keep``.
    """

    __slots__ = ("_memory",)

    def __init__(self, memory: Keeper, session: str) -> None:
        super().__init__(session)
        self._memory = memory

    @property
    def info(self) -> SessionInfo:
        """The session as it is now.

        Raises:
            InvalidInput: If nobody began it, or it was erased.
        """
        return self._memory._session_info(self.id)  # noqa: SLF001 - the other half of this class

    def checkpoint(self, **said: Unpack[Said]) -> Checkpoint:
        """Note where the work stands; see ``MemoryManager.checkpoint``."""
        return self._memory.checkpoint(self.id, **said)

    def resume(self, tokens: int = TOKENS) -> Resumption | None:
        """Say where the work stands; see ``MemoryManager.resume``."""
        return self._memory.resume(self.id, tokens=tokens)

    def end(self, outcome: str | None = None, summary: str | None = None) -> Memory | None:
        """End the session, and keep a summary of it as a memory.

        Args:
            outcome: How it ended, such as ``done`` or ``given up``.
            summary: The text to keep. None for an extract of at most 150 tokens, in the words of
                the session: what was decided and learnt, the next step noted last, and the most
                central turns of the user.

        Returns:
            The summary, an ``article`` of the long tier whose ``source.parents`` are what it
            quotes. None if the session has nothing to say, or had ended before: then nothing is
            changed.

        Raises:
            InvalidInput: If an argument cannot be accepted.
            SecretFound: As for ``add``.
            StoreError: If it could not be written.
        """
        return self._memory._end_session(self.id, outcome, summary)  # noqa: SLF001 - see above

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.end()
        else:
            self._memory._leave_session(self.id)  # noqa: SLF001 - see above
