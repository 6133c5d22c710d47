"""Check the values of a JSON record; an error names the place in the file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from memento.check import check_moment, storable
from memento.errors import InvalidInput
from memento.ingest.source import FilePlace

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
