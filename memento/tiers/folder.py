"""The Chroma folder as files: who owns it, how it was left, and which files are the store's.

One owner at a time: an advisory lock on a file beside the folder. The kernel releases it when its
owner dies in any way, so it is never stale. The lock file itself stays: if it were removed, two
processes could lock two files of the same name.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import re
import shutil
import stat
import struct
import weakref
import zlib
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from memento.base import layout
from memento.base.clock import in_name, system_clock
from memento.base.files import read_regular, sync_folder
from memento.errors import StoreUnusable, TierUnavailable
from memento.ledger.schema import APPLICATION_ID

if TYPE_CHECKING:
    from collections.abc import Collection

logger = logging.getLogger("memento.tiers")

_CONTENT = re.compile(rb"[0-9]{0,20}\n?")
"""Content of a lock file: a process id, perhaps cut off by a crash."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Taken(TierUnavailable):
    """The folder has another owner, which also indexes what this process adds: no fault."""


class FolderLock:
    """An exclusive ``flock`` on one file, which holds the owner's process id for people to read.

    Two of these in one process exclude each other like two processes. A forked child does not hold
    the lock: its copy of the descriptor is closed at once, so that it cannot keep the lock after
    its parent released it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None
        _locks.add(self)

    @property
    def held(self) -> bool:
        """Whether this object, in this process, owns the folder."""
        return self._fd is not None

    def acquire(self) -> bool:
        """Try to become the owner, without waiting; False if there is another one.

        Raises:
            OSError: If the file cannot be created, or the file system does not support locks.
            StoreUnusable: If the file holds something that no lock file of memento's does; it is
                left as it is.
        """
        if self.held:
            return True
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        with contextlib.ExitStack() as unless_owned:
            fd = os.open(self._path, flags, 0o600)
            unless_owned.callback(os.close, fd)
            if not _is_lock(fd):
                raise StoreUnusable(
                    self._path,
                    "is not a file of this store; give it another name or place, or remove it",
                )
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
            unless_owned.pop_all()
        self._fd = fd
        return True

    def fileno(self) -> int:
        """Return the descriptor, for a child process that keeps the lock while it lives."""
        if self._fd is None:
            raise ValueError(f"{self._path} is not locked by this process")
        return self._fd

    def holder(self) -> str:
        """Name the owner of the lock, as far as the file tells."""
        try:
            pid = read_regular(self._path, 32).decode("ascii").strip()
        except (OSError, UnicodeDecodeError):
            pid = ""
        if pid == str(os.getpid()):
            return "another memory of this process"
        return f"process {pid}" if pid.isdigit() else "another process"

    def release(self) -> None:
        """Release the lock. Harmless if not held."""
        if self._fd is None:
            return
        fd, self._fd = self._fd, None
        with contextlib.suppress(OSError):  # closing also releases the lock
            fcntl.flock(fd, fcntl.LOCK_UN)
        os.close(fd)

    def _forget(self) -> None:
        # Only close: LOCK_UN would take the lock from the parent, which shares it.
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


_locks: weakref.WeakSet[FolderLock] = weakref.WeakSet()


def _forget_all() -> None:
    for lock in list(_locks):
        lock._forget()


os.register_at_fork(after_in_child=_forget_all)


def _is_lock(fd: int) -> bool:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        return False
    return _CONTENT.fullmatch(os.pread(fd, 32, 0)) is not None


CRC_BYTES = 64 * 1024
"""Files up to this size are also compared by CRC-32; reading more would slow a clean start."""

MAX_UNCLEAN = 2
"""Number of unclean ends in a row after which a folder is rebuilt without a probe: the probe may
have missed the fault that kills the host."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What the file beside a Chroma folder says of it.

    Attributes:
        identity: Name of the embedder whose vectors it holds.
        mark: A random word, new at each open, that the ledger also stores: a copy of the folder
            from an earlier day has an earlier word, and another store's a foreign one.
        left: Its `sum_of` when it was closed in order; "" while it is open, or if it was not.
        unclean: Opens in a row without a clean end or a long service.
    """

    identity: str
    mark: str
    left: str = ""
    unclean: int = 0


def why_not(stamp: Stamp | None, there: str, identity: str, marks: Collection[str]) -> str | None:
    """Say why a folder is replaced unseen; None if it can be taken over. Pure.

    One that was not closed in order may be taken over after a look at it in a child process.

    Args:
        stamp: What is said of it; None if that is missing or unreadable.
        there: The `sum_of` what is there now.
        identity: Name of the embedder in use.
        marks: The marks of the folder that the ledger fed last.
    """
    if not there:
        return "new" if stamp is None else "the folder is gone or empty"
    if stamp is None:
        return "its stamp is missing or unreadable"
    doubts = {
        f"holds vectors of {stamp.identity}": stamp.identity != identity,
        "a copy from another day, or another store's": stamp.mark not in marks,
        "changed since it was closed": stamp.left not in {"", there},
        f"not closed in order ({stamp.unclean} times in a row)": stamp.unclean >= MAX_UNCLEAN,
    }
    return next((why for why, holds in doubts.items() if holds), None)


def sum_of(folder: Path, version: str) -> str:
    """Sum up the files of a folder and the version of Chroma; "" if there is no file.

    Call it only while no Chroma client of this process has the folder open: closing a second
    descriptor of an SQLite file drops the locks that the client holds on it.
    """
    found = []
    for directory, _, names in os.walk(folder):
        for name in names:
            path = Path(directory, name)
            with contextlib.suppress(FileNotFoundError):  # a journal may vanish at any time
                found.append((str(path.relative_to(folder)), *_facts(path)))
    return sha256(repr([version, *sorted(found)]).encode()).hexdigest() if found else ""


def _facts(path: Path) -> tuple[int, int, int]:
    info = path.stat(follow_symlinks=False)
    small = info.st_size <= CRC_BYTES and path.is_file() and not path.is_symlink()
    return info.st_size, info.st_mtime_ns, zlib.crc32(path.read_bytes()) if small else -1


def read_stamp(path: Path) -> Stamp | None:
    """Read a stamp; None if it is absent or unreadable.

    Raises:
        OSError: If the file is there and cannot be read.
    """
    try:
        told = json.loads(read_regular(path))
        return Stamp(
            str(told["identity"]), str(told["mark"]), str(told["left"]), int(told["unclean"])
        )
    except (FileNotFoundError, ValueError, TypeError, KeyError, RecursionError):
        return None


def write_stamp(path: Path, stamp: Stamp, *, durable: bool = True) -> None:
    """Replace a stamp atomically; ``durable``: it survives a power cut from now on.

    Raises:
        OSError: If it cannot be written.
    """
    draft = path.with_name(f"{path.name}.tmp")
    draft.unlink(missing_ok=True)  # left by a killed writer, or a link that another user put there
    with os.fdopen(os.open(draft, _NEW, 0o600), "wb") as file:
        file.write(json.dumps(asdict(stamp), separators=(",", ":")).encode())
        file.flush()
        if durable:
            os.fsync(file.fileno())
    draft.replace(path)
    if durable:
        sync_folder(path.parent)


def make_private(folder: Path) -> None:
    """Remove the rights of other users on the folder and all in it, as far as possible.

    Chroma creates its files readable by all; a umask would change the whole process. Until this is
    called nobody else reaches them, as the folder itself is its owner's alone. Chroma makes files
    when a folder is opened, at the first rows of an index, and when an index is first written in
    full; a later write, a search and a removal make none.
    """
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
    for directory, folders, names in os.walk(folder):
        for name, mode in [*((f, 0o700) for f in folders), *((n, 0o600) for n in names)]:
            path = Path(directory, name)
            with contextlib.suppress(OSError):
                if not path.is_symlink():  # its target is not in this folder
                    path.chmod(mode)


# Which files are the store's. What does not prove to be is never removed.

MARK = "memento.json"
"""File in a Chroma folder of memento's that says whose it is; it outlives damage to Chroma's."""
_OURS = b'{"made_by": "memento"}\n'
_HEADER = struct.Struct(">16s52xI")
"""SQLite's header: the magic string, and the application's number at byte 68."""

_STAMP = layout.stamp_of(Path(layout.CHROMA)).name
_TOLD_BY = {
    layout.SNAPSHOT: re.compile(rb'"content": \{"revs": |"content_hash": "[0-9a-f]{64}"'),
    _STAMP: re.compile(rb'\{"identity": ?".+"unclean": ?\d', re.DOTALL),
}
"""Content that every copy of a file of ours has, damaged or not, and no other file."""


def mark(folder: Path) -> None:
    """Put memento's mark into a Chroma folder, durably; does nothing if it bears it."""
    path = folder / MARK
    if _is_mark(path):
        return
    path.unlink(missing_ok=True)  # cut off by a crash
    with os.fdopen(os.open(path, _NEW, 0o600), "wb") as file:
        file.write(_OURS)
        file.flush()
        os.fsync(file.fileno())


