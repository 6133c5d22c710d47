"""``memento mcp``, started without Typer: an agent waits for it at the start of each session.

What it is told is read here if it is plain. Anything else, such as ``--help`` or a mistake, is left
to the command in ``memento.cli.group_agents``, which ends in `serve` too.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memento.cli.store import Store
from memento.errors import InvalidInput

if TYPE_CHECKING:
    from memento_mcp import Doors

SESSIONS = ("CLAUDE_CODE_SESSION_ID", "COPILOT_AGENT_SESSION_ID")
"""Variables in which agents say which session runs."""


class Settings(NamedTuple):
    """What a server is started with; see the options of the command."""

    store: Store
    scope: str | None = None
    everywhere: bool = False
    read_only: bool = False
    more: bool = False
    tokens: int = 4_000


_FLAGS = {"--everywhere": "everywhere", "--read-only": "read_only", "--more": "more"}
_NAMED = {"--root": "named", "--namespace": "namespace", "--embedder": "embedder"}


def settings_of(words: Sequence[str]) -> Settings | None:
    """Read a plain command line as Typer would; None if it is not plain."""
    store: dict[str, str] = {}
    for option, field in _NAMED.items():
        if value := os.environ.get(f"MEMENTO_{option[2:].upper()}"):
            store[field] = value
    given: dict[str, object] = {}
    left = iter(words)
    for word in left:
        option, sign, value = word.partition("=")
        if option in _FLAGS and not sign:
            given[_FLAGS[option]] = True
            continue
        value = value if sign else next(left, "")
        if not value or value.startswith("-"):
            return None
        if option in _NAMED:
            store[_NAMED[option]] = value
        elif option == "--scope":
            given["scope"] = value
        else:
            return None
    return Settings(Store(**store), **given)  # type: ignore[arg-type]  # by the names above


def doors_of(settings: Settings) -> Doors:
    """Return the tools of the server; the store is opened when one needs it.

    Raises:
        InvalidInput: If a setting cannot be accepted.
    """
    from memento_mcp import Doors  # noqa: PLC0415 - the other commands need none of it
    from memento_mcp._project import project_scope  # noqa: PLC0415 - as above

    scope = settings.scope
    if settings.everywhere and scope is not None:
        raise InvalidInput("--everywhere", "contradicts --scope")
    if scope is None:
        scope = "" if settings.everywhere else project_scope(_here())
    return Doors(
        settings.store._replace(make=not settings.read_only).open,
        scope=scope,
        session=next((said for name in SESSIONS if (said := os.environ.get(name))), None),
        read_only=settings.read_only,
        more=settings.more,
        tokens=settings.tokens,
    )


def serve(doors: Doors) -> None:
    """Serve the agent at the other end of standard input and output until it leaves."""
    from memento_mcp import serve_stdio  # noqa: PLC0415 - as above

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    if sys.stdin.isatty():
        from memento.cli.output import warn  # noqa: PLC0415 - no agent waits for it

        warn("waiting for an agent on standard input; it starts this command itself")
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # what a library prints must not stand between two messages
        serve_stdio(doors, stdout=answers, warm=True)


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        problem = "is not given, and the working folder was removed; give it, or --everywhere"
        raise InvalidInput("--scope", problem) from None
