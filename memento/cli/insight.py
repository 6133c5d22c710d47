"""Commands that show what memories say together and how they came to be."""

from __future__ import annotations

from typing import Annotated

import typer

from memento.cli.options import (
    HERE,
    AsJson,
    EmbedderName,
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
from memento.display import plain

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
    if as_json:
        print_json(found)
    else:
        typer.echo(plain(found.explain()))
