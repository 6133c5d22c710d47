"""Commands that add memories: by themselves, from files, and from what a user says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from memento import MemoryManager
from memento.base.clock import system_clock
from memento.base.display import one_line
from memento.cli.local import short
from memento.cli.options import (
    Scope,
    Session,
    argument,
    coming_moment_of,
    command,
    moment_option,
    option,
    seconds_of,
)
from memento.cli.output import (
    USAGE,
    Shown,
    counted,
    masked,
    progress_of,
    quarantined,
    say_stdin,
    stdin_text,
    wait_for_index,
    warn,
)
from memento.cli.store import Store, open_at
from memento.errors import InvalidInput
from memento.messages import is_one
from memento.types import Kind, Memory, Source, Status, Tier, Trust

if TYPE_CHECKING:
    from memento.ingest import Survey
    from memento.observe.values import Foresight
    from memento.protocols import Progress
    from memento.verbs.ingesting import Ingested

FORMATS = (
    "chatgpt, claude, claude-code, codex, gemini, copilot, opencode, slack, telegram, whatsapp,"
    " mail, mem0, mempalace, server-memory, basic-memory, markdown, html, csv, chat, sharegpt,"
    " locomo, drafts, transcript or text"
)
"""The formats that can be read: the readers of all of them take too long to import for a help."""

SECRET = re.compile(r"\[redacted:([\w-]+)\]")
"""A mark in the place of a secret."""

app = typer.Typer()

Origin = Annotated[
    Trust, option("--trust", "Trust class of the source; tool, web and import are quarantined.")
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
    text: list[str] = argument("Text to remember; - reads from stdin.", metavar="TEXT"),
    *,
    tier: Tier | None = option(
        "--tier", "Tier to store the memory in; based on importance if not specified."
    ),
    kind: Kind = option("--kind", "Kind of statement.", default=Kind.FACT),
    importance: float | None = option(
        "--importance", "Importance from 0 to 1; estimated if not specified."
    ),
    key: str | None = option(
        "--key", "Key, such as user/editor; a new value supersedes the old one."
    ),
    alias: list[str] | None = option("--alias", "Alternative name; repeatable."),
    scope: Scope = "",
    session: Session = None,
    actor: str | None = option("--actor", "Name of the person or agent who said it."),
    tag: list[str] | None = option("--tag", "Tag to attach; repeatable."),
    occurred_at: datetime | None = moment_option("--at", "When it was said. Default: now."),
    expires_in: float | None = option(
        "--expires-in",
        "Hide the memory after this time: 90 (seconds), 15m, 12h, 7d.",
        parser=seconds_of,
        metavar="TIME",
    ),
    condition: str | None = option(
        "--condition", "For a rule: when it applies, in plain language."
    ),
    due_at: datetime | None = moment_option(
        "--due", "For a plan: when it is due.", parser=coming_moment_of
    ),
    trust: Origin = Trust.USER,
    source: str | None = option("--source", "URI of the source.", metavar="URI"),
    pin: bool = option("--pin", "Pin the memory, so it never fades."),
    supersedes: list[str] | None = option("--supersedes", "Id of a memory to replace; repeatable."),
    id: str | None = option("--id", "A custom id, which makes retries safe."),
) -> Shown:
    """Remember TEXT.

    When the command returns, the text is on disk.
    """
    said = stdin_text() if text == ["-"] else " ".join(text)
    with store.open() as memory:
        began = system_clock()
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
        new = kept.created_at >= began
        notes = [
            *(_replaced(memory, kept) if new and (key or supersedes) else ()),
            *_left_out(kept, said),
        ]
    known = "" if new else ", already known"
    line = f"{kept.id}  {kept.tier} tier, importance {kept.importance:.2f}{known}"
    return Shown(kept, [line], notes=[*notes, *quarantined(kept.status is Status.QUARANTINED)])


def _replaced(memory: MemoryManager, kept: Memory) -> Iterator[str]:
    """Return notes on which memories a new one replaces, and how to undo that."""
    for last in memory.changes.list(id=kept.id, limit=1):
        for old in map(memory.get, last.changed):
            yield f"replaces {short(old.id)}: {old.text} (undo: `memento undo {last.number}`)"


def _left_out(kept: Memory, said: str) -> list[str]:
    """Return notes on which secrets were removed from a text."""
    gone = sorted(set(SECRET.findall(kept.text)) - set(SECRET.findall(said)))
    return [f"a secret was removed ({', '.join(gone)})"] * bool(gone)


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
    files: list[str] = argument("Files, folders, .zip archives, or - for stdin.", metavar="FILE"),
    *,
    format: str | None = option("--format", f"{FORMATS}; detected if not specified."),
    name: str | None = option("--name", "Name of the source. Default: the file name."),
    scope: Scope = "",
    trust: Origin = Trust.USER,
    me: str | None = option("--me", "Your name, id or address in chats with several people."),
    map: list[str] | None = option(
        "--map", "Column from which to fill a field; repeatable.", metavar="FIELD=COLUMN"
    ),
    document: bool = option(
        "--document", "Track the file, and hide memories whose text it no longer contains."
    ),
    wait: bool = option("--wait/--no-wait", "Wait until everything is indexed.", default=True),
) -> Shown:
    """Remember files: notes, chats, exports and tables.

    The format is detected from the content of each file. The whole file is checked before anything
    is written. If ingestion is interrupted, run the command again to add only what is missing.
    Likewise, ingesting a later export of the same chats adds only new messages.

    Messages from other people are quarantined; use --me to specify which speaker you are.

    With --document, a text or Markdown file is stored in numbered parts. After the file changes,
    run the command again: changed parts supersede the old ones, and deleted parts are hidden.
    """
    from memento.cli import tables  # noqa: PLC0415 - rich is slow to load
    from memento.ingest import survey  # noqa: PLC0415 - used by this command only
    from memento.ingest.readers.tables import parse_map  # noqa: PLC0415 - likewise

    if document and (me or map):
        raise InvalidInput("--document", "cannot be combined with --me or --map")
    looked = None
    if "-" in files:
        say_stdin()
    if not document:
        with tables.Bar("reading").drawn() as bar:
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
        _check_any(looked)
    with store.open() as memory:
        with tables.Bar("adding").drawn() as bar:
            if looked is not None:
                read = memory.documents.ingest(looked, progress=bar.to)
            else:
                shown = progress_of(memory, bar)
                follow = partial(_follow, memory, name, format, scope, trust, shown)
                read = [follow(Path(file)) for file in files]
        status = wait_for_index(memory) if wait else 0
    return _report(read, status, _part_line if document else _line)


def _check_any(looked: Survey) -> None:
    """Raise an error if none of the files can be read."""
    if not any(one.format for one in looked.found):
        first, more = looked.found[:3], looked.found[3:]
        said = [*(one.problem for one in first), *([f"and {len(more)} more"] * bool(more))]
        raise InvalidInput("FILE", "; ".join(said))


def _follow(
    memory: MemoryManager,
    name: str | None,
    format: str | None,
    scope: str,
    trust: Trust,
    progress: Progress | None,
    file: Path,
) -> Ingested:
    """Store a document in parts that are updated when the file changes."""
    from memento.verbs.ingesting import Ingested  # noqa: PLC0415 - used by this command only

    began = system_clock()
    kept = memory.documents.add(
        file,
        name=name,
        format=cast("Literal['text', 'markdown'] | None", format),  # refused if not
        scope=scope,
        source=Source(trust),
        progress=progress,
    )
    new = sum(one.created_at >= began for one in kept)
    waiting = sum(one.status is Status.QUARANTINED for one in kept)
    return Ingested(file.name, read=len(kept), new=new, waiting=waiting)


def _report(read: Sequence[Ingested], status: int, line: Callable[[Ingested], str]) -> Shown:
    """Report the result for each file; report unreadable files on stderr."""
    for one in read:
        if one.problem:
            warn(f"skipped: {one.problem}" if one.left_out else one.problem)
    notes = [f"{one.name}: {note}" for one in read for note in one.notes]
    return Shown(
        {"files": read},
        [line(one) for one in read if not one.problem],
        notes=[*notes, *quarantined(sum(one.waiting for one in read))],
        status=USAGE if any(one.problem and not one.left_out for one in read) else status,
    )


def _line(one: Ingested) -> str:
    known = one.read - one.new - one.changed - one.taken_out
    said = [
        *[one.called] * one.is_export,
        f"{counted(one.read)} read",
        f"{one.new} new",
        *[f"{one.changed} changed"] * bool(one.changed),
        f"{known} already known",
        *[f"{one.taken_out} removed here before"] * bool(one.taken_out),
    ]
    return f"{one.name}: {', '.join(said)}"


def _part_line(one: Ingested) -> str:
    return f"{one.name}: {counted(one.read, 'part')}, {one.new} new"


@command(
    app,
    'memento observe --user "No, use uv instead of pip" --dry-run',
    'memento observe --user "I live in Porto" --assistant "Noted." --session monday',
    "memento observe --session standup < transcript.txt",
    make=True,
)
def observe(
    store: Store,
    text: str | None = argument("The user's message; the same as --user.", show_default=False),
    *,
    user: str | None = option("--user", "The user's message."),
    assistant: str | None = option("--assistant", "The assistant's reply."),
    session: Session = None,
    scope: str = option("--scope", "Scope of the conversation, such as project/x.", default=""),
    mode: str | None = option(
        "--mode", "How much to use the model in MEMENTO_LLM_MODEL: off, assist or full."
    ),
    dry_run: bool = option("--dry-run", "Only show what would be learned, and why."),
) -> Shown:
    """Learn from what a user says in a conversation.

    The turn is stored, and statements that the user makes in it are remembered.

    With --mode assist or full, a language model selects additional statements by the user. A dry
    run shows only what would be learned without the model.

    Without a message, a transcript is read from stdin: JSON lines with role and content, or lines
    that begin with "user:" or "assistant:".
    """
    if text is not None and user is not None:
        raise InvalidInput("--user", "can be passed only once: as an option or as the argument")
    user = text if user is None else user
    if user is None and assistant is not None:
        raise InvalidInput("--assistant", "requires a message from the user")
    turns = _transcript(stdin_text()) if user is None else [{"role": "user", "content": user}]
    if dry_run:
        found = _foreseen(store, turns, session, scope)
        would = {"would": masked(found)}
        return Shown(would, _foresight_lines(found), empty="nothing to learn")
    with store.open() as memory:
        if user is None:
            seen = memory.observe(messages=turns, session=session, scope=scope, mode=mode)
        else:
            seen = memory.observe(user, assistant, session=session, scope=scope, mode=mode)
    return Shown(masked(seen), map(one_line, masked(seen.explain()).split("\n")))


def _foreseen(
    store: Store, turns: list[dict[str, Any]], session: str | None, scope: str
) -> list[Foresight]:
    """Show what the store would learn; if there is none, what a new store would."""
    with TemporaryDirectory() as empty:
        there = store.url or store.exists
        opened = store.open() if there else open_at(empty, store.labels, store.embedder)
        with opened as memory:
            return memory.rules.foresee(turns, session=session, scope=scope)


def _foresight_lines(found: list[Foresight]) -> Iterator[str]:
    for one in found:
        said = one.candidate
        slot = f", slot {said.key}" if said.key else ""
        others = f" ({', '.join(one.others)})" if one.others else ""
        why = f"{said.signal}, {said.confidence:.2f}{slot}: {', '.join(said.reasons)}"
        yield one_line(f"{one.action}{others}: {masked(said.text)!r} ({why})")


def _transcript(text: str) -> list[dict[str, Any]]:
    """Parse a transcript: JSON lines, or lines with a speaker before a colon."""
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
            raise InvalidInput(f"line {number}", 'must begin with "user:" or "assistant:"')
    return turns


def _message(line: str, number: int) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError as error:
        raise InvalidInput(f"line {number}", "is not JSON") from error
    if not isinstance(found, dict):
        raise InvalidInput(f"line {number}", "is not a JSON object")
    return found
