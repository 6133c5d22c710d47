"""The stamp beside a Chroma folder, which tells whether the folder can be trusted.

Nothing here opens Chroma. `judge` is pure; the other functions read and write files.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import zlib
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memento.ledger.files import read_regular, sync_folder

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

logger = logging.getLogger("memento.tiers")

FORMAT = 2
"""Version of memento's layout of a Chroma folder; a folder with another one is rebuilt."""

CRC_BYTES = 64 * 1024
"""Files up to this size are also compared by CRC-32; reading more would slow a clean start."""

MAX_UNCLEAN = 2
"""Number of unclean ends in a row after which a folder is rebuilt without a probe: the probe may
have missed the fault that kills the host."""

Facts = tuple[int, int, int | None]
"""Size in bytes, modification time in ns, CRC-32 (small files only)."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """The facts about a Chroma folder when it was last opened or closed.

    Attributes:
        identity: Name of the embedder whose vectors it holds.
        dim: Length of those vectors.
        chroma: Version of chromadb that wrote it.
        clean: Whether it was closed in order; `files` and `rows` are known only then.
        unclean: Opens in a row without a clean end or a long service, >= 0.
        mark: A random word, new at each open, that the ledger also stores: a copy of the folder
            from an earlier day has an earlier word.
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


class StampUnreadable(ValueError):
    """The file exists but is not a stamp."""


class Trust(StrEnum):
    """What is done with a Chroma folder before anything opens it."""

    ANEW = "anew"
    """Set aside what is there, and rebuild: it is not ours, or it may have killed its owners."""
    CHECK = "check"
    """Ours, but not closed in order, or changed since: look at it in a child process."""
    OPEN = "open"
    """Ours and unchanged."""


def judge(
    stamp: Stamp | StampUnreadable | None,
    files: Mapping[str, Facts],
    expected: Stamp,
    marks: Collection[str],
) -> tuple[Trust, str]:
    """Decide how far to trust a folder. Pure.

    Args:
        stamp: The stamp; an error if unreadable, None if missing.
        files: The files that exist now.
        expected: A stamp with the identity, dimension and Chroma version in use.
        marks: The marks of the folder that the ledger fed last.

    Returns:
        The trust and the reason as a sentence.
    """
    if not files:
        return Trust.ANEW, "new" if stamp is None else "the folder is gone or empty"
    if not isinstance(stamp, Stamp):
        return Trust.ANEW, "its stamp is missing" if stamp is None else str(stamp)
    if foreign := _why_foreign(stamp, expected, marks):
        return Trust.ANEW, foreign
    if not stamp.clean:
        trust = Trust.ANEW if stamp.unclean >= MAX_UNCLEAN else Trust.CHECK
        return trust, f"not closed in order ({stamp.unclean} times in a row)"
    if suspect := _why_suspect(stamp, files, expected):
        return Trust.CHECK, suspect
    return Trust.OPEN, "as it was left"


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
    descriptor of an SQLite file drops the locks that the client holds on it.
    """
    found = {}
    for directory, _, names in os.walk(folder):
        for name in names:
            path = Path(directory, name)
            with contextlib.suppress(FileNotFoundError):  # a journal may vanish at any time
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
        return _parse(json.loads(read_regular(path)))
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
    """Replace a stamp atomically: a reader sees the old or the new one, never a part.

    Args:
        path: The stamp file.
        stamp: The stamp to write.
        durable: Whether it must survive a power cut from now on.

    Raises:
        OSError: If it cannot be written.
    """
    draft = path.with_name(f"{path.name}.tmp")
    draft.unlink(missing_ok=True)  # left by a killed writer, or a link that another user put there
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(draft, flags, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(json.dumps(asdict(stamp), separators=(",", ":")).encode())
        file.flush()
        if durable:
            os.fsync(file.fileno())
    draft.replace(path)
    if durable:
        sync_folder(path.parent)


def make_private(folder: Path) -> None:
    """Remove the rights of other users on the folder and all in it, as far as possible.

    Chroma creates its files readable by all; a umask would change the whole process. Until this is
    called nobody else reaches them, as the folder itself is its owner's alone. Chroma makes files
    when a folder is opened, at the first rows of an index, and when an index is first written in
    full; a later write, a search and a removal make none.
    """
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
    for directory, folders, names in os.walk(folder):
        for name, mode in [*((f, 0o700) for f in folders), *((n, 0o600) for n in names)]:
            path = Path(directory, name)
            with contextlib.suppress(OSError):
                if not path.is_symlink():  # its target is not in this folder
                    path.chmod(mode)
