"""Commands that hide memories and bring them back."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from memento.cli.keep import restore_file
from memento.cli.options import (
    HERE,
    AsJson,
    EmbedderName,
    Namespace,
    Root,
    examples,
    moment_of,
    option,
)
from memento.cli.output import counted, print_json
from memento.cli.store import open_store
from memento.errors import InvalidInput

app = typer.Typer()

FromSource = Annotated[
    str | None, option("--source", metavar="URI", help="All memories from this address.")
]


@app.command(
    epilog=examples(
        "memento forget 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10",
        "memento forget --source https://example.org/page --dry-run",
    )
)
def forget(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID...", help="Ids, or parts of them.")
    ] = None,
    *,
    source: FromSource = None,
    dry_run: Annotated[
        bool, option("--dry-run", help="With --source: only report what would be hidden.")
    ] = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Hide memories at once; `memento restore` brings them back.

    With --source, hides all memories from that address and those derived from them.
    """
    if (source is None) == (not ids) or (dry_run and source is None):
        raise InvalidInput("ID", "give either ids or --source; only --source takes --dry-run")
    with open_store(root, namespace, embedder) as memory:
        for memory_id in ids or ():
            typer.echo(f"{memory.forget(memory.full_id(memory_id)).id}  forgotten")
        if source is not None:
            found = memory.quarantine.forget_source(source, dry_run=dry_run)
            for one in found:
                typer.echo(f"{one.id}  {'would be forgotten' if dry_run else 'forgotten'}")
            typer.echo(f"{counted(len(found))} from {source} or derived from it")


@app.command(
    epilog=examples(
        "memento restore 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10",
        "memento restore --source https://example.org/page",
        "memento restore monday.db --root agent_memory",
        "memento restore monday.db --at 2025-05-01T14:30 --set-aside",
    )
)
def restore(
    what: Annotated[
        list[str] | None,
        typer.Argument(help="A backup file, or ids, or parts of them.", metavar="FILE|ID..."),
    ] = None,
    *,
    source: FromSource = None,
    at: Annotated[
        datetime | None,
        option("--at", parser=moment_of, metavar="MOMENT", help="FILE as of then, ISO 8601."),
    ] = None,
    set_aside: Annotated[
        bool, option("--set-aside", help="With FILE: rename an existing store and keep it.")
    ] = False,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Make a store from a backup FILE, or bring forgotten memories back.

    A single argument that names a file, or any argument with --at or --set-aside, is a backup;
    everything else is an id. With --source, brings back what `memento forget --source` hid.
    """
    if (source is None) == (not what):
        raise InvalidInput("FILE|ID", "give a backup, ids, or --source")
    what = what or []
    if at is not None or set_aside or (len(what) == 1 and Path(what[0]).is_file()):
        if len(what) > 1:
            raise InvalidInput("FILE", "give one backup, not several")
        restore_file(Path(what[0]), root, at=at, set_aside=set_aside, as_json=as_json)
        return
    with open_store(root, namespace, embedder) as memory:
        back = [] if source is None else memory.quarantine.restore_source(source)
        for found in (*back, *(memory.restore(memory.full_id(one)) for one in what)):
            if as_json:
                print_json(found)
            else:
                typer.echo(f"{found.id}  {found.status}")
