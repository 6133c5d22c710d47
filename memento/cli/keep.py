"""Commands that take a store elsewhere and bring it back."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from memento import backup as backups
from memento.cli.options import HERE, AsJson, Namespace, Root, examples, option
from memento.cli.output import print_json
from memento.cli.store import open_store

app = typer.Typer()

Overwrite = Annotated[bool, option("--overwrite", help="Take the place of a file that is there.")]


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
    """Write the whole store into one file, while it is in use, and look at what was written.

    Every namespace is in it. `memento restore FILE` makes a store of it again.
    """
    with open_store(root, namespace, "none") as memory:
        kept = memory.backup(file, overwrite=overwrite)
    if as_json:
        print_json(kept)
    else:
        typer.echo(f"{kept.path}  {kept.memories} memories, {kept.bytes:,} bytes, checked")


def restore_file(
    file: Path, root: Path, *, at: datetime | None, set_aside: bool, as_json: bool
) -> None:
    """Make a store from a backup; the half of `memento restore` that takes a file."""
    done = backups.restore(file, root, at=at, set_aside=set_aside)
    if as_json:
        print_json(done)
        return
    moment = "" if done.moment is None else f" as of {done.moment.isoformat()}"
    typer.echo(f"{done.root}  {done.memories} memories{moment}")
    if done.aside is not None:
        typer.echo(f"{done.aside}  the store that was there")
