"""Put a new store in the place of another one, which stays beside it."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from glob import escape
from pathlib import Path
from typing import TypeVar

from memento.errors import StoreBusy, StoreUnusable
from memento.ledger.files import remove_drafts, sync_folder, unfinished
from memento.ledger.ledger import FILE_NAME
from memento.ledger.sqlite import connect, explain_os, translated

T = TypeVar("T")

_HERE, _EXCHANGE = -100, 2  # AT_FDCWD, RENAME_EXCHANGE. Source: renameat2(2)


def swap(root: Path, build: Callable[[Path], T]) -> tuple[T, Path]:
    """Build a store beside the one that is there, then let them change places.

    Where the system can (Linux), a crash leaves the one or the other at its place; elsewhere there
    is a moment between two renames in which nothing is.

    Args:
        root: Folder of a store.
        build: Makes the new ledger at the path it is given.

    Returns:
        What ``build`` returned, and where the old store is now.

    Raises:
        StoreBusy: If somebody has the store open.
        StoreError: If the new one cannot be written; the old one is where it was.
    """
    root = root.resolve()
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    aside = root.with_name(f"{root.name}.aside-{stamp}")
    try:
        _remove_unbuilt(root)
        fresh = Path(tempfile.mkdtemp(prefix=f".{root.name}.", suffix=".tmp", dir=root.parent))
        inode = fresh.stat().st_ino
        try:
            built = build(fresh / FILE_NAME)
            sync_folder(fresh)
            _check_unused(root / FILE_NAME)
            _change_places(root, fresh, aside)
        finally:
            if fresh.exists() and fresh.stat().st_ino == inode:  # and not the old store
                shutil.rmtree(fresh, ignore_errors=True)
        sync_folder(root.parent)
    except OSError as error:
        raise explain_os(root, error) from error
    return built, aside


def _remove_unbuilt(root: Path) -> None:
    """Remove what a process that was killed while it built left beside the store.

    Only drafts are: in a folder of that name that holds more, the old store may be.
    """
    for folder in root.parent.glob(f".{escape(root.name)}.????????.tmp"):
        if folder.is_dir() and set(folder.iterdir()) <= set(unfinished(folder)):
            remove_drafts(folder / FILE_NAME)
            if not any(folder.iterdir()):
                folder.rmdir()


def _change_places(root: Path, fresh: Path, aside: Path) -> None:
    if _exchange(root, fresh):
        try:
            fresh.rename(aside)
        except OSError:
            _exchange(root, fresh)
            raise
        return
    root.rename(aside)
    try:
        fresh.rename(root)
    except OSError:
        aside.rename(root)
        raise


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change names at once; False if the system does not know how."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    return bool(call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)


def _check_unused(path: Path) -> None:
    """Fold the log of a ledger into it, which only works if nobody else has it open.

    Raises:
        StoreBusy: If somebody has.
    """
    if not path.exists():
        return
    try:
        with translated(path):
            connect(path, busy_seconds=0.1, writable=True, wal=False).close()
    except StoreBusy as error:
        raise StoreBusy(path, "is open in another process; close that first") from error
    except StoreUnusable:
        return  # damaged, perhaps the reason for all this: it is kept as it is
