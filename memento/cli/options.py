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


def option(*names: str, help: str, **more: Any) -> Any:  # noqa: A002 - typer's own word
    """Declare an option with its names and help."""
    return typer.Option(*names, help=help, **more)


Root = Annotated[
    str | None,
    option(
        "--root",
        envvar=VARIABLE,
        metavar="FOLDER",
        help="Store folder. Default: the nearest agent_memory, or else the user's store.",
    ),
]
Namespace = Annotated[
    str,
    option(
        "--namespace",
        envvar="MEMENTO_NAMESPACE",
        metavar="LABELS",
        help="Namespace to use: one or more labels joined with '/'.",
    ),
]
EmbedderName = Annotated[
    str,
    option(
        "--embedder",
        envvar="MEMENTO_EMBEDDER",
        metavar="NAME",
        help="Embedder to use: default, none, sentence-transformers:NAME or openai:MODEL.",
    ),
]
AsJson = Annotated[bool, option("--json", help="Print JSON.")]
Scope = Annotated[str, option("--scope", help="Scope that it applies to, such as project/x.")]
Scopes = Annotated[
    list[str] | None, option("--scope", help="Only memories that apply in this scope; repeatable.")
]
Within = Annotated[
    list[str] | None,
    option(
        "--within", metavar="SCOPE", help="Only memories in this scope or below it; repeatable."
    ),
]
Session = Annotated[str | None, option("--session", help="Name of the conversation.")]
KnownAt = Annotated[
    datetime | None,
    option(
        "--known-at",
        parser=moment_of,
        metavar="MOMENT",
        help="Use only information recorded by this time.",
    ),
]
Query = Annotated[
    list[str], typer.Argument(metavar="QUERY", help="The query, in natural language.")
]
Id = Annotated[str, typer.Argument(metavar="ID|KEY", help="Memory id, part of an id, or key.")]
Ids = Annotated[
    list[str], typer.Argument(metavar="ID|KEY", help="Memory ids, parts of ids, or keys.")
]
SlotScope = Annotated[str, option("--scope", help="Exact scope of the slot.")]
ID = "0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10"
"""An id for examples."""


class Filters(Filtering, total=False):
    """The filter options that ``retrieve``, ``prompt`` and ``list`` share."""

    as_of: datetime | None
    known_at: datetime | None


def filters_of(
    memory: MemoryManager,
    *,
    tier: Annotated[
        list[Tier] | None, option("--tier", help="Only memories in this tier; repeatable.")
    ] = None,
    kind: Annotated[
        list[Kind] | None, option("--kind", help="Only memories of this kind; repeatable.")
    ] = None,
    scope: Scopes = None,
    within: Within = None,
    session: Annotated[
        list[str] | None, option("--session", help="Only memories from this session; repeatable.")
    ] = None,
    tag: Annotated[
        list[str] | None,
        option("--tag", help="Only memories with this tag; repeat to require several."),
    ] = None,
    any_tag: Annotated[
        list[str] | None,
        option("--any-tag", help="Only memories with this tag; repeat to accept any of several."),
    ] = None,
    key: Annotated[
        list[str] | None, option("--key", help="Only memories with this key; repeatable.")
    ] = None,
    actor: Annotated[
        list[str] | None,
        option("--actor", help="Only memories from this person or agent; repeatable."),
    ] = None,
    role: Annotated[
        list[str] | None, option("--role", help="Only memories with this chat role; repeatable.")
    ] = None,
    source: Annotated[
        list[str] | None,
        option("--source", help="Only memories from this trust class or address; repeatable."),
    ] = None,
    where: Annotated[
        list[str] | None,
        option(
            "--where",
            metavar="KEY=VALUE|JSON",
            help="Only memories with this metadata; repeatable.",
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        option(
            "--without",
            metavar="ID",
            help="Exclude this memory (an id or part of one); repeatable.",
        ),
    ] = None,
    since: Annotated[
        datetime | None,
        option(
            "--since",
            parser=moment_of,
            metavar="MOMENT",
            help="Only memories since this time: a date, last monday, 7d.",
        ),
    ] = None,
    until: Annotated[
        datetime | None,
        option(
            "--until",
            parser=moment_of,
            metavar="MOMENT",
            help="Only memories before this time; same formats as --since.",
        ),
    ] = None,
    as_of: Annotated[
        datetime | None,
        option(
            "--as-of",
            parser=moment_of,
            metavar="MOMENT",
            help="Only memories valid at this time.",
        ),
    ] = None,
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
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def _placeholder(one: inspect.Parameter) -> inspect.Parameter:
    """Set the placeholder of an argument or option: its choices if short, else its name.

    Typer would print the Python type, such as ``<list[str]>``; see also ``menu.Command``.
    """
    if get_origin(one.annotation) is not Annotated:
        return one
    kind, known = get_args(one.annotation)
    parts: set[Any] = {*_parts(kind)}
    if not isinstance(known, ParameterInfo) or known.metavar is not None or bool in parts:
        return one
    choices = [
        str(each.value)
        for part in parts
        if isinstance(part, type) and issubclass(part, Enum)
        for each in part
    ]
    name = one.name.rpartition("_")[2].upper()
    short = "N" if int in parts else "|".join(choices)
    shown = copy(known)
    shown.metavar = short if 0 < len(short) <= CHOICES else name
    return one.replace(annotation=Annotated[kind, shown])


def _parts(kind: Any) -> Iterator[Any]:
    """Yield a type and, recursively, its type arguments."""
    yield get_origin(kind) or kind
    for part in get_args(kind):
        yield from _parts(part)


_FILTERS = [*inspect.signature(filters_of, eval_str=True).parameters.values()][1:]
_STORE = [
    _parameter("named", Root, None),
    _parameter("namespace", Namespace, "default"),
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
        asked, shows = own.parameters, own.return_annotation is Shown
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
            _placeholder(one).replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for one in [*options, *([_JSON] if shows else []), *stored]
        ]
        run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]  # for Typer
        run.__annotations__ = {one.name: one.annotation for one in options}
        app.command(name, cls=Command, epilog=epilog(*examples))(run)
        return body

    return register
