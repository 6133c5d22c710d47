"""Read files into drafts: notes, documents and conversations, for ``memento ingest FILE``.

    TEXT      plain text                   one draft a paragraph
    MARKDOWN  Markdown                     one draft a paragraph, under its heading
    DRAFTS    objects with Draft's fields  one draft an object
    CHAT      OpenAI messages              one draft a message
    SHAREGPT  ShareGPT conversations       one draft a message
    LOCOMO    LoCoMo dialogues             one draft a turn

The last four come as JSON (``.json``) or as JSON Lines (``.jsonl``, ``.ndjson``), and every file
may be gzipped. Text, Markdown and JSON Lines are read as a stream; a ``.json`` file is one value
and is held in memory.

Every draft has an ``id`` made of the name of the source and of what the draft says. Reading the
same file again gives the same ids, so that ingesting twice adds nothing, an interrupted ingest can
be run again, and an edited file adds only what is new in it.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from gzip import GzipFile
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID, uuid5

from memento.errors import InvalidInput
from memento.scopes import parse_scope
from memento.types import Draft, Kind, Source, Tier, Trust

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

PARAGRAPH_LIMIT = 2_000
"""Longest paragraph kept in one piece, in characters; a longer one is split at sentence ends.

Some 400 tokens: about what a reader takes in at once, and two windows of the default embedder.
"""

TURN_LIMIT = 50_000
"""Longest turn kept in one piece, in characters: what somebody pasted may be a whole book."""

TAG_LIMIT = 100
"""Longest heading that also becomes a tag, in characters."""

ID_SPACE = UUID("6a1c0f9e-5d0b-5c52-9a39-0f3f4cf4b6d1")
"""Root of the name-based ids made here. Changing it would make every ingested file new again."""

UNSPOKEN_ROLES = frozenset({"system", "developer"})
"""Messages of these roles instruct the model; nobody said them, so they are left out."""

_SHAREGPT_ROLES = {"human": "user", "gpt": "assistant", "chatgpt": "assistant", "function": "tool"}
_SPEAKERS = {"assistant": Trust.AGENT, "tool": Trust.TOOL, "function": Trust.TOOL}
_TEXT_BLOCKS = frozenset({"text", "input_text", "output_text"})
_SESSION_FIELDS = ("session", "session_id", "conversation_id")
_TURN_FIELDS = ("id", "message_id")
_TIME_FIELDS = ("occurred_at", "timestamp", "created_at")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LOCOMO_TIME = re.compile(
    r"(\d{1,2}):(\d{2})\s*([ap])m\s+on\s+(\d{1,2})\s+([a-z]{3})[a-z]*,?\s+(\d{4})", re.IGNORECASE
)
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t](.*))?$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
_HEADER_LINE = re.compile(r"[\w.-]+\s*:|[\s#-]|$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_SENTENCE_END = re.compile(r"[.!?…][\"')\]]*\s+|[。！？]|\n")  # noqa: RUF001 - the full-width marks of Chinese and Japanese are meant


class Format(StrEnum):
    """How a file is written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    DRAFTS = "drafts"
    CHAT = "chat"
    SHAREGPT = "sharegpt"
    LOCOMO = "locomo"


_T = TypeVar("_T")
_MARKS = {
    "messages": Format.CHAT,
    "conversations": Format.SHAREGPT,
    "conversation": Format.LOCOMO,
    "session_1": Format.LOCOMO,
    "text": Format.DRAFTS,
}
"""Field that tells what a JSON record is, in the order they are looked for."""
_SUFFIXES = {".md": Format.MARKDOWN, ".markdown": Format.MARKDOWN}
_JSON_SUFFIXES = frozenset({".json", ".jsonl", ".ndjson"})


def detect(path: str | Path) -> Format:
    """Tell how a file is written, by its suffix and, for JSON, by its first value.

    Args:
        path: The file. ``.gz`` at the end of the name is looked through. Whatever is neither
            Markdown nor JSON by its suffix counts as plain text.

    Raises:
        InvalidInput: If the file cannot be read, or its JSON is of no known shape.
    """
    suffix = Path(_plain_name(Path(path))).suffix.lower()
    if suffix not in _JSON_SUFFIXES:
        return _SUFFIXES.get(suffix, Format.TEXT)
    first = next(_values(Path(path)), None)
    return Format.DRAFTS if first is None else _shape(*first)


