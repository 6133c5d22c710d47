"""The formats that can be read: one line each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Self
from uuid import UUID, uuid5

from memento.base.scopes import parse_scope
from memento.check import member
from memento.errors import InvalidInput
from memento.ingest.readers import (
    agents,
    chatgpt,
    conversations,
    drafts,
    mail,
    memories,
    notes,
    pages,
    slack,
    tables,
    telegram,
    unread,
    whatsapp,
)
from memento.ingest.readers.common import How
from memento.ingest.source import LINES_SUFFIXES, Head, Item, values
from memento.messages import trust_of
from memento.types import Draft, Source, Trust, TrustName

Reader = Callable[[Item, How], Iterator[Draft]]
"""Takes a file and how it is to be read; yields its drafts in order."""
Recognises = Callable[[Head], bool]


class Format(StrEnum):
    """The formats of files that can be read.

    To add a format, write a module in ``readers`` and add one line here: the name, what such a file
    is called, how it is recognised and read.

    Attributes:
        called: What a file of this format is, such as ``a ChatGPT export``.
        recognises: Tells by the beginning of a file whether it has this format. Formats are tried
            in the order of this class; the first match wins.
        reader: Reads a file of this format.
        names_all: Whether the ids in the file are unique whatever the file is called: a later
            export holds the same memories under the same ids.
    """

    called: str
    recognises: Recognises
    reader: Reader
    names_all: bool

    def __new__(
        cls, name: str, called: str, recognises: Recognises, reader: Reader, *names_all: bool
    ) -> Self:
        """Make a member from its line."""
        format_ = str.__new__(cls, name)
        format_._value_ = name
        format_.called, format_.recognises, format_.reader = called, recognises, reader
        format_.names_all = any(names_all)
        return format_

    CHATGPT = "chatgpt", "a ChatGPT export", chatgpt.is_chatgpt, chatgpt.read_chatgpt, True
    CLAUDE = "claude", "a claude.ai export", chatgpt.is_claude, chatgpt.read_claude, True
    CLAUDE_CODE = (
        "claude-code",
        "a transcript of Claude Code",
        agents.is_claude_code,
        agents.read_claude_code,
        True,
    )
    CODEX = "codex", "a transcript of Codex", agents.is_codex, agents.read_codex, True
    GEMINI = "gemini", "a transcript of Gemini CLI", agents.is_gemini, agents.read_gemini, True
    COPILOT = "copilot", "a transcript of Copilot CLI", agents.is_copilot, agents.read_copilot, True
    OPENCODE = "opencode", "sessions of opencode", agents.is_opencode, agents.read_opencode, True
    SLACK = "slack", "a Slack export", slack.is_slack, slack.read_slack, True
    TELEGRAM = "telegram", "a Telegram export", telegram.is_telegram, telegram.read_telegram, True
    WHATSAPP = "whatsapp", "a WhatsApp chat", whatsapp.is_whatsapp, whatsapp.read_whatsapp, True
    MAIL = "mail", "mail", mail.is_mail, mail.read_mail, True
    MEM0 = "mem0", "memories of mem0", memories.is_mem0, memories.read_mem0, True
    MEMPALACE = (
        "mempalace",
        "a MemPalace export",
        memories.is_mempalace,
        memories.read_mempalace,
        True,
    )
    SERVER_MEMORY = (
        "server-memory",
        "memories of the MCP server memory",
        memories.is_server_memory,
        memories.read_server_memory,
        True,
    )
    BASIC_MEMORY = (
        "basic-memory",
        "a note of basic-memory",
        notes.is_basic_memory,
        notes.read_basic_memory,
    )
    MARKDOWN = "markdown", "Markdown", notes.is_markdown, notes.read_markdown
    HTML = "html", "a web page", pages.is_html, pages.read_html
    CSV = "csv", "a table", tables.is_csv, tables.read_csv
    CHAT = "chat", "a chat", conversations.is_chat, conversations.read_chat
    SHAREGPT = "sharegpt", "ShareGPT", conversations.is_sharegpt, conversations.read_sharegpt
    LOCOMO = "locomo", "LoCoMo", conversations.is_locomo, conversations.read_locomo
    DRAFTS = "drafts", "drafts", drafts.is_drafts, drafts.read_drafts
    TRANSCRIPT = (
        "transcript",
        "a transcript",
        conversations.is_transcript,
        conversations.read_transcript,
    )
    TEXT = "text", "text", lambda head: not _is_json(head), notes.read_text


def _is_json(head: Head) -> bool:
    by_content = head.suffix == "" and bool(head.first)
    return by_content or head.suffix in {".json", *LINES_SUFFIXES}


ID_SPACE = UUID("6a1c0f9e-5d0b-5c52-9a39-0f3f4cf4b6d1")
"""Root of the name-based ids made here. Changing it would make every ingested file new again."""


def detect(path: str | Path | Item) -> Format:
    """Tell how a file is written: by its content, and where that may be anything by its name.

    Args:
        path: The file; an ending ``.gz`` is ignored. A file that no format recognises is plain
            text, unless its name or its content says that it is JSON.

    Raises:
        InvalidInput: If the file cannot be read, or is of no shape that is read; if its shape is
            known, the error says what it is and what to do instead.
    """
    item = Item.of(Path(path) if isinstance(path, str) else path)
    head, place = item.head, item.place
    named = next((one for one in Format if one.names_all and one.recognises(head)), None)
    if named is None and (said := unread.known(head)):
        raise place.error(f"is {said}")
    found = named or next((one for one in Format if one.recognises(head)), None)
    if found is None:
        for _ in values(item):
            pass  # if it is not JSON, this says where
        raise place.error(
            "is not in a known format: it is not an export that memento reads, a message or a "
            "list of messages, and it has no field `text`; map its fields with --map text=FIELD"
        )
    return found


def read(
    path: str | Path | Item,
    format: Format | str | None = None,  # noqa: A002 - the word for it
    *,
    name: str | None = None,
    scope: str = "",
    trust: Trust | TrustName = Trust.USER,
    me: str | None = None,
    map: Mapping[str, str] | None = None,  # noqa: A002 - as on the command line
) -> Iterator[Draft]:
    """Read a file into drafts, in the order of the file.

    Paragraphs and rows become facts. A heading is kept with the paragraphs under it, as
    ``metadata["heading"]`` (``"Setup > Linux"``); a heading alone makes no draft.
    Turns become episodes with their session, actor, role and time, and their own id or position
    as ``metadata["turn"]``. Messages of the system, and messages without text such as bare tool
    calls, are left out. A time without a zone is UTC; ``documents.ingest`` takes it to be in
    ``Config.timezone``.

    Args:
        path: The file, gzipped or not. For a folder, an archive or several files, see ``survey``.
        format: How it is written; None to ``detect`` it.
        name: What the source is called, in ``Source.uri`` and in the ids; None takes the name of
            the file without its folder. Give one to keep two files of the same name apart.
        scope: Scope of the drafts that name none themselves.
        trust: How far the file is trusted. Turns of the assistant or of a tool are trusted as
            theirs at most, and words of other people as an import. The source that a draft names
            can lower the trust, never raise it: a file cannot vouch for itself.
        me: Name, id or address of the user in a chat of several people; only what this person said
            is the user's.
        map: Fields of a draft to the columns of a table, or the fields of JSON records, that fill
            them: ``{"text": "body", "occurred_at": "date"}``.

    Returns:
        Drafts with ``id`` and ``source`` set.

    Raises:
        InvalidInput: If the file cannot be read, is not text, or holds a value that does not
            fit; the message names file and line (in a ``.json`` file the place within the
            value). Raised at the call, or while iterating, for errors further on in the file.
    """
    item = Item.of(Path(path) if isinstance(path, str) else path)
    how = How(me, {} if map is None else map)
    return read_item(item, format_of(item, format, how), how, name=name, scope=scope, trust=trust)


def format_of(item: Item, given: Format | str | None, how: How) -> Format:
    """Return the format of a file: the one given, that for ``how.map``, or the detected one."""
    if given is not None:
        kind = member(Format, "format", given)
        known = kind.names_all and kind.recognises(item.head)
        if not known and (said := unread.no_text(item.head)):
            raise item.place.error(f"is {said}")
    elif how.map:
        kind = Format.CSV if not _is_json(item.head) else Format.DRAFTS
    else:
        kind = detect(item)
    if how.map and kind not in (Format.CSV, Format.DRAFTS):
        raise InvalidInput(
            "map", f"applies to tables and JSON records, but {item.place.text} is {kind.called}"
        )
    return kind


def read_item(
    item: Item,
    kind: Format,
    how: How,
    *,
    name: str | None = None,
    scope: str = "",
    trust: Trust | TrustName = Trust.USER,
) -> Iterator[Draft]:
    """Read a file whose format is known, as ``read`` does."""
    item = item if name is None else replace(item, name=name)
    mapped = bool(how.map) and kind is Format.DRAFTS
    found = (tables.read_mapped if mapped else kind.reader)(item, how)
    given = member(Trust, "trust", trust)
    own = str(kind) if kind.names_all else item.plain_name
    placed = (one if one.scope else replace(one, scope=parse_scope(scope)) for one in found)
    named = _identified(placed, own, native=kind.names_all or bool(how.map))
    return (_trusted(one, given) for one in named)


def _trusted(draft: Draft, given: Trust) -> Draft:
    """Lower a draft's trust to the least of its file, its role and its own source."""
    source = draft.source
    assert isinstance(source, Source)  # noqa: S101 - every reader sets one
    least = Trust.least([given, source.kind, trust_of(draft.role)])
    return draft if least is source.kind else replace(draft, source=replace(source, kind=least))


def _identified(found: Iterable[Draft], name: str, *, native: bool) -> Iterator[Draft]:
    """Give drafts ids: made of the content if they have none, of their own id if ``native``."""
    seen: Counter[bytes] = Counter()
    for draft in found:
        if draft.id is None:
            yield replace(draft, id=_identity(draft, name, seen))
        elif native:
            own_id = json.dumps([name, draft.scope, draft.id])
            yield replace(draft, id=str(uuid5(ID_SPACE, own_id)))
        else:
            yield draft


def _identity(draft: Draft, name: str, seen: Counter[bytes]) -> str:
    """Return an id made of a draft's content and of how often the source had it before."""
    said = (draft.scope, draft.session, draft.actor, draft.role, draft.key, str(draft.kind))
    when = draft.occurred_at and draft.occurred_at.isoformat()
    content = json.dumps([name, *said, when, draft.text]).encode()
    digest = sha256(content).digest()[:16]
    seen[digest] += 1
    return str(uuid5(ID_SPACE, f"{digest.hex()} {seen[digest]}"))
