"""Read a file line by line or value by value, within bounds, each with its place."""

from __future__ import annotations

import json
import logging
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from gzip import GzipFile
from pathlib import Path
from typing import Any, TypeVar

from memento.base.files import open_regular
from memento.check import check_moment, storable
from memento.errors import InvalidInput
from memento.messages import is_one

LINE_BYTES = 16 * 1024 * 1024
"""Longest line that is read; a few kB of gzip can hold a line of any length."""
UNPACKED_BYTES = 64 * 1024 * 1024
"""Largest ``.json`` file that is unpacked from gzip: it is one value, and is held in memory."""
KINDS = {
    b"%PDF": "a PDF",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"PK\x03\x04": "a ZIP archive or an office document",
}
"""Files that are often taken for text, by how they begin."""
OLD = "cp1252"
"""Encoding of files that are not UTF-8; Latin-1 with the signs that Windows has besides."""
_TEXT = bytes([9, 10, 12, 13, *range(32, 127), *range(128, 256)])
"""Bytes that text of that encoding has."""
JSON_SUFFIXES = frozenset({".json", ".jsonl", ".ndjson"})
_CONVERSATIONS = ("messages", "conversations", "conversation", "session_1")
"""Fields of a JSON record that hold a whole conversation, whatever other fields it has."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FilePlace:
    """Where in a file a value is, for the message of an error."""

    text: str

    def at(self, part: str | int) -> FilePlace:
        """Return the place of a field or an item within this one."""
        step = f"[{part}]" if isinstance(part, int) else f" {part}"
        return FilePlace(f"{self.text}{step}")

    def error(self, problem: str) -> InvalidInput:
        """Return the error that names this place."""
        return InvalidInput("path", f"{self.text}: {problem}")


def plain_name(path: Path) -> str:
    """Return the name of a file without ``.gz``."""
    return path.name[:-3] if path.name.lower().endswith(".gz") else path.name


def lines(path: Path, most: int = LINE_BYTES) -> Iterator[tuple[FilePlace, str]]:
    """Yield the lines of a text file, gzipped or not, each with its place and without its end.

    A line of more than ``most`` bytes is refused, and never read whole.
    """
    number, name = 0, path.name or str(path)
    reading = _Decoder(name)
    if "\0" in str(path):
        raise InvalidInput("path", "holds a NUL character")
    try:
        with open_regular(path) as raw:
            packed = raw.peek(2)[:2] == b"\x1f\x8b"
            stream = GzipFile(fileobj=raw) if packed else raw
            for number, line in enumerate(iter(lambda: stream.readline(most + 1), b""), 1):
                place = FilePlace(f"{name}:{number}")
                if len(line) > most:
                    raise place.error(f"is longer than {most:,} bytes; break the line")
                yield place, reading.text(line, place, first=number == 1)
    except (OSError, EOFError, zlib.error) as error:  # a missing file, a folder, a torn archive
        after = f" after line {number}" if number else ""
        why = getattr(error, "strerror", None) or error
        raise FilePlace(f"{name}{after}").error(f"cannot be read: {why}") from error


class _Decoder:
    """Decodes the lines of a file: UTF-8, or Windows-1252 if no line before was truly UTF-8."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._encoding = ""

    def text(self, line: bytes, place: FilePlace, *, first: bool) -> str:
        """Decode a line, without its end."""
        if first and (kind := next((KINDS[sign] for sign in KINDS if line.startswith(sign)), None)):
            raise place.error(f"is {kind}, not text; convert it to text first")
        text = self._decoded(line, place, first=first)
        if "\0" in text:
            raise place.error("holds a NUL character; is it a text file?")
        return text.rstrip("\r\n")

    def _decoded(self, line: bytes, place: FilePlace, *, first: bool) -> str:
        if line.isascii():
            return line.decode("ascii")
        if self._encoding != OLD:
            with suppress(UnicodeDecodeError):
                text = line.decode("utf-8-sig" if first else "utf-8")
                self._encoding = "utf-8"
                return text
        if self._encoding == "utf-8" or line.translate(None, _TEXT):
            raise place.error("is not UTF-8 text")
        try:
            text = line.decode(OLD)
        except UnicodeDecodeError as error:
            raise place.error("is not UTF-8 text") from error
        if not self._encoding:
            log.warning("%s is not UTF-8; it is read as Windows-1252 (Latin-1)", self._name)
        self._encoding = OLD
        return text


def values(path: Path) -> Iterator[tuple[FilePlace, Any]]:
    """Yield the records of a JSON file, each with its place."""
    if Path(plain_name(path)).suffix.lower() != ".json":
        for place, line in lines(path):
            if line.strip():
                yield place, _parsed(line, place)
        return
    place = FilePlace(path.name)
    document = _parsed("\n".join(bounded(path, place)), place)
    if isinstance(document, list) and not is_message(next(iter(document), None)):
        yield from ((place.at(n), value) for n, value in enumerate(document))
    else:
        yield place, document


def bounded(path: Path, place: FilePlace) -> Iterator[str]:
    """Yield the lines of a document that is held in memory; a plain file is as large as it is."""
    most = max(UNPACKED_BYTES, path.stat().st_size if path.is_file() else 0)
    left = most + 1  # the last line may have no end
    for _, line in lines(path, most):
        left -= len(line) + 1
        if left < 0:
            raise place.error(f"unpacks to more than {most:,} bytes; make it JSON Lines")
        yield line


def _parsed(text: str, place: FilePlace) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if "\n" in text else ""
        raise place.error(f"is not JSON ({error.msg}, {line}column {error.colno})") from error
    except (ValueError, RecursionError) as error:  # a number too long or a nesting too deep
        raise place.error(f"is not readable JSON ({error})") from error


def is_message(value: Any) -> bool:
    """Tell whether a JSON value is one message of a conversation, and does not hold one."""
    if not isinstance(value, dict):
        return False
    if any(isinstance(value.get(name), list | dict) for name in _CONVERSATIONS):
        return False
    return "text" not in value if "role" in value else is_one(value)


T = TypeVar("T")


def mapping(value: Any, place: FilePlace) -> dict[str, Any]:
    """Accept a JSON object."""
    if not isinstance(value, dict):
        raise place.error(f"expected an object, found {_name_of(value)}")
    return value


def list_of(value: Any, place: FilePlace) -> list[Any]:
    """Accept a JSON list."""
    if not isinstance(value, list):
        raise place.error(f"expected a list, found {_name_of(value)}")
    return value


def checked(parse: Callable[[Any], T], value: Any, place: FilePlace) -> T:
    """Read a value; an error of the reader gets the place of the value."""
    try:
        return parse(value)
    except InvalidInput as error:
        raise place.error(error.problem) from error
    except (ValueError, OverflowError, OSError) as error:  # OSError: a time outside the calendar
        raise place.error(str(error)) from error


def string(value: Any) -> str:
    """Read a string, of any length, that can be stored."""
    if not isinstance(value, str):
        raise ValueError(f"expected a string, found {_name_of(value)}")  # noqa: TRY004 - the place is added where this is caught
    return storable("", value)


def time_of(value: Any) -> datetime:
    """Read ISO 8601 text or seconds since 1970; without a zone it is UTC."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"expected a time, found {_name_of(value)}")  # noqa: TRY004 - as above
    if not isinstance(value, str):
        return datetime.fromtimestamp(value, UTC)
    moment = datetime.fromisoformat(value)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    check_moment("", moment)
    return moment.astimezone(UTC)


def _name_of(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")
