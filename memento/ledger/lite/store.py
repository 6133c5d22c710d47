"""The ledger in SQLite: one file, one writer, a reader for each thread."""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from functools import partial
from pathlib import Path
from typing import TypeVar

from memento.base import forks, layout
from memento.base.files import explain_os, sync_name
from memento.errors import (
    ReadOnlyStore,
    StorageFailed,
    StorageFull,
    StoreBusy,
    StoreClosed,
    StoreGone,
    StoreUnusable,
)
from memento.ledger import namespaces, schema
from memento.ledger.contract import Moment
from memento.ledger.group import commit_separately
from memento.ledger.lite import fulltext, library, presence, scrub, sqlite, upgrade
from memento.ledger.lite.fulltext import LiteTail
from memento.ledger.lite.gate import Gate, is_taken
from memento.ledger.lite.library import Error, library_version
from memento.ledger.lite.presence import LOG, Presence
from memento.ledger.lite.reserve import Reserve
from memento.ledger.lite.root import make_root, refuse_network
from memento.ledger.lite.sqlite import Connection, Reader, connect, translated
from memento.ledger.lite.writer import LOG_PAGES, Writer, growth

T = TypeVar("T")

log = logging.getLogger("memento.ledger.lite.store")

BUSY_SECONDS = 30.0
"""Seconds that a write waits for another process before ``StoreBusy``; writes take milliseconds."""


