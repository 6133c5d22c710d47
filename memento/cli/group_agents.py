"""Commands that let an agent in, and show a stranger round."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from memento.cli.mcp import Settings, doors_of, serve
from memento.cli.options import command, option
from memento.cli.store import Store
from memento.resident import tokens as tokens_of

app = typer.Typer()


@command(
    app,
    "claude mcp add -s user memento -- memento mcp",
    "memento mcp --root ~/notes",
    "memento mcp --print-tools",
    "memento mcp --add-token laptop --read-only",
    "memento mcp --http 8765",
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
    http: Annotated[
        str | None,
        option("--http", metavar="[HOST:]PORT", help="Serve HTTP, to clients with a token."),
    ] = None,
    add_token: Annotated[
        str | None,
        option("--add-token", metavar="NAME", help="Make a token and print it, once."),
    ] = None,
    trust: Annotated[
        str, option("--trust", help="With --add-token: agent, tool, web or import.")
    ] = "agent",
    list_tokens: Annotated[
        bool, option("--list-tokens", help="List who has a token, and its rights.")
    ] = False,
    revoke_token: Annotated[
        str | None, option("--revoke-token", metavar="NAME", help="Refuse a token from now on.")
    ] = None,
) -> None:
    """Serve an agent that speaks MCP.

    Over standard input and output, until the agent leaves. All agents of a store share one process
    that has it open; it is started if there is none, and ends when none has used it for a while.

    Over HTTP (extra mcp), until the command is ended: only to clients with a token. A token is
    bound to the namespace, the scope, --read-only and --trust that were given with --add-token.
    """
    if add_token:
        _add_token(store, add_token, scope or "", trust, read_only=read_only)
    elif list_tokens:
        _list_tokens(store)
    elif revoke_token:
        tokens_of.revoke(store.root, revoke_token)
    elif http:
        from memento.cli.mcp_http import serve_http  # noqa: PLC0415 - few agents use it

        serve_http(store, http, more=more, most=tokens)
    else:
        _stdio(Settings(store, scope, everywhere, read_only, more, tokens, alone), print_tools)


def _stdio(settings: Settings, print_tools: bool) -> None:
    doors = doors_of(settings)
    if print_tools:
        _print(doors.tools)
    else:
        serve(settings)


def _add_token(store: Store, name: str, scope: str, trust: str, *, read_only: bool) -> None:
    if not store.exists:
        store._replace(make=True).open().close()
    typer.echo(
        tokens_of.add(
            store.root,
            name,
            namespace=store.namespace,
            scope=scope,
            read_only=read_only,
            trust=trust,
        )
    )


def _list_tokens(store: Store) -> None:
    for one in tokens_of.listed(store.root):
        rights = "reads" if one.read_only else f"reads, and writes as {one.trust}"
        typer.echo(f"{one.name}  {one.namespace}  {one.scope or 'everywhere'}  {rights}")


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
