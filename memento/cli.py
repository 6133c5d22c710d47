"""The command ``memento``. Every command is one or two calls of ``MemoryManager``.

Exit status: 0 all went well (finding nothing is an answer, too), 1 something found is not well
(``doctor``, ``reindex``), 2 the command or a value in it cannot be accepted, 3 no such memory,
4 the store cannot be used, 5 any other error of memento, 130 interrupted. Errors are one line
on stderr that says what to do.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from memento import Config, MemoryManager
from memento.errors import InvalidInput, MementoError, NotFound, StoreError, StoreUnusable
from memento.ledger.ledger import FILE_NAME
from memento.types import Kind, Status, Tier

if TYPE_CHECKING:
    from memento.types import Draft

NOT_WELL, USAGE, ABSENT, STORE, OTHER, INTERRUPTED = 1, 2, 3, 4, 5, 130

BATCH = 256
"""Drafts of a file written in one transaction."""

INDEX_SECONDS = 2.0
"""Longest time ``retrieve`` lets what was added before be indexed; full text finds it anyway."""

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}

# Typer carries a click of its own since 0.2x and used the real one before.
_ClickError = cast(
    "type[Exception]",
    next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"),
)

app = typer.Typer(
    name="memento",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


class Match(StrEnum):
    """How ``retrieve`` treats names in the query."""

    AUTO = "auto"
    NAMES = "names"
    TEXT = "text"


def seconds_of(text: str) -> float:
    """Read a length of time: seconds, or a number with one of the units s, m, h, d, w.

    Raises:
        ValueError: If it is none.

    >>> seconds_of("90"), seconds_of("1.5h")
    (90.0, 5400.0)
    """
    unit = _UNITS.get(text[-1:])
    try:
        return float(text) if unit is None else float(text[:-1]) * unit
    except ValueError:
        raise ValueError(f"{text!r} is no length of time such as 90, 15m, 12h or 7d") from None


def moment_of(text: str) -> datetime:
    """Read a moment in ISO 8601; without a zone it is UTC.

    Raises:
        ValueError: If it is none.

    >>> moment_of("2025-05-01").isoformat()
    '2025-05-01T00:00:00+00:00'
    """
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no moment such as 2025-05-01 or 2025-05-01T14:30") from None
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at


def _option(*names: str, help: str, **more: Any) -> Any:  # noqa: A002 - typer's own word
    return typer.Option(*names, help=help, **more)


Root = Annotated[
    Path, _option("--root", envvar="MEMENTO_ROOT", help="Folder of the store.", metavar="FOLDER")
]
Namespace = Annotated[
    str,
    _option(
        "--namespace",
        envvar="MEMENTO_NAMESPACE",
        metavar="LABELS",
        help="Whose memories: labels joined with '/'.",
    ),
]
EmbedderName = Annotated[
    str,
    _option(
        "--embedder",
        metavar="NAME",
        help="'default', 'none', 'sentence-transformers:NAME' or 'openai:MODEL'.",
    ),
]
AsJson = Annotated[bool, _option("--json", help="Print JSON.")]
Scopes = Annotated[list[str] | None, _option("--scope", help="Where it applies; repeatable.")]
Session = Annotated[str | None, _option("--session", help="Conversation it belongs to.")]
Sessions = Annotated[list[str] | None, _option("--session", help="In this session; repeatable.")]
Tiers = Annotated[list[Tier] | None, _option("--tier", help="In this tier; repeatable.")]
Kinds = Annotated[list[Kind] | None, _option("--kind", help="Of this kind; repeatable.")]
Tags = Annotated[list[str] | None, _option("--tag", help="With this tag; repeat for all of them.")]
Since = Annotated[
    datetime | None,
    _option("--since", parser=moment_of, metavar="MOMENT", help="Said at or after, ISO 8601, UTC."),
]
Until = Annotated[
    datetime | None,
    _option("--until", parser=moment_of, metavar="MOMENT", help="Said before, ISO 8601, UTC."),
]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of memories.")]
HERE = Path("agent_memory")


def _examples(*lines: str) -> str:
    """Compose the examples at the end of a command's help; the backspace keeps their lines."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def _open(root: Path, namespace: str, embedder: str, *, make: bool = False) -> MemoryManager:
    """Open the store; only a command that writes memories makes one."""
    if not make and not (root / FILE_NAME).exists():
        raise StoreUnusable(
            root, "holds no store; name its folder with --root, or make one with `memento add`"
        )
    return MemoryManager(
        root,
        namespace=namespace.split("/"),
        config=Config.from_env(),
        embedder=None if embedder == "none" else embedder,
    )


