"""The formats that can be read: one line each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any, Self
from uuid import UUID, uuid5

from memento.base.scopes import parse_scope
from memento.check import member
from memento.ingest.conversations import read_chat, read_locomo, read_sharegpt
from memento.ingest.drafts import read_drafts
from memento.ingest.pages import read_csv, read_html
from memento.ingest.paragraphs import read_markdown, read_text
from memento.ingest.source import JSON_SUFFIXES, FilePlace, is_message, plain_name, values
from memento.messages import trust_of
from memento.types import Draft, Source, Trust, TrustName

Reader = Callable[[Path, str], Iterator[Draft]]
"""Takes a file and the name of its source; yields its drafts in order."""


class Format(StrEnum):
    """The formats of files that can be read.

    To add a format, write a function that reads it and add one line here: its name, that function,
    and how it is recognised.

    Attributes:
        reader: Reads a file of this format.
        marks: Fields of a JSON record, each of which tells that it has this format. Formats are
            tried in the order of this class, so an earlier one wins.
        suffixes: Endings of file names, in lower case, that tell that a file has this format.
    """

    reader: Reader
    marks: tuple[str, ...]
    suffixes: tuple[str, ...]

    def __new__(
        cls, name: str, reader: Reader, marks: tuple[str, ...] = (), suffixes: tuple[str, ...] = ()
    ) -> Self:
        """Make a format of its line."""
        format_ = str.__new__(cls, name)
        format_._value_ = name
        format_.reader, format_.marks, format_.suffixes = reader, marks, suffixes
        return format_

    TEXT = "text", read_text
    MARKDOWN = "markdown", read_markdown, (), (".md", ".markdown")
    HTML = "html", read_html, (), (".html", ".htm", ".xhtml")
    CSV = "csv", read_csv, (), (".csv", ".tsv")
    CHAT = "chat", read_chat, ("messages",)
    SHAREGPT = "sharegpt", read_sharegpt, ("conversations",)
    LOCOMO = "locomo", read_locomo, ("conversation", "session_1")
    DRAFTS = "drafts", read_drafts, ("text",)


ID_SPACE = UUID("6a1c0f9e-5d0b-5c52-9a39-0f3f4cf4b6d1")
"""Root of the name-based ids made here. Changing it would make every ingested file new again."""


def detect(path: str | Path) -> Format:
    """Tell how a file is written, by its suffix and, for JSON, by its first value.

    Args:
        path: The file; an ending ``.gz`` is ignored. A file whose suffix belongs to no format is
            read as plain text.

    Raises:
        InvalidInput: If the file cannot be read, or its JSON is of no known shape.
    """
    suffix = Path(plain_name(Path(path))).suffix.lower()
    if suffix not in JSON_SUFFIXES:
        return next((one for one in Format if suffix in one.suffixes), Format.TEXT)
    first = next(values(Path(path)), None)
    return Format.DRAFTS if first is None else _shape(*first)


def read(
    path: str | Path,
    format: Format | str | None = None,  # noqa: A002 - the word for it
    *,
    name: str | None = None,
    scope: str = "",
    trust: Trust | TrustName = Trust.USER,
) -> Iterator[Draft]:
    """Read a file into drafts, in the order of the file.

    Paragraphs become facts of a session named after the file, so that each is also found by its
    neighbours. A heading is kept with the paragraphs under it, as ``metadata["heading"]``
    (``"Setup > Linux"``) and as a tag; a heading alone makes no draft.
    Turns become episodes with their session, actor, role and time, and their own id or position
    as ``metadata["turn"]``. Messages of the system, and messages without text such as bare tool
    calls, are left out. A time without a zone is UTC.

    Args:
        path: The file, gzipped or not.
        format: How it is written; None to ``detect`` it.
        name: What the source is called, in ``Source.uri`` and in the ids; None takes the name of
            the file without its folder. Give one to keep two files of the same name apart.
        scope: Scope of the drafts that name none themselves.
        trust: How far the file is trusted. Turns of the assistant or of a tool are trusted as
            theirs at most. The source that a draft names can lower the trust, never raise it: a
            file cannot vouch for itself.

    Returns:
        Drafts with ``id`` and ``source`` set.

    Raises:
        InvalidInput: If the file cannot be read, is not text, or holds a value that does not
            fit; the message names file and line (in a ``.json`` file the place within the
            value). Raised at the call, or while iterating, for errors further on in the file.
    """
    path = Path(path)
    kind = detect(path) if format is None else member(Format, "format", format)
    name = plain_name(path) if name is None else name
    drafts = kind.reader(path, name)
    given = member(Trust, "trust", trust)
    return (_trusted(draft, given) for draft in _identified(drafts, name, parse_scope(scope)))


def _trusted(draft: Draft, given: Trust) -> Draft:
    """Trust a draft as little as its file, its speaker or its own source is trusted."""
    source = draft.source
    assert isinstance(source, Source)  # noqa: S101 - every reader sets one
    least = Trust.least([given, source.kind, trust_of(draft.role)])
    return draft if least is source.kind else replace(draft, source=replace(source, kind=least))


def _identified(drafts: Iterable[Draft], name: str, scope: str) -> Iterator[Draft]:
    seen: Counter[bytes] = Counter()
    for draft in drafts:
        placed = draft if draft.scope else replace(draft, scope=scope)
        yield placed if placed.id else replace(placed, id=_identity(placed, name, seen))


def _identity(draft: Draft, name: str, seen: Counter[bytes]) -> str:
    """Name a draft by its content, and by how often the source had exactly that content before."""
    said = (draft.scope, draft.session, draft.actor, draft.role, draft.key, str(draft.kind))
    when = draft.occurred_at and draft.occurred_at.isoformat()
    content = json.dumps([name, *said, when, draft.text]).encode()
    digest = sha256(content).digest()[:16]
    seen[digest] += 1
    return str(uuid5(ID_SPACE, f"{digest.hex()} {seen[digest]}"))


def _shape(place: FilePlace, value: Any) -> Format:
    """Tell what a record is by the fields it has."""
    if is_message(value) or (isinstance(value, list) and (not value or is_message(value[0]))):
        return Format.CHAT
    if isinstance(value, dict):
        for shape in Format:
            if not value.keys().isdisjoint(shape.marks):
                return shape
    marks = ", ".join(mark for shape in Format for mark in shape.marks)
    raise place.error(
        f"has no known shape: it is not a message or a list of messages, and has no field of "
        f"{marks}"
    )
