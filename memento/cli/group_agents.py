"""Commands that let an agent in, and show a stranger round."""

from __future__ import annotations

import json
import logging
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from memento.cli.options import Store, command, option
from memento.cli.output import warn
from memento.errors import InvalidInput

SESSIONS = ("CLAUDE_CODE_SESSION_ID", "COPILOT_AGENT_SESSION_ID")
"""Variables in which agents say which session runs."""

app = typer.Typer()


@command(
    app,
    "memento mcp --root ~/.local/share/memento",
    "claude mcp add -s user memento -- memento mcp --root ~/.local/share/memento",
    "memento mcp --print-tools",
)
def mcp(
    store: Store,
    *,
    scope: Annotated[
        str | None,
        option("--scope", help="Where the agent works; else the project of the folder."),
    ] = None,
    everywhere: Annotated[
        bool, option("--everywhere", help="Work in no scope, whatever the folder.")
    ] = False,
    read_only: Annotated[bool, option("--read-only", help="Offer recall alone.")] = False,
    more: Annotated[bool, option("--more", help="Offer history and rate as well.")] = False,
    tokens: Annotated[
        int, option("--tokens", help="Most tokens of one answer, 100 to 10,000.")
    ] = 4_000,
    print_tools: Annotated[
        bool, option("--print-tools", help="Print what a model is told, and end.")
    ] = False,
) -> None:
    """Serve an agent that speaks MCP.

    Over standard input and output, until the agent leaves.
    """
    from memento_mcp import Doors, serve_stdio  # noqa: PLC0415 - the other commands need none of it
    from memento_mcp._project import project_scope  # noqa: PLC0415 - as above

    if everywhere and scope is not None:
        raise InvalidInput("--everywhere", "contradicts --scope")
    doors = Doors(
        replace(store, make=not read_only).open,
        scope=("" if everywhere else project_scope(_here())) if scope is None else scope,
        session=next((said for name in SESSIONS if (said := os.environ.get(name))), None),
        read_only=read_only,
        more=more,
        tokens=tokens,
    )
    if print_tools:
        _print(doors.tools)
        return
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    if sys.stdin.isatty():
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


def _print(tools: list[dict[str, Any]]) -> None:
    from memento_mcp._table import INSTRUCTIONS  # noqa: PLC0415 - as above

    typer.echo(f"{INSTRUCTIONS}\n")
    for tool in tools:
        typer.echo(json.dumps(tool, ensure_ascii=False, indent=2))


@command(app, "memento demo", "memento demo --root demo_memory")
def demo(
    *,
    root: Annotated[
        Path | None,
        option("--root", metavar="FOLDER", help="Keep the store here; a temporary one if not."),
    ] = None,
) -> None:
    """See it at work on a conversation, in a minute.

    It remembers the conversation, answers questions about it and shows the source of each answer.
    """
    from memento.cli.demo import run  # noqa: PLC0415 - used by this command only

    run(root)
