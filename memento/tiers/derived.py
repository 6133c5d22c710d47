"""The folder of derived files, by which large namespaces are searched; each has its own files.

Everything in it comes from the ledger and can be deleted at any time. A file begins with a head
that says what it is, and which state of the ledger it matches. A file that is torn, corrupt,
outdated, from another store or not memento's is never used, but written anew. ``NS.vectors`` is
described in ``mapped``, ``NS.outline`` in ``retrieve.outline``.

Files are opened below the folder and never through a link. They are written by the process that
holds ``derived.lock``, and read by all. Any of these functions may raise OSError.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import stat
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any

from memento.base import layout
from memento.base.files import open_folder
from memento.errors import StoreClosed, StoreError
from memento.ledger import vectors
from memento.ledger.contract import Ledger, Transaction
from memento.tiers.folder import FolderLock

log = logging.getLogger("memento.tiers.derived")

PAUSE = 30.0
"""Seconds until files that could not be written are tried again."""
PATIENCE = 0.5
"""Seconds that a query waits at most for a transaction of another process to end."""
_LOOK_AGAIN = 0.002

NameIt = Callable[[str, Callable[[], None]], None]
"""Gives a file its name: called with its mark and a function that renames it."""

MAGIC = b"memento derived\n"
"""The first bytes of each file."""
HEAD = 4096
"""Bytes before the content of a file: the magic, the head as JSON, zeros."""
_LINE = re.compile(rb"([0-9a-f]{8}) (\{[^\n\0]*\})\n")
"""The head: the CRC-32 of its JSON, and the JSON."""


class Unusable(Exception):
    """A derived file is missing, damaged, outdated or another's; the message says which."""


def spell(head: Mapping[str, Any]) -> bytes:
    """Encode the head of a file."""
    text = json.dumps(head, separators=(",", ":")).encode()
    line = MAGIC + b"%08x " % zlib.crc32(text) + text + b"\n"
    if len(line) > HEAD:
        raise ValueError("the head of a derived file is too long")
    return line.ljust(HEAD, b"\0")


def read_head(file: int) -> dict[str, Any]:
    """Read the head of an open file; `Unusable` if it has none, or a damaged one."""
    data = os.pread(file, HEAD, 0)
    if not data.startswith(MAGIC):
        raise Unusable("not a file of this store")
    found = _LINE.match(data, len(MAGIC))
    if found is None or zlib.crc32(found[2]) != int(found[1], 16):
        raise Unusable("its head is damaged")
    return dict(json.loads(found[2]))


@contextlib.contextmanager
def opened(root: Path, *, make: bool = False) -> Iterator[int]:
    """Yield a descriptor of the folder; ``make`` creates it if missing, with mode 0700."""
    path = root / layout.DERIVED
    if make:
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
    folder = open_folder(path, os.O_NOFOLLOW)
    try:
        yield folder
    finally:
        os.close(folder)


@contextlib.contextmanager
def locked(root: Path) -> Iterator[bool]:
    """Hold the writer's lock during the block; yield False if another writer holds it."""
    lock = FolderLock(layout.lock_of(root / layout.DERIVED))
    try:
        yield lock.acquire()
    finally:
        lock.release()


def open_file(folder: int, name: str, *, write: bool = False) -> int:
    """Open a file of the folder; `Unusable` if it is missing or not a regular file."""
    flags = os.O_RDWR if write else os.O_RDONLY
    try:
        file = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except FileNotFoundError:
        raise Unusable("not there") from None
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    raise Unusable("not a regular file")


def read_file(
    folder: int, name: str, expected: Mapping[str, Any], marks: Collection[str]
) -> tuple[dict[str, Any], bytes]:
    """Read a file whose content has a checksum; returns its head and its content.

    It is not mapped: truncating a mapped file kills the process that reads it. `Unusable` if it is
    missing, damaged, outdated or another's; see `compare`.
    """
    with os.fdopen(open_file(folder, name), "rb") as file:
        head = read_head(file.fileno())
        compare(head, expected, marks)
        if head.get("size") != os.fstat(file.fileno()).st_size:
            raise Unusable("truncated, or longer than expected")
        file.seek(HEAD)
        content = file.read()
    if zlib.crc32(content) != head.get("crc"):
        raise Unusable("its content is damaged")
    return head, content


def compare(head: Mapping[str, Any], expected: Mapping[str, Any], marks: Collection[str]) -> None:
    """Raise `Unusable` unless a head has the expected values and one of the marks."""
    for key, value in expected.items():
        if head.get(key) != value:
            raise Unusable(f"has {key} {head.get(key)!r}, not {value!r}")
    if head.get("mark") not in marks:
        raise Unusable("from another day, or another store's")


