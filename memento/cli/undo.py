"""Commands that correct memories, and that list, compare and undo changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer

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
from memento.cli.output import counted, print_json, print_memories
from memento.cli.store import open_store
from memento.display import one_line
from memento.errors import InvalidInput
from memento.types import Memory

app = typer.Typer()

ID = "0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10"
Since = Annotated[
    datetime | None,
    option("--since", parser=moment_of, metavar="MOMENT", help="From this moment on."),
]
_SIGNS = {
    "added": "+",
    "changed": "~",
    "superseded": "-",
    "archived": "-",
    "forgotten": "-",
    "restored": "+",
}


@app.command(epilog=examples(f'memento correct {ID} "Rami lives in Oslo"'))
def correct(
    id: Annotated[  # noqa: A002 - the field's own name
        str, typer.Argument(metavar="ID", help="Id of the memory, or a part of it.")
    ],
    text: Annotated[str, typer.Argument(help="The right text.")],
    *,
    occurred_at: Annotated[
        datetime | None,
        option("--when", parser=moment_of, metavar="MOMENT", help="Since when it is right."),
    ] = None,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Replace what a memory says by a new memory; the old one stays in the history."""
    with open_store(root, namespace, embedder) as memory:
        found = memory.correct(memory.full_id(id), text, occurred_at=occurred_at)
    if as_json:
        print_json(found)
    else:
        print_memories([found], as_json=False)


@app.command(epilog=examples("memento changes --since 1d", f"memento changes --id {ID}"))
def changes(
    *,
    since: Since = None,
    id: Annotated[  # noqa: A002 - the field's own name
        str | None, option("--id", help="Of this memory only: its id, or a part of it.")
    ] = None,
    run: Annotated[int | None, option("--run", help="Of this run only.")] = None,
    limit: Annotated[int, option("-n", "--limit", help="Most changes to show.")] = 20,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """List the calls that changed memories, the newest first; `memento undo` takes them back."""
    with open_store(root, namespace, embedder) as memory:
        name = None if id is None else memory.full_id(id)
        found = memory.changes(since=since, id=name, run=run, limit=limit)
    if as_json:
        print_json(found)
        return
    for one in found:
        parts = [f"{len(ids)} {what}" for ids, what in ((one.changed, "changed"),
                                                        (one.added, "added")) if ids]  # fmt: skip
        notes = [
            f"{what} {number}"
            for what, number in (
                ("run", one.run), ("undoes", one.undoes), ("undone by", one.undone_by),
            )
            if number is not None
        ]  # fmt: skip
        words = [f"{one.number:>5}  {one.at:%Y-%m-%d %H:%M:%S}  {one.kind} by {one.by}"]
        typer.echo("; ".join([*words, ", ".join(parts), *notes]))
    if not found:
        typer.echo("nothing here")


@app.command(epilog=examples("memento undo 17", "memento undo --run 17", "memento undo 17 --force"))
def undo(
    change: Annotated[
        int | None, typer.Argument(help="Number of the change, see `memento changes`.")
    ] = None,
    *,
    run: Annotated[int | None, option("--run", help="All changes of this run instead.")] = None,
    force: Annotated[
        bool, option("--force", help="Undo first the later changes that stand in the way.")
    ] = False,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Set back what a change did; undoing the undo is redo. Later changes are left as they are."""
    if (change is None) == (run is None):
        raise InvalidInput("CHANGE", "give either the number of a change or --run")
    with open_store(root, namespace, embedder) as memory:
        done = memory.undo(change, run=run, force=force)
    if as_json:
        print_json(done)
        return
    made = ", ".join(map(str, done.changes))
    typer.echo(f"{counted(len(done.memories))} set back" + (f" by change {made}" if made else ""))
    for name, why in done.left.items():
        because = "" if why is None else f", see change {why}"
        typer.echo(f"{name}  left as it is{because}")


@app.command(epilog=examples("memento diff --since yesterday", "memento diff --since 7d --json"))
def diff(
    *,
    since: Annotated[
        datetime, option("--since", parser=moment_of, metavar="MOMENT", help="Earlier moment.")
    ],
    until: Annotated[
        datetime | None,
        option("--until", parser=moment_of, metavar="MOMENT", help="Later moment; now if absent."),
    ] = None,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Show what was recorded, changed, hidden and brought back between two moments."""
    with open_store(root, namespace, embedder) as memory:
        found = memory.diff(since, until)
    if as_json:
        print_json(found)
        return
    for part, sign in _SIGNS.items():
        for name, (before, after) in getattr(found, part).items():
            _print_pair(sign, part, name, before, after)
    if not found:
        typer.echo("nothing here")


def _print_pair(sign: str, part: str, name: str, before: Memory | None, after: Memory) -> None:
    texts: Sequence[str] = [after.text]
    if part == "changed" and before is not None and before.text != after.text:
        texts = [before.text, after.text]
    said = " -> ".join(one_line(text) for text in texts)
    typer.echo(f"{sign} {part:10} {name}  {said}")