class LiteLedger:
    """The one file that holds every memory; see ``contract.Ledger`` and ``opening.open_ledger``."""

    in_file = True

    def __init__(self, root: Path, *, allow_network: bool = False) -> None:
        self.root = root.absolute()
        if not allow_network:
            refuse_network(self.root)
        self.path = self.root / layout.LEDGER
        self.read_only = False
        self._reserve = Reserve(self.root)
        self._full: StorageFull | None = None
        self._retired: list[Reader] = []
        self.immutable = False  # whether not even a log can be beside the file
        self._closed = False
        self._is_ours = False  # whether the tables are known to be there
        self._renew_locks()
        self._namespaces: dict[tuple[str, ...], int] = {}
        self._readers: list[Reader] = []
        self._writing: Writer | None = None
        self._local = threading.local()
        try:
            self._open()
            self._is_ours = True
        except BaseException:  # also an interruption: nobody else can close it
            self.close()
            raise
        _opened.add(self)

    @property
    def closed(self) -> bool:
        return self._closed

    def write(
        self,
        job: Callable[[Connection], T],
        *,
        spaces: Collection[int] | None = None,  # noqa: ARG002 - one writer at a time anyway
        makes_room: bool = False,
        frees_room: bool = False,
    ) -> T:
        self._check_open()
        if self.read_only:
            self._open_again()
        try:
            return self._writer().run(job)
        except StorageFull as error:
            if not (frees_room or (makes_room and self._reserve.kept)):
                raise
            return self._write_in_reserve(job, error)

    def commit_separately(self) -> None:
        commit_separately()

    def _write_in_reserve(self, job: Callable[[Connection], T], full: StorageFull) -> T:
        """Run a job in the reserved room."""
        with self._rescuing, self._reserve.lent(full):
            try:
                self._writer().fold(if_room=True)
                return self._writer().run(job)
            finally:
                self._writer().fold(if_room=True)

    def alone(self, job: Callable[[Connection], T]) -> T:
        """Run a job that cannot be in a transaction; see ``Writer.alone``."""
        self._check_open()
        if self.read_only:
            raise ReadOnlyStore(self.root, "the store is read-only; nothing was written")
        return self._writer().alone(job)

    def read(self, job: Callable[[Connection], T], **_space: int | None) -> T:
        self._check_open()
        try:
            return self._reader().run(job, hides_erased=self._is_ours)
        except Error as error:
            self.check_present()  # a log that was removed looks like damage
            raise sqlite.explain(self.path, error) from error

    def gathered(self, job: Callable[[], T], **_space: int) -> T:
        return job()

    def claimed(self, names: Iterable[object]) -> AbstractContextManager[Collection[object]]:
        return nullcontext([*names])

    def check_present(self) -> None:
        self._check_open()
        self._presence.check()
        if self._writing is not None:
            self._writing.check_present()

    def find_namespace(self, labels: tuple[str, ...]) -> int | None:
        self._presence.check()  # every verb that reads calls this once
        number = self._namespaces.get(labels)
        if number is None:
            number = self.read(lambda connection: namespaces.find(connection, labels))
            if number is not None:
                self._namespaces[labels] = number
        return number

    def labels(self, ns: int) -> tuple[str, ...]:
        return self.read(lambda connection: namespaces.labels_of(connection, ns))

    def is_writing(self) -> bool:
        return is_taken(self.path)

    def moment(self) -> Moment:
        self._check_open()
        return self._reader().moment(self.path)

    @property
    def library(self) -> tuple[str, str]:
        return "sqlite", library.said()

    def make_tail(self) -> LiteTail:
        return LiteTail(lambda: self._reader().turn)

    def quick_check(self) -> list[str]:
        return self.read(sqlite.quick_check)

    def words_intact(self) -> bool:
        if library_version() < fulltext.CHECKED_AS_READ:  # only a writer can check, and others wait
            return self.read_only or self.write(lambda c: c.words.intact())
        with translated(self.path), closing(self._connect_to_read()) as connection:
            return connection.words.intact_as_read()

    def compact(self) -> None:
        # FTS5 keeps the words of deleted rows until its segments are merged; SQLite the pages.
        more = self.write(lambda c: c.words.merge(anew=True), frees_room=True)
        while more:
            more = self.write(lambda c: c.words.merge(), frees_room=True)
        if self.alone(sqlite.compact):
            return
        first: int | None = None
        following: int | None = 1
        while following is not None and following != first:
            first = following
            following = self.alone(partial(scrub.bite, path=self.path, first=first))
            self.write(lambda _: None)  # queue up, so that waiting writers come first
        if following is not None:
            problem = "a reader is still using an earlier state; the file cannot be cleared yet"
            raise StoreBusy(self.path, problem)

    def fold_log(self, seconds: float) -> bool:
        return self.alone(lambda connection: sqlite.fold_log(connection, seconds))

    def checkpoint(self) -> None:
        if not self.read_only and not self._closed:
            self._writer().fold()

    @property
    def reserve_trouble(self) -> str:
        return self._reserve.trouble

    @property
    def locks_lost(self) -> bool:
        return self._writing is not None and presence.lost(self.path)

    def keep_reserve(self) -> None:
        if not self.read_only:
            self._reserve.keep()

    def size(self) -> int:
        return self.path.stat().st_size + self.wal_bytes()

    def wal_bytes(self) -> int:
        try:
            return self.path.with_name(layout.LOG).stat().st_size
        except FileNotFoundError:
            return 0

    def growth(self) -> int:
        return self.read(lambda connection: growth(connection, self.path))

    def close(self) -> None:
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
        """Let no read or write begin until ``go_on``: no thread may be inside SQLite at a fork."""
        self._lock.acquire()
        if self._writing is not None:
            self._writing.hold(self)
        for reader in self._readers:
            reader.turn.acquire()

    def go_on(self) -> None:
        """End ``hold_still``; call it from the thread that began it."""
        for reader in self._readers:
            reader.turn.release()
        if self._writing is not None:
            self._writing.release(self)
        self._lock.release()

    def reopen_after_fork(self) -> None:
        """Forget the parent's connections without touching them; they are the parent's."""
        _inherited.append((self._readers, self._writing, self._local))
        if self._writing is not None:
            self._presence = self._writing.forget()
            presence.take(self.path)
        self._renew_locks()
        self._start_afresh()

    def _renew_locks(self) -> None:
        self._lock = threading.Lock()
        self._reopening = threading.Lock()
        self._rescuing = threading.Lock()

    def _open(self) -> None:
        make_root(self.root)
        try:
            if not self.path.exists():
                sqlite.create_private(self.path)
                log.info("created a new store in %s", self.root)
            elif not self.path.is_file():
                raise StoreUnusable(self.path, "is not a file; use a different folder")
        except OSError as error:
            raise explain_os(self.path, error) from error
        try:
            self._presence = Presence(self.path)
            self._connect()
            self._presence.check()
        except StoreGone as error:
            problem = f"{error.happened}, while the store was being opened; open it again"
            raise StoreBusy(self.path, problem) from error

    def _connect(self) -> None:
        try:
            self._open_writable()
        except (ReadOnlyStore, StoreUnusable) as error:
            if isinstance(error, StoreUnusable) and self._may_write():
                raise
            self._open_read_only(error)
        except StorageFull as error:
            self._full = error
            self._open_read_only(error)

    def _open_writable(self) -> None:
        try:
            self._version_rolled_back()  # another program's file must not enter WAL mode
            self._writer()
        except StorageFull as full:
            with self._reserve.lent(full):
                self._version_rolled_back()
                self._writer()
        else:
            self._reserve.keep()

    def _open_again(self) -> None:
        """Leave read-only mode if a full disk was its reason and there is room now."""
        if self._full is None:
            raise ReadOnlyStore(self.root, "the store is read-only; nothing was written")
        with self._reopening:
            if not self.read_only:
                return
            immutable = self.immutable
            self._forget_readers(immutable=False)
            try:
                self._open_writable()
            except BaseException:  # also an interruption: back to reading as before
                self._forget_readers(immutable=immutable)
                raise
            self.read_only, self._full = False, None

    def _forget_readers(self, *, immutable: bool) -> None:
        """Make every thread open a new connection; old ones stay open, as they may be in use."""
        with self._lock:
            self._retired += self._readers
            self.immutable = immutable
            self._start_afresh()

    def _open_read_only(self, cause: Exception) -> None:
        self.read_only = True
        try:
            version = self._version()
        except (ReadOnlyStore, StoreUnusable, StorageFull):
            if self.wal_bytes():
                raise  # an immutable file is read without its log: newer memories would be missing
            self._start_afresh()
            self.immutable = True  # not even the -shm file can be made here
            version = self._version()
        if not version:
            if self._full is not None:
                raise self._full
            raise ReadOnlyStore(self.root, "cannot be written and contains no store yet") from cause
        if version < schema.SCHEMA_VERSION:
            problem = "was written by an earlier release; open it once where it can be written"
            raise ReadOnlyStore(self.root, f"{problem}, which brings it up to date") from cause

    def _version_rolled_back(self) -> int:
        """Read the version, after rolling back what a crash at the store's creation left."""
        try:
            return self._version()
        except ReadOnlyStore:
            if not self._may_write() or not self.path.with_name(layout.JOURNAL).exists():
                raise
            sqlite.roll_back(self.path, busy_seconds=BUSY_SECONDS)
            return self._version()

    def _version(self) -> int:
        return self.read(partial(upgrade.check_version, path=self.path))

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
        self._presence.check()  # of its log as well, in a forked child
        with ExitStack() as undo:  # also if it is interrupted: nobody else has these
            gate = Gate(self.path, BUSY_SECONDS)
            undo.callback(gate.close)
            connection = connect(self.path, busy_seconds=BUSY_SECONDS, writable=True)
            undo.callback(connection.close)
            with translated(self.path):
                if not upgrade.check_version(connection, self.path):
                    self._sync_names()  # before anything is promised
                upgrade.migrate(connection, self.path)
                connection.execute(f"PRAGMA wal_autocheckpoint={LOG_PAGES}")
            self._presence.check()  # the same file as before
            try:
                presence = Presence(self.path, beside=LOG)
            except StoreGone as error:  # SQLite could not make the log, and went on without
                problem = "no write-ahead log can be made beside it"
                raise StorageFailed(self.path, problem) from error
            undo.pop_all()
            return Writer(self.path, connection, gate, presence)

    def _sync_names(self) -> None:
        """Make the names of a new store durable."""
        try:
            sync_name(self.path)
            sync_name(self.root)
        except OSError as error:
            raise explain_os(self.root, error) from error

    def _reader(self) -> Reader:
        reader: Reader | None = getattr(self._local, "reader", None)
        if reader is None:
            reader = self._local.reader = self._reader_for(threading.current_thread())
        return reader

    def _reader_for(self, thread: threading.Thread) -> Reader:
        """Reuse the connection of a thread that ended, or make a new one."""
        with self._lock:
            for reader in self._readers:
                if not reader.thread.is_alive():
                    reader.thread = thread
                    return reader
            self._check_open()
            reader = Reader(self._connect_to_read(), thread)
            self._readers.append(reader)
        return reader

    def _connect_to_read(self) -> Connection:
        self._presence.check()
        return connect(
            self.path, busy_seconds=BUSY_SECONDS, writable=False, immutable=self.immutable
        )

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed(self.root)


