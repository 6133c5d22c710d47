"""Commands that read memories: ranked, for a prompt, one, newest first, listed, through time."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated

import typer

from memento.cli.options import (
    HERE,
    AsJson,
    EmbedderName,
    Kinds,
    Namespace,
    Root,
    Scopes,
    Session,
    Sessions,
    Since,
    Tags,
    Tiers,
    Until,
    count_of,
    examples,
    moment_of,
    option,
)
from memento.cli.output import print_json, print_memories, warn
from memento.cli.store import open_store
from memento.types import Status, Tier

INDEX_SECONDS = 2.0
"""Longest time ``retrieve`` lets what was added before be indexed; full text finds it anyway."""

app = typer.Typer()


class Match(StrEnum):
    """How ``retrieve`` treats names in the query."""

    AUTO = "auto"
    NAMES = "names"
    TEXT = "text"


@app.command(
    epilog=examples(
        'memento retrieve "what can Rami not eat?"',
        'memento retrieve "release plan" -k 3 --since 2025-05-01 --explain',
        "memento retrieve deadline --tier long --json",
    )
)
def retrieve(
    query: Annotated[list[str], typer.Argument(help="What is looked for, in plain words.")],
    *,
    k: Annotated[
        str,
        option("-k", "--count", metavar="N", help="Most hits; auto for what the question wants."),
    ] = "5",
    match: Annotated[
        Match, option("--match", help="Prefer, require or ignore named keys and aliases.")
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
        option("--as-of", parser=moment_of, metavar="MOMENT", help="What held at this moment."),
    ] = None,
    min_score: Annotated[float, option("--min-score", help="Least score, 0 to 1.")] = 0.0,
    cutoff: Annotated[
        float, option("--cutoff", help="Least share of the best score, 0 to 1.")
    ] = 0.0,
    tokens: Annotated[int | None, option("--tokens", help="Only what fits so many.")] = None,
    superseded: Annotated[bool, option("--superseded", help="Also what was replaced.")] = False,
    quarantined: Annotated[
        bool, option("--quarantined", help="Also what waits for approval.")
    ] = False,
    explain: Annotated[bool, option("--explain", help="Say why each hit was found.")] = False,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Find the memories that bear on QUERY, best first. Finding none exits with 0, too."""
    from memento import show  # noqa: PLC0415 - rich is slow to load

    with open_store(root, namespace, embedder) as memory:
        found = memory.retrieve(
            " ".join(query),
            count_of(k),
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
            include_quarantined=quarantined,
            wait=INDEX_SECONDS,
        )
    for part, why in found.missing.items():
        warn(f"{part} tier not asked: {why}" if part in tuple(Tier) else f"{part}: {why}")
    if as_json:
        typer.echo(show.to_json(show.retrieval_data(found)))
    elif explain:
        show.console().print(show.explained(found))
    elif found:
        show.console().print(show.hits(found))
    else:
        typer.echo("nothing found")


@app.command(
    epilog=examples(
        'memento prompt "what may Rami eat?"',
        'memento prompt "plans for the release" --tokens 800 --scope project/x',
    )
)
def prompt(
    query: Annotated[list[str], typer.Argument(help="What is looked for, in plain words.")],
    *,
    k: Annotated[
        str,
        option("-k", "--count", metavar="N", help="Most memories; auto: what the question wants."),
    ] = "auto",
    tokens: Annotated[int | None, option("--tokens", help="Most tokens of the block.")] = None,
    ids: Annotated[bool, option("--ids", help="Name the id of each memory.")] = False,
    tier: Tiers = None,
    kind: Kinds = None,
    scope: Scopes = None,
    session: Sessions = None,
    tag: Tags = None,
    since: Since = None,
    until: Until = None,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Print what is remembered about QUERY as a block for any prompt; nothing if that is nothing.

    No stored text can break out of the block.
    """
    with open_store(root, namespace, embedder) as memory:
        block = memory.prompt(
            " ".join(query),
            count_of(k),
            tokens=tokens,
            ids=ids,
            tiers=tier or None,
            kinds=kind or None,
            scope=scope or None,
            session=session or None,
            tags=tag or None,
            since=since,
            until=until,
            wait=INDEX_SECONDS,
        )
    if block:
        typer.echo(block)


@app.command(epilog=examples("memento get 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10 --json"))
def get(
    id: Annotated[str, typer.Argument(help="Id of the memory.")],  # noqa: A002 - the field's own name
    *,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Show one memory with all that is known of it, whatever its status."""
    from memento import show  # noqa: PLC0415 - rich is slow to load

    with open_store(root, namespace, embedder) as memory:
        found = memory.get(id)
    if as_json:
        print_json(found)
    else:
        show.console().print(show.memory(found))


@app.command(epilog=examples("memento recent", "memento recent -n 5 --session standup"))
def recent(
    *,
    n: Annotated[int | None, option("-n", "--count", help="Most turns; all if not given.")] = None,
    session: Session = None,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Show the newest turns of a session: its ring buffer, oldest first."""
    with open_store(root, namespace, embedder) as memory:
        found = memory.recent(n, session=session)
    print_memories(found, as_json=as_json)


@app.command(
    "list",
    epilog=examples(
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
        list[Status] | None, option("--status", help="Of this status; repeatable.")
    ] = None,
    since: Since = None,
    until: Until = None,
    newest_first: Annotated[bool, option("--newest-first", help="Turn the order round.")] = False,
    limit: Annotated[int, option("--limit", help="Most memories.")] = 100,
    offset: Annotated[int, option("--offset", help="How many to pass over.")] = 0,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """List memories in order of arrival, without ranking."""
    with open_store(root, namespace, embedder) as memory:
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
    print_memories(found, as_json=as_json)


@app.command(epilog=examples("memento history 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10"))
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

    with open_store(root, namespace, embedder) as memory:
        found = memory.history(id)
    if as_json:
        print_json(found)
    else:
        show.console().print(show.versions(found))
