"""Commands that let an agent in, and show a stranger round."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from memento.cli.mcp import Settings, doors_of, serve
from memento.cli.options import command, option
from memento.cli.store import Store

app = typer.Typer()


@command(
    app,
    "claude mcp add -s user memento -- memento mcp",
    "memento mcp --root ~/notes",
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
    alone: Annotated[
        bool, option("--alone", help="Open the store in this process; share none with others.")
    ] = False,
) -> None:
    """Serve an agent that speaks MCP.

    Over standard input and output, until the agent leaves. All agents of a store share one process
    that has it open; it is started if there is none, and ends when none has used it for a while.
    """
    settings = Settings(store, scope, everywhere, read_only, more, tokens, alone)
    doors = doors_of(settings)
    if print_tools:
        _print(doors.tools)
    else:
        serve(settings)


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
