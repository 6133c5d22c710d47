"""Convert LangChain's messages to memento's turns, and what the adapters share."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping

from langchain_core.messages import BaseMessage, ChatMessage

from memento import Memory, Source, Trust, Turn
from memento.conversation import kept_here
from memento.messages import is_made, named, trust_of, words_of

ID = "lc-"
"""Prefix of the ids of the messages of a history."""

_log = logging.getLogger("memento.langchain")
_MADE = re.compile(rf"{ID}[0-9a-f]{{32}}(-[0-9]+)?")


def role_of(message: BaseMessage) -> str:
    """Return the chat role of a message: ``user``, ``assistant``, ``tool`` ...

    Text that LangChain itself writes in the user's name, such as a summary, counts as the
    assistant's.
    """
    if is_made({"additional_kwargs": message.additional_kwargs}):
        return "assistant"
    own = getattr(message, "role", None)  # a ChatMessage, whose type says nothing
    if isinstance(own, str) and trust_of(own) is Trust.TOOL:
        return "tool"
    return named(message.role if isinstance(message, ChatMessage) else message.type)


def text_of(message: BaseMessage) -> str:
    """Return the text of a message, with each block of text on a line of its own."""
    content = message.content
    return content if isinstance(content, str) else words_of(content, "message", strict=False)


def turn_of(message: BaseMessage, *, lasting: bool) -> Turn:
    """Read a message as a turn.

    Args:
        message: The message.
        lasting: Whether its id stays the same from call to call.
    """
    return Turn(text_of(message), role_of(message), message.id if lasting else None)


def source_of(role: str) -> Source:
    """Return how far a turn is trusted, according to its speaker."""
    return Source(trust_of(role))


def made_here(memory: Memory) -> bool:
    """Return whether a class of this package wrote a memory.

    Its id alone is no proof, since an imported file chooses ids; but everything imported has a
    source URI (see ``_replay``), and what this package writes has none.
    """
    named = memory.source.uri is None and _MADE.fullmatch(memory.id) is not None
    return named or kept_here(memory)


def warn(missing: Mapping[str, str]) -> None:
    """Log what could not be searched."""
    for tier, why in missing.items():
        _log.warning("recalled without the %s tier: %s", tier, why)
