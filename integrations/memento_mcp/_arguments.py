"""Check the arguments of a call against the subset of JSON Schema that the table uses."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import memento


def plain(schema: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Convert arguments to the types in the schema, as the model meant them.

    Numbers, flags and null may be given as text, text as a number, flags also as yes or 0, whole
    numbers as 8.0, ids with surrounding spaces, and a single value instead of a list. Characters
    that a database cannot store are replaced by the replacement character, and an optional text
    that is empty counts as absent.

    >>> fields = {"k": {"type": "integer"}, "all": {"type": "boolean"}, "kind": {"type": "string"}}
    >>> plain({"properties": fields}, {"k": "8", "all": "True", "kind": "null"})
    {'k': 8, 'all': True}
    """
    needed = schema.get("required", ())
    read = {
        name: _read(schema["properties"].get(name, {}), value, needed=name in needed)
        for name, value in given.items()
    }
    if isinstance(given_id := read.get("id"), str):
        read["id"] = given_id.strip()
    return {name: value for name, value in read.items() if value is not None}


_FLAGS: Mapping[str, bool] = {
    "true": True, "yes": True, "on": True, "1": True, "y": True, "t": True,
    "false": False, "no": False, "off": False, "0": False, "n": False, "f": False,
}  # fmt: skip


def _read(field: Mapping[str, Any], value: object, *, needed: bool) -> object:
    """Convert one value; return it unchanged if it does not fit, for ``faults`` to report."""
    if isinstance(value, list) and len(value) == 1:
        (value,) = value
    kind = field.get("type")
    if isinstance(value, int | float) and not isinstance(value, bool) and kind != "integer":
        value = format(value, ".15g") if isinstance(value, float) else str(value)
    if isinstance(value, str):
        value = memento.conversation.mended(value)
        word = value.strip().lower()
        if not needed and word in {"", "null", "none"}:
            return None
        if kind == "boolean":
            return _FLAGS.get(word, value)
        if kind == "integer":
            with suppress(ValueError):
                value = float(word)
        elif "enum" in field:
            return word
    whole = isinstance(value, float) and value.is_integer() and kind == "integer"
    return int(value) if whole else value  # type: ignore[call-overload]  # a float then


_TYPES: Mapping[str, type] = {"string": str, "integer": int, "boolean": bool}


def faults(schema: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """List everything that is wrong with the arguments.

    Args:
        schema: The ``inputSchema`` of a tool.
        given: The arguments by name.

    Returns:
        A description of each fault; empty if the tool can accept them.

    >>> schema = {"properties": {"k": {"type": "integer", "minimum": 1, "maximum": 5}}}
    >>> faults(schema, {"k": 9, "q": "x"})
    ['k must be from 1 to 5', "'q' is not an argument; known arguments: 'k'"]
    """
    fields = schema["properties"]
    missing = [f"{name} is missing" for name in schema.get("required", ()) if name not in given]
    known = memento.check.first_of(sorted(fields))
    return missing + [
        fault
        for name, value in given.items()
        if (
            fault := _fault(name, fields[name], value)
            if name in fields
            else f"{memento.check.shown(name)} is not an argument; known arguments: {known}"
        )
    ]


def _fault(name: str, field: Mapping[str, Any], value: object) -> str:
    kind = field["type"]
    if not isinstance(value, _TYPES[kind]) or isinstance(value, bool) != (kind == "boolean"):
        return f"{name} must be of type {kind}"
    if "enum" in field and value not in field["enum"]:
        return f"{name} must be one of {', '.join(field['enum'])}"
    if isinstance(value, int) and kind == "integer":
        least, most = field["minimum"], field["maximum"]
        return "" if least <= value <= most else f"{name} must be from {least} to {most}"
    return ""
