"""Convert messages to JSON and back, whatever they contain and however large they are.

A value that no memory can hold, such as a NUL, a lone surrogate or a picture of some megabytes, is
packed: JSON that escapes every odd character, compressed, in hexadecimal, cut into parts.
"""

from __future__ import annotations

import copy
import json
import reprlib
import zlib
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, ChatMessage, message_to_dict, messages_from_dict

from memento.errors import InvalidInput

DEPTH = 100
"""Deepest nesting that is packed as it is."""
MOST_BYTES = 64 * 1024 * 1024
"""Maximum size of a message as JSON, both when packed and when unpacked; a few kB can claim to be
any number of bytes."""
UNREADABLE = (ValueError, TypeError, AttributeError, KeyError)
"""Errors that LangChain raises for a message that it cannot read."""


def spell(message: BaseMessage) -> tuple[dict[str, Any], list[str]]:
    """Serialise a message as LangChain does, and report what cannot be restored.

    Returns:
        The message, as JSON can hold it and LangChain can read it back, and where something was
        replaced: a value by its ``repr``, a key by its ``str``, a tuple by a list, or the message's
        own class by ``ChatMessage``, with what it says alone if nothing more can be read back.
    """
    for spelling, lost in ((_own, []), (_other, ["type"])):
        try:
            spelt: dict[str, Any] = _plain(spelling(message), "", lost)
            messages_from_dict([copy.deepcopy(spelt)])  # which takes apart what it is given
        except UNREADABLE:
            continue
        return spelt, lost
    bare = ChatMessage(content=str(message.text), role=message.type, id=message.id)
    return message_to_dict(bare), ["all but the text"]


def _own(message: BaseMessage) -> dict[str, Any]:
    return message_to_dict(message)


def _other(message: BaseMessage) -> dict[str, Any]:
    """Encode a message of a class that LangChain does not know."""
    return message_to_dict(
        ChatMessage(
            content=message.content,
            role=message.type,
            id=message.id,
            name=message.name,
            additional_kwargs=message.additional_kwargs,
            response_metadata=message.response_metadata,
        )
    )


def pack(spelt: dict[str, Any]) -> str:
    """Pack an encoded message into hexadecimal digits.

    No format of a secret matches these: what must not be kept has to be taken out before.

    Raises:
        InvalidInput: If it is larger than ``MOST_BYTES``, and could not be read back.
    """
    data = json.dumps(spelt).encode("ascii")
    if len(data) > MOST_BYTES:
        raise InvalidInput("message", f"{len(data):,} bytes as JSON; the limit is {MOST_BYTES:,}")
    return zlib.compress(data).hex()


def unpack(parts: Sequence[str]) -> dict[str, Any]:
    r"""Put the parts of a packed message together again.

    >>> whole = pack({"type": "human", "data": {"content": "nul \0"}})
    >>> unpack([whole[:9], whole[9:]])["data"]
    {'content': 'nul \x00'}

    Raises:
        ValueError: If they are no packed message, or one larger than ``MOST_BYTES``; no more than
            that is ever unpacked.
    """
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(bytes.fromhex("".join(parts)), MOST_BYTES)
    except zlib.error as error:
        raise ValueError(f"not packed: {error}") from error
    if not unpacking.eof:
        raise ValueError(f"truncated, or larger than {MOST_BYTES:,} bytes")
    spelt: dict[str, Any] = json.loads(data)
    return spelt


def _plain(value: Any, at: str, lost: list[str], depth: int = 0) -> Any:
    """Replace values that JSON lacks or would change, and note their places in ``lost``."""
    if isinstance(value, str | int | float | None):
        return value
    if depth < DEPTH and isinstance(value, list | tuple):
        if isinstance(value, tuple):
            lost.append(at.lstrip("."))
        return [_plain(one, f"{at}[{n}]", lost, depth + 1) for n, one in enumerate(value)]
    if depth < DEPTH and isinstance(value, dict):
        named = _named(value, at, lost)
        return {key: _plain(one, f"{at}.{key}", lost, depth + 1) for key, one in named.items()}
    lost.append(at.lstrip("."))
    return reprlib.repr(value) if depth == DEPTH else repr(value)


def _named(value: dict[Any, Any], at: str, lost: list[str]) -> dict[str, Any]:
    """Replace keys that are not strings by unique strings, and note the place in ``lost``."""
    named = {key: one for key, one in value.items() if isinstance(key, str)}
    if len(named) == len(value):
        return named
    lost.append(at.lstrip("."))
    for key, one in value.items():
        if isinstance(key, str):
            continue
        name = str(key)
        while name in named:
            name += "'"
        named[name] = one
    return named
