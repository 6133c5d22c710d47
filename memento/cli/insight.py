"""Commands that show what memories say together and how they came to be."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from memento.cli.options import (
    HERE,
    AsJson,
    EmbedderName,
    Id,
    Namespace,
    Query,
    Root,
    Scopes,
    Within,
    examples,
    option,
)
from memento.cli.output import print_json
from memento.cli.store import open_store
from memento.display import one_line, plain

if TYPE_CHECKING:
    from memento.insight.values import Dossier, Health, Lineage, Reasoning

app = typer.Typer()


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
