"""Commands that back up, restore, export and import a store."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from memento.cli.options import (
    HERE,
    AsJson,
    EmbedderName,
    Namespace,
    Root,
    examples,
    given,
    option,
)
from memento.cli.output import counted, print_json, warn
from memento.cli.store import open_store
from memento.types import Trust
from memento.upkeep import backup as backups

app = typer.Typer()

Overwrite = Annotated[bool, option("--overwrite", help="Replace an existing file.")]


@app.command(
    epilog=examples("memento backup monday.db", "memento backup /mnt/safe/notes.db --root notes")
)
def backup(
    file: Annotated[Path, typer.Argument(help="Name of the backup; outside the store's folder.")],
    *,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
) -> None:
    """Write the whole store into one file, while it is in use, and check the file.

    It holds every namespace. `memento restore FILE` makes a store of it again.
    """
    with open_store(root, namespace, "none") as memory:
        kept = memory.store.backup(file, overwrite=overwrite)
    if as_json:
        print_json(kept)
    else:
        typer.echo(f"{kept.path}  {counted(kept.memories)}, {kept.bytes:,} bytes, checked")


def restore_file(
    file: Path, root: Path, *, at: datetime | None, set_aside: bool, as_json: bool
) -> None:
    """Make a store from a backup: the part of `memento restore` that takes a file."""
    done = backups.restore(file, root, at=at, set_aside=set_aside)
    if as_json:
        print_json(done)
        return
    moment = "" if done.moment is None else f" as of {done.moment.isoformat()}"
    typer.echo(f"{done.root}  {counted(done.memories)}{moment}")
    if done.aside is not None:
        typer.echo(f"{done.aside}  the store that was there")


@app.command(
    epilog=examples(
        "memento export all.jsonl",
        "memento export rami.jsonl --namespace acme/rami --vectors",
        "memento export - | ssh other memento import - --trust user",
    )
)
def export(
    context: typer.Context,
    file: Annotated[str, typer.Argument(help="Name of the export; - writes to stdout.")],
    *,
    vectors: Annotated[
        bool, option("--vectors", help="Also write the vectors, to save computing them again.")
    ] = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
) -> None:
    """Write the store as JSON Lines, which any program can read and `memento import` imports.

    Writes all namespaces, unless --namespace or MEMENTO_NAMESPACE names one. If the export goes to
    stdout, the output of --json goes to stderr.
    """
    from memento.cli import show  # noqa: PLC0415 - rich is slow to load

    with open_store(root, namespace, "none") as memory:
        done = memory.store.export(
            sys.stdout.buffer if file == "-" else file,
            vectors=vectors,
            all_namespaces=not given(context, "namespace"),
            overwrite=overwrite,
        )
    said = f"{file}  {counted(done.memories)}, {done.links} links, {done.events} events"
    typer.echo(show.to_json(done) if as_json else said, err=file == "-")
    for memory_id in done.damaged:
        warn(f"{memory_id} is damaged and marked so; an import leaves it out")
    for memory_id in done.damaged_history:
        warn(f"{memory_id}: an earlier state is damaged and left out; the memory is whole")


@app.command(
    "import",
    epilog=examples(
        "memento import mine.jsonl --trust user",
        "memento import theirs.jsonl --namespace acme/rami",
    ),
)
def import_(
    context: typer.Context,
    file: Annotated[str, typer.Argument(help="A file of `memento export`; - reads stdin.")],
    *,
    trust: Annotated[
        Trust, option("--trust", help="Trust in the file; user if it is your own.")
    ] = Trust.IMPORT,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Import an export; if any part is refused, nothing is imported. Importing twice adds nothing.

    Each memory goes into the namespace it comes from. With --namespace or MEMENTO_NAMESPACE, an
    export of one namespace goes into that one.

    A file is treated as foreign unless you say --trust user: its memories are validated as by
    `memento add` and quarantined (see `memento quarantine list`), without their earlier states, and
    none becomes a rule. Your own file is imported unchanged.
    """
    from memento.cli import show  # noqa: PLC0415 - rich is slow to load

    with (
        open_store(root, namespace, embedder, make=True) as memory,
        show.Bar("importing").drawn() as bar,
    ):
        done = memory.store.import_from(
            sys.stdin.buffer if file == "-" else file,
            all_namespaces=not given(context, "namespace"),
            trust=trust,
            progress=bar.to,
        )
    known = f", {done.known} known already" if done.known else ""
    waiting = f", {done.quarantined} of them in quarantine" if done.quarantined else ""
    hidden = f", {done.hidden} hidden ones left out" if done.hidden else ""
    said = f"{counted(done.memories)} new{waiting}{known}{hidden}"
    typer.echo(show.to_json(done) if as_json else said)
    for memory_id in done.damaged:
        warn(f"{memory_id} left out: it was damaged where it comes from")
