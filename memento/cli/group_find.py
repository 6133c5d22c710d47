"""Commands that read memories: retrieve, prompt, get, show, recent and list."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from memento.base.display import one_line, plain
from memento.cli.options import (
    HERE,
    AsJson,
    EmbedderName,
    Filters,
    Id,
    Namespace,
    OneLine,
    Query,
    Root,
    Scopes,
    Session,
    Within,
    count_of,
    examples,
    filtered,
    option,
)
from memento.cli.output import open_store, print_json, print_memories, warn
from memento.prompt.rendering import TOKENS
from memento.types import Status, Tallied, Tier

if TYPE_CHECKING:
    from memento.insight.findings import Dossier, Health, Lineage, Reasoning


INDEX_SECONDS = 2.0
"""Longest time, in seconds, that ``retrieve`` waits until earlier memories are embedded; full text
finds them in any case."""

app = typer.Typer()


class Match(StrEnum):
    """Ways in which ``retrieve`` treats names in the query."""

    AUTO = "auto"
    NAMES = "names"
    TEXT = "text"


@app.command(
    epilog=examples(
        'memento retrieve "what can Rami not eat?"',
        'memento retrieve "release plan" -k 3 --since 2025-05-01 --explain',
        "memento retrieve deadline --tier long --json",
        "memento retrieve deadline --actor Ruth --where city=Utrecht",
        'memento retrieve "who leads the team?" --as-of 2025-03-01',
    )
)
@filtered
def retrieve(
    query: Query,
    *,
    k: Annotated[
        str,
        option("-k", "--count", metavar="N", help="Most hits; auto for what the query wants."),
    ] = "5",
    match: Annotated[
        Match, option("--match", help="Prefer, require or ignore named keys and aliases.")
    ] = Match.AUTO,
    filters: Filters,
    min_score: Annotated[float, option("--min-score", help="Least score, 0 to 1.")] = 0.0,
    min_confidence: Annotated[
        float, option("--min-confidence", help="Nothing below this chance of an answer, 0 to 1.")
    ] = 0.0,
    cutoff: Annotated[
        float, option("--cutoff", help="Least share of the best score, 0 to 1.")
    ] = 0.0,
    tokens: Annotated[int | None, option("--tokens", help="Most tokens of all hits.")] = None,
    superseded: Annotated[bool, option("--superseded", help="Also superseded memories.")] = False,
    archived: Annotated[bool, option("--archived", help="Also archived memories.")] = False,
    quarantined: Annotated[
        bool, option("--quarantined", help="Also quarantined memories.")
    ] = False,
    own: Annotated[bool, option("--own", help="Nothing that other namespaces share.")] = False,
    explain: Annotated[bool, option("--explain", help="Show why each hit was found.")] = False,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Find the memories relevant to QUERY, best first. Exits with 0 also if none is found."""
    from memento.cli import tables  # noqa: PLC0415 - rich is slow to load

    with open_store(root, namespace, embedder) as memory:
        found = memory.retrieve(
            " ".join(query),
            count_of(k),
            match=match.value,
            min_score=min_score,
            min_confidence=min_confidence,
            cutoff=cutoff,
            tokens=tokens,
            include_superseded=superseded,
            include_archived=archived,
            include_quarantined=quarantined,
            wait=INDEX_SECONDS,
            shared=not own,
            **filters(memory),
        )
    for part, why in found.missing.items():
        warn(f"{part} tier not asked: {why}" if part in tuple(Tier) else f"{part}: {why}")
    if as_json:
        print_json(found)
    elif explain:
        tables.console().print(tables.explained(found))
    elif found:
        tables.console().print(tables.hits(found))
    else:
        typer.echo("nothing found")


