"""Open the store of a command, and wait for its indexes."""

from __future__ import annotations

from pathlib import Path

from memento import Config, MemoryManager, layout
from memento.cli.output import NOT_WELL, fail
from memento.errors import StoreUnusable


def open_store(root: Path, namespace: str, embedder: str, *, make: bool = False) -> MemoryManager:
    """Open the store; only a command that writes memories creates one."""
    if not make and not (root / layout.LEDGER).exists():
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
    """Wait until the indexes are up to date, or the rest of the work is stuck."""
    from memento.cli import show  # noqa: PLC0415 - rich is slow to load

    with show.Bar("indexing").drawn() as bar:
        if memory.flush(wait=True, progress=bar.to):
            return 0
    now = memory.store.stats()
    why = "; ".join(now.trouble.values())
    whose = sum(now.backlog.values()) or "some of other namespaces"
    return fail(f"{whose} not indexed yet, found by words meanwhile: {why}", NOT_WELL)
