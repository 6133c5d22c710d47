"""The memory of a classic chain: recent turns, and memories about the input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self
from uuid import uuid4

from langchain_classic.base_memory import BaseMemory
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    get_buffer_string,
)
from pydantic import ConfigDict, Field, field_validator

from memento import Memory, MemoryManager, Turn
from memento.check import MAX_IDS, MAX_NAME, WAIT, check_seconds
from memento.conversation import MOST
from memento.errors import InvalidInput
from memento.prompt import TOKENS
from memento.status import having
from memento_langchain._turns import made_here, source_of, warn

NOT_INPUT = "stop"
"""An input of every chain that no prompt shows."""
ALL = 1_000_000
"""Maximum number of memories that are looked through for turns to forget."""
SPEAKERS: Mapping[str, type[BaseMessage]] = {
    "assistant": AIMessage,
    "system": SystemMessage,
    "user": HumanMessage,
}


class MementoMemory(BaseMemory):
    """Memory for ``ConversationChain``, ``LLMChain`` and similar chains that survives restarts.

    It fills one variable: first a data block with memories about the input from all sessions (see
    ``memento.prompt``), then the newest turns of this session.

    Attributes:
        manager: The manager of the store to use.
        memory_key: Name of the variable in the chain's prompt.
        input_key: The chain's input to store and to use as the query; None for all inputs, each
            preceded by its name if there are several.
        output_key: The chain's output to store; None as for ``input_key``.
        k: Maximum number of memories to recall, 1 to 1,000.
        recent: Number of the session's newest turns to show, >= 0; limited by the capacity of its
            ring buffer.
        tokens: Maximum number of tokens in the recalled block, >= 1; None for no limit. Long texts
            are shortened to the passage that is relevant to the input.
        wait: Maximum number of seconds to wait until the newest turns are available to semantic
            search, up to a day; 0 to search at once.
        return_messages: Whether to fill the variable with messages rather than with text.
        session: Name of the conversation; None for an unnamed conversation.
        human_prefix: Prefix for the user's turns in the text.
        ai_prefix: Prefix for the model's turns in the text.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    manager: MemoryManager = Field(exclude=True, repr=False)
    memory_key: str = "history"
    input_key: str | None = None
    output_key: str | None = None
    k: int = Field(default=5, ge=1, le=MOST)
    recent: int = Field(default=10, ge=0)
    tokens: int | None = Field(default=TOKENS, ge=1)
    wait: float = WAIT
    return_messages: bool = False
    session: str | None = Field(default=None, min_length=1, max_length=MAX_NAME)
    human_prefix: str = "Human"
    ai_prefix: str = "AI"

    @field_validator("wait", mode="before")
    @classmethod
    def _check_wait(cls, wait: object) -> float:
        return check_seconds("wait", wait)

    @property
    def memory_variables(self) -> list[str]:
        """The name of the variable that this memory fills."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return memories relevant to the inputs, and the newest turns.

        Raises:
            InvalidInput: If ``input_key`` is set and not among the inputs.
            StoreError: If the store cannot be read.
        """
        turns = self._turns()
        block = self._recalled(self._spoken("input_key", self.input_key, inputs), turns)
        said = [_message(memory) for memory in turns]
        if self.return_messages:
            return {self.memory_key: [*([SystemMessage(block)] if block else []), *said]}
        talk = get_buffer_string(said, self.human_prefix, self.ai_prefix)
        return {self.memory_key: "\n\n".join(part for part in (block, talk) if part)}

    def save_context(self, inputs: dict[str, Any], outputs: Mapping[str, Any]) -> None:
        """Store one turn of the user and one of the model.

        Raises:
            InvalidInput: If a configured key is not among them.
            StoreError: If it could not be written.
        """
        spoken = {
            "user": self._spoken("input_key", self.input_key, inputs),
            "assistant": self._spoken("output_key", self.output_key, outputs),
        }
        said = [Turn(text, role, id=uuid4().hex) for role, text in spoken.items()]
        self.manager.keep(said, session=self.session)

    def clear(self) -> None:
        """Forget the turns of this session that LangChain stored.

        Memories added to the session by ``add`` or the tools stay, and so do those of other
        sessions.
        """
        held = self.manager.list(session=self.session, status=having("current"), limit=ALL)
        said = [one.id for one in held if one.session == self.session and made_here(one)]
        for at in range(0, len(said), MAX_IDS):
            self.manager.forget_many(ids=said[at : at + MAX_IDS])

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Copy the settings; the copy remembers in the same place."""
        return self.model_copy()

    def _turns(self) -> list[Memory]:
        """Return the newest turns; other memories of the session are recalled as data."""
        if not self.recent:
            return []
        held = self.manager.sessions.recent(session=self.session)
        return [one for one in held if made_here(one) and _speaks_for_itself(one)][-self.recent :]

    def _recalled(self, query: str, turns: Sequence[Memory]) -> str:
        said = [Turn(one.text, one.role or "user", id=one.id) for one in turns]
        found = self.manager.recall(
            [*said, Turn(query)],
            session=self.session,
            k=self.k,
            tokens=self.tokens,
            wait=self.wait,
            filters={"without": [one.id for one in turns]},
        )
        warn(found.missing)
        return found.block

    def _spoken(self, field: str, key: str | None, values: Mapping[str, Any]) -> str:
        if key is not None:
            if key not in values:
                raise InvalidInput(field, f"{key!r} is not among {sorted(values)}")
            return str(values[key])
        own = {
            name: value
            for name, value in values.items()
            if name not in (self.memory_key, NOT_INPUT)
        }
        if len(own) == 1:
            return str(*own.values())
        return "\n".join(f"{name}: {value}" for name, value in own.items())


def _speaks_for_itself(memory: Memory) -> bool:
    """Return whether a turn has the trust of its role: an agent may have corrected the user's."""
    return memory.source.kind is source_of(memory.role or "user").kind


def _message(memory: Memory) -> BaseMessage:
    """Convert a turn to a message."""
    role = memory.role or "user"
    if role in SPEAKERS:
        return SPEAKERS[role](content=memory.text)
    return ChatMessage(content=memory.text, role=role)
