"""Commands that keep a store in order: backup, export, checks, erasure, sleep."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from memento import MemoryManager
from memento.agents.examine import examine as examine_agents
from memento.base.display import cut, one_line
from memento.base.plain import composed
from memento.check import MOST_NAMED
from memento.cli.options import (
    ID,
    AsJson,
    argument,
    command,
    given,
    moment_option,
    option,
    seconds_of,
)
from memento.cli.output import (
    NOT_WELL,
    Shown,
    as_text,
    counted,
    elsewhere,
    progress_of,
    quarantined,
    say_stdin,
    wait_for_index,
    warn,
)
from memento.cli.store import Store, with_root
from memento.errors import InvalidInput, NotFound
from memento.settings import load
from memento.sleep.tick_values import Tick
from memento.types import Finding, Kind, Trust
from memento.upkeep.backup import salvage as make_anew
from memento.upkeep.erase import Erasure
from memento.upkeep.other_formats import Format
from memento.verbs.vault import Action, Synced

app = typer.Typer()

WAIT_SECONDS = 30.0
"""Maximum wait of ``erase`` for other processes, seconds, if none is given."""

Wait = Annotated[
    bool, option("--wait/--no-wait", "With --reindex: wait until indexing is complete.")
]
Overwrite = Annotated[bool, option("--overwrite", "Replace an existing file.")]


@command(
    app, "memento backup monday.db", "memento backup /mnt/safe/notes.db --root notes", embeds=False
)
def backup(
    memory: MemoryManager,
    file: Path = argument("File to write, outside the store's folder."),
    *,
    overwrite: Overwrite = False,
) -> Shown:
    """Back up the whole store to a single file.

    The store can stay in use during the backup. The finished file is verified.

    The backup includes every namespace. `memento restore FILE` restores a store from it.
    """
    if str(file) == "-":
        raise InvalidInput("FILE", "must be a file; to write to stdout, use `memento export -`")
    kept = memory.store.backup(file, overwrite=overwrite)
    return Shown(kept, [f"{kept.path}  {counted(kept.memories)}, {kept.bytes:,} bytes, verified"])


@command(
    app,
    "memento export all.jsonl",
    "memento export rami.jsonl --namespace acme/rami --vectors",
    "memento export - | ssh other memento import - --trust user",
    "memento export memories.csv --format csv",
    "memento export --vault ~/notes/memento --dry-run",
    "memento export --move-to postgresql://me@db.example.com/team",
    embeds=False,
)
def export(
    context: typer.Context,
    memory: MemoryManager,
    file: str | None = argument("File to write; - writes to stdout."),
    *,
    format: Format | None = option(
        "--format", "Write the active memories in another program's format."
    ),
    vault: Path | None = option(
        "--vault", "Sync the memories with a folder of notes, in both directions.", metavar="FOLDER"
    ),
    kind: list[Kind] | None = option(
        "--kind", "With --vault: only memories of this kind get a note; repeatable."
    ),
    trust: Trust = option(
        "--trust", "With --vault: how far to trust edits to the notes.", default=Trust.USER
    ),
    allow_deletes: bool = option(
        "--allow-deletes", "With --vault: forget memories even if many notes are missing."
    ),
    dry_run: bool = option("--dry-run", "With --vault: only report what would be done."),
    yes: bool = option("--yes", "-y", "With --vault: do not ask for confirmation."),
    vectors: bool = option(
        "--vectors", "Include the vectors, so they don't have to be recomputed."
    ),
    overwrite: Overwrite = False,
    move_to: str | None = option(
        "--move-to", "Copy the whole store into an empty one.", metavar="STORE"
    ),
    as_json: AsJson = False,
) -> None:
    """Export memories to a file, notes or another store.

    The file is in JSON Lines format, which other programs can read and `memento import` can load.
    With --format, the active memories in one namespace are written in another program's format.

    All namespaces are written unless you specify one with --namespace or MEMENTO_NAMESPACE. If the
    export goes to stdout, the output of --json goes to stderr.

    With --vault, each memory becomes a Markdown note in a folder. Edit the notes with any editor
    and run the command again to apply the changes from both sides. Before changing memories, the
    command shows what it will do and asks for confirmation. If you delete a note, its memory is
    forgotten; `memento restore` brings it back.

    With --move-to, every namespace is copied into an empty folder or PostgreSQL database, and the
    two stores are compared. If the copy is interrupted, run the command again. The original store
    is not changed.
    """
    places = [file, vault, move_to]
    if places.count(None) != len(places) - 1 or (file is None and (format or vectors or overwrite)):
        problem = "specify only one of: a file, - for stdout, --vault FOLDER, --move-to STORE"
        raise InvalidInput("FILE", problem)
    if move_to is not None:
        moved = memory.store.move(move_to)
        kept = f"{counted(moved.memories)} in {counted(moved.namespaces, 'namespace')}"
        typer.echo(as_text(moved) if as_json else f"copied and verified: {kept}")
        return
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
    kinds = (done.memories, "memory"), (done.links, "link"), (done.events, "event")
    said = f"{file}  {', '.join(counted(*one) for one in kinds)}"
    said = said if format is None else f"{file}  {counted(done.memories)}"
    typer.echo(as_text(done) if as_json else said, err=file == "-")
    if done.left_out:
        gone = ", ".join(f"{name} of {count}" for name, count in done.left_out.items())
        warn(f"{format} cannot represent: {gone}".replace("memories of", "memories:"))
    for memory_id in done.damaged:
        warn(f"{memory_id} is damaged and marked as damaged; an import skips it")
    for memory_id in done.damaged_history:
        warn(f"{memory_id}: an earlier state is damaged and was left out; the memory is intact")


_TO_MEMORIES: tuple[Action, ...] = ("added", "updated", "conflict", "forgotten")
"""Steps of a sync that change memories."""


def _agree_to(plan: Synced) -> None:
    """Show what would change and ask for confirmation; refuse if stdin is not a terminal."""
    if not sys.stdin.isatty():
        raise InvalidInput(
            "--yes", "is required when there is no terminal for confirmation; or use --dry-run"
        )
    for line in _vault_lines(plan):
        typer.echo(line, err=True)
    if not typer.confirm("Proceed?", err=True):
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
    parts += [f"{done.foreign} not from memento, left unchanged"] * bool(done.foreign)
    yield f"{done.folder}  {', '.join(parts)}{' (dry run)' if done.dry_run else ''}"
    if not (done.steps or done.unchanged):
        warn("no notes were written; to include turns of conversations, use --kind episode")
    if done.of("withheld"):
        warn("many notes are missing; if you deleted them, use --allow-deletes")
    if done.of("conflict"):
        warn("changed on both sides; the note wins; `memento changes --id ID` shows the other text")
    if done.run is not None:
        yield f"to undo the changes to memories: `memento undo --run {done.run}`"


@command(
    app,
    "memento import mine.jsonl --trust user",
    "memento import theirs.jsonl --namespace acme/rami",
    name="import",
    make=True,
)
def import_(
    context: typer.Context,
    store: Store,
    file: str = argument("A file written by `memento export`; - reads stdin."),
    *,
    trust: Trust = option(
        "--trust", "How far to trust the file; user if it is your own.", default=Trust.IMPORT
    ),
    as_json: AsJson = False,
) -> None:
    """Import a file written by `memento export`.

    If any part is rejected, nothing is imported. Importing the same file twice adds nothing new.

    Each memory is imported into the namespace it came from. With --namespace or MEMENTO_NAMESPACE,
    an export of a single namespace is imported into that namespace instead.

    Unless you specify --trust user, the file is treated as someone else's: its memories are
    validated as in `memento add` and quarantined (see `memento quarantine list`), their earlier
    states are dropped, and none becomes a rule. Your own file is imported unchanged.
    """
    from memento.cli import tables  # noqa: PLC0415 - rich is slow to load
    from memento.upkeep.import_ import verify, whole  # noqa: PLC0415 - used by this command only
    from memento.upkeep.import_lines import longest_line  # noqa: PLC0415 - as above

    source = sys.stdin.buffer if file == "-" else file
    if file == "-":
        say_stdin()
    with ExitStack() as opened:
        if not (store.url or store.exists):  # a refused file creates no store
            stream, name = opened.enter_context(whole(source))
            verify(stream, name, longest_line(trust))
            stream.seek(0)
            source = stream if file == "-" else file
        memory = opened.enter_context(store.open())
        bar = opened.enter_context(tables.Bar("importing").drawn())
        done = memory.store.import_from(
            source,
            all_namespaces=not given(context, "namespace"),
            trust=trust,
            progress=progress_of(memory, bar),
        )
    known = f", {done.known} already known" if done.known else ""
    known += f", {done.approved} of them released from quarantine" if done.approved else ""
    waiting = f", {done.quarantined} of them in quarantine" if done.quarantined else ""
    hidden = f", {done.hidden} hidden memories left out" if done.hidden else ""
    said = f"{counted(done.memories)} new{waiting}{known}{hidden}"
    typer.echo(as_text(done) if as_json else said)
    for line in quarantined(done.quarantined):
        own = "; if the file is your own, import it again with --trust user"
        typer.echo(f"memento: {line}{'' if trust is Trust.USER else own}", err=True)
    for memory_id in done.damaged:
        warn(f"{memory_id} was left out: it was already damaged in the original store")


@command(app, "memento config", "memento config --root ~/notes --json", embeds=False)
def config(store: Store) -> Shown:
    """Show every setting and where its value comes from.

    The output is in the format of a `memento.toml` file. A MEMENTO_* variable takes precedence over
    the file in the store's folder, which takes precedence over the file in your own settings
    folder.
    """
    found = load(store.root).each
    return Shown({"settings": found}, [f"{one.line:<40}  # {one.source}" for one in found])


By = Literal["namespace", "session", "tag", "key"]
"""The things by which memories are counted."""


@command(app, "memento stats", "memento stats --by tag", "memento stats --plot")
def stats(
    store: Store,
    *,
    by: By | None = option(
        "--by", "Count the active memories per namespace, session, tag or key instead."
    ),
    usage: bool = option("--usage", "Show language model usage instead."),
    since: datetime | None = moment_option(
        "--since", "With --usage: the first day to include (UTC)."
    ),
    plot: bool = option("--plot", "Draw charts of growth, tiers and strength."),
) -> Shown:
    """Show statistics about the store.

    The output counts the memories in each tier and those that are not indexed yet. With --by, it
    counts the memories per namespace, session, tag or key.
    """
    if (by is not None and usage) or (since is not None and not usage):
        raise InvalidInput("--usage", "cannot be combined with --by; --since requires --usage")
    with store.open() as memory:
        if usage:
            return _usage(memory, since)
        if by is not None:
            return _counts(memory, by)
        found = memory.store.stats()
        if plot:
            from memento.cli import plots  # noqa: PLC0415 - used by this command only

            return Shown(found, plots.lines(plots.panels(memory)))
        others = [] if sum(found.tiers.values()) else [elsewhere(memory)]
        where = f"{'/'.join(memory.store.namespace)} in {store.place}"
    return Shown(found, lambda tables: tables.stats(found, where), notes=others)


def _counts(memory: MemoryManager, by: By) -> Shown:
    """Show a line for each name, with its number first."""
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


@command(
    app,
    "memento doctor",
    "memento doctor --no-repair --json",
    "memento doctor --agents",
    "memento doctor --reindex --embedder sentence-transformers:all-mpnet-base-v2",
    "memento doctor --salvage",
)
def doctor(
    context: typer.Context,
    store: Store,
    *,
    repair: bool = option(
        "--repair/--no-repair", "Repair derived data, or only check.", default=True
    ),
    agents: bool = option("--agents", "Check the agents on this machine instead."),
    anew: bool = option("--reindex", "Recompute all embeddings instead, to change the embedder."),
    wait: Wait = True,
    rescue: bool = option(
        "--salvage", "Build a new store from the intact parts of a damaged one instead."
    ),
) -> Shown:
    """Check the store for damage and repair it if possible.

    The exit status is 1 if any check failed. Only derived data is repaired; memories are never
    changed. Damaged memories are listed for all namespaces unless you specify one with --namespace
    or MEMENTO_NAMESPACE. If the ledger is damaged or cannot be opened, close the store in every
    process and use --salvage. The damaged store is kept next to the new one.
    """
    if agents + anew + rescue > 1:
        raise InvalidInput("--salvage", "use only one of --agents, --reindex and --salvage")
    if agents:
        return _findings(examine_agents(store.named))
    if anew:
        return _reindexed(store, wait=wait)
    if rescue:
        return _salvaged(store.named)
    with store.open() as memory:
        every = not given(context, "namespace")
        return _findings(memory.store.doctor(repair=repair, all_namespaces=every))


def _findings(found: Sequence[Finding]) -> Shown:
    status = 0 if all(finding.ok for finding in found) else NOT_WELL
    found = [replace(finding, detail=with_root(finding.detail)) for finding in found]
    return Shown({"findings": found}, lambda tables: tables.findings(found), status=status)


def _reindexed(store: Store, *, wait: bool) -> Shown:
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
    ids: list[str] | None = argument("Memory ids.", metavar="ID"),
    *,
    source: str | None = option(
        "--source", "Select all memories from this address.", metavar="URI"
    ),
    session: str | None = option("--session", "Select all memories from this session."),
    derived: bool = option(
        "--derived/--keep-derived",
        "Also erase memories derived from these, or keep them.",
        default=True,
    ),
    dry_run: bool = option("--dry-run", "Only report what would be erased."),
    yes: bool = option("--yes", "-y", "Do not ask for confirmation."),
    timeout: float | None = option(
        "--timeout",
        "How long to wait for other processes that have the store open. Default: 30 s.",
        parser=seconds_of,
        metavar="TIME",
    ),
) -> Shown:
    """Erase memories permanently.

    The memories are removed from every file in the store. Unlike `memento forget`, this cannot be
    undone. Specify ids, --source or --session. To erase a whole namespace, specify only
    --namespace. If work remains, the exit status is 1, and the next process that opens the store
    finishes the work.
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
        _confirm(memory, planned)
    done = planned if dry_run else ask(dry_run=False)
    status = 0 if done.complete else NOT_WELL
    return Shown(done, _receipt(done), empty="", status=status)


