"""Commands that hide memories, correct them, bring them back, and settle or judge them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memento import Change, MemoryManager
from memento.base.display import one_line
from memento.cli.local import moment, short
from memento.cli.options import ID, Id, Ids, SlotScope, argument, command, moment_option, option
from memento.cli.output import NOT_WELL, Shown, counted, each, id_of, one_memory, warn
from memento.cli.store import Store
from memento.errors import InvalidInput, NotFound, NothingToUndo
from memento.types import Event, Memory
from memento.upkeep.backup import restore as restore_file
from memento.views import together

if TYPE_CHECKING:
    from memento.verbs.slots import Conflict

COMPARING = 10.0
"""Maximum time that ``conflicts`` waits until new memories are compared, seconds."""

app = typer.Typer()

FromSource = Annotated[
    str | None, option("--source", "Select all memories from this address.", metavar="URI")
]


@command(app, f"memento forget {ID}", "memento forget --source https://example.org/page --dry-run")
def forget(
    store: Store,
    ids: list[str] | None = argument("Memory ids, parts of ids, or keys.", metavar="ID|KEY"),
    *,
    source: FromSource = None,
    dry_run: bool = option("--dry-run", "With --source: only report what would be hidden."),
) -> Shown:
    """Hide memories; `memento restore` brings them back.

    With --source, all memories from that address and all memories derived from them are hidden.
    """
    if (source is None) == (not ids) or (dry_run and source is None):
        raise InvalidInput("ID", "specify either ids or --source; --dry-run requires --source")
    with store.open() as memory:
        if source is None:
            names = [id_of(memory, one) for one in ids or ()]
            if len(names) > 1:  # one change, which one `undo` takes back
                memory.forget_many(ids=names)
            return each(memory, names, memory.forget, lambda _one: "forgotten")
        found = memory.quarantine.forget_source(source, dry_run=dry_run)
    said = "would be forgotten" if dry_run else "forgotten"
    lines = [f"{one.id}  {said}" for one in found]
    return Shown(
        {"memories": found}, [*lines, f"{counted(len(found))} from {source} or derived from it"]
    )


@command(
    app,
    f"memento restore {ID}",
    "memento restore --source https://example.org/page",
    "memento restore monday.db --root agent_memory",
    "memento restore monday.db --at 2025-05-01T14:30 --set-aside",
)
def restore(
    store: Store,
    what: list[str] | None = argument(
        "A backup file, or memory ids, parts of ids, or keys.", metavar="FILE|ID"
    ),
    *,
    source: FromSource = None,
    at: datetime | None = moment_option("--at", "Restore the store as it was at this time."),
    set_aside: bool = option(
        "--set-aside", "With FILE: rename and keep an existing store instead of failing."
    ),
) -> Shown:
    """Restore forgotten memories or a whole backup.

    A single argument that is the name of a file is treated as a backup, as is any argument passed
    with --at or --set-aside. All other arguments are treated as ids. With --source, the command
    restores the memories that `memento forget --source` hid.
    """
    if (source is None) == (not what):
        raise InvalidInput("FILE|ID", "specify a backup, ids, or --source")
    what = what or []
    if at is not None or set_aside or (len(what) == 1 and Path(what[0]).is_file()):
        if len(what) > 1:
            raise InvalidInput("FILE", "specify only one backup")
        return _from_file(Path(what[0]), store.here().root, at=at, set_aside=set_aside)
    with store.open() as memory:
        back = [] if source is None else memory.quarantine.restore_source(source)
        names = [_hidden(memory, one) for one in what]
        shown = each(memory, names, together(memory).restore)
    if source is None:
        return shown
    return Shown({"memories": back}, [f"{one.id}  {one.status}" for one in back])


def _hidden(memory: MemoryManager, name: str) -> str:
    try:
        return id_of(memory, name, "forgotten")
    except NotFound:
        raise _Neither(name) from None


class _Neither(NotFound):
    """What ``restore`` was given is nothing that it could restore."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.args = (f"{name!r:.60} is neither a backup file nor a memory in this namespace",)


def _from_file(file: Path, root: Path, *, at: datetime | None, set_aside: bool) -> Shown:
    done = restore_file(file, root, at=at, set_aside=set_aside)
    moment = "" if done.moment is None else f" as of {done.moment.isoformat()}"
    lines = [f"{done.root}  {counted(done.memories)}{moment}"]
    lines += [] if done.aside is None else [f"{done.aside}  the previous store"]
    return Shown(done, lines)


