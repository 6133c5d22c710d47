"""Back up a store into one file, and restore it from there, also as of an earlier moment.

A backup holds the ledger; the rest of a store is rebuilt from it when the restored store is opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from memento.base import files, layout
from memento.base.clock import from_micros
from memento.base.forks import whole
from memento.base.home import default_root
from memento.base.lazy import later
from memento.check import check_moment
from memento.errors import ArchiveDamaged, InvalidInput, MomentUnknown, StoreUnusable, TargetExists
from memento.ledger.checks import Sees
from memento.ledger.contract import Ledger
from memento.ledger.contract import Salvaged as Whole
from memento.ledger.opening import backup_tool, folder_of, make_root, salvage_tool, swap

if TYPE_CHECKING:
    from memento.write import settling
else:
    settling = later("memento.write.settling")


_REMEDY = "run `memento doctor`, and `memento doctor --salvage` if the damage remains"


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was written and verified.

    Attributes:
        path: The file.
        taken_at: When the state of the store was captured, UTC.
        memories: Number of memories in it, in all namespaces and regardless of status.
        bytes: Its size in bytes.
    """

    path: Path
    taken_at: datetime
    memories: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Restored:
    """A store that was restored from a backup.

    Attributes:
        root: Its folder.
        memories: Number of memories in it, in all namespaces and regardless of status.
        taken_at: When the backup was made, UTC; None for a plain copy of a ledger.
        moment: The point in time to which it was rolled back, UTC, or None.
        aside: The folder to which the previous store was moved, or None.
    """

    root: Path
    memories: int
    taken_at: datetime | None
    moment: datetime | None
    aside: Path | None


def back_up(
    ledger: Ledger, file: str | Path, *, sees: Sees, now: int, overwrite: bool = False
) -> Backup:
    """Write a store into one file while it is in use, and check it; see ``StoreView.backup``."""
    path = files.path_outside("file", file, ledger.root)
    if not ledger.in_file:
        problem = "cannot be a copy of a PostgreSQL store; use pg_dump, or export the memories"
        raise InvalidInput("file", problem)
    try:
        tool = backup_tool()
    except OSError as error:  # the first call imports it, which takes a descriptor
        raise files.explain_os(path, error) from error
    with files.new_file(path, overwrite=overwrite) as draft:
        ledger.check_present()
        with whole():  # a fork would leave SQLite locked in the child
            tool.copy(ledger.path, draft, now, immutable=ledger.immutable)
        ledger.check_present()  # it was read by path, where another store may be by now
        with whole(), _named(draft, ledger.root, f"; {_REMEDY}"):
            contents = tool.inspect(draft, sees)
        size = draft.stat().st_size
    return Backup(path, from_micros(now), contents.memories, size)


@contextmanager
def _named(draft: Path, origin: Path, remedy: str = "") -> Iterator[None]:
    """Name what a draft was made of where damage in the draft is reported."""
    try:
        yield
    except ArchiveDamaged as error:
        problem = str(error).removeprefix(f"{draft}: ")
        raise ArchiveDamaged(origin, f"{problem}{remedy}") from error


def restore(
    file: str | Path,
    root: str | Path | None = None,
    *,
    at: datetime | None = None,
    set_aside: bool = False,
) -> Restored:
    """Restore a store from a backup.

    The full-text index is part of the backup; the snapshot and the long tier's index are rebuilt in
    the background when the store is opened.

    Args:
        file: A backup, or a copy of a ``ledger.db`` together with its ``-wal`` file, if it has one.
        root: The store folder, created if it does not exist; None for the default folder of
            ``MemoryManager``.
        at: Restore the store as of this moment (timezone-aware).
        set_aside: If ``root`` contains a store, rename and keep its folder.

    Raises:
        InvalidInput: If ``at`` has no time zone, or ``root`` is not a valid folder name.
        TargetExists: If ``root`` contains a store and ``set_aside`` is False.
        StoreBusy: If a process has that store open.
        ArchiveDamaged: If the file is not a backup, or is damaged.
        MomentUnknown: If the state of the store at that moment cannot be reconstructed.
        StoreFromTheFuture: If a newer version of memento wrote the backup.
        StoreError: If the store cannot be written.
    """
    source, folder = (
        files.path_of("file", file),
        folder_of(default_root() if root is None else root),
    )
    moment = None if at is None else check_moment("at", at)
    if not source.is_file():
        raise ArchiveDamaged(source, "is not a file; pass the path of a backup")
    there = [name for name in layout.REMAINS if os.path.lexists(folder / name)]
    if not there:
        with _new_folder(folder):
            count, taken_at = _build(source, folder / layout.LEDGER, moment)
        aside = None
    elif set_aside:
        (count, taken_at), aside = swap(folder, lambda target: _build(source, target, moment))
    else:
        raise TargetExists(
            folder,
            f"already contains a store ({there[0]}); restore into a different folder, or set the "
            "store aside"
            " (set_aside=True, --set-aside)",
        )
    return Restored(
        root=folder,
        memories=count,
        taken_at=None if taken_at is None else from_micros(taken_at),
        moment=None if moment is None else from_micros(moment),
        aside=aside,
    )


