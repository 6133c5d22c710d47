"""Replace a store by a new one; the old one stays beside it."""

from __future__ import annotations

import ctypes
import fcntl
import logging
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import TypeVar

from memento.base import layout
from memento.base.clock import in_name, system_clock
from memento.base.files import explain_os, open_folder, remove_drafts, sync_folder, unfinished
from memento.errors import StoreBusy, StoreUnusable
from memento.ledger.lite.gate import Gate
from memento.ledger.lite.sqlite import connect, translated

T = TypeVar("T")

log = logging.getLogger("memento.ledger.lite.swap")

PATIENCE = 0.1
"""Seconds to wait for somebody who is about to close the store."""

_HERE, _EXCHANGE = -100, 2  # AT_FDCWD, RENAME_EXCHANGE. Source: renameat2(2)


def swap(root: Path, build: Callable[[Path], T]) -> tuple[T, Path]:
    """Let ``build`` make a ledger at a path, and put its folder in the place of the store.

    Returns what ``build`` returned, and where the old store is now. On Linux, a crash leaves either
    the old or the new store in place; elsewhere neither is in place between two renames.
    """
    root = root.resolve()
    aside = root.with_name(f"{root.name}.aside-{in_name(system_clock())}")
    try:
        _remove_unbuilt(root)
        if root.is_dir():
            finish(root)
        fresh = _make_fresh(root)
        inode, held = fresh.stat().st_ino, _hold(fresh)
        try:
            built = build(fresh / layout.LEDGER)
            sync_folder(fresh)
            with _alone(root / layout.LEDGER):
                _change_places(root, fresh, aside)
        finally:
            if fresh.exists() and fresh.stat().st_ino == inode:  # and not the old store
                shutil.rmtree(fresh, ignore_errors=True)
            os.close(held)
        sync_folder(root.parent)
    except OSError as error:
        raise explain_os(root, error) from error
    return built, aside


def mark_of(folder: Path) -> str:
    """Return a mark that identifies a folder, even if it was renamed."""
    found = folder.lstat()
    return f"{zlib.crc32(f'{found.st_dev} {found.st_ino}'.encode()):08x}"


def name_of_fresh(root: Path, folder: Path) -> Path:
    """Return the name of the folder of a new store while it is being built beside another."""
    return root.with_name(f".{root.name}.{mark_of(folder)}.tmp")


def _make_fresh(root: Path) -> Path:
    """Make the folder of a new store, named by its mark until it is in its place.

    In the exchange the old store gets that name, whose mark does not match it: so no other process
    can mistake one for the other, even if this one is killed.
    """
    fresh = Path(tempfile.mkdtemp(prefix=f".{root.name}.", suffix=".tmp", dir=root.parent))
    named = name_of_fresh(root, fresh)
    if os.path.lexists(named) or (root.exists() and mark_of(root) == mark_of(fresh)):
        return fresh  # after a crash it would stay, but nothing is lost
    fresh.rename(named)
    return named


def finish(root: Path) -> None:
    """Give the old store its name if the process was killed just after the exchange."""
    old = name_of_fresh(root, root)
    if old.is_symlink() or not old.is_dir():
        return
    with _held(root) as held:
        if not held:  # it is being exchanged just now
            return
        try:
            aside = root.with_name(f"{root.name}.aside-{in_name(system_clock())}")
            old.rename(aside)
            sync_folder(root.parent)
        except OSError as error:
            log.warning("%s is a store that a restore replaced; it was not moved: %s", old, error)
        else:
            log.warning("the store replaced by an interrupted restore is now %s", aside)


@contextmanager
def _held(folder: Path) -> Iterator[bool]:
    """Hold a folder during the block; yield False if another process holds it."""
    try:
        held = _hold(folder)
    except OSError as error:
        log.info("%s was left in place: %s", folder, error)
        yield False
        return
    try:
        yield True
    finally:
        os.close(held)


def _hold(folder: Path) -> int:
    """Mark a folder as in use until the returned descriptor is closed."""
    descriptor = open_folder(folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _remove_unbuilt(root: Path) -> None:
    """Remove what a killed process left half-built; without its mark it may be the old store."""
    for folder in root.parent.glob(f".{escape(root.name)}.????????.tmp"):
        if folder.is_symlink() or not folder.is_dir():
            continue
        if folder.name.endswith(f".{mark_of(folder)}.tmp"):
            with _held(folder) as held:
                if held:
                    shutil.rmtree(folder, ignore_errors=True)
        elif set(folder.iterdir()) <= set(unfinished(folder)):
            remove_drafts(folder / layout.LEDGER)
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
    """Exchange the names of two folders atomically; return False if the system cannot."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    return bool(call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Lock all writers out of a ledger that nobody has open; ``StoreBusy`` if it is open.

    A process that opens it meanwhile cannot write before the block ends, and then finds its files
    no longer in place.
    """
    if not path.exists():
        yield
        return
    gate = Gate(path, PATIENCE)
    try:
        try:
            gate.enter()
            with translated(path):  # folding the log works only if nobody else has it open
                connect(path, busy_seconds=PATIENCE, writable=True, wal=False).close()
        except StoreBusy as error:
            raise StoreBusy(path, "is open in another process; close it first") from error
        except StoreUnusable as error:  # perhaps why it is replaced: it is kept unchanged
            log.info("%s is being replaced even though it cannot be opened: %s", path, error)
        yield
    finally:
        gate.leave()
        gate.close()
