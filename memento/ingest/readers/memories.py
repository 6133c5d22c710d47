"""Memories of other systems: a model wrote or chose them, so they are trusted as the agent's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from memento.errors import InvalidInput
from memento.ingest.readers.common import How, fields, items, moment, tag, word
from memento.ingest.source import Head, Item, lines, values, whole_lines
from memento.types import Draft, Kind, Source, Trust

LINKS, CALLED = "links", "entity"
"""Metadata: names of what a memory points to, and the name by which others point to it."""
_DRAWER = re.compile(r"## (\S+)\s*")
_FIELD = re.compile(r"\| (Source|Filed|Added by) \| (.*) \|\s*")


def _fact(text: str, system: str, own_id: str, more: dict[str, Any], **given: Any) -> Draft:
    """Return the draft of a fact from another system."""
    metadata = {name: value for name, value in more.items() if value not in (None, "", [], {})}
    return Draft(
        text,
        kind=Kind.FACT,
        source=Source(Trust.AGENT, system),
        metadata=metadata,
        id=f"{system} {own_id}",
        **given,
    )


def is_mem0(head: Head) -> bool:
    """Recognise mem0: records have a ``memory``, and an id, hash or user id."""
    first = fields(next(iter(items(head.first.get("results"))), None)) or head.first
    return isinstance(first.get("memory"), str) and bool(first.keys() & {"id", "hash", "user_id"})


def read_mem0(item: Item, how: How) -> Iterator[Draft]:
    """Read the result of mem0's ``get_all``: a fact for each memory, and one for each relation.

    Raises:
        InvalidInput: If it has memories of several users, and none of them is named.
    """
    within = "results" if "results" in item.head.first else ""
    users = dict[str, None]()
    for _, value in values(item, within):
        one = fields(value)
        text, user = word(one.get("memory")).strip(), word(one.get("user_id"))
        if user and how.me is not None and not how.is_me(user):
            how.note("memories of other users were left out")
            continue
        users |= {user: None} if user else {}
        if how.me is None:
            _check_one(users)
        if text:
            names = ("user_id", "agent_id", "run_id", "categories", "metadata")
            own_id = word(one.get("id")) or word(one.get("hash")) or text
            edited = one.get("updated_at") not in (None, one.get("created_at"))
            more = {**{name: one.get(name) for name in names}, "edited": edited or None}
            at = moment(one.get("created_at"), how.zone)
            yield _fact(text, "mem0", own_id, more, occurred_at=at)
    for _, value in values(item, "relations") if "relations" in item.head.first else ():
        one = fields(value)
        user = word(one.get("user_id"))
        if user and how.me is None:
            _check_one({**users, user: None})
        if how.me is None or not user or how.is_me(user):
            ends = [word(one.get("source")), word(one.get("target") or one.get("destination"))]
            text = " ".join([ends[0], word(one.get("relationship")).replace("_", " "), ends[1]])
            if all(ends):
                yield _fact(text, "mem0", text, {LINKS: ends})


def _check_one(users: Mapping[str, None]) -> None:
    """Refuse memories of several users: a namespace is of one."""
    if len(users) > 1:
        several = " and ".join(users)
        raise InvalidInput("me", f"it has memories of several users ({several}); name one")


def is_server_memory(head: Head) -> bool:
    """Recognise the MCP server "memory": lines of entities and relations, or a graph of both."""
    first = head.first
    line = first.get("type") in ("entity", "relation") and (
        "entityType" in first or "relationType" in first
    )
    return line or first.keys() >= {"entities", "relations"}


def read_server_memory(item: Item, _how: How) -> Iterator[Draft]:
    """Read a fact for each observation of an entity, and one for each relation."""
    for node in whole_lines(item) if item.head.is_lines else _graph(item):
        if "relationType" in node:
            ends = [word(node.get("from")), word(node.get("to"))]
            text = " ".join([ends[0], word(node["relationType"]).replace("_", " "), ends[1]])
            yield _fact(text, "server-memory", text, {LINKS: ends})
            continue
        name = word(node.get("name"))
        for said in items(node.get("observations")):
            text = word(said) if isinstance(said, str) else word(fields(said).get("content"))
            if not text.strip():
                continue
            whole = text if name.casefold() in text.casefold() else f"{name}: {text}"
            more = {CALLED: name, "entity_type": word(node.get("entityType"))}
            yield _fact(whole, "server-memory", f"{name} {text}", more, aliases=tag(name))


def _graph(item: Item) -> Iterator[Mapping[str, Any]]:
    for _, value in values(item):
        whole = fields(value)
        nodes = (
            [whole]
            if "type" in whole
            else [*items(whole.get("entities")), *items(whole.get("relations"))]
        )
        yield from map(fields, nodes)


def is_mempalace(head: Head) -> bool:
    """Recognise MemPalace: a Markdown file with quoted drawers, each with a table of its origin."""
    return head.suffix == ".md" and head.text.startswith("# ") and "\n| Added by | " in head.text


def read_mempalace(item: Item, how: How) -> Iterator[Draft]:
    """Read a fact for each drawer; its wing and room become tags."""
    wing = room = drawer = ""
    quoted: list[str] = []
    about: dict[str, str] = {}
    for _, line in lines(item):
        if line.startswith("# ") and not wing:
            wing, _, room = line[2:].partition(" / ")
        elif found := _DRAWER.fullmatch(line):
            drawer, quoted, about = found[1], [], {}
        elif line.startswith(">"):
            quoted.append(line[1:].removeprefix(" "))
        elif field := _FIELD.fullmatch(line):
            about[field[1]] = "" if field[2] == "unknown" else field[2]
        elif line.strip() == "---" and drawer and "".join(quoted).strip():
            more = {"wing": wing, "room": room, "file": about.get("Source")}
            text, tags = "\n".join(quoted).strip(), (*tag(wing), *tag(room))
            at = moment(about.get("Filed"), how.zone)
            yield _fact(text, "mempalace", drawer, more, occurred_at=at, tags=tags)
            drawer = ""
