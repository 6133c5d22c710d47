"""Overwrite the unused parts of an SQLite file, a few pages at a time.

SQLite leaves deleted rows in the unused parts of its pages. ``VACUUM`` removes them, but blocks the
writer until the whole file is written again, so it is used for small files only
(``sqlite.WHOLE_PAGES``). Here zeros are written over the unused parts only:
pages on the free list, the gap and the free blocks of a tree page, and the end of the last overflow
page of a value. No byte that SQLite reads is changed, so the process may be killed at any point.
Fragments of three bytes or less between two cells are left.

Why this is safe while others have the file open:

- A bite holds the turn to write and SQLite's write lock, and begins with a log that is wholly
  folded into the file: no later image of a page can bring back what was overwritten.
- It ends with a commit. All connections, of other processes too, then drop their cached pages, so
  that none writes an old image of a page again. The writer's own cache is dropped before.
- The root pages come first. A root that overflows is the only page that SQLite copies, free blocks
  included, to another page, and that page may have been done already.
- The descriptor is never closed: closing it would drop the locks that SQLite has on the file.

Source: sqlite.org/fileformat2.html, sections 1.5 and 1.6; sqlite.org/howtocorrupt.html, 2.2;
sqlite.org/psow.html for bytes beside those that are written.
"""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from memento.base.files import explain_os, sync
from memento.errors import StoreUnusable
from memento.ledger.lite.file_pages import (
    HEADER_BYTES,
    INDEX_INTERIOR,
    INDEX_LEAF,
    MORE,
    PAGE_BYTES,
    TABLE_INTERIOR,
    TABLE_LEAF,
    local_bytes,
    most_local,
    varint,
)
from memento.ledger.lite.sqlite import Connection

BITE_SECONDS = 0.1
"""Time after which a bite ends; syncing the pages to the disk may take as long again."""
READERS_SECONDS = 0.1
"""Maximum wait of a bite for readers of an earlier state; those that begin meanwhile do no harm."""
POLL_SECONDS = 0.005
AT_ONCE = 64
"""Maximum number of pages read at once."""

_HEADER = {TABLE_LEAF: 8, INDEX_LEAF: 8, TABLE_INTERIOR: 12, INDEX_INTERIOR: 12}
"""Number of bytes before the cell pointers, by the kind of tree page.

An overflow page begins with a page number, the first byte of which is 0 below 64 GiB.
"""
_LINKED = PAGE_BYTES - 4
"""Number of bytes of a value on an overflow page."""
_MOST_PAGES = 1 << 24
"""Number of pages up to which the first byte tells the kind of a page."""
_ZEROS = bytes(PAGE_BYTES)

Span = tuple[int, int]
"""Start and end of unused bytes in a page."""


def bite(connection: Connection, path: Path, first: int) -> int | None:
    """Overwrite the unused parts of some pages, from one on. Call it alone, in no transaction.

    Returns the next page to do; None after the last one; ``first`` if nothing could be done because
    a reader uses an earlier state.
    """
    connection.execute("PRAGMA shrink_memory")  # drops its cached pages
    if not _folded(connection):
        return first
    connection.execute("BEGIN IMMEDIATE")
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    (count,) = connection.execute("PRAGMA page_count").fetchone()
    roots = [root for (root,) in connection.execute("SELECT rootpage FROM sqlite_master") if root]
    try:
        file = _File(path, size, count)
        following = file.scrub(first, roots if first == 1 else [])
    except OSError as error:
        raise explain_os(path, error) from error
    except (ValueError, IndexError, struct.error) as error:
        raise StoreUnusable(
            path, "the ledger is damaged; run `memento doctor --salvage`"
        ) from error
    connection.execute("UPDATE meta SET value = value WHERE name = 'stamp'")
    connection.execute("COMMIT")
    return following


def _folded(connection: Connection) -> bool:
    """Fold the whole log into the file; return False if a reader prevents that."""
    until = time.monotonic() + READERS_SECONDS
    while True:
        (_, logged, folded) = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if logged == folded or time.monotonic() > until:
            return bool(logged == folded)
        time.sleep(POLL_SECONDS)


