"""The command that removes memories for good."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Annotated

import typer

from memento import MemoryManager
from memento.check import MOST_NAMED
from memento.cli.options import (
    HERE,
    AsJson,
    Namespace,
    Root,
    examples,
    option,
)
from memento.cli.output import NOT_WELL, counted, print_json, warn
from memento.cli.store import open_store
from memento.display import cut
from memento.errors import InvalidInput, NotFound
from memento.language.moments import seconds_of
from memento.language.plain import composed
from memento.upkeep.erase import Erasure

WAIT_SECONDS = 30.0
"""Default longest wait for other processes, seconds."""

app = typer.Typer()


@app.command(
    epilog=examples(
        "memento erase 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10",
        "memento erase --source https://example.org/page --dry-run",
        "memento erase --session standup --yes",
        "memento erase --namespace acme/rami --yes",
    )
)
def erase(
    context: typer.Context,
    ids: Annotated[
        list[str] | None, typer.Argument(help="Ids of memories.", metavar="[ID...]")
    ] = None,
    *,
    source: Annotated[
        str | None, option("--source", metavar="URI", help="All memories from this address.")
    ] = None,
    session: Annotated[str | None, option("--session", help="All of this session.")] = None,
    derived: Annotated[
        bool,
        option("--derived/--keep-derived", help="Also memories derived from them."),
    ] = True,
    dry_run: Annotated[bool, option("--dry-run", help="Only report what would be erased.")] = False,
    yes: Annotated[bool, option("--yes", "-y", help="Do not ask.")] = False,
    timeout: Annotated[
        float | None,
        option(
            "--timeout",
            parser=seconds_of,
            metavar="TIME",
            help="Longest wait for other processes that have the store open; 30 s if not given.",
        ),
    ] = None,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
) -> int:
    """Remove memories for good, from every file of the store; unlike `forget`, it cannot be undone.

    Give ids, --source, --session, or --namespace alone for all of that namespace. Exits with 1 if
    work is left, which the next process that opens the store finishes.
    """
    everything = not ids and source is None and session is None and _typed(context, "namespace")
    with open_store(root, namespace, "none") as memory:
        for one in ids or ():
            _refuse_part(memory, one)

        def ask(*, dry_run: bool) -> Erasure:
            return memory.store.erase(
                ids or None,
                source=source,
                session=session,
                everything=everything,
                derived=derived,
                dry_run=dry_run,
                timeout=WAIT_SECONDS if timeout is None else timeout,
            )

        planned = ask(dry_run=True)
        if not dry_run and not yes:
            _confirm(memory, planned, derived=derived)
        done = planned if dry_run else ask(dry_run=False)
    if as_json:
        print_json(done)
    else:
        _print_receipt(done, derived=derived)
    return 0 if done.complete else NOT_WELL


def _refuse_part(memory: MemoryManager, given: str) -> None:
    """Refuse a part of an id, which the other commands take: what is erased is named in full."""
    with suppress(NotFound):
        whole = memory.full_id(given)
        if whole != composed(given):
            raise InvalidInput("ID", f"erase takes whole ids: {given} is {whole}")


def _typed(context: typer.Context, name: str) -> bool:
    """Tell whether an option was on the command line; the environment is ignored."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _confirm(memory: MemoryManager, planned: Erasure, *, derived: bool) -> None:
    """Show the memories and ask for confirmation; refuse if stdin is not a terminal."""
    doomed = planned.ids + (planned.derived if derived else ())
    for memory_id in doomed[:MOST_NAMED]:
        warn(f"{memory_id}  {cut(memory.get(memory_id).text, 80)}")
    if len(doomed) > MOST_NAMED:
        warn(f"... and {len(doomed) - MOST_NAMED} more")
    if not sys.stdin.isatty():
        raise InvalidInput("--yes", "is needed to erase without a terminal to ask for confirmation")
    if not typer.confirm(f"Erase {counted(len(doomed))} for good?", err=True):
        raise typer.Abort


def _print_receipt(done: Erasure, *, derived: bool) -> None:
    said = "would be erased" if done.dry_run else "erased"
    for memory_id in done.ids:
        typer.echo(f"{memory_id}  {said}")
    for memory_id in done.derived:
        typer.echo(f"{memory_id}  {said if derived else 'kept'}, derived")
    for memory_id in done.locked:
        typer.echo(f"{memory_id}  {'is' if done.dry_run else 'was'} locked")
    if done.dry_run:
        return
    rows = ", ".join(f"{count} {table}" for table, count in sorted(done.rows.items()) if count)
    typer.echo(f"{done.at.isoformat()}  {rows or 'nothing there'}")
    for word, names in (("rewritten", done.rewritten), ("removed", done.removed)):
        if names:
            typer.echo(f"{word}: {', '.join(dict.fromkeys(names))}")
    for part, why in done.pending.items():
        warn(f"{part} not done yet: {why}; that process or the next one to open the store does it")
    if done.untouched:
        typer.echo(f"not files of the store, not checked: {', '.join(done.untouched)}")
    typer.echo(f"not reached: {'; '.join(done.not_reached)}")
