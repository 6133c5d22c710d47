"""Read tables, a fact for each row, and JSON records by the field names of ``--map``."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

from memento.errors import InvalidInput
from memento.ingest.paragraphs import document, facts
from memento.ingest.readers.common import How, fields, moment
from memento.ingest.readers.drafts import draft_of
from memento.ingest.source import FilePlace, Head, Item, lines, mapping, values
from memento.types import Draft

COLUMN_CHARS = 100
"""Maximum number of characters in a column's name; each row repeats it, and a short row could be
any length."""
SEPARATORS = (",", ";", "\t")
_QUOTED = re.compile(r'"[^"]*"')
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_TIMES = frozenset({"occurred_at", "valid_until", "due_at"})
_LISTS = frozenset({"tags", "aliases"})


def is_csv(head: Head) -> bool:
    """Recognise CSV by its suffix."""
    return head.suffix in {".csv", ".tsv"}


def read_csv(item: Item, how: How) -> Iterator[Draft]:
    """Read a table whose first row names the columns: a fact for each further row."""
    like = document(item.plain_name)
    header: list[str] | None = None
    for place, row in _rows(item):
        if header is None:
            header = [" ".join(name.split())[:COLUMN_CHARS] for name in row]
            missing = sorted(set(how.map.values()) - set(header))
            if missing:
                raise place.error(
                    f"has no column {', '.join(missing)}; its columns are {', '.join(header)}"
                )
        elif how.map:
            yield from _mapped(dict(zip(header, row, strict=False)), how, place, item)
        else:
            told = [
                f"{column}: {' '.join(value.split())}" if column else " ".join(value.split())
                for column, value in zip(chain(header, repeat("")), row, strict=False)
                if value
            ]
            yield from facts("; ".join(told), like) if told else ()


def read_mapped(item: Item, how: How) -> Iterator[Draft]:
    """Read JSON records by the names that ``--map`` gives to their fields."""
    for place, value in values(item):
        yield from _mapped(mapping(value, place), how, place, item)


def _mapped(record: Mapping[str, Any], how: How, place: FilePlace, item: Item) -> Iterator[Draft]:
    """Yield the draft of a record; none, with a remark, if it has no text."""
    given = {name: _value(name, _at(record, path), how) for name, path in how.map.items()}
    given = {name: value for name, value in given.items() if value not in (None, "", [])}
    if not str(given.get("text", "")).strip():
        how.note("rows without text were skipped")
        return
    own_id = given.pop("id", None)
    yield replace(
        draft_of(given, place, item.plain_name, how.zone),
        id=None if own_id is None else str(own_id),
    )


def _at(record: Mapping[str, Any], path: str) -> Any:
    """Return a field by its name, or a nested one by its path, such as ``body.text``."""
    if path in record:
        return record[path]
    for step in path.split("."):
        record = fields(record).get(step)  # type: ignore[assignment]  # the last may be any value
    return record


def _value(field: str, value: Any, how: How) -> Any:
    """Convert a value, which a table gives as text, to the type of a draft's field."""
    if field in _LISTS and isinstance(value, str):
        return [one.strip() for one in re.split(r"[,;]", value) if one.strip()]
    if field in _TIMES and value is not None:
        at = moment(value, how.zone)
        return value if at is None else at.isoformat()
    if field == "importance" and isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return float(value)
    return str(value) if field == "text" and isinstance(value, int | float) else value


def _rows(item: Item) -> Iterator[tuple[FilePlace, list[str]]]:
    rest = (f"{line}\n" for _, line in lines(item))
    first = next(rest, "")
    marks = _QUOTED.sub("", first)
    separator = "\t" if item.suffix == ".tsv" else max(SEPARATORS, key=marks.count)
    reader = csv.reader(chain([first], rest), delimiter=separator)
    try:
        for row in reader:
            yield FilePlace(f"{item.place.text}:{reader.line_num}"), row
    except csv.Error as error:
        raise FilePlace(f"{item.place.text}:{reader.line_num}").error(
            f"is not CSV: {error}"
        ) from error


def parse_map(given: list[str]) -> dict[str, str]:
    """Parse ``field=column`` pairs; one argument may have several, separated by commas.

    >>> parse_map(["text=body,occurred_at=date"])
    {'text': 'body', 'occurred_at': 'date'}
    """
    pairs = [pair.partition("=") for one in given for pair in one.split(",")]
    if any(not (name.strip() and column.strip()) for name, _, column in pairs):
        raise InvalidInput("map", "must have the form field=column, such as text=body")
    return {name.strip(): column.strip() for name, _, column in pairs}
