"""Read and write files so that their content and names survive a power cut."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from io import BufferedReader
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from memento.base import layout
from memento.base.clock import system_clock
from memento.errors import (
    InvalidInput,
    ReadOnlyStore,
    StorageFailed,
    StorageFull,
    StoreError,
    TargetExists,
)

log = logging.getLogger("memento.base.files")

_NO_LINKS = frozenset({
    errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK,
})  # fmt: skip
"""Errors of a file system without hard links."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


LOCKS_APART = sys.platform == "linux"
"""Whether SQLite's file locks are independent of ours (``flock``); on BSD and macOS they clash."""
FORSAKEN = 86_400
"""Seconds after which an unlocked draft is taken for abandoned."""


def explain_os(path: Path, error: OSError) -> StoreError:
    """Return the ``StoreError`` for an error of the operating system about a file."""
    said = error.strerror or str(error)
    if error.errno in _FULL:
        return StorageFull(path, f"the disk is full ({said}); nothing was written")
    if error.errno in _FORBIDDEN:
        return ReadOnlyStore(path, f"is not writable ({said}); use a different folder")
    if error.errno == errno.EIO:
        return StorageFailed(path, f"the disk failed ({said}); nothing was written")
    return StoreError(path, f"operating system error: {said}")


MOST_OF_A_PART, MOST_BYTES = 255, 4095
"""Maximum length of a name of a file or folder, and longest path, in bytes; no usual file system
takes more."""


def path_of(field: str, name: object) -> Path:
    """Check a parameter that names a file or folder, and return it as an absolute path.

    Raises:
        InvalidInput: If it is neither a string nor a path, or no file can have such a name.
    """
    if not isinstance(name, str | Path):
        raise InvalidInput(field, f"must be a file name, not {type(name).__name__}")
    try:
        spelt = os.fsencode(name)
    except UnicodeEncodeError:
        raise InvalidInput(field, "contains characters that a file name cannot have") from None
    if b"\0" in spelt:
        raise InvalidInput(field, "contains a NUL character")
    if len(spelt) > MOST_BYTES or any(len(part) > MOST_OF_A_PART for part in spelt.split(b"/")):
        problem = (
            f"is too long: at most {MOST_OF_A_PART} bytes per path component and {MOST_BYTES:,} "
            "in total"
        )
        raise InvalidInput(field, problem)
    try:
        return Path(name).absolute()
    except FileNotFoundError:
        problem = "is relative, and the working directory was removed; specify an absolute path"
        raise InvalidInput(field, problem) from None


def open_regular(path: str | os.PathLike[str], *, follow: bool = True) -> BufferedReader:
    """Open for reading a file that somebody else may have put there.

    Pipes and devices, which may never end, are refused without waiting. With ``follow=False``, so
    are symbolic links.

    Raises:
        OSError: If it cannot be opened, or is not a regular file.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(path, flags if follow else flags | os.O_NOFOLLOW)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise OSError(errno.EINVAL, "is not a regular file", str(path))


def read_regular(path: str | os.PathLike[str], most: int = -1) -> bytes:
    """Read a file opened by ``open_regular``: all of it, or at most ``most`` bytes."""
    with open_regular(path) as file:
        return file.read(most)


def path_outside(field: str, name: object, root: Path) -> Path:
    """Like ``path_of``, for a file that must not be in the folder of a store.

    Raises:
        InvalidInput: As ``path_of``, or if it is in that folder, directly or through a link.
    """
    path = path_of(field, name)
    folder, target, beside = map(os.path.realpath, (root, path, path.parent))
    if Path(folder) in (*Path(target).parents, *Path(beside, path.name).parents):
        raise InvalidInput(field, "is inside the store's own folder and would be lost with it")
    return path


def write_atomically(
    path: Path,
    data: bytes,
    *,
    check: Callable[[], object] | None = None,
    mode: int | None = None,
    wait: bool = True,
) -> None:
    """Replace a file so that a crash leaves the old content or the new, never a mixture.

    Args:
        path: The file.
        data: Its new content.
        check: Called once the folder is open, to raise if it is the wrong one. The file is written
            into the open folder, even if that is renamed afterwards.
        mode: Its permissions; None for 0o600.
        wait: Whether to wait until it is on the disk. Otherwise it survives a crash of the process,
            but perhaps not a power cut.

    Raises:
        StoreError: If it cannot be written; the old content is still there.

    Source: the sequence measured free of loss in simulated power cuts: temporary file, fsync,
    rename, fsync of the folder.
    """
    try:
        with opened_folder(path.parent) as folder:
            if check is not None:
                check()
            with _temporary(path.name, folder) as (temporary, file):
                file.write(data)
                file.flush()
                if mode is not None:
                    os.fchmod(file.fileno(), mode)
                if wait:
                    sync(file.fileno())
                os.replace(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
            if wait:
                sync(folder)
    except OSError as error:
        raise explain_os(path, error) from error


def remove_litter(path: Path) -> None:
    """Remove temporary files that killed calls of ``write_atomically`` left beside a file."""
    for litter in written(path):
        _remove_abandoned(litter)


def written(path: Path) -> list[Path]:
    """List the temporary files of ``write_atomically`` beside a file, in use or abandoned."""
    return list(path.parent.glob(f"{escape(path.name)}.{'[0-9a-f]' * 8}.tmp"))


def remove_drafts(path: Path) -> None:
    """Remove drafts that killed calls of ``new_file`` left beside a file."""
    for draft in path.parent.glob(f".{escape(path.name)}.????????.tmp"):
        if LOCKS_APART or draft.lstat().st_mtime < system_clock().timestamp() - FORSAKEN:
            _remove_abandoned(draft)


def unfinished(folder: Path) -> list[Path]:
    """List the files and folders whose name is that of an unfinished draft, sorted by name."""
    return sorted(path for path in folder.iterdir() if layout.DRAFT.fullmatch(path.name))


def is_draft_of(name: str, of: str) -> bool:
    """Return whether a name is that of a draft that ``new_file`` makes for the file ``of``."""
    return (
        name.startswith(f".{of}.") and name.endswith(".tmp") and bool(layout.DRAFT.fullmatch(name))
    )


def _remove_abandoned(litter: Path) -> None:
    """Remove a temporary file and SQLite's files beside it, unless its writer is alive."""
    if not litter.is_file():
        return
    try:
        with litter.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # its writer holds it
            for suffix in ("", *layout.BESIDE):
                litter.with_name(litter.name + suffix).unlink(missing_ok=True)
    except OSError as error:
        log.info("%s was left in place: %s", litter, error)