@contextmanager
def _new_folder(folder: Path) -> Iterator[None]:
    """Make the folder of a store; if the block fails, remove the folders that were made for it."""
    made = [one for one in (folder, *folder.parents) if not os.path.lexists(one)]
    try:
        make_root(folder)
        yield
    except BaseException:  # KeyboardInterrupt, too: no empty folder stays
        for one in made:
            with suppress(OSError):  # not empty: somebody else uses it
                one.rmdir()
        raise


def _build(source: Path, target: Path, moment: int | None) -> tuple[int, int | None]:
    """Make a ledger from a backup and check it; returns its number of memories and its time."""
    tool = backup_tool()
    with files.new_file(target) as draft, whole():
        tool.fetch(source, draft)
        with _named(draft, source):
            found = tool.inspect(draft)
        tool.settle(draft)
        count = found.memories
        if moment is not None:
            if found.taken_at is not None and moment > found.taken_at:
                raise MomentUnknown(source, from_micros(moment), from_micros(found.taken_at))
            count = tool.set_back_to(draft, moment, found.taken_at, reread=settling.reread)
    return count, found.taken_at


@dataclass(frozen=True, slots=True)
class Salvaged:
    """The result of a salvage.

    Attributes:
        root: Folder of the new store, the same as that of the old one.
        aside: New folder of the damaged store.
        kept: Number of intact memories, of every status and namespace.
        lost: Number of lost memories, as far as traces of them remain.
        missing_pages: Number of pages by which the file is too short; if it is not 0, an unknown
            number of memories and links is lost without a trace.
        changed: Ids of lost memories whose row exists but was changed.
        lost_links: Number of lost links between intact memories.
        versions: Number of intact earlier states of memories.
    """

    root: Path
    aside: Path
    kept: int
    lost: int
    missing_pages: int
    changed: tuple[str, ...]
    lost_links: int
    versions: int


def salvage(root: str | Path | None = None) -> Salvaged:
    """Make a new store from the intact memories of a damaged one.

    Each page of the ledger is read separately, even if SQLite cannot open the file, and a memory is
    kept if it matches its checksum. Full text, vectors and the long tier are rebuilt when the new
    store is opened. No process may have the store open.

    Args:
        root: Folder of the damaged store; None for the default of ``MemoryManager``.

    Raises:
        StoreUnusable: If there is no ledger, or nothing intact in it; it is left as it is.
        StoreFromTheFuture: If a newer memento wrote it.
        StoreBusy: If a process has it open.
        StoreError: If the new store cannot be written.
    """
    folder = folder_of(default_root() if root is None else root)
    ledger = folder / layout.LEDGER
    if not ledger.is_file():
        raise StoreUnusable(folder, "contains no ledger to salvage")
    tool = salvage_tool()

    def build(target: Path) -> Whole:
        with whole():  # a fork would leave SQLite locked in the child
            try:
                found = tool.find(ledger)
            except OSError as error:
                raise files.explain_os(ledger, error) from error
            if not found.memories:
                raise StoreUnusable(
                    ledger, "contains nothing that can be salvaged; restore a backup"
                )
            with files.new_file(target) as draft:
                tool.write(found, draft)
            return found

    found, aside = swap(folder, build)
    return Salvaged(
        root=folder,
        aside=aside,
        kept=len(found.memories),
        lost=len(found.lost),
        missing_pages=found.missing_pages,
        changed=tuple(i for docid, i in sorted(found.changed.items()) if docid in found.lost),
        lost_links=found.lost_links,
        versions=len(found.versions),
    )
