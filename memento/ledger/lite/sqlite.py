"""Connections to the ledger file, and the translation of SQLite's errors into memento's."""

from __future__ import annotations

import errno
import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from secrets import token_hex
from typing import TypeVar
from urllib.parse import quote
from weakref import ref

from memento.base.files import explain_os
from memento.base.plain import composed
from memento.errors import (
    ReadOnlyStore,
    StorageFailed,
    StorageFull,
    StoreBusy,
    StoreClosed,
    StoreError,
    StoreUnusable,
)
from memento.ledger import erasure
from memento.ledger.contract import Moment
from memento.ledger.lite import gate
from memento.ledger.lite.fulltext import LiteWords
from memento.ledger.lite.library import Error, sqlite3

T = TypeVar("T")


class Connection(sqlite3.Connection):
    """A connection to the ledger file, which jobs get; see ``contract.Transaction``."""

    @cached_property
    def words(self) -> LiteWords:
        """The full text of this connection's ledger."""
        return LiteWords(self, self._looked)

    def cursor(self) -> sqlite3.Cursor:  # type: ignore[override]  # nobody wants another kind
        """Make a cursor; the driver makes one here for every statement."""
        made = super().cursor()
        self._cursors.append(ref(made))
        return made

    def ahead(self, *asks: object) -> None:
        """Do nothing: no message is saved here; see ``contract.Transaction``."""

    def end_job(self) -> None:
        """Close the cursors that a job left open, even if still referred to; harmless if repeated.

        An open ``SELECT`` keeps its snapshot: a reader would not see later commits, and a writer
        would be refused once another process has written.
        """
        while self._cursors:
            left = self._cursors.pop()()
            if left is not None:
                left.close()

    @cached_property
    def _cursors(self) -> list[ref[sqlite3.Cursor]]:
        return []

    @cached_property
    def _looked(self) -> dict[int, int]:
        return {}


_HIDE_ERASED = (
    "CREATE TEMP VIEW memories AS SELECT * FROM main.memories"
    " WHERE docid NOT IN (SELECT docid FROM main.erased)"
)


@dataclass(slots=True)
class Reader:
    """A reading connection, the thread it serves, and the lock held while it reads."""

    connection: Connection
    thread: threading.Thread
    number: int = field(default_factory=partial(next, itertools.count()))
    turn: threading.RLock = field(default_factory=threading.RLock)
    reading: bool = False
    hides_erased: bool = False

    def run(self, job: Callable[[Connection], T], *, hides_erased: bool) -> T:
        """Run a job in a transaction; ``hides_erased`` if the file has our tables."""
        connection = self.connection
        with self.turn:
            if self.reading:  # a signal handler that reads within a read shares its snapshot
                return job(connection)
            try:
                self.reading = True
                connection.commit()  # the end of the read before may have been interrupted
                connection.end_job()
                connection.execute("BEGIN")
                if hides_erased:
                    self._hide_erased()
                return job(connection)
            finally:
                self.reading = False
                connection.commit()  # in C, so that no interrupt comes between
                connection.end_job()

    def _hide_erased(self) -> None:
        """Hide erased memories while some are still being deleted."""
        execute = self.connection.execute
        wanted = execute(erasure.UNDER_WAY).fetchone() is not None
        if wanted == self.hides_erased:
            return
        execute("PRAGMA query_only=0")  # the view is in no file, but counts as writing
        try:
            execute(_HIDE_ERASED if wanted else "DROP VIEW temp.memories")
        finally:
            execute("PRAGMA query_only=1")
        self.hides_erased = wanted

    def moment(self, path: Path) -> Moment:
        """Return a value that differs after anything was written to the file at a path."""
        with self.turn, translated(path):
            (version,) = self.connection.execute("PRAGMA data_version").fetchone()
        return self.number, version


MOST_BYTES = 504
"""Maximum length of a path that SQLite opens: 512 bytes, less the ending of the journal beside
it."""
MMAP_BYTES = 256 * 1024 * 1024

_WRITER = ("synchronous=FULL", "fullfsync=1", "checkpoint_fullfsync=1")
"""The last two have an effect on macOS only; see ``base.files.sync``."""
_READER = ("query_only=ON", "cache_size=-16384")  # KiB

_SAYINGS: tuple[tuple[str, type[StoreError], str], ...] = (
    ("database or disk is full", StorageFull, "the disk is full; nothing was written"),
    ("disk i/o error", StorageFailed, "the disk reported an I/O error; nothing was written"),
    ("readonly database", ReadOnlyStore, "the store is read-only; nothing was written"),
    ("database is locked", StoreBusy, "another process is writing; try again"),
    (
        "not a database",
        StoreUnusable,
        "this file is not a memento ledger; if it was one, run `memento doctor --salvage`",
    ),
    ("malformed", StoreUnusable, "the ledger is damaged; run `memento doctor --salvage`"),
    ("unable to open", StoreUnusable, "the ledger cannot be opened"),
)

_VAGUE = frozenset({"disk i/o error", "unable to open"})
"""Messages that SQLite uses for many causes; the system has a more precise one."""
_PROBE_BYTES = 8 * 4096


