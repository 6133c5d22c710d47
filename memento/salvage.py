"""Make a new store of what is whole in a damaged one, which is kept beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memento.errors import StoreUnusable
from memento.ledger import files
from memento.ledger import salvage as sql
from memento.ledger.ledger import FILE_NAME
from memento.ledger.sqlite import explain_os
from memento.ledger.swap import swap


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What became of a damaged store.

    Attributes:
        root: Folder of the new store, which is where the old one was.
        aside: Where the damaged one is now.
        kept: Memories that were whole, of every status and namespace.
        lost: Memories that were not, as far as anything still tells of them.
        changed: Ids of those lost ones whose row is there, and not as it was written.
        versions: Earlier states of memories that were whole.
    """

    root: Path
    aside: Path
    kept: int
    lost: int
    changed: tuple[str, ...]
    versions: int


def salvage(root: str | Path = "agent_memory") -> Salvaged:
    """Make a new store of what is whole in a damaged one.

    Every page of the ledger is read by itself, whether or not SQLite can open the file, and a
    memory is taken over if its checksum says that it is as it was written. Full text, vectors and
    the long tier are made again when the new store is opened. Nobody may have the store open.

    Args:
        root: Folder of the damaged store.

    Raises:
        StoreUnusable: If there is no ledger, or nothing whole in it; it is left as it is.
        StoreFromTheFuture: If a newer memento wrote it.
        StoreBusy: If somebody has it open.
        StoreError: If the new store cannot be written.
    """
    folder = Path(root).absolute()
    ledger = folder / FILE_NAME
    if not ledger.is_file():
        raise StoreUnusable(folder, "holds no ledger to salvage")

    def build(target: Path) -> sql.Found:
        try:
            found = sql.find(ledger)
        except OSError as error:
            raise explain_os(ledger, error) from error
        if not found.memories:
            raise StoreUnusable(ledger, "holds nothing whole; restore a backup")
        with files.new_file(target) as draft:
            sql.write(found, draft)
        return found

    found, aside = swap(folder, build)
    return Salvaged(
        root=folder,
        aside=aside,
        kept=len(found.memories),
        lost=len(found.lost),
        changed=tuple(i for docid, i in sorted(found.changed.items()) if docid in found.lost),
        versions=len(found.versions),
    )
