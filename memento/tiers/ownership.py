"""Give a folder one owner at a time: an advisory lock on a file beside it.

The kernel releases the lock when its owner dies in any way, so it is never stale. The file itself
stays: if it were removed, two processes could lock two files of the same name.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import weakref
from typing import TYPE_CHECKING

from memento.errors import StoreUnusable, TierUnavailable
from memento.ledger.files import read_regular

if TYPE_CHECKING:
    from pathlib import Path

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
        lock._forget()  # noqa: SLF001 -- our own class


os.register_at_fork(after_in_child=_forget_all)