def _show_version(wanted: bool) -> None:
    if wanted:
        from memento import __version__  # noqa: PLC0415 - read when asked for

        typer.echo(f"memento {__version__}")
        raise typer.Exit


@app.callback(
    invoke_without_command=True,
    epilog=_examples(
        "memento demo",
        'memento add "Rami is allergic to nuts" --tier long',
        'memento retrieve "what can Rami not eat?"',
        "memento ingest chat.jsonl",
    ),
)
def memento(
    context: typer.Context,
    *,
    version: Annotated[  # noqa: ARG001 - acted on in its callback
        bool,
        _option("--version", help="Print the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Tiered memory for AI agents: remembers durably, finds by words and by meaning, offline."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command(
    epilog=_examples(
        'memento add "The deploy key expires on 3 May" --tier long --tag ops',
        'memento add "Rami uses Helix" --key rami/editor --kind preference',
        "git log -1 --format=%B | memento add - --session standup",
    )
)
def add(
    text: Annotated[str, typer.Argument(help="What to remember; - reads it from stdin.")],
    *,
    tier: Annotated[
        Tier | None, _option("--tier", help="Where to keep it; by importance if not given.")
    ] = None,
    kind: Annotated[Kind, _option("--kind", help="What it is.")] = Kind.FACT,
    importance: Annotated[
        float | None, _option("--importance", help="From 0 to 1; scored if not given.")
    ] = None,
    key: Annotated[
        str | None,
        _option("--key", help="Slot it fills; a new value supersedes the one before."),
    ] = None,
    alias: Annotated[
        list[str] | None, _option("--alias", help="Name it is also found by; repeatable.")
    ] = None,
    scope: Annotated[str, _option("--scope", help="Where it applies, such as project/x.")] = "",
    session: Session = None,
    actor: Annotated[str | None, _option("--actor", help="Who said it.")] = None,
    tag: Annotated[list[str] | None, _option("--tag", help="Label; repeatable.")] = None,
    occurred_at: Annotated[
        datetime | None,
        _option("--at", parser=moment_of, metavar="MOMENT", help="When it was said; now if not."),
    ] = None,
    expires_in: Annotated[
        float | None,
        _option(
            "--expires-in",
            parser=seconds_of,
            metavar="TIME",
            help="Not found after this long: 90, 15m, 12h, 7d.",
        ),
    ] = None,
    pin: Annotated[bool, _option("--pin", help="Never fades.")] = False,
    supersedes: Annotated[
        list[str] | None, _option("--supersedes", help="Id whose place it takes; repeatable.")
    ] = None,
    id: Annotated[  # noqa: A002 - the field's own name
        str | None, _option("--id", help="Your own id; makes a retry harmless.")
    ] = None,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Remember TEXT. When this returns, it is on the disk."""
    with _open(root, namespace, embedder, make=True) as memory:
        kept = memory.add(
            sys.stdin.read() if text == "-" else text,
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
            pinned=pin,
            supersedes=supersedes or (),
            id=id,
        )
    if as_json:
        _print_json(kept)
    else:
        typer.echo(f"{kept.id}  {kept.tier} tier, importance {kept.importance:.2f}")


@app.command(
    epilog=_examples(
        'memento retrieve "what can Rami not eat?"',
        'memento retrieve "release plan" -k 3 --since 2025-05-01 --explain',
        "memento retrieve deadline --tier long --json",
    )
)
def retrieve(
    query: Annotated[list[str], typer.Argument(help="What is looked for, in plain words.")],
    *,
    k: Annotated[int, _option("-k", "--count", help="Most hits.")] = 5,
    match: Annotated[
        Match, _option("--match", help="Prefer, require or ignore named keys and aliases.")
    ] = Match.AUTO,
    tier: Tiers = None,
    kind: Kinds = None,
    scope: Scopes = None,
    session: Sessions = None,
    tag: Tags = None,
    since: Since = None,
    until: Until = None,
    as_of: Annotated[
        datetime | None,
        _option("--as-of", parser=moment_of, metavar="MOMENT", help="What held at this moment."),
    ] = None,
    min_score: Annotated[float, _option("--min-score", help="Least score, 0 to 1.")] = 0.0,
    cutoff: Annotated[
        float, _option("--cutoff", help="Least share of the best score, 0 to 1.")
    ] = 0.0,
    tokens: Annotated[int | None, _option("--tokens", help="Only what fits so many.")] = None,
    superseded: Annotated[bool, _option("--superseded", help="Also what was replaced.")] = False,
    explain: Annotated[bool, _option("--explain", help="Say why each hit was found.")] = False,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Find the memories that bear on QUERY, best first. Finding none exits with 0, too."""
    from memento import show  # noqa: PLC0415 - rich is slow to load

    with _open(root, namespace, embedder) as memory:
        memory.flush(wait=True, timeout=INDEX_SECONDS)
        found = memory.retrieve(
            " ".join(query),
            k,
            match=match,
            tiers=tier or None,
            kinds=kind or None,
            scope=scope or None,
            session=session or None,
            tags=tag or None,
            since=since,
            until=until,
            as_of=as_of,
            min_score=min_score,
            cutoff=cutoff,
            tokens=tokens,
            include_superseded=superseded,
        )
    for part, why in found.missing.items():
        _warn(f"{part} tier not asked: {why}")
    if as_json:
        typer.echo(show.to_json(show.retrieval_data(found)))
    elif explain:
        typer.echo(show.plain(found.explain()))
    elif found:
        show.console().print(show.hits(found))
    else:
        typer.echo("nothing found")


@app.command(
    epilog=_examples(
        "memento ingest chat.jsonl",
        "memento ingest notes.md --scope project/alpha",
        "memento ingest export.json --format sharegpt --no-wait",
    )
)
def ingest(
    file: Annotated[
        Path, typer.Argument(help="Text, Markdown, JSON or JSON Lines; may be gzipped.")
    ],
    *,
    format: Annotated[  # noqa: A002 - the word for it
        str | None,
        _option(
            "--format",
            help="text, markdown, drafts, chat, sharegpt or locomo; detected if not given.",
        ),
    ] = None,
    name: Annotated[
        str | None, _option("--name", help="What the source is called; the file's name if not.")
    ] = None,
    scope: Annotated[str, _option("--scope", help="Where it applies, such as project/x.")] = "",
    wait: Annotated[bool, _option("--wait/--no-wait", help="Wait until it is indexed.")] = True,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> int:
    """Remember a file: notes, a document or a conversation.

    The file is read through once before anything is written. Interrupted or run again, it adds
    only what is not there yet.
    """
    from memento import transcripts  # noqa: PLC0415 - used by this command only

    total = sum(1 for _ in transcripts.read(file, format, name=name, scope=scope))
    drafts = transcripts.read(file, format, name=name, scope=scope)
    with _open(root, namespace, embedder, make=True) as memory:
        new = _add_all(memory, drafts, total)
        typer.echo(f"{file.name}: {total} memories read, {new} new, {total - new} known already")
        return _wait_for_index(memory) if wait else 0


@app.command(epilog=_examples("memento recent", "memento recent -n 5 --session standup"))
def recent(
    *,
    n: Annotated[int | None, _option("-n", "--count", help="Most turns; all if not given.")] = None,
    session: Session = None,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Show the newest turns of a session: its ring buffer, oldest first."""
    with _open(root, namespace, embedder) as memory:
        found = memory.recent(n, session=session)
    _print_memories(found, as_json=as_json)


@app.command(
    "list",
    epilog=_examples(
        "memento list --tier long",
        "memento list --status forgotten",
        "memento list --limit 1000 --json",
    ),
)
def list_(
    *,
    tier: Tiers = None,
    kind: Kinds = None,
    scope: Scopes = None,
    session: Sessions = None,
    tag: Tags = None,
    status: Annotated[
        list[Status] | None, _option("--status", help="Of this status; repeatable.")
    ] = None,
    since: Since = None,
    until: Until = None,
    newest_first: Annotated[bool, _option("--newest-first", help="Turn the order round.")] = False,
    limit: Annotated[int, _option("--limit", help="Most memories.")] = 100,
    offset: Annotated[int, _option("--offset", help="How many to pass over.")] = 0,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """List memories in order of arrival, without ranking."""
    with _open(root, namespace, embedder) as memory:
        found = memory.list(
            tiers=tier or None,
            kinds=kind or None,
            scope=scope or None,
            session=session or None,
            tags=tag or None,
            status=status or None,
            since=since,
            until=until,
            newest_first=newest_first,
            limit=limit,
            offset=offset,
        )
    _print_memories(found, as_json=as_json)


@app.command(epilog=_examples("memento forget 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10"))
def forget(
    ids: Ids,
    *,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Hide memories at once; `memento restore` brings them back."""
    with _open(root, namespace, embedder) as memory:
        for memory_id in ids:
            typer.echo(f"{memory.forget(memory_id).id}  forgotten")


@app.command(epilog=_examples("memento restore 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10"))
def restore(
    ids: Ids,
    *,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Bring forgotten memories back."""
    with _open(root, namespace, embedder) as memory:
        for memory_id in ids:
            typer.echo(f"{memory_id}  {memory.restore(memory_id).status}")


@app.command(epilog=_examples("memento history 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10"))
def history(
    id: Annotated[str, typer.Argument(help="Id of the memory.")],  # noqa: A002 - the field's own name
    *,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Show every state a memory had, oldest first."""
    from memento import show  # noqa: PLC0415 - rich is slow to load

    with _open(root, namespace, embedder) as memory:
        found = memory.history(id)
    if as_json:
        _print_json(found)
    else:
        show.console().print(show.versions(found))


@app.command(epilog=_examples("memento stats", "memento stats --root ~/notes --json"))
def stats(
    *,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Count what is remembered, by tier, and what waits to be indexed."""
    from memento import show  # noqa: PLC0415 - rich is slow to load

    with _open(root, namespace, embedder) as memory:
        found = memory.stats()
    if as_json:
        _print_json(found)
    else:
        show.console().print(show.stats(found, f"{namespace} in {root}"))


@app.command(epilog=_examples("memento doctor", "memento doctor --no-repair --json"))
def doctor(
    *,
    repair: Annotated[
        bool, _option("--repair/--no-repair", help="Mend what can be made again.")
    ] = True,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> int:
    """Look for damage in the store. Exits with 1 if anything was not well.

    Memories themselves are never changed; what is derived from them is mended.
    """
    from memento import show  # noqa: PLC0415 - rich is slow to load

    with _open(root, namespace, embedder) as memory:
        found = memory.doctor(repair=repair)
    if as_json:
        _print_json(found)
    else:
        show.console().print(show.findings(found))
    return 0 if all(finding.ok for finding in found) else NOT_WELL


@app.command(
    epilog=_examples(
        "memento reindex", "memento reindex --embedder sentence-transformers:all-mpnet-base-v2"
    )
)
def reindex(
    *,
    wait: Annotated[bool, _option("--wait/--no-wait", help="Wait until it is done.")] = True,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> int:
    """Embed everything anew, after the embedder was changed. Exits with 1 if it got stuck."""
    with _open(root, namespace, embedder) as memory:
        owed = memory.reindex()
        typer.echo(f"{owed} memories to embed with {embedder}")
        return _wait_for_index(memory) if wait else 0


@app.command(epilog=_examples("memento demo", "memento demo --root demo_memory"))
def demo(
    *,
    root: Annotated[
        Path | None,
        _option("--root", metavar="FOLDER", help="Keep the store here; a temporary one if not."),
    ] = None,
) -> None:
    """Remember a conversation, answer questions about it, show where each answer came from."""
    from memento.demo import run  # noqa: PLC0415 - used by this command only

    run(root)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status.

    Args:
        args: The arguments; None for those of the process.
    """
    logging.getLogger("memento").addHandler(logging.NullHandler())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that is not UTF-8
    try:
        status = typer.main.get_command(app).main(args, prog_name="memento", standalone_mode=False)
    except _ClickError as error:
        return _fail(f"{_problem_of(error)}; see `memento --help`", USAGE)
    except MementoError as error:
        return _fail(str(error), _status_of(error))
    if status == INTERRUPTED:
        _warn("interrupted; what was reported as done is kept, and running it again is safe")
    return status if isinstance(status, int) else 0


def _problem_of(error: Exception) -> str:
    """Say what Typer complains of, without the name of the exception it wraps."""
    message: str = error.format_message()  # type: ignore[attr-defined]  # every click error has it
    return message.replace("Value error, ", "").rstrip(".")


def _status_of(error: MementoError) -> int:
    statuses = {InvalidInput: USAGE, NotFound: ABSENT, StoreError: STORE}
    return next((code for kind, code in statuses.items() if isinstance(error, kind)), OTHER)


def _fail(problem: str, status: int) -> int:
    _warn(problem)
    return status


def _warn(message: str) -> None:
    typer.echo(f"memento: {' '.join(message.split())}", err=True)


def _print_json(value: object) -> None:
    from memento import show  # noqa: PLC0415 - rich is slow to load

    typer.echo(show.to_json(value))


def _print_memories(found: Sequence[Any], *, as_json: bool) -> None:
    from memento import show  # noqa: PLC0415 - rich is slow to load

    if as_json:
        _print_json(found)
    elif found:
        show.console().print(show.memories(found))
    else:
        typer.echo("nothing here")


def _add_all(memory: MemoryManager, drafts: Iterator[Draft], total: int) -> int:
    """Add drafts in batches; returns how many were not there before."""
    from memento import show  # noqa: PLC0415 - rich is slow to load

    done = new = 0
    with show.Bar("adding", total).drawn() as bar:
        while batch := list(islice(drafts, BATCH)):
            began = datetime.now(UTC)
            kept = memory.add_many(batch)
            new += len({one.id for one in kept if one.created_at >= began})
            done += len(batch)
            bar.to(done)
    return new


def _wait_for_index(memory: MemoryManager) -> int:
    """Wait until nothing is owed to the indexes, or what is left is stuck."""
    from memento import show  # noqa: PLC0415 - rich is slow to load

    total = left = sum(memory.stats().backlog.values())
    with show.Bar("indexing", total).drawn() as bar:
        while not memory.flush(wait=True, timeout=0.5):
            now = memory.stats()
            before, left = left, sum(now.backlog.values())
            bar.to(total - left)
            if now.trouble and left == before:
                why = "; ".join(now.trouble.values())
                return _fail(f"{left} not indexed yet, found by words meanwhile: {why}", NOT_WELL)
    return 0


if __name__ == "__main__":
    sys.exit(main())
