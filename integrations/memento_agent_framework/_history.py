"""Store the complete messages of a session, each as a memory that recall can find."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Unpack

from agent_framework import AgentSession, HistoryProvider, Message

from memento import MemoryManager
from memento.frameworks import AgentMemory, RunOptions, Transcript
from memento_agent_framework._messages import turn_of

FORMAT = "agent-framework-message"
RUNNING: ContextVar[AgentSession | None] = ContextVar("memento_agent_framework", default=None)
"""The session of the run: the framework's ``get_messages`` is told its id only."""


class MementoHistoryProvider(HistoryProvider):
    """A history provider whose messages are stored in memento.

    Recall finds what the user and the agent said in this session and in any other. Tool calls and
    results are part of the conversation, but are never recalled as statements of a person.

    Args:
        manager: The manager of the store to use.
        source_id: Name of the provider in the agent.
        options: ``namespace``, a function of the ``AgentSession`` that returns labels; ``observe``,
            ``scope``, ``speaker`` and ``strict``, see ``memento.frameworks.AgentMemory``.

    Raises:
        InvalidInput: If an argument is invalid.
    """

    def __init__(
        self,
        manager: MemoryManager,
        *,
        source_id: str = "memento_history",
        **options: Unpack[RunOptions],
    ) -> None:
        super().__init__(source_id)
        self._memory = AgentMemory(manager, **options)

    async def get_messages(self, session_id: str | None, **_: Any) -> list[Message]:
        """Return the messages of a session, oldest first."""
        found = await asyncio.to_thread(self._of(session_id).read)
        return [Message.from_dict(one) for one in found]

    async def save_messages(
        self, session_id: str | None, messages: Sequence[Message], **_: Any
    ) -> None:
        """Store messages, all or none."""
        given = [(turn_of(one), one.to_dict()) for one in messages]
        await asyncio.to_thread(self._of(session_id).add, given)

    async def before_run(self, *, session: AgentSession, **run: Any) -> None:
        """Load the messages of the session."""
        with _running(session):
            await super().before_run(session=session, **run)

    async def after_run(self, *, session: AgentSession, **run: Any) -> None:
        """Store the messages of the run."""
        with _running(session):
            await super().after_run(session=session, **run)

    def _of(self, session_id: str | None) -> Transcript:
        return Transcript(self._memory.of(RUNNING.get()), session_id or "", FORMAT)


@contextmanager
def _running(session: AgentSession) -> Iterator[None]:
    before = RUNNING.set(session)
    try:
        yield
    finally:
        RUNNING.reset(before)