def _is_mark(path: Path) -> bool:
    try:
        return read_regular(path, len(_OURS) + 1) == _OURS
    except FileNotFoundError:
        return False


def _bears_mark(folder: Path) -> bool:
    return folder.is_dir() and (_is_mark(folder / MARK) or not any(folder.iterdir()))


def set_aside(path: Path, now: datetime | None = None) -> Path | None:
    """Rename a folder or file out of the way, and drop what the store set aside before.

    Only a folder that bears the store's mark is ever dropped.

    Args:
        path: The folder or file; harmless if there is none.
        now: The moment that goes into the new name; None is the present.

    Returns:
        Where it is now, or None if there was nothing.

    Raises:
        OSError: If it cannot be renamed.
    """
    if not os.path.lexists(path):
        return None
    for old in path.parent.glob(f"{path.name}.bad-*"):
        if not (is_copy(old) and old.is_dir()):
            logger.warning("%s does not bear the mark of a store; it is left alone", old)
            continue
        shutil.rmtree(old, ignore_errors=True)
        if old.exists():
            logger.warning("could not remove %s, which is no longer needed", old)
    target = path.with_name(f"{path.name}.bad-{in_name(now or system_clock())}")
    path.rename(target)
    sync_folder(path.parent)
    return target


# Each of the following raises OSError if a file cannot be read or a folder not looked into.


