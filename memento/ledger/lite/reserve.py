"""A little disk space that is reserved, and released when the disk is full.

Even reading needs some: SQLite makes the ``-shm`` file of a closed store again. And hiding or
erasing a memory, which people do when a disk is full, must be written like any other change.
`store.LiteLedger` releases it: when it is opened, and in `store.LiteLedger.write`, only for calls
with ``makes_room`` (hide) or ``frees_room`` (erase).
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
"""Number of reserved bytes. A reader takes 32 KiB, hiding a memory less than 100 KiB."""
SHARE = 16
"""At most one in this many free bytes is reserved: more would itself fill the disk."""
LEAST = SIZE // 2
"""Number of bytes below which a reserve serves only reading and erasing: hiding a memory takes up
to 100 KiB while it is written, and a few bytes for good; a reader takes 32 KiB, erasing none for
good."""

_MARK = b"memento keeps this room for a full disk\n"
_NOT_OURS = "is not a file of this store; rename, move or remove it"
_STRANGE = frozenset({errno.ELOOP, errno.EISDIR, errno.ENXIO})
"""Errors of opening a link, a folder or a pipe."""

_REFUSED = frozenset({
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM,
    errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EIO, errno.ENOENT,
})  # fmt: skip
"""Errors for which there is no reserve, without failing."""

log = logging.getLogger("memento.ledger.lite.reserve")


class Reserve:
    """A file that only takes up disk space. Any process may fill it or release it."""

    def __init__(self, root: Path) -> None:
        self._path = root / layout.RESERVE

    @property
    def kept(self) -> bool:
        """Whether the reserve holds at least `LEAST` bytes."""
        return self._size() >= LEAST

    @property
    def trouble(self) -> str:
        """Why there is no reserve; empty if there is one."""
        if os.path.lexists(self._path) and not is_ours(self._path):
            return f"{self._path} {_NOT_OURS}"
        return "" if self.kept else "the disk is nearly full: no space is reserved"

    def keep(self) -> None:
        """Reserve space if there is enough; a file of another program is left alone."""
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
        """Release the space; return how many bytes were released."""
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
            log.info("the reserve cannot be released: %s", error)
            return 0
        log.warning("%s: the disk is full; the reserve was released", self._path.parent)
        return size

    @contextmanager
    def lent(self, full: StorageFull) -> Iterator[None]:
        """Release the space for a block that met a full disk; afterwards reserve what it left."""
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
        """Return the size of the reserve, bytes; 0 if the path is no regular file."""
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
            os.write(descriptor, noise[: size - len(_MARK)])  # a partial write is useful too
        finally:
            os.close(descriptor)

    def _mark(self) -> None:
        """Make the file with only its mark, durably: it is known as ours after a power cut."""
        if os.path.lexists(self._path) and not is_ours(self._path):
            raise StoreUnusable(self._path, _NOT_OURS)
        try:
            remove_litter(self._path)
            write_atomically(self._path, _MARK)
        except StoreError as error:
            raise (error.__cause__ or error) from error.__cause__  # its errno decides, see `keep`

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
    """Return whether a file is a reserve that a store made: full, cut short or released."""
    try:
        with open_regular(path, follow=False) as file:
            return _made_by_us(file.read(SIZE))
    except OSError:
        return False


def _made_by_us(content: bytes) -> bool:
    """Return whether a content is a reserve: it begins with the mark, or is a part of it."""
    return content.startswith(_MARK[: len(content)])
