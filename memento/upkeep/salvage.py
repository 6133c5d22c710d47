"""Make a new store from the intact memories of a damaged one, which is kept beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memento import layout
from memento.errors import StoreUnusable
from memento.forks import whole
from memento.ledger import files
from memento.ledger.contract import Salvaged as Whole
from memento.ledger.opening import folder_of, salvage_tool, swap


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The result of a salvage.

    Attributes:
        root: Folder of the new store, which is that of the old one.
        aside: New folder of the damaged store.
        kept: Number of intact memories, of every status and namespace.
        lost: Number of lost memories, as far as there is still a trace of them.
        changed: Ids of lost memories whose row exists but was changed.
        lost_links: Number of lost links between intact memories, such as what replaced what.
        versions: Number of intact earlier states of memories.
    """

    root: Path
    aside: Path
    kept: int
    lost: int
    changed: tuple[str, ...]
    lost_links: int
    versions: int


def salvage(root: str | Path = "agent_memory") -> Salvaged:
    """Make a new store from the intact memories of a damaged one.

    Every page of the ledger is read by itself, even if SQLite cannot open the file, and a memory is
    kept if it matches its checksum. Full text, vectors and the long tier are rebuilt when the new
    store is opened. No process may have the store open.

    Args:
        root: Folder of the damaged store.

    Raises:
        StoreUnusable: If there is no ledger, or nothing intact in it; it is left as it is.
        StoreFromTheFuture: If a newer memento wrote it.
        StoreBusy: If a process has it open.
        StoreError: If the new store cannot be written.
    """
    folder = folder_of(root)
    ledger = folder / layout.LEDGER
    if not ledger.is_file():
        raise StoreUnusable(folder, "holds no ledger to salvage")

    tool = salvage_tool()

    def build(target: Path) -> Whole:
        with whole():  # a fork would leave SQLite locked in the child
            return written(target)

    def written(target: Path) -> Whole:
        try:
            found = tool.find(ledger)
        except OSError as error:
            raise files.explain_os(ledger, error) from error
        if not found.memories:
            raise StoreUnusable(ledger, "holds nothing whole; restore a backup")
        with files.new_file(target) as draft:
            tool.write(found, draft)
        return found

    found, aside = swap(folder, build)
    return Salvaged(
        root=folder,
        aside=aside,
        kept=len(found.memories),
        lost=len(found.lost),
        changed=tuple(i for docid, i in sorted(found.changed.items()) if docid in found.lost),
        lost_links=found.lost_links,
        versions=len(found.versions),
    )
