"""Store structured answers as text, and choose which messages to store.

With ``response_format`` an agent answers with an object: ``ToolStrategy`` leaves a message without
text, ``ProviderStrategy`` one that is JSON. Lines of names and values can be found by words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, is_dataclass
from inspect import iscoroutinefunction
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage
from pydantic import BaseModel

from memento.check import shown
from memento.errors import InvalidInput
from memento_langchain._turns import role_of, text_of

Wanted = Callable[[AnyMessage], bool]
SPEAKERS = frozenset({"user", "assistant"})
"""Roles whose messages are kept."""
ANSWER = "-answer"
"""Ending of the id of a structured answer beside the words of its message."""
_UNREADABLE = (ValueError, TypeError, RecursionError)
"""Errors of values that JSON cannot hold, and of those nested too deep; pydantic's are among them.
"""


def chosen(keep: object) -> Wanted | None:
    """Return a function that decides which messages to store, from roles or a function.

    Raises:
        InvalidInput: If it is neither, or an async function.
    """
    if keep is None:
        return None
    if callable(keep):
        if iscoroutinefunction(keep) or iscoroutinefunction(type(keep).__call__):
            # a coroutine is truthy: each message would be stored
            raise InvalidInput("keep", f"must not be async, like {shown(keep)}")
        return keep
    if isinstance(keep, Collection) and not isinstance(keep, str | bytes):
        roles = frozenset(one if isinstance(one, str) else None for one in keep)
        if roles <= SPEAKERS:
            return lambda message: role_of(message) in roles
    raise InvalidInput(
        "keep",
        f"must be a callable(message) or a list of the roles user and assistant, not {shown(keep)}",
    )


def told(response: object) -> str:
    """Format a structured answer as lines of names and values, without empty values.

    If its values cannot be formatted, use its ``str``.
    """
    try:
        fields = _fields(response)
        return str(response) if fields is None else _lines(fields)
    except _UNREADABLE:
        return str(response)


def with_words(messages: Iterable[AnyMessage]) -> Iterable[AnyMessage]:
    """Yield messages; turn answers that are one JSON object into lines, and skip textless calls.

    A call without text says nothing; as a turn it would replace what was stored for it.
    """
    for message in messages:
        if not isinstance(message, AIMessage):
            yield message
        elif (text := text_of(message).strip()) or not message.tool_calls:
            lines = _read(text)
            yield message if lines is None else message.model_copy(update={"content": lines})


def answered(messages: Iterable[AnyMessage], response: object) -> AnyMessage | None:
    """Return the model's last message with the structured answer as text; None if it has text only.

    Text beside the call that answers is a separate turn, so the answer gets another id.
    """
    last = next((one for one in reversed([*messages]) if isinstance(one, AIMessage)), None)
    if last is None or response is None:
        return None
    words = text_of(last).strip()
    if words and not last.tool_calls:
        return None
    name = f"{last.id}{ANSWER}" if words and last.id else last.id
    return last.model_copy(update={"content": told(response), "id": name})


def _fields(response: object) -> Mapping[str, Any] | None:
    if isinstance(response, BaseModel):
        return response.model_dump(mode="json")
    if is_dataclass(response) and not isinstance(response, type):
        return asdict(response)
    return response if isinstance(response, Mapping) else None


def _lines(fields: Mapping[str, Any]) -> str:
    lines = ((name, _value(value)) for name, value in fields.items())
    return "\n".join(f"{name}: {value}" for name, value in lines if value)


def _value(value: object) -> str:
    """Format a value; a list or a mapping as JSON."""
    if value is None or (isinstance(value, str | list | dict) and not value):
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _read(text: str) -> str | None:
    """Format a text that is one JSON object as lines; None for others, or if nested too deep."""
    if not (text.startswith("{") and text.endswith("}")):
        return None
    try:
        held = json.loads(text)
        return _lines(held) if isinstance(held, dict) else None
    except _UNREADABLE:
        return None
