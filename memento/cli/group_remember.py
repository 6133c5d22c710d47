"""Commands that add memories: by themselves, from files, and from what a user says."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from memento import MemoryManager
from memento.base.clock import system_clock
from memento.base.display import one_line
from memento.base.layout import LEDGER
from memento.cli.options import (
    Scope,
    Session,
    Store,
    coming_moment_of,
    command,
    moment_of,
    option,
)
from memento.cli.output import USAGE, Shown, counted, masked, wait_for_index, warn
from memento.errors import InvalidInput
from memento.ingest import Format
from memento.messages import is_one
from memento.observe.values import Foresight
from memento.text.when import seconds_of
from memento.types import Kind, Memory, Source, Status, Tier, Trust

if TYPE_CHECKING:
    from memento.verbs.ingesting import Ingested

*_OTHERS, _LAST = Format
FORMATS = f"{', '.join(_OTHERS)} or {_LAST}"
"""The formats that can be read, as a sentence."""

app = typer.Typer()

Origin = Annotated[
    Trust, option("--trust", help="Its origin; tool, web and import are quarantined.")
]


@command(
    app,
    'memento add "The deploy key expires on 3 May" --tier long --tag ops',
    'memento add "Rami uses Helix" --key rami/editor --kind preference',
    "git log -1 --format=%B | memento add - --session standup",
    make=True,
)
def add(
    store: Store,
    text: Annotated[
        list[str], typer.Argument(metavar="TEXT...", help="Text to remember; - reads from stdin.")
    ],
    *,
    tier: Annotated[
        Tier | None, option("--tier", help="Tier; chosen by importance if not given.")
    ] = None,
    kind: Annotated[Kind, option("--kind", help="Kind of statement.")] = Kind.FACT,
    importance: Annotated[
        float | None, option("--importance", help="From 0 to 1; scored if not given.")
    ] = None,
    key: Annotated[
        str | None,
        option("--key", help="Slot it fills; a new value supersedes the one before."),
    ] = None,
    alias: Annotated[
        list[str] | None, option("--alias", help="Another name to find it by; repeatable.")
    ] = None,
    scope: Scope = "",
    session: Session = None,
    actor: Annotated[str | None, option("--actor", help="Who said it.")] = None,
    tag: Annotated[list[str] | None, option("--tag", help="Label; repeatable.")] = None,
    occurred_at: Annotated[
        datetime | None,
        option("--at", parser=moment_of, metavar="MOMENT", help="When it was said; now if not."),
    ] = None,
    expires_in: Annotated[
        float | None,
        option(
            "--expires-in",
            parser=seconds_of,
            metavar="TIME",
            help="Hide it after this time: 90, 15m, 12h, 7d.",
        ),
    ] = None,
    condition: Annotated[
        str | None, option("--condition", help="When a rule applies, in words.")
    ] = None,
    due_at: Annotated[
        datetime | None,
        option("--due", parser=coming_moment_of, metavar="MOMENT", help="When a plan is due."),
    ] = None,
    trust: Origin = Trust.USER,
    source: Annotated[
        str | None, option("--source", metavar="URI", help="Address it comes from.")
    ] = None,
    pin: Annotated[bool, option("--pin", help="Never fades.")] = False,
    supersedes: Annotated[
        list[str] | None, option("--supersedes", help="Id of a memory it replaces; repeatable.")
    ] = None,
    id: Annotated[str | None, option("--id", help="Your own id; makes a retry harmless.")] = None,  # noqa: A002 - the field's own name
) -> Shown:
    """Remember TEXT. When the command returns, it is on the disk."""
    said = _from_stdin() if text == ["-"] else " ".join(text)
    with store.open() as memory:
        kept = memory.add(
            said,
            tier,
            kind=kind,
            importance=importance,
            key=key,
            aliases=alias or (),
            scope=scope,
            session=session,
            actor=actor,
            tags=tag or (),
            occurred_at=occurred_at,
            expires_in=expires_in,
            condition=condition,
            due_at=due_at,
            source=Source(trust, source),
            pinned=pin,
            supersedes=supersedes or (),
            id=id,
        )
    line = f"{kept.id}  {kept.tier} tier, importance {kept.importance:.2f}"
    return Shown(kept, [line, *_waiting([kept])])


@command(
    app,
    "memento ingest chatgpt-export.zip",
    "memento ingest notes/ diary.md --scope project/alpha",
    'memento ingest "WhatsApp Chat with Ilse.txt" --me Ada',
    "memento ingest people.csv --map text=note,actor=name",
    "memento ingest contract.md --document",
    make=True,
)
def ingest(
    store: Store,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Files, folders, .zip archives, or - for stdin."),
    ],
    *,
    format: Annotated[str | None, option("--format", help=f"{FORMATS}; detected if none.")] = None,  # noqa: A002 - the word for it
    name: Annotated[
        str | None, option("--name", help="Name of the source; the file's name if not given.")
    ] = None,
    scope: Scope = "",
    trust: Origin = Trust.USER,
    me: Annotated[
        str | None, option("--me", help="Your name, id or address in chats of several people.")
    ] = None,
    map: Annotated[  # noqa: A002 - the word for it
        list[str] | None,
        option("--map", metavar="FIELD=COLUMN", help="Column that fills a field; repeatable."),
    ] = None,
    document: Annotated[
        bool, option("--document", help="Follow the file: what it no longer says is hidden.")
    ] = False,
    wait: Annotated[bool, option("--wait/--no-wait", help="Wait until it is indexed.")] = True,
) -> int:
    """Remember files: notes, exports of chats and of other memories, tables.

    What a file is, is told by its content. All of a file is checked before anything of it is
    written. If it is interrupted, run it again: it adds only memories that are not there yet, and
    so does the next export.

    What other people said waits in quarantine; --me says which of them you are.

    With --document, a text or Markdown file is kept in numbered parts. After a change of the file,
    run it again: new parts supersede the old ones, and parts that are gone are hidden.
    """
    from memento.cli import tables  # noqa: PLC0415 - rich is slow to load
    from memento.ingest import survey  # noqa: PLC0415 - used by this command only
    from memento.ingest.readers.tables import parse_map  # noqa: PLC0415 - likewise

    if document:
        for file in files:
            _follow(store, Path(file), name, format, scope, trust)
        with store.open() as memory:
            return wait_for_index(memory) if wait else 0
    with tables.Bar("reading", 0).drawn() as bar:
        looked = survey(
            *files,
            format=format,
            name=name,
            scope=scope,
            trust=trust,
            me=me,
            map=parse_map(map or []),
            progress=bar.to,
        )
    failed = any(one.problem and not one.left_out for one in looked.found)
    if not any(one.format for one in looked.found):
        for one in looked.found:
            warn(one.problem)
        return USAGE if failed or not looked.found else 0
    with store.open() as memory:
        with tables.Bar("adding", 0).drawn() as bar:
            reports = memory.documents.ingest(looked, progress=bar.to, told=_tell)
        waiting = sum(one.waiting for one in reports)
        for line in _quarantined(waiting):
            typer.echo(line)
        status = wait_for_index(memory) if wait else 0
    return USAGE if failed else status


def _tell(one: Ingested) -> None:
    """Print what became of a file."""
    if one.problem:
        warn(f"left out: {one.problem}" if one.left_out else one.problem)
        return
    known = one.read - one.new - one.changed
    changed = [f"{one.changed} changed"] * bool(one.changed)
    what = [one.called] * one.is_export
    said = ", ".join(
        [*what, f"{counted(one.read)} read", f"{one.new} new", *changed, f"{known} known already"]
    )
    typer.echo(f"{one.name}: {said}")
    for note in one.notes:
        warn(f"{one.name}: {note}")


def _follow(
    store: Store,
    file: Path,
    name: str | None,
    format: str | None,  # noqa: A002 - the word for it
    scope: str,
    trust: Trust,
) -> None:
    """Keep a document in parts that follow the file."""
    from memento.cli import tables  # noqa: PLC0415 - rich is slow to load

    with store.open() as memory:
        began = system_clock()
        with tables.Bar("adding").drawn() as bar:
            kept = memory.documents.add(
                file,
                name=name,
                format=cast("Literal['text', 'markdown'] | None", format),  # refused if not
                scope=scope,
                source=Source(trust),
                progress=bar.to,
            )
        new = sum(one.created_at >= began for one in kept)
        for line in (f"{file.name}: {len(kept)} parts, {new} new", *_waiting(kept)):
            typer.echo(line)


def _from_stdin() -> str:
    """Read all of stdin; at a terminal, print that it is waiting for input."""
    if sys.stdin.isatty():
        warn("reading from stdin; end with Ctrl-D")
    return sys.stdin.read()


def _waiting(kept: Sequence[Memory]) -> list[str]:
    """Say how many of the new memories are quarantined."""
    return _quarantined(len({one.id for one in kept if one.status is Status.QUARANTINED}))


def _quarantined(waiting: int) -> list[str]:
    return [f"{waiting} quarantined until approved: see `memento quarantine list`"] * bool(waiting)


@command(
    app,
    'memento observe --user "No, use uv instead of pip" --dry-run',
    'memento observe --user "I live in Porto" --assistant "Noted." --session monday',
    "memento observe --session standup < transcript.txt",
    make=True,
)
def observe(
    store: Store,
    text: Annotated[
        str | None, typer.Argument(help="Message of the user, as --user.", show_default=False)
    ] = None,
    *,
    user: Annotated[str | None, option("--user", help="Message of the user.")] = None,
    assistant: Annotated[
        str | None, option("--assistant", help="Answer of the assistant to it.")
    ] = None,
    session: Session = None,
    scope: Annotated[str, option("--scope", help="Where it takes place.")] = "",
    mode: Annotated[
        str | None, option("--mode", help="off, assist or full: MEMENTO_LLM_MODEL names the model.")
    ] = None,
    dry_run: Annotated[
        bool, option("--dry-run", help="Only show what would be learnt, and why.")
    ] = False,
) -> Shown:
    """Keep a turn of a conversation and learn from what the user states in it.

    With --mode assist or full a language model points at further sentences of the user; a dry run
    shows what is learnt without it.

    Without a message it reads a transcript: lines of JSON with role and content, or lines that
    begin with "user:" or "assistant:".
    """
    if text is not None and user is not None:
        raise InvalidInput("--user", "is given once, or as the argument")
    user = text if user is None else user
    if user is None and assistant is not None:
        raise InvalidInput("--assistant", "is given with a message of the user")
    turns = _transcript(sys.stdin.read()) if user is None else [{"role": "user", "content": user}]
    if dry_run:
        found = _foreseen(store, turns, session, scope)
        return Shown(masked(found), _foresight_lines(found), empty="nothing to learn")
    with store.open() as memory:
        if user is None:
            seen = memory.observe(messages=turns, session=session, scope=scope, mode=mode)
        else:
            seen = memory.observe(user, assistant, session=session, scope=scope, mode=mode)
    return Shown(masked(seen), map(one_line, masked(seen.explain()).split("\n")))


def _foreseen(
    store: Store, turns: list[dict[str, Any]], session: str | None, scope: str
) -> list[Foresight]:
    """Say what a store would learn; without a store, what a new one would."""
    with TemporaryDirectory() as empty:
        there = store if (store.root / LEDGER).exists() else replace(store, root=Path(empty))
        with there.open() as memory:
            return memory.rules.foresee(turns, session=session, scope=scope)


def _foresight_lines(found: list[Foresight]) -> Iterator[str]:
    for one in found:
        said = one.candidate
        slot = f", slot {said.key}" if said.key else ""
        others = f" ({', '.join(one.others)})" if one.others else ""
        yield f"{one.action}{others}: {one_line(masked(said.text))}"
        reasons = one_line(", ".join(said.reasons))
        yield f"    {said.signal} {said.confidence:.2f}{slot}: {reasons}"


def _transcript(text: str) -> list[dict[str, Any]]:
    """Read a transcript: JSON lines, or speakers before a colon."""
    turns: list[dict[str, Any]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        if line.lstrip().startswith("{"):
            turns.append(_message(line, number))
            continue
        speaker, colon, said = line.partition(":")
        if colon and is_one({"role": speaker}):
            turns.append({"role": speaker, "content": said.strip()})
        elif turns and isinstance(turns[-1].get("content"), str):
            turns[-1]["content"] += f"\n{line}"
        else:
            raise InvalidInput(f"line {number}", 'begins with neither "user:" nor "assistant:"')
    return turns


def _message(line: str, number: int) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise InvalidInput(f"line {number}", "is not JSON") from error
    if not isinstance(found, dict):
        raise InvalidInput(f"line {number}", "is not a JSON object")
    return found


@command(app, "memento usage", "memento usage --since 2026-01-01 --json", embeds=False)
def usage(
    memory: MemoryManager,
    *,
    since: Annotated[
        datetime | None, option("--since", help="First day (UTC).", formats=["%Y-%m-%d"])
    ] = None,
) -> Shown:
    """Show how much language models were used, and what is left of the day."""
    first = None if since is None else since.replace(tzinfo=UTC)
    used = memory.store.usage(first)
    lines = [
        f"{one_line(name)}: {one.calls} requests, {one.tokens_in} tokens sent, "
        f"{one.tokens_out} received, {one.failures} failures, {one.seconds:.1f} s"
        for name, one in [*used.models.items(), ("all", used.total)]
    ]
    left = f"left today: {used.calls_left} requests, {used.tokens_left} tokens"
    return Shown(used, [*lines, left])


@command(
    app,
    'memento direct "Never commit .env files" --lock',
    'memento direct "Answer in German" --scope project/alpha',
    make=True,
)
def direct(
    memory: MemoryManager,
    rules: Annotated[list[str], typer.Argument(metavar="RULE...", help="Rules, each in quotes.")],
    *,
    scope: Annotated[str, option("--scope", help="Where they apply.")] = "",
    lock: Annotated[bool, option("--lock", help="Nothing but the user changes them.")] = False,
    condition: Annotated[
        str | None, option("--condition", help="When they apply, in words.")
    ] = None,
) -> Shown:
    """State rules outright: each is stored as given."""
    made = memory.rules.direct(rules, scope=scope, lock=lock, condition=condition)
    return Shown(made, [f"{one.id}  {one_line(one.text)}" for one in made], empty="")