def _refuse_part(memory: MemoryManager, given: str) -> None:
    """Refuse parts of ids, which other commands accept: ``erase`` requires whole ids."""
    with suppress(NotFound):
        whole = memory.store.full_id(given)
        if whole != composed(given):
            raise InvalidInput("ID", f"erase requires complete ids: {given} is short for {whole}")


def _confirm(memory: MemoryManager, planned: Erasure) -> None:
    """Show the memories and ask for confirmation; refuse if stdin is not a terminal."""
    if not sys.stdin.isatty():
        raise InvalidInput(
            "--yes", "is required to erase when there is no terminal for confirmation"
        )
    doomed = planned.ids + planned.derived
    for memory_id in doomed[:MOST_NAMED]:
        warn(f"{memory_id}  {cut(memory.get(memory_id).text, 80)}")
    if len(doomed) > MOST_NAMED:
        warn(f"... and {len(doomed) - MOST_NAMED} more")
    if not typer.confirm(f"Permanently erase {counted(len(doomed))}?", err=True):
        raise typer.Abort


def _receipt(done: Erasure) -> Iterator[str]:
    said = "would be erased" if done.dry_run else "erased"
    for memory_id in done.ids:
        yield f"{memory_id}  {said}"
    for memory_id in done.derived:
        yield f"{memory_id}  {said}, derived"
    for memory_id in done.kept:
        yield f"{memory_id}  kept, derived"
    for memory_id in done.locked:
        yield f"{memory_id}  {'is' if done.dry_run else 'was'} locked"
    if done.dry_run:
        return
    rows = ", ".join(
        counted(count) if table == "memories" else f"{count} {table}"
        for table, count in sorted(done.rows.items())
        if count
    )
    yield f"{done.at.isoformat()}  {rows or 'nothing found'}"
    for word, names in (("rewritten", done.rewritten), ("removed", done.removed)):
        if names:
            yield f"{word}: {', '.join(dict.fromkeys(names))}"
    for part, why in done.pending.items():
        warn(
            f"{part} not done yet: {why}; that process or the next one to open the store will do it"
        )
    if done.untouched:
        yield f"not part of the store, so not checked: {', '.join(done.untouched)}"
    yield f"beyond the reach of erase: {'; '.join(done.not_reached)}"


