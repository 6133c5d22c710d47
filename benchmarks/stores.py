"""A store for each conversation of a benchmark file: fresh, or kept from an earlier run."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from uuid import uuid4

from memento import MemoryManager

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dialogues import Conversation
    from postgres import Server

    from memento import Config
    from memento.protocols import Clock

FILLED = "filled"
"""File that says that a kept store is complete."""


@contextmanager
def opened(
    conversation: Conversation,
    *,
    embed: bool = True,
    keep: Path | None = None,
    config: Config | None = None,
    clock: Clock | None = None,
    server: Server | None = None,
) -> Iterator[MemoryManager]:
    """Open a store that holds a conversation, all of it indexed.

    Args:
        conversation: What it holds.
        embed: Whether questions are embedded; a kept store holds the vectors in any case.
        keep: Folder in which filled stores are kept and used again; None for a fresh one.
        config: Settings of the read path; they do not change what is stored.
        clock: The clock of the questions; None for the conversation's own moment.
        server: A PostgreSQL server that holds the store, in place of a folder.
    """
    now = conversation.now
    still = None if now is None else lambda: now
    with TemporaryDirectory(prefix="memento-quality-") as fresh:
        folder = Path(fresh) if keep is None else keep / conversation.id.replace("/", "-")
        root = folder if server is None else server.address(f"of_{uuid4().hex}")
        if not (folder / FILLED).exists():
            _fill(root, conversation, embed=embed or keep is not None)
            (folder / FILLED).write_text(conversation.id, encoding="utf-8")
        with MemoryManager(
            root=root,
            config=config,
            embedder="default" if embed else None,
            clock=clock or still,
        ) as memory:
            memory.retrieve("warm up", k=1, record=False)
            yield memory


def _fill(root: Path | str, conversation: Conversation, *, embed: bool) -> None:
    with MemoryManager(root=root, embedder="default" if embed else None) as memory:
        stored = memory.add_many(conversation.drafts)
        if len({kept.id for kept in stored}) != len(conversation.drafts):
            raise RuntimeError(f"{conversation.id}: turns were merged")
        memory.flush(wait=True)