_opened: weakref.WeakSet[LiteLedger] = weakref.WeakSet()
_inherited: list[object] = []
"""Connections of a forked parent, kept so that the child never closes them."""
_held_still: list[LiteLedger] = []
"""Ledgers that ``_before_fork`` holds, and that the parent releases."""
_forking = threading.Lock()
_handover = forks.Handover()


def _before_fork() -> None:
    """Wait until no thread is inside SQLite, or holds a lock that would stay locked in the child.

    Hold nothing while waiting: a thread that loads a library may need a ledger, or fork.
    """
    until = time.monotonic() + forks.FORK_SECONDS
    while True:
        forks.gate.wait(until)
        _forking.acquire()
        for ledger in list(_opened):
            ledger.hold_still()
            _held_still.append(ledger)
        if forks.gate.shut(until):
            _handover.prepare(needed=bool(_held_still))
            return
        _let_all_go_on()


def _let_all_go_on() -> None:
    while _held_still:
        _held_still.pop().go_on()
    _forking.release()


def _after_fork_in_parent() -> None:
    try:
        forks.gate.reopen()
        _handover.wait()  # else this process, closing its last connection, removes the child's log
    finally:
        _let_all_go_on()


def _after_fork_in_child() -> None:
    forks.gate.reopen_in_child()
    _held_still.clear()
    _forking.release()
    for ledger in list(_opened):
        ledger.reopen_after_fork()
    _handover.end()


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
)
