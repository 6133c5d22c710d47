"""Convert arguments and results to JSON and back, by the annotations of the public methods.

Types that JSON lacks are encoded: moments in ISO 8601, spans of time in seconds, enumerations by
their value, non-finite numbers by their name, data classes as objects, and mappings with keys other
than strings as lists of pairs.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from enum import Enum
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    SupportsFloat,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from memento.verbs.session_handle import Named

Convert = Callable[[Any], Any]
_ODD = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_HOMES = {
    "Any": "typing",
    "Foresight": "memento.observe.values",
    "Messages": "memento.conversation",
    "NDArray": "numpy.typing",
    "Observation": "memento.observe.values",
    "Progress": "memento.protocols",
    "Recalled": "memento.conversation.turns",
    "TokenCounter": "memento.protocols",
    "np": "numpy",
}
"""Names that annotations use and their modules import for type checkers only."""


class _Names(dict[str, Any]):
    def __missing__(self, name: str) -> Any:
        home = import_module(_HOMES[name])
        return home if name == "np" else getattr(home, name)


def hints_of(owner: Any) -> dict[str, Any]:
    """Return the annotations of a function or a data class, as types."""
    return get_type_hints(owner, localns=_Names())


def plain(value: Any) -> Any:
    """Convert an argument or a result to JSON data.

    Raises:
        TypeError: If it cannot be represented.

    >>> plain({"at": datetime(2026, 1, 2), "for": timedelta(minutes=1), "by": (1, 2)})
    {'at': '2026-01-02T00:00:00', 'for': 60.0, 'by': [1, 2]}
    """
    kind: Any = type(value)
    if value is None or kind in (str, int, bool):
        return value
    if dataclasses.is_dataclass(value):
        return {name: plain(getattr(value, name)) for name in _fields(kind)}
    for kinds, form in _FORMS:
        if isinstance(value, kinds):
            return form(value)
    raise TypeError(f"a {kind.__name__} cannot be sent")


def _pairs(value: Mapping[Any, Any]) -> Any:
    if all(isinstance(key, str) for key in value):
        return {str(key): plain(one) for key, one in value.items()}
    return [[plain(key), plain(one)] for key, one in value.items()]


_FORMS: tuple[tuple[Any, Convert], ...] = (
    (Enum, lambda value: plain(value.value)),
    ((int, str), lambda value: value),
    (float, float),
    (datetime, datetime.isoformat),
    (timedelta, timedelta.total_seconds),
    (Path, str),
    (Named, lambda value: {"id": value.id}),
    (Mapping, _pairs),
    (AbstractSet, lambda value: sorted(map(plain, value), key=repr)),
    (Iterable, lambda value: [plain(one) for one in value]),
    (SupportsFloat, float),
)
"""Types other than data classes, and how they are encoded."""


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields that are sent."""
    several = (one.name for one in dataclasses.fields(kind))
    return tuple(name for name in several if not name.startswith("_"))


@cache
def reader(hint: Any, *, exact: bool = False) -> Convert:
    """Return a function that converts JSON to a type, and raises if the JSON does not fit.

    Args:
        hint: The annotation.
        exact: Whether an object with unknown fields is refused. Arguments must be understood
            completely; the result of a newer service need not be.
    """
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return partial(
            _first, _ordered([(one, reader(one, exact=exact)) for one in get_args(hint)])
        )
    if dataclasses.is_dataclass(hint):
        return partial(_object, hint, exact)
    if is_typeddict(hint):
        parts = {name: reader(one, exact=exact) for name, one in get_type_hints(hint).items()}
        return partial(_typed, parts)
    if exact and hint is Path:
        return partial(_is, ())  # a path of the caller's machine
    made: Convert | None = _PLAIN.get(hint)
    if made is None and isinstance(hint, type) and issubclass(hint, Enum):
        made = hint
    return made or _container(hint, origin, exact=exact)


