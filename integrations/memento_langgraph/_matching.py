"""What LangGraph means by namespaces and filters. Pure.

A namespace is kept as a scope path: its labels, escaped, and a closing segment of its own, ``~``,
since a scope cannot be empty and a namespace can.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from langgraph.store.base import MatchCondition

from memento.errors import InvalidInput

END = "~"
"""Closes the scope of a namespace; no escaped label is spelt like it."""

_COMPARED: Mapping[str, Callable[[float, float], bool]] = {
    "$gt": lambda value, bound: value > bound,
    "$gte": lambda value, bound: value >= bound,
    "$lt": lambda value, bound: value < bound,
    "$lte": lambda value, bound: value <= bound,
}


def scope_of(namespace: tuple[str, ...]) -> str:
    """Spell a namespace as the scope of its items.

    >>> scope_of(("users", "a/b")), scope_of(())
    ('users/a%2Fb/~', '~')
    """
    return "/".join((*map(_segment, namespace), END))


def labels_of(scope: str) -> tuple[str, ...]:
    """Read the namespace of an item back from its scope.

    >>> labels_of("users/a%2Fb/~"), labels_of("~"), labels_of(scope_of(("%", ".", " ")))
    (('users', 'a/b'), (), ('%', '.', ' '))
    """
    return tuple(map(_label, scope.split("/")[:-1]))


def prefix_of(namespace: tuple[str, ...]) -> str:
    """Spell a namespace as the scope of everything below it."""
    return "/".join(map(_segment, namespace))


def passes(value: Mapping[str, Any], conditions: Mapping[str, Any] | None) -> bool:
    """Tell whether a value passes a filter, as ``InMemoryStore`` does.

    What is not there, or no number, is neither greater nor less than anything.

    >>> passes({"age": 7}, {"age": {"$gte": 7, "$ne": 8}}), passes({"a": {"b": 1}}, {"a": {"b": 2}})
    (True, False)

    Raises:
        InvalidInput: If an operator is not known, or is given no number to compare with.
    """
    return all(_equal(value.get(key), wanted) for key, wanted in (conditions or {}).items())


def spelt(conditions: Mapping[str, Any] | None) -> dict[str, str | None]:
    """Pick the conditions that the ledger can decide: fields equal to a plain text, or absent."""
    return {
        key: wanted
        for key, wanted in (conditions or {}).items()
        if (wanted is None or type(wanted) is str) and f"{key}{wanted}".isprintable()
    }


def matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    """Tell whether a namespace starts or ends like a path; ``*`` stands for any label.

    Raises:
        InvalidInput: If the condition is neither ``prefix`` nor ``suffix``.
    """
    path = tuple(condition.path)
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidInput("match_type", f"{condition.match_type!r} is not prefix or suffix")
    if len(namespace) < len(path):
        return False
    if condition.match_type == "prefix":
        part = namespace[: len(path)]
    else:
        part = namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))


def _segment(label: str) -> str:
    if not isinstance(label, str):
        raise InvalidInput("namespace", f"labels must be strings, not {label!r}")
    if not label.strip():
        return f"%{label.encode().hex()}%"  # a blank segment is no scope
    if label in {".", ".."}:
        return label.replace(".", "%2E")
    return "".join(char if _safe(char) else _escaped(char) for char in label)


def _label(segment: str) -> str:
    if segment.endswith("%"):
        return bytes.fromhex(segment[1:-1]).decode()
    return unquote(segment, errors="surrogatepass")


def _safe(char: str) -> bool:
    return char.isprintable() and char not in "%/~"


def _escaped(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode(errors="surrogatepass"))


def _equal(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(name.startswith("$") for name in wanted):
            return all(_holds(value, name, bound) for name, bound in wanted.items())
        return isinstance(value, Mapping) and passes(value, wanted)
    if isinstance(wanted, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(wanted)
            and all(map(_equal, value, wanted))
        )
    return bool(value == wanted)


def _holds(value: Any, operator: str, bound: Any) -> bool:
    if operator == "$eq":
        return bool(value == bound)
    if operator == "$ne":
        return bool(value != bound)
    if operator not in _COMPARED:
        known = ", ".join(["$eq", "$ne", *_COMPARED])
        raise InvalidInput("filter", f"{operator!r} is not an operator; known: {known}")
    limit = _number(bound)
    if limit is None:
        raise InvalidInput("filter", f"{operator} needs a number, not {bound!r}")
    number = _number(value)
    return number is not None and _COMPARED[operator](number, limit)


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
