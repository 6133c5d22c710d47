"""A little room kept aside, to be given back when the disk is full.

Even reading needs some: SQLite makes the ``-shm`` file of a closed store anew. And hiding or
erasing a memory, which a full disk invites, must be written like any other change.
"""

from __future__ import annotations

import errno
import logging
import os
from pathlib import Path

FILE_NAME = "reserve"
SIZE = 1024 * 1024
"""Bytes kept aside. A reader takes 32 KiB, hiding a memory less than 100 KiB."""
LEAST_FREE = 16 * SIZE
"""Free bytes below which no more is taken aside: it would itself fill the disk."""

_REFUSED = frozenset({
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM,
    errno.EINVAL, errno.EOPNOTSUPP, errno.EIO, errno.ENOENT,
})  # fmt: skip
"""Why it may be impossible to keep something aside; no reason to fail."""

log = logging.getLogger("memento.ledger.reserve")


class Reserve:
    """A file that does nothing but take room. Any process may fill it or give it back.

    Args:
        root: Folder of the store.
    """

    def __init__(self, root: Path) -> None:
        self._path = root / FILE_NAME

    @property
    def kept(self) -> bool:
        """Whether there is anything to give back."""
        try:
            return self._path.stat().st_size >= SIZE
        except OSError:
            return False

    def keep(self) -> None:
        """Take room aside, if there is enough left and it was not taken yet."""
        if self.kept:
            return
        try:
            free = os.statvfs(self._path.parent)
            if free.f_bavail * free.f_frsize >= LEAST_FREE:
                self._fill()
        except OSError as error:
            if error.errno not in _REFUSED:
                raise
            log.info("no reserve for a full disk: %s", error)

    def give_back(self) -> bool:
        """Free the room; False if there was none."""
        if not self.kept:
            return False
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            os.ftruncate(descriptor, 0)
            os.fsync(descriptor)  # file systems free blocks when the change is on the disk
        except OSError as error:
            log.info("the reserve cannot be given back: %s", error)
            return False
        finally:
            os.close(descriptor)
        log.warning("%s: the disk is full; the reserve was given back", self._path.parent)
        return True

    def _fill(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._path, flags, 0o600)
        try:
            noise = os.urandom(SIZE // 8) * 8  # zeros might be compressed away
            if os.write(descriptor, noise) < SIZE:
                os.ftruncate(descriptor, 0)
        except OSError:
            os.ftruncate(descriptor, 0)
            raise
        finally:
            os.close(descriptor)
