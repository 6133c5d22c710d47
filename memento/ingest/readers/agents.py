"""Transcripts of coding agents: what the user typed and what the agent answered.

Tool calls and results, thinking, sub-agents, system messages, and what hooks and agents add to a
message of the user are left out. A transcript may still be in use: its last line may be incomplete.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from memento.ingest.readers.common import (
    How,
    Talk,
    fields,
    items,
    moment,
    spoken,
    text_blocks,
    word,
)
from memento.ingest.source import Head, Item, values, whole_lines
from memento.types import Draft

_Lines = Iterable[Mapping[str, Any]]
_SQLITE = b"SQLite format 3\0"
_OPENCODE_TABLES = (b"CREATE TABLE `session`", b"CREATE TABLE `message`", b"CREATE TABLE `part`")
_WORDS = frozenset({"text", "input_text", "output_text"})


class _Turn(NamedTuple):
    """One turn of a transcript; ``at`` is its time as written, ``folder`` the working folder."""

    id: str
    session: str
    role: str
    text: str
    at: object
    folder: str = ""


def _reader(
    system: str, turns: Callable[[_Lines], Iterator[_Turn]], objects: Callable[[Item], _Lines]
) -> Callable[[Item, How], Iterator[Draft]]:
    def read(item: Item, _how: How) -> Iterator[Draft]:
        for turn in turns(objects(item)):
            session = turn.session or item.plain_name.rpartition("/")[2].rpartition(".")[0]
            talk = Talk(session, f"{system}:{session}", "", {"folder": turn.folder})
            talk = talk if turn.folder else Talk(session, f"{system}:{session}")
            text = spoken(turn.text)
            yield from talk.turn(text, turn.id, role=turn.role, at=moment(turn.at))

    return read


def is_claude_code(head: Head) -> bool:
    """Recognise Claude Code: lines with a session id, a UUID and a message."""
    return head.is_lines and head.any_has("sessionId", "uuid", "message")


def _claude_code(lines: _Lines) -> Iterator[_Turn]:
    for line in lines:
        role = word(line.get("type"))
        aside = any(line.get(name) for name in ("isMeta", "isCompactSummary", "isSidechain"))
        if role in ("user", "assistant") and not aside:
            text = text_blocks(fields(line.get("message")).get("content"))
            named = (word(line.get(name)) for name in ("uuid", "sessionId", "cwd"))
            own_id, session, folder = named
            yield _Turn(own_id, session, role, text, line.get("timestamp"), folder)


def is_codex(head: Head) -> bool:
    """Recognise Codex: the first line describes the session."""
    first = head.first
    old = first.keys() >= {"id", "timestamp", "instructions"}
    return head.suffix != ".json" and (first.get("type") == "session_meta" or old)


def _codex(lines: _Lines) -> Iterator[_Turn]:
    session = folder = ""
    for number, line in enumerate(lines):
        body = fields(line.get("payload")) or line  # older versions have no payload
        if not number or line.get("type") in ("session_meta", "turn_context"):
            session = session or word(body.get("id"))
            folder = word(body.get("cwd")) or folder
        if body.get("type") != "message" or body.get("role") not in ("user", "assistant"):
            continue
        more = fields(body.get("internal_chat_message_metadata_passthrough"))
        kinds = items(more.get("content_item_kinds"))
        if body["role"] == "user" and kinds and "user.text" not in kinds:
            continue  # the environment, instructions, output of hooks
        text = text_blocks(body.get("content"), _WORDS)
        own_id = word(body.get("id")) or word(line.get("timestamp")) or str(number)
        yield _Turn(own_id, session, body["role"], text, line.get("timestamp"), folder)


def is_gemini(head: Head) -> bool:
    """Recognise Gemini CLI: the first object has a session id and the hash of a project."""
    return head.first.keys() >= {"sessionId", "projectHash"}


def _gemini(lines: _Lines) -> Iterator[_Turn]:
    seen: dict[str, Mapping[str, Any]] = {}
    session = ""
    for line in lines:
        session = session or word(line.get("sessionId"))
        inner = items(fields(line.get("$set")).get("messages"))
        for one in [line, *items(line.get("messages")), *inner]:
            message = fields(one)
            if message.get("type") in ("user", "gemini") and word(message.get("id")):
                seen[word(message["id"])] = message  # repeated as it grows: the last counts
    for own_id, message in seen.items():
        role = "user" if message["type"] == "user" else "assistant"
        text = text_blocks(message.get("content"))
        yield _Turn(own_id, session, role, text, message.get("timestamp"))


def is_copilot(head: Head) -> bool:
    """Recognise Copilot CLI: lines are events, the first of them ``session.start``."""
    return head.is_lines and head.first.get("type") == "session.start"


def _copilot(lines: _Lines) -> Iterator[_Turn]:
    session = folder = ""
    for line in lines:
        data, kind = fields(line.get("data")), word(line.get("type"))
        if kind == "session.start":
            session = word(data.get("sessionId")) or word(line.get("sessionId"))
            folder = word(fields(data.get("context")).get("cwd"))
        if kind in ("user.message", "assistant.message"):
            role, text = kind.partition(".")[0], word(data.get("content"))
            yield _Turn(word(line.get("id")), session, role, text, line.get("timestamp"), folder)


def is_opencode(head: Head) -> bool:
    """Recognise opencode: its database, or what ``opencode export`` prints."""
    if head.data.startswith(_SQLITE):
        return all(table in head.data for table in _OPENCODE_TABLES)
    message = fields(next(iter(items(head.first.get("messages"))), None))
    return "info" in head.first and (
        "parts" in message or "directory" in fields(head.first["info"])
    )


def _opencode(documents: _Lines) -> Iterator[_Turn]:
    for document in documents:
        info = fields(document.get("info"))
        for one in items(document.get("messages")):
            about = fields(fields(one).get("info"))
            said = [
                part
                for part in items(fields(one).get("parts"))
                if not (fields(part).get("synthetic") or fields(part).get("ignored"))
            ]
            if about.get("role") in ("user", "assistant") and about.get("summary") is not True:
                at = fields(about.get("time")).get("created")
                own_id, session = word(about.get("id")), word(info.get("id"))
                folder = word(info.get("directory"))
                yield _Turn(own_id, session, about["role"], text_blocks(said), at, folder)


def _opencode_sessions(item: Item) -> _Lines:
    return _in_database(item) if item.head.data.startswith(_SQLITE) else _document(item)


def _in_database(item: Item) -> Iterator[Mapping[str, Any]]:
    """Yield each session of opencode's database in the form that ``opencode export`` prints.

    A copy is read, with its write-ahead log, as opencode may be running. Sub-agents are left out.
    """
    beside = (item.tree.get(f"{name}-wal") for name in (item.name, f"{item.folder}/{item.name}"))
    with TemporaryDirectory() as folder:
        copy = Path(folder, "opencode.db")
        for one, name in (
            (item, copy.name),
            (next(filter(None, beside), None), f"{copy.name}-wal"),
        ):
            if one is not None:
                with one.open() as stream, copy.with_name(name).open("wb") as file:
                    shutil.copyfileobj(stream, file)
        try:
            with closing(sqlite3.connect(copy)) as db:
                yield from _sessions_of(db)
        except (sqlite3.Error, ValueError) as error:
            problem = f"is not a readable opencode database ({error}); close opencode"
            raise item.place.error(f"{problem} and try again") from error


def _sessions_of(db: sqlite3.Connection) -> Iterator[Mapping[str, Any]]:
    sessions = "SELECT id, directory FROM session WHERE parent_id IS NULL ORDER BY id"
    for session, directory in db.execute(sessions).fetchall():
        parts: dict[str, list[Any]] = defaultdict(list)
        said = (
            "SELECT message_id, data FROM part WHERE session_id = ?"
            " AND json_extract(data, '$.type') = 'text' ORDER BY id"
        )
        for message, data in db.execute(said, (session,)):
            parts[message].append(json.loads(data))
        spoken = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
        messages = [
            {"info": {**fields(json.loads(data)), "id": own_id}, "parts": parts[own_id]}
            for own_id, data in db.execute(spoken, (session,))
        ]
        yield {"info": {"id": session, "directory": directory}, "messages": messages}


def _document(item: Item) -> Iterator[Mapping[str, Any]]:
    return (fields(value) for _, value in values(item))


def _lines_or_document(item: Item) -> _Lines:
    return whole_lines(item) if item.head.is_lines else _document(item)


read_claude_code = _reader("claude-code", _claude_code, whole_lines)
read_codex = _reader("codex", _codex, whole_lines)
read_gemini = _reader("gemini", _gemini, _lines_or_document)
read_copilot = _reader("copilot", _copilot, whole_lines)
read_opencode = _reader("opencode", _opencode, _opencode_sessions)
