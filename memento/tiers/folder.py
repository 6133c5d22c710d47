"""Give a folder one owner at a time: an advisory lock on a file beside it.

The kernel releases the lock when its owner dies in any way, so it is never stale. The file itself
stays: if it were removed, two processes could lock two files of the same name.
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
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memento.base import layout
from memento.base.clock import in_name, system_clock
from memento.base.files import read_regular, sync_folder
from memento.errors import StoreUnusable, TierUnavailable
from memento.ledger.schema import APPLICATION_ID

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


_CONTENT = re.compile(rb"[0-9]{0,20}\n?")
"""Content of a lock file: a process id, perhaps cut off by a crash."""


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
        """Try to become the owner, without waiting.

        Returns:
            True if owned now (or before); False if it has another owner.

        Raises:
            OSError: If the file cannot be created, or the file system does not support locks.
            StoreUnusable: If the file holds something that no lock file of memento's does; it is
                left as it is.
        """
        if self.held:
            return True
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        fd = os.open(self._path, flags, 0o600)
        try:
            self._refuse_others(fd)
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError:
            os.close(fd)
            return False
        except (OSError, StoreUnusable):
            os.close(fd)
            raise
        self._fd = fd
        return True

    def _refuse_others(self, fd: int) -> None:
        if not _is_lock(fd):
            raise StoreUnusable(
                self._path,
                "is not a file of this store; give it another name or place, or remove it",
            )

    def fileno(self) -> int:
        """Return the descriptor, for a child process that keeps the lock while it lives.

        Raises:
            ValueError: If the lock is not held.
        """
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


def is_lock(path: Path) -> bool:
    """Tell whether a file is a lock file of memento's, by its content; an absent one counts as one.

    Raises:
        OSError: If it cannot be read.
    """
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


def _is_lock(fd: int) -> bool:
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        return False
    return _CONTENT.fullmatch(os.pread(fd, 32, 0)) is not None


_locks: weakref.WeakSet[FolderLock] = weakref.WeakSet()


def _forget_all() -> None:
    for lock in list(_locks):
        lock._forget()


os.register_at_fork(after_in_child=_forget_all)


logger = logging.getLogger("memento.tiers")

FORMAT = 2
"""Version of memento's layout of a Chroma folder; a folder with another one is rebuilt."""

CRC_BYTES = 64 * 1024
"""Files up to this size are also compared by CRC-32; reading more would slow a clean start."""

MAX_UNCLEAN = 2
"""Number of unclean ends in a row after which a folder is rebuilt without a probe: the probe may
have missed the fault that kills the host."""