def _salvaged(root: str | None) -> Shown:
    done = make_anew(root)
    short = done.missing_pages
    lost = f"at least {done.lost} lost" if short else f"{done.lost} lost"
    lines = [
        f"{done.root}  {counted(done.kept)} kept, {lost}",
        *(f"  {one} was changed outside memento and was left out" for one in done.changed),
    ]
    if done.lost_links:
        lines.append(f"  links lost between the kept memories: {done.lost_links}")
    if short:
        unknown = "an unknown number of memories and links is lost"
        lines.append(f"  pages missing from the file: {short}; {unknown}")
    lines.append(f"{done.aside}  the damaged store")
    status = NOT_WELL if done.lost or done.lost_links or short else 0
    return Shown(done, lines, status=status)


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
    seconds: float = option(
        "--seconds", "Stop after this many seconds; the next run continues.", default=5.0
    ),
    steps: list[str] | None = option(
        "--steps",
        "Run only this step: `fold`, `duplicates`, `articles`, `tiers`, `replay` or"
        " `archive`; repeatable.",
    ),
    dry_run: bool = option("--dry-run", "Only report what would be changed."),
) -> Shown:
    """Tidy up the store for a limited time.

    Sleep merges near-duplicates, moves memories between tiers and archives memories that are no
    longer used. Nothing is deleted; `memento undo --run N` undoes the whole run. If the time runs
    out, the next run continues. With `--steps articles`, sleep writes articles, which quote what is
    known about a topic.
    """
    found = memory.sleep.run(seconds=seconds, steps=steps or None, dry_run=dry_run)
    return Shown(found, _sleep_lines(found), empty="")


def _sleep_lines(found: Tick) -> Iterator[str]:
    if found.skipped:
        yield f"nothing done: {found.skipped}"
    for name, one in found.steps.items():
        why = "".join(f", {count} {reason}" for reason, count in one.skipped.items() if count)
        yield f"{name:10} examined {one.looked:,}, changed {one.changed:,}{why}"
    if found.run is not None:
        yield f"to undo: memento undo --run {found.run}"
    if not found.done and not found.skipped:
        yield "not finished; the next run continues"
