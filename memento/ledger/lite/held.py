"""Whether other processes can see that this one has the ledger open.

A process loses all its POSIX locks on a file when *any* part of it closes the file: another SQLite
library, such as Python's own ``sqlite3`` beside ``pysqlite3``, or code that copies it. SQLite does
not notice. The next process that closes the store then takes itself for the last one, and removes
the log.

A forked child has none of them from the start, and the SQLite in it believes that it has: it counts
the connections that it was born with. So the child takes them itself.

Source: sqlite.org/howtocorrupt.html, 2.2 and 2.6.
"""

from __future__ import annotations

import fcntl
import os
import struct
from contextlib import suppress
from pathlib import Path

_OPEN = Path("/dev/fd")
_ASK = getattr(fcntl, "F_OFD_GETLK", None)
_FLOCK = "@hhqqi0q"
"""``struct flock`` of Linux: type, whence, start, length, process."""
_SHARED_FIRST, _SHARED_SIZE = 0x40000002, 510
"""The bytes that SQLite locks in a file that it has open. Source: os.h of SQLite."""
_IN_USE = 128
"""The byte that it locks in the index of a log that it uses. Source: os_unix.c of SQLite."""


def lost(path: Path) -> bool:
    """Tell whether nobody has the lock that SQLite keeps on a file which this process has open.

    It asks by a descriptor of SQLite's own, because closing another one would drop the locks. While
    another process has the file open, or where the system cannot say, the answer is False.
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
    """Tell whether this process has a file open; False where the system cannot say."""
    try:
        return _descriptor_of(path) is not None
    except OSError:
        return False


def take(path: Path) -> None:
    """Take, in a forked child, the locks that SQLite believes this process has.

    Until the child ends, no other process takes itself for the last one to close the store. That
    the files are still the parent's is to be checked after this.
    """
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