def _container(hint: Any, origin: Any, *, exact: bool) -> Convert:
    given = get_args(hint)
    made: Convert
    if origin is None and isinstance(hint, type) and issubclass(hint, list):
        (base,) = hint.__orig_bases__  # type: ignore[attr-defined]  # a list of something
        made = partial(_list, hint, reader(get_args(base)[0], exact=exact))
    elif origin is Literal:
        made = partial(_one_of, given)
    elif origin is tuple and given[-1] is not Ellipsis:
        made = partial(_tuple, [reader(one, exact=exact) for one in given])
    elif not isinstance(origin, type) or not given:
        raise TypeError(f"{hint} cannot be represented in JSON")
    elif origin.__module__ == "numpy":
        made = _array
    elif issubclass(origin, Mapping):
        made = partial(_mapping, *(reader(one, exact=exact) for one in given))
    else:
        kind = origin if origin in (tuple, frozenset) else list
        made = partial(_list, kind, reader(given[0], exact=exact))
    return made


def _ordered(several: list[tuple[Any, Convert]]) -> list[Convert]:
    """Order the readers of a union: those that take any object or text come last."""
    return [
        read
        for hint, read in sorted(several, key=lambda one: one[0] in (str, Any) or _maps(one[0]))
    ]


def _maps(hint: Any) -> bool:
    origin = get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, Mapping)


def _first(several: list[Convert], value: Any) -> Any:
    for read in several:
        try:
            return read(value)
        except (TypeError, ValueError, KeyError):
            continue
    raise TypeError(f"{value!r:.60} has an invalid value or type")


def _object(kind: Any, exact: bool, value: Any) -> Any:
    hints = _hints(kind)
    if not isinstance(value, dict) or (exact and not value.keys() <= hints.keys()):
        raise TypeError(f"is not a valid {kind.__name__}")
    known = {name: one for name, one in value.items() if name in hints}
    return kind(**{name: reader(hints[name], exact=exact)(one) for name, one in known.items()})


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = hints_of(kind)
    several = (one.name for one in dataclasses.fields(kind) if one.init)
    return {name: hints[name] for name in several if not name.startswith("_")}


def _typed(parts: Mapping[str, Convert], value: Any) -> Any:
    if not isinstance(value, dict):
        raise TypeError("is not an object")
    return {name: parts[name](one) for name, one in value.items()}


def _list(kind: Any, read: Convert, value: Any) -> Any:
    if not isinstance(value, list):
        raise TypeError("is not a list")
    return kind(map(read, value))


def _tuple(several: list[Convert], value: Any) -> Any:
    return tuple(read(one) for read, one in zip(several, value, strict=True))


def _mapping(read_key: Convert, read: Convert, value: Any) -> Any:
    pairs = value.items() if isinstance(value, dict) else value
    return {read_key(key): read(one) for key, one in pairs}


def _one_of(several: tuple[Any, ...], value: Any) -> Any:
    if value not in several:
        raise ValueError(f"{value!r:.60} is not one of {several}")
    return value


def _array(value: Any) -> Any:
    import numpy as np  # noqa: PLC0415 - for vectors only

    return np.asarray(value, np.float32)


def _is(kinds: tuple[type, ...], value: Any) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise TypeError(f"{value!r:.60} has an invalid value or type")
    return value


def _float(value: Any) -> Any:
    return _ODD[value] if isinstance(value, str) else _is((int, float), value)


def _span(value: Any) -> Any:
    return timedelta(seconds=_float(value))


_PLAIN: dict[Any, Convert] = {
    Any: lambda value: value,
    NoneType: partial(_is, (NoneType,)),
    None: partial(_is, (NoneType,)),
    bool: partial(_is, (bool,)),
    int: partial(_is, (int,)),
    str: partial(_is, (str,)),
    float: _float,
    datetime: datetime.fromisoformat,
    timedelta: _span,
    Path: Path,
}


def written(value: Any) -> bytes:
    """Encode a result as JSON."""
    try:
        return json.dumps(value, default=_dataclass, allow_nan=False).encode()
    except (TypeError, ValueError):  # it has values that need `plain`
        return json.dumps(_spelt(plain(value))).encode()


def _spelt(value: Any) -> Any:
    """Replace non-finite numbers by their names."""
    if isinstance(value, dict):
        return {key: _spelt(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_spelt(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _dataclass(value: Any) -> Any:
    if type(value) is datetime:
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    kind: Any = type(value)
    if not hasattr(kind, "__dataclass_fields__"):
        raise TypeError
    return {name: getattr(value, name) for name in _fields(kind)}
