"""Commands about slots and the past of a memory: value, history and revert."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from memento.cli.options import (
    HERE,
    AsJson,
    EmbedderName,
    KnownAt,
    Namespace,
    Root,
    examples,
    moment_of,
    option,
)
from memento.cli.output import print_json, print_memories
from memento.cli.store import open_store

app = typer.Typer()

Key = Annotated[str, typer.Argument(help="Key of the slot, such as user/editor.")]
Scope = Annotated[str, option("--scope", help="Scope of the slot, exactly.")]


@app.command(
    epilog=examples("memento value user/editor", "memento value user/editor --as-of 2025-05-01")
)
def value(
    key: Key,
    *,
    scope: Scope = "",
    as_of: Annotated[
        datetime | None,
        option("--as-of", parser=moment_of, metavar="MOMENT", help="Its value at this moment."),
    ] = None,
    known_at: KnownAt = None,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Show the memory that holds a slot. Exits with 0 also if none does."""
    with open_store(root, namespace, embedder) as memory:
        found = memory.value(key, scope=scope, as_of=as_of, known_at=known_at)
    if as_json:
        print_json(found)
    else:
        print_memories([] if found is None else [found], as_json=False)


@app.command(
    epilog=examples(
        "memento history 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10",
        "memento history 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10 --chain",
        "memento history --key user/editor",
    )
)
def history(
    context: typer.Context,
    id: Annotated[  # noqa: A002 - the field's own name
        str | None, typer.Argument(help="Id of the memory, or a part of it.")
    ] = None,
    *,
    key: Annotated[str | None, option("--key", help="A slot, instead of an id.")] = None,
    scope: Scope = "",
    chain: Annotated[
        bool,
        option("--chain", help="Also of what superseded the memory, and what that superseded."),
    ] = False,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Show every state a memory had, or every value of a slot, oldest first."""
    from memento.cli import show  # noqa: PLC0415 - rich is slow to load

    if (id is None) == (key is None) or (key is None and scope) or (id is None and chain):
        raise typer.BadParameter("give either an id, or --key and perhaps --scope", ctx=context)
    with open_store(root, namespace, embedder) as memory:
        values = [] if key is None else memory.history(key=key, scope=scope)
        states = [] if id is None else memory.history(memory.full_id(id), chain=chain)
    if as_json:
        print_json(values or states)
    elif values or states:
        show.console().print(show.slot_values(values) if values else show.versions(states))
    else:
        typer.echo("nothing here")


@app.command(epilog=examples("memento revert user/editor"))
def revert(
    key: Key,
    *,
    scope: Scope = "",
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Let the value that a slot had before hold again, from now on; again undoes it."""
    with open_store(root, namespace, embedder) as memory:
        found = memory.revert(key, scope=scope)
    if as_json:
        print_json(found)
    else:
        print_memories([found], as_json=False)
