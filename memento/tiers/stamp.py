"""What stands beside a Chroma folder: the stamp that says whether it can be trusted.

Nothing here opens Chroma. `judge` is pure; the rest reads and writes files.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import shutil
import zlib
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

logger = logging.getLogger("memento.tiers")

FORMAT = 2
"""Version of how memento lays out a Chroma folder; another one is rebuilt."""

CRC_BYTES = 64 * 1024
"""Files up to this size are also compared by CRC-32; reading more would slow a clean start."""

MAX_UNCLEAN = 2
"""Unclean ends in a row after which a folder is rebuilt unseen: a probe may have missed what kills
the host."""

Facts = tuple[int, int, int | None]
"""Size in bytes, modification time in ns, CRC-32 (small files only)."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What was known about a Chroma folder when it was last opened or closed.

    Attributes:
        identity: Name of the embedder whose vectors it holds.
        dim: Length of those vectors.
        chroma: Version of chromadb that wrote it.
        clean: Whether it was closed in order; `files` and `rows` are only known then.
        unclean: Opens in a row that had no clean end and no long service, >= 0.
        mark: A random word, another one at each open, that the ledger knows too: a copy of the
            folder from an earlier day bears an earlier word.
        files: Path inside the folder to its facts.
        rows: Collection name to its number of rows.
        format: Layout version.
    """

    identity: str
    dim: int
    chroma: str
    clean: bool = False
    unclean: int = 0
    mark: str = ""
    files: Mapping[str, Facts] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    format: int = FORMAT


class Marks(Protocol):
    """Where the caller keeps the marks of the folder that it fed; has to survive a crash."""

    def read(self) -> Sequence[str]:
        """Return the marks last written; none before the first."""
        ...

    def write(self, marks: Sequence[str]) -> None:
        """Keep these marks, one or two, in place of those before."""
        ...


class StampUnreadable(ValueError):
    """The stamp is there but is not one."""


class Trust(StrEnum):
    """How far a Chroma folder can be trusted before it is opened."""

    NEW = "new"
    """Nothing there yet."""
    FOREIGN = "foreign"
    """Another embedder's, another layout's or nobody's: set aside and rebuild."""
    SUSPECT = "suspect"
    """Ours, but not closed in order or changed since: look at it from a child process."""
    FATAL = "fatal"
    """Ours, and it may be what killed its owners: set aside unseen and rebuild."""
    CLEAN = "clean"
    """Ours and as we left it."""


def judge(
    stamp: Stamp | StampUnreadable | None,
    files: Mapping[str, Facts],
    expected: Stamp,
    marks: Collection[str],
) -> tuple[Trust, str]:
    """Decide how far to trust a folder. Pure.

    Args:
        stamp: What the stamp says; an error if unreadable, None if there is none.
        files: The files that are there now.
        expected: A stamp with the identity, dimension and Chroma version in use.
        marks: The marks of the folder that the ledger fed last.

    Returns:
        The trust and a sentence saying why.
    """
    if not files:
        return Trust.NEW, "new" if stamp is None else "the folder is gone or empty"
    if not isinstance(stamp, Stamp):
        return Trust.FOREIGN, "its stamp is missing" if stamp is None else str(stamp)
    if foreign := _why_foreign(stamp, expected, marks):
        return Trust.FOREIGN, foreign
    if not stamp.clean:
        kind = Trust.FATAL if stamp.unclean >= MAX_UNCLEAN else Trust.SUSPECT
        return kind, f"not closed in order ({stamp.unclean} times in a row)"
    if suspect := _why_suspect(stamp, files, expected):
        return Trust.SUSPECT, suspect
    return Trust.CLEAN, "as it was left"


def _why_foreign(stamp: Stamp, expected: Stamp, marks: Collection[str]) -> str | None:
    if stamp.format != expected.format:
        return f"written in layout {stamp.format}, not {expected.format}"
    if (stamp.identity, stamp.dim) != (expected.identity, expected.dim):
        return f"holds vectors of {stamp.identity} ({stamp.dim} dimensions)"
    if stamp.mark not in marks:
        return "a copy from another day, or another store's"
    return None


