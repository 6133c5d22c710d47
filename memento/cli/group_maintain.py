"""Commands that keep a store in order: backup, export, checks, erasure, sleep."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from memento import MemoryManager
from memento.base.display import cut, one_line
from memento.base.files import new_file, path_of
from memento.base.plain import composed
from memento.check import MOST_NAMED
from memento.cli.options import ID, AsJson, Root, command, given, moment_of, option
from memento.cli.output import NOT_WELL, Shown, as_text, counted, elsewhere, wait_for_index, warn
from memento.cli.store import Store
from memento.errors import InvalidInput, NotFound
from memento.settings import load
from memento.sleep.tick_values import Tick
from memento.text.when import seconds_of
from memento.types import Kind, Trust
from memento.upkeep.backup import salvage as make_anew
from memento.upkeep.erase import Erasure
from memento.upkeep.other_formats import Format
from memento.verbs.vault import Action, Synced

app = typer.Typer()

WAIT_SECONDS = 30.0
"""Longest wait of ``erase`` for other processes, seconds, if none is given."""

Overwrite = Annotated[bool, option("--overwrite", help="Replace an existing file.")]


@command(
    app,
    "memento backup monday.db",
    "memento backup /mnt/safe/notes.db --root notes",
    embeds=False,
)
def backup(
    memory: MemoryManager,
    file: Annotated[Path, typer.Argument(help="Name of the backup; outside the store's folder.")],
    *,
    overwrite: Overwrite = False,
) -> Shown:
    """Write the whole store into one file.

    It may be in use meanwhile; the file is checked.

    It holds every namespace. `memento restore FILE` makes a store of it again.
    """
    kept = memory.store.backup(file, overwrite=overwrite)
    return Shown(kept, [f"{kept.path}  {counted(kept.memories)}, {kept.bytes:,} bytes, checked"])


@command(
    app,
    "memento export all.jsonl",
    "memento export rami.jsonl --namespace acme/rami --vectors",
    "memento export - | ssh other memento import - --trust user",
    "memento export memories.csv --format csv",
    "memento export --vault ~/notes/memento --dry-run",
    embeds=False,
)
def export(
    context: typer.Context,
    memory: MemoryManager,
    file: Annotated[
        str | None, typer.Argument(help="Name of the export; - writes to stdout.")
    ] = None,
    *,
    format: Annotated[  # noqa: A002 - the word for it
        Format | None,
        option("--format", help="Write the active memories for another program."),
    ] = None,
    vault: Annotated[
        Path | None,
        option("--vault", metavar="FOLDER", help="Keep a folder of notes the same, both ways."),
    ] = None,
    kind: Annotated[
        list[Kind] | None, option("--kind", help="With --vault: kinds that get a note.")
    ] = None,
    trust: Annotated[
        Trust, option("--trust", help="With --vault: who edits the notes.")
    ] = Trust.USER,
    allow_deletes: Annotated[
        bool, option("--allow-deletes", help="With --vault: also if many notes are missing.")
    ] = False,
    dry_run: Annotated[
        bool, option("--dry-run", help="With --vault: only report what would be done.")
    ] = False,
    yes: Annotated[bool, option("--yes", "-y", help="With --vault: do not ask.")] = False,
    vectors: Annotated[
        bool, option("--vectors", help="Also write the vectors, to save computing them again.")
    ] = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Write the memories as JSON Lines, or as notes.

    Any program can read the lines, and `memento import` imports them.

    Writes all namespaces, unless --namespace or MEMENTO_NAMESPACE names one; --format writes one.
    If the export goes to stdout, the output of --json goes to stderr.

    With --vault, each memory becomes a Markdown note. Edit notes with any editor and run it again:
    it takes over what changed on either side. Before it changes memories, it shows what it will do,
    and asks. A deleted note forgets its memory; `memento restore` brings it back.
    """
    if (file is None) == (vault is None) or (vault and (format or vectors or overwrite)):
        raise InvalidInput("FILE", "give either a file or --vault FOLDER alone")
    if vault is not None:
        ask = partial(
            memory.store.sync_vault, vault, trust=trust, allow_deletes=allow_deletes, kind=kind
        )
        plan = ask(dry_run=True)
        if not dry_run and not yes and plan.of(*_TO_MEMORIES):
            _agree_to(plan)
        synced = plan if dry_run else ask()
        for line in [] if as_json else _vault_lines(synced):
            typer.echo(line)
        if as_json:
            typer.echo(as_text(synced))
        return
    done = memory.store.export(
        sys.stdout.buffer if file == "-" else str(file),
        format=format,
        vectors=vectors,
        all_namespaces=format is None and not given(context, "namespace"),
        overwrite=overwrite,
    )
    said = f"{file}  {counted(done.memories)}, {done.links} links, {done.events} events"
    said = said if format is None else f"{file}  {counted(done.memories)}"
    typer.echo(as_text(done) if as_json else said, err=file == "-")
    if done.left_out:
        gone = ", ".join(f"{name} of {count}" for name, count in done.left_out.items())
        warn(f"{format} cannot hold: {gone}".replace("memories of", "memories:"))
    for memory_id in done.damaged:
        warn(f"{memory_id} is damaged and marked so; an import leaves it out")
    for memory_id in done.damaged_history:
        warn(f"{memory_id}: an earlier state is damaged and left out; the memory is whole")


