"""Commands and the options that they share.

``command`` registers a function as a command; Typer gets everything from its signature.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from copy import copy
from datetime import UTC, datetime
from enum import Enum
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin

import typer
from typer.models import ParameterInfo

from memento import MemoryManager
from memento.base.clock import system_clock
from memento.base.home import VARIABLE
from memento.base.lazy import later
from memento.cli.local import zone
from memento.cli.menu import Command, Menu
from memento.cli.output import Shown
from memento.cli.store import Store
from memento.errors import InvalidInput
from memento.ledger.filters import Filtering
from memento.protocols import Clock
from memento.types import Kind, Tier

if TYPE_CHECKING:
    from memento.text import when
else:
    when = later("memento.text.when")


CHOICES = 30
"""Maximum number of characters in the choices that a help line shows; more are named in the
error."""


def given(context: typer.Context, name: str, *sources: str) -> bool:
    """Return whether an option came from one of the sources; by default, any but the default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name in (sources or ("COMMANDLINE", "ENVIRONMENT"))


def moment_of(text: str, now: Clock = system_clock, *, ahead: bool = False) -> datetime:
    """Parse a moment with ``memento.text.when``; without a zone, it is in the user's time zone.

    >>> moment_of("2025-05-01").isoformat()
    '2025-05-01T00:00:00+00:00'
    """
    present = now().astimezone(zone())
    return when.moment_of(text, present, ahead=ahead).astimezone(UTC)


def coming_moment_of(text: str) -> datetime:
    """Parse a moment; a relative one, such as a weekday, is in the future."""
    return moment_of(text, ahead=True)


def seconds_of(text: str) -> float:
    """Parse a length of time with ``memento.text.when``; return seconds.

    >>> seconds_of("15m")
    900.0
    """
    return when.seconds_of(text)


def count_of(text: str) -> int | None:
    """Parse a number of hits: a whole number, or ``auto`` (None) for as many as the query wants.

    >>> count_of("3"), count_of("auto")
    (3, None)
    """
    if text == "auto":
        return None
    try:
        return int(text)
    except ValueError:
        raise InvalidInput("k", f"{text!r:.60} is neither a whole number nor auto") from None


def where_of(given: Sequence[str]) -> dict[str, Any]:
    """Parse conditions on metadata: each ``KEY=VALUE``, or a JSON object as for ``where``.

    A value that is JSON, such as a number, ``true`` or a list, is decoded; any other is text.

    >>> where_of(["city=Utrecht", "n=3", '{"price": {"$gt": 3}}'])
    {'city': 'Utrecht', 'n': 3, 'price': {'$gt': 3}}
    """
    where: dict[str, Any] = {}
    for text in given:
        for key, value in condition_of("--where", text).items():
            if key in where:
                raise InvalidInput(
                    "--where", f"{key!r:.60} is given twice; use a single JSON object"
                )
            where[key] = value
    return where


def condition_of(name: str, text: str) -> dict[str, Any]:
    """Parse ``KEY=VALUE`` or a JSON object; errors name the option."""
    if text.lstrip().startswith("{"):
        try:
            found: dict[str, Any] = json.loads(text)
        except ValueError as error:
            raise InvalidInput(name, f"{text!r:.60} is not a JSON object: {error}") from None
        return found
    key, sign, value = text.partition("=")
    if not sign:
        raise InvalidInput(name, f"{text!r:.60} is neither KEY=VALUE nor a JSON object")
    try:
        return {key: json.loads(value, parse_constant=_no_constant)}
    except ValueError:
        return {key: value}


def _no_constant(name: str) -> None:
    """Refuse NaN and Infinity, which Python's parser accepts but JSON does not have."""
    raise ValueError(name)


def group(help: str) -> typer.Typer:  # noqa: A002 - typer's own word
    """Make a group of commands; without a command, it prints its help."""
    return typer.Typer(cls=Menu, help=help, no_args_is_help=True)


def option(*words: str, default: Any = ..., **more: Any) -> Any:
    """Declare an option as the default of its parameter: its names, then its help.

    Without ``default``, a flag is False, and what may be None is None; anything else is required.
    """
    return typer.Option(default, *words[:-1], help=words[-1], **more)


def moment_option(*words: str, parser: Callable[[str], datetime] = moment_of) -> Any:
    """Declare an option that takes a moment."""
    return option(*words, parser=parser, metavar="MOMENT")