def _why_suspect(stamp: Stamp, files: Mapping[str, Facts], expected: Stamp) -> str | None:
    if stamp.chroma != expected.chroma:
        return f"written by chromadb {stamp.chroma}, now {expected.chroma}"
    names = files.keys() | stamp.files.keys()
    changed = sorted(name for name in names if files.get(name) != stamp.files.get(name))
    return f"changed since it was closed: {', '.join(changed[:5])}" if changed else None


def manifest(folder: Path) -> dict[str, Facts]:
    """List every file in a folder with its facts; empty if there is no folder.

    Call it only while no Chroma client of this process has the folder open: closing a second
    descriptor of an SQLite file drops the locks the client holds on it.
    """
    found = {}
    for directory, _, names in os.walk(folder):
        for name in names:
            path = Path(directory, name)
            with contextlib.suppress(FileNotFoundError):  # a journal may vanish meanwhile
                found[str(path.relative_to(folder))] = _facts(path)
    return found


def _facts(path: Path) -> Facts:
    info = path.stat(follow_symlinks=False)
    small = info.st_size <= CRC_BYTES and path.is_file() and not path.is_symlink()
    return info.st_size, info.st_mtime_ns, zlib.crc32(path.read_bytes()) if small else None


def read_stamp(path: Path) -> Stamp | StampUnreadable | None:
    """Read a stamp; an unreadable one is returned as the error, an absent one as None.

    Raises:
        OSError: If the file is there and cannot be read.
    """
    try:
        return _parse(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        return StampUnreadable(f"its stamp is unreadable ({type(error).__name__})")


def _parse(data: dict[str, Any]) -> Stamp:
    return Stamp(
        identity=str(data["identity"]),
        dim=int(data["dim"]),
        chroma=str(data["chroma"]),
        clean=data["clean"] is True,
        unclean=int(data["unclean"]),
        mark=str(data["mark"]),
        files={name: (int(s), int(m), c) for name, (s, m, c) in data["files"].items()},
        rows={name: int(rows) for name, rows in data["rows"].items()},
        format=int(data["format"]),
    )


def write_stamp(path: Path, stamp: Stamp, *, durable: bool = True) -> None:
    """Replace a stamp as a whole: a reader sees the old or the new one, never half.

    Args:
        path: The stamp file.
        stamp: What to write.
        durable: Whether it has to survive a power cut from here on.

    Raises:
        OSError: If it cannot be written.
    """
    draft = path.with_name(f"{path.name}.tmp")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(json.dumps(asdict(stamp), separators=(",", ":")).encode())
        file.flush()
        if durable:
            os.fsync(file.fileno())
    draft.replace(path)
    if durable:
        _sync_folder(path.parent)


def set_aside(folder: Path, now: datetime | None = None) -> Path | None:
    """Rename a folder out of the way, keeping this one and dropping any set aside before.

    Args:
        folder: The folder; harmless if there is none.
        now: The moment that goes into the new name; None is the present.

    Returns:
        Where it is now, or None if there was nothing.

    Raises:
        OSError: If it cannot be renamed.
    """
    if not os.path.lexists(folder):
        return None
    for old in folder.parent.glob(f"{folder.name}.bad-*"):
        shutil.rmtree(old, ignore_errors=True)
        if old.exists():
            logger.warning("could not remove %s, which is no longer needed", old)
    when = datetime.now(UTC) if now is None else now
    target = folder.with_name(f"{folder.name}.bad-{when:%Y%m%dT%H%M%S%fZ}")
    folder.rename(target)
    _sync_folder(folder.parent)
    return target


def make_private(folder: Path) -> None:
    """Take the folder and all in it away from other users, as far as possible.

    Chroma makes its files readable by all; a process-wide umask would be no way to stop it.
    """
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
    for directory, folders, names in os.walk(folder):
        for name, mode in [*((f, 0o700) for f in folders), *((n, 0o600) for n in names)]:
            with contextlib.suppress(OSError):
                Path(directory, name).chmod(mode)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