_TO_MEMORIES: tuple[Action, ...] = ("added", "updated", "conflict", "forgotten")
"""Steps of a sync that change memories."""


def _agree_to(plan: Synced) -> None:
    """Show what would become of memories and ask; refuse if stdin is not a terminal."""
    if not sys.stdin.isatty():
        raise InvalidInput("--yes", "is needed without a terminal, or --dry-run")
    for line in _vault_lines(plan):
        typer.echo(line, err=True)
    if not typer.confirm("Do this?", err=True):
        raise typer.Abort


def _vault_lines(done: Synced) -> Iterator[str]:
    for step in done.of(*_TO_MEMORIES, "left", "withheld"):
        why = f": {step.why}" if step.why else ""
        yield one_line(f"{step.action} {step.path}{why}")
    parts = [
        f"{counted(len(done.of(one)), 'note')} {one}"
        for one in ("written", "removed")
        if done.of(one)
    ]
    parts += [f"{done.unchanged} unchanged"]
    parts += [f"{done.foreign} of others left alone"] * bool(done.foreign)
    yield f"{done.folder}  {', '.join(parts)}{' (dry run)' if done.dry_run else ''}"
    if done.of("withheld"):
        warn("many notes are missing; if you deleted them, use --allow-deletes")
    if done.of("conflict"):
        warn("both sides changed: the note holds; `memento changes --id ID` has the other text")
    if done.run is not None:
        yield f"`memento undo --run {done.run}` takes the changes of memories back"


@command(
    app,
    "memento import mine.jsonl --trust user",
    "memento import theirs.jsonl --namespace acme/rami",
    name="import",
    make=True,
)
def import_(
    context: typer.Context,
    memory: MemoryManager,
    file: Annotated[str, typer.Argument(help="A file of `memento export`; - reads stdin.")],
    *,
    trust: Annotated[
        Trust, option("--trust", help="Trust in the file; user if it is your own.")
    ] = Trust.IMPORT,
    as_json: AsJson = False,
) -> None:
    """Import an export.

    If any part is refused, nothing is imported. Importing twice adds nothing.

    Each memory goes into the namespace it comes from. With --namespace or MEMENTO_NAMESPACE, an
    export of one namespace goes into that one.

    A file is treated as foreign unless you say --trust user: its memories are validated as by
    `memento add` and quarantined (see `memento quarantine list`), without their earlier states, and
    none becomes a rule. Your own file is imported unchanged.
    """
    from memento.cli import tables  # noqa: PLC0415 - rich is slow to load

    with tables.Bar("importing").drawn() as bar:
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
    typer.echo(as_text(done) if as_json else said)
    for memory_id in done.damaged:
        warn(f"{memory_id} left out: it was damaged where it comes from")


@command(app, "memento config", "memento config --root ~/notes --json", embeds=False)
def config(store: Store) -> Shown:
    """Show every setting, and where its value comes from.

    The lines are those of a `memento.toml`. What holds is, in this order: a MEMENTO_* variable, the
    file in the store's folder, the file in your own folder for settings.
    """
    found = load(store.root).each
    return Shown(found, [f"{one.line:<40}  # {one.source}" for one in found])


By = Literal["namespace", "session", "tag", "key"]
"""The things by which memories are counted."""