def connect(
    path: Path, *, busy_seconds: float, writable: bool, immutable: bool = False, wal: bool = True
) -> Connection:
    """Open a connection that any one thread at a time may use.

    ``immutable`` is for a medium where not even the ``-shm`` file can be made. Without ``wal``, a
    file that nobody else has open needs no file beside it to be complete.
    """
    mode = "rw" if writable else "ro"
    suffix = "&immutable=1" if immutable else ""
    with translated(path):
        connection = sqlite3.connect(
            f"{uri_of(path)}?mode={mode}{suffix}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=busy_seconds,
            cached_statements=256,
            factory=Connection,
        )
        try:
            if writable and wal:
                _enter_wal(connection, busy_seconds)
            elif writable:
                connection.execute("PRAGMA journal_mode=DELETE")
            connection.create_function("composed", 1, _composed, deterministic=True)
            for pragma in (f"mmap_size={MMAP_BYTES}", *(_WRITER if writable else _READER)):
                connection.execute(f"PRAGMA {pragma}")
        except Error:
            connection.close()
            raise
    return connection


def _composed(text: bytes | None) -> bytes | None:
    """Return UTF-8 in composed form; other bytes are unchanged. See ``dialect.in_one_form``."""
    if text is None or text.isascii():
        return text
    return composed(text.decode(errors="surrogateescape")).encode(errors="surrogateescape")


def uri_of(path: Path) -> str:
    """Return the URI of a file for SQLite, for any bytes in its name; refuse a long path."""
    refuse_long(path)
    return f"file:{quote(os.fsencode(path.absolute()))}"


def refuse_long(path: Path, name: str = "") -> None:
    """Refuse a path that is too long for SQLite: a file, or the folder of a file ``name``."""
    spare = MOST_BYTES - len(os.fsencode(os.path.realpath(path / name)))
    if spare < 0:
        length = len(os.fsencode(os.path.realpath(path)))
        raise StoreUnusable(
            path,
            f"is too long: {length} bytes, and SQLite can open at most {length + spare} here; "
            "use a folder with a shorter path",
        )


def roll_back(path: Path, *, busy_seconds: float) -> None:
    """Undo a transaction that a crash interrupted before the file was in WAL mode."""
    with (
        translated(path),
        closing(sqlite3.connect(f"{uri_of(path)}?mode=rw", uri=True, timeout=busy_seconds)) as c,
    ):
        c.execute("SELECT count(*) FROM sqlite_master").fetchone()


def _enter_wal(connection: Connection, busy_seconds: float) -> None:
    """Put the file into WAL mode; SQLite itself does not wait for others that do the same."""
    deadline = time.monotonic() + busy_seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.005)
        else:
            return


def begin(connection: Connection, busy_seconds: float) -> None:
    """Begin to write; log it if a program that ignores the gate keeps us waiting for long."""
    first = min(gate.PATIENCE, busy_seconds)
    connection.execute(f"PRAGMA busy_timeout={round(first * 1000)}")
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise
        gate.tell(busy_seconds)
    finally:
        connection.execute(f"PRAGMA busy_timeout={round(busy_seconds * 1000)}")
    if not connection.in_transaction:
        connection.execute("BEGIN IMMEDIATE")


def explain(path: Path, error: sqlite3.Error | UnicodeDecodeError | MemoryError) -> StoreError:
    """Return the memento error for an error of SQLite about a file."""
    if isinstance(error, MemoryError):
        problem = "out of memory, or the ledger is damaged; run `memento doctor --salvage`"
        return StoreUnusable(path, problem)
    said = "malformed" if isinstance(error, UnicodeDecodeError) else str(error).lower()
    if "closed database" in said:
        return StoreClosed(path)
    for words, kind, problem in _SAYINGS:
        if words in said:
            return (words in _VAGUE and _refusal(path)) or kind(path, problem)
    return StoreError(path, f"SQLite error: {error}")


def _refusal(path: Path) -> StoreError | None:
    """Ask the system why nothing can be written beside a file; SQLite's message is vague."""
    log = path.with_name(f"{path.name}-wal")
    probe = path.with_name(f"probe.{token_hex(4)}.tmp")
    try:
        end = max(file.stat().st_size for file in (path, log) if file.exists())
        descriptor = os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        try:
            if os.pwrite(descriptor, bytes(_PROBE_BYTES), end) < _PROBE_BYTES:
                raise OSError(errno.ENOSPC, "not enough space for a few more pages")
        finally:
            os.close(descriptor)
            probe.unlink()
    except (OSError, ValueError) as error:  # ValueError: there is no file at all
        return explain_os(path, error) if isinstance(error, OSError) else None
    return None


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into memento's, with the path they concern."""
    try:
        yield
    except Error as error:
        raise explain(path, error) from error


def create_private(path: Path) -> None:
    """Create an empty file that only its owner can read, unless it exists; never through a link."""
    flags = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        if os.fstat(descriptor).st_size == 0:
            os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def quick_check(connection: Connection) -> list[str]:
    """Return what is wrong with the file's structure; the full text has a check of its own."""
    found = [str(line) for (line,) in connection.execute("PRAGMA quick_check(20)")]
    return [line for line in found if line != "ok" and "memories_fts" not in line]


WHOLE_PAGES = 8192
"""Maximum number of used pages (32 MiB) for which the file is rewritten at once, in about 0.3 s."""


def compact(connection: Connection) -> bool:
    """Rewrite a small file without deleted data, alone; return whether it was small."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    if pages - free > WHOLE_PAGES:
        return False
    connection.execute("VACUUM")
    return True


def fold_log(connection: Connection, seconds: float) -> bool:
    """Fold the whole log into the file and empty it; return False if others were in the way."""
    (before,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA busy_timeout={int(seconds * 1000)}")
    try:
        (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        connection.execute(f"PRAGMA busy_timeout={before}")
    return not busy
