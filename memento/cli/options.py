"""The options that several commands share, and the parsers of their values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta, tzinfo
from pathlib import Path
from typing import Annotated, Any

import typer

from memento.clock import day_in, system_clock
from memento.config import Config
from memento.errors import InvalidInput
from memento.protocols import Clock
from memento.types import Kind, Tier

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def seconds_of(text: str) -> float:
    """Read a length of time: seconds, or a number with one of the units s, m, h, d, w.

    Raises:
        ValueError: If the text is not a length of time.

    >>> seconds_of("90"), seconds_of("1.5h")
    (90.0, 5400.0)
    """
    unit = _UNITS.get(text[-1:])
    try:
        return float(text) if unit is None else float(text[:-1]) * unit
    except ValueError:
        raise ValueError(f"{text!r:.60} is not a duration such as 90, 15m, 12h or 7d") from None


def given(context: typer.Context, name: str) -> bool:
    """Tell whether an option was given, on the command line or in the environment."""
    source = context.get_parameter_source(name)
    return source is not None and source.name in {"COMMANDLINE", "ENVIRONMENT"}


def moment_of(text: str, now: Clock = system_clock) -> datetime:
    """Read a moment: ISO 8601, or one before now; if it has no zone, as ``Config.timezone`` says.

    Args:
        text: Such as ``2025-05-01``, ``2025-05-01T14:30+02:00``, ``today``, ``yesterday`` (their
            beginning), ``now``, or ``7d`` for seven days ago; see ``seconds_of`` for units.
        now: Returns the present moment.

    Returns:
        The moment, UTC.

    Raises:
        ValueError: If the text is not a moment.
        InvalidInput: If a ``MEMENTO_*`` variable of the environment cannot be read.

    >>> moment_of("2025-05-01").isoformat()
    '2025-05-01T00:00:00+00:00'
    """
    zone = Config.from_env().zone
    try:
        return (_before(text, now, zone) or _absolute(text, zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(
            f"{text!r:.60} is not a moment such as 2025-05-01, 2025-05-01T14:30, yesterday or 7d"
        ) from None


def _absolute(text: str, zone: tzinfo) -> datetime:
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=zone) if at.tzinfo is None else at


def _before(text: str, now: Clock, zone: tzinfo) -> datetime | None:
    """Read a moment that is relative to now; None if it is not."""
    said = text.strip().lower().removesuffix(" ago")
    at = now().astimezone(UTC)
    if said == "now":
        return at
    if said in ("today", "yesterday"):
        day = day_in(zone, at) - timedelta(days=said == "yesterday")
        return datetime.combine(day, time(), zone)
    if said[-1:] not in _UNITS or not said[:1].isdecimal():
        return None
    return at - timedelta(seconds=seconds_of(said))


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
        help="Said since: a date, yesterday, 7d.",
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
