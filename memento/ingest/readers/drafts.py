"""Read JSON objects whose fields are the arguments of ``add``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, tzinfo
from functools import partial
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
from memento.ingest.readers.common import How
from memento.ingest.source import (
    LINES_SUFFIXES,
    FilePlace,
    Head,
    Item,
    checked,
    mapping,
    string,
    time_of,
    values,
)
from memento.types import Draft, Kind, Source, Tier, Trust


def is_drafts(head: Head) -> bool:
    """Recognise drafts: records have a ``text``."""
    empty = head.suffix in {".json", *LINES_SUFFIXES} and not head.text.strip()
    return "text" in head.first or empty or head.records == ([],)


def read_drafts(item: Item, how: How) -> Iterator[Draft]:
    """Read objects with the fields of a draft."""
    for place, value in values(item):
        yield draft_of(mapping(value, place), place, item.plain_name, how.zone)


def draft_of(fields: Mapping[str, Any], place: FilePlace, name: str, zone: tzinfo) -> Draft:
    """Return a draft with these fields. An unknown field is an error: it may be a typing error."""
    given: dict[str, Any] = {}
    for field, value in fields.items():
        if field not in _FIELDS:
            raise place.at(field).error('unknown field; put custom fields under "metadata"')
        if value is not None:
            given[field] = _accepted(field, value, place, zone)
    if not given.get("text", "").strip():
        raise place.at("text").error("is missing or empty")
    source = given.pop("source", Source(uri=name))
    return Draft(**given, source=source if source.uri else replace(source, uri=name))


def _accepted(field: str, value: Any, place: FilePlace, zone: tzinfo) -> Any:
    """Check one field as ``add`` does; the error names the field and its place."""
    try:
        return _FIELDS[field](field, value, place, zone)
    except InvalidInput as error:
        if error.field == "path":  # its message names the place already
            raise
        raise place.at(error.field).error(error.problem) from error


def _source(field: str, value: Any, place: FilePlace, _zone: tzinfo) -> Source:
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


_Check = Callable[[str, Any, FilePlace, tzinfo], Any]


def _placed(parse: Callable[[Any], Any]) -> _Check:
    return lambda field, value, place, _zone: checked(parse, value, place.at(field))


def _alone(check: Callable[[str, Any], Any]) -> _Check:
    return lambda field, value, _place, _zone: check(field, value)


def _time(field: str, value: Any, place: FilePlace, zone: tzinfo) -> datetime:
    return checked(partial(time_of, zone=zone), value, place.at(field))


def _seconds(_field: str, value: Any) -> float:
    expiry(value, 0)
    return float(value)


_FIELDS: Mapping[str, _Check] = {
    "text": _placed(string),
    "tier": _alone(partial(member, Tier)),
    "kind": _alone(partial(member, Kind)),
    "importance": _alone(check_share),
    "key": _alone(optional_name),
    "aliases": _alone(names),
    "scope": _placed(string),
    "session": _alone(optional_name),
    "actor": _alone(optional_name),
    "role": _alone(optional_name),
    "source": _source,
    "tags": _alone(names),
    "metadata": lambda field, value, place, _zone: mapping(value, place.at(field)),
    "occurred_at": _time,
    "valid_until": _time,
    "expires_in": _alone(_seconds),
    "pinned": _alone(check_flag),
    "supersedes": _alone(ids),
    "related": _alone(ids),
    "id": lambda field, value, _place, _zone: check_id(value, field),
    "signal": _alone(optional_name),
    "condition": _alone(optional_name),
    "due_at": _time,
}
"""Field of ``Draft`` to how it is read: name, value, place of the record, and
time zone of times that name none."""
