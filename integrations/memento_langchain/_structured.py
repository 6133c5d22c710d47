"""Structured answers of an agent as text, and which messages are kept.

With ``response_format`` an agent answers by an object: ``ToolStrategy`` leaves a message without a
word, ``ProviderStrategy`` one that is JSON. As lines of names and values it can be found by words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage
from pydantic import BaseModel

from memento.check import shown
from memento.errors import InvalidInput
from memento_langchain._turns import role_of, text_of

Wanted = Callable[[AnyMessage], bool]
SPEAKERS = frozenset({"user", "assistant"})
"""Roles whose messages are kept."""


def chosen(keep: object) -> Wanted | None:
    """Read which messages are kept: those of some roles, or those that a function tells.

    Raises:
        InvalidInput: If it is neither.
    """
    if keep is None:
        return None
    if callable(keep):
        return keep
    if isinstance(keep, Collection) and not isinstance(keep, str | bytes) and {*keep} <= SPEAKERS:
        roles = frozenset(keep)
        return lambda message: role_of(message) in roles
    raise InvalidInput(
        "keep",
        f"must be a function of a message, or roles of user and assistant, not {shown(keep)}",
    )


def told(response: object) -> str:
    """Write a structured answer as lines of names and values; without those that are empty."""
    fields = _fields(response)
    if fields is None:
        return str(response)
    lines = ((name, _value(value)) for name, value in fields.items())
    return "\n".join(f"{name}: {value}" for name, value in lines if value)


def with_words(messages: Iterable[AnyMessage]) -> Iterable[AnyMessage]:
    """Yield messages with answers that are one JSON object as text, and without wordless calls.

    A call without a word says nothing; as a turn it would take back what was kept for it.
    """
    for message in messages:
        if not isinstance(message, AIMessage):
            yield message
        elif (text := text_of(message).strip()) or not message.tool_calls:
            held = _object(text)
            yield message if held is None else message.model_copy(update={"content": told(held)})


def answered(messages: Iterable[AnyMessage], response: object) -> AnyMessage | None:
    """Return the last message of the model with its structured answer, if it has no words."""
    last = next((one for one in reversed([*messages]) if isinstance(one, AIMessage)), None)
    if last is None or response is None or text_of(last).strip():
        return None
    return last.model_copy(update={"content": told(response)})


def _fields(response: object) -> Mapping[str, Any] | None:
    if isinstance(response, BaseModel):
        return response.model_dump(mode="json")
    if is_dataclass(response) and not isinstance(response, type):
        return asdict(response)
    return response if isinstance(response, Mapping) else None


def _value(value: object) -> str:
    """Write a value; a list or a mapping as JSON."""
    if value is None or value in ("", [], {}):
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _object(text: str) -> Mapping[str, Any] | None:
    """Read a text that is one JSON object."""
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        held = json.loads(text)
    except ValueError:
        return None
    return held if isinstance(held, dict) else None