@contextmanager
def _temporary(name: str, folder: int) -> Iterator[tuple[str, BinaryIO]]:
    """Create a locked temporary file in a folder; remove it at the end if it was not renamed."""
    temporary, descriptor = _create_locked(f"{name}.", folder)
    with os.fdopen(descriptor, "wb") as file:
        try:
            yield temporary, file
        finally:
            with suppress(FileNotFoundError):  # it was renamed
                os.unlink(temporary, dir_fd=folder)


def _create_locked(prefix: str, folder: int | None = None, *, lock: bool = True) -> tuple[str, int]:
    """Create an empty private file; return its name and the descriptor that holds its lock."""
    while True:
        made, flags = f"{prefix}{token_hex(4)}.tmp", os.O_CREAT | os.O_EXCL | os.O_WRONLY
        descriptor = os.open(made, flags | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if lock else fcntl.LOCK_UN)
        except OSError as error:  # then no other process can lock and remove it, either
            log.info("%s cannot be locked: %s", made, error)
        if os.fstat(descriptor).st_nlink:
            return made, descriptor
        os.close(descriptor)  # another process removed it before it was locked


def open_folder(folder: Path, flags: int = 0) -> int:
    """Return a descriptor of a folder."""
    only_folders = getattr(os, "O_DIRECTORY", 0)
    return os.open(folder, os.O_RDONLY | only_folders | os.O_CLOEXEC | flags)


@contextmanager
def opened_folder(folder: Path) -> Iterator[int]:
    """Yield a descriptor of a folder, and close it at the end."""
    descriptor = open_folder(folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def sync(descriptor: int) -> None:
    """Wait until a file or a folder is on the disk.

    On macOS, ``fsync`` leaves data in the disk's cache, where a power cut would lose it. Source:
    fsync(2) of macOS.
    """
    whole = getattr(fcntl, "F_FULLFSYNC", None)
    if whole is not None:
        try:
            fcntl.fcntl(descriptor, whole)
        except OSError as error:
            if error.errno == errno.EIO:
                raise
        else:
            return
    os.fsync(descriptor)  # also where the file system has no F_FULLFSYNC


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    with opened_folder(folder) as descriptor:
        sync(descriptor)


def sync_name(path: Path) -> None:
    """Wait until the name of a file or folder is on the disk, if permissions allow.

    A folder without read permission cannot be synced; that is logged.
    """
    try:
        sync_folder(path.parent)
    except PermissionError as error:
        log.info("the name of %s may be lost in a power failure: %s", path, error)


@contextmanager
def new_file(path: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Yield an empty temporary file, and move it to ``path`` when the block succeeds.

    Only its owner can read it, and it is on the disk before it is moved. If the block fails or
    the process dies, nothing new is at ``path``. The next writer of this file removes drafts of
    dead processes.

    Raises:
        TargetExists: If something is there already.
        StoreError: If it cannot be written; see its children.
    """
    draft = None
    try:
        if not overwrite and os.path.lexists(path):
            raise TargetExists(
                path, "already exists; use another name, or pass overwrite=True or --overwrite"
            )
        if path.exists() and not path.is_file():  # a rename would take the place of a device
            raise TargetExists(path, "exists and is not a file; use another name")
        remove_drafts(path)
        made, held = _create_locked(str(path.with_name(f".{path.name}.")), lock=LOCKS_APART)
        draft = Path(made)
        try:
            yield draft
            _sync_file(draft)
        finally:
            os.close(held)  # before it has its name: SQLite's locks on a file end with any close
        if overwrite:
            draft.replace(path)
        else:
            _name(draft, path)
        sync_folder(path.parent)
    except OSError as error:
        raise explain_os(path, error) from error
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sync(descriptor)
    finally:
        os.close(descriptor)


def _name(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)  # unlike rename, it fails if another came first
    except FileExistsError:
        raise TargetExists(path, "was created in the meantime; use another name") from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        draft.rename(path)
