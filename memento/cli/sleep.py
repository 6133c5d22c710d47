"""Commands that tidy up: the sleep, stale memories, the archive."""

from __future__ import annotations

from typing import Annotated

import typer

from memento.cli.options import (
    HERE,
    AsJson,
    EmbedderName,
    Ids,
    Namespace,
    Root,
    examples,
    option,
)
from memento.cli.output import print_json
from memento.cli.store import open_store
from memento.display import one_line
from memento.types import Kind

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


@app.command(
    epilog=examples(
        "memento sleep",
        "memento sleep --seconds 60",
        "memento sleep --dry-run",
        "memento sleep --steps articles",
    )
)
def sleep(
    *,
    seconds: Annotated[
        float,
        option("--seconds", help="Time after which to stop; the next call goes on."),
    ] = 5.0,
    steps: Annotated[
        list[str] | None,
        option(
            "--steps",
            help="Only this step: `fold`, `duplicates`, `articles`, `tiers`, `replay` or `archive`;"
            " repeatable.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, option("--dry-run", help="Only report what would be changed.")
    ] = False,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Tidy up: fold near-equal statements, move memories between tiers, archive what nobody needs.

    Nothing is deleted; `memento undo --run N` takes it all back. When time is up, the next call
    goes on. With `--steps articles` it writes articles: texts that quote what is known of a topic.
    """
    with open_store(root, namespace, embedder) as memory:
        found = memory.consolidate(seconds=seconds, steps=steps or None, dry_run=dry_run)
    if as_json:
        print_json(found)
        return
    if found.skipped:
        typer.echo(f"nothing done: {found.skipped}")
    for name, one in found.steps.items():
        why = "".join(f", {count} {reason}" for reason, count in one.skipped.items() if count)
        typer.echo(f"{name:10} looked at {one.looked:,}, changed {one.changed:,}{why}")
    if found.run is not None:
        typer.echo(f"memento undo --run {found.run} takes it back")
    if not found.done and not found.skipped:
        typer.echo("not done yet: the next call goes on")


@app.command(epilog=examples("memento stale", "memento stale --kind fact --limit 20"))
def stale(
    *,
    kinds: Annotated[
        list[Kind] | None, option("--kind", help="Only this kind; repeatable.")
    ] = None,
    limit: Annotated[int, option("--limit", help="Most memories.")] = 20,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """List memories that somebody should look at: expired, doubted, or nearly forgotten."""
    with open_store(root, namespace, embedder) as memory:
        found = memory.stale(kinds=[kind.value for kind in kinds or ()] or None, limit=limit)
    if as_json:
        print_json(found)
        return
    for one in found:
        why = ", ".join(one.reasons)
        typer.echo(
            f"{one.memory.id}  {why} ({one.retention:.0%} left)  {one_line(one.memory.text)}"
        )
