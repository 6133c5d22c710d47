"""The command that prints the policy of a prompt."""

from __future__ import annotations

from typing import Annotated

import typer

from memento.cli.options import (
    HERE,
    AsJson,
    EmbedderName,
    Namespace,
    Root,
    Session,
    examples,
    option,
)
from memento.cli.output import print_json
from memento.cli.store import open_store
from memento.errors import InvalidInput
from memento.guidance import RECALL, TAIL_TOKENS
from memento.policy.values import TOKENS

app = typer.Typer()


@app.command(epilog=examples("memento policy", 'memento policy --for "deploy it" --explain'))
def policy(
    *,
    scope: Annotated[str, option("--scope", help="Where the agent works, a path.")] = "",
    message: Annotated[
        str | None, option("--for", metavar="MESSAGE", help="The last message of the user.")
    ] = None,
    session: Session = None,
    head: Annotated[bool, option("--head", help="Print the head alone.")] = False,
    tail: Annotated[bool, option("--tail", help="Print the tail alone.")] = False,
    explain: Annotated[
        bool, option("--explain", help="Print which memory is in which zone, and why.")
    ] = False,
    tokens: Annotated[int, option("--tokens", help="Most tokens of the head.")] = TOKENS,
    tail_tokens: Annotated[
        int, option("--tail-tokens", help="Most tokens of the tail.")
    ] = TAIL_TOKENS,
    recall: Annotated[int, option("--recall", help="Most memories to recall.")] = RECALL,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Print what a prompt should hold: the rules of the user, and what bears on a message."""
    if head + tail + explain > 1:
        raise InvalidInput("--head", "give one of --head, --tail and --explain")
    with open_store(root, namespace, embedder) as memory:
        found = memory.policy(
            message,
            scope=scope,
            session=session,
            tokens=tokens,
            tail_tokens=tail_tokens,
            recall=recall,
        )
    if as_json:
        print_json(found)
        return
    text = found.head if head else found.tail if tail else found.text
    typer.echo((found.explain() if explain else text) or "nothing here")
