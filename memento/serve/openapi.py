"""The description of the API in OpenAPI 3.1, from the table of routes."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum
from functools import cache
from inspect import Parameter
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, is_typeddict

from memento import __version__
from memento.check import MAX_WAIT
from memento.remote.faults import STATUSES
from memento.remote.routes import ANSWERS, HANDLES, ROUTES, SENDS, Argument, Route
from memento.remote.values import hints_of, plain
from memento.write.change import KEEP

Schema = dict[str, Any]
_PLAIN: dict[Any, Schema] = {
    Any: {},
    None: {"type": "null"},
    NoneType: {"type": "null"},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    datetime: {"type": "string", "format": "date-time"},
    timedelta: {"type": "number", "description": "seconds"},
    Path: {"type": "string"},
}
_STATUSES = sorted({400, 401, 404, 413, 415, 429, *STATUSES.values()})
_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status"],
    "properties": {
        "type": {
            "type": "string",
            "description": "urn:memento:error: followed by the name of the error",
        },
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "facts": {"type": "object", "description": "the attributes of the error"},
    },
}
_HEADERS: dict[str, tuple[str, Schema]] = {
    "Memento-Namespace": (
        "labels joined with /, each percent-encoded; default: the token's own",
        {"type": "string"},
    ),
    "Memento-Timeout": (
        "maximum duration of the call in seconds; in less than 1, a busy service may not begin it",
        {"type": "number", "minimum": 1, "maximum": MAX_WAIT},
    ),
    "Idempotency-Key": (
        "a repeated call with the same key is not executed again",
        {"type": "string", "minLength": 1, "maxLength": 255},
    ),
}


@cache
def document() -> Schema:
    """Return the description of every route."""
    named: dict[str, Schema] = {"Problem": _PROBLEM}
    paths = {route.path: {"post": _operation(route, named)} for route in ROUTES.values()}
    return {
        "openapi": "3.1.0",
        "info": {"title": "memento", "version": __version__},
        "paths": paths | _others(),
        "components": {
            "schemas": named,
            "responses": {"Problem": _answer({"$ref": "#/components/schemas/Problem"}, "problem+")},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _operation(route: Route, named: dict[str, Schema]) -> Schema:
    words = inspect.cleandoc(route.method.__doc__ or "").partition("\nArgs:")[0]
    first, _, rest = words.partition("\n")
    result: Any = hints_of(route.method)["return"]
    if route.name in ANSWERS:
        answer = _answer({"type": "string", "format": "binary"}, kind="application/octet-stream")
    elif route.name in HANDLES:
        answer = _answer({"type": "object", "required": ["id"]})
    else:
        answer = _answer(_schema(result, named))
    return {
        "operationId": route.name,
        "tags": [route.name.rpartition(".")[0] or "memory"],
        "summary": first,
        "description": f"{rest.strip()}\n\nRequires the {route.rights} right.".strip(),
        "parameters": [
            {"name": name, "in": "header", "description": said, "schema": schema}
            for name, (said, schema) in _HEADERS.items()
        ],
        "requestBody": {"required": True, "content": _body(route, named)},
        "responses": {"200": answer} | _problems(),
    }


def _problems() -> Schema:
    return {str(status): {"$ref": "#/components/responses/Problem"} for status in _STATUSES}


def _answer(schema: Schema, before: str = "", *, kind: str = "") -> Schema:
    kind = kind or f"application/{before}json"
    return {"description": "the answer", "content": {kind: {"schema": schema}}}


def _body(route: Route, named: dict[str, Schema]) -> Schema:
    if route.name in SENDS:
        return {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    several = {
        name: {"type": "string", "description": "name of the file"}
        if name == ANSWERS.get(route.name)
        else _argument(one, named)
        for name, one in route.arguments.items()
    }
    needed = [name for name, one in route.arguments.items() if one.default is Parameter.empty]
    schema: Schema = {"type": "object", "properties": several, "additionalProperties": False}
    return {"application/json": {"schema": schema | ({"required": needed} if needed else {})}}


def _argument(one: Argument, named: dict[str, Schema]) -> Schema:
    schema = _schema(one.hint, named)
    if one.default is Parameter.empty or one.default is KEEP or one.default is None:
        return schema
    return schema | {"default": plain(one.default)}


def _schema(hint: Any, named: dict[str, Schema]) -> Schema:
    """Return the schema of a type; add the schema of a data class to ``named``."""
    origin, given = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if origin in (Union, UnionType):
        return {"anyOf": [_schema(one, named) for one in given if _is_sent(one)]}
    if origin is Literal:
        return {"enum": [*given]}
    if dataclasses.is_dataclass(hint) or is_typeddict(hint):
        return _named(hint, named)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"type": "string", "enum": [one.value for one in hint]}
    return _several(hint, origin, given, named)


def _is_sent(hint: Any) -> bool:
    """Return whether a type can be sent as JSON; open files, for example, cannot."""
    module = getattr(get_origin(hint) or hint, "__module__", "")
    private = module.startswith(("typing", "numpy", "memento.verbs.session"))
    return (
        not private or dataclasses.is_dataclass(hint) or hint is Any or get_origin(hint) is Literal
    )


def _named(hint: Any, named: dict[str, Schema]) -> Schema:
    name = hint.__name__
    if name not in named:
        named[name] = {"type": "object"}
        hints = hints_of(hint)
        if dataclasses.is_dataclass(hint):
            fields = dataclasses.fields(hint)
            named[name]["required"] = [
                one.name
                for one in fields
                if one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
            ]
            hints = {one.name: hints[one.name] for one in fields if not one.name.startswith("_")}
        named[name]["properties"] = {key: _schema(one, named) for key, one in hints.items()}
    return {"$ref": f"#/components/schemas/{name}"}


def _several(hint: Any, origin: Any, given: tuple[Any, ...], named: dict[str, Schema]) -> Schema:
    if origin is None and isinstance(hint, type) and issubclass(hint, list):
        given = get_args(hint.__orig_bases__[0])  # type: ignore[attr-defined]  # a list of something
    if origin is tuple and given[-1] is not Ellipsis:
        return _fixed(*(_schema(one, named) for one in given))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        key, value = given
        if key in (str, Any):
            return {"type": "object", "additionalProperties": _schema(value, named)}
        pair = _fixed(_schema(key, named), _schema(value, named))
        return {"anyOf": [{"type": "object"}, {"type": "array", "items": pair}]}
    if getattr(origin, "__module__", "") == "numpy":
        return {"type": "array"}
    return {"type": "array", "items": _schema(given[0], named) if given else {}}


def _fixed(*several: Schema) -> Schema:
    """Return the schema of a list of a fixed length; many tools cannot read ``prefixItems``."""
    count = len(several)
    return {"type": "array", "items": {"anyOf": [*several]}, "minItems": count, "maxItems": count}


def _others() -> Schema:
    """Return the description of the routes that call no method."""
    told = {"type": "object"}
    return {
        "/v1/about": {"get": _get("The service, the token and its namespace.", _answer(told))},
        "/v1/changes/stream": {
            "get": _get(
                "A stream of changes to the store as server-sent events.",
                _answer({"type": "string"}, kind="text/event-stream"),
            )
        },
        "/livez": {"get": _get("Whether the process is alive.", _answer(told), free=True)},
        "/readyz": {
            "get": _get(
                "Whether the service takes calls; 503 while it ends. It does not ask the database.",
                _answer(told),
                free=True,
            )
        },
        "/metrics": {
            "get": _get("Counters for Prometheus.", _answer({"type": "string"}, kind="text/plain"))
        },
    }


def _get(summary: str, answer: Schema, *, free: bool = False) -> Schema:
    return {"summary": summary, "responses": {"200": answer} | _problems()} | (
        {"security": []} if free else {}
    )