class _File:
    """The pages of a file whose log is folded into it, while nobody writes."""

    def __init__(self, path: Path, size: int, count: int) -> None:
        if size != PAGE_BYTES or count > _MOST_PAGES:
            raise ValueError("unexpected page size or page count")
        self._file = _descriptor(path)
        self._count = count
        trunks: dict[int, int] = {}
        free: set[int] = set()
        number = int.from_bytes(self._read(1)[32:36], "big")
        while number:
            if number in trunks:
                raise ValueError("corrupt freelist: the trunk pages form a cycle")
            page = self._read(number)
            following, leaves = struct.unpack_from(">2I", page)
            free.update(struct.unpack_from(f">{leaves}I", page, 8))
            trunks[number], number = leaves, following
        self._trunks, self._free = trunks, free

    def scrub(self, first: int, roots: Iterable[int]) -> int | None:
        """Overwrite from a page on until time is up; return the next page, None at the end."""
        until = time.monotonic() + BITE_SECONDS
        try:
            for root in roots:
                self._scrub(root, self._read(root))
            while first <= self._count:
                block = self._read(first, AT_ONCE)
                for at in range(0, len(block), PAGE_BYTES):
                    self._scrub(first + at // PAGE_BYTES, block[at : at + PAGE_BYTES])
                first += AT_ONCE
                if time.monotonic() >= until:
                    break
        finally:
            sync(self._file)
        return first if first <= self._count else None

    def _scrub(self, number: int, page: bytes) -> None:
        if number in self._free:
            self._clear(number, page, (0, PAGE_BYTES))
        elif number in self._trunks:
            self._clear(number, page, (8 + 4 * self._trunks[number], PAGE_BYTES))
        else:
            start = HEADER_BYTES if number == 1 else 0
            for span in [*unused(page, start)]:
                self._clear(number, page, span)
            for overflow, rest in spilled(page, start):
                self._scrub_end(overflow, rest)

    def _scrub_end(self, number: int, rest: int) -> None:
        """Follow a value to its last overflow page, and overwrite the rest of that page."""
        while rest > _LINKED:
            number, rest = int.from_bytes(self._read(number)[:4], "big"), rest - _LINKED
        self._clear(number, self._read(number), (4 + rest, PAGE_BYTES))

    def _clear(self, number: int, page: bytes, span: Span) -> None:
        start, end = span
        if page[start:end] != _ZEROS[: end - start]:
            place = (number - 1) * PAGE_BYTES + start
            if os.pwrite(self._file, _ZEROS[: end - start], place) != end - start:
                raise OSError(f"page {number} could not be overwritten")

    def _read(self, number: int, pages: int = 1) -> bytes:
        if not 1 <= number <= self._count:
            raise ValueError("corrupt page reference: the page number is out of range")
        size = min(pages, self._count - number + 1) * PAGE_BYTES
        found = os.pread(self._file, size, (number - 1) * PAGE_BYTES)
        if len(found) != size:
            raise ValueError("truncated file: it is shorter than its header indicates")
        return found


def unused(page: bytes, start: int = 0) -> Iterator[Span]:
    """Yield the gap and the free blocks of a tree page whose header begins at ``start``."""
    header = _HEADER.get(page[start])
    if header is None:
        return
    block, cells, content = struct.unpack_from(">3H", page, start + 1)
    gap = start + header + 2 * cells
    if not gap <= (content or PAGE_BYTES << 4) <= PAGE_BYTES:
        raise ValueError("corrupt page: cell content overlaps the cell pointer array")
    yield gap, content
    while block:
        following, size = struct.unpack_from(">2H", page, block)
        if not content <= block <= block + size <= PAGE_BYTES or 0 < following < block + size:
            raise ValueError("corrupt page: free blocks overlap or are out of bounds")
        yield block + 4, block + size
        block = following


def spilled(page: bytes, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the first overflow page of each cell that has one, and the number of bytes there."""
    kind = page[start]
    if kind not in _HEADER or kind == TABLE_INTERIOR:
        return
    table = kind == TABLE_LEAF
    skipped = 4 if kind == INDEX_INTERIOR else 0
    longer = MORE | (most_local(PAGE_BYTES, table=table) + 1) >> 7
    (cells,) = struct.unpack_from(">H", page, start + 3)
    for at in struct.unpack_from(f">{cells}H", page, start + _HEADER[kind]):
        cell = at + skipped
        if page[cell] < MORE or (page[cell] < longer and page[cell + 1] < MORE):
            continue  # most cells are shorter than what fits
        length, body = varint(page, cell)
        if table:
            _, body = varint(page, body)
        if (local := local_bytes(length, PAGE_BYTES, table=table)) < length:
            yield int.from_bytes(page[body + local : body + local + 4], "big"), length - local


_descriptors: dict[tuple[int, int], int] = {}
"""Maps device and inode of each scrubbed file to a descriptor that is never closed."""
_opening = threading.Lock()


def _descriptor(path: Path) -> int:
    found = path.stat()
    with _opening:
        if (known := _descriptors.get((found.st_dev, found.st_ino))) is not None:
            return known
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        opened = os.fstat(descriptor)
        _descriptors[opened.st_dev, opened.st_ino] = descriptor
        return descriptor