def read(
    path: str | Path,
    format: Format | str | None = None,  # noqa: A002 - the word for it
    *,
    name: str | None = None,
    scope: str = "",
    trust: Trust | str = Trust.USER,
) -> Iterator[Draft]:
    """Read a file into drafts, in the order of the file.

    Paragraphs become facts of a session named after the file, so that each is also found by its
    neighbours. A heading is kept with what stands under it, as ``metadata["heading"]``
    (``"Setup > Linux"``) and as a tag; alone it leaves nothing.
    Turns become episodes with their session, actor, role and time, and their own id or position
    as ``metadata["turn"]``. Messages of the system, and messages without text such as bare tool
    calls, are left out. A time without a zone is UTC.

    Args:
        path: The file, gzipped or not.
        format: How it is written; None to ``detect`` it.
        name: What the source is called, in ``Source.uri`` and in the ids; None takes the name of
            the file without its folder. Give one to keep two files of the same name apart.
        scope: Scope of the drafts that name none themselves.
        trust: How far the file is trusted. What the assistant or a tool said in it is trusted as
            theirs at most, and what a draft says of its own source can lower it, never raise it:
            a file cannot vouch for itself.

    Returns:
        Drafts with ``id`` and ``source`` set.

    Raises:
        InvalidInput: If the file cannot be read, is not UTF-8, or holds a value that does not
            fit; the message names file and line (in a ``.json`` file the place within the
            value). Raised at the call, or while iterating for what lies further on.
    """
    path = Path(path)
    kind = detect(path) if format is None else _known_format(format)
    name = _plain_name(path) if name is None else name
    drafts = _READERS[kind](path, name)
    given = _known_trust(trust)
    return (_trusted(draft, given) for draft in _identified(drafts, name, parse_scope(scope)))


def _known_format(value: Format | str) -> Format:
    try:
        return Format(value)
    except ValueError as error:
        known = ", ".join(Format)
        raise InvalidInput("format", f"{value!r:.60} is none of {known}") from error


def _known_trust(value: Trust | str) -> Trust:
    try:
        return Trust(value)
    except ValueError as error:
        known = ", ".join(Trust)
        raise InvalidInput("trust", f"{value!r:.60} is none of {known}") from error


def _trusted(draft: Draft, given: Trust) -> Draft:
    """Trust a draft as little as its file, its speaker or its own source is trusted."""
    source = draft.source
    assert isinstance(source, Source)  # noqa: S101 - every reader sets one
    least = Trust.least([given, source.kind, _SPEAKERS.get(draft.role or "", Trust.USER)])
    return draft if least is source.kind else replace(draft, source=replace(source, kind=least))


def _plain_name(path: Path) -> str:
    return path.name[:-3] if path.name.lower().endswith(".gz") else path.name


# --- identity ---------------------------------------------------------------------------------


def _identified(drafts: Iterable[Draft], name: str, scope: str) -> Iterator[Draft]:
    seen: Counter[bytes] = Counter()
    for draft in drafts:
        placed = draft if draft.scope else replace(draft, scope=scope)
        yield placed if placed.id else replace(placed, id=_identity(placed, name, seen))


def _identity(draft: Draft, name: str, seen: Counter[bytes]) -> str:
    """Name a draft by what it says, and by how often the source has said exactly that before."""
    said = (draft.scope, draft.session, draft.actor, draft.role, draft.key, str(draft.kind))
    when = draft.occurred_at and draft.occurred_at.isoformat()
    content = json.dumps([name, *said, when, draft.text]).encode()
    digest = sha256(content).digest()[:16]
    seen[digest] += 1
    return str(uuid5(ID_SPACE, f"{digest.hex()} {seen[digest]}"))


# --- files and lines --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a file something stands, for the message of an error."""

    text: str

    def at(self, part: str | int) -> _Place:
        step = f"[{part}]" if isinstance(part, int) else f" {part}"
        return _Place(f"{self.text}{step}")

    def error(self, problem: str) -> InvalidInput:
        return InvalidInput("path", f"{self.text}: {problem}")


