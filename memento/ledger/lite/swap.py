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

log = logging.getLogger("memento.ledger.swap")

PATIENCE = 0.1
"""Seconds to wait for somebody who is about to close the store."""

_HERE, _EXCHANGE = -100, 2  # AT_FDCWD, RENAME_EXCHANGE. Source: renameat2(2)


def swap(root: Path, build: Callable[[Path], T]) -> tuple[T, Path]:
    """Build a ledger at the path that ``build`` is given; let its folder take the store's place.

    Returns what that returned, and where the old store is now. Where the system can (Linux), a
    crash leaves the one or the other at its place; elsewhere there is a moment between two
    renames.
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
    """Return what tells a folder from all others, whatever its name is by now."""
    found = folder.lstat()
    return f"{zlib.crc32(f'{found.st_dev} {found.st_ino}'.encode()):08x}"


def name_of_fresh(root: Path, folder: Path) -> Path:
    """Return the name that the folder of a new store has while it is being built beside another."""
    return root.with_name(f".{root.name}.{mark_of(folder)}.tmp")


def _make_fresh(root: Path) -> Path:
    """Make the folder of a new store, named by its mark until it is in its place.

    In the exchange the old store gets that name, which does not suit it: no other process can
    take the one for the other, whenever this one is killed.
    """
    fresh = Path(tempfile.mkdtemp(prefix=f".{root.name}.", suffix=".tmp", dir=root.parent))
    named = name_of_fresh(root, fresh)
    if os.path.lexists(named) or (root.exists() and mark_of(root) == mark_of(fresh)):
        return fresh  # what is left of it would stay, but nothing else is lost
    fresh.rename(named)
    return named


def finish(root: Path) -> None:
    """Give the old store its name if the process that exchanged it was killed just after."""
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
            log.warning("%s is the store that a restore had replaced; it stays: %s", old, error)
        else:
            log.warning("the store that a restore which was killed had replaced is now %s", aside)


@contextmanager
def _held(folder: Path) -> Iterator[bool]:
    """Hold a folder during the block; lends False if another process holds it."""
    try:
        held = _hold(folder)
    except OSError as error:
        log.info("%s stays: %s", folder, error)
        yield False
        return
    try:
        yield True
    finally:
        os.close(held)


def _hold(folder: Path) -> int:
    """Show that a folder is in use, until the descriptor that is returned is closed."""
    descriptor = open_folder(folder)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _remove_unbuilt(root: Path) -> None:
    """Remove what a killed process left unbuilt; a folder without the mark may be the old store."""
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
    """Let two folders change names at once; False if the system does not know how."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    return bool(call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep the writers of all processes out of a ledger that nobody has open, or ``StoreBusy``.

    A process that opens it meanwhile cannot write before the block ends, and then finds that
    its files are no longer at their place.
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
        except StoreUnusable as error:  # perhaps the reason for all this: it is kept as it is
            log.info("%s is replaced though it cannot be opened: %s", path, error)
        yield
    finally:
        gate.leave()
        gate.close()
