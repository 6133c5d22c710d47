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
        option(
            "--scope", help="Scope in which the agent works. Default: the project of the folder."
        ),
    ] = None,
    everywhere: Annotated[
        bool, option("--everywhere", help="Use no scope, whatever the folder.")
    ] = False,
    read_only: Annotated[bool, option("--read-only", help="Offer only the recall tool.")] = False,
    more: Annotated[bool, option("--more", help="Also offer the tools history and rate.")] = False,
    tokens: Annotated[
        int, option("--tokens", help="Maximum number of tokens in one answer, 100 to 10,000.")
    ] = 4_000,
    print_tools: Annotated[
        bool, option("--print-tools", help="Print the tools as a model sees them, and exit.")
    ] = False,
    alone: Annotated[
        bool, option("--alone", help="Open the store in this process, rather than share one.")
    ] = False,
) -> None:
    """Run an MCP server for an agent.

    The server uses standard input and output, and runs until the agent disconnects. All agents of a
    store share one process that keeps it open. The first agent starts that process, which ends when
    nobody has used it for a while.
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
        option("--root", metavar="FOLDER", help="Folder for the store. Default: a temporary one."),
    ] = None,
) -> None:
    """Show in a minute what memento does.

    The demo remembers a conversation, answers questions about it and shows the source of each
    answer.
    """
    from memento.cli.demo import run  # noqa: PLC0415 - used by this command only

    run(root)
