"""The options that several commands share, and the parsers of their values."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from memento import MemoryManager
from memento.base.clock import system_clock
from memento.config import Config
from memento.errors import InvalidInput
from memento.ledger.filters import Filtering
from memento.protocols import Clock
from memento.text import when
from memento.types import Kind, Tier


def given(context: typer.Context, name: str) -> bool:
    """Tell whether an option was given, on the command line or in the environment."""
    source = context.get_parameter_source(name)
    return source is not None and source.name in {"COMMANDLINE", "ENVIRONMENT"}


def moment_of(text: str, now: Clock = system_clock) -> datetime:
    """Read a moment of the past, or one that is exact; see ``memento.text.when``.

    Args:
        text: One without a zone is in that of ``Config.timezone``.
        now: Returns the present moment.

    Returns:
        The moment, UTC.

    Raises:
        ValueError: If the text is not a moment.
        InvalidInput: If a ``MEMENTO_*`` variable of the environment cannot be read.

    >>> moment_of("2025-05-01").isoformat()
    '2025-05-01T00:00:00+00:00'
    """
    return _moment(text, now, ahead=False)


def coming_moment_of(text: str, now: Clock = system_clock) -> datetime:
    """Read a moment to come, or one that is exact; as ``moment_of``."""
    return _moment(text, now, ahead=True)


def _moment(text: str, now: Clock, *, ahead: bool) -> datetime:
    present = now().astimezone(Config.from_env().zone)
    return when.moment_of(text, present, ahead=ahead).astimezone(UTC)


def count_of(text: str) -> int | None:
    """Read a number of hits: a whole number, or ``auto`` for as many as the query wants.

    Raises:
        InvalidInput: If it is neither.

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
    """Read conditions on metadata: each ``KEY=VALUE``, or a JSON object as ``where`` takes it.

    A value that is JSON, such as a number, ``true`` or a list, is read; any other is text.

    Raises:
        InvalidInput: If one is neither, or a key is named twice.

    >>> where_of(["city=Utrecht", "n=3", '{"price": {"$gt": 3}}'])
    {'city': 'Utrecht', 'n': 3, 'price': {'$gt': 3}}
    """
    where: dict[str, Any] = {}
    for text in given:
        for key, value in _condition(text).items():
            if key in where:
                raise InvalidInput("--where", f"{key!r:.60} is named twice; use one JSON object")
            where[key] = value
    return where


def _condition(text: str) -> dict[str, Any]:
    if text.lstrip().startswith("{"):
        try:
            found: dict[str, Any] = json.loads(text)
        except ValueError as error:
            raise InvalidInput("--where", f"{text!r:.60} is not a JSON object: {error}") from None
        return found
    key, sign, value = text.partition("=")
    if not sign:
        raise InvalidInput("--where", f"{text!r:.60} is neither KEY=VALUE nor a JSON object")
    try:
        return {key: json.loads(value, parse_constant=_no_constant)}
    except ValueError:
        return {key: value}


def _no_constant(name: str) -> None:
    """Refuse NaN and Infinity, which Python reads and JSON does not have."""
    raise ValueError(name)


def option(*names: str, help: str, **more: Any) -> Any:  # noqa: A002 - typer's own word
    """Declare an option by its names and its help."""
    return typer.Option(*names, help=help, **more)


