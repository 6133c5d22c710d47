"""The messages of a session, lossless, for ``RunnableWithMessageHistory``.

Each message is a memory in the short tier of its session: the newest stay in the ring buffer,
all stay in the ledger, and ``retrieve`` finds them like any other memory.
"""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self
from uuid import uuid4

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, messages_from_dict

from memento import Config, Draft, Kind, Memory, MemoryManager, Source, Status, Tier
from memento.errors import InvalidInput, MementoError, ReadOnlyStore, StoreClosed
from memento.filters import check_count
from memento.observe.admit import check_metadata, check_text, short_name
from memento.observe.redact import Redaction
from memento_langchain._parts import pack, spell, unpack
from memento_langchain._turns import ID, check_manager, kind_of, pieces, role_of, source_of

FORMAT = "langchain-message"
PART = "langchain-message-part"
ALL = 1_000_000
"""Most messages of one session that are read."""
KEPT = [Status.ACTIVE, Status.QUARANTINED]
"""What tools said belongs to a conversation, too, though nobody approved it."""
FRAME = 512
"""Bytes of a part's metadata besides its share of the message."""

_log = logging.getLogger("memento.langchain")


class MementoChatMessageHistory(BaseChatMessageHistory):
    """Keeps the messages of one session, with all they carry, tool calls included.

    Args:
        session_id: Name of the conversation, 1 to 256 characters.
        manager: Where to keep it.
        window: Return only this many newest messages, >= 1; None for all. What is left out stays
            on the disk and is found by ``retrieve``.

    Raises:
        InvalidInput: If an argument is not as described.
        StoreClosed: If the manager was closed.
        ReadOnlyStore: If the store cannot be written. Said here, since LangChain saves in a
            callback and turns any error there into a line in the log.
    """

    def __init__(
        self, session_id: str, manager: MemoryManager, *, window: int | None = None
    ) -> None:
        if check_manager(manager).closed:
            raise StoreClosed(manager.root)
        if manager.read_only:
            raise ReadOnlyStore(manager.root, "the store is read-only: it cannot keep messages")
        super().__init__()
        self.session_id = short_name("session_id", session_id)
        self._manager = manager
        self._window = ALL if window is None else check_count("window", window, most=ALL)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # a property, as its docstring allows
        """The messages of the session, oldest first."""
        heads = self._manager.list(
            session=self.session_id,
            where={"format": FORMAT},
            status=KEPT,
            newest_first=True,
            limit=self._window,
        )
        parts = self._parts_of(heads)
        spelt = [_spelt(head, parts) for head in reversed(heads)]
        if gone := spelt.count(None):
            _log.warning(
                "%d messages of session %r are left out: a part was forgotten",
                gone,
                self.session_id,
            )
        return messages_from_dict([one for one in spelt if one is not None])

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages, all or none; they are on the disk when this returns.

        Any message can be kept. One that is too large for a memory, or holds what none can, is kept
        in parts and comes back as it was. What is no JSON is replaced, with a warning in the log:
        a value such as a set by its ``repr``, a key by its ``str``, a tuple by a list.

        Raises:
            SecretFound: If one holds a secret and ``Config.secrets`` says to refuse it.
            StoreError: If they could not be written. Said in the log, too, since LangChain saves in
                a callback and passes no error on.
        """
        try:
            self._manager.add_many(
                [draft for message in messages for draft in self._drafts(message)]
            )
        except MementoError as error:
            _log.error(
                "%d messages of session %r were not kept: %s",
                len(messages),
                self.session_id,
                error,
            )
            raise

    def clear(self) -> None:
        """Hide the messages of this session; ``MemoryManager.restore`` brings one back."""
        self._manager.forget_many(session=self.session_id, where={"format": [FORMAT, PART]})

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Copy the settings; the copy keeps its messages in the same place."""
        return copy.copy(self)

    def _parts_of(self, heads: Sequence[Memory]) -> dict[str, str]:
        """Return the share of the message that each part of some packed messages holds, by id."""
        ids = [one for head in heads for one in _ids_of_parts(head)[1:]]
        if not ids:
            return {}
        found = self._manager.list(session=self.session_id, status=KEPT, ids=ids, limit=ALL)
        return {memory.id: memory.metadata["packed"] for memory in found}

    def _drafts(self, message: BaseMessage) -> list[Draft]:
        spelt, lost = spell(message)
        if lost:
            _log.warning(
                "a message of session %r is kept changed: %s cannot be kept as it is",
                self.session_id,
                ", ".join(lost),
            )
        text = str(message.text)
        said = text if text.strip() else _summary(spelt["data"])
        limits, metadata = self._manager.config.limits, {"format": FORMAT, "message": spelt}
        if isinstance(message.content, str) and text.strip():  # the text of the memory says it
            data = {name: one for name, one in spelt["data"].items() if name != "content"}
            metadata["message"] = {**spelt, "data": data}
        try:
            check_text(said, limits)
            check_metadata(metadata, limits)
        except InvalidInput:
            return list(self._in_parts(spelt, said, role_of(message), kind_of(text)))
        return [self._draft(said, role_of(message), kind_of(text), metadata, f"{ID}{uuid4().hex}")]

    def _in_parts(self, spelt: dict[str, Any], said: str, role: str, kind: Kind) -> Iterator[Draft]:
        """Pack a message into as many memories as it takes; the text is found piece by piece.

        Each names its neighbours as parents, so that erasing one erases all.
        """
        config = self._manager.config
        packed = pack(_without_secrets(spelt, config))
        room = max(1, config.limits.metadata_bytes - FRAME)
        texts = pieces(said, config)
        count = max(len(texts), -(-len(packed) // room))
        size = -(-len(packed) // count)
        name = f"{ID}{uuid4().hex}"
        ids = [_part_id(name, at) for at in range(count)]
        for at, memory_id in enumerate(ids):
            metadata = {"format": PART if at else FORMAT, "parts": count}
            metadata["packed"] = packed[at * size : (at + 1) * size]
            near = (*ids[max(0, at - 1) : at], *ids[at + 1 : at + 2])
            draft = self._draft(
                texts[at] if at < len(texts) else f"(part {at + 1} of {count} of a message)",
                role,
                kind,
                metadata,
                memory_id,
            )
            yield replace(
                draft,
                tier=Tier.SHORT if at < len(texts) else Tier.MEDIUM,  # the ring is for what is said
                source=Source(source_of(role).kind, parents=near),
            )

    def _draft(
        self, text: str, role: str, kind: Kind, metadata: Mapping[str, Any], memory_id: str
    ) -> Draft:
        return Draft(
            text,
            Tier.SHORT,
            kind=kind,
            role=role,
            source=source_of(role),
            session=self.session_id,
            metadata=metadata,
            id=memory_id,  # equal messages stay two
        )


def _without_secrets(spelt: dict[str, Any], config: Config) -> dict[str, Any]:
    redacted: dict[str, Any] = json.loads(
        Redaction(config.secrets).json("message", json.dumps(spelt))
    )
    return redacted


def _part_id(name: str, at: int) -> str:
    return f"{name}-{at}" if at else name


def _ids_of_parts(head: Memory) -> list[str]:
    return [_part_id(head.id, at) for at in range(head.metadata.get("parts", 1))]


def _spelt(head: Memory, parts: Mapping[str, str]) -> dict[str, Any] | None:
    """Spell the message of a memory; None if a part of it is gone."""
    if "packed" in head.metadata:
        known = {head.id: head.metadata["packed"], **parts}
        ids = _ids_of_parts(head)
        return unpack([known[one] for one in ids]) if known.keys() >= set(ids) else None
    spelt: dict[str, Any] = head.metadata["message"]
    spelt["data"].setdefault("content", head.text)
    return spelt


def _summary(data: dict[str, Any]) -> str:
    """Say in words what a message without text does."""
    calls = ", ".join(call["name"] for call in data.get("tool_calls") or ())
    return f"(calls {calls})" if calls else "(no text)"
