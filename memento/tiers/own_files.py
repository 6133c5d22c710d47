"""Tell the store's own files from those of others that have the same names.

`chroma` is the folder that Chroma's own examples use, and `short.json` is a name that anybody may
choose. A name proves nothing, so nothing is deleted for its name alone: a folder or a copy has to
bear what only memento writes.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import struct
from datetime import datetime
from pathlib import Path

from memento import layout
from memento.clock import in_name, system_clock
from memento.ledger.files import read_regular, sync_folder
from memento.ledger.schema import APPLICATION_ID
from memento.tiers.folder_stamp import StampUnreadable, read_stamp
from memento.tiers.ownership import is_lock

MARK = "memento.json"
"""File in a Chroma folder of memento's that says whose it is; it outlives damage to Chroma's."""
_CONTENT = b'{"made_by": "memento"}\n'
_HEADER = struct.Struct(">16s52xI")
"""SQLite's header: the magic string, and the application's number at byte 68."""

_STAMP = layout.stamp_of(Path(layout.CHROMA)).name
_TOLD_BY = {
    layout.SNAPSHOT: re.compile(rb'"content": \{"revs": |"content_hash": "[0-9a-f]{64}"'),
    _STAMP: re.compile(rb'\{"identity": ?".+"unclean": ?\d', re.DOTALL),
}
"""Content that every copy of a file of ours has, damaged or not, and no other file."""

logger = logging.getLogger("memento.tiers")


def mark(folder: Path) -> None:
    """Put memento's mark into a Chroma folder, durably; does nothing if it bears it.

    Raises:
        OSError: If it cannot be written.
    """
    path = folder / MARK
    if _is_mark(path):
        return
    path.unlink(missing_ok=True)  # cut off by a crash
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(_CONTENT)
        file.flush()
        os.fsync(file.fileno())


def bears_mark(folder: Path) -> bool:
    """Tell whether memento made a Chroma folder, or adopted it; an empty one has nothing to lose.

    Raises:
        OSError: If it cannot be looked into.
    """
    return folder.is_dir() and (_is_mark(folder / MARK) or not any(folder.iterdir()))


def _is_mark(path: Path) -> bool:
    try:
        return read_regular(path, len(_CONTENT) + 1) == _CONTENT
    except FileNotFoundError:
        return False


def set_aside(path: Path, now: datetime | None = None) -> Path | None:
    """Rename a folder or file out of the way, and drop what the store set aside before.

    Only a folder that bears the store's mark is ever dropped.

    Args:
        path: The folder or file; harmless if there is none.
        now: The moment that goes into the new name; None is the present.

    Returns:
        Where it is now, or None if there was nothing.

    Raises:
        OSError: If it cannot be renamed.
    """
    if not os.path.lexists(path):
        return None
    for old in path.parent.glob(f"{path.name}.bad-*"):
        _drop(old)
    when = system_clock() if now is None else now
    target = path.with_name(f"{path.name}.bad-{in_name(when)}")
    path.rename(target)
    sync_folder(path.parent)
    return target


def _drop(old: Path) -> None:
    if not (is_copy(old) and old.is_dir()):
        logger.warning("%s does not bear the mark of a store; it is left alone", old)
        return
    shutil.rmtree(old, ignore_errors=True)
    if old.exists():
        logger.warning("could not remove %s, which is no longer needed", old)


def is_ours(folder: Path) -> bool:
    """Tell whether the Chroma folder at the place of the store's is the store's, or is absent.

    Raises:
        OSError: If it cannot be looked into.
    """
    return not os.path.lexists(folder) or bears_mark(folder)


def is_copy(path: Path) -> bool:
    """Tell whether a file or folder of the store's folder is a copy that the store set aside.

    Raises:
        OSError: If it cannot be read.
    """
    name = path.name
    if not layout.ASIDE.fullmatch(name) or layout.IN_USE.fullmatch(name) or path.is_symlink():
        return False
    if layout.UNFINISHED.fullmatch(name):
        return True
    if path.is_dir():
        return name.startswith(f"{layout.CHROMA}.bad-") and bears_mark(path)
    return path.is_file() and _holds_ours(path)


def _holds_ours(path: Path) -> bool:
    name = path.name.lstrip(".")
    if name.startswith(f"{layout.LEDGER}."):
        return _is_ledger(path)
    for file in _TOLD_BY:
        if name.startswith(f"{file}."):
            return _is_told(file, read_regular(path))
    return False


def _is_told(file: str, data: bytes) -> bool:
    """Tell whether this is, or was, such a file of the store's; zeros have nothing to lose."""
    return not data.strip(b"\0") or _TOLD_BY[file].search(data) is not None


def _is_ledger(path: Path) -> bool:
    """Tell a copy of a ledger, or what SQLite keeps beside one, by the number in its header."""
    for suffix in layout.BESIDE:
        if path.name.endswith(suffix):
            path = path.with_name(path.name.removesuffix(suffix))
    if not path.is_file():
        return False
    head = read_regular(path, _HEADER.size)
    if len(head) < _HEADER.size:
        return not head
    magic, application = _HEADER.unpack(head)
    return bool(magic == b"SQLite format 3\0" and application == APPLICATION_ID)


def left_alone(root: Path) -> list[str]:
    """Name what has a name of the store's or of its copies, and does not prove to be the store's.

    Raises:
        OSError: If the folder cannot be looked into.
    """
    aside = [path for path in root.iterdir() if layout.ASIDE.fullmatch(path.name)]
    found = [p for p in aside if not layout.IN_USE.fullmatch(p.name) and not is_copy(p)]
    folder = root / layout.CHROMA
    stamp = layout.stamp_of(folder)
    told = read_stamp(stamp)
    if not is_ours(folder):
        found.append(folder)
    if isinstance(told, StampUnreadable) and not is_stamp(stamp):
        found.append(stamp)
    if not is_lock(lock := layout.lock_of(folder)):
        found.append(lock)
    return sorted(path.name for path in found)


def is_stamp(path: Path) -> bool:
    """Tell whether a file is a stamp, damaged or not; an absent one counts as one.

    Raises:
        OSError: If it cannot be read.
    """
    try:
        data = read_regular(path)
    except FileNotFoundError:
        return True
    return _is_told(_STAMP, data)
