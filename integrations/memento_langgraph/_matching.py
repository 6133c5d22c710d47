"""Translate LangGraph's namespaces and filters to memento's. Pure.

A namespace is kept as a scope path: its labels, escaped, and a closing segment of its own, ``~``,
since a scope cannot be empty and a namespace can.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from langgraph.store.base import MatchCondition

from memento.base.plain import composed
from memento.base.scopes import MAX_LABEL
from memento.errors import InvalidInput, InvalidScope

MAIN = ("text", "content", "memory")
"""Fields of a value that say what it is about, the first that is there."""
DEEPEST = 64
"""Levels of a value that are read; memento refuses deeper ones."""
END = "~"
"""Closes the scope of a namespace; no escaped label is equal to it."""

_COMPARED: Mapping[str, Callable[[float, float], bool]] = {
    "$gt": lambda value, bound: value > bound,
    "$gte": lambda value, bound: value >= bound,
    "$lt": lambda value, bound: value < bound,
    "$lte": lambda value, bound: value <= bound,
}


def scope_of(namespace: tuple[str, ...]) -> str:
    """Convert a namespace to the scope of its items.

    Raises:
        InvalidScope: If it is too long, or a label is not a string.

    >>> scope_of(("users", "a/b")), scope_of(())
    ('users/a%2Fb/~', '~')
    """
    path = "/".join((*map(_segment, namespace), END))
    if len(path) > MAX_LABEL:
        raise InvalidScope(
            "namespace", f"takes {len(path)} characters when escaped; the maximum is {MAX_LABEL}"
        )
    return path


def labels_of(scope: str) -> tuple[str, ...]:
    """Return the namespace of an item, given its scope.

    >>> labels_of("users/a%2Fb/~"), labels_of("~"), labels_of(scope_of(("%", ".", " ")))
    (('users', 'a/b'), (), ('%', '.', ' '))
    """
    return tuple(map(_label, scope.split("/")[:-1]))


@lru_cache(maxsize=1024)
def namespace_of(scope: str) -> tuple[str, ...] | None:
    """Return the namespace of an item, given its scope; None if no item has that scope.

    >>> namespace_of("users/~"), namespace_of("users"), namespace_of("%zz%/~")
    (('users',), None, None)
    """
    try:
        return labels_of(scope) if scope.rpartition("/")[2] == END else None
    except ValueError:
        return None


def prefix_of(namespace: tuple[str, ...]) -> str:
    """Convert a namespace to the scope of everything below it."""
    return "/".join(map(_segment, namespace))


def passes(value: Mapping[str, Any], conditions: Mapping[str, Any] | None) -> bool:
    """Return whether a value passes a filter, by the rules of ``InMemoryStore``.

    A missing value, or one that is not a number, is neither greater nor less than any other. Names
    and texts are normalised to one form of Unicode before they are compared. Where there is no
    field of a name with dots, it is a path, as for ``SqliteStore``.

    >>> passes({"age": 7}, {"age": {"$gte": 7, "$ne": 8}}), passes({"a": {"b": 1}}, {"a": {"b": 2}})
    (True, False)
    >>> passes({"user": {"access-level": "all"}}, {"user.access-level": "all"})
    True

    Raises:
        InvalidInput: If an operator is not known, or is given no number to compare with.
    """
    return all(
        any(_equal(field, wanted) for field in _fields(value, key))
        for key, wanted in (conditions or {}).items()
    )


def spelt(conditions: Mapping[str, Any] | None) -> dict[str, str | None]:
    """Return the conditions that the ledger can check: fields equal to a plain text, or absent.

    ``passes`` checks all others, because ``where`` has different rules: a number never equals a
    bool, a string is not a number, a list is a choice of values, and a dot separates names.

    >>> spelt({"a": "x", "b": None, "n": 1, "a.b": "x", "$x": None})
    {'a': 'x', 'b': None}
    """
    return {
        key: wanted
        for key, wanted in (conditions or {}).items()
        if (wanted is None or type(wanted) is str) and f"{key}{wanted}".isprintable()
        if not key.startswith("$") and "." not in key
    }


def readable(value: Mapping[str, Any]) -> str:
    r"""Convert a value to readable text for searching; names and braces would dilute its meaning.

    The main text comes first, without its name: the field of ``MAIN``, or the only text there is.
    The other fields follow; where no field is the main one, each with its name.

    >>> readable({"kind": "fact", "text": "Ada eats no nuts", "strict": True})
    'Ada eats no nuts\nfact'
    >>> readable({"amount": 40, "from": {"name": "Ada", "city": "Ur"}})
    'amount: 40\nfrom name: Ada\nfrom city: Ur'
    """
    main = _main(value)
    lines = []
    for path, leaf in _leaves(value):
        if not main:
            lines.append(f"{' '.join(path)}: {_spelt(leaf)}")
        elif path == main:
            lines.insert(0, leaf)
        elif isinstance(leaf, str | float | int) and not isinstance(leaf, bool):
            lines.append(str(leaf))
    return "\n".join(lines)


def matches(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    """Return whether a namespace starts or ends with a path; ``*`` stands for any label.

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


