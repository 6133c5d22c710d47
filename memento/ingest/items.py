"""The files behind what a user names: a file, a pattern, a folder, an archive, standard input."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from glob import glob, has_magic
from pathlib import Path, PurePosixPath
from stat import S_IFMT, S_IFREG
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast
from weakref import finalize

from memento.base.files import open_regular
from memento.check import MAX_DEPTH
from memento.errors import InvalidInput
from memento.ingest.source import FilePlace, Item

MEMBERS = 200_000
"""Maximum number of files in an archive or a folder."""
MEMBER_BYTES = 4 * 1024**3
"""Maximum size of a file of an archive, unpacked."""
RATIO, SMALL = 200, 1 << 20
"""How many times longer than packed a file of an archive may be, unless it is small."""
_HELD = 16 * 1024 * 1024
"""What of standard input is held in memory; the rest is in a file without a name."""


def found(named: str | Path) -> list[Item]:
    """Return the files behind a name, in order of their paths.

    Folders and files whose name begins with a dot are skipped, and links that lead out of a folder.

    Args:
        named: A file, a pattern such as ``notes/*.md``, a folder, a ``.zip``, or ``-`` for standard
            input.

    Raises:
        InvalidInput: If there is nothing by that name, or an archive is damaged or not safe to
            unpack.
    """
    path = Path(named)
    if str(named) == "-":
        return [_standard_input()]
    if "\0" in str(named):
        raise InvalidInput("path", "holds a NUL character")
    if path.is_dir():
        return _in_folder(path)
    if not path.exists() and has_magic(str(named)):
        every = sorted(glob(str(named), recursive=True))  # noqa: PTH207 - it may be absolute
        return [item for one in every if not Path(one).is_dir() for item in found(Path(one))]
    if path.is_file() and _is_zip(path):
        return _in_archive(path)
    return [Item.of(path)]


def _standard_input() -> Item:
    """Keep what comes by standard input, since it is read more than once."""
    import sys  # noqa: PLC0415 - so that a test may put another one there

    spool = SpooledTemporaryFile(_HELD)  # noqa: SIM115 - it lives as long as its item
    source = sys.stdin.buffer
    for data in iter(lambda: source.read(1 << 20), b""):
        spool.write(data)
    size = spool.tell()

    @contextmanager
    def again() -> Iterator[BinaryIO]:
        spool.seek(0)
        yield cast("BinaryIO", spool)

    finalize(again, spool.close)
    return Item("stdin", again, size)


def _in_folder(folder: Path) -> list[Item]:
    root = Path(os.path.realpath(folder))
    tree: dict[str, Item] = {}
    for path in _walk(root):
        within = path.relative_to(root)
        inner = f"{root.name}/{within.as_posix()}"
        size = path.stat().st_size
        tree[inner] = Item(
            inner, partial(_opened, path), size, path.parent.name, tree, typed=str(folder / within)
        )
        if len(tree) > MEMBERS:
            raise FilePlace(str(folder)).error(
                f"has more than {MEMBERS:,} files; give a part of it"
            )
    return [*tree.values()]


def _opened(path: Path) -> BinaryIO:
    return cast("BinaryIO", open_regular(path))


def _walk(root: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(place, name)
            inside = root in Path(os.path.realpath(path)).parents
            if not name.startswith(".") and inside and path.is_file():
                yield path


def _is_zip(path: Path) -> bool:
    with Item.of(path).open() as stream:
        return stream.read(4) in (b"PK\x03\x04", b"PK\x05\x06")


def _in_archive(path: Path) -> list[Item]:
    place = FilePlace(str(path))
    file = open_regular(path)
    try:
        archive = zipfile.ZipFile(file)
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        file.close()
        raise place.error(f"is no archive that can be unpacked: {error}") from error
    finalize(archive, file.close)  # its items read it for as long as they live
    members = [one for one in archive.infolist() if not one.is_dir()]
    if any(one.filename == "[Content_Types].xml" for one in members):
        raise place.error("is a Word, Excel or PowerPoint file: save it as text, Markdown or CSV")
    if len(members) > MEMBERS:
        raise place.error(f"has more than {MEMBERS:,} files")
    tree: dict[str, Item] = {}
    for one in members:
        _check_member(one, place)
        inner = PurePosixPath(path.name, one.filename)
        if not any(part.startswith((".", "__MACOSX")) for part in inner.parts[1:]):
            raw = partial(_unpacked, archive, one)
            tree[str(inner)] = Item(
                str(inner),
                raw,
                one.file_size,
                inner.parent.name,
                tree,
                typed=str(path / one.filename),
            )
    return [*tree.values()]


def _check_member(one: zipfile.ZipInfo, place: FilePlace) -> None:
    """Refuse a member whose name leads elsewhere, or that unpacks to far more than it should."""
    here = place.at(one.filename[:200])
    parts = one.filename.replace("\\", "/").split("/")
    if one.filename.startswith(("/", "\\")) or ".." in parts or ":" in parts[0]:
        raise here.error("has a name that leads out of the archive; it was not unpacked")
    if len(parts) > MAX_DEPTH:
        raise here.error(f"lies more than {MAX_DEPTH} folders deep")
    if one.file_size > MEMBER_BYTES:
        raise here.error(f"unpacks to more than {MEMBER_BYTES:,} bytes; unpack it yourself")
    if one.file_size > SMALL and one.file_size > RATIO * max(one.compress_size, 1):
        raise here.error(f"unpacks to more than {RATIO} times its size; unpack it yourself")
    kind = S_IFMT(one.external_attr >> 16)  # none if it was not packed on a Unix
    if kind not in (0, S_IFREG):
        raise here.error("is a link or a device, and no file")


def _unpacked(archive: zipfile.ZipFile, one: zipfile.ZipInfo) -> BinaryIO:
    try:
        return cast("BinaryIO", archive.open(one))
    except (RuntimeError, NotImplementedError) as error:  # a password, an unknown method
        raise OSError(str(error)) from error
