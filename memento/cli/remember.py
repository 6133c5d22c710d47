"""Commands that add memories."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from memento import MemoryManager
from memento.cli.options import (
    HERE,
    AsJson,
    EmbedderName,
    Namespace,
    Root,
    Session,
    coming_moment_of,
    examples,
    moment_of,
    option,
)
from memento.cli.output import counted, print_json, warn
from memento.cli.store import open_store, wait_for_index
from memento.clock import system_clock
from memento.ingest import Format
from memento.language.moments import seconds_of
from memento.types import Kind, Memory, Source, Status, Tier, Trust

if TYPE_CHECKING:
    from memento.types import Draft

BATCH = 256
"""Most drafts of a file written in one transaction."""

*_OTHERS, _LAST = Format
FORMATS = f"{', '.join(_OTHERS)} or {_LAST}"
"""The formats that can be read, as a sentence."""

app = typer.Typer()


@app.command(
    epilog=examples(
        'memento add "The deploy key expires on 3 May" --tier long --tag ops',
        'memento add "Rami uses Helix" --key rami/editor --kind preference',
        "git log -1 --format=%B | memento add - --session standup",
    )
)
def add(
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
    scope: Annotated[str, option("--scope", help="Where it applies, such as project/x.")] = "",
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
    trust: Annotated[
        Trust, option("--trust", help="Its origin; tool, web and import are quarantined.")
    ] = Trust.USER,
    source: Annotated[
        str | None, option("--source", metavar="URI", help="Address it comes from.")
    ] = None,
    pin: Annotated[bool, option("--pin", help="Never fades.")] = False,
    supersedes: Annotated[
        list[str] | None, option("--supersedes", help="Id of a memory it replaces; repeatable.")
    ] = None,
    id: Annotated[  # noqa: A002 - the field's own name
        str | None, option("--id", help="Your own id; makes a retry harmless.")
    ] = None,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Remember TEXT. When the command returns, it is on the disk."""
    said = _from_stdin() if text == ["-"] else " ".join(text)
    with open_store(root, namespace, embedder, make=True) as memory:
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
    if as_json:
        print_json(kept)
    else:
        typer.echo(f"{kept.id}  {kept.tier} tier, importance {kept.importance:.2f}")
        _say_waiting([kept])


@app.command(
    epilog=examples(
        "memento ingest chat.jsonl",
        "memento ingest notes.md --scope project/alpha",
        "memento ingest contract.md --document",
        "memento ingest export.json --format sharegpt --no-wait",
        "memento ingest page.md --trust web --name https://example.org/page",
    )
)
def ingest(
    file: Annotated[
        Path, typer.Argument(help="Text, Markdown, HTML, CSV, JSON or JSON Lines; may be gzipped.")
    ],
    *,
    format: Annotated[  # noqa: A002 - the word for it
        str | None,
        option(
            "--format",
            help=f"{FORMATS}; detected if none.",
        ),
    ] = None,
    name: Annotated[
        str | None, option("--name", help="Name of the source; the file's name if not given.")
    ] = None,
    scope: Annotated[str, option("--scope", help="Where it applies, such as project/x.")] = "",
    trust: Annotated[
        Trust, option("--trust", help="Its origin; tool, web and import are quarantined.")
    ] = Trust.USER,
    document: Annotated[
        bool, option("--document", help="Follow the file: what it no longer says is hidden.")
    ] = False,
    wait: Annotated[bool, option("--wait/--no-wait", help="Wait until it is indexed.")] = True,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> int:
    """Remember a file: notes, a document or a conversation.

    The whole file is checked before anything is written. If it is interrupted, run it again: it
    adds only memories that are not there yet.

    With --document, a text or Markdown file is kept in numbered parts. After a change of the file,
    run it again: new parts supersede the old ones, and parts that are gone are hidden.
    """
    from memento.cli import show  # noqa: PLC0415 - rich is slow to load

    if document:
        with open_store(root, namespace, embedder, make=True) as memory:
            began = system_clock()
            with show.Bar("adding").drawn() as bar:
                parts = memory.add_document(
                    file,
                    name=name,
                    format=cast("Literal['text', 'markdown'] | None", format),  # refused if not
                    scope=scope,
                    source=Source(trust),
                    progress=bar.to,
                )
            new = sum(one.created_at >= began for one in parts)
            typer.echo(f"{file.name}: {len(parts)} parts, {new} new")
            _say_waiting(parts)
            return wait_for_index(memory) if wait else 0
    from memento.ingest import read  # noqa: PLC0415 - used by this command only

    total = sum(1 for _ in read(file, format, name=name, scope=scope, trust=trust))
    drafts = read(file, format, name=name, scope=scope, trust=trust)
    with open_store(root, namespace, embedder, make=True) as memory:
        waiting, new = _add_all(memory, drafts, total)
        typer.echo(f"{file.name}: {counted(total)} read, {new} new, {total - new} known already")
        _say_waiting(waiting)
        return wait_for_index(memory) if wait else 0


def _from_stdin() -> str:
    """Read all of stdin; at a terminal, print that it is waiting for input."""
    if sys.stdin.isatty():
        warn("reading from stdin; end with Ctrl-D")
    return sys.stdin.read()


def _say_waiting(kept: Sequence[Memory]) -> None:
    """Print how many of the new memories are quarantined."""
    waiting = len({memory.id for memory in kept if memory.status is Status.QUARANTINED})
    if waiting:
        typer.echo(f"{waiting} quarantined until approved: see `memento quarantine list`")


def _add_all(
    memory: MemoryManager, drafts: Iterator[Draft], total: int
) -> tuple[list[Memory], int]:
    """Add drafts in batches; returns the quarantined memories and the number of new ones."""
    from memento.cli import show  # noqa: PLC0415 - rich is slow to load

    done = new = 0
    waiting: list[Memory] = []
    with show.Bar("adding", total).drawn() as bar:
        while batch := list(islice(drafts, BATCH)):
            began = system_clock()
            kept = memory.add_many(batch)
            waiting += [one for one in kept if one.status is Status.QUARANTINED]
            new += len({one.id for one in kept if one.created_at >= began})
            done += len(batch)
            bar.to(done)
    return waiting, new
