"""Commands that inspect and maintain the store."""

from __future__ import annotations

from typing import Annotated

import typer

from memento.cli.options import HERE, AsJson, EmbedderName, Namespace, Root, examples, given, option
from memento.cli.output import NOT_WELL, counted, print_json
from memento.cli.store import open_store, wait_for_index

app = typer.Typer()


@app.command(epilog=examples("memento stats", "memento stats --root ~/notes --json"))
def stats(
    *,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Count the memories, by tier, and those that are not indexed yet."""
    from memento.cli import show  # noqa: PLC0415 - rich is slow to load

    with open_store(root, namespace, embedder) as memory:
        found = memory.store.stats()
    if as_json:
        print_json(found)
    else:
        show.console().print(show.stats(found, f"{namespace} in {root}"))


@app.command(epilog=examples("memento doctor", "memento doctor --no-repair --json"))
def doctor(
    context: typer.Context,
    *,
    repair: Annotated[bool, option("--repair/--no-repair", help="Repair derived data.")] = True,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> int:
    """Look for damage in the store. Exits with 1 if any check failed.

    Memories are never changed; data derived from them is repaired. Damaged memories are named, for
    all namespaces unless --namespace or MEMENTO_NAMESPACE names one.
    """
    from memento.cli import show  # noqa: PLC0415 - rich is slow to load

    with open_store(root, namespace, embedder) as memory:
        found = memory.store.doctor(repair=repair, all_namespaces=not given(context, "namespace"))
    if as_json:
        print_json(found)
    else:
        show.console().print(show.findings(found))
    return 0 if all(finding.ok for finding in found) else NOT_WELL


@app.command(
    epilog=examples(
        "memento reindex", "memento reindex --embedder sentence-transformers:all-mpnet-base-v2"
    )
)
def reindex(
    *,
    wait: Annotated[bool, option("--wait/--no-wait", help="Wait until it is done.")] = True,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> int:
    """Embed all memories again, after the embedder was changed. Exits with 1 if it got stuck."""
    with open_store(root, namespace, embedder) as memory:
        owed = memory.store.reindex()
        typer.echo(f"{counted(owed)} to embed with {embedder}")
        return wait_for_index(memory) if wait else 0