def argument(help: str, *, default: Any = ..., **more: Any) -> Any:  # noqa: A002 - typer's own word
    """Declare an argument as the default of its parameter; see ``option``."""
    return typer.Argument(default, help=help, **more)


Root = Annotated[
    str | None,
    option(
        "--root",
        "Store folder. Default: the nearest agent_memory, or else the user's store.",
        envvar=VARIABLE,
        metavar="FOLDER",
    ),
]
Namespace = Annotated[
    str | None,
    option(
        "--namespace",
        "Namespace to use: one or more labels joined with '/'. Default: default, "
        "or that of the token.",
        envvar="MEMENTO_NAMESPACE",
        metavar="LABELS",
    ),
]
EmbedderName = Annotated[
    str,
    option(
        "--embedder",
        "Embedder to use: default, none, sentence-transformers:NAME or openai:MODEL.",
        envvar="MEMENTO_EMBEDDER",
        metavar="NAME",
    ),
]
AsJson = Annotated[bool, option("--json", "Print JSON.")]
Scope = Annotated[str, option("--scope", "Scope that it applies to, such as project/x.")]
Scopes = Annotated[
    list[str] | None, option("--scope", "Only memories that apply in this scope; repeatable.")
]
Within = Annotated[
    list[str] | None,
    option("--within", "Only memories in this scope or below it; repeatable.", metavar="SCOPE"),
]
Session = Annotated[str | None, option("--session", "Name of the conversation.")]
KnownAt = Annotated[
    datetime | None, moment_option("--known-at", "Use only information recorded by this time.")
]
Query = Annotated[list[str], argument("The query, in natural language.", metavar="QUERY")]
Id = Annotated[str, argument("Memory id, part of an id, or key.", metavar="ID|KEY")]
Ids = Annotated[list[str], argument("Memory ids, parts of ids, or keys.", metavar="ID|KEY")]
SlotScope = Annotated[str, option("--scope", "Exact scope of the slot.")]
ID = "0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10"
"""An id for examples."""


class Filters(Filtering, total=False):
    """The filter options that ``retrieve``, ``prompt`` and ``list`` share."""

    as_of: datetime | None
    known_at: datetime | None


def filters_of(
    memory: MemoryManager,
    *,
    tier: list[Tier] | None = option("--tier", "Only memories in this tier; repeatable."),
    kind: list[Kind] | None = option("--kind", "Only memories of this kind; repeatable."),
    scope: Scopes = None,
    within: Within = None,
    session: list[str] | None = option("--session", "Only memories from this session; repeatable."),
    tag: list[str] | None = option(
        "--tag", "Only memories with this tag; repeat to require several."
    ),
    any_tag: list[str] | None = option(
        "--any-tag", "Only memories with this tag; repeat to accept any of several."
    ),
    key: list[str] | None = option("--key", "Only memories with this key; repeatable."),
    actor: list[str] | None = option(
        "--actor", "Only memories from this person or agent; repeatable."
    ),
    role: list[str] | None = option("--role", "Only memories with this chat role; repeatable."),
    source: list[str] | None = option(
        "--source", "Only memories from this trust class or address; repeatable."
    ),
    where: list[str] | None = option(
        "--where", "Only memories with this metadata; repeatable.", metavar="KEY=VALUE|JSON"
    ),
    without: list[str] | None = option(
        "--without", "Exclude this memory (an id or part of one); repeatable.", metavar="ID"
    ),
    since: datetime | None = moment_option(
        "--since", "Only memories since this time: a date, last monday, 7d."
    ),
    until: datetime | None = moment_option(
        "--until", "Only memories before this time; same formats as --since."
    ),
    as_of: datetime | None = moment_option("--as-of", "Only memories valid at this time."),
    known_at: KnownAt = None,
) -> Filters:
    """Return the values of the filter options, with ids completed."""
    return {
        "tier": tier or None,
        "kind": kind or None,
        "scope": scope or None,
        "within": within or None,
        "session": session or None,
        "tag": tag or None,
        "any_tag": any_tag or None,
        "key": key or None,
        "actor": actor or None,
        "role": role or None,
        "source": source or None,
        "where": where_of(where or ()),
        "without": [memory.store.full_id(one) for one in without or ()] or None,
        "since": since,
        "until": until,
        "as_of": as_of,
        "known_at": known_at,
    }


