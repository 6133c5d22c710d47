"""Survey the files that a user names: recognise each and read it through, write nothing.

Pages, pictures and tables beside an export repeat it; they are left out. So are files of a folder
or an archive that cannot be read.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from functools import partial
from glob import glob, has_magic
from pathlib import Path, PurePosixPath
from stat import S_IFMT, S_IFREG
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, cast
from weakref import finalize

from memento.base.files import open_regular
from memento.base.layout import is_own
from memento.base.scopes import parse_scope
from memento.check import MAX_DEPTH, member
from memento.errors import InvalidInput
from memento.ingest.formats import Format, format_of, read_item
from memento.ingest.readers.common import How
from memento.ingest.source import FilePlace, Item
from memento.protocols import Progress
from memento.types import Draft, Trust, TrustName

MEMBERS = 200_000
"""Maximum number of files in an archive or a folder."""
MEMBER_BYTES = 4 * 1024**3
"""Maximum size of a file of an archive, unpacked."""
RATIO, SMALL = 200, 1 << 20
"""Maximum ratio of unpacked to packed size of a file in an archive, and size below which any is
allowed, in bytes."""
_HELD = 16 * 1024 * 1024
"""Bytes of standard input that are held in memory; more goes to an unnamed file."""


def found(named: str | Path) -> list[Item]:
    """Return the files that a name refers to, sorted by path.

    In folders, names that begin with a dot, links that lead out of the folder, and a store's own
    files are skipped.

    Args:
        named: A file, a pattern such as ``notes/*.md``, a folder, a ``.zip``, or ``-`` for standard
            input.

    Raises:
        InvalidInput: If the file does not exist, or an archive is damaged or not safe to unpack.
    """
    path = Path(named)
    if str(named) == "-":
        return [_standard_input()]
    if "\0" in str(named):
        raise InvalidInput("path", "contains a NUL character")
    if path.is_dir():
        return _in_folder(path)
    if not path.exists() and has_magic(str(named)):
        every = sorted(glob(str(named), recursive=True))  # noqa: PTH207 - it may be absolute
        files = [Path(one) for one in every if not Path(one).is_dir()]
        return [item for one in files if not _in_a_store(one) for item in found(one)]
    if path.is_file() and _is_zip(path):
        return _in_archive(path)
    return [Item.of(path)]


def _standard_input() -> Item:
    """Return standard input as an item; it is buffered, as items are read more than once."""
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
                f"has more than {MEMBERS:,} files; specify a subfolder"
            )
    return [*tree.values()]


def _opened(path: Path) -> BinaryIO:
    return cast("BinaryIO", open_regular(path))


def _in_a_store(path: Path) -> bool:
    return any(map(is_own, (path, *path.parents)))


def _walk(root: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if _is_shown(Path(place, name)))
        for name in sorted(names):
            path = Path(place, name)
            inside = root in Path(os.path.realpath(path)).parents
            if inside and _is_shown(path) and path.is_file():
                yield path


def _is_shown(path: Path) -> bool:
    return not path.name.startswith(".") and not is_own(path)


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
        raise place.error(f"is not an archive that can be unpacked: {error}") from error
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
    """Refuse a member that is a link, lies outside or too deep, or unpacks to too much."""
    here = place.at(one.filename[:200])
    parts = one.filename.replace("\\", "/").split("/")
    if one.filename.startswith(("/", "\\")) or ".." in parts or ":" in parts[0]:
        raise here.error("has a path that leads out of the archive; it was not unpacked")
    if len(parts) > MAX_DEPTH:
        raise here.error(f"is nested more than {MAX_DEPTH} folders deep")
    if one.file_size > MEMBER_BYTES:
        raise here.error(f"unpacks to more than {MEMBER_BYTES:,} bytes; unpack it yourself")
    if one.file_size > SMALL and one.file_size > RATIO * max(one.compress_size, 1):
        raise here.error(f"unpacks to more than {RATIO} times its size; unpack it yourself")
    kind = S_IFMT(one.external_attr >> 16)  # 0 if it was not packed on Unix
    if kind not in (0, S_IFREG):
        raise here.error("is a link or a device, not a file")


def _unpacked(archive: zipfile.ZipFile, one: zipfile.ZipInfo) -> BinaryIO:
    try:
        return cast("BinaryIO", archive.open(one))
    except (RuntimeError, NotImplementedError) as error:  # a password, an unknown method
        raise OSError(str(error)) from error


@dataclass(frozen=True, eq=False)
class Found:
    """A file, or the files of an export, to be read together.

    Attributes:
        name: Its name in a report.
        format: Its format; None if it cannot be read.
        items: Its files.
        count: Number of drafts in them.
        notes: Remarks about how the file was read.
        problem: Why it cannot be read; ``""`` if it can.
        left_out: Whether it was found in a folder rather than specified by the user, so leaving it
            out is not an error.
    """

    name: str
    format: Format | None
    items: tuple[Item, ...]
    count: int = 0
    notes: tuple[str, ...] = ()
    problem: str = ""
    left_out: bool = False


@dataclass(frozen=True)
class Survey:
    """The files that a user specified, and how to read them.

    Attributes:
        found: The files and exports, in order.
        scope: Scope of memories that do not specify one.
        trust: Trust class of the files.
        name: Name of the source, if it is a single file.
        how: Options of the readers.
    """

    found: tuple[Found, ...]
    scope: str
    trust: Trust
    name: str | None
    how: How

    def drafts(self, one: Found, zone: tzinfo = UTC) -> Iterator[Draft]:
        """Yield the drafts of a file or an export; times that name no time zone are in ``zone``."""
        how = replace(self.how, zone=zone)
        for item in one.items if one.format else ():
            assert one.format is not None  # noqa: S101 - for the type
            yield from read_item(
                item, one.format, how, name=self.name, scope=self.scope, trust=self.trust
            )


def survey(
    *files: str | Path,
    format: Format | str | None = None,  # noqa: A002 - the word for it
    name: str | None = None,
    scope: str = "",
    trust: Trust | TrustName = Trust.USER,
    me: str | None = None,
    map: Mapping[str, str] | None = None,  # noqa: A002 - as on the command line
    progress: Progress | None = None,
) -> Survey:
    """Detect the format of files and read them completely, before anything is written.

    Args:
        files: Files, patterns such as ``notes/*.md``, folders, ``.zip`` archives, or ``-`` for
            standard input.
        format: As for ``read``; so are the other arguments.
        name: Name of the source, if it is a single file.
        scope: Scope of the memories.
        trust: Trust class of the files.
        me: The user's name in chats with several people.
        map: Fields of a draft to columns or fields of the file.
        progress: Called with the number of bytes read and the total.

    Returns:
        The contents of the files. A file that cannot be read is listed with its problem and does
        not raise an error.

    Raises:
        InvalidInput: If an argument is invalid.
    """
    how = How(me, {} if map is None else map)
    given = None if format is None else member(Format, "format", format)
    looked = Survey((), parse_scope(scope), member(Trust, "trust", trust), name, how)
    every = [one for named in files for one in _things(named, given, how)]
    if name is not None and sum(len(one.items) for one in every) > 1:
        raise InvalidInput("name", "applies to a single file, but there are several")
    watch = _Watch(sum(item.size for one in every for item in one.items), progress)
    counted = (_counted(looked, one, watch) for one in every)
    return replace(looked, found=tuple(counted))


class _Watch:
    """Reports the progress of reading all files."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._done, self._total, self._progress = 0, total, progress
        self._to(0)

    def _to(self, more: int) -> None:
        self._done = min(self._done + more, self._total)
        if self._progress is not None and self._total:
            self._progress(self._done, self._total)

    def over(self, one: Found) -> Found:
        """Return the same with files that report to this watch."""
        return replace(one, items=tuple(replace(item, told=self._to) for item in one.items))


def _things(named: str | Path, given: Format | None, how: How) -> Iterator[Found]:
    """Yield what a name stands for: single files, and the files of an export as one."""
    try:
        items = found(named)
    except InvalidInput as error:
        yield Found(str(named), None, (), problem=error.problem)
        return
    if not items:
        yield Found(str(named), None, (), problem=f"{named}: contains no files")
    alone = len(items) == 1 and "/" not in items[0].name
    looked = [_looked(item, given, how, alone=alone) for item in items]
    exports = {one.items[0]: one for one in looked if one.format in _TREES and not alone}
    roots = {_root(item) for item in exports}
    rest = [one for one in looked if one.items[0] not in exports]
    beside = [one for one in rest if _under(one.items[0], roots)]
    yield from (one for one in rest if one not in beside)
    kept: dict[tuple[str, Format | None], list[Item]] = {}
    for item, one in exports.items():
        kept.setdefault((_root(item), one.format), []).append(item)
    for (root, format_), several in kept.items():
        yield Found(several[0].name if len(several) == 1 else root, format_, tuple(several))
    if beside:
        said = f"{len(beside)} other files of the export: pictures, pages and lists"
        yield Found(str(named), None, (), problem=said, left_out=True)


def _under(item: Item, roots: Iterable[str]) -> bool:
    return any(item.name.startswith(f"{root}/") for root in roots)


_TREES = (Format.CHATGPT, Format.CLAUDE, Format.SLACK, Format.TELEGRAM, Format.WHATSAPP)
"""Exports that consist of several files."""
_PEOPLE = (Format.SLACK, Format.TELEGRAM, Format.WHATSAPP, Format.MAIL)
"""Formats that do not name the user, so that ``me`` is needed."""


def _root(item: Item) -> str:
    """Return the folder or archive that holds an export, by one of its files."""
    place = PurePosixPath(item.name)
    root = place.parent.parent if str(place.parent.parent / "users.json") in item.tree else None
    return str(root or place.parent)


def _looked(item: Item, given: Format | None, how: How, *, alone: bool) -> Found:
    try:
        return Found(item.name, format_of(item, given, how), (item,))
    except InvalidInput as error:
        return Found(item.name, None, (item,), problem=error.problem, left_out=not alone)


def _counted(looked: Survey, one: Found, watch: _Watch) -> Found:
    """Read a file or export through and count its drafts."""
    if one.format is None:
        return one
    how = replace(looked.how, notes={})
    try:
        mine = [draft.role == "user" for draft in replace(looked, how=how).drafts(watch.over(one))]
    except InvalidInput as error:
        return replace(one, format=None, problem=error.problem)
    if how.me is not None and one.format in _PEOPLE and not any(mine):
        how.note(f"it has no participant named {how.me}")
    return replace(one, count=len(mine), notes=tuple(how.notes))
