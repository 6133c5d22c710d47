"""Commands that change what is remembered."""

from __future__ import annotations

import typer

from memento.cli.options import HERE, EmbedderName, Ids, Namespace, Root, examples
from memento.cli.store import open_store

app = typer.Typer()


@app.command(epilog=examples("memento forget 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10"))
def forget(
    ids: Ids,
    *,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Hide memories at once; `memento restore` brings them back."""
    with open_store(root, namespace, embedder) as memory:
        for memory_id in ids:
            typer.echo(f"{memory.forget(memory_id).id}  forgotten")


@app.command(epilog=examples("memento restore 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10"))
def restore(
    ids: Ids,
    *,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Bring forgotten memories back."""
    with open_store(root, namespace, embedder) as memory:
        for memory_id in ids:
            typer.echo(f"{memory_id}  {memory.restore(memory_id).status}")