@command(app, "memento stats", "memento stats --by tag", "memento stats --plot")
def stats(
    store: Store,
    *,
    by: Annotated[
        By | None, option("--by", help="Count the active memories of each of these instead.")
    ] = None,
    usage: Annotated[
        bool, option("--usage", help="Show how much language models were used instead.")
    ] = False,
    since: Annotated[
        datetime | None,
        option("--since", parser=moment_of, metavar="MOMENT", help="First day of --usage (UTC)."),
    ] = None,
    plot: Annotated[bool, option("--plot", help="Draw growth, tiers and strength.")] = False,
    svg: Annotated[
        Path | None, option("--svg", metavar="FILE", help="Write that drawing as SVG.")
    ] = None,
) -> Shown:
    """Count what is in the store.

    By tier, and what is not indexed yet; or by namespace, session, tag or key.
    """
    if (by is not None and usage) or (since is not None and not usage):
        raise InvalidInput("--usage", "contradicts --by; --since is for --usage")
    with store.open() as memory:
        if usage:
            return _usage(memory, since)
        if by is not None:
            return _counts(memory, by)
        found = memory.store.stats()
        if plot or svg:
            from memento.cli import plots  # noqa: PLC0415 - used by this command only

            shown = plots.panels(memory)
            if svg:
                with new_file(path_of("svg", svg), overwrite=True) as draft:
                    draft.write_text(plots.chart(shown, "memento"), "utf-8")
            if plot:
                return Shown(found, plots.lines(shown))
        others = [] if sum(found.tiers.values()) else [elsewhere(memory)]
    where = f"{store.namespace} in {store.root}"
    return Shown(found, lambda tables: tables.stats(found, where), notes=others)


def _counts(memory: MemoryManager, by: By) -> Shown:
    """Show a line for each name, the number first."""
    if by == "namespace":
        held = memory.store.namespaces()
        found = {"/".join(labels): count for labels, count in held.items()}
    else:
        found = dict(memory.store.counts(by))
    return Shown(found, [f"{count:>7}  {one_line(name)}" for name, count in found.items()])


def _usage(memory: MemoryManager, since: datetime | None) -> Shown:
    used = memory.store.usage(None if since is None else since.replace(tzinfo=UTC))
    lines = [
        f"{one_line(name)}: {one.calls} requests, {one.tokens_in} tokens sent, "
        f"{one.tokens_out} received, {one.failures} failures, {one.seconds:.1f} s"
        for name, one in [*used.models.items(), ("all", used.total)]
    ]
    left = f"left today: {used.calls_left} requests, {used.tokens_left} tokens"
    return Shown(used, [*lines, left])


@command(app, "memento doctor", "memento doctor --no-repair --json")
def doctor(
    context: typer.Context,
    memory: MemoryManager,
    *,
    repair: Annotated[bool, option("--repair/--no-repair", help="Repair derived data.")] = True,
) -> Shown:
    """Look for damage, and repair what can be.

    Exits with 1 if any check failed. Memories are never changed; data derived from them is
    repaired. Damaged memories are named, for all namespaces unless --namespace or MEMENTO_NAMESPACE
    names one.
    """
    found = memory.store.doctor(repair=repair, all_namespaces=not given(context, "namespace"))
    status = 0 if all(finding.ok for finding in found) else NOT_WELL
    return Shown({"findings": found}, lambda tables: tables.findings(found), status=status)


@command(
    app,
    "memento reindex",
    "memento reindex --embedder sentence-transformers:all-mpnet-base-v2",
)
def reindex(
    store: Store,
    *,
    wait: Annotated[bool, option("--wait/--no-wait", help="Wait until it is done.")] = True,
) -> Shown:
    """Embed all memories again.

    For another embedder than before. Exits with 1 if it got stuck.
    """
    with store.open() as memory:
        count = memory.store.reindex()
        status = wait_for_index(memory) if wait else 0
    line = f"{counted(count)} to embed with {store.embedder}"
    return Shown({"to_embed": count, "embedder": store.embedder}, [line], status=status)


@command(
    app,
    f"memento erase {ID}",
    "memento erase --source https://example.org/page --dry-run",
    "memento erase --session standup --yes",
    "memento erase --namespace acme/rami --yes",
    embeds=False,
)
def erase(
    context: typer.Context,
    memory: MemoryManager,
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
) -> Shown:
    """Remove memories for good.

    They are gone from every file of the store; unlike `forget`, it cannot be undone. Give ids,
    --source, --session, or --namespace alone for all of that namespace. Exits with 1 if work is
    left, which the next process that opens the store finishes.
    """
    everything = not ids and source is None and session is None
    everything = everything and given(context, "namespace", "COMMANDLINE")
    for one in ids or ():
        _refuse_part(memory, one)
    ask = partial(
        memory.store.erase,
        ids or None,
        source=source,
        session=session,
        everything=everything,
        derived=derived,
        timeout=WAIT_SECONDS if timeout is None else timeout,
    )
    planned = ask(dry_run=True)
    if not dry_run and not yes:
        _confirm(memory, planned, derived=derived)
    done = planned if dry_run else ask(dry_run=False)
    status = 0 if done.complete else NOT_WELL
    return Shown(done, _receipt(done, derived=derived), empty="", status=status)