Facts = tuple[int, int, int | None]
"""Size in bytes, modification time in ns, CRC-32 (small files only)."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """The facts about a Chroma folder when it was last opened or closed.

    Attributes:
        identity: Name of the embedder whose vectors it holds.
        dim: Length of those vectors.
        chroma: Version of chromadb that wrote it.
        clean: Whether it was closed in order; `files` and `rows` are known only then.
        unclean: Opens in a row without a clean end or a long service, >= 0.
        mark: A random word, new at each open, that the ledger also stores: a copy of the folder
            from an earlier day has an earlier word.
        files: Path inside the folder to its facts.
        rows: Collection name to its number of rows.
        format: Layout version.
    """

    identity: str
    dim: int
    chroma: str
    clean: bool = False
    unclean: int = 0
    mark: str = ""
    files: Mapping[str, Facts] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    format: int = FORMAT


class StampUnreadable(ValueError):
    """The file exists but is not a stamp."""


class Trust(StrEnum):
    """What is done with a Chroma folder before anything opens it."""

    ANEW = "anew"
    """Set aside what is there, and rebuild: it is not ours, or it may have killed its owners."""
    CHECK = "check"
    """Ours, but not closed in order, or changed since: look at it in a child process."""
    OPEN = "open"
    """Ours and unchanged."""


def judge(
    stamp: Stamp | StampUnreadable | None,
    files: Mapping[str, Facts],
    expected: Stamp,
    marks: Collection[str],
) -> tuple[Trust, str]:
    """Decide how far to trust a folder. Pure.

    Args:
        stamp: The stamp; an error if unreadable, None if missing.
        files: The files that exist now.
        expected: A stamp with the identity, dimension and Chroma version in use.
        marks: The marks of the folder that the ledger fed last.

    Returns:
        The trust and the reason as a sentence.
    """
    if not files:
        return Trust.ANEW, "new" if stamp is None else "the folder is gone or empty"
    if not isinstance(stamp, Stamp):
        return Trust.ANEW, "its stamp is missing" if stamp is None else str(stamp)
    if foreign := _why_foreign(stamp, expected, marks):
        return Trust.ANEW, foreign
    if not stamp.clean:
        trust = Trust.ANEW if stamp.unclean >= MAX_UNCLEAN else Trust.CHECK
        return trust, f"not closed in order ({stamp.unclean} times in a row)"
    if suspect := _why_suspect(stamp, files, expected):
        return Trust.CHECK, suspect
    return Trust.OPEN, "as it was left"


def _why_foreign(stamp: Stamp, expected: Stamp, marks: Collection[str]) -> str | None:
    if stamp.format != expected.format:
        return f"written in layout {stamp.format}, not {expected.format}"
    if (stamp.identity, stamp.dim) != (expected.identity, expected.dim):
        return f"holds vectors of {stamp.identity} ({stamp.dim} dimensions)"
    if stamp.mark not in marks:
        return "a copy from another day, or another store's"
    return None


def _why_suspect(stamp: Stamp, files: Mapping[str, Facts], expected: Stamp) -> str | None:
    if stamp.chroma != expected.chroma:
        return f"written by chromadb {stamp.chroma}, now {expected.chroma}"
    names = files.keys() | stamp.files.keys()
    changed = sorted(name for name in names if files.get(name) != stamp.files.get(name))
    return f"changed since it was closed: {', '.join(changed[:5])}" if changed else None


def manifest(folder: Path) -> dict[str, Facts]:
    """List every file in a folder with its facts; empty if there is no folder.

    Call it only while no Chroma client of this process has the folder open: closing a second
    descriptor of an SQLite file drops the locks that the client holds on it.
    """
    found = {}
    for directory, _, names in os.walk(folder):
        for name in names:
            path = Path(directory, name)
            with contextlib.suppress(FileNotFoundError):  # a journal may vanish at any time
                found[str(path.relative_to(folder))] = _facts(path)
    return found


def _facts(path: Path) -> Facts:
    info = path.stat(follow_symlinks=False)
    small = info.st_size <= CRC_BYTES and path.is_file() and not path.is_symlink()
    return info.st_size, info.st_mtime_ns, zlib.crc32(path.read_bytes()) if small else None


def read_stamp(path: Path) -> Stamp | StampUnreadable | None:
    """Read a stamp; an unreadable one is returned as the error, an absent one as None.

    Raises:
        OSError: If the file is there and cannot be read.
    """
    try:
        return _parse(json.loads(read_regular(path)))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        return StampUnreadable(f"its stamp is unreadable ({type(error).__name__})")


def _parse(data: dict[str, Any]) -> Stamp:
    return Stamp(
        identity=str(data["identity"]),
        dim=int(data["dim"]),
        chroma=str(data["chroma"]),
        clean=data["clean"] is True,
        unclean=int(data["unclean"]),
        mark=str(data["mark"]),
        files={name: (int(s), int(m), c) for name, (s, m, c) in data["files"].items()},
        rows={name: int(rows) for name, rows in data["rows"].items()},
        format=int(data["format"]),
    )


def write_stamp(path: Path, stamp: Stamp, *, durable: bool = True) -> None:
    """Replace a stamp atomically: a reader sees the old or the new one, never a part.

    Args:
        path: The stamp file.
        stamp: The stamp to write.
        durable: Whether it must survive a power cut from now on.

    Raises:
        OSError: If it cannot be written.
    """
    draft = path.with_name(f"{path.name}.tmp")
    draft.unlink(missing_ok=True)  # left by a killed writer, or a link that another user put there
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(draft, flags, 0o600)
    with os.fdopen(fd, "wb") as file:
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
    """Put memento's mark into a Chroma folder, durably; does nothing if it bears it.

    Raises:
        OSError: If it cannot be written.
    """
    path = folder / MARK
    if _is_mark(path):
        return
    path.unlink(missing_ok=True)  # cut off by a crash
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(_OURS)
        file.flush()
        os.fsync(file.fileno())


def bears_mark(folder: Path) -> bool:
    """Tell whether memento made a Chroma folder, or adopted it; an empty one has nothing to lose.

    Raises:
        OSError: If it cannot be looked into.
    """
    return folder.is_dir() and (_is_mark(folder / MARK) or not any(folder.iterdir()))


def _is_mark(path: Path) -> bool:
    try:
        return read_regular(path, len(_OURS) + 1) == _OURS
    except FileNotFoundError:
        return False


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
        _drop(old)
    when = system_clock() if now is None else now
    target = path.with_name(f"{path.name}.bad-{in_name(when)}")
    path.rename(target)
    sync_folder(path.parent)
    return target


def _drop(old: Path) -> None:
    if not (is_copy(old) and old.is_dir()):
        logger.warning("%s does not bear the mark of a store; it is left alone", old)
        return
    shutil.rmtree(old, ignore_errors=True)
    if old.exists():
        logger.warning("could not remove %s, which is no longer needed", old)


def is_ours(folder: Path) -> bool:
    """Tell whether the Chroma folder at the place of the store's is the store's, or is absent.

    Raises:
        OSError: If it cannot be looked into.
    """
    return not os.path.lexists(folder) or bears_mark(folder)


def is_copy(path: Path) -> bool:
    """Tell whether a file or folder of the store's folder is a copy that the store set aside.

    Raises:
        OSError: If it cannot be read.
    """
    name = path.name
    if not layout.ASIDE.fullmatch(name) or layout.IN_USE.fullmatch(name) or path.is_symlink():
        return False
    if layout.UNFINISHED.fullmatch(name):
        return True
    if path.is_dir():
        return name.startswith(f"{layout.CHROMA}.bad-") and bears_mark(path)
    return path.is_file() and _holds_ours(path)


def _holds_ours(path: Path) -> bool:
    name = path.name.lstrip(".")
    if name.startswith(f"{layout.LEDGER}."):
        return _is_ledger(path)
    for file in _TOLD_BY:
        if name.startswith(f"{file}."):
            return _is_told(file, read_regular(path))
    return False


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
    """Name what has a name of the store's or of its copies, and does not prove to be the store's.

    Raises:
        OSError: If the folder cannot be looked into.
    """
    aside = [path for path in root.iterdir() if layout.ASIDE.fullmatch(path.name)]
    found = [p for p in aside if not layout.IN_USE.fullmatch(p.name) and not is_copy(p)]
    folder = root / layout.CHROMA
    stamp = layout.stamp_of(folder)
    told = read_stamp(stamp)
    if not is_ours(folder):
        found.append(folder)
    if isinstance(told, StampUnreadable) and not is_stamp(stamp):
        found.append(stamp)
    if not is_lock(lock := layout.lock_of(folder)):
        found.append(lock)
    return sorted(path.name for path in found)


def is_stamp(path: Path) -> bool:
    """Tell whether a file is a stamp, damaged or not; an absent one counts as one.

    Raises:
        OSError: If it cannot be read.
    """
    try:
        data = read_regular(path)
    except FileNotFoundError:
        return True
    return _is_told(_STAMP, data)
