"""The ledger as the rest of memento sees it: one file, one writer, a reader for each thread."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from memento.errors import ReadOnlyStore, StorageFull, StoreBusy, StoreClosed, StoreUnusable
from memento.ledger import namespaces, schema
from memento.ledger.files import sync_name
from memento.ledger.gate import Gate
from memento.ledger.mounts import refuse_network
from memento.ledger.reserve import Reserve
from memento.ledger.sqlite import (
    Connection,
    Error,
    connect,
    create_private,
    explain,
    explain_os,
    roll_back,
    translated,
)
from memento.ledger.writer import Writer

T = TypeVar("T")

FILE_NAME = "ledger.db"
BUSY_SECONDS = 30.0
"""How long a write waits for another process before StoreBusy; writes take milliseconds."""
WAL_PAGES = 8192
"""A writer folds the log into the file by itself only past this many pages (32 MiB); the
background thread does it much earlier, so that no ``add`` pays for it."""


class Ledger:
    """Opens, reads and writes the one file that holds every memory.

    Safe from any thread. In a forked child it opens its own connections on first use.

    Args:
        root: Folder of the store; made with mode 0700 if absent.
        allow_network: Whether it may lie on a network file system.

    Raises:
        StoreUnusable: If the root is no folder or on a network, or the file is not a ledger or is
            damaged.
        StoreFromTheFuture: If a newer memento wrote it.
    """

    def __init__(self, root: Path, *, allow_network: bool = False) -> None:
        self.root = _absolute(root)
        if not allow_network:
            refuse_network(self.root)
        self.path = self.root / FILE_NAME
        self.read_only = False
        self._reserve = Reserve(self.root)
        self._full: StorageFull | None = None
        self._retired: list[_Reader] = []
        self._immutable = False
        self._closed = False
        self._lock = threading.Lock()
        self._reopening = threading.Lock()
        self._namespaces: dict[tuple[str, ...], int] = {}
        self._readers: list[_Reader] = []
        self._writing: Writer | None = None
        self._local = threading.local()
        try:
            self._open()
        except BaseException:
            self.close()
            raise
        _opened.add(self)

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._closed

    def write(self, job: Callable[[Connection], T], *, makes_room: bool = False) -> T:
        """Run a job in one durable transaction; see ``Writer.run``.

        Args:
            job: What to do; it may be called a second time if the first time was undone.
            makes_room: Whether it hides or removes something. On a full disk the reserve is
                given back for that.

        Raises:
            StoreClosed: After ``close``.
            ReadOnlyStore: If the root cannot be written.
            StorageFull: If there is no room for it.
        """
        self._check_open()
        if self.read_only:
            self._open_again()
        try:
            return self._writer().run(job)
        except StorageFull:
            if not makes_room or not self._reserve.give_back():
                raise
            return self._writer().run(job)

    def alone(self, job: Callable[[Connection], T]) -> T:
        """Run a job that cannot be in a transaction; see ``Writer.alone``.

        Raises:
            StoreClosed: After ``close``.
            ReadOnlyStore: If the root cannot be written.
        """
        self._check_open()
        if self.read_only:
            raise ReadOnlyStore(self.root, "the store is read-only; nothing was written")
        return self._writer().alone(job)

    def read(self, job: Callable[[Connection], T]) -> T:
        """Run a job on this thread's reading connection, in one snapshot.

        Raises:
            StoreClosed: After ``close``.
            StoreUnusable: If the file is damaged where the job reads.
        """
        self._check_open()
        reader = self._reader()
        connection = reader.connection
        with reader.turn:
            try:
                connection.execute("BEGIN")
                try:
                    return job(connection)
                finally:
                    if connection.in_transaction:  # SQLite ends it itself on some I/O errors
                        connection.execute("COMMIT")
            except Error as error:
                raise explain(self.path, error) from error

    def find_namespace(self, labels: tuple[str, ...]) -> int | None:
        """Return the number of a namespace, or None if nothing was ever stored in it."""
        number = self._namespaces.get(labels)
        if number is None:
            number = self.read(lambda connection: namespaces.find(connection, labels))
            if number is not None:
                self._namespaces[labels] = number
        return number

    def namespace(self, labels: tuple[str, ...]) -> int:
        """Return the number of a namespace, giving it one if it is new."""
        number = self.find_namespace(labels)
        if number is None:
            number = self._namespaces[labels] = self.write(lambda c: namespaces.number(c, labels))
        return number

    def labels(self, ns: int) -> tuple[str, ...]:
        """Return the labels of a namespace number."""
        return self.read(lambda connection: namespaces.labels_of(connection, ns))

    def data_version(self) -> int:
        """Return a number that changes when another connection has written."""
        self._check_open()
        reader = self._reader()
        with reader.turn, translated(self.path):
            (version,) = reader.connection.execute("PRAGMA data_version").fetchone()
        return int(version)

    def checkpoint(self) -> None:
        """Fold the write-ahead log into the file."""
        if not self.read_only and not self._closed:
            self._writer().checkpoint()

    @property
    def reserve_kept(self) -> bool:
        """Whether there is room aside for a full disk."""
        return self._reserve.kept

    def keep_reserve(self) -> None:
        """Take room aside for a full disk, unless that was done or there is too little."""
        if not self.read_only:
            self._reserve.keep()

    def wal_bytes(self) -> int:
        """Return the size of the write-ahead log, bytes."""
        try:
            return self.path.with_name(f"{FILE_NAME}-wal").stat().st_size
        except FileNotFoundError:
            return 0

    def close(self) -> None:
        """Close every connection, after the reads and writes in hand. Idempotent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            readers, self._readers = [*self._readers, *self._retired], []
            writer, self._writing = self._writing, None
        for reader in readers:
            with reader.turn:
                reader.connection.close()
        if writer is not None:
            writer.close()

    def hold_still(self) -> None:
        """Wait for the reads and writes in hand and let none begin until ``go_on``.

        SQLite's own locks are not made for forks: a thread inside it would leave them locked
        in the child for ever.
        """
        self._lock.acquire()
        if self._writing is not None:
            self._writing.hold()
        for reader in self._readers:
            reader.turn.acquire()

    def go_on(self) -> None:
        """End ``hold_still``; from the thread that began it."""
        for reader in self._readers:
            reader.turn.release()
        if self._writing is not None:
            self._writing.release()
        self._lock.release()

    def reopen_after_fork(self) -> None:
        """Forget the parent's connections without touching them; they are the parent's."""
        _inherited.append((self._readers, self._writing, self._local))
        if self._writing is not None:
            self._writing.forget()
        self._lock = threading.Lock()
        self._reopening = threading.Lock()
        self._start_afresh()

    def _open(self) -> None:
        make_root(self.root)
        try:
            if not self.path.exists():
                create_private(self.path)
            elif not self.path.is_file():
                raise StoreUnusable(self.path, "is not a file; give another folder")
        except OSError as error:
            raise explain_os(self.path, error) from error
        inode = self._inode()
        try:
            self._open_writable()
        except (ReadOnlyStore, StoreUnusable) as error:
            if isinstance(error, StoreUnusable) and self._may_write():
                raise
            self._open_read_only(error)
        except StorageFull as error:
            self._full = error
            self._open_read_only(error)
        if self._inode() != inode:
            raise StoreBusy(self.path, "was replaced while it was being opened; open it again")

    def _open_writable(self) -> None:
        try:
            self._version_rolled_back()  # another program's file must not even enter WAL mode
            self._writer()
        except StorageFull:
            if not self._reserve.give_back():
                raise
            self._version_rolled_back()
            self._writer()
        else:
            self._reserve.keep()

    def _open_again(self) -> None:
        """Leave read-only mode if only the full disk was the reason and there is room by now.

        Raises:
            ReadOnlyStore: If it was not.
            StorageFull: If it still is.
        """
        if self._full is None:
            raise ReadOnlyStore(self.root, "the store is read-only; nothing was written")
        with self._reopening:
            if not self.read_only:
                return
            immutable = self._immutable
            self._forget_readers(immutable=False)
            try:
                self._open_writable()
            except BaseException:
                self._forget_readers(immutable=immutable)
                raise
            self.read_only, self._full = False, None

    def _forget_readers(self, *, immutable: bool) -> None:
        """Let every thread open a new connection; the old ones may be in use, and stay open."""
        with self._lock:
            self._retired += self._readers
            self._immutable = immutable
            self._start_afresh()

    def _inode(self) -> int:
        """Return what tells the file from another one put in its place."""
        try:
            return self.path.stat().st_ino
        except OSError as error:
            raise explain_os(self.path, error) from error

    def _open_read_only(self, cause: Exception) -> None:
        self.read_only = True
        try:
            version = self._version()
        except (ReadOnlyStore, StoreUnusable, StorageFull):
            if self.wal_bytes():
                raise  # an immutable file is read without its log: newer memories would be missing
            self._start_afresh()
            self._immutable = True  # not even the -shm file can be made here
            version = self._version()
        if not version:
            if self._full is not None:
                raise self._full
            raise ReadOnlyStore(self.root, "cannot be written and holds no store yet") from cause

    def _version_rolled_back(self) -> int:
        """Read the version, after what a crash in the store's first moment left half-done."""
        try:
            return self._version()
        except ReadOnlyStore:
            if not self._may_write() or not self.path.with_name(f"{FILE_NAME}-journal").exists():
                raise
            roll_back(self.path, busy_seconds=BUSY_SECONDS)
            return self._version()

    def _version(self) -> int:
        return self.read(lambda connection: schema.check_version(connection, self.path))

    def _may_write(self) -> bool:
        return os.access(self.path, os.W_OK) and os.access(self.root, os.W_OK)

    def _start_afresh(self) -> None:
        self._local = threading.local()
        self._readers = []
        self._writing = None

    def _writer(self) -> Writer:
        if self._writing is None:
            with self._lock:
                if self._closed:
                    raise StoreClosed(self.root)
                if self._writing is None:
                    self._writing = self._connect_writer()
        return self._writing

    def _connect_writer(self) -> Writer:
        gate = Gate(self.path, BUSY_SECONDS)
        try:
            return Writer(self.path, self._connect_migrated(), gate)
        except BaseException:
            gate.close()
            raise

    def _connect_migrated(self) -> Connection:
        connection = connect(self.path, busy_seconds=BUSY_SECONDS, writable=True)
        try:
            with translated(self.path):
                if not schema.check_version(connection, self.path):
                    self._sync_names()
                schema.migrate(connection, self.path)
                connection.execute(f"PRAGMA wal_autocheckpoint={WAL_PAGES}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _sync_names(self) -> None:
        """Make the names of a new store outlast a power cut, before anything is promised."""
        try:
            sync_name(self.path)
            sync_name(self.root)
        except OSError as error:
            raise explain_os(self.root, error) from error

    def _reader(self) -> _Reader:
        reader: _Reader | None = getattr(self._local, "reader", None)
        if reader is None:
            reader = self._local.reader = self._orphan() or self._connect_reader()
        return reader

    def _orphan(self) -> _Reader | None:
        """Take over the connection of a thread that ended, if there is one."""
        with self._lock:
            for reader in self._readers:
                if not reader.thread.is_alive():
                    reader.thread = threading.current_thread()
                    return reader
        return None

    def _connect_reader(self) -> _Reader:
        with self._lock:
            self._check_open()
            connection = connect(
                self.path, busy_seconds=BUSY_SECONDS, writable=False, immutable=self._immutable
            )
            reader = _Reader(connection, threading.current_thread())
            self._readers.append(reader)
        return reader

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed(self.root)


@dataclass(slots=True)
class _Reader:
    """A reading connection, the thread it serves, and the lock held while it reads."""

    connection: Connection
    thread: threading.Thread
    turn: threading.RLock = field(default_factory=threading.RLock)


def make_root(root: Path) -> None:
    """Make the folder of a store, private to its owner.

    Raises:
        StoreUnusable: If the path is something else than a folder.
        ReadOnlyStore: If it cannot be made.
        StoreError: If the disk stands in the way; see its children.
    """
    try:
        if root.exists() and not root.is_dir():
            raise StoreUnusable(root, "is not a folder; give the folder that holds the store")
        if not root.exists():
            made = [folder for folder in (root, *root.parents) if not folder.exists()]
            root.mkdir(parents=True, mode=0o700, exist_ok=True)  # others may be opening it too
            root.chmod(0o700)
            for folder in reversed(made):
                sync_name(folder)
        elif not any(root.iterdir()):
            root.chmod(0o700)
    except NotADirectoryError as error:
        raise StoreUnusable(root, "lies under a file; give another folder") from error
    except OSError as error:
        raise explain_os(root, error) from error


def _absolute(root: Path) -> Path:
    """Fix the folder, so that it stays the same when the process goes elsewhere."""
    if "\0" in str(root):
        raise StoreUnusable(repr(str(root)), "is not a path; give another folder")
    return root.absolute()


_opened: weakref.WeakSet[Ledger] = weakref.WeakSet()
_inherited: list[object] = []
"""Connections of a forked parent: kept, so that the child never closes what is not its own."""


_held_still: list[Ledger] = []
"""What ``_before_fork`` holds, to be let go in the parent."""


_forking = threading.Lock()


def _before_fork() -> None:
    _forking.acquire()
    for ledger in list(_opened):
        ledger.hold_still()
        _held_still.append(ledger)


def _after_fork_in_parent() -> None:
    while _held_still:
        _held_still.pop().go_on()
    _forking.release()


def _after_fork_in_child() -> None:
    _held_still.clear()
    _forking.release()
    for ledger in list(_opened):
        ledger.reopen_after_fork()


os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)
