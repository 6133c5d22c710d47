"""A little room kept aside, to be given back when the disk is full.

Even reading needs some: SQLite makes the ``-shm`` file of a closed store again. And hiding or
erasing a memory, which a full disk invites, must be written like any other change.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memento.base import layout
from memento.base.files import explain_os, open_regular, remove_litter, sync, write_atomically
from memento.errors import StorageFull, StoreError, StoreUnusable

SIZE = 1024 * 1024
"""Bytes kept aside. A reader takes 32 KiB, hiding a memory less than 100 KiB."""
SHARE = 16
"""One in so many free bytes may be taken aside: more would itself fill the disk."""
LEAST = SIZE // 2
"""Bytes below which a reserve is for reading and erasing alone: hiding a memory takes up to 100 KiB
while it is written, and a few for good; a reader takes 32 KiB, erasing none for good."""

_MARK = b"memento keeps this room for a full disk\n"
_NOT_OURS = "is not a file of this store; give it another name or place, or remove it"
_STRANGE = frozenset({errno.ELOOP, errno.EISDIR, errno.ENXIO})
"""Errors of opening a link, a folder or a pipe."""

_REFUSED = frozenset({
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM,
    errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EIO, errno.ENOENT,
})  # fmt: skip
"""Why it may be impossible to keep something aside; no reason to fail."""

log = logging.getLogger("memento.ledger.lite.reserve")


class Reserve:
    """A file that does nothing but take room. Any process may fill it or give it back."""

    def __init__(self, root: Path) -> None:
        self._path = root / layout.RESERVE

    @property
    def kept(self) -> bool:
        """Whether there is anything to give back."""
        return self._size() >= LEAST

    @property
    def trouble(self) -> str:
        """Why there is nothing to give back; empty if there is."""
        if os.path.lexists(self._path) and not is_ours(self._path):
            return f"{self._path} {_NOT_OURS}"
        return "" if self.kept else "the disk is nearly full: no room is kept aside"

    def keep(self) -> None:
        """Take room aside if there is enough; a file of somebody else is left alone."""
        if self.kept:
            return
        try:
            free = os.statvfs(self._path.parent)
            size = min(SIZE, free.f_bavail * free.f_frsize // SHARE)
            if size >= LEAST:
                self._fill(size)
        except StoreUnusable as error:
            log.warning("no reserve for a full disk: %s", error)
        except OSError as error:
            if error.errno not in _REFUSED:
                raise explain_os(self._path, error) from error
            log.info("no reserve for a full disk: %s", error)

    def give_back(self) -> int:
        """Free the room; returns how many bytes that were, 0 if there were none."""
        size = self._size()
        if size <= len(_MARK):
            return 0
        try:
            descriptor = self._open()
            try:
                os.ftruncate(descriptor, len(_MARK))
                sync(descriptor)  # file systems free blocks when the change is on the disk
            finally:
                os.close(descriptor)
        except (OSError, StoreUnusable) as error:
            log.info("the reserve cannot be given back: %s", error)
            return 0
        log.warning("%s: the disk is full; the reserve was given back", self._path.parent)
        return size

    @contextmanager
    def lent(self, full: StorageFull) -> Iterator[None]:
        """Free the room for a block that met a full disk; keep aside again what it left of it."""
        size = self.give_back()
        if not size:
            raise full
        try:
            yield
        finally:
            with suppress(OSError, StoreUnusable):
                free = os.statvfs(self._path.parent)
                self._fill(min(size, free.f_bavail * free.f_frsize))

    def _size(self) -> int:
        """Return how much is taken; nothing where another kind of file stands."""
        try:
            found = self._path.lstat()
        except OSError:
            return 0
        return found.st_size if stat.S_ISREG(found.st_mode) else 0

    def _fill(self, size: int) -> None:
        if not self._size():
            self._mark()
        descriptor = self._open()
        try:
            os.lseek(descriptor, len(_MARK), os.SEEK_SET)
            noise = os.urandom(SIZE // 8) * 8  # zeros might be compressed away
            os.write(descriptor, noise[: size - len(_MARK)])  # a part of it is of use as well
        finally:
            os.close(descriptor)

    def _mark(self) -> None:
        """Make the file with its mark alone, durably: after a power cut it is known as ours."""
        if os.path.lexists(self._path) and not is_ours(self._path):
            raise StoreUnusable(self._path, _NOT_OURS)
        try:
            remove_litter(self._path)
            write_atomically(self._path, _MARK)
        except StoreError as error:
            raise (error.__cause__ or error) from error.__cause__  # its number decides, see `keep`

    def _open(self) -> int:
        """Open the file for writing; refuse one that is not the store's own."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            descriptor = os.open(self._path, flags, 0o600)
        except OSError as error:
            if error.errno not in _STRANGE:
                raise
            raise StoreUnusable(self._path, _NOT_OURS) from error
        if stat.S_ISREG(os.fstat(descriptor).st_mode) and _made_by_us(os.read(descriptor, SIZE)):
            os.lseek(descriptor, 0, os.SEEK_SET)
            return descriptor
        os.close(descriptor)
        raise StoreUnusable(self._path, _NOT_OURS)


def is_ours(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a reserve that a store made, full, cut off or given back."""
    try:
        with open_regular(path, follow=False) as file:
            return _made_by_us(file.read(SIZE))
    except OSError:
        return False


def _made_by_us(content: bytes) -> bool:
    """Tell a reserve, which begins with the mark as far as it goes, from any other file."""
    return content.startswith(_MARK[: len(content)])
