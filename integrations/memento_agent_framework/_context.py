"""Recall for each call of the model, and store what is said."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Unpack

from agent_framework import (
    AgentSession,
    ChatContext,
    ChatMiddleware,
    ContextProvider,
    HistoryProvider,
    Message,
    SessionContext,
    SupportsAgentRun,
)

from memento import MemoryManager
from memento.check import check_flag
from memento.frameworks import AgentMemory, RunOptions
from memento_agent_framework._history import MementoHistoryProvider
from memento_agent_framework._messages import turn_of

OURS = "memento"
"""Property of the message that holds what is remembered."""


class MementoContextProvider(ContextProvider):
    """A context provider that recalls before each model call and stores the conversation.

    The memories that are relevant to the user's last message are added after it as a data message,
    for this call only: no history provider stores it, and everything before it stays the same, so
    services can cache it. After a run, the turns of the user and the agent are stored, each once,
    unless a ``MementoHistoryProvider`` of the agent does so.

    Args:
        manager: The manager of the store to use.
        source_id: Name of the provider in the agent.
        save: Whether to store the conversation; with False, it only recalls.
        options: ``namespace``, a function of the ``AgentSession`` that returns labels, such as
            ``lambda session: ("acme", session.state["user"])``; ``k``, ``tokens``, ``wait``,
            ``policy`` (its head ends the instructions), ``observe``, ``scope``, ``speaker``
            and ``strict``, see ``memento.frameworks.AgentMemory``.

    Raises:
        InvalidInput: If an argument is invalid.
    """

    def __init__(
        self,
        manager: MemoryManager,
        *,
        source_id: str = OURS,
        save: bool = True,
        **options: Unpack[RunOptions],
    ) -> None:
        super().__init__(source_id)
        self._save = check_flag("save", save)
        self._memory = AgentMemory(manager, **options)

    async def before_run(self, *, session: AgentSession, context: SessionContext, **_: Any) -> None:
        """Add the policy's head to the instructions, and have each call of the model recall."""
        memory = self._memory.of(session)
        given = await memory.arecall([], session.session_id)
        if given.head:
            context.extend_instructions(self.source_id, given.head)
        context.extend_middleware(self.source_id, [_Recalling(memory, session.session_id)])

    async def after_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        **_: Any,
    ) -> None:
        """Store what the user and the agent said."""
        providers = getattr(agent, "context_providers", ())
        if not self._save or any(isinstance(one, MementoHistoryProvider) for one in providers):
            return
        histories = {one.source_id for one in providers if isinstance(one, HistoryProvider)}
        said = context.get_messages(sources=histories, include_input=True, include_response=True)
        await self._memory.of(session).akeep(map(turn_of, said), session.session_id)


class _Recalling(ChatMiddleware):
    """Middleware that adds recalled memories after the user's last message of a request."""

    def __init__(self, memory: AgentMemory, session: str) -> None:
        self._memory, self._session = memory, session

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Recall, then call the service."""
        messages = [one for one in context.messages if OURS not in one.additional_properties]
        turns = [turn_of(one) for one in messages]
        given = await self._memory.arecall(turns, self._session)
        if given.block:
            last = max(at for at, turn in enumerate(turns) if turn.role == "user")
            block = Message("user", [given.block], additional_properties={OURS: True})
            messages.insert(last + 1, block)
        context.messages = messages
        await call_next()
