"""Store the complete items of a conversation, each as a memory that recall can find."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Unpack, cast

from agents.items import TResponseInputItem
from agents.memory.session_settings import SessionSettings
from agents.run_context import RunContextWrapper

from memento import MemoryManager
from memento.frameworks import AgentMemory, RunOptions, Transcript
from memento_openai_agents._items import turn_of, with_their_calls

FORMAT = "openai-agents-item"


class MementoSession:
    """A ``Session`` whose conversation is stored in memento, item by item.

    Recall finds what the user and the agents said in this session and in any other. Tool calls and
    results are part of the conversation, but are never recalled as statements of a person.

    Args:
        session_id: Name of the conversation; any string.
        manager: The manager of the store to use.
        session_settings: The SDK's settings; ``limit`` is the number of newest items to load.
        options: ``namespace``, a function of the context of the run that returns labels, such as
            ``lambda context: ("acme", context.user_id)``; ``observe``, ``scope``,
            ``speaker`` and ``strict``, see ``memento.frameworks.AgentMemory``.

    Raises:
        InvalidInput: If an argument is invalid.
    """

    def __init__(
        self,
        session_id: str,
        manager: MemoryManager,
        *,
        session_settings: SessionSettings | None = None,
        **options: Unpack[RunOptions],
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings or SessionSettings()
        self._memory = AgentMemory(manager, **options)
        self._of(self._memory)

    async def get_items(
        self, limit: int | None = None, *, wrapper: RunContextWrapper[Any] | None = None
    ) -> list[TResponseInputItem]:
        """Return the newest items, oldest first; results of tools only with their calls."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        items = await asyncio.to_thread(self._in(wrapper).read, limit)
        return cast("list[TResponseInputItem]", with_their_calls(items))

    async def add_items(
        self,
        items: list[TResponseInputItem],
        *,
        wrapper: RunContextWrapper[Any] | None = None,
    ) -> None:
        """Store items, all or none."""
        given = [cast("Mapping[str, Any]", item) for item in items]
        await asyncio.to_thread(self._in(wrapper).add, [(turn_of(one), one) for one in given])

    async def pop_item(
        self, *, wrapper: RunContextWrapper[Any] | None = None
    ) -> TResponseInputItem | None:
        """Forget the newest item and return it."""
        item = await asyncio.to_thread(self._in(wrapper).pop)
        return cast("TResponseInputItem | None", item)

    async def clear_session(self, *, wrapper: RunContextWrapper[Any] | None = None) -> None:
        """Forget all items; what was learned from them stays."""
        await asyncio.to_thread(self._in(wrapper).clear)

    def _in(self, wrapper: RunContextWrapper[Any] | None) -> Transcript:
        return self._of(self._memory.of(None if wrapper is None else wrapper.context))

    def _of(self, memory: AgentMemory) -> Transcript:
        return Transcript(memory, self.session_id, FORMAT)
