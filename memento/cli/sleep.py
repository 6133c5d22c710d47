"""Commands for what nobody needs now: set it aside, bring it back."""

from __future__ import annotations

import typer

from memento.cli.options import HERE, EmbedderName, Ids, Namespace, Root, examples
from memento.cli.store import open_store

app = typer.Typer()


@app.command(epilog=examples("memento archive 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10"))
def archive(
    ids: Ids,
    *,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Set memories aside: only `--archived`, or a query that names them, finds them.

    `memento unarchive` brings them back.
    """
    with open_store(root, namespace, embedder) as memory:
        for one in ids:
            found = memory.archive(memory.full_id(one))
            typer.echo(f"{found.id}  {found.status}")


@app.command(epilog=examples("memento unarchive 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10"))
def unarchive(
    ids: Ids,
    *,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Bring memories back from the archive."""
    with open_store(root, namespace, embedder) as memory:
        for one in ids:
            found = memory.unarchive(memory.full_id(one))
            typer.echo(f"{found.id}  {found.status}")
