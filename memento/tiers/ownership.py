"""Give a folder one owner at a time: an advisory lock on a file beside it.

The kernel releases the lock when its owner dies in any way, so it is never stale. The file itself
stays: if it were removed, two processes could lock two files of the same name.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


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
        """
        if self.held:
            return True
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        except BlockingIOError:
            os.close(fd)
            return False
        except OSError:
            os.close(fd)
            raise
        self._fd = fd
        return True

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
            pid = self._path.read_text("ascii").strip()
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
        lock._forget()  # noqa: SLF001 -- our own class


os.register_at_fork(after_in_child=_forget_all)