def _lines(path: Path) -> Iterator[tuple[_Place, str]]:
    """Yield the lines of a text file, gzipped or not, each with its place and without its end."""
    number, name = 0, path.name or str(path)
    try:
        with path.open("rb") as raw:
            packed = raw.peek(2)[:2] == b"\x1f\x8b"
            for number, line in enumerate(GzipFile(fileobj=raw) if packed else raw, start=1):
                place = _Place(f"{name}:{number}")
                yield place, _decoded(line, place, first=number == 1)
    except (OSError, EOFError, zlib.error) as error:  # a missing file, a folder, a torn archive
        after = f" after line {number}" if number else ""
        why = getattr(error, "strerror", None) or error
        raise _Place(f"{name}{after}").error(f"cannot be read: {why}") from error


def _decoded(line: bytes, place: _Place, *, first: bool) -> str:
    try:
        text = line.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError as error:
        raise place.error("is not UTF-8 text") from error
    if "\0" in text:
        raise place.error("holds a NUL character; is it a text file?")
    return text.rstrip("\r\n")


# --- documents --------------------------------------------------------------------------------


def _read_text(path: Path, name: str) -> Iterator[Draft]:
    for paragraph in _paragraphs(line for _, line in _lines(path)):
        yield from _facts(paragraph, name)


def _paragraphs(lines: Iterable[str]) -> Iterator[str]:
    block: list[str] = []
    for line in chain(lines, [""]):
        if line.strip():
            block.append(line.rstrip())
        elif block:
            yield "\n".join(block)
            block = []


def _facts(paragraph: str, name: str, headings: Sequence[str] = ()) -> Iterator[Draft]:
    metadata = {"heading": " > ".join(headings)} if headings else {}
    tags = tuple(heading for heading in headings[-1:] if len(heading) <= TAG_LIMIT)
    for text in _pieces(paragraph.strip(), PARAGRAPH_LIMIT):
        yield Draft(
            text, kind=Kind.FACT, session=name, source=_source(name), tags=tags, metadata=metadata
        )


