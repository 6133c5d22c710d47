"""JSON objects become memories: their fields are the arguments of ``add``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from memento.check import (
    check_flag,
    check_id,
    check_share,
    check_source,
    expiry,
    ids,
    member,
    names,
    optional_name,
)
from memento.errors import InvalidInput
from memento.ingest.source import FilePlace, checked, mapping, source_named, string, time_of, values
from memento.types import Draft, Kind, Source, Tier, Trust


def read_drafts(path: Path, name: str) -> Iterator[Draft]:
    """Read objects with the fields of a draft."""
    for place, value in values(path):
        yield _draft(mapping(value, place), place, name)


def _draft(fields: Mapping[str, Any], place: FilePlace, name: str) -> Draft:
    """Check the fields of a draft. An unknown one is an error: it may be a known one misspelled."""
    given: dict[str, Any] = {}
    for field, value in fields.items():
        if field not in _FIELDS:
            raise place.at(field).error('unknown field; put your own fields under "metadata"')
        if value is not None:
            given[field] = _accepted(field, value, place)
    if not given.get("text", "").strip():
        raise place.at("text").error("is missing or empty")
    source = given.pop("source", source_named(name))
    return Draft(**given, source=source if source.uri else replace(source, uri=name))


def _accepted(field: str, value: Any, place: FilePlace) -> Any:
    """Check one field as ``add`` does; the error names the field and its place."""
    try:
        return _FIELDS[field](field, value, place)
    except InvalidInput as error:
        if error.field == "path":  # it has its place already
            raise
        raise place.at(error.field).error(error.problem) from error


def _text(field: str, value: Any, place: FilePlace) -> str:
    return checked(string, value, place.at(field))


def _time(field: str, value: Any, place: FilePlace) -> datetime:
    return checked(time_of, value, place.at(field))


def _object(field: str, value: Any, place: FilePlace) -> dict[str, Any]:
    return mapping(value, place.at(field))


def _name(field: str, value: Any, _place: FilePlace) -> str | None:
    return optional_name(field, value)


def _names(field: str, value: Any, _place: FilePlace) -> tuple[str, ...]:
    return names(field, value)


def _ids(field: str, value: Any, _place: FilePlace) -> tuple[str, ...]:
    return ids(field, value)


def _seconds(_field: str, value: Any, _place: FilePlace) -> float:
    expiry(value, 0)
    return float(value)


def _source(field: str, value: Any, place: FilePlace) -> Source:
    fields = mapping(value, place.at(field))
    if unknown := sorted(fields.keys() - {"kind", "uri", "model", "parents"}):
        raise InvalidInput(field, f"unknown fields {unknown}")
    return check_source(
        Source(
            fields.get("kind", Trust.USER),
            fields.get("uri") or None,
            fields.get("model") or None,
            fields.get("parents", ()),
        )
    )


_FIELDS: Mapping[str, Callable[[str, Any, FilePlace], Any]] = {
    "text": _text,
    "tier": lambda field, value, _place: member(Tier, field, value),
    "kind": lambda field, value, _place: member(Kind, field, value),
    "importance": lambda field, value, _place: check_share(field, value),
    "key": _name,
    "aliases": _names,
    "scope": _text,
    "session": _name,
    "actor": _name,
    "role": _name,
    "source": _source,
    "tags": _names,
    "metadata": _object,
    "occurred_at": _time,
    "valid_until": _time,
    "expires_in": _seconds,
    "pinned": lambda field, value, _place: check_flag(field, value),
    "supersedes": _ids,
    "related": _ids,
    "id": lambda field, value, _place: check_id(value, field),
    "signal": _name,
    "condition": _name,
    "due_at": _time,
}
"""Field of ``Draft`` to how it is read: name, value and place of the record."""
