"""Overwrite the remains of process memory in Chroma's vector files.

Chroma allocates an index for a hundred rows and writes it to the disk without clearing it. The
places without a row hold memory that the process freed before, which may include texts of memories
and secrets of the host. It does so when a namespace gets its first row, and again at the first use
after each opening of an index that has not reached a thousand rows. So the unused places, which
Chroma never reads, are overwritten with zeros: right after each first use, and in every folder
whose last owner may have died before it did that.

    header.bin        version, then numbers: how many rows are stored, how long one is
    data_level0.bin   the rows, one after the other
    length.bin        four bytes for each row

Source: ``saveIndex`` and ``persistDirty`` of chroma-core/hnswlib, which Chroma 1.x uses to write.
"""

from __future__ import annotations

import contextlib
import os
import struct
from pathlib import Path

from memento.ledger.files import read_regular

ROWS_FILE = "data_level0.bin"
HEADER = struct.Struct("<iQQQQ")
"""Version, offset of level 0, places, rows stored, bytes of a row; more follows."""
VERSION = 1
SECOND = 1_000_000_000
LENGTH_BYTES = 4
"""Bytes of a row in ``length.bin``."""


class UnknownLayout(Exception):
    """A file of an index is damaged, or from a version of Chroma with another layout."""


class Blanker:
    """Tracks which indexes of a folder were allocated again since they were blanked.

    Args:
        folder: A Chroma folder whose indexes are blank.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._blanked = _written(folder)

    def catch_up(self) -> list[Path]:
        """Blank the indexes written since the last call; no thread may write during it.

        Returns:
            Their folders.

        Raises:
            UnknownLayout: If a file does not have the expected layout.
            OSError: If a file cannot be read or written.
        """
        written = [
            Path(index)
            for index, at in _written(self._folder).items()
            if self._blanked.get(index) != at
        ]
        for index in written:
            blank(index)
            self._blanked[str(index)] = _last_written(str(index))
        return written


def blank_all(folder: Path) -> None:
    """Blank every index of a folder that no process has open.

    Raises:
        UnknownLayout: If a file does not have the expected layout.
        OSError: If a file cannot be read or written.
    """
    for index in _written(folder):
        blank(Path(index))


def _written(folder: Path) -> dict[str, int]:
    """Return the folders of indexes, each with the time its rows were last written."""
    found = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                found[entry.path] = _last_written(entry.path)
    return found


def _last_written(index: str) -> int:
    return os.stat(f"{index}/{ROWS_FILE}").st_mtime_ns  # noqa: PTH116 - half as fast, by the thousand


def blank(index: Path) -> None:
    """Overwrite the places of one index that have no row.

    Raises:
        UnknownLayout: If its files do not have the expected layout; nothing was changed.
        OSError: If they cannot be read or written.
    """
    rows, row_bytes = _layout(index / "header.bin")
    parts = {index / ROWS_FILE: rows * row_bytes, index / "length.bin": rows * LENGTH_BYTES}
    for path, used in parts.items():
        if path.stat(follow_symlinks=False).st_size < used:
            raise UnknownLayout(f"{path.name} is shorter than the {rows} rows it should hold")
    for path, used in parts.items():
        _zero(path, used)


def _layout(header: Path) -> tuple[int, int]:
    """Read how many rows an index stores, and how many bytes each takes."""
    data = read_regular(header)
    if len(data) < HEADER.size:
        raise UnknownLayout("header.bin is cut short")
    version, _, places, rows, row_bytes = HEADER.unpack_from(data)
    if version != VERSION or rows > places or not row_bytes:
        raise UnknownLayout("header.bin is damaged, or has a layout that memento does not know")
    return rows, row_bytes


def _zero(path: Path, start: int) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        before = os.fstat(fd)
        if (unused := before.st_size - start) > 0:
            os.pwrite(fd, bytes(unused), start)
        # Clocks of file systems advance every few milliseconds; a later write must be visible.
        os.utime(fd, ns=(before.st_atime_ns, before.st_mtime_ns - SECOND))
    finally:
        os.close(fd)
