"""Exports of Slack: a folder for each channel with a file for each day, and ``users.json``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from html import unescape
from pathlib import PurePosixPath
from typing import Any

from memento.ingest.readers.common import How, Talk, fields, moment, word
from memento.ingest.source import Head, Item, values
from memento.types import Draft

DAY = re.compile(r"(?:.*/)?\d{4}-\d\d-\d\d\.json", re.DOTALL)
_SPOKEN = {"", "thread_broadcast", "file_share", "me_message", "bot_message", "reply_broadcast"}
"""Subtypes of messages that contain speech;
the others report joins, topics and deletions."""
_MENTION = re.compile(r"<@([A-Z0-9]+)(?:\|([^<>]*))?>")
_LINK = re.compile(
    r"<(?:[#!][^<|>]*\|([^<>]*)|!([^<|>]*)|((?:https?|mailto):[^<|>]*)(?:\|([^<>]*))?)>"
)


def is_slack(head: Head) -> bool:
    """Recognise Slack: messages have a Slack time stamp and a type."""
    known = head.records and all(
        isinstance(one, dict) and isinstance(one.get("ts"), str) and one.get("type") == "message"
        for one in head.records[:-1] or head.records
    )
    return bool(known or (DAY.fullmatch(head.name) and head.text.strip() == "[]"))


def read_slack(item: Item, how: How) -> Iterator[Draft]:
    """Read the messages of one channel and day; threads are sessions of their own."""
    place = PurePosixPath(item.name)
    root = str(place.parent.parent / "users.json")
    people = _people(item.tree.get(root) or item.tree.get("users.json"))
    channel = item.folder or place.stem
    for number, (_, value) in enumerate(values(item)):
        message = fields(value)
        if word(message.get("subtype")) not in _SPOKEN or message.get("hidden"):
            continue
        person = people.get(word(message.get("user")), {})
        own_id = word(message.get("user")) or word(message.get("bot_id"))
        names = [*_names(person), *_names(fields(message.get("user_profile")))]
        actor = next(filter(None, [*names, word(message.get("username")), own_id]), "unknown")
        stamp, thread = word(message.get("ts")), word(message.get("thread_ts"))
        session = f"slack {channel}" + (f" {thread}" if thread else "")
        bot = message.get("subtype") == "bot_message" or message.get("bot_id")
        yield from Talk(session, f"slack:{channel}", channel).message(
            _plain(word(message.get("text")), people),
            stamp or str(number),
            actor,
            mine=not bot and how.is_me(own_id, *names, fields(person.get("profile")).get("email")),
            at=moment(stamp),
            edited=bool(message.get("edited")),
        )


@lru_cache(maxsize=2)
def _people(users: Item | None) -> dict[str, Mapping[str, Any]]:
    """Return the people of an export by id; every file of the export needs them."""
    found = [fields(value) for _, value in values(users)] if users is not None else []
    return {word(one.get("id")): one for one in found}


def _names(person: Mapping[str, Any]) -> list[str]:
    """Return the names of a person, the display name first."""
    own = fields(person.get("profile")) or person
    named = (own.get("display_name"), own.get("real_name"), person.get("real_name"))
    return [name for name in map(word, (*named, person.get("name"))) if name]


def _plain(text: str, people: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a text with ids of people replaced by names, and links by what they show."""

    def mention(found: re.Match[str]) -> str:
        named = _names(people.get(found[1], {}))
        return f"@{found[2] or next(iter(named), found[1])}"

    def link(found: re.Match[str]) -> str:
        name, group, address, label = found.groups()
        if address is None:
            return f"#{name}" if name else f"@{group}"
        return f"{label} ({address})" if label and label != address else str(address)

    return unescape(_LINK.sub(link, _MENTION.sub(mention, text)))