def is_ours(folder: Path) -> bool:
    """Tell whether the Chroma folder at the place of the store's is the store's, or is absent.

    One without files has nothing to lose and counts as the store's.
    """
    return not os.path.lexists(folder) or _bears_mark(folder)


def is_stamp(path: Path) -> bool:
    """Tell whether a file is a stamp, damaged or not; an absent one counts as one."""
    try:
        return _is_told(_STAMP, read_regular(path))
    except FileNotFoundError:
        return True


def is_lock(path: Path) -> bool:
    """Tell whether a file is a lock file of memento's, by its content; an absent one counts."""
    if path.is_symlink():
        return False
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return True
    try:
        return _is_lock(fd)
    finally:
        os.close(fd)


def is_copy(path: Path) -> bool:
    """Tell whether a file or folder of the store's folder is a copy that the store set aside."""
    name = path.name
    if not layout.ASIDE.fullmatch(name) or layout.IN_USE.fullmatch(name) or path.is_symlink():
        return False
    if layout.UNFINISHED.fullmatch(name):
        return True
    if path.is_dir():
        return name.startswith(f"{layout.CHROMA}.bad-") and _bears_mark(path)
    if not path.is_file():
        return False
    if name.lstrip(".").startswith(f"{layout.LEDGER}."):
        return _is_ledger(path)
    told_by = [file for file in _TOLD_BY if name.lstrip(".").startswith(f"{file}.")]
    return bool(told_by) and _is_told(told_by[0], read_regular(path))


def _is_told(file: str, data: bytes) -> bool:
    """Tell whether this is, or was, such a file of the store's; zeros have nothing to lose."""
    return not data.strip(b"\0") or _TOLD_BY[file].search(data) is not None


def _is_ledger(path: Path) -> bool:
    """Tell a copy of a ledger, or what SQLite keeps beside one, by the number in its header."""
    for suffix in layout.BESIDE:
        if path.name.endswith(suffix):
            path = path.with_name(path.name.removesuffix(suffix))
    if not path.is_file():
        return False
    head = read_regular(path, _HEADER.size)
    if len(head) < _HEADER.size:
        return not head
    magic, application = _HEADER.unpack(head)
    return bool(magic == b"SQLite format 3\0" and application == APPLICATION_ID)


def left_alone(root: Path) -> list[str]:
    """Name what has a name of the store's or of its copies, and does not prove to be."""
    aside = [path for path in root.iterdir() if layout.ASIDE.fullmatch(path.name)]
    found = [p for p in aside if not layout.IN_USE.fullmatch(p.name) and not is_copy(p)]
    folder = root / layout.CHROMA
    proofs = {folder: is_ours, layout.stamp_of(folder): is_stamp, layout.lock_of(folder): is_lock}
    found += [path for path, proves in proofs.items() if not proves(path)]
    return sorted(path.name for path in found)
