"""The complete messages of a session, for ``RunnableWithMessageHistory``.

Each message is a memory in the short tier of its session: the newest stay in the ring buffer,
all stay in the ledger, and ``retrieve`` finds them like any other memory.
"""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import dropwhile
from typing import Any, Self
from uuid import uuid4

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, ToolMessage

from memento import Config, Draft, Kind, Memory, MemoryManager, Source, Tier
from memento.admit import Redaction
from memento.check import check_count, check_metadata, check_text, type_name
from memento.conversation import kind_of, pieces, session_of
from memento.errors import InvalidInput, MementoError, ReadOnlyStore, StoreClosed
from memento.frameworks import check_manager
from memento.status import having
from memento_langchain._parts import pack, spell
from memento_langchain._replay import LeftOut, ids_of_parts, part_id, replay, stands
from memento_langchain._turns import ID, role_of, source_of, text_of

FORMAT = "langchain-message"
PART = "langchain-message-part"
ALL = 1_000_000
"""Maximum number of messages in one session that are read."""
KEPT = having("current")
"""Tool output belongs to the conversation too, even while it is quarantined."""
PAGE = 1_000
"""Messages read at once where some of the newest are left out."""
TOLD = 5
"""Maximum number of memories that a warning names."""
FRAME = 512
"""Bytes of a part's metadata besides its share of the message."""

_log = logging.getLogger("memento.langchain")


class MementoChatMessageHistory(BaseChatMessageHistory):
    """Stores the messages of one session completely, including tool calls.

    Args:
        session_id: Name of the conversation. A name of more than 256 characters is stored in a
            shortened form.
        manager: The manager of the store to use.
        window: Number of newest messages to return, >= 1; None for all. Older messages stay on disk
            and are found by ``retrieve``. Tool results whose call is older are omitted, because no
            provider accepts them.

    Raises:
        InvalidInput: If an argument is invalid.
        StoreClosed: If the manager was closed.
        ReadOnlyStore: If the store cannot be written. It is raised on construction because
            LangChain saves in a callback, where it only logs errors.
    """

    def __init__(
        self, session_id: str, manager: MemoryManager, *, window: int | None = None
    ) -> None:
        if check_manager(manager).store.closed:
            raise StoreClosed(manager.store.root)
        if manager.store.read_only:
            raise ReadOnlyStore(
                manager.store.root, "the store is read-only and cannot store messages"
            )
        super().__init__()
        if not isinstance(session_id, str) or not session_id.strip():
            given = "empty" if isinstance(session_id, str) else type_name(session_id)
            raise InvalidInput("session_id", f"must be the name of a session, not {given}")
        self.session_id = session_of(session_id)
        self._manager = manager
        self._window = ALL if window is None else check_count("window", window, most=ALL)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # a property, as its docstring allows
        """The messages of the session, oldest first.

        Only memories written by this class are returned, and quarantined ones only if they are from
        a tool. Each memory that is left out is logged with the reason.
        """
        newest: list[BaseMessage] = []
        left_out: dict[str, str] = {}
        for page in self._pages():
            parts = self._parts_of(page)
            for head in page:
                try:
                    newest.append(replay(head, parts))
                except LeftOut as reason:
                    left_out[head.id] = str(reason)
            if len(newest) >= self._window:
                break
        self._tell(left_out)
        shown = newest[: self._window][::-1]
        return _from_a_call(shown) if len(newest) >= self._window else shown

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add either all or none of the messages; they are on disk when the call returns.

        A message of up to 64 MiB as JSON can be stored. A message that is too large for a single
        memory, or contains something that a memory cannot represent, is stored in parts and
        restored exactly. A value that is not JSON is replaced, with a warning in the log: a key by
        its ``str``, a tuple by a list, and any other value, such as a set, by its ``repr``.

        Raises:
            InvalidInput: If a message is larger than that.
            SecretFound: If one contains a secret and ``Config.secrets`` is ``"reject"``.
            StoreError: If they could not be written. This is also logged, because LangChain saves
                in a callback and does not pass errors on.
        """
        try:
            self._manager.add_many(
                [draft for message in messages for draft in self._drafts(message)]
            )
        except MementoError as error:
            _log.error(
                "%d messages in session %r were not stored: %s",
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

    def _pages(self) -> Iterator[list[Memory]]:
        """Yield pages of memories that look like messages, newest first; the first is `_window`.

        The caller skips memories of other writers, and takes further pages to make up for them.
        """
        seen: set[str] = set()  # additions meanwhile shift memories to the next page
        offset, size = 0, self._window
        while page := self._manager.list(
            session=self.session_id,
            where={"format": FORMAT},
            status=KEPT,
            newest_first=True,
            limit=size,
            offset=offset,
        ):
            yield [head for head in page if head.id not in seen]
            if len(page) < size:
                return
            seen.update(head.id for head in page)
            offset, size = offset + size, max(size, PAGE)

    def _parts_of(self, heads: Sequence[Memory]) -> dict[str, str]:
        """Return the contents of the further parts of packed messages, by id."""
        ids: list[str] = []
        for head in heads:
            with suppress(LeftOut):
                ids += ids_of_parts(head)[1:] if stands(head) else ()
        if not ids:
            return {}
        found = self._manager.list(session=self.session_id, status=KEPT, ids=ids, limit=ALL)
        return {one.id: one.metadata.get("packed", "") for one in found if stands(one)}

    def _tell(self, left_out: Mapping[str, str]) -> None:
        if not left_out:
            return
        named = [f"{name!r} {why}" for name, why in list(left_out.items())[:TOLD]]
        more = ["..."] if len(left_out) > TOLD else []
        _log.warning(
            "%d messages in session %r were left out: %s",
            len(left_out),
            self.session_id,
            "; ".join(named + more),
        )

    def _drafts(self, message: BaseMessage) -> list[Draft]:
        spelt, lost = spell(message)
        if lost:
            _log.warning(
                "a message in session %r was stored with changes: %s cannot be stored as is",
                self.session_id,
                ", ".join(lost),
            )
        text = text_of(message)
        said = text if text.strip() else _summary(spelt["data"])
        limits, metadata = self._manager.store.config.limits, {"format": FORMAT, "message": spelt}
        if isinstance(message.content, str) and text.strip():  # stored as the text of the memory
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
        config = self._manager.store.config
        packed = pack(_without_secrets(spelt, config))
        room = max(1, config.limits.metadata_bytes - FRAME)
        texts = pieces(said, config)
        count = max(len(texts), -(-len(packed) // room))
        size = -(-len(packed) // count)
        name = f"{ID}{uuid4().hex}"
        ids = [part_id(name, at) for at in range(count)]
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
                tier=Tier.SHORT if at < len(texts) else Tier.MEDIUM,  # the ring is for speech
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
            id=memory_id,  # equal messages stay separate
        )


def _from_a_call(messages: list[BaseMessage]) -> list[BaseMessage]:
    """Drop tool results at the beginning, as their calls are not included."""
    return list(dropwhile(lambda one: isinstance(one, ToolMessage), messages))


def _without_secrets(spelt: dict[str, Any], config: Config) -> dict[str, Any]:
    redacted: dict[str, Any] = json.loads(
        Redaction(config.secrets).json("message", json.dumps(spelt))
    )
    return redacted


def _summary(data: dict[str, Any]) -> str:
    """Describe in words what a message without text does."""
    calls = ", ".join(call["name"] for call in data.get("tool_calls") or ())
    return f"(calls {calls})" if calls else "(no text)"