@app.command(
    epilog=examples(
        'memento prompt "what may Rami eat?"',
        'memento prompt "plans for the release" --tokens 800 --scope project/x',
    )
)
@filtered
def prompt(
    query: Query,
    *,
    k: Annotated[
        str,
        option("-k", "--count", metavar="N", help="Most memories; auto: what the query wants."),
    ] = "auto",
    tokens: Annotated[
        int, option("--tokens", help="Most tokens of the block; 0 for no limit.")
    ] = TOKENS,
    ids: Annotated[bool, option("--ids", help="Show the id of each memory.")] = False,
    filters: Filters,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Print the memories relevant to QUERY as a block for any prompt; nothing if none is found.

    No stored text can break out of the block. Of a long memory it shows the relevant passage.
    """
    with open_store(root, namespace, embedder) as memory:
        block = memory.prompt(
            " ".join(query),
            count_of(k),
            tokens=tokens or None,
            show_ids=ids,
            wait=INDEX_SECONDS,
            **filters(memory),
        )
    if block:
        typer.echo(block)


@app.command(epilog=examples("memento get 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10 --json"))
def get(
    id: Id,  # noqa: A002 - the field's own name
    *,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Show one memory with all its fields, whatever its status."""
    from memento.cli import tables  # noqa: PLC0415 - rich is slow to load

    with open_store(root, namespace, embedder) as memory:
        found = memory.get(memory.full_id(id))
    if as_json:
        print_json(found)
    else:
        tables.console().print(tables.memory(found))


@app.command(
    epilog=examples(
        "memento show 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10",
        "memento show door --all --json",
    )
)
def show(
    id: Id,  # noqa: A002 - the field's own name
    *,
    everything: Annotated[
        bool, option("--all", help="Also related memories that are forgotten or quarantined.")
    ] = False,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Show all that is known of one memory: its fields, every state it had, related memories."""
    from memento.cli import tables as screen  # noqa: PLC0415 - rich is slow to load

    with open_store(root, namespace, embedder) as memory:
        found = memory.get(memory.full_id(id))
        past = memory.history(found.id)
        linked = memory.related(found.id, status=list(Status) if everything else None)
    if as_json:
        print_json({"memory": found, "history": past, "related": linked})
    else:
        screen.console().print(screen.whole(found, past, linked))


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
        "memento list --since 7d --oneline | grep deploy",
        "memento list --key user/editor --status superseded",
        'memento list --where city=Utrecht --where \'{"price": {"$lt": 9}}\'',
        "memento list --limit 1000 --json",
    ),
)
@filtered
def list_(
    *,
    filters: Filters,
    status: Annotated[
        list[Status] | None, option("--status", help="With this status; repeatable.")
    ] = None,
    newest_first: Annotated[bool, option("--newest-first", help="Reverse the order.")] = False,
    limit: Annotated[int, option("--limit", help="Most memories.")] = 100,
    offset: Annotated[int, option("--offset", help="Memories to skip first.")] = 0,
    oneline: OneLine = False,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """List memories in order of arrival, without ranking."""
    with open_store(root, namespace, embedder) as memory:
        found = memory.list(
            status=status or None,
            newest_first=newest_first,
            limit=limit,
            offset=offset,
            **filters(memory),
        )
    print_memories(found, as_json=as_json, oneline=oneline)


@app.command(
    epilog=examples(
        'memento reason "in which city is the office of the company of Nina Park?"',
        'memento reason "who leads the team that owns billing-api?" --hops 2 --json',
    )
)
def reason(
    question: Query,
    *,
    hops: Annotated[int, option("--hops", help="Most memories of a chain, 1 to 6.")] = 3,
    k: Annotated[int, option("-k", "--count", help="Most chains.")] = 5,
    scope: Scopes = None,
    within: Within = None,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Find chains of memories that share names and lead from QUERY to an answer."""
    with open_store(root, namespace, embedder) as memory:
        found = memory.reason(
            " ".join(question), hops=hops, k=k, scope=scope or None, within=within or None
        )
    _show(found, as_json=as_json)


class By(StrEnum):
    """Orders of a timeline."""

    OCCURRED = "occurred"
    RECORDED = "recorded"


Topic = Annotated[
    list[str] | None, typer.Argument(help="Only what is relevant to this, in plain words.")
]
Below = Annotated[str | None, option("--within", metavar="SCOPE", help="At it or below it.")]
ID = "0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10"


def _said(topic: list[str] | None) -> str | None:
    return " ".join(topic) if topic else None


@app.command(epilog=examples("memento timeline Rami", "memento timeline --by recorded -n 20"))
def timeline(
    topic: Topic = None,
    *,
    by: Annotated[By, option("--by", help="When it happened, or when it was recorded.")] = (
        By.OCCURRED
    ),
    limit: Annotated[int, option("-n", "--limit", help="Most memories to read.")] = 50,
    within: Below = None,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """List what happened, oldest first."""
    with open_store(root, namespace, embedder) as memory:
        found = memory.timeline(_said(topic), by=by.value, limit=limit, within=within)
    if as_json:
        print_json(found)
        return
    for one in found:
        typer.echo(f"{_minute(one.at)}  {one.what:<10}  {one_line(one.text)}")
    if not found:
        typer.echo("nothing here")


@app.command(epilog=examples(f"memento lineage {ID}"))
def lineage(
    id: Id,  # noqa: A002 - the field's own name
    *,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Show where a memory comes from and what came of it."""
    with open_store(root, namespace, embedder) as memory:
        found = memory.lineage(memory.full_id(id))
    _show(found, as_json=as_json)


@app.command(epilog=examples("memento dossier Northwind", 'memento dossier "the move" --json'))
def dossier(
    topic: Query,
    *,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Show what is known about a topic: each memory with its turns and earlier values."""
    with open_store(root, namespace, embedder) as memory:
        found = memory.dossier(" ".join(topic))
    _show(found, as_json=as_json)


@app.command(epilog=examples("memento health", "memento health --within project/x --json"))
def health(
    *,
    within: Below = None,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Show what is in doubt: conflicts, what is overdue, never used or without a source."""
    with open_store(root, namespace, embedder) as memory:
        found = memory.health(within)
    _show(found, as_json=as_json)


@app.command(epilog=examples("memento wonder", "memento wonder the move --json"))
def wonder(
    topic: Topic = None,
    *,
    limit: Annotated[int, option("-n", "--limit", help="Most to show.")] = 8,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """List what the memories show to be missing, each with a question to ask."""
    with open_store(root, namespace, embedder) as memory:
        found = memory.wonder(_said(topic), limit=limit)
    if as_json:
        print_json(found)
        return
    for one in found:
        typer.echo(f"{one.kind:<10}  {one_line(one.question)}")
    if not found:
        typer.echo("nothing is missing")


def _minute(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M}"


def _show(found: Reasoning | Lineage | Dossier | Health, *, as_json: bool) -> None:
    """Print an overview as JSON, or in words."""
    if as_json:
        print_json(found)
    else:
        typer.echo(plain(found.explain()))


@app.command(epilog=examples("memento namespaces", "memento namespaces --root ~/notes --json"))
def namespaces(*, as_json: AsJson = False, root: Root = HERE) -> None:
    """List the namespaces of the store, each with its number of active memories."""
    with open_store(root, "default", "none") as memory:
        found = memory.store.namespaces()
    _print({"/".join(labels): count for labels, count in found.items()}, as_json=as_json)


@app.command(epilog=examples("memento sessions", "memento recent --session standup"))
def sessions(
    *, as_json: AsJson = False, root: Root = HERE, namespace: Namespace = "default"
) -> None:
    """List the sessions, each with its number of active memories."""
    _tally("session", root, namespace, as_json=as_json)


@app.command(epilog=examples("memento tags", "memento list --tag ops"))
def tags(*, as_json: AsJson = False, root: Root = HERE, namespace: Namespace = "default") -> None:
    """List the tags, each with its number of active memories."""
    _tally("tag", root, namespace, as_json=as_json)


@app.command(epilog=examples("memento keys", "memento keys --json"))
def keys(*, as_json: AsJson = False, root: Root = HERE, namespace: Namespace = "default") -> None:
    """List the keys, which name slots, each with its number of active memories."""
    _tally("key", root, namespace, as_json=as_json)


def _tally(by: Tallied, root: Root, namespace: str, *, as_json: bool) -> None:
    with open_store(root, namespace, "none") as memory:
        found = memory.counts(by)
    _print(found, as_json=as_json)


def _print(found: Mapping[str, int], *, as_json: bool) -> None:
    """Print a line for each name, the number first, or a JSON object."""
    if as_json:
        print_json(found)
        return
    for name, count in found.items():
        typer.echo(f"{count:>7}  {one_line(name)}")
    if not found:
        typer.echo("nothing here")
