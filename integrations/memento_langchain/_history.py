"""The messages of a session, lossless, for ``RunnableWithMessageHistory``.

Each message is a memory in the short tier of its session: the newest stay in the ring buffer,
all stay in the ledger, and ``retrieve`` finds them like any other memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict

from memento import Draft, Memory, MemoryManager, Status, Tier
from memento.errors import InvalidInput, ReadOnlyStore, StoreClosed
from memento_langchain._turns import kind_of, role_of, source_of

FORMAT = "langchain-message"
ALL = 1_000_000
"""Most messages of one session that are read."""


class MementoChatMessageHistory(BaseChatMessageHistory):
    """Keeps the messages of one session, with all they carry, tool calls included.

    Args:
        session_id: Name of the conversation, 1 to 256 characters.
        manager: Where to keep it.
        window: Return only this many newest messages, >= 1; None for all. What is left out stays
            on the disk and is found by ``retrieve``.

    Raises:
        InvalidInput: If ``window`` is below 1.
        StoreClosed: If the manager was closed.
        ReadOnlyStore: If the store cannot be written. Said here, since LangChain saves in a
            callback and turns any error there into a line in the log.
    """

    def __init__(
        self, session_id: str, manager: MemoryManager, *, window: int | None = None
    ) -> None:
        if window is not None and window < 1:
            raise InvalidInput("window", f"must be at least 1, not {window}")
        if manager.closed:
            raise StoreClosed(manager.root)
        if manager.read_only:
            raise ReadOnlyStore(manager.root, "the store is read-only: it cannot keep messages")
        super().__init__()
        self.session_id = session_id
        self._manager = manager
        self._window = window

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # a property, as its docstring allows
        """The messages of the session, oldest first."""
        kept = self._kept(ALL if self._window is None else self._window)
        return messages_from_dict([_as_dict(memory) for memory in kept])

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages, all or none; they are on the disk when this returns.

        Raises:
            InvalidInput: If a message cannot be stored as it is: larger than the limits of the
                manager, or not JSON.
        """
        self._manager.add_many([self._draft(message) for message in messages])

    def clear(self) -> None:
        """Hide the messages of this session; ``MemoryManager.restore`` brings one back."""
        self._manager.forget_many(session=self.session_id, where={"format": FORMAT})

    def _kept(self, limit: int) -> list[Memory]:
        newest = self._manager.list(
            session=self.session_id,
            where={"format": FORMAT},
            status=[Status.ACTIVE, Status.QUARANTINED],  # what tools said belongs to it, too
            newest_first=True,
            limit=limit,
        )
        return newest[::-1]

    def _draft(self, message: BaseMessage) -> Draft:
        spelt = message_to_dict(message)
        if _plain(message):
            del spelt["data"]["content"]  # the text of the memory, not to be kept twice
        text = str(message.text)
        role = role_of(message)
        return Draft(
            text if text.strip() else _summary(spelt["data"]),
            Tier.SHORT,
            kind=kind_of(text),
            role=role,
            source=source_of(role),
            session=self.session_id,
            metadata={"format": FORMAT, "message": spelt},
            id=f"lc-{uuid4().hex}",  # equal messages stay two
        )


def _plain(message: BaseMessage) -> bool:
    return isinstance(message.content, str) and bool(message.content.strip())


def _as_dict(memory: Memory) -> dict[str, Any]:
    spelt: dict[str, Any] = memory.metadata["message"]
    spelt["data"].setdefault("content", memory.text)
    return spelt


def _summary(data: dict[str, Any]) -> str:
    """Say in words what a message without text does."""
    calls = ", ".join(call["name"] for call in data.get("tool_calls") or ())
    return f"(calls {calls})" if calls else "(no text)"
