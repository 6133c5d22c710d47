"""Read a file line by line or value by value, within bounds, each with its place."""

from __future__ import annotations

import json
import logging
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from gzip import GzipFile
from io import BufferedReader, RawIOBase
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, TypeVar, cast
from zipfile import BadZipFile

from memento.base.files import open_regular
from memento.check import check_moment, storable
from memento.errors import InvalidInput
from memento.messages import is_one

LINE_BYTES = 16 * 1024 * 1024
"""Maximum length of a line that is read; a few kB of gzip can hold a line of any length."""
UNPACKED_BYTES = 64 * 1024 * 1024
"""Maximum size of a document that is held in memory unless its file is as large: a page of the
web."""
WHOLE_BYTES = 16 * 1024 * 1024
"""Largest JSON document that is parsed at once; larger ones are streamed by record."""
RECORD_BYTES = 256 * 1024 * 1024
"""Maximum size of a record of a JSON document: a conversation, a chat."""
HEAD_BYTES = 256 * 1024
"""Bytes at the start of a file by which it is recognised."""
HEAD_LINES = 50
"""Maximum number of JSON records among these that are used."""
OLD = "cp1252"
"""Encoding of files that are not UTF-8: Latin-1 with the additional characters of Windows."""
_TEXT = bytes([9, 10, 12, 13, *range(32, 127), *range(128, 256)])
"""Bytes that occur in text of that encoding."""
LINES_SUFFIXES = frozenset({".jsonl", ".ndjson"})
_CONVERSATIONS = ("messages", "conversations", "conversation", "session_1")
"""Fields of a JSON record that hold a whole conversation, whatever other fields it has."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[\[\]{},]', re.DOTALL)
_DEEPEST = 200

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FilePlace:
    """The place of a value in a file, for error messages."""

    text: str

    def at(self, part: str | int) -> FilePlace:
        """Return the place of a field or an item within this one."""
        step = f"[{part}]" if isinstance(part, int) else f" {part}"
        return FilePlace(f"{self.text}{step}")

    def error(self, problem: str) -> InvalidInput:
        """Return the error that names this place."""
        return InvalidInput("path", f"{self.text}: {problem}")


@dataclass(frozen=True, eq=False)
class Item:
    """A file to be read: on the disk, in an archive, or what came by standard input.

    Attributes:
        name: Its name in sources and reports, with ``/`` between folders.
        raw: Opens it at its first byte.
        size: Its length in bytes; of a gzipped file, the packed length.
        folder: Name of the folder that it is in.
        tree: All files of its folder or archive by name, itself included.
        told: Called after each read with the number of bytes read.
        typed: The path that the user gave, if any.
    """

    name: str
    raw: Callable[[], AbstractContextManager[BinaryIO]]
    size: int = 0
    folder: str = ""
    tree: Mapping[str, Item] = field(default_factory=dict, repr=False)
    told: Callable[[int], None] | None = None
    typed: str = ""

    @classmethod
    def of(cls, path: Path | Item) -> Item:
        """Return the item for a path; an item is returned unchanged."""
        if isinstance(path, Item):
            return path
        if "\0" in str(path):
            raise InvalidInput("path", "contains a NUL character")
        size = path.stat().st_size if path.is_file() else 0
        name, folder = path.name or str(path), path.absolute().parent
        return cls(
            name, lambda: open_regular(path), size, folder.name, _Around(folder), typed=str(path)
        )

    @property
    def place(self) -> FilePlace:
        """The file, for error messages."""
        return FilePlace(self.typed or self.name)

    @property
    def plain_name(self) -> str:
        """Its name without ``.gz``."""
        return self.name[:-3] if self.name.lower().endswith(".gz") else self.name

    @property
    def suffix(self) -> str:
        """The ending of its name, in lower case."""
        return PurePosixPath(self.plain_name).suffix.lower()

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open it, unpacked if it is gzipped; raise ``InvalidInput`` if it cannot be read."""
        try:
            with self.raw() as inner:
                raw = BufferedReader(_Counted(inner, self.told), 1 << 16)
                packed = raw.peek(2)[:2] == b"\x1f\x8b"
                yield cast("BinaryIO", GzipFile(fileobj=raw) if packed else raw)
        except (OSError, EOFError, zlib.error, BadZipFile) as error:  # no file, a bad archive
            why = getattr(error, "strerror", None) or error
            path = getattr(error, "filename", None)  # as it was typed, with its folder
            whole = self.place if path is None else FilePlace(str(path))
            raise whole.error(f"cannot be read: {why}") from error

    @cached_property
    def head(self) -> Head:
        """Its beginning, by which it is recognised."""
        with self.open() as stream:
            data = stream.read(HEAD_BYTES)
        return _head(self, data, whole=len(data) < HEAD_BYTES)


