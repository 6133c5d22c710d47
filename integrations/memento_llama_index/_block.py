"""A block of LlamaIndex's memory that recalls, and stores what is said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from pydantic import PrivateAttr

from memento import MemoryManager, Turn
from memento.check import check_flag
from memento.frameworks import AgentMemory, Options

SESSION = "session_id"
"""Where LlamaIndex puts the conversation of a message that leaves its short-term memory."""


class MementoBlock(BaseMemoryBlock[str]):
    """A memory block that recalls what is relevant to the user's last message.

    Whenever the memory is read for a model, the block stores the turns of the user and the agent so
    far, each once, and returns memories from all sessions as text. The agent's last answer is
    stored when the memory is read for the next message, or when it leaves the short-term memory.

    ``Memory`` puts blocks into the system message unless ``insert_method="user"`` is given: then
    everything before the user's last message stays the same, and providers can cache it. A block
    belongs to one user: pass ``manager.of("acme", user)``.

    Args:
        manager: The manager of the store to use, for one user.
        name: Name of the block in the memory.
        description: Description of the block.
        priority: 0 to never shorten the block, or how early LlamaIndex shortens it if the memory
            exceeds its ``token_limit``; the last memories are dropped first.
        save: Whether to store the conversation; with False, it only recalls.
        options: ``k``, ``tokens``, ``wait``, ``policy``, ``observe``, ``scope``,
            ``speaker`` and ``strict``, see ``memento.frameworks.AgentMemory``.

    Raises:
        InvalidInput: If an argument is invalid.
    """

    _memory: AgentMemory = PrivateAttr()
    _save: bool = PrivateAttr()

    def __init__(
        self,
        manager: MemoryManager,
        *,
        name: str = "memento",
        description: str | None = None,
        priority: int = 0,
        save: bool = True,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(name=name, description=description, priority=priority)
        self._memory = AgentMemory(manager, **options)
        self._save = check_flag("save", save)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return the block without its last memories; None if none would be left."""
        lines, left = content.split("\n"), 4 * tokens_to_truncate  # characters, as estimated
        records = [at for at, line in enumerate(lines) if line.startswith("{")]
        while records and left > 0:
            left -= len(lines.pop(records.pop()))
        return "\n".join(lines) if records else None

    async def _aget(
        self,
        messages: Sequence[ChatMessage] | None = None,
        session_id: str | None = None,
        **_: Any,
    ) -> str:
        turns = [_turn_of(one) for one in messages or ()]
        given = await self._memory.arecall(turns, session_id)
        if self._save:
            await self._memory.akeep(turns, session_id)
        return "\n\n".join(text for text in (given.head, given.block) if text)

    async def _aput(self, messages: Sequence[ChatMessage]) -> None:
        if self._save:
            session = next((one.additional_kwargs.get(SESSION) for one in messages), None)
            await self._memory.akeep(map(_turn_of, messages), session)


def _turn_of(message: ChatMessage) -> Turn:
    return Turn(message.content or "", message.role.value)
