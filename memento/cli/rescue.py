"""The command for a damaged store."""

from __future__ import annotations

import typer

from memento.cli.options import HERE, AsJson, Root, examples
from memento.cli.output import NOT_WELL, counted, print_json
from memento.upkeep.salvage import salvage as make_anew

app = typer.Typer()


@app.command(epilog=examples("memento salvage", "memento salvage --root ~/notes --json"))
def salvage(*, as_json: AsJson = False, root: Root = HERE) -> int:
    """Make a new store from the intact memories of a damaged one. Exits with 1 if any was lost.

    Use it if `memento doctor` finds damage in the ledger, or the ledger cannot be opened. The
    damaged store is kept beside the new one. Close it in every process first.
    """
    done = make_anew(root)
    if as_json:
        print_json(done)
    else:
        typer.echo(f"{done.root}  {counted(done.kept)} kept, {done.lost} lost")
        for memory_id in done.changed:
            typer.echo(f"  {memory_id} was changed outside memento and is left out")
        if done.lost_links:
            typer.echo(f"  links lost between the memories that are kept: {done.lost_links}")
        typer.echo(f"{done.aside}  the damaged store")
    return NOT_WELL if done.lost or done.lost_links else 0
