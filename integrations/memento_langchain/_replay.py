"""Turn memories back into messages, but only those that this package wrote itself.

An imported file chooses the session, the metadata and even the ids of its memories, so none of
these proves that a memory is a message of the conversation. The source does: the classes of this
package leave ``source.uri`` empty and trust each role as ``source_of`` says, while ``ingest`` and
the import of a foreign export always set ``source.uri``, and can only lower the trust.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, messages_from_dict

from memento import Memory, Status, Trust
from memento.messages import is_made
from memento.status import having
from memento_langchain._parts import UNREADABLE, unpack
from memento_langchain._turns import made_here, source_of

MOST_PARTS = 1_000_000
"""Maximum number of memories that one message is kept in."""


class LeftOut(Exception):
    """A memory that looks like a message is not replayed; the message says why."""


def stands(memory: Memory) -> bool:
    """Return whether a memory is part of the conversation.

    Tool results are quarantined by default, but still belong to the conversation.
    """
    if not made_here(memory):
        return False
    heard = memory.status is Status.QUARANTINED and memory.source.kind is Trust.TOOL
    return heard or memory.status in having("found")


def replay(head: Memory, parts: Mapping[str, str]) -> BaseMessage:
    """Read the message that a memory contains, including parts stored in other memories.

    Args:
        head: A memory, which somebody else may have written.
        parts: The part of a packed message in each further memory, by id.

    Raises:
        LeftOut: If it is not a message of the conversation, or cannot be read.
    """
    if not stands(head):
        raise LeftOut("is quarantined" if made_here(head) else "was not written by this class")
    try:
        spelt = _spelt(head, parts)
        (message,) = messages_from_dict([spelt])
        trusted = head.source.kind in _trusts_of(spelt)
    except (*UNREADABLE, RecursionError) as error:
        raise LeftOut(f"cannot be read ({type(error).__name__})") from error
    if not trusted:
        raise LeftOut(f"is a message of type {spelt['type']}, but comes from {head.source.kind}")
    return message


def ids_of_parts(head: Memory) -> list[str]:
    """Return the ids of all memories that contain a message.

    Raises:
        LeftOut: If their number is not valid.
    """
    count = head.metadata.get("parts", 1)
    if type(count) is not int or not 1 <= count <= MOST_PARTS:
        raise LeftOut("cannot be read (parts)")
    return [part_id(head.id, at) for at in range(count)]


def part_id(name: str, at: int) -> str:
    """Return the id of one of the memories that contain a message."""
    return f"{name}-{at}" if at else name


def _spelt(head: Memory, parts: Mapping[str, str]) -> dict[str, Any]:
    if "packed" in head.metadata:
        known, ids = {**parts, head.id: head.metadata["packed"]}, ids_of_parts(head)
        if not known.keys() >= set(ids):
            raise LeftOut("is missing a part that was forgotten")
        return unpack([known[one] for one in ids])
    spelt: dict[str, Any] = head.metadata["message"]
    return {**spelt, "data": {"content": head.text, **spelt["data"]}}


def _trusts_of(spelt: Mapping[str, Any]) -> Sequence[Trust]:
    """Return the trust classes that a memory of such a message can have.

    A message of a class that LangChain does not know is encoded as one of type ``chat`` whose role
    is its type. An earlier version trusted messages of type ``function`` like the model's.
    """
    types = [spelt["type"], spelt["data"]["role"]] if spelt["type"] == "chat" else [spelt["type"]]
    if is_made(spelt["data"]):
        types = ["ai"]
    trusts = [Trust(source_of(one).kind) for one in types]
    return [*trusts, Trust.AGENT] if spelt["type"] == "function" else trusts
