"""Commands that lock and pin memories."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from memento.cli.options import HERE, EmbedderName, Ids, Namespace, Root, examples, option
from memento.cli.store import open_store
from memento.manager import MemoryManager
from memento.types import Memory

app = typer.Typer()


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
