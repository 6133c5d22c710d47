"""The records of an SQLite file, read page by page, whether or not SQLite itself can open it.

Trees and indexes are not followed: the cells of each page that looks like a leaf are read. Free
pages are skipped, as their content was deleted. The file is only read.

Source: sqlite.org/fileformat2.html, sections 1 to 4.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from memento.base.files import read_regular

MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100
PAGE_BYTES = 4096
"""Page size of every ledger; assumed if the header is damaged."""

TABLE_LEAF, INDEX_LEAF, TABLE_INTERIOR, INDEX_INTERIOR = 13, 10, 5, 2
"""The kinds of tree pages, by their first byte."""
_WAL_HEADER, _WAL_FRAME = 32, 24
_LEAST_PAGE, _FIRST_BLOB = 512, 12
MORE = 0x80
"""Bit in a byte of a number that says that another byte follows."""
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}

Value = None | int | float | str | bytes


class Record(NamedTuple):
    """One row of a table, or of an index if ``rowid`` is None."""

    rowid: int | None
    values: tuple[Value, ...]


class Pages:
    """An SQLite file with the write-ahead log beside it, if any, as one array of pages."""

    def __init__(self, path: Path) -> None:
        self._data = read_regular(path)
        header = self._data[:HEADER_BYTES].ljust(HEADER_BYTES, b"\0")
        self.sound_header = header.startswith(MAGIC)
        size = int.from_bytes(header[16:18], "big") if self.sound_header else 0
        self._size = 65_536 if size == 1 else size if size >= _LEAST_PAGE else PAGE_BYTES
        self._usable = self._size - (header[20] if self.sound_header else 0)
        log = path.with_name(f"{path.name}-wal")
        self._logged = committed(read_regular(log), self._size) if log.exists() else {}
        self.application_id = int.from_bytes(header[68:72], "big") if self.sound_header else 0
        self.user_version = int.from_bytes(header[60:64], "big") if self.sound_header else 0
        self.count = max(-(-len(self._data) // self._size), *self._logged, 0)

    @property
    def missing(self) -> int:
        """Number of pages that the file should have and does not; 0 if its header is damaged."""
        first = self.page(1)
        if not first.startswith(MAGIC) or first[24:28] != first[92:96]:
            return 0
        whole, due = len(self._data) // self._size, int.from_bytes(first[28:32], "big")
        elsewhere = sum(whole < number <= due for number in self._logged.keys() | self.free())
        return max(0, due - whole - elsewhere)

    def page(self, number: int) -> bytes:
        """Return a page, counted from 1, as the log has it if it is there."""
        if number in self._logged:
            return self._logged[number]
        start = (number - 1) * self._size
        return self._data[start : start + self._size].ljust(self._size, b"\0")

    def records(self) -> Iterator[Record]:
        """Yield every record that can be read."""
        free = self.free()
        for number in range(1, self.count + 1):
            if number not in free:
                yield from self._cells(self.page(number), HEADER_BYTES if number == 1 else 0)

    def free(self) -> set[int]:
        """Return the numbers of the free pages; none if the list of them is damaged."""
        found: set[int] = set()
        trunk = int.from_bytes(self.page(1)[32:36], "big")
        while trunk and trunk <= self.count and trunk not in found:
            page = self.page(trunk)
            leaves = int.from_bytes(page[4:8], "big")
            numbers = struct.unpack_from(f">{min(leaves, self._usable // 4 - 2)}I", page, 8)
            found |= {trunk, *numbers}
            trunk = int.from_bytes(page[:4], "big")
        return found

    def _cells(self, page: bytes, start: int) -> Iterator[Record]:
        kind = page[start]
        if kind not in {TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR}:
            return
        pointers = start + (12 if kind == INDEX_INTERIOR else 8)
        count = int.from_bytes(page[start + 3 : start + 5], "big")
        for at in range(pointers, min(pointers + 2 * count, self._size - 1), 2):
            try:
                yield self._cell(page, int.from_bytes(page[at : at + 2], "big"), kind)
            except (ValueError, IndexError, struct.error):
                continue  # corrupt

    def _cell(self, page: bytes, at: int, kind: int) -> Record:
        if kind == INDEX_INTERIOR:
            at += 4
        length, at = varint(page, at)
        rowid = None
        if kind == TABLE_LEAF:
            rowid, at = varint(page, at)
        return Record(rowid, values(self._payload(page, at, length, table=kind == TABLE_LEAF)))

    def _payload(self, page: bytes, at: int, length: int, *, table: bool) -> bytes:
        """Collect a record that may continue on overflow pages."""
        if length > len(self._data) + self._size * len(self._logged):
            raise ValueError("corrupt record: longer than the file")
        local = local_bytes(length, self._usable, table=table)
        if local == length:
            return page[at : at + length]
        parts, missing = [page[at : at + local]], length - local
        following = int.from_bytes(page[at + local : at + local + 4], "big")
        while missing > 0:
            if not 1 <= following <= self.count:
                raise ValueError("corrupt record: broken overflow page chain")
            page = self.page(following)
            parts.append(page[4 : 4 + min(missing, self._usable - 4)])
            missing -= self._usable - 4
            following = int.from_bytes(page[:4], "big")
        return b"".join(parts)


def most_local(usable: int, *, table: bool) -> int:
    """Return the maximum length of a record without overflow pages, bytes."""
    return usable - 35 if table else (usable - 12) * 64 // 255 - 23


def local_bytes(length: int, usable: int, *, table: bool) -> int:
    """Return how many bytes of a record are on its page; if it is longer, a page number follows."""
    most = most_local(usable, table=table)
    if length <= most:
        return length
    least = (usable - 12) * 32 // 255 - 23
    local = least + (length - least) % (usable - 4)
    return local if local <= most else least


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Read a number of one to nine bytes; return it and the position after it.

    >>> varint(bytes([0x81, 0x00]), 0)
    (128, 2)
    """
    number = 0
    for length in range(8):
        byte = data[at + length]
        number = number << 7 | byte & 0x7F
        if byte < MORE:
            return number, at + length + 1
    number = number << 8 | data[at + 8]
    return number - (1 << 64) if number >> 63 else number, at + 9