def _pieces(text: str, limit: int) -> Iterator[str]:
    """Split a text longer than the limit at the last sentence end, else word, that fits."""
    while len(text) > limit:
        head = text[:limit]
        ends = [end.end() for end in _SENTENCE_END.finditer(head, limit // 2)]
        cut = ends[-1] if ends else head.rfind(" ") + 1 or limit
        yield text[:cut].strip()
        text = text[cut:].strip()
    if text:
        yield text


def _read_markdown(path: Path, name: str) -> Iterator[Draft]:
    headings: list[tuple[int, str]] = []
    for level, text in _markdown_blocks(_without_front_matter(_lines(path))):
        if level:
            headings = [outer for outer in headings if outer[0] < level]
            headings += [(level, text)] if text else []
        else:
            yield from _facts(text, name, [heading for _, heading in headings])


def _without_front_matter(lines: Iterable[tuple[_Place, str]]) -> Iterator[str]:
    """Drop a YAML header between ``---`` lines: it describes the file, it is not in the text."""
    rest = (line for _, line in lines)
    header = [line for line in [next(rest, None)] if line is not None]
    if header and header[0].rstrip() == "---":
        for line in rest:
            if line.rstrip() in {"---", "..."}:
                header = []
                break
            header.append(line)
            if not _HEADER_LINE.match(line):  # a rule, then text: no header after all
                break
    yield from header
    yield from rest


def _markdown_blocks(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield (level, heading) and (0, paragraph) in order; a fenced block is never broken up."""
    block: list[str] = []
    fence = ""
    for line in chain(lines, [""]):
        fence = _fence_after(line, fence)
        level, text = (0, "") if fence else _heading(line, block)
        if level and len(block) == 1 and not line.lstrip().startswith("#"):
            block = []  # the line was underlined: it is the heading
        if fence or (line.strip() and not level and not _RULE.match(line)):
            block.append(line.rstrip())
            continue
        yield from _closed(block)
        block = []
        if level:
            yield level, text
    yield from _closed(block)


def _closed(block: Sequence[str]) -> Iterator[tuple[int, str]]:
    text = "\n".join(block)
    if text.strip():
        yield 0, text


def _fence_after(line: str, fence: str) -> str:
    """Return the fence that is open after this line, ``""`` for none."""
    mark = _FENCE.match(line)
    if not fence:
        return mark[1] if mark else ""
    closes = mark and mark[1].startswith(fence) and not line.strip().strip(fence[0])
    return "" if closes else fence


def _heading(line: str, block: Sequence[str]) -> tuple[int, str]:
    """Return level and text of the heading that ends with this line; level 0 if none does."""
    if marked := _HEADING.match(line):
        text = (marked[2] or "").strip()
        open_end = text.rstrip("#")  # "## Setup ##" is closed, "## In C#" is not
        return len(marked[1]), text if open_end[-1:].strip() else open_end.strip()
    if len(block) == 1 and (underline := _UNDERLINE.match(line)):
        return (1 if underline[1][0] == "=" else 2), block[0].strip()
    return 0, ""


# --- JSON -------------------------------------------------------------------------------------


def _values(path: Path) -> Iterator[tuple[_Place, Any]]:
    """Yield the records of a JSON file, each with its place."""
    if Path(_plain_name(path)).suffix.lower() != ".json":
        for place, line in _lines(path):
            if line.strip():
                yield place, _parsed(line, place)
        return
    place = _Place(path.name)
    document = _parsed("\n".join(line for _, line in _lines(path)), place)
    if isinstance(document, list) and not _is_message(next(iter(document), None)):
        yield from ((place.at(n), value) for n, value in enumerate(document))
    else:
        yield place, document


def _parsed(text: str, place: _Place) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if "\n" in text else ""
        raise place.error(f"is not JSON ({error.msg}, {line}column {error.colno})") from error
    except (ValueError, RecursionError) as error:  # a number or a nesting beyond all measure
        raise place.error(f"is not JSON that can be read ({error})") from error


def _shape(place: _Place, value: Any) -> Format:
    """Tell what a record is by the fields it has."""
    if isinstance(value, list) or _is_message(value):
        return Format.CHAT
    if isinstance(value, dict):
        for field, shape in _MARKS.items():
            if field in value:
                return shape
    raise place.error(f"is of no known shape: no message, and none of {', '.join(_MARKS)}")


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and "role" in value and "text" not in value


def _mapping(value: Any, place: _Place) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise place.error(f"expected an object, found {_name_of(value)}")
    return value


def _list(value: Any, place: _Place) -> list[Any]:
    if not isinstance(value, list):
        raise place.error(f"expected a list, found {_name_of(value)}")
    return value


def _name_of(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")


def _checked(parse: Callable[[Any], _T], value: Any, place: _Place) -> _T:
    try:
        return parse(value)
    except (ValueError, OverflowError, OSError) as error:  # OSError: a time outside the calendar
        raise place.error(str(error)) from error


# --- values: each takes what JSON gave and raises ValueError for what does not fit -------------


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected a string, found {_name_of(value)}")  # noqa: TRY004 - the place is added where this is caught
    if _UNSTORABLE.search(value):
        raise ValueError("holds a NUL character or half a surrogate pair")
    return value


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError(f"expected a list of strings, found {_name_of(value)}")  # noqa: TRY004 - as above
    return tuple(_string(item) for item in value)


def _ids(value: Any) -> tuple[str, ...]:
    return (_string(value),) if isinstance(value, str) else _strings(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"expected a number, found {_name_of(value)}")  # noqa: TRY004 - as above
    return float(value)


def _share(value: Any) -> float:
    number = _number(value)
    if not 0 <= number <= 1:
        raise ValueError(f"expected a number from 0 to 1, found {value}")
    return number


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, found {_name_of(value)}")  # noqa: TRY004 - as above
    return value


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, found {_name_of(value)}")  # noqa: TRY004 - as above
    return value


def _time(value: Any) -> datetime:
    """Read ISO 8601 text or seconds since 1970; without a zone it is UTC."""
    if not isinstance(value, str):
        return datetime.fromtimestamp(_number(value), UTC)
    moment = datetime.fromisoformat(value)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _origin(value: Any) -> Source:
    fields = _object(value)
    if unknown := fields.keys() - {"kind", "uri", "model", "parents"}:
        raise ValueError(f"unknown fields {sorted(unknown)}")
    kind = Trust(fields.get("kind", Trust.USER))
    given = {field: _string(fields[field]) for field in ("uri", "model") if fields.get(field)}
    return Source(kind, **given, parents=_strings(fields.get("parents", [])))


_FIELDS: Mapping[str, Callable[[Any], Any]] = {
    "text": _string,
    "tier": Tier,
    "kind": Kind,
    "importance": _share,
    "key": _string,
    "aliases": _strings,
    "scope": _string,
    "session": _string,
    "actor": _string,
    "role": _string,
    "source": _origin,
    "tags": _strings,
    "metadata": _object,
    "occurred_at": _time,
    "valid_until": _time,
    "expires_in": _number,
    "pinned": _flag,
    "supersedes": _ids,
    "related": _ids,
    "id": _string,
}


def _source(name: str) -> Source:
    return Source(uri=name)


# --- drafts -----------------------------------------------------------------------------------


def _read_drafts(path: Path, name: str) -> Iterator[Draft]:
    for place, value in _values(path):
        yield _draft(_mapping(value, place), place, name)


def _draft(fields: Mapping[str, Any], place: _Place, name: str) -> Draft:
    """Check the fields of a draft. An unknown one is an error: it may be a known one misspelt."""
    values: dict[str, Any] = {}
    for field, value in fields.items():
        if field not in _FIELDS:
            raise place.at(field).error('unknown field; put what is yours under "metadata"')
        if value is not None:
            values[field] = _checked(_FIELDS[field], value, place.at(field))
    if not values.get("text", "").strip():
        raise place.at("text").error("is missing or empty")
    source = values.pop("source", _source(name))
    return Draft(**values, source=source if source.uri else replace(source, uri=name))


# --- conversations ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Talk:
    """A conversation: what its turns have in common."""

    source: str
    session: str

    def turn(
        self,
        text: str,
        turn: str,
        *,
        actor: str | None = None,
        role: str | None = None,
        at: datetime | None = None,
    ) -> Iterator[Draft]:
        """Yield the draft of one turn; none if nothing was said in it, several if a great deal."""
        for piece in _pieces(text, TURN_LIMIT) if text.strip() else ():
            yield Draft(
                piece,
                kind=Kind.EPISODE,
                session=self.session,
                actor=actor,
                role=role,
                source=_source(self.source),
                metadata={"turn": turn},
                occurred_at=at,
            )


def _read_chat(path: Path, name: str) -> Iterator[Draft]:
    for number, (place, value) in enumerate(_values(path), start=1):
        if _is_message(value):  # one message a line: the file is the conversation
            yield from _message(value, place, _Talk(name, name), number)
        else:
            yield from _messages(value, place, name, number)


def _messages(value: Any, place: _Place, name: str, number: int) -> Iterator[Draft]:
    fields = {"messages": value} if isinstance(value, list) else _mapping(value, place)
    place = place if isinstance(value, list) else place.at("messages")
    talk = _Talk(name, _first(fields, (*_SESSION_FIELDS, "id"), place) or f"{name}#{number}")
    for turn, message in enumerate(_list(fields.get("messages"), place), start=1):
        here = place.at(turn - 1)
        yield from _message(_mapping(message, here), here, talk, turn)


def _message(
    fields: Mapping[str, Any], place: _Place, talk: _Talk, position: int
) -> Iterator[Draft]:
    role = _checked(_string, fields.get("role"), place.at("role"))
    if role in UNSPOKEN_ROLES:
        return
    session = _first(fields, _SESSION_FIELDS, place)
    yield from (replace(talk, session=session) if session else talk).turn(
        _said(fields.get("content"), place.at("content")),
        _first(fields, _TURN_FIELDS, place) or str(position),
        actor=_first(fields, ("name",), place),
        role=role,
        at=_when(fields, place),
    )


def _said(content: Any, place: _Place) -> str:
    """Return the text of a message: its content, or the text blocks in it; "" for none."""
    if content is None or isinstance(content, str):
        return _checked(_string, content or "", place)
    blocks = [_mapping(block, place.at(n)) for n, block in enumerate(_list(content, place))]
    texts = [block.get("text") for block in blocks if block.get("type") in _TEXT_BLOCKS]
    return "\n".join(_checked(_string, text, place) for text in texts)


def _first(fields: Mapping[str, Any], names: Sequence[str], place: _Place) -> str | None:
    """Return the first of these fields that is there, numbers as text."""
    for name in names:
        value = fields.get(name)
        if value is not None and value != "":
            number = isinstance(value, int) and not isinstance(value, bool)
            return str(value) if number else _checked(_string, value, place.at(name))
    return None


def _when(fields: Mapping[str, Any], place: _Place) -> datetime | None:
    for name in _TIME_FIELDS:
        if fields.get(name) is not None:
            return _checked(_time, fields[name], place.at(name))
    return None


def _read_sharegpt(path: Path, name: str) -> Iterator[Draft]:
    for number, (place, value) in enumerate(_values(path), start=1):
        fields = _mapping(value, place)
        session = _first(fields, (*_SESSION_FIELDS, "id"), place) or f"{name}#{number}"
        turns = _list(fields.get("conversations"), place.at("conversations"))
        for turn, message in enumerate(turns, start=1):
            here = place.at("conversations").at(turn - 1)
            yield from _sharegpt_turn(_mapping(message, here), here, _Talk(name, session), turn)


def _sharegpt_turn(
    fields: Mapping[str, Any], place: _Place, talk: _Talk, position: int
) -> Iterator[Draft]:
    speaker = _checked(_string, fields.get("from"), place.at("from"))
    role = _SHAREGPT_ROLES.get(speaker, speaker)
    if role not in UNSPOKEN_ROLES:
        text = _checked(_string, fields.get("value"), place.at("value"))
        yield from talk.turn(text, str(position), role=role, at=_when(fields, place))


def _read_locomo(path: Path, name: str) -> Iterator[Draft]:
    for number, (place, value) in enumerate(_values(path), start=1):
        sample = _mapping(value, place)
        label = _first(sample, ("sample_id",), place) or f"{name}#{number}"
        if "conversation" in sample:
            place = place.at("conversation")  # noqa: PLW2901 - one step further into the same value
            sample = _mapping(sample["conversation"], place)
        yield from _locomo_turns(sample, place, name, label)


def _locomo_turns(
    sessions: Mapping[str, Any], place: _Place, name: str, label: str
) -> Iterator[Draft]:
    for key in _locomo_sessions(sessions):
        day = sessions.get(f"{key}_date_time")
        at = _checked(_locomo_time, day, place.at(f"{key}_date_time")) if day else None
        talk = _Talk(name, f"{label}/{key}")
        for n, value in enumerate(_list(sessions[key], place.at(key))):
            yield from _locomo_turn(value, place.at(key).at(n), talk, at)


def _locomo_turn(value: Any, place: _Place, talk: _Talk, at: datetime | None) -> Iterator[Draft]:
    turn = _mapping(value, place)
    text, caption, speaker, own_id = (
        _first(turn, (field,), place) for field in ("text", "blip_caption", "speaker", "dia_id")
    )
    shared = f" [shares {caption}]" if caption else ""
    yield from talk.turn(
        f"{text or ''}{shared}".strip(), own_id or place.text, actor=speaker, at=at
    )


def _locomo_sessions(fields: Mapping[str, Any]) -> list[str]:
    """Return the names of the sessions in the order of their numbers."""
    numbers = [int(found[1]) for key in fields if (found := re.fullmatch(r"session_(\d+)", key))]
    return [f"session_{number}" for number in sorted(numbers)]


def _locomo_time(value: Any) -> datetime:
    """Read a time such as ``1:56 pm on 8 May, 2023``."""
    found = _LOCOMO_TIME.fullmatch(_string(value).strip())
    if found is None or (month := found[5].lower()) not in _MONTHS:
        raise ValueError(f"expected a time such as '1:56 pm on 8 May, 2023', found {value!r}")
    hour, minute, half, day, _, year = found.groups()
    afternoon = 12 if half.lower() == "p" else 0
    return datetime(
        int(year),
        _MONTHS.index(month) + 1,
        int(day),
        int(hour) % 12 + afternoon,
        int(minute),
        tzinfo=UTC,
    )


_READERS: Mapping[Format, Callable[[Path, str], Iterator[Draft]]] = {
    Format.TEXT: _read_text,
    Format.MARKDOWN: _read_markdown,
    Format.DRAFTS: _read_drafts,
    Format.CHAT: _read_chat,
    Format.SHAREGPT: _read_sharegpt,
    Format.LOCOMO: _read_locomo,
}