def _refuse_part(memory: MemoryManager, given: str) -> None:
    """Refuse a part of an id, which the other commands take: what is erased is named in full."""
    with suppress(NotFound):
        whole = memory.store.full_id(given)
        if whole != composed(given):
            raise InvalidInput("ID", f"erase requires whole ids: {given} is {whole}")


def _confirm(memory: MemoryManager, planned: Erasure, *, derived: bool) -> None:
    """Show the memories and ask for confirmation; refuse if stdin is not a terminal."""
    if not sys.stdin.isatty():
        raise InvalidInput("--yes", "is needed to erase without a terminal to ask for confirmation")
    doomed = planned.ids + (planned.derived if derived else ())
    for memory_id in doomed[:MOST_NAMED]:
        warn(f"{memory_id}  {cut(memory.get(memory_id).text, 80)}")
    if len(doomed) > MOST_NAMED:
        warn(f"... and {len(doomed) - MOST_NAMED} more")
    if not typer.confirm(f"Erase {counted(len(doomed))} for good?", err=True):
        raise typer.Abort


def _receipt(done: Erasure, *, derived: bool) -> Iterator[str]:
    said = "would be erased" if done.dry_run else "erased"
    for memory_id in done.ids:
        yield f"{memory_id}  {said}"
    for memory_id in done.derived:
        yield f"{memory_id}  {said if derived else 'kept'}, derived"
    for memory_id in done.locked:
        yield f"{memory_id}  {'is' if done.dry_run else 'was'} locked"
    if done.dry_run:
        return
    rows = ", ".join(
        counted(count) if table == "memories" else f"{count} {table}"
        for table, count in sorted(done.rows.items())
        if count
    )
    yield f"{done.at.isoformat()}  {rows or 'nothing there'}"
    for word, names in (("rewritten", done.rewritten), ("removed", done.removed)):
        if names:
            yield f"{word}: {', '.join(dict.fromkeys(names))}"
    for part, why in done.pending.items():
        warn(f"{part} not done yet: {why}; that process or the next one to open the store does it")
    if done.untouched:
        yield f"not files of the store, not checked: {', '.join(done.untouched)}"
    yield f"not reached: {'; '.join(done.not_reached)}"


@command(app, "memento salvage", "memento salvage --root ~/notes --json")
def salvage(*, as_json: AsJson = False, root: Root = None) -> int:
    """Make a new store from what is left of a damaged one.

    Exits with 1 if any memory was lost. Use it if `memento doctor` finds damage in the ledger, or
    the ledger cannot be opened. The damaged store is kept beside the new one. Close it in every
    process first.
    """
    done = make_anew(root)
    lines = [
        f"{done.root}  {counted(done.kept)} kept, {done.lost} lost",
        *(f"  {one} was changed outside memento and is left out" for one in done.changed),
    ]
    if done.lost_links:
        lines.append(f"  links lost between the memories that are kept: {done.lost_links}")
    lines.append(f"{done.aside}  the damaged store")
    status = NOT_WELL if done.lost or done.lost_links else 0
    return Shown(done, lines, status=status).show(as_json=as_json)


@command(
    app,
    "memento sleep",
    "memento sleep --seconds 60",
    "memento sleep --dry-run",
    "memento sleep --steps articles",
)
def sleep(
    memory: MemoryManager,
    *,
    seconds: Annotated[
        float,
        option("--seconds", help="Time after which to stop; the next call goes on."),
    ] = 5.0,
    steps: Annotated[
        list[str] | None,
        option(
            "--steps",
            help="Only this step: `fold`, `duplicates`, `articles`, `tiers`, `replay` or `archive`;"
            " repeatable.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, option("--dry-run", help="Only report what would be changed.")
    ] = False,
) -> Shown:
    """Tidy up, as far as the time allows.

    It folds near-equal statements, moves memories between tiers and archives what nobody needs.
    Nothing is deleted; `memento undo --run N` takes it all back. When time is up, the next call
    goes on. With `--steps articles` it writes articles: texts that quote what is known of a topic.
    """
    found = memory.sleep.run(seconds=seconds, steps=steps or None, dry_run=dry_run)
    return Shown(found, _sleep_lines(found), empty="")


def _sleep_lines(found: Tick) -> Iterator[str]:
    if found.skipped:
        yield f"nothing done: {found.skipped}"
    for name, one in found.steps.items():
        why = "".join(f", {count} {reason}" for reason, count in one.skipped.items() if count)
        yield f"{name:10} looked at {one.looked:,}, changed {one.changed:,}{why}"
    if found.run is not None:
        yield f"memento undo --run {found.run} takes it back"
    if not found.done and not found.skipped:
        yield "not done yet: the next call goes on"
