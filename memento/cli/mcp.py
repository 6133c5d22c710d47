"""``memento mcp``, started without Typer: an agent waits for it at the start of each session.

A plain command line is parsed here. Any other, such as ``--help`` or an invalid one, is left to the
command in ``memento.cli.group_agents``, which calls `serve` too.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memento.base.home import is_server
from memento.base.scopes import parse_scope
from memento.cli.store import Store
from memento.errors import InvalidInput, StoreError

if TYPE_CHECKING:
    from memento.resident.server import Resident, Session
    from memento_mcp import Doors

SESSIONS = ("CLAUDE_CODE_SESSION_ID", "COPILOT_AGENT_SESSION_ID")
"""Environment variables in which agents name the current session."""


class Settings(NamedTuple):
    """The settings of a server; see the options of the command."""

    store: Store
    scope: str | None = None
    everywhere: bool = False
    read_only: bool = False
    more: bool = False
    tokens: int = 4_000
    alone: bool = False

    @property
    def place(self) -> str:
        """The scope in which the agent works.

        Raises:
            InvalidInput: If ``scope`` is invalid, or there is no working folder.
        """
        if self.everywhere and self.scope is not None:
            raise InvalidInput("--everywhere", "cannot be combined with --scope")
        if self.everywhere or self.scope is not None:
            return parse_scope(self.scope or "")
        from memento.agents.project import project_scope  # noqa: PLC0415 - the others need none of it

        return project_scope(_here())

    @property
    def session(self) -> str | None:
        """The session that the agent names in the environment; None if it names none."""
        return next((said for name in SESSIONS if (said := os.environ.get(name))), None)


_FLAGS = {
    "--everywhere": "everywhere", "--read-only": "read_only", "--more": "more", "--alone": "alone",
}  # fmt: skip
_NAMED = {"--root": "named", "--namespace": "namespace", "--embedder": "embedder"}


def settings_of(words: Sequence[str]) -> Settings | None:
    """Parse a plain command line as Typer would; return None if it is not plain."""
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
    """Return the tools of the server; the store is opened when a tool first needs it.

    Raises:
        InvalidInput: If a setting cannot be accepted.
    """
    from memento_mcp import Doors  # noqa: PLC0415 - the pipe needs none of it

    return Doors(
        settings.store._replace(make=not settings.read_only).open,
        scope=settings.place,
        session=settings.session,
        read_only=settings.read_only,
        more=settings.more,
        tokens=settings.tokens,
    )


def session(resident: Resident, asked: Mapping[str, Any]) -> Session:
    """Handle the call ``mcp`` in the resident process: return what serves the agent."""
    from memento_mcp import Doors, serve_stdio  # noqa: PLC0415 - as above

    doors = Doors(
        lambda: resident.open(dict(asked)),
        **{name: asked[name] for name in ("scope", "session", "read_only", "more", "tokens")},
    )
    return lambda reader, writer: serve_stdio(doors, stdin=reader, stdout=writer, warm=True)


def serve(settings: Settings) -> None:
    """Serve the agent on standard input and output until it disconnects.

    Raises:
        InvalidInput: If a setting cannot be accepted.
    """
    if sys.stdin.isatty():
        from memento.cli.output import warn  # noqa: PLC0415 - no agent waits for it

        warn("waiting for an agent on standard input; normally the agent starts this command")
    sys.stdout.flush()
    away = settings.store.url or is_server(settings.store.address)
    if settings.alone or away or not _piped(settings):
        _alone(doors_of(settings))


def _piped(settings: Settings) -> bool:
    """Serve through the resident process of the store; return False if that is not possible."""
    from memento.resident.client import Unreachable, settings_here  # noqa: PLC0415 - not if alone
    from memento.resident.pipe import Pipe  # noqa: PLC0415 - as above

    asked = {
        "call": "mcp",
        "namespace": settings.store.labels,
        "embedder": settings.store.embedder,
        "make": not settings.read_only,
        "environ": settings_here(),
        "scope": settings.place,
        "session": settings.session,
        "read_only": settings.read_only,
        "more": settings.more,
        "tokens": settings.tokens,
    }
    try:
        pipe = Pipe(os.path.realpath(settings.store.root), asked, sys.stdout.buffer)
    except (InvalidInput, StoreError):  # no default store: the model is told why
        return False
    except Unreachable as error:
        sys.stderr.write(f"memento: serving this agent in a separate process: {error}\n")
        return False
    pipe.run(sys.stdin.fileno())
    return True


def _alone(doors: Doors) -> None:
    """Serve the agent in this process."""
    from memento_mcp import serve_stdio  # noqa: PLC0415 - as above

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # prints of libraries must not mix with messages
        serve_stdio(doors, stdout=answers, warm=True)


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        problem = "is required, because the working folder was removed; or use --everywhere"
        raise InvalidInput("--scope", problem) from None