@command(app, f'memento correct {ID} "Rami lives in Oslo"')
def correct(
    memory: MemoryManager,
    id: Id,
    text: str = argument("The corrected text."),
    *,
    occurred_at: datetime | None = moment_option("--when", "When the new text became true."),
) -> Shown:
    """Replace a memory with corrected text.

    The new memory supersedes the old one, which stays in the history.
    """
    old = id_of(memory, id)
    new = memory.correct(old, text, occurred_at=occurred_at)
    return replace(one_memory(new), notes=[replaced(memory, memory.get(old))])


def replaced(memory: MemoryManager, old: Memory) -> str:
    """Return a note on which memory was replaced, and how to undo that."""
    (last,) = memory.changes.list(id=old.id, limit=1)
    return f"replaces {short(old.id)}: {old.text} (undo: `memento undo {last.number}`)"


@command(app, "memento changes --since 1d", f"memento changes --id {ID}")
def changes(
    memory: MemoryManager,
    *,
    since: datetime | None = moment_option("--since", "Only changes since this time."),
    id: str | None = option("--id", "Only changes to this memory (an id or part of one)."),
    run: int | None = option("--run", "Only changes from this run."),
    limit: int = option("-n", "--limit", "Maximum number of changes.", default=20),
) -> Shown:
    """List the changes made to memories, newest first.

    `memento undo NUMBER` undoes a change.
    """
    name = None if id is None else memory.store.full_id(id)
    found = memory.changes.list(since=since, id=name, run=run, limit=limit)
    return Shown({"changes": found}, map(_change_line, found))


def _change_line(one: Change) -> str:
    counts = [(one.changed, "changed"), (one.added, "added")]
    notes = [("run", one.run), ("undoes", one.undoes), ("undone by", one.undone_by)]
    return "; ".join(
        [
            f"{one.number:>5}  {moment(one.at)}  {one.kind} by {one.by}",
            ", ".join(f"{len(ids)} {what}" for ids, what in counts if ids),
            *(f"{what} {number}" for what, number in notes if number is not None),
        ]
    )


@command(
    app,
    "memento undo",
    "memento undo 17",
    "memento undo --run 17 --force",
    "memento undo --key user/editor",
)
def undo(
    store: Store,
    change: int | None = argument("Number of the change, as shown by `memento changes`."),
    *,
    run: int | None = option("--run", "Undo every change in this run instead."),
    key: str | None = option("--key", "Restore the previous value of this key instead."),
    scope: SlotScope = "",
    force: bool = option("--force", "Also undo later changes to the same memories."),
    yes: bool = option("--yes", "-y", "Without a number: do not ask for confirmation."),
) -> Shown:
    """Undo the last change or a specific change.

    Without a number, the command shows what it will do and asks for confirmation. To redo a change,
    undo the undo. Memories that have changed again since then are left unchanged. If this applies
    to all of them, the exit status is 1.
    """
    if sum(one is not None for one in (change, run, key)) > 1:
        raise InvalidInput("CHANGE", "specify only one of: a number, --run, --key")
    with store.open() as memory:
        if key is not None:
            return one_memory(memory.slots.revert(key, scope=scope))
        if change is None and run is None:
            change, run = _last(memory, yes=yes)
        done = memory.undo(change, run=run, force=force)
        left = [f"{short(name)}  {_why(memory, why)}" for name, why in done.left.items()]
    made = ", ".join(map(str, done.changes))
    redo = f"; to redo: `memento undo {made}`" if len(done.changes) == 1 else ""
    by = f" by change {made}{redo}" if made else ""
    status = 0 if done.changes else NOT_WELL
    return Shown(done, [f"{counted(len(done.memories))} reverted{by}", *left], status=status)


def _last(memory: MemoryManager, *, yes: bool) -> tuple[int | None, int | None]:
    """Return the newest change that can be undone, or its run, after the user has confirmed it."""
    found = next((one for one in memory.changes.list(limit=1_000) if _is_open(one)), None)
    if found is None:
        raise NothingToUndo(None, "there is no change to undo; `memento forget ID` hides a memory")
    whole = [found] if found.run is None else memory.changes.list(run=found.run, limit=1_000)
    whole = [one for one in whole if _is_open(one)]
    added = {name for one in whole for name in one.added}
    newest = memory.list(newest_first=True, limit=1)
    if newest and newest[0].created_at > found.at and newest[0].id not in added:
        one = newest[0]
        warn(f"{short(one.id)} was added since then; to hide it: `memento forget {short(one.id)}`")
    number = f"change {found.number}" if len(whole) == 1 else f"{len(whole)} changes"
    warn(f"{number}, {found.kind}, {moment(found.at)}")
    for line in _plan(memory, whole):
        warn(line)
    if not yes:
        if not sys.stdin.isatty():
            problem = f"is required when there is no terminal; or specify the number {found.number}"
            raise InvalidInput("--yes", problem)
        if not typer.confirm("Undo this?", err=True):
            raise typer.Abort
    return (found.number, None) if len(whole) == 1 else (None, found.run)


