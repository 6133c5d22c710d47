"""Opening the store a command works on, and waiting for its indexes."""

from __future__ import annotations

from pathlib import Path

from memento import Config, MemoryManager
from memento.cli.output import NOT_WELL, fail
from memento.errors import StoreUnusable
from memento.ledger.ledger import FILE_NAME


def open_store(root: Path, namespace: str, embedder: str, *, make: bool = False) -> MemoryManager:
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


def wait_for_index(memory: MemoryManager) -> int:
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
                return fail(f"{left} not indexed yet, found by words meanwhile: {why}", NOT_WELL)
    return 0
