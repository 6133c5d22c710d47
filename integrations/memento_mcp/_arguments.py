"""Hold the arguments of a call against the part of JSON Schema that the table uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memento.check import first_of, shown


def plain(schema: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as models mean them: a null is an absent one, and 8.0 is 8.

    >>> plain({"properties": {"k": {"type": "integer"}}}, {"k": 8.0, "kind": None})
    {'k': 8}
    """
    whole = {name for name, field in schema["properties"].items() if field["type"] == "integer"}
    return {
        name: int(value) if name in whole and _is_whole(value) else value
        for name, value in given.items()
        if value is not None
    }


def _is_whole(value: object) -> bool:
    return isinstance(value, float) and value.is_integer()


_TYPES: Mapping[str, type] = {"string": str, "integer": int, "boolean": bool}


def faults(schema: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """List what is wrong with some arguments, all of it at once.

    Args:
        schema: The ``inputSchema`` of a tool.
        given: The arguments by name.

    Returns:
        One part of a sentence a fault; none if the tool can take them.

    >>> schema = {"properties": {"k": {"type": "integer", "minimum": 1, "maximum": 5}}}
    >>> faults(schema, {"k": 9, "q": "x"})
    ['k must be from 1 to 5', "'q' is no argument; known: 'k'"]
    """
    fields = schema["properties"]
    missing = [f"{name} is missing" for name in schema.get("required", ()) if name not in given]
    known = first_of(sorted(fields))
    return missing + [
        fault
        for name, value in given.items()
        if (
            fault := _fault(name, fields[name], value)
            if name in fields
            else f"{shown(name)} is no argument; known: {known}"
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
