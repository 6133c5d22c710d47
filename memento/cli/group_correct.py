"""Commands that hide memories, correct them, bring them back, and settle or judge them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from memento import Change, Diff, MemoryManager
from memento.base.display import one_line
from memento.cli.options import ID, AsJson, Ids, KnownAt, Store, command, moment_of, option
from memento.cli.output import Shown, counted, each, one_memory
from memento.errors import InvalidInput
from memento.types import Belief, Event, Strength
from memento.upkeep.backup import restore as restore_file

app = typer.Typer()

FromSource = Annotated[
    str | None, option("--source", metavar="URI", help="All memories from this address.")
]
WholeId = Annotated[str, typer.Argument(metavar="ID", help="Id of the memory, or a part of it.")]
Key = Annotated[str, typer.Argument(help="Key of the slot, such as user/editor.")]
SlotScope = Annotated[str, option("--scope", help="Scope of the slot, exactly.")]


@command(app, f"memento forget {ID}", "memento forget --source https://example.org/page --dry-run")
def forget(
    store: Store,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID...", help="Ids, or parts of them.")
    ] = None,
    *,
    source: FromSource = None,
    dry_run: Annotated[
        bool, option("--dry-run", help="With --source: only report what would be hidden.")
    ] = False,
) -> None:
    """Hide memories at once; `memento restore` brings them back.

    With --source, hides all memories from that address and those derived from them.
    """
    if (source is None) == (not ids) or (dry_run and source is None):
        raise InvalidInput("ID", "give either ids or --source; only --source takes --dry-run")
    with store.open() as memory:
        each(memory, ids or (), memory.forget, lambda _one: "forgotten")
        if source is not None:
            found = memory.quarantine.forget_source(source, dry_run=dry_run)
            for one in found:
                typer.echo(f"{one.id}  {'would be forgotten' if dry_run else 'forgotten'}")
            typer.echo(f"{counted(len(found))} from {source} or derived from it")


@command(
    app,
    f"memento restore {ID}",
    "memento restore --source https://example.org/page",
    "memento restore monday.db --root agent_memory",
    "memento restore monday.db --at 2025-05-01T14:30 --set-aside",
)
def restore(
    store: Store,
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
) -> int:
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
        made = _from_file(Path(what[0]), store.root, at=at, set_aside=set_aside)
        return made.show(as_json=as_json)
    with store.open() as memory:
        back = [] if source is None else memory.quarantine.restore_source(source)
        for found in (*back, *(memory.restore(memory.store.full_id(one)) for one in what)):
            Shown(found, [f"{found.id}  {found.status}"]).show(as_json=as_json)
    return 0


def _from_file(file: Path, root: Path, *, at: datetime | None, set_aside: bool) -> Shown:
    done = restore_file(file, root, at=at, set_aside=set_aside)
    moment = "" if done.moment is None else f" as of {done.moment.isoformat()}"
    lines = [f"{done.root}  {counted(done.memories)}{moment}"]
    lines += [] if done.aside is None else [f"{done.aside}  the store that was there"]
    return Shown(done, lines)


@command(app, f'memento correct {ID} "Rami lives in Oslo"')
def correct(
    memory: MemoryManager,
    id: WholeId,  # noqa: A002 - the field's own name
    text: Annotated[str, typer.Argument(help="The right text.")],
    *,
    occurred_at: Annotated[
        datetime | None,
        option("--when", parser=moment_of, metavar="MOMENT", help="Since when it is right."),
    ] = None,
) -> Shown:
    """Replace what a memory says by a new memory; the old one stays in the history."""
    return one_memory(memory.correct(memory.store.full_id(id), text, occurred_at=occurred_at))


@command(app, "memento changes --since 1d", f"memento changes --id {ID}")
def changes(
    memory: MemoryManager,
    *,
    since: Annotated[
        datetime | None,
        option("--since", parser=moment_of, metavar="MOMENT", help="From this moment on."),
    ] = None,
    id: Annotated[  # noqa: A002 - the field's own name
        str | None, option("--id", help="Of this memory only: its id, or a part of it.")
    ] = None,
    run: Annotated[int | None, option("--run", help="Of this run only.")] = None,
    limit: Annotated[int, option("-n", "--limit", help="Most changes to show.")] = 20,
) -> Shown:
    """List the calls that changed memories, the newest first; `memento undo` takes them back."""
    name = None if id is None else memory.store.full_id(id)
    found = memory.changes.list(since=since, id=name, run=run, limit=limit)
    return Shown(found, map(_change_line, found))


def _change_line(one: Change) -> str:
    counts = [(one.changed, "changed"), (one.added, "added")]
    notes = [("run", one.run), ("undoes", one.undoes), ("undone by", one.undone_by)]
    return "; ".join(
        [
            f"{one.number:>5}  {one.at:%Y-%m-%d %H:%M:%S}  {one.kind} by {one.by}",
            ", ".join(f"{len(ids)} {what}" for ids, what in counts if ids),
            *(f"{what} {number}" for what, number in notes if number is not None),
        ]
    )


@command(app, "memento undo 17", "memento undo --run 17", "memento undo 17 --force")
def undo(
    store: Store,
    change: Annotated[
        int | None, typer.Argument(help="Number of the change, see `memento changes`.")
    ] = None,
    *,
    run: Annotated[int | None, option("--run", help="All changes of this run instead.")] = None,
    force: Annotated[
        bool, option("--force", help="Undo first the later changes that stand in the way.")
    ] = False,
) -> Shown:
    """Set back what a change did; undoing the undo is redo. Later changes are left as they are."""
    if (change is None) == (run is None):
        raise InvalidInput("CHANGE", "give either the number of a change or --run")
    with store.open() as memory:
        done = memory.undo(change, run=run, force=force)
    made = ", ".join(map(str, done.changes))
    lines = [f"{counted(len(done.memories))} set back" + (f" by change {made}" if made else "")]
    for name, why in done.left.items():
        because = "" if why is None else f", see change {why}"
        lines.append(f"{name}  left as it is{because}")
    return Shown(done, lines)


@command(app, "memento diff --since yesterday", "memento diff --since 7d --json")
def diff(
    memory: MemoryManager,
    *,
    since: Annotated[
        datetime, option("--since", parser=moment_of, metavar="MOMENT", help="Earlier moment.")
    ],
    until: Annotated[
        datetime | None,
        option("--until", parser=moment_of, metavar="MOMENT", help="Later moment; now if absent."),
    ] = None,
) -> Shown:
    """Show what was recorded, changed, hidden and brought back between two moments."""
    found = memory.changes.diff(since, until)
    return Shown(found, _diff_lines(found))


def _diff_lines(found: Diff) -> Iterator[str]:
    for part, sign in (
        ("added", "+"),
        ("changed", "~"),
        ("superseded", "-"),
        ("archived", "-"),
        ("forgotten", "-"),
        ("restored", "+"),
    ):
        for name, (before, after) in getattr(found, part).items():
            said = one_line(after.text)
            if part == "changed" and before is not None and before.text != after.text:
                said = f"{one_line(before.text)} -> {said}"
            yield f"{sign} {part:10} {name}  {said}"


@command(app, "memento value user/editor", "memento value user/editor --as-of 2025-05-01")
def value(
    memory: MemoryManager,
    key: Key,
    *,
    scope: SlotScope = "",
    as_of: Annotated[
        datetime | None,
        option("--as-of", parser=moment_of, metavar="MOMENT", help="Its value at this moment."),
    ] = None,
    known_at: KnownAt = None,
) -> Shown:
    """Show the memory that holds a slot. Exits with 0 also if none does."""
    return one_memory(memory.value(key, scope=scope, as_of=as_of, known_at=known_at))


@command(
    app,
    f"memento history {ID}",
    f"memento history {ID} --chain",
    "memento history --key user/editor",
)
def history(
    context: typer.Context,
    store: Store,
    id: Annotated[str | None, typer.Argument(help="Id of the memory, or a part of it.")] = None,  # noqa: A002 - the field's own name
    *,
    key: Annotated[str | None, option("--key", help="A slot, instead of an id.")] = None,
    scope: SlotScope = "",
    chain: Annotated[
        bool,
        option("--chain", help="Also of what superseded the memory, and what that superseded."),
    ] = False,
) -> Shown:
    """Show every state a memory had, or every value of a slot, oldest first."""
    if (id is None) == (key is None) or (key is None and scope) or (id is None and chain):
        raise typer.BadParameter(
            "pass either an id, or --key with an optional --scope", ctx=context
        )
    with store.open() as memory:
        if key is not None:
            values = memory.slots.history(key, scope=scope)
            return Shown(values, (lambda tables: tables.slot_values(values)) if values else ())
        assert id is not None  # noqa: S101 - checked above
        states = memory.changes.history(memory.store.full_id(id), chain=chain)
        return Shown(states, (lambda tables: tables.versions(states)) if states else ())


@command(app, "memento revert user/editor")
def revert(memory: MemoryManager, key: Key, *, scope: SlotScope = "") -> Shown:
    """Let the value that a slot had before hold again, from now on; again undoes it."""
    return one_memory(memory.slots.revert(key, scope=scope))


class Keep(StrEnum):
    """The part of a pair that remains."""

    A = "a"
    B = "b"
    BOTH = "both"
    NEITHER = "neither"


@command(app, "memento conflicts", "memento conflicts --resolved", name="conflicts")
def list_conflicts(
    memory: MemoryManager,
    *,
    resolved: Annotated[
        bool, option("--resolved", help="The pairs that were settled instead.")
    ] = False,
    limit: Annotated[int, option("--limit", help="Most pairs.")] = 20,
) -> Shown:
    """List pairs of memories that seem to contradict each other, the newest first."""
    found = memory.slots.conflicts(status="resolved" if resolved else "open", limit=limit)
    lines: list[str] = []
    for one in found:
        lines.append(f"{one.relation}{': ' if one.reason else ''}{one.reason}")
        for name, end in (("a", one.a), ("b", one.b)):
            mark = "  (higher)" if end.id == one.higher else ""
            lines.append(
                f"  {name}  {end.id}  {end.valid_from:%Y-%m-%d}  {one_line(end.text)}{mark}"
            )
    return Shown(found, lines, empty="no conflicts")


@command(app, f"memento resolve {ID} {ID[:-1]}1 --keep b")
def resolve(
    memory: MemoryManager,
    a: Annotated[str, typer.Argument(help="Id of a memory.", metavar="A")],
    b: Annotated[str, typer.Argument(help="Id of the other one.", metavar="B")],
    *,
    keep: Annotated[Keep, option("--keep", help="The one that remains: a, b, both or neither.")],
) -> None:
    """Settle a pair of memories that conflict; it is never listed again."""
    for end in memory.slots.resolve(memory.store.full_id(a), memory.store.full_id(b), keep.value):
        typer.echo(f"{end.id}  {end.status}")


@command(app, f"memento feedback {ID} --useful", f'memento feedback {ID} --wrong --note "It moved"')
def feedback(
    store: Store,
    ids: Ids,
    *,
    useful: Annotated[bool, option("--useful", help="It helped.")] = False,
    useless: Annotated[bool, option("--useless", help="It was shown and did not help.")] = False,
    right: Annotated[bool, option("--right", help="It is right.")] = False,
    wrong: Annotated[bool, option("--wrong", help="It is wrong.")] = False,
    note: Annotated[str | None, option("--note", help="Why; kept with the verdict.")] = None,
) -> Shown:
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
    with store.open() as memory:
        names = [memory.store.full_id(one) for one in ids]
        found = memory.feedback.rate(names, verdict=chosen[0], note=note)
    lines = (
        f"{one.id}  {chosen[0]}, believed to {one.mean:.0%} (before any: {one.prior:.0%})"
        for one in found
    )
    return Shown(found, lines)


@command(app, f"memento strength {ID}")
def strength(
    memory: MemoryManager,
    id: WholeId,  # noqa: A002 - the field's own name
) -> Shown:
    """Show how much a memory was used, how far it is believed, and every verdict on it."""
    name = memory.store.full_id(id)
    found, belief = memory.feedback.strength(name), memory.feedback.belief(name)
    return Shown({"strength": found, "belief": belief}, _strength_lines(found, belief))


def _strength_lines(found: Strength, belief: Belief) -> Iterator[str]:
    last = "never" if found.used_at is None else f"{found.used_at:%Y-%m-%d %H:%M}"
    yield f"uses       {found.uses:.4g}, last {last}"
    yield f"use        {found.use:+.2f} nats"
    yield f"belief     {belief.mean:.0%} (before any verdict {belief.prior:.0%})"
    yield f"worth      {found.worth:+.2f}"
    yield f"retention  {found.retention:.0%}, stability {found.stability:.0f} active days"
    yield f"strength   short {found.short:.2f}, long {found.long:.2f}"
    for one in belief.evidence:
        gone = "  (retracted)" if one.retracted else ""
        yield f"  {one.at:%Y-%m-%d %H:%M}  {one.verdict} by {one.source}{gone}"
