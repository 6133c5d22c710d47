"""Commands that hide memories and bring them back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from memento.base.display import one_line
from memento.cli.group_maintain import restore_file
from memento.cli.options import (
    HERE,
    AsJson,
    EmbedderName,
    Ids,
    KnownAt,
    Namespace,
    Root,
    examples,
    moment_of,
    option,
)
from memento.cli.output import counted, open_store, print_json, print_memories
from memento.errors import InvalidInput
from memento.types import Event, Memory

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


Key = Annotated[str, typer.Argument(help="Key of the slot, such as user/editor.")]
Scope = Annotated[str, option("--scope", help="Scope of the slot, exactly.")]


@app.command(
    epilog=examples("memento value user/editor", "memento value user/editor --as-of 2025-05-01")
)
def value(
    key: Key,
    *,
    scope: Scope = "",
    as_of: Annotated[
        datetime | None,
        option("--as-of", parser=moment_of, metavar="MOMENT", help="Its value at this moment."),
    ] = None,
    known_at: KnownAt = None,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Show the memory that holds a slot. Exits with 0 also if none does."""
    with open_store(root, namespace, embedder) as memory:
        found = memory.value(key, scope=scope, as_of=as_of, known_at=known_at)
    if as_json:
        print_json(found)
    else:
        print_memories([] if found is None else [found], as_json=False)


@app.command(
    epilog=examples(
        "memento history 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10",
        "memento history 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10 --chain",
        "memento history --key user/editor",
    )
)
def history(
    context: typer.Context,
    id: Annotated[  # noqa: A002 - the field's own name
        str | None, typer.Argument(help="Id of the memory, or a part of it.")
    ] = None,
    *,
    key: Annotated[str | None, option("--key", help="A slot, instead of an id.")] = None,
    scope: Scope = "",
    chain: Annotated[
        bool,
        option("--chain", help="Also of what superseded the memory, and what that superseded."),
    ] = False,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Show every state a memory had, or every value of a slot, oldest first."""
    from memento.cli import tables  # noqa: PLC0415 - rich is slow to load

    if (id is None) == (key is None) or (key is None and scope) or (id is None and chain):
        raise typer.BadParameter("give either an id, or --key and perhaps --scope", ctx=context)
    with open_store(root, namespace, embedder) as memory:
        values = [] if key is None else memory.history(key=key, scope=scope)
        states = [] if id is None else memory.history(memory.full_id(id), chain=chain)
    if as_json:
        print_json(values or states)
    elif values or states:
        tables.console().print(tables.slot_values(values) if values else tables.versions(states))
    else:
        typer.echo("nothing here")


@app.command(epilog=examples("memento revert user/editor"))
def revert(
    key: Key,
    *,
    scope: Scope = "",
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Let the value that a slot had before hold again, from now on; again undoes it."""
    with open_store(root, namespace, embedder) as memory:
        found = memory.revert(key, scope=scope)
    if as_json:
        print_json(found)
    else:
        print_memories([found], as_json=False)


class Keep(StrEnum):
    """The part of a pair that remains."""

    A = "a"
    B = "b"
    BOTH = "both"
    NEITHER = "neither"


@app.command("conflicts", epilog=examples("memento conflicts", "memento conflicts --resolved"))
def list_conflicts(
    *,
    resolved: Annotated[
        bool, option("--resolved", help="The pairs that were settled instead.")
    ] = False,
    limit: Annotated[int, option("--limit", help="Most pairs.")] = 20,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """List pairs of memories that seem to contradict each other, the newest first."""
    with open_store(root, namespace, embedder) as memory:
        for one in memory.conflicts(status="resolved" if resolved else "open", limit=limit):
            typer.echo(f"{one.relation}{': ' if one.reason else ''}{one.reason}")
            for name, end in (("a", one.a), ("b", one.b)):
                mark = "  (higher)" if end.id == one.higher else ""
                typer.echo(
                    f"  {name}  {end.id}  {end.valid_from:%Y-%m-%d}  {one_line(end.text)}{mark}"
                )


@app.command(
    epilog=examples(
        "memento resolve 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10"
        " 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d11 --keep b"
    )
)
def resolve(
    a: Annotated[str, typer.Argument(help="Id of a memory.", metavar="A")],
    b: Annotated[str, typer.Argument(help="Id of the other one.", metavar="B")],
    *,
    keep: Annotated[Keep, option("--keep", help="The one that remains: a, b, both or neither.")],
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Settle a pair of memories that conflict; it is never listed again."""
    with open_store(root, namespace, embedder) as memory:
        for end in memory.resolve(memory.full_id(a), memory.full_id(b), keep.value):
            typer.echo(f"{end.id}  {end.status}")


@app.command(
    epilog=examples(
        "memento feedback 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10 --useful",
        'memento feedback 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10 --wrong --note "It moved"',
    )
)
def feedback(
    ids: Ids,
    *,
    useful: Annotated[bool, option("--useful", help="It helped.")] = False,
    useless: Annotated[bool, option("--useless", help="It was shown and did not help.")] = False,
    right: Annotated[bool, option("--right", help="It is right.")] = False,
    wrong: Annotated[bool, option("--wrong", help="It is wrong.")] = False,
    note: Annotated[str | None, option("--note", help="Why; kept with the verdict.")] = None,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Say whether memories helped, or whether they are right or wrong."""
    said = {
        Event.USED: useful,
        Event.IGNORED: useless,
        Event.CONFIRMED: right,
        Event.WRONG: wrong,
    }
    chosen = [verdict for verdict, given in said.items() if given]
    if len(chosen) != 1:
        raise InvalidInput("verdict", "give one of --useful, --useless, --right, --wrong")
    with open_store(root, namespace, embedder) as memory:
        names = [memory.full_id(one) for one in ids]
        found = memory.feedback(names, verdict=chosen[0], note=note)
    if as_json:
        print_json(found)
        return
    for one in found:
        typer.echo(
            f"{one.id}  {chosen[0]}, believed to {one.mean:.0%} (before any: {one.prior:.0%})"
        )


@app.command(epilog=examples("memento strength 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10"))
def strength(
    id: Annotated[  # noqa: A002 - the field's own name
        str, typer.Argument(metavar="ID", help="Id of the memory, or a part of it.")
    ],
    *,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Show how much a memory was used, how far it is believed, and every verdict on it."""
    with open_store(root, namespace, embedder) as memory:
        name = memory.full_id(id)
        found, belief = memory.strength(name), memory.belief(name)
    if as_json:
        print_json({"strength": found, "belief": belief})
        return
    last = "never" if found.used_at is None else f"{found.used_at:%Y-%m-%d %H:%M}"
    for name, value in (
        ("uses", f"{found.uses:.4g}, last {last}"),
        ("use", f"{found.use:+.2f} nats"),
        ("belief", f"{belief.mean:.0%} (before any verdict {belief.prior:.0%})"),
        ("worth", f"{found.worth:+.2f}"),
        ("retention", f"{found.retention:.0%}, stability {found.stability:.0f} active days"),
        ("strength", f"short {found.short:.2f}, long {found.long:.2f}"),
    ):
        typer.echo(f"{name:10} {value}")
    for one in belief.evidence:
        gone = "  (retracted)" if one.retracted else ""
        typer.echo(f"  {one.at:%Y-%m-%d %H:%M}  {one.verdict} by {one.source}{gone}")
