"""Whether the files that are open are still the ones at their paths.

SQLite goes on writing into a file that was removed, moved away or replaced, without an error: the
rows are in a file that nobody will open again. So the paths are checked after each commit, before
anything is acknowledged.

A ``stat`` takes four microseconds amid other work. So one ``stat`` of the folder does for all the
files in it: no name in it can change without its ctime, which nobody can set.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path

from memento.base.clock import system_clock, to_micros
from memento.base.files import explain_os
from memento.errors import StoreGone

LOG = ("-wal", "-shm")
"""Endings of the files that SQLite keeps beside a file open for writing; the same for all."""

SETTLED = 50_000_000
"""Nanoseconds after which another change of a folder is sure to give it another time; the clocks of
file systems tick every 1 to 10 milliseconds."""
TRUSTED = 1_000_000_000
"""Maximum number of nanoseconds between two checks of the files: a mount could hide some."""
_COARSE = 1_000_000
"""Nanoseconds: where times are whole milliseconds or seconds, an unchanged one proves nothing."""

_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


class Presence:
    """Remembers which files are at a path and ``beside`` it, and checks that they still are."""

    def __init__(self, path: Path, *, beside: tuple[str, ...] = ()) -> None:
        self._path = path
        real = Path(os.path.realpath(path)) if beside else path  # SQLite's own lie beside that
        logs = [real.with_name(real.name + suffix) for suffix in beside]
        self._files = [(one, *self._look(one)) for one in map(os.fsencode, (path, *logs))]
        alone = os.name != "posix" or path.is_symlink()  # its own folder does not change with it
        self._folder = None if alone else os.fsencode(path.parent)
        self._seen: tuple[int, int, int] | None = None
        self._until = 0

    def check(self) -> None:
        """Look again; raise ``StoreGone`` if a file was removed, moved or replaced."""
        if self._folder is None:
            self._check_files()
            return
        try:
            found = os.stat(self._folder)  # noqa: PTH116 - a Path costs more than the look
        except OSError as error:
            self._check_files()  # says which of them cannot be reached
            raise explain_os(self._path, error) from error
        seen = (found.st_ino, found.st_dev, found.st_ctime_ns)
        if seen == self._seen and time.monotonic_ns() < self._until:
            return
        self._seen = None
        self._check_files()
        age = to_micros(system_clock()) * 1_000 - found.st_ctime_ns
        if age > SETTLED and found.st_ctime_ns % _COARSE:
            self._until = time.monotonic_ns() + TRUSTED
            self._seen = seen

    def _check_files(self) -> None:
        for path, device, number in self._files:
            if self._look(path) != (device, number):
                raise self._gone(path, "replaced by another file")

    def _look(self, path: bytes) -> tuple[int, int]:
        """Return what identifies the file at a path: device and inode."""
        try:
            found = os.stat(path)  # noqa: PTH116 - as in ``check``
        except OSError as error:
            if error.errno in _ABSENT:
                raise self._gone(path, "removed or moved away") from error
            raise explain_os(self._path, error) from error
        return found.st_dev, found.st_ino

    def _gone(self, path: bytes, happened: str) -> StoreGone:
        name = Path(os.fsdecode(path)).name
        return StoreGone(self._path.parent, f"{name} was {happened}")


_OPEN = Path("/dev/fd")
_ASK = getattr(fcntl, "F_OFD_GETLK", None) if sys.platform == "linux" else None
_FLOCK = "@hhqqi0q"
"""``struct flock`` of Linux: type, whence, start, length, process."""
_SHARED_FIRST, _SHARED_SIZE = 0x40000002, 510
"""The bytes that SQLite locks in a file that it has open. Source: os.h of SQLite."""
_IN_USE = 128
"""The byte that it locks in the index of a log that it uses. Source: os_unix.c of SQLite."""


def lost(path: Path) -> bool:
    """Return whether the lock is lost that SQLite keeps on a file which this process has open.

    It uses SQLite's own descriptor: closing another one would drop the locks. False while another
    process has the file open, or where the system cannot tell.
    """
    asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, _SHARED_FIRST, _SHARED_SIZE, 0)
    try:
        descriptor = _descriptor_of(path)
        if _ASK is None or descriptor is None:
            return False
        answer = fcntl.fcntl(descriptor, _ASK, asked)
    except OSError:
        return False
    return bool(struct.unpack(_FLOCK, answer)[0] == fcntl.F_UNLCK)


def is_open(path: Path) -> bool:
    """Return whether this process has a file open; False where the system cannot tell."""
    try:
        return _descriptor_of(path) is not None
    except OSError:
        return False


def take(path: Path) -> None:
    """Take, in a forked child, the locks that SQLite believes it has; then check the files."""
    log = path.with_name(f"{path.name}-shm")
    for file, first, size in ((path, _SHARED_FIRST, _SHARED_SIZE), (log, _IN_USE, 1)):
        with suppress(OSError):  # removed, or just being closed by the parent: the check tells
            if (descriptor := _descriptor_of(file)) is not None:
                fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB, size, first)


def _descriptor_of(path: Path) -> int | None:
    """Return an open descriptor of a file, if this process has one."""
    wanted = path.stat()
    for name in os.listdir(_OPEN):  # noqa: PTH208 - the names alone
        try:
            if os.path.samestat(os.fstat(int(name)), wanted):
                return int(name)
        except OSError:  # it was the one that lists the folder
            continue
    return None
