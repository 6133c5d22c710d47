"""Commands that review memories from untrusted sources."""

from __future__ import annotations

from typing import Annotated

import typer

from memento.cli.options import HERE, AsJson, EmbedderName, Ids, Namespace, Root, examples, option
from memento.cli.output import print_memories
from memento.cli.store import open_store

app = typer.Typer()
quarantine = typer.Typer(
    help="Review memories from tools, the web and imports before they are found.",
    no_args_is_help=True,
)
app.add_typer(quarantine, name="quarantine")


@quarantine.command(
    "list", epilog=examples("memento quarantine list", "memento quarantine list --json")
)
def list_(
    *,
    limit: Annotated[int, option("--limit", help="Most memories.")] = 100,
    offset: Annotated[int, option("--offset", help="Memories to skip first.")] = 0,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """List quarantined memories, in order of arrival."""
    with open_store(root, namespace, embedder) as memory:
        found = memory.quarantine.list(limit=limit, offset=offset)
    print_memories(found, as_json=as_json)


@quarantine.command(
    epilog=examples("memento quarantine approve 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10")
)
def approve(
    ids: Ids,
    *,
    version: Annotated[
        int | None, option("--version", help="The version that you read, if it changed meanwhile.")
    ] = None,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Make quarantined memories active. They still cannot become rules or be pinned."""
    with open_store(root, namespace, embedder) as memory:
        for memory_id in map(memory.full_id, ids):
            approved = memory.quarantine.approve(memory_id, version=version)
            typer.echo(f"{memory_id}  {approved.status}")


@quarantine.command(
    epilog=examples("memento quarantine reject 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10")
)
def reject(
    ids: Ids,
    *,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Forget quarantined memories; `memento restore` puts them back into quarantine."""
    with open_store(root, namespace, embedder) as memory:
        for memory_id in map(memory.full_id, ids):
            typer.echo(f"{memory_id}  {memory.quarantine.reject(memory_id).status}")