class _Around(Mapping[str, Item]):
    """The files beside a single file, by their path from the parent of its folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getitem__(self, name: str) -> Item:
        path = self._folder.parent / name
        if not path.is_file():
            raise KeyError(name)
        return Item.of(path)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class _Counted(RawIOBase):
    """A stream that reports how many bytes are read."""

    def __init__(self, inner: BinaryIO, told: Callable[[int], None] | None) -> None:
        self._inner, self._told = inner, told

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes."""
        data = self._inner.read(len(buffer))
        buffer[: len(data)] = data
        if self._told is not None and data:
            self._told(len(data))
        return len(data)


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a file.

    Attributes:
        name: The name of the file, without ``.gz``.
        data: Its first bytes.
        text: The same as text, with replacement characters for invalid bytes.
        records: Its first JSON values: lines, items of a list, or the document; the last one may be
            incomplete.
        is_lines: Whether it has one JSON value per line.
    """

    name: str
    data: bytes
    text: str
    records: tuple[Any, ...]
    is_lines: bool

    @property
    def suffix(self) -> str:
        """The ending of the name, in lower case."""
        return PurePosixPath(self.name).suffix.lower()

    @property
    def first(self) -> Mapping[str, Any]:
        """The first JSON value if it is an object, else {}."""
        return next((one for one in self.records[:1] if isinstance(one, dict)), {})

    def any_has(self, *keys: str) -> bool:
        """Return whether one of the first JSON values has all of these fields."""
        return any(isinstance(one, dict) and one.keys() >= {*keys} for one in self.records)


def _head(item: Item, data: bytes, *, whole: bool) -> Head:
    text = data.decode("utf-8-sig", "replace")
    named = item.suffix in LINES_SUFFIXES
    records: list[Any] = []
    is_lines = named
    if text.lstrip()[:1] in ("{", "["):
        found = list(_first_lines(text, whole=whole))
        is_lines = named or (len(found) > 1 and isinstance(found[0], dict))
        records = found if is_lines else _items(_partial(text, whole=whole))
    return Head(item.plain_name, data, text, tuple(records[:HEAD_LINES]), is_lines)


def _first_lines(text: str, *, whole: bool) -> Iterator[Any]:
    """Yield the JSON values of the first lines, up to one that is not JSON."""
    rows = text.split("\n")
    for row in rows[:HEAD_LINES] if whole else rows[:-1][:HEAD_LINES]:
        if row.strip():
            try:
                yield json.loads(row)
            except (ValueError, RecursionError):
                return


def _items(document: Any) -> list[Any]:
    is_list = isinstance(document, list) and not is_message(next(iter(document), None))
    return document if is_list else [document]


def _partial(text: str, *, whole: bool) -> Any:
    """Parse the beginning of a JSON document by closing what is open; None if that fails."""
    closed = text
    if not whole:
        opened: list[str] = []
        for token in _TOKEN.finditer(text):
            mark = token[0]
            if mark in ("[", "{"):
                opened.append("]" if mark == "[" else "}")
            elif mark in ("]", "}"):
                opened[-1:] = []
            elif mark == ",":
                closed = text[: token.start()] + "".join(reversed(opened))
            if len(opened) > _DEEPEST:
                break
    try:
        return json.loads(closed)
    except (ValueError, RecursionError):
        return None


def plain_name(path: Path) -> str:
    """Return the name of a file without ``.gz``."""
    return Item.of(path).plain_name


def lines(path: Path | Item, most: int = LINE_BYTES) -> Iterator[tuple[FilePlace, str]]:
    """Yield the lines of a text file, gzipped or not, with their places, without line ends.

    A line of more than ``most`` bytes raises ``InvalidInput`` and is never read whole.
    """
    item = Item.of(path)
    reading = _Decoder(item.place.text)
    with item.open() as stream:
        for number, line in enumerate(iter(lambda: stream.readline(most + 1), b""), 1):
            place = FilePlace(f"{item.place.text}:{number}")
            if len(line) > most:
                raise place.error(f"is longer than {most:,} bytes; split the line")
            yield place, reading.text(line, place, first=number == 1)


class _Decoder:
    """Decodes the lines of a file: UTF-8; Windows-1252 if no line before was non-ASCII UTF-8."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._encoding = ""

    def text(self, line: bytes, place: FilePlace, *, first: bool) -> str:
        """Decode a line and drop its line end."""
        text = self._decoded(line, place, first=first)
        if "\0" in text:
            raise place.error("contains a NUL character; is it a text file?")
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


def values(path: Path | Item, within: str = "") -> Iterator[tuple[FilePlace, Any]]:
    """Yield the records of a JSON file, each with its place.

    Args:
        path: The file: JSON Lines, or one document.
        within: Name of the field whose list has the records, such as ``chats.list``; ``""`` for the
            lines, the items of the list that the document is, or the document itself.
    """
    item = Item.of(path)
    if item.suffix in LINES_SUFFIXES or item.head.is_lines:
        for place, line in lines(item):
            if line.strip():
                yield place, _parsed(line, place)
        return
    place = item.place
    with item.open() as stream:
        start = stream.read(WHOLE_BYTES + 1)
        if len(start) > WHOLE_BYTES:
            yield from _streamed(start, stream, place, within)
            return
    document = _parsed(_Decoder(place.text).text(start, place, first=True), place)
    for step in within.split(".") if within else ():
        place = place.at(step)
        document = mapping(document, place).get(step)
    if within or (isinstance(document, list) and not is_message(next(iter(document), None))):
        yield from ((place.at(n), value) for n, value in enumerate(list_of(document, place)))
    else:
        yield place, document


