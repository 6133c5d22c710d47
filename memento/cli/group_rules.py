"""The command that prints the policy of a prompt."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from memento.cli.options import (
    HERE,
    AsJson,
    EmbedderName,
    Ids,
    Namespace,
    Root,
    Session,
    examples,
    option,
)
from memento.cli.output import open_store, print_json, print_memories
from memento.errors import InvalidInput
from memento.manager import MemoryManager
from memento.prompt.policy_values import TOKENS
from memento.types import Memory
from memento.verbs.rules import RECALL, TAIL_TOKENS

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


class Level(StrEnum):
    """Levels of a lock."""

    USER = "user"
    PROMOTED = "promoted"


@app.command(epilog=examples("memento lock 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10"))
def lock(
    ids: Ids,
    *,
    level: Annotated[
        Level, option("--level", help="Nothing changes it, or only the user may replace it.")
    ] = Level.USER,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Lock memories: nothing updates, forgets, moves or replaces them until `memento unlock`.

    `memento erase` removes a locked memory all the same.
    """
    _each(ids, root, namespace, embedder, lambda memory, one: memory.lock(one, level.value))


@app.command(epilog=examples("memento unlock 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10"))
def unlock(
    ids: Ids,
    *,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Take the locks of memories away."""
    _each(ids, root, namespace, embedder, lambda memory, one: memory.unlock(one))


@app.command(epilog=examples("memento pin 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10"))
def pin(
    ids: Ids,
    *,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Let memories never fade."""
    _each(ids, root, namespace, embedder, lambda memory, one: memory.pin(one))


@app.command(epilog=examples("memento unpin 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10"))
def unpin(
    ids: Ids,
    *,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Let memories fade again."""
    _each(ids, root, namespace, embedder, lambda memory, one: memory.unpin(one))


def _each(
    ids: list[str],
    root: Path,
    namespace: str,
    embedder: str,
    change: Callable[[MemoryManager, str], Memory],
) -> None:
    """Change memories one by one and print what each is then."""
    with open_store(root, namespace, embedder) as memory:
        for one in ids:
            found = change(memory, memory.full_id(one))
            said = ", ".join(filter(None, ("pinned" * found.pinned, _lock(found))))
            typer.echo(f"{found.id}  {said or 'neither pinned nor locked'}")


def _lock(memory: Memory) -> str:
    return "" if memory.lock is None else f"locked ({memory.lock})"


quarantine = typer.Typer(
    help="Review memories from tools, the web and imports before they are found.",
    no_args_is_help=True,
)
app.add_typer(quarantine, name="quarantine")


@quarantine.command(
    "list", epilog=examples("memento quarantine list", "memento quarantine list --json")
)
def list_(
    *,
    limit: Annotated[int, option("--limit", help="Most memories.")] = 100,
    offset: Annotated[int, option("--offset", help="Memories to skip first.")] = 0,
    as_json: AsJson = False,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """List quarantined memories, in order of arrival."""
    with open_store(root, namespace, embedder) as memory:
        found = memory.quarantine.list(limit=limit, offset=offset)
    print_memories(found, as_json=as_json)


@quarantine.command(
    epilog=examples("memento quarantine approve 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10")
)
def approve(
    ids: Ids,
    *,
    version: Annotated[
        int | None, option("--version", help="The version that you read, if it changed meanwhile.")
    ] = None,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Make quarantined memories active. They still cannot become rules or be pinned."""
    with open_store(root, namespace, embedder) as memory:
        for memory_id in map(memory.full_id, ids):
            approved = memory.quarantine.approve(memory_id, version=version)
            typer.echo(f"{memory_id}  {approved.status}")


@quarantine.command(
    epilog=examples("memento quarantine reject 0198c2f0-5d7e-7a11-b0a4-3f1f0c9e2d10")
)
def reject(
    ids: Ids,
    *,
    root: Root = HERE,
    namespace: Namespace = "default",
    embedder: EmbedderName = "default",
) -> None:
    """Forget quarantined memories; `memento restore` puts them back into quarantine."""
    with open_store(root, namespace, embedder) as memory:
        for memory_id in map(memory.full_id, ids):
            typer.echo(f"{memory_id}  {memory.quarantine.reject(memory_id).status}")