Root = Annotated[
    Path, option("--root", envvar="MEMENTO_ROOT", help="Folder of the store.", metavar="FOLDER")
]
Namespace = Annotated[
    str,
    option(
        "--namespace",
        envvar="MEMENTO_NAMESPACE",
        metavar="LABELS",
        help="Labels of the namespace, joined with '/'.",
    ),
]
EmbedderName = Annotated[
    str,
    option(
        "--embedder",
        envvar="MEMENTO_EMBEDDER",
        metavar="NAME",
        help="'default', 'none', 'sentence-transformers:NAME' or 'openai:MODEL'.",
    ),
]
OneLine = Annotated[bool, option("--oneline", help="Print one line for each memory.")]
AsJson = Annotated[bool, option("--json", help="Print JSON.")]
Scopes = Annotated[list[str] | None, option("--scope", help="Where it applies; repeatable.")]
Session = Annotated[str | None, option("--session", help="Conversation it belongs to.")]
Sessions = Annotated[list[str] | None, option("--session", help="In this session; repeatable.")]
Tiers = Annotated[list[Tier] | None, option("--tier", help="In this tier; repeatable.")]
Kinds = Annotated[list[Kind] | None, option("--kind", help="Of this kind; repeatable.")]
Tags = Annotated[list[str] | None, option("--tag", help="With this tag; repeat for all of them.")]
AnyTags = Annotated[
    list[str] | None, option("--any-tag", help="With this tag; repeat for at least one of them.")
]
Within = Annotated[
    list[str] | None,
    option("--within", metavar="SCOPE", help="At this scope or below it; repeatable."),
]
Keys = Annotated[list[str] | None, option("--key", help="In this slot; repeatable.")]
Actors = Annotated[list[str] | None, option("--actor", help="Said by; repeatable.")]
Roles = Annotated[list[str] | None, option("--role", help="In this role; repeatable.")]
Sources = Annotated[
    list[str] | None, option("--source", help="From this trust class or address; repeatable.")
]
Where = Annotated[
    list[str] | None,
    option("--where", metavar="KEY=VALUE|JSON", help="With this metadata; repeatable."),
]
Without = Annotated[
    list[str] | None,
    option("--without", metavar="ID", help="Not this memory; an id or a part of it; repeatable."),
]
Since = Annotated[
    datetime | None,
    option(
        "--since",
        parser=moment_of,
        metavar="MOMENT",
        help="Said since: a date, last monday, 7d.",
    ),
]
Until = Annotated[
    datetime | None,
    option("--until", parser=moment_of, metavar="MOMENT", help="Said before; as for --since."),
]
Query = Annotated[list[str], typer.Argument(help="The query, in plain words.")]
Id = Annotated[str, typer.Argument(help="Id of the memory, or a part of it.")]
AsOf = Annotated[
    datetime | None,
    option("--as-of", parser=moment_of, metavar="MOMENT", help="Those valid at this moment."),
]
KnownAt = Annotated[
    datetime | None,
    option(
        "--known-at",
        parser=moment_of,
        metavar="MOMENT",
        help="As it was recorded at this moment.",
    ),
]
Ids = Annotated[
    list[str], typer.Argument(metavar="ID...", help="Ids of memories, or parts of them.")
]
HERE = Path("agent_memory")
"""Default folder of the store."""


def examples(*lines: str) -> str:
    """Compose the examples at the end of a command's help; the backspace keeps their lines."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


class Given(Filtering, total=False):
    """The values of the options, as ``retrieve``, ``prompt`` and ``list`` take them."""

    as_of: datetime | None
    known_at: datetime | None


Filters: TypeAlias = Callable[[MemoryManager], Given]
"""Returns the values of the options, with whole ids of memories."""


def filtered(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that filter memories.

    Args:
        command: Has a parameter ``filters``, a ``Filters``; the options stand where it stands.

    Returns:
        The command as Typer is to see it.
    """
    own = inspect.signature(command, eval_str=True).parameters
    shared = inspect.signature(_given, eval_str=True).parameters
    rest = [one for name, one in shared.items() if name != "memory"]
    shown = [one for name in own for one in (rest if name == "filters" else [own[name]])]

    @functools.wraps(command)
    def run(**options: Any) -> None:
        chosen = {one.name: options.pop(one.name) for one in rest}
        command(**options, filters=functools.partial(_given, **chosen))

    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # Typer reads it
    run.__annotations__ = {one.name: one.annotation for one in shown}
    return run


def _given(
    memory: MemoryManager,
    *,
    tier: Tiers = None,
    kind: Kinds = None,
    scope: Scopes = None,
    within: Within = None,
    session: Sessions = None,
    tag: Tags = None,
    any_tag: AnyTags = None,
    key: Keys = None,
    actor: Actors = None,
    role: Roles = None,
    source: Sources = None,
    where: Where = None,
    without: Without = None,
    since: Since = None,
    until: Until = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Given:
    return {
        "tiers": tier or None,
        "kinds": kind or None,
        "scope": scope or None,
        "within": within or None,
        "session": session or None,
        "tags": tag or None,
        "any_tags": any_tag or None,
        "key": key or None,
        "actor": actor or None,
        "role": role or None,
        "source": source or None,
        "where": where_of(where or ()),
        "without": [memory.full_id(one) for one in without or ()] or None,
        "since": since,
        "until": until,
        "as_of": as_of,
        "known_at": known_at,
    }