def _streamed(
    start: bytes, rest: BinaryIO, place: FilePlace, within: str
) -> Iterator[tuple[FilePlace, Any]]:
    """Yield the records of a JSON document that is too large to be parsed at once."""
    import ijson  # noqa: PLC0415 - for large files only

    source = _Joined(start.removeprefix(b"\xef\xbb\xbf"), rest, place)
    is_list = bool(within) or start.lstrip()[:1] == b"["
    prefix = f"{within}.item".lstrip(".") if is_list else ""
    try:
        for number, value in enumerate(ijson.items(source, prefix, use_float=True)):
            source.held = 0
            yield (place.at(number) if is_list else place), value
    except (ijson.JSONError, UnicodeDecodeError, OverflowError) as error:
        raise place.error(f"is not valid JSON ({error})") from error


class _Joined:
    """Joins the beginning of a stream to its rest; refuses a record that is too long."""

    def __init__(self, start: bytes, rest: BinaryIO, place: FilePlace) -> None:
        self._start, self._rest, self._place = memoryview(start), rest, place
        self.held = 0

    def read(self, size: int) -> bytes:
        """Read some bytes."""
        data = bytes(self._start[:size]) or self._rest.read(size)
        self._start = self._start[size:]
        self.held += len(data)
        if self.held > RECORD_BYTES:
            raise self._place.error(f"contains a record of more than {RECORD_BYTES:,} bytes")
        return data


def whole_lines(path: Path | Item) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a log that is still in use; skip damaged or incomplete lines."""
    with Item.of(path).open() as stream:
        for line in iter(lambda: stream.readline(LINE_BYTES), b""):
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                yield value


def bounded(path: Path | Item, place: FilePlace) -> Iterator[str]:
    """Yield the lines of a document that is held in memory; a packed one is limited in size."""
    item = Item.of(path)
    most = max(UNPACKED_BYTES, item.size)
    left = most + 1  # the last line may lack its line end
    for _, line in lines(item, most):
        left -= len(line) + 1
        if left < 0:
            raise place.error(f"unpacks to more than {most:,} bytes; convert it to JSON Lines")
        yield line


def _parsed(text: str, place: FilePlace) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if "\n" in text else ""
        raise place.error(f"is not valid JSON ({error.msg}, {line}column {error.colno})") from error
    except (ValueError, RecursionError) as error:  # a number too long, nesting too deep
        raise place.error(f"is not readable JSON ({error})") from error


def is_message(value: Any) -> bool:
    """Return whether a JSON value is one message, not a record with a whole conversation."""
    if not isinstance(value, dict):
        return False
    if any(isinstance(value.get(name), list | dict) for name in _CONVERSATIONS):
        return False
    return "text" not in value if "role" in value else is_one(value)


T = TypeVar("T")


def mapping(value: Any, place: FilePlace) -> dict[str, Any]:
    """Return a value that must be a JSON object."""
    if not isinstance(value, dict):
        raise place.error(f"expected an object, found {_name_of(value)}")
    return value


def list_of(value: Any, place: FilePlace) -> list[Any]:
    """Return a value that must be a JSON list."""
    if not isinstance(value, list):
        raise place.error(f"expected a list, found {_name_of(value)}")
    return value


def checked(parse: Callable[[Any], T], value: Any, place: FilePlace) -> T:
    """Return ``parse(value)``; an error becomes an ``InvalidInput`` that names the place."""
    try:
        return parse(value)
    except InvalidInput as error:
        raise place.error(error.problem) from error
    except (ValueError, OverflowError, OSError) as error:  # OSError: a time out of range
        raise place.error(str(error)) from error


def string(value: Any) -> str:
    """Return a value that must be a string that can be stored, of any length."""
    if not isinstance(value, str):
        raise ValueError(f"expected a string, found {_name_of(value)}")  # noqa: TRY004 - the place is added where this is caught
    return storable("", value)


def time_of(value: Any, zone: tzinfo = UTC) -> datetime:
    """Read ISO 8601 text, in a time zone if it names none, or seconds since 1970."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"expected a time, found {_name_of(value)}")  # noqa: TRY004 - as above
    if not isinstance(value, str):
        return datetime.fromtimestamp(value, UTC)
    moment = datetime.fromisoformat(value)
    moment = moment.replace(tzinfo=zone) if moment.tzinfo is None else moment
    check_moment("", moment)
    return moment.astimezone(UTC)


def _name_of(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")