def _is_open(one: Change) -> bool:
    return one.undone_by is None and one.undoes is None


def _plan(memory: MemoryManager, whole: Sequence[Change]) -> Iterable[str]:
    """Return a line for each memory of the changes (newest first): what an undo does to it."""
    lines: dict[str, str] = {}
    for one in whole:
        for name in one.changed:
            with suppress(NotFound):
                now, past = memory.get(name), memory.changes.history(name)
                before = next((state for state in past if state.change == one.number), None)
                if before is None:
                    continue
                same = before.status == now.status
                becomes = "goes back to" if same else f"becomes {before.status} again"
                lines[name] = f"  {short(name)}  {becomes}: {before.text}"
        for name in one.added:
            with suppress(NotFound):
                lines[name] = f"  {short(name)}  will be forgotten: {memory.get(name).text}"
    return lines.values()


def _why(memory: MemoryManager, change: int | None) -> str:
    """Return why a memory was left as it is."""
    if change is None:
        return "left unchanged: it is locked, or another memory has taken its place"
    kinds = [one.kind for one in memory.changes.list(limit=1_000) if one.number == change]
    kind = f" ({kinds[0]})" if kinds else ""
    return f"left unchanged: change {change}{kind} came later; --force undoes that one first"


class Keep(StrEnum):
    """Which memories of a pair remain."""

    A = "a"
    B = "b"
    BOTH = "both"
    NEITHER = "neither"


@command(app, "memento conflicts", f"memento conflicts {ID} {ID[:-1]}1 --keep b", name="conflicts")
def list_conflicts(
    store: Store,
    pair: list[str] | None = argument("Ids of the two conflicting memories.", metavar="[A B]"),
    *,
    keep: Keep | None = option("--keep", "Which of A and B to keep: a, b, both or neither."),
    resolved: bool = option("--resolved", "List the resolved pairs instead."),
    limit: int = option("-n", "--limit", "Maximum number of pairs.", default=20),
) -> Shown:
    """List contradictions, or resolve one.

    The newest pair comes first. Resolved pairs are listed only with --resolved.
    """
    if (keep is None) != (not pair) or len(pair or ("A", "B")) != 2:  # noqa: PLR2004 - a pair
        raise InvalidInput("A B", "to settle a pair, specify two ids and --keep")
    with store.open() as memory:
        if keep is not None:
            a, b = map(memory.store.full_id, pair or ())
            ends = memory.slots.resolve(a, b, keep.value)
            return Shown({"memories": ends}, [f"{end.id}  {end.status}" for end in ends])
        whole = resolved or memory.flush(wait=True, timeout=COMPARING)
        found = memory.slots.conflicts(status="resolved" if resolved else "open", limit=limit)
    behind = [] if whole else ["new memories are still being compared; try again later"]
    return Shown({"conflicts": found}, _pairs(found), empty="no conflicts", notes=behind)


def _pairs(found: Sequence[Conflict]) -> Iterator[str]:
    for one in found:
        yield f"{one.relation}{': ' if one.reason else ''}{one_line(one.reason)}"
        for name, end in (("a", one.a), ("b", one.b)):
            mark = "  (higher)" if end.id == one.higher else ""
            day = moment(end.valid_from)[:10]
            yield f"  {name}  {short(end.id)}  {day}  {one_line(end.text)}{mark}"


@command(app, f"memento feedback {ID} --useful", f'memento feedback {ID} --wrong --note "It moved"')
def feedback(
    store: Store,
    ids: Ids,
    *,
    useful: bool = option("--useful", "The memories helped."),
    useless: bool = option("--useless", "The memories were shown but did not help."),
    right: bool = option("--right", "The memories are true."),
    wrong: bool = option("--wrong", "The memories are false."),
    note: str | None = option("--note", "The reason, stored with the verdict."),
) -> Shown:
    """Report whether memories were helpful, right or wrong."""
    said = {Event.USED: useful, Event.IGNORED: useless, Event.CONFIRMED: right, Event.WRONG: wrong}
    chosen = [verdict for verdict, given in said.items() if given]
    if len(chosen) != 1:
        raise InvalidInput("verdict", "specify one of --useful, --useless, --right, --wrong")
    with store.open() as memory:
        names = [id_of(memory, one) for one in ids]
        found = memory.feedback.rate(names, verdict=chosen[0], note=note)
    lines = (
        f"{one.id}  {chosen[0]}, belief {one.mean:.0%} (before any verdict: {one.prior:.0%})"
        for one in found
    )
    return Shown({"beliefs": found}, lines)
