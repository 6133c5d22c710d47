"""ADK's memory service, over the namespace of each app's user.

ADK searches when a tool asks (`MementoPreloadTool`, or its own ``load_memory``), and stores when
the agent's own code says so; this module translates.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Unpack

from google.adk.events import Event
from google.adk.memory import BaseMemoryService
from google.adk.memory.base_memory_service import SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.llm_request import LlmRequest
from google.adk.sessions import Session
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from memento import Draft, Hit, MemoryManager, Trust, Turn
from memento.errors import InvalidInput
from memento.frameworks import AgentMemory, Options

_conversation: ContextVar[Session | None] = ContextVar("memento_google_adk", default=None)
"""The session that the preload tool searches for; ADK gives a service the query alone."""


class MementoPreloadTool(PreloadMemoryTool):
    """ADK's own ``PreloadMemoryTool``, which also passes the current conversation to the service.

    This allows follow-up questions to be understood and avoids repeating what the conversation
    already shows.
    """

    async def process_llm_request(
        self, *, tool_context: ToolContext, llm_request: LlmRequest
    ) -> None:
        """Add memories to a request, as ADK's tool does."""
        token = _conversation.set(tool_context.session)
        try:
            await super().process_llm_request(tool_context=tool_context, llm_request=llm_request)
        finally:
            _conversation.reset(token)


class MementoMemoryService(BaseMemoryService):
    """Lets ADK's agents remember across sessions and restarts, without a cloud or an LLM.

    Each user of an app has the namespace ``manager.of(app_name, user_id)``. Sessions can be passed
    any number of times: each event is stored once, identified by its id. Tool output is not stored.
    ADK stores nothing by itself; use a callback::

        async def keep(callback_context):
            await callback_context.add_session_to_memory()

        agent = LlmAgent(..., tools=[MementoPreloadTool()], after_agent_callback=keep)
        Runner(..., agent=agent, memory_service=MementoMemoryService(manager))

    Args:
        manager: The manager of the store to use.
        options: ``k``, ``tokens``, ``wait``, ``observe``, ``scope``, ``speaker`` and ``strict``,
            see ``memento.frameworks.AgentMemory``. ADK's memory does not support a policy; its
            tools log any error, and its agents continue.

    Raises:
        InvalidInput: If an argument is invalid.
    """

    def __init__(self, manager: MemoryManager, **options: Unpack[Options]) -> None:
        if "policy" in options:
            raise InvalidInput(
                "policy", "is not supported by ADK's memory service; add it to the instruction"
            )
        self._memory = AgentMemory(manager, namespace=_labels, **options)

    async def add_session_to_memory(self, session: Session) -> None:
        """Store the new events in a session."""
        await self._keep(session.app_name, session.user_id, session.events, session.id)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,  # noqa: ARG002 - keys of other services
    ) -> None:
        """Store events, each once."""
        await self._keep(app_name, user_id, events, session_id)

    async def _keep(
        self, app_name: str, user_id: str, events: Sequence[Event], session: str | None
    ) -> None:
        await self._memory.of((app_name, user_id)).akeep(_turns(events), session)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store single memories as statements by the agent."""
        drafts = [
            Draft(
                _text(one.content),
                actor=one.author,
                metadata={**(custom_metadata or {}), **one.custom_metadata},
                source=Trust.AGENT,
                id=one.id,
            )
            for one in memories
        ]
        with self._memory.outlived("keeping memories"):
            await asyncio.to_thread(self._view(app_name, user_id).add_many, drafts)

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Find memories from all of a user's sessions; thanks and greetings return nothing."""
        session = _conversation.get()
        hits = await self._memory.of((app_name, user_id)).afind(
            query if session is None else _turns(session.events),
            None if session is None else session.id,
        )
        return SearchMemoryResponse(memories=[_entry(hit) for hit in hits])

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Forget a memory; ``MemoryManager.restore`` brings it back.

        Raises:
            InvalidInput: If no id is given.
            NotFound: If the user has no such memory.
        """
        if memory_id is None:
            raise InvalidInput("memory_id", "is missing; specify the memory to forget")
        await asyncio.to_thread(self._view(app_name, user_id).forget, memory_id)

    def _view(self, app_name: str, user_id: str) -> MemoryManager:
        return self._memory.of((app_name, user_id)).manager


def _labels(user: tuple[str, str]) -> tuple[str, str]:
    """Return the namespace of an app's user."""
    return user


def _turns(events: Sequence[Event]) -> list[Turn]:
    """Read what the user and the agents said."""
    return [
        Turn(
            text,
            "user" if event.author == "user" else "assistant",
            event.id,
            None if event.author == "user" else event.author,
        )
        for event in events
        if not event.partial and (text := _text(event.content))
    ]


def _text(content: types.Content | None) -> str:
    """Return the words of a message, without thoughts and what tools returned."""
    parts = (content.parts if content else None) or []
    return "\n".join(part.text for part in parts if part.text and not part.thought)


def _entry(hit: Hit) -> MemoryEntry:
    """Return a hit as ADK shows it to the model: when, by whom, and what."""
    memory = hit.memory
    return MemoryEntry(
        id=hit.id,
        author="user" if memory.source.kind is Trust.USER else memory.actor or memory.source.kind,
        timestamp=memory.occurred_at.isoformat(),
        content=types.Content(role="user", parts=[types.Part(text=hit.passage or hit.text)]),
        custom_metadata={**memory.metadata},
    )
