"""Back a store up into one file, and make a store of such a file: as it is, or as it once was.

A backup is the ledger; everything else of a store is made from it again, by itself, when the
restored store is opened.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memento.errors import (
    ArchiveDamaged,
    InvalidInput,
    MomentUnknown,
    TargetExists,
)
from memento.ledger import backup as sql
from memento.ledger import files
from memento.ledger.ledger import FILE_NAME, Ledger, make_root
from memento.ledger.rows import from_micros
from memento.ledger.swap import swap
from memento.observe.admit import check_moment

REMAINS = (FILE_NAME, f"{FILE_NAME}-wal", "short.json", "chroma", "chroma.json")
"""What tells that a folder holds a store, or what is left of one."""


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was written and looked at.

    Attributes:
        path: The file.
        taken_at: The moment it shows, UTC.
        memories: Memories in it, of every status and namespace.
        bytes: Its size.
    """

    path: Path
    taken_at: datetime
    memories: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Restored:
    """A store made from a backup.

    Attributes:
        root: Its folder.
        memories: Memories in it, of every status and namespace.
        taken_at: When the backup was made, UTC; None for a plain copy of a ledger.
        moment: The moment it was set back to, UTC, or None.
        aside: Where the store that was there is now, or None.
    """

    root: Path
    memories: int
    taken_at: datetime | None
    moment: datetime | None
    aside: Path | None


def back_up(ledger: Ledger, file: str | Path, *, now: int, overwrite: bool = False) -> Backup:
    """Write a store into one file while it is in use, and look whether it can be read again.

    Raises:
        InvalidInput: If the file is to be in the store's own folder.
        TargetExists: If there is such a file.
        StoreError: If it cannot be written, or what was written is not sound.
    """
    path = Path(file).absolute()
    if ledger.root.resolve() in path.resolve().parents:
        raise InvalidInput("file", "is in the store's folder; what happens to that, happens to it")
    with files.new_file(path, overwrite=overwrite) as draft:
        sql.copy(ledger.path, draft, now)
        contents = sql.inspect(draft)
        size = draft.stat().st_size
    return Backup(path, from_micros(now), contents.memories, size)


def restore(
    file: str | Path,
    root: str | Path = "agent_memory",
    *,
    at: datetime | None = None,
    set_aside: bool = False,
) -> Restored:
    """Make a store from a backup.

    The full text is in the backup; the snapshot and the long tier are made again, in the
    background, once the store is opened.

    Args:
        file: A backup, or a copy of a ``ledger.db``, with its ``-wal`` beside it if there is one.
        root: Folder of the store; made if absent.
        at: Set the store back to this moment, with a time zone: what came later is not in it,
            what was changed later is as it was.
        set_aside: What to do if ``root`` holds a store: rename its folder, and keep it.

    Raises:
        InvalidInput: If ``at`` is no moment with a time zone.
        TargetExists: If ``root`` holds a store and ``set_aside`` is not given.
        StoreBusy: If somebody has that store open.
        ArchiveDamaged: If the file is no backup, or is damaged.
        MomentUnknown: If the store as it was at that moment cannot be rebuilt.
        StoreFromTheFuture: If a newer memento wrote the backup.
        StoreError: If the store cannot be written.
    """
    source, folder = Path(file).absolute(), Path(root).absolute()
    moment = None if at is None else check_moment("at", at)
    if not source.is_file():
        raise ArchiveDamaged(source, "is no file; give the name of a backup")
    there = [name for name in REMAINS if os.path.lexists(folder / name)]
    if not there:
        make_root(folder)
        count, taken_at = _build(source, folder / FILE_NAME, moment)
        aside = None
    elif set_aside:
        (count, taken_at), aside = swap(folder, lambda target: _build(source, target, moment))
    else:
        raise TargetExists(
            folder,
            f"holds a store ({there[0]}); restore into another folder, or have it set aside"
            " (set_aside=True, --set-aside)",
        )
    return Restored(
        root=folder,
        memories=count,
        taken_at=None if taken_at is None else from_micros(taken_at),
        moment=None if moment is None else from_micros(moment),
        aside=aside,
    )


def _build(source: Path, target: Path, moment: int | None) -> tuple[int, int | None]:
    """Make a sound ledger from a backup; returns its number of memories, and when it was made."""
    with files.new_file(target) as draft:
        sql.fetch(source, draft)
        found = _inspected(source, draft)
        sql.settle(draft)
        count = found.memories
        if moment is not None:
            _check_reach(source, draft, moment, found.taken_at)
            count = sql.set_back_to(draft, moment)
    return count, found.taken_at


def _inspected(source: Path, draft: Path) -> sql.Contents:
    try:
        return sql.inspect(draft)
    except ArchiveDamaged as error:
        problem = str(error).removeprefix(f"{draft}: ")
        raise ArchiveDamaged(source, problem) from error


def _check_reach(source: Path, draft: Path, moment: int, latest: int | None) -> None:
    earliest = sql.reach(draft)
    too_early = earliest is not None and moment < earliest
    if too_early or (latest is not None and moment > latest):
        raise MomentUnknown(
            source,
            from_micros(moment),
            earliest=None if earliest is None else from_micros(earliest),
            latest=None if latest is None else from_micros(latest),
        )