def _parameter(name: str, annotation: Any, default: object) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return _declared(inspect.Parameter(name, kind, default=default, annotation=annotation))


def _declared(one: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter as Typer takes it, with its choices, if short, or its name as placeholder.

    Typer would print the Python type, such as ``<list[str]>``; see also ``menu.Command``.
    """
    kind, known, default = one.annotation, one.default, one.default
    if isinstance(known, ParameterInfo):
        unset = None if NoneType in get_args(kind) else False if kind is bool else one.empty
        default = unset if known.default is ... else known.default
    elif get_origin(kind) is Annotated:
        kind, known = get_args(kind)
    else:
        return one
    shown = copy(known)
    shown.default = ...
    parts: set[Any] = {*_parts(kind)}
    if shown.metavar is None and bool not in parts:
        choices = [
            str(each.value)
            for part in parts
            if isinstance(part, type) and issubclass(part, Enum)
            for each in part
        ]
        short = "N" if int in parts else "|".join(choices)
        name = one.name.rpartition("_")[2].upper()
        shown.metavar = short if 0 < len(short) <= CHOICES else name
    return one.replace(annotation=Annotated[kind, shown], default=default)


def _parts(kind: Any) -> Iterator[Any]:
    """Yield a type and, recursively, its type arguments."""
    yield get_origin(kind) or kind
    for part in get_args(kind):
        yield from _parts(part)


_FILTERS = [*map(_declared, inspect.signature(filters_of, eval_str=True).parameters.values())][1:]
_STORE = [
    _parameter("named", Root, None),
    _parameter("namespace", Namespace, None),
    _parameter("embedder", EmbedderName, "default"),
]
_JSON = _parameter("as_json", AsJson, default=False)
_Body = TypeVar("_Body", bound=Callable[..., "Shown | int | None"])


def epilog(*examples: str) -> str:
    """Return the examples at the end of a help text; the backspace makes click keep the lines."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in examples)


def command(
    app: typer.Typer,
    *examples: str,
    name: str | None = None,
    make: bool = False,
    embeds: bool = True,
) -> Callable[[_Body], _Body]:
    """Register a function as a command: its parameters are the arguments and options.

    Three parameters stand for several options. ``memory`` is the open store that --root,
    --namespace and --embedder name. ``store`` is the same for a function that opens it itself, for
    example after checking its arguments. ``filters`` are the options that filter memories. A
    command that returns ``Shown`` also has --json.

    Args:
        app: The group of the command.
        examples: Command lines for the end of its help.
        name: The command's name, if it differs from the function's.
        make: Whether to create the store if there is none.
        embeds: Whether the command takes --embedder.
    """

    def register(body: _Body) -> _Body:
        own = inspect.signature(body, eval_str=True)
        asked = {name: _declared(one) for name, one in own.parameters.items()}
        shows = own.return_annotation is Shown
        plain: Any = body
        plain.__kwdefaults__ = {  # for other commands that call it
            name: one.default for name, one in asked.items() if one.default is not one.empty
        }
        stored = (_STORE if embeds else _STORE[:2]) if {"memory", "store"} & {*asked} else []

        @functools.wraps(body)
        def run(**values: Any) -> int | None:
            as_json = values.pop("as_json") if shows else False
            named = {one.name: values.pop(one.name) for one in stored}
            store = Store(**{"embedder": "none", **named}, make=make)
            with ExitStack() as opened:
                if "store" in asked:
                    values["store"] = store
                if "memory" in asked:
                    values["memory"] = opened.enter_context(store.open())
                if "filters" in asked:
                    chosen = {one.name: values.pop(one.name) for one in _FILTERS}
                    values["filters"] = filters_of(values["memory"], **chosen)
                told = body(**values)
            return told.show(as_json=as_json) if isinstance(told, Shown) else told

        options: list[inspect.Parameter] = []
        for one in asked.values():
            if one.name not in {"memory", "store"}:
                options += _FILTERS if one.name == "filters" else [one]
        options = [
            one.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for one in [*options, *([_JSON] if shows else []), *stored]
        ]
        run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]  # for Typer
        run.__annotations__ = {one.name: one.annotation for one in options}
        app.command(name, cls=Command, epilog=epilog(*examples))(run)
        return body

    return register
