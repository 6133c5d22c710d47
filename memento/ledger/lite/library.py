"""The SQLite library in use.

Prefers the ``pysqlite3`` wheel: system SQLite from 3.7.0 to 3.51.2 can lose a WAL reset race
between several processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
else:
    try:
        import pysqlite3 as sqlite3
    except ImportError:
        import sqlite3

__all__ = ["DatabaseError", "Error", "library_version", "open_in_memory", "said", "sqlite3"]

Error = (sqlite3.Error, UnicodeDecodeError, MemoryError)
"""Errors of SQLite. Over damaged bytes it may also quote text that is not UTF-8, or ask for more
memory than there is."""
DatabaseError = sqlite3.DatabaseError

SAFE_VERSION = (3, 51, 3)
"""First SQLite release without the WAL-reset race. Source: sqlite.org/wal.html."""


def library_version() -> tuple[int, ...]:
    """Return the version of the SQLite library in use, such as ``(3, 53, 4)``."""
    return tuple(int(part) for part in sqlite3.sqlite_version.split("."))


def open_in_memory() -> sqlite3.Connection:
    """Open a database in RAM that any one thread at a time may use."""
    return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)


def said() -> str:
    """Return the version of the library in words, with any warning there is about it."""
    version = library_version()
    name = f"SQLite {'.'.join(map(str, version))}"
    if version >= SAFE_VERSION:
        return name
    warning = (
        "has a race condition between processes; `pip install pysqlite3` installs a newer version"
    )
    return f"{name} {warning}"
