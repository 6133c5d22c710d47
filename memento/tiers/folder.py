"""The Chroma folder as files: who owns it, how it was left, and which files are the store's.

One owner at a time: an advisory lock on a file beside the folder, which the kernel releases when
its owner dies in any way, so that it is never stale. The lock file itself stays: if it were
removed, two processes could lock two files of the same name.
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
from enum import StrEnum
from hashlib import sha256
from pathlib import Path

from memento.base import layout
from memento.base.clock import in_name, system_clock
from memento.base.files import read_regular, sync, sync_folder
from memento.errors import StoreUnusable, TierUnavailable
from memento.ledger.schema import APPLICATION_ID

logger = logging.getLogger("memento.tiers")

CRC_BYTES = 64 * 1024
"""Files up to this size are also compared by CRC-32; reading more would slow a clean start."""
MAX_UNCLEAN = 2
"""Number of unclean ends in a row after which a folder is rebuilt without a probe: the probe may
have missed the fault that kills the host."""
MARK = "memento.json"
"""File that marks a Chroma folder as memento's; it outlives damage to Chroma's files."""
_OURS = b'{"made_by": "memento"}\n'
_LOCK = re.compile(rb"[0-9]{0,20}\n?")
"""Content of a lock file: a process id, perhaps cut off by a crash."""
_HEADER = struct.Struct(">16s52xI")
"""SQLite's header: the magic string, and the application's number at byte 68."""
_STAMP = layout.stamp_of(Path(layout.CHROMA)).name
_TOLD_BY = {
    layout.SNAPSHOT: re.compile(rb'"content": \{"revs": |"content_hash": "[0-9a-f]{32}"'),
    _STAMP: re.compile(rb'\{"identity": ?".+"unclean": ?\d', re.DOTALL),
}
"""Content that each of our files has, copied or damaged, and no other file has."""


class Taken(TierUnavailable):
    """The folder has another owner, which also indexes what this process adds; not a fault."""


class LongState(StrEnum):
    """Whether the long tier can be searched; ``LongTier.reason`` says why not."""

    COLD = "cold"
    """Not open: not needed yet, opening, closed, of another owner, or prevented for a while."""
    READY = "ready"
    """It answers from the rows written to it so far."""
    ASIDE = "aside"
    """Its index is damaged; the next ``open`` makes a new one, unless that happened too often."""


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
            StoreUnusable: If the file is no lock file of memento's; it is left as it is.
        """
        if self.held:
            return True
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        with contextlib.ExitStack() as unless_owned:
            fd = os.open(self._path, flags, 0o600)
            unless_owned.callback(os.close, fd)
            if not _is_lock(fd):
                problem = "is not a file of this store; rename, move or remove it"
                raise StoreUnusable(self._path, problem)
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
        assert self._fd is not None  # noqa: S101 - only its owner asks
        return self._fd

    def holder(self) -> str:
        """Describe the owner of the lock by the content of the file."""
        try:
            pid = read_regular(self._path, 32).decode("ascii").strip()
        except (OSError, UnicodeDecodeError):
            pid = ""
        if pid == str(os.getpid()):
            return "another memory of this process"
        return f"process {pid}" if pid.isdigit() else "another process"

    def release(self) -> None:
        """Release the lock. Harmless if not held."""
        if self._fd is not None:
            with contextlib.suppress(OSError):  # closing also releases the lock
                fcntl.flock(self._fd, fcntl.LOCK_UN)
            self.forget()

    def forget(self) -> None:
        """Close the descriptor, in a forked child: LOCK_UN would take the lock from its parent."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)


_locks: weakref.WeakSet[FolderLock] = weakref.WeakSet()


def _forget_all() -> None:
    for lock in list(_locks):
        lock.forget()


os.register_at_fork(after_in_child=_forget_all)


def _is_lock(fd: int) -> bool:
    regular = stat.S_ISREG(os.fstat(fd).st_mode)
    return regular and _LOCK.fullmatch(os.pread(fd, 32, 0)) is not None


# How the folder was left.


@dataclass(frozen=True, slots=True)
class Stamp:
    """The content of the file beside a Chroma folder."""

    identity: str
    """Name of the embedder whose vectors it holds."""
    mark: str
    """A random word, new at each open, that the ledger also stores: a copy of the folder from an
    earlier day has an earlier word, and another store's a foreign one."""
    left: str = ""
    """Its `sum_of` when it was closed in order; "" while it is open, or if it was not."""
    unclean: int = 0
    """Opens in a row without a clean end or a long time in use."""


def why_not(stamp: Stamp | None, there: str, identity: str, mark: str | None) -> str | None:
    """Return why a folder must be replaced without a check; None if it may be taken over. Pure.

    A folder not closed in order may be taken over after a check in a child process. ``there`` is
    its present `sum_of`, and ``mark`` the mark of the folder that the ledger fed last.
    """
    if not there:
        return "new" if stamp is None else "the folder is gone or empty"
    if stamp is None:
        return "its stamp is missing or unreadable"
    doubts = {
        f"holds vectors of {stamp.identity}": stamp.identity != identity,
        "a copy from another day, or another store's": stamp.mark != mark,
        "changed since it was closed": stamp.left not in {"", there},
        f"not closed properly ({stamp.unclean} times in a row)": stamp.unclean >= MAX_UNCLEAN,
    }
    return next((why for why, holds in doubts.items() if holds), None)


