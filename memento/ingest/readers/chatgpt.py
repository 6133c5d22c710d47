"""Exports of ChatGPT and of claude.ai: conversations of the user with a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memento.ingest.readers.common import How, Talk, fields, items, moment, text_blocks, word
from memento.ingest.source import Head, Item, values
from memento.types import Draft

_SPOKEN = frozenset({"text", "multimodal_text"})
_ROLES = {"human": "user", "user": "user", "assistant": "assistant"}


def is_chatgpt(head: Head) -> bool:
    """Recognise ChatGPT: conversations are trees of nodes, with the one that was shown last."""
    return any(isinstance(fields(one).get("mapping"), dict) for one in head.records)


def read_chatgpt(item: Item, _how: How) -> Iterator[Draft]:
    """Read the branch of each conversation that the user saw last."""
    for _, value in values(item):
        talk = fields(value)
        own_id = word(talk.get("conversation_id")) or word(talk.get("id"))
        session = own_id or f"{word(talk.get('title'))} {word(talk.get('create_time'))}".strip()
        told = Talk(session, f"chatgpt:{session}", word(talk.get("title")))
        for node, message in _branch(talk):
            yield from _said(told, node, message, talk.get("create_time"))


def _branch(talk: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the (node, message) pairs of the current branch, the first first."""
    tree = fields(talk.get("mapping"))
    node = talk.get("current_node")
    at = node if node in tree else _newest_leaf(tree)
    found: dict[str, Mapping[str, Any]] = {}
    while isinstance(at, str) and at in tree and at not in found:
        found[at] = fields(fields(tree[at]).get("message"))
        at = fields(tree[at]).get("parent")
    return [*found.items()][::-1]


def _newest_leaf(tree: Mapping[str, Any]) -> str | None:
    parents = {word(fields(node).get("parent")) for node in tree.values()}
    times = {
        name: moment(fields(fields(node).get("message")).get("create_time"))
        for name, node in tree.items()
        if name not in parents
    }
    dated = {name: at for name, at in times.items() if at is not None}
    return max(dated, key=dated.__getitem__) if dated else next(reversed(times), None)


def _said(talk: Talk, node: str, message: Mapping[str, Any], began: object) -> Iterator[Draft]:
    author, content = fields(message.get("author")), fields(message.get("content"))
    more = fields(message.get("metadata"))
    role = _ROLES.get(word(author.get("role")))
    hidden = more.get("is_visually_hidden_from_conversation")
    shown = message.get("recipient") in (None, "all")  # other content is a tool call
    if role is None or hidden or not shown or content.get("content_type") not in _SPOKEN:
        return
    parts = [_part(part) for part in items(content.get("parts"))]
    text = "\n".join(part for part in parts if part) or word(content.get("text"))
    attached = [word(fields(one).get("name")) for one in items(more.get("attachments"))]
    at = moment(message.get("create_time")) or moment(began)
    own_id = word(message.get("id")) or node
    yield from talk.turn(text, own_id, role=role, at=at, attachments=attached)


def _part(part: object) -> str:
    """Return the text of a part: written, or the transcript of speech."""
    spoken = fields(part).get("content_type") == "audio_transcription"
    return part if isinstance(part, str) else word(fields(part).get("text")) if spoken else ""


def is_claude(head: Head) -> bool:
    """Recognise claude.ai: conversations have a list ``chat_messages``."""
    return head.any_has("chat_messages")


def read_claude(item: Item, _how: How) -> Iterator[Draft]:
    """Read each conversation, without the text of attached files, which the user did not write."""
    for _, value in values(item):
        chat = fields(value)
        session = word(chat.get("uuid")) or f"{word(chat.get('name'))} {chat.get('created_at')}"
        talk = Talk(session, f"claude:{session}", word(chat.get("name")))
        for number, one in enumerate(items(chat.get("chat_messages"))):
            message = fields(one)
            role = _ROLES.get(word(message.get("sender")))
            if role is None:
                continue
            files = [*items(message.get("attachments")), *items(message.get("files"))]
            yield from talk.turn(
                text_blocks(message.get("content")) or word(message.get("text")),
                word(message.get("uuid")) or str(number),
                role=role,
                at=moment(message.get("created_at")) or moment(chat.get("created_at")),
                attachments=[word(fields(file).get("file_name")) for file in files],
            )