def values(payload: bytes) -> tuple[Value, ...]:
    """Read the columns of a record; ``ValueError`` if it is not one."""
    length, at = varint(payload, 0)
    if not at <= length <= len(payload):
        raise ValueError("corrupt record: invalid header length")
    found, body = [], length
    while at < length:
        kind, at = varint(payload, at)
        value, size = _value(payload, body, kind)
        found.append(value)
        body += size
    if body != len(payload):
        raise ValueError("corrupt record: inconsistent column sizes")
    return tuple(found)


def _value(payload: bytes, at: int, kind: int) -> tuple[Value, int]:
    """Read one column of a type; return it and its size, bytes."""
    match kind:
        case 0:
            return None, 0
        case 7:
            return float(struct.unpack_from(">d", payload, at)[0]), 8
        case 8 | 9:
            return kind - 8, 0
        case _ if kind in _INTEGER_BYTES:
            size = _INTEGER_BYTES[kind]
            return int.from_bytes(payload[at : at + size], "big", signed=True), size
        case _ if kind >= _FIRST_BLOB:
            size = (kind - _FIRST_BLOB) // 2
            data = payload[at : at + size]
            return (data if kind % 2 == 0 else data.decode()), size
    raise ValueError(f"corrupt record: invalid serial type {kind}")


def real(value: Any) -> Any:
    """Read a column of type REAL as SQL does: a whole number is stored as an integer.

    >>> real(1), real(0.5), real(None)
    (1.0, 0.5, None)
    """
    return float(value) if isinstance(value, int) else value


def committed(log: bytes, size: int) -> dict[int, bytes]:
    """Return the newest version of each page in the complete transactions of a write-ahead log."""
    if len(log) < _WAL_HEADER or int.from_bytes(log[8:12], "big") != size:
        return {}
    order = ">" if log[3] & 1 else "<"
    sums = _checksum(log[:24], (0, 0), order)
    if sums != struct.unpack_from(">2I", log, 24):
        return {}
    found: dict[int, bytes] = {}
    waiting: dict[int, bytes] = {}
    for at in range(_WAL_HEADER, len(log) - _WAL_FRAME - size + 1, _WAL_FRAME + size):
        head, page = log[at : at + _WAL_FRAME], log[at + _WAL_FRAME : at + _WAL_FRAME + size]
        sums = _checksum(page, _checksum(head[:8], sums, order), order)
        if head[8:16] != log[16:24] or sums != struct.unpack_from(">2I", head, 16):
            break
        number, is_commit = struct.unpack_from(">2I", head)
        waiting[number] = page
        if is_commit:
            found |= waiting
            waiting.clear()
    return found


def _checksum(data: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for at in range(0, len(words), 2):
        first = first + words[at] + second & 0xFFFFFFFF
        second = second + words[at + 1] + first & 0xFFFFFFFF
    return first, second
