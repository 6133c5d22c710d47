"""Exports of Telegram: one chat, or all chats, which also names the user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memento.ingest.readers.common import How, Talk, fields, items, moment, word
from memento.ingest.source import Head, Item, values
from memento.types import Draft

_PERSONAL = frozenset({"saved_messages"})


def is_telegram(head: Head) -> bool:
    """Recognise Telegram: a chat with a type and messages with senders, or an export of chats."""
    first = head.first
    message = fields(next(iter(items(first.get("messages"))), None))
    one = first.keys() >= {"type", "id", "messages"} and message.keys() >= {"id", "type", "date"}
    return one or "list" in fields(first.get("chats")) or _is_empty(first)


def _is_empty(first: Mapping[str, Any]) -> bool:
    return first.keys() >= {"name", "type", "id"} and first.get("messages") == []


def read_telegram(item: Item, how: How) -> Iterator[Draft]:
    """Read the messages; only an export of all chats names the user."""
    head = item.head.first
    owner = fields(head.get("personal_information"))
    own = f"user{word(owner.get('user_id'))}" if owner.get("user_id") else ""
    if "chats" not in head:
        for _, message in values(item, "messages"):
            yield from _said(head, fields(message), how, own)
        return
    for _, chat in values(item, "chats.list"):
        for message in items(fields(chat).get("messages")):
            yield from _said(fields(chat), fields(message), how, own)


def _said(
    chat: Mapping[str, Any], message: Mapping[str, Any], how: How, own: str
) -> Iterator[Draft]:
    if message.get("type") != "message":
        return  # a service message, such as a call
    text = _text(message.get("text"))
    sender, sender_id = word(message.get("from")), word(message.get("from_id"))
    forwarded = word(message.get("forwarded_from"))
    saved = chat.get("type") in _PERSONAL
    mine = saved or (bool(own) and sender_id == own) or how.is_me(sender, sender_id)
    called = word(chat.get("name")) or ("Saved messages" if saved else "Deleted account")
    session = f"telegram {word(chat.get('id'))}"
    exact = message.get("date_unixtime")
    yield from Talk(session, f"telegram:{word(chat.get('id'))}", called).message(
        text,
        word(message.get("id")),
        forwarded or sender or "Deleted account",
        mine=mine and "forwarded_from" not in message,
        at=moment(exact) or moment(message.get("date"), how.zone),
        edited=bool(message.get("edited")),
    )


def _text(content: object) -> str:
    """Return the text of a message, which may be a list of plain and formatted parts."""
    parts = [content] if isinstance(content, str) else items(content)
    return "".join(
        part if isinstance(part, str) else word(fields(part).get("text")) for part in parts
    )