def _main(value: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the path to what a value is about; nothing if nothing stands out."""
    for name in MAIN:
        found = value.get(name)
        if isinstance(found, str) and found.strip():
            return (name,)
        if isinstance(found, Mapping) and (below := _main(found)):
            return (name, *below)
    texts = [str(name) for name, leaf in value.items() if isinstance(leaf, str) and leaf.strip()]
    return tuple(texts) if len(texts) == 1 else ()


def _leaves(
    value: Any, path: tuple[str, ...] = (), depth: int = 0
) -> Iterator[tuple[tuple[str, ...], Any]]:
    if depth > DEEPEST:
        return
    if isinstance(value, Mapping):
        for name, below in value.items():
            yield from _leaves(below, (*path, str(name)), depth + 1)
    elif isinstance(value, list | tuple):
        for below in value:
            yield from _leaves(below, path, depth + 1)
    elif value is not None and value != "":
        yield path, value


def _spelt(leaf: Any) -> str:
    return leaf if isinstance(leaf, str) else json.dumps(leaf)


def _segment(label: str) -> str:
    if not isinstance(label, str):
        raise InvalidScope("namespace", f"labels must be strings, not {label!r}")
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
    return bool(_folded(value) == _folded(wanted))


def _fields(value: Mapping[str, Any], key: str) -> list[Any]:
    """Return the fields of a name, one for each form of Unicode it is there in; None if none is."""
    return list(_found(value, _folded(key))) or [None]


def _found(value: Mapping[str, Any], name: str) -> Iterator[Any]:
    """Yield the fields of a name; if there are none and it has dots, those at the path."""
    named = [field for each, field in value.items() if _folded(each) == name]
    yield from named
    first, dot, rest = name.partition(".")
    for each, field in value.items() if dot and not named else ():
        if _folded(each) == first and isinstance(field, Mapping):
            yield from _found(field, rest)


def _folded(value: Any) -> Any:
    """Return a value with the names and texts in it in one form of Unicode."""
    if isinstance(value, str):
        return composed(value)
    if isinstance(value, Mapping):
        return {_folded(name): _folded(field) for name, field in value.items()}
    return [_folded(one) for one in value] if isinstance(value, list) else value


def _holds(value: Any, operator: str, bound: Any) -> bool:
    if operator == "$eq":
        return bool(_folded(value) == _folded(bound))
    if operator == "$ne":
        return bool(_folded(value) != _folded(bound))
    if operator not in _COMPARED:
        known = ", ".join(["$eq", "$ne", *_COMPARED])
        raise InvalidInput("filter", f"{operator!r} is not an operator; known: {known}")
    limit = _number(bound)
    if limit is None:
        raise InvalidInput("filter", f"{operator} requires a number, not {bound!r}")
    number = _number(value)
    return number is not None and _COMPARED[operator](number, limit)


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