class Draft:
    """A file that is written under another name, see ``drafted``."""

    def __init__(self, folder: int, name: str) -> None:
        self._folder, self._name, self._mark = folder, name, ""
        self._draft = f"{name}.{token_hex(4)}.tmp"

    def fill(self, head: Mapping[str, Any], parts: Iterable[memoryview | bytes]) -> None:
        """Write a head and a content; size, checksum and a new mark are added to the head.

        It is not synced to disk: after a power cut the checksum shows damage.
        """
        self._mark = token_hex(8)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(self._draft, flags, 0o600, dir_fd=self._folder)
        with os.fdopen(file, "wb") as out:
            out.write(bytes(HEAD))
            crc, size = 0, HEAD
            for part in parts:
                out.write(part)
                crc, size = zlib.crc32(part, crc), size + len(part)
            out.seek(0)
            out.write(spell({**head, "mark": self._mark, "size": size, "crc": crc}))

    def name(self, name_it: NameIt) -> None:
        """Give it its name; nothing that was read for it may be read any more: naming writes."""
        name_it(self._mark, self._rename)

    def _rename(self) -> None:
        os.replace(self._draft, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def remove(self) -> None:
        """Remove it, unless it has its name."""
        _remove(self._folder, self._draft)


@contextlib.contextmanager
def drafted(folder: int, name: str) -> Iterator[Draft]:
    """Provide a draft of a file for a block, to be filled and then named. For the lock holder.

    Drafts of the file that a killed writer left are removed first.
    """
    for litter in _ours(folder):
        if litter.startswith(f"{name}."):
            _remove(folder, litter)
    draft = Draft(folder, name)
    try:
        yield draft
    finally:
        draft.remove()


def _remove(folder: int, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def _entries(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def _ours(folder: int) -> list[str]:
    """List the files of the folder that are memento's."""
    named = filter(layout.OF_DERIVED.fullmatch, _entries(folder))
    return sorted(name for name in named if is_ours(folder, name))


def clear(root: Path, keep: Callable[[Mapping[str, Any]], bool]) -> list[str]:
    """Remove the derived files whose head ``keep`` does not accept.

    Only for the holder of the lock. Return those removed, as paths below the folder of the store.
    """
    try:
        with opened(root) as folder:
            gone = [name for name in _ours(folder) if not _stays(folder, name, keep)]
            for name in gone:
                _remove(folder, name)
            return [f"{layout.DERIVED}/{name}" for name in gone]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError:
        if (root / layout.DERIVED).is_symlink():  # a link is never followed, so no file is ours
            return []
        raise


def _stays(folder: int, name: str, keep: Callable[[Mapping[str, Any]], bool]) -> bool:
    if not name.endswith((".vectors", ".outline")):
        return False
    try:
        return keep(head_of(folder, name))
    except Unusable:
        return False


def head_of(folder: int, name: str) -> dict[str, Any]:
    """Read the head of a file; raises `Unusable` if it has none."""
    with _lent(folder, name) as file:
        return read_head(file)


@contextlib.contextmanager
def _lent(folder: int, name: str) -> Iterator[int]:
    file = open_file(folder, name)
    try:
        yield file
    finally:
        os.close(file)


def is_ours(folder: int, name: str) -> bool:
    """Return whether a file begins with `MAGIC`, or is empty or zeros and so may be lost."""
    try:
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            return False
        with _lent(folder, name) as file:
            start = os.pread(file, len(MAGIC), 0)
    except (Unusable, FileNotFoundError):
        return False
    return start == MAGIC or not start.strip(b"\0")


def strangers(root: Path) -> list[str]:
    """Return the files that are not memento's, as paths below the folder of the store."""
    path = root / layout.DERIVED
    if not os.path.lexists(path):
        return []
    if path.is_symlink() or not path.is_dir():
        return [layout.DERIVED]
    with opened(root) as folder:
        others = {*_entries(folder)}.difference(_ours(folder))
        return sorted(f"{layout.DERIVED}/{name}" for name in others)


class Filing:
    """Writes one kind of derived files of a store."""

    def __init__(self, ledger: Ledger, kind: str) -> None:
        self._ledger, self._kind = ledger, kind
        self._not_before: dict[int, float] = {}

    def write(self, ns: int, job: Callable[[int], bool]) -> bool:
        """Run a job as the only writer of derived files, with a descriptor of their folder.

        Return its result; False if it was not possible now.
        """
        if self._ledger.read_only or time.monotonic() < self._not_before.get(ns, 0.0):
            return False
        try:
            self._await_turn()
            with locked(self._ledger.root) as mine, opened(self._ledger.root, make=True) as folder:
                return mine and job(folder)
        except StoreClosed:
            raise
        except (Unusable, OSError, StoreError) as error:
            log.info("%s of namespace %s are not written: %s", self._kind, ns, error)
            self._not_before[ns] = time.monotonic() + PAUSE
            return False

    def _await_turn(self) -> None:
        """Wait up to `PATIENCE` for a running transaction: `naming` would wait much longer."""
        until = time.monotonic() + PATIENCE
        while self._ledger.is_writing():
            if time.monotonic() > until:
                raise Unusable("another process is in a transaction")
            time.sleep(_LOOK_AGAIN)

    def naming(self, ns: int, erased: int) -> NameIt:
        """Return a function that renames a file within the transaction that records its mark.

        ``erased`` is the newest erasure of the namespace when the content was read.
        """

        def name_it(mark: str, name: Callable[[], None]) -> None:
            named = False

            def job(connection: Transaction) -> bool:
                nonlocal named
                known = vectors.adopt(connection, self._kind, ns, mark, erased=erased)
                if known and not named:  # the job may run twice
                    name()
                    named = True
                return known

            if not self._ledger.write(job, spaces=(ns,)):
                raise Unusable("something was erased meanwhile")

        return name_it
