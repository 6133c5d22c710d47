"""A memory store for ``strands.memory.MemoryManager``.

Strands decides when to search and when to store; this class translates. It puts what it finds, as
quoted data, into the last user message of a request, and keeps the agent's own messages clean. It
logs the errors of a store, and its agents go on.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any, Unpack
from uuid import uuid4

from strands.memory import (
    AddMessagesContext,
    ExtractionConfig,
    InjectionQueryContext,
    InvocationTrigger,
    MemoryEntry,
    MemoryInjectionConfig,
    MemoryStore,
    SearchOptions,
)
from strands.types.content import Message

from memento import MemoryManager, Trust, Turn
from memento.check import check_flag
from memento.errors import InvalidInput
from memento.frameworks import AgentMemory, Options

PLACES = 8
"""Memories that a search returns at most, by default."""
DESCRIPTION = "What the user and the agent said in earlier conversations."

_conversation: ContextVar[list[Turn] | None] = ContextVar("memento_strands", default=None)
"""The conversation that Strands searches for; it gives the search the query alone."""


class MementoStore(MemoryStore):
    """Lets a Strands agent remember across sessions and restarts.

    After each invocation, the turns of the user and the model are stored, each once. Tool output is
    not stored. Before each answer, the relevant memories of all sessions are retrieved. Pass
    ``injection`` to Strands so follow-up questions are understood and memories that the
    conversation still shows are not repeated::

        store = MementoStore(manager.of("acme", user), session="monday")
        memory = strands.memory.MemoryManager(stores=[store], injection=store.injection)
        agent = Agent(model=model, memory_manager=memory)

    A Strands agent is one conversation of one user, so give each user's agent a store with that
    user's namespace. ``await memory.flush()`` waits for turns that have not been stored yet.

    Args:
        manager: The manager of the store to use.
        name: Name of the store in Strands.
        description: Description of the store for the model, shown in the search tool.
        session: Name of the conversation; None for a new one.
        writable: Whether to store turns and what the model's tool adds; with False, it only
            recalls.
        options: ``k``, ``tokens``, ``wait``, ``observe``, ``scope`` and ``speaker`` (``agent`` if
            this agent is the tool of another), see ``memento.frameworks.AgentMemory``. Strands does
            not support a policy.

    Raises:
        InvalidInput: If an argument is invalid.
    """

    def __init__(
        self,
        manager: MemoryManager,
        name: str = "memento",
        *,
        description: str = DESCRIPTION,
        session: str | None = None,
        writable: bool = True,
        **options: Unpack[Options],
    ) -> None:
        if "policy" in options:
            raise InvalidInput("policy", "is not supported by Strands; add it to the system prompt")
        if "strict" in options:
            raise InvalidInput("strict", "has no effect, because Strands itself logs store errors")
        self._memory = AgentMemory(manager, **options)
        self.name, self.description = name, description
        self.max_search_results = options.get("k", PLACES)
        self.writable = check_flag("writable", writable)
        self.extraction = ExtractionConfig(trigger=InvocationTrigger()) if writable else None
        self._run = uuid4().hex  # Strands numbers messages anew for each agent
        self._session = session or f"strands-{self._run}"

    @property
    def injection(self) -> MemoryInjectionConfig:
        """The value for Strands' ``injection``, which searches with the whole conversation."""
        return MemoryInjectionConfig(max_entries=self.max_search_results, query=self._asked)

    def _asked(self, context: InjectionQueryContext, **_: Any) -> str | None:
        """Note the conversation, and return the user's last words."""
        turns = [Turn(text, one["role"]) for one in context.messages if (text := _text(one))]
        _conversation.set(turns)
        return next((turn.text for turn in reversed(turns) if turn.role == "user"), None)

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Find memories for a query, or for the conversation that ends with it.

        Raises:
            StoreError: If the ledger cannot be read; Strands logs it.
        """
        turns = _conversation.get() or []
        known = next((turn.text for turn in reversed(turns) if turn.role == "user"), None)
        hits = await self._memory.afind(
            turns if known == query else query,
            self._session,
            k=(options or {}).get("max_search_results"),
        )
        return [
            MemoryEntry(
                f"{hit.memory.occurred_at.date()}, said by {hit.memory.source.kind}:"
                f" {hit.passage or hit.text}",
                metadata={"id": hit.id, "score": hit.score},
            )
            for hit in hits
        ]

    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> str:
        """Store what the model's tool adds as a statement by the agent, and return its id."""
        kept = await asyncio.to_thread(
            self._memory.manager.add,
            content,
            metadata=metadata,
            session=self._session,
            source=Trust.AGENT,
        )
        return kept.id

    async def add_messages(
        self, messages: list[Message], context: AddMessagesContext | None = None
    ) -> None:
        """Store messages, each once, no matter how often Strands retries."""
        numbers = None if context is None else context.sequence_numbers
        turns = [
            Turn(
                _text(one),
                one["role"],
                None if numbers is None else f"{self._run}-{numbers[at]}",
            )
            for at, one in enumerate(messages)
        ]
        await self._memory.akeep(turns, self._session)


def _text(message: Message) -> str:
    """Return the words of a message; what tools returned in it are not the user's."""
    return "\n".join(block["text"] for block in message["content"] if "text" in block)