def sum_of(folder: Path, version: str) -> str:
    """Return a digest of the files of a folder and the version of Chroma; "" without files.

    Call it only while no Chroma client of this process has the folder open: closing a second
    descriptor of an SQLite file drops the locks that the client holds on it.
    """
    found = []
    for directory, _, names in os.walk(folder):
        for path in (Path(directory, name) for name in names):
            with contextlib.suppress(FileNotFoundError):  # a journal may vanish at any time
                info = path.stat(follow_symlinks=False)
                small = stat.S_ISREG(info.st_mode) and info.st_size <= CRC_BYTES
                crc = zlib.crc32(path.read_bytes()) if small else -1
                name = str(path.relative_to(folder))
                found.append((name, info.st_size, info.st_mtime_ns, crc))
    return sha256(repr([version, *sorted(found)]).encode()).hexdigest() if found else ""


def read_stamp(path: Path) -> Stamp | None:
    """Read a stamp; None if it is absent or garbled, `OSError` if it cannot be read."""
    try:
        told = json.loads(read_regular(path))
        return Stamp(
            str(told["identity"]), str(told["mark"]), str(told["left"]), int(told["unclean"])
        )
    except (FileNotFoundError, ValueError, TypeError, KeyError, RecursionError):
        return None


def write_stamp(path: Path, stamp: Stamp) -> None:
    """Replace a stamp atomically and durably; `OSError` if it cannot be written."""
    draft = path.with_name(f"{path.name}.tmp")
    _write_new(draft, json.dumps(asdict(stamp), separators=(",", ":")).encode())
    draft.replace(path)
    sync_folder(path.parent)


def _write_new(path: Path, data: bytes) -> None:
    path.unlink(missing_ok=True)  # left by a killed writer, or a link by another user
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        sync(file.fileno())


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


# Which files are the store's: others are never removed. All of these raise OSError if a file or
# folder cannot be read.


def mark(folder: Path) -> None:
    """Put memento's mark into a Chroma folder, durably, unless it is there."""
    if not _is_mark(folder / MARK):
        _write_new(folder / MARK, _OURS)


def _is_mark(path: Path) -> bool:
    try:
        return read_regular(path, len(_OURS) + 1) == _OURS
    except FileNotFoundError:
        return False


def set_aside(path: Path) -> None:
    """Rename a folder or file, if there is one, and drop what the store set aside before.

    Only folders that are the store's, see `is_ours`, are dropped.
    """
    if not os.path.lexists(path):
        return
    for old in path.parent.glob(f"{path.name}.bad-*"):
        if not (is_copy(old) and old.is_dir()):
            logger.warning("%s was not created by this store and was left alone", old)
            continue
        shutil.rmtree(old, ignore_errors=True)
        if old.exists():
            logger.warning("could not remove %s, which is no longer needed", old)
    path.rename(path.with_name(f"{path.name}.bad-{in_name(system_clock())}"))
    sync_folder(path.parent)


def is_ours(folder: Path) -> bool:
    """Return whether a Chroma folder has the store's mark, or is absent.

    An empty folder also counts, as it has nothing to lose.
    """
    if not folder.is_dir():
        return not os.path.lexists(folder)
    return _is_mark(folder / MARK) or not any(folder.iterdir())


def is_stamp(path: Path) -> bool:
    """Return whether a file is a stamp, damaged or not; an absent one counts as one."""
    try:
        return _is_told(_STAMP, read_regular(path))
    except FileNotFoundError:
        return True


def is_lock(path: Path) -> bool:
    """Return whether a file is memento's lock file, by its content; an absent one counts."""
    if path.is_symlink() or not path.is_file():
        return not os.path.lexists(path)
    return _LOCK.fullmatch(read_regular(path, 32)) is not None


def is_copy(path: Path) -> bool:
    """Return whether a path in the store's folder is a copy that the store set aside."""
    name = path.name
    if not layout.ASIDE.fullmatch(name) or layout.IN_USE.fullmatch(name) or path.is_symlink():
        return False
    if layout.UNFINISHED.fullmatch(name):
        return True
    if path.is_dir():
        return name.startswith(f"{layout.CHROMA}.bad-") and is_ours(path)
    if not path.is_file():
        return False
    if name.lstrip(".").startswith(f"{layout.LEDGER}."):
        return _is_ledger(path)
    told_by = [file for file in _TOLD_BY if name.lstrip(".").startswith(f"{file}.")]
    return bool(told_by) and _is_told(told_by[0], read_regular(path))


def _is_told(file: str, data: bytes) -> bool:
    """Return whether data is from the store's file of that name, even damaged, or only zeros."""
    return not data.strip(b"\0") or _TOLD_BY[file].search(data) is not None


def _is_ledger(path: Path) -> bool:
    """Return whether a file, or the file it belongs to, has the header of a ledger, or is empty."""
    for suffix in layout.BESIDE:
        path = path.with_name(path.name.removesuffix(suffix))
    if not path.is_file():
        return False
    head = read_regular(path, _HEADER.size)
    if len(head) < _HEADER.size:
        return not head
    return _HEADER.unpack(head) == (b"SQLite format 3\0", APPLICATION_ID)


def left_alone(root: Path) -> list[str]:
    """Return paths that are named like the store's files or copies, but are not the store's."""
    aside = [path for path in root.iterdir() if layout.ASIDE.fullmatch(path.name)]
    found = [p for p in aside if not layout.IN_USE.fullmatch(p.name) and not is_copy(p)]
    folder = root / layout.CHROMA
    proofs = {folder: is_ours, layout.stamp_of(folder): is_stamp, layout.lock_of(folder): is_lock}
    found += [path for path, proves in proofs.items() if not proves(path)]
    return sorted(path.name for path in found)
