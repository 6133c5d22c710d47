"""Messages into JSON and back, whatever they hold and however large they are.

What no memory can hold as it is, such as a NUL, a lone surrogate or a picture of some megabytes,
is packed: JSON that escapes every odd character, compressed, in hexadecimal, cut into parts.
"""

from __future__ import annotations

import json
import reprlib
import zlib
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage, ChatMessage, message_to_dict, messages_from_dict

DEPTH = 100
"""Deepest nesting that is packed as it is."""


def spell(message: BaseMessage) -> tuple[dict[str, Any], list[str]]:
    """Spell a message as LangChain does, and say what of it does not come back.

    Returns:
        The message, and where something was replaced by its ``repr``, or the message's own class by
        ``ChatMessage``; nothing is, if LangChain can read the spelling and JSON can hold it.
    """
    spelt = message_to_dict(message)
    lost: list[str] = []
    try:
        messages_from_dict([spelt])
    except ValueError:  # a class LangChain does not know
        lost.append("type")
        other = ChatMessage(
            content=message.content,
            role=message.type,
            id=message.id,
            name=message.name,
            additional_kwargs=message.additional_kwargs,
            response_metadata=message.response_metadata,
        )
        spelt = message_to_dict(other)
    return _plain(spelt, "", lost), lost


def pack(spelt: dict[str, Any]) -> str:
    """Pack a spelt message into hexadecimal digits.

    No format of a secret matches these: what must not be kept has to be taken out before.
    """
    return zlib.compress(json.dumps(spelt).encode("ascii")).hex()


def unpack(parts: Sequence[str]) -> dict[str, Any]:
    r"""Put the parts of a packed message together again.

    >>> whole = pack({"type": "human", "data": {"content": "nul \0"}})
    >>> unpack([whole[:9], whole[9:]])["data"]
    {'content': 'nul \x00'}
    """
    spelt: dict[str, Any] = json.loads(zlib.decompress(bytes.fromhex("".join(parts))))
    return spelt


def _plain(value: Any, at: str, lost: list[str], depth: int = 0) -> Any:
    """Replace what JSON does not know by its ``repr``, and note where it stood."""
    if isinstance(value, str | int | float | None):
        return value
    if depth < DEPTH and isinstance(value, list | tuple):
        return [_plain(one, f"{at}[{n}]", lost, depth + 1) for n, one in enumerate(value)]
    if depth < DEPTH and isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(one, f"{at}.{key}", lost, depth + 1) for key, one in value.items()}
    lost.append(at.lstrip("."))
    return reprlib.repr(value) if depth == DEPTH else repr(value)
