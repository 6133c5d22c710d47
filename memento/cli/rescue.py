"""The command for a store that is damaged."""

from __future__ import annotations

import typer

from memento.cli.options import HERE, AsJson, Root, examples
from memento.cli.output import NOT_WELL, print_json
from memento.salvage import salvage as make_anew

app = typer.Typer()


@app.command(epilog=examples("memento salvage", "memento salvage --root ~/notes --json"))
def salvage(*, as_json: AsJson = False, root: Root = HERE) -> int:
    """Make a new store of what is whole in a damaged one. Exits with 1 if anything was lost.

    For when `memento doctor` finds damage in the ledger, or it cannot be opened. The damaged store
    is kept beside the new one. Close it in every process first.
    """
    done = make_anew(root)
    if as_json:
        print_json(done)
    else:
        typer.echo(f"{done.root}  {done.kept} memories kept, {done.lost} lost")
        for memory_id in done.changed:
            typer.echo(f"  {memory_id} was changed outside memento, and is left behind")
        typer.echo(f"{done.aside}  the damaged store")
    return NOT_WELL if done.lost else 0
