"""A memory as a note: its fields in the front matter, its text below. Pure: no file, no store."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

from memento.base.plain import composed
from memento.errors import InvalidInput
from memento.ingest.readers.common import How
from memento.ingest.readers.notes import header_fields
from memento.types import Memory

Value = str | tuple[str, ...]
OWN, NEW = "memento", "new"
"""The field with a memory's id, and its value in a note that is to become a memory."""
FIELDS = ("text", "kind", "tags", "aliases", "scope", "key", "date", "related")
"""Fields of a memory in its note."""
EDITED = ("text", "kind", "tags", "aliases", "scope")
"""Fields that a person may change."""
_LISTS = frozenset({"tags", "aliases", "related"})
_IF_LEFT_OUT: Mapping[str, Value] = {"tags": (), "aliases": (), "scope": ""}
"""Values of fields that a note lacks; other missing fields are as they were."""
_HEADER = re.compile(
    rb"\A(?P<bom>\xef\xbb\xbf)?---[ \t]*(?P<end>\r?\n)(?P<head>.*?)^---[ \t]*(?:\r?\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
_OWN = re.compile(rb"^memento[ \t]*:", re.MULTILINE)
_OWN_LINE = re.compile(rf"^{OWN}[ \t]*:.*$", re.MULTILINE)
_PLAIN = re.compile(
    r"(?!(?:null|true|false|yes|no|on|off|y|n)\Z)(?:[a-z][\w/.+-]*|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})",
    re.IGNORECASE,
)
_UNSAFE = re.compile(r'[<>:"/\\|?*#^\[\]%\s]+')
_NAME_BYTES = 100
"""Maximum length of a note's name that is made from a text, in bytes, without the part that makes
it unique."""


class Merged(NamedTuple):
    """Fields to take from a note, those of them that both changed, and changes that are refused.

    Of other fields, the memory's value stays.
    """

    taken: tuple[str, ...]
    clashing: tuple[str, ...]
    refused: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """A note, as its file has it.

    Attributes:
        id: The id of its memory, or ``NEW``.
        said: What it says, by field.
        head: The lines of its front matter, without fences.
        body: The text below, with line feeds alone.
        bom: Whether it begins with a byte order mark.
        crlf: Whether its lines end as on Windows.
    """

    id: str
    said: Mapping[str, Value]
    head: str
    body: str
    bom: bool = False
    crlf: bool = False


def parse(data: bytes) -> Note | None:
    """Read a note; None if it is not memento's.

    Raises:
        InvalidInput: If it is, but its front matter is damaged, or it is not UTF-8 text.
    """
    found = _HEADER.match(data)
    if not _OWN.search(data if found is None else found["head"]):
        return None
    if found is None:
        if not data.removeprefix(b"\xef\xbb\xbf").startswith(b"---"):
            return None
        raise InvalidInput("note", "its front matter is not closed by a line with ---")
    try:
        head, body = (part.decode() for part in (found["head"], data[found.end() :]))
    except UnicodeDecodeError:
        raise InvalidInput("note", "it is not UTF-8 text") from None
    crlf = found["end"] == b"\r\n"
    if crlf:
        head, body = head.replace("\r\n", "\n"), body.replace("\r\n", "\n")
    how = How()
    fields = header_fields(head.split("\n"), how)
    if how.notes or not isinstance(fields.get(OWN), str):
        raise InvalidInput("note", "its front matter is damaged: it is not plain YAML")
    said: dict[str, Value] = {**_IF_LEFT_OUT, "text": body.strip("\n")}
    for name in FIELDS[1:]:
        if name in fields:
            said[name] = _value(name, fields[name])
    return Note(fields[OWN].strip(), said, head, body, bool(found["bom"]), crlf)


def _value(name: str, value: object) -> Value:
    if name not in _LISTS and isinstance(value, str):
        return value.strip()
    several = [value] * bool(value) if isinstance(value, str) else value
    if name in _LISTS and isinstance(several, list) and {*map(type, several)} <= {str}:
        return tuple(several)
    problem = f"its {name} is not a {'list of strings' if name in _LISTS else 'string'}"
    raise InvalidInput("note", problem)


def values_of(memory: Memory, related: Iterable[str]) -> dict[str, Value]:
    """Return the fields of a memory's note; ``related`` are names of notes."""
    return {
        "text": memory.text.strip("\n"),
        "kind": memory.kind.value,
        "tags": memory.tags,
        "aliases": memory.aliases,
        "scope": memory.scope,
        "key": memory.key or "",
        "date": memory.occurred_at.isoformat(timespec="seconds"),
        "related": tuple(f"[[{name}]]" for name in sorted(related)),
    }


def digests(values: Mapping[str, Value]) -> dict[str, str]:
    """Return a digest of each field, by which it is compared."""
    return {name: digest(json.dumps(value).encode()) for name, value in values.items()}


def digest(data: bytes) -> str:
    """Return the digest of some bytes."""
    return blake2b(data, digest_size=8).hexdigest()


def merge(
    base: Mapping[str, str] | None, note: Mapping[str, str], memory: Mapping[str, str]
) -> Merged:
    """Compare the digests of a note and its memory with those of the last sync, ``base``.

    Where both changed, the note wins. Without a base it is unknown which of them changed.
    """
    changed = [
        name
        for name, said in note.items()
        if said != memory[name] and (base is None or said != base[name])
    ]
    taken = tuple(name for name in changed if name in EDITED)
    return Merged(
        taken,
        tuple(name for name in taken if base is None or memory[name] != base[name]),
        tuple(name for name in changed if name not in EDITED and base is not None),
    )


def written(
    memory_id: str,
    values: Mapping[str, Value],
    before: Note | None = None,
    changed: Iterable[str] = FIELDS,
) -> bytes:
    """Write a note, or the ``changed`` fields of one, and leave every other byte as it is."""
    changed = {*changed}
    own = f"{OWN}: {_scalar(memory_id)}"
    if before is None or changed - {"text"}:
        lines = [own, *(_line(name, values[name]) for name in FIELDS[1:] if values[name])]
        head = "".join(f"{line}\n" for line in [*lines, *_others(before)])
    else:
        head = _OWN_LINE.sub(lambda _: own, before.head, count=1)
    body = f"\n{values['text']}\n" if before is None or "text" in changed else before.body
    text = f"---\n{head}---\n{body}"
    if before is not None and before.crlf:
        text = text.replace("\n", "\r\n")
    return (b"\xef\xbb\xbf" if before is not None and before.bom else b"") + text.encode()


def _line(name: str, value: Value) -> str:
    if isinstance(value, str):
        return f"{name}: {_scalar(value)}"
    return "\n".join([f"{name}:", *(f"  - {_scalar(one)}" for one in value)])


def _scalar(text: str) -> str:
    """Write a text as YAML: plain if it is unambiguous, else in quotes."""
    if _PLAIN.fullmatch(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(one if one.isprintable() else _escaped(one) for one in quoted)


def _escaped(sign: str) -> str:
    code = ord(sign)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - the first plane


def _others(before: Note | None) -> list[str]:
    """Return the lines of the fields of a header that are not memento's."""
    kept: list[str] = []
    ours = False
    for line in [] if before is None else before.head.removesuffix("\n").split("\n"):
        if (name := _field_of(line)) is not None:
            ours = name in (OWN, *FIELDS[1:])
        elif line.startswith("#"):
            ours = False
        if not ours:
            kept.append(line)
    return kept


def _field_of(line: str) -> str | None:
    """Return the name of the field that begins in a line of a header, or None."""
    name, colon, value = line.partition(":")
    name = name.rstrip().strip("\"'")
    begins = name[:1] not in ("", "#", "-") and not name[0].isspace()
    return name if colon and begins and not value[:1].strip() else None


def name_of(memory: Memory, taken: Sequence[str] | set[str]) -> str:
    """Return a path for a memory's note that every file system accepts and that is not taken.

    Args:
        memory: The memory.
        taken: Existing paths, see ``folded``.
    """
    words = memory.key or memory.text.strip().partition("\n")[0]
    printable = "".join(one if one.isprintable() else " " for one in composed(words))
    name = _UNSAFE.sub(" ", printable).strip(" .")
    name = name.encode()[:_NAME_BYTES].decode(errors="ignore").strip(" .") or "note"
    mark = blake2b(memory.id.encode(), digest_size=16).hexdigest()
    paths = (f"{memory.kind}/{name} ({mark[:length]}).md" for length in range(6, 33))
    return next(path for path in paths if folded(path) not in taken)


def folded(path: str) -> str:
    """Return a path as a file system compares it that ignores case and composes accents."""
    return composed(path).casefold()
