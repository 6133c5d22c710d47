"""What is in the files that a user names: each is recognised and read through, nothing is written.

Beside an export lie pages, pictures and tables that belong to it and say nothing new; they are left
out, and so is in a folder or an archive whatever cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from memento.base.scopes import parse_scope
from memento.check import member
from memento.errors import InvalidInput
from memento.ingest.formats import Format, format_of, read_item
from memento.ingest.items import found
from memento.ingest.readers.common import How
from memento.ingest.source import Item
from memento.protocols import Progress
from memento.types import Draft, Trust, TrustName


@dataclass(frozen=True, eq=False)
class Found:
    """One thing that is read: a file, or the files of an export.

    Attributes:
        name: What it is called in a report.
        format: How it is written; None if it cannot be read.
        items: Its files.
        count: Number of drafts in them.
        notes: Remarks about how the file was read.
        problem: Why it cannot be read; ``""`` if it can.
        left_out: Whether it was found in a folder rather than named by the user, so that leaving it
            out is no error.
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
    """The files that a user named, looked through, and how they are read.

    Attributes:
        found: What is in them, in order.
        scope: Scope of what names none itself.
        trust: How far the files are trusted.
        name: What a single file is called.
        how: Options of the readers.
    """

    found: tuple[Found, ...]
    scope: str
    trust: Trust
    name: str | None
    how: How

    def drafts(self, one: Found) -> Iterator[Draft]:
        """Read what is in a file or an export."""
        for item in one.items if one.format else ():
            assert one.format is not None  # noqa: S101 - for the type
            yield from read_item(
                item, one.format, self.how, name=self.name, scope=self.scope, trust=self.trust
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
    """Recognise files and read them through, as a check before anything is written.

    Args:
        files: Files, patterns such as ``notes/*.md``, folders, ``.zip`` archives, or ``-`` for
            standard input.
        format: As for ``read``; so are the other arguments.
        name: What the source is called, if it is one file.
        scope: Where its memories apply.
        trust: How far the files are trusted.
        me: The user's name in chats of several people.
        map: Fields of a draft to columns or fields of the file.
        progress: Called with the bytes read and the bytes of all files.

    Returns:
        What is in them. A file that cannot be read is in it with its problem; nothing is raised for
        it.

    Raises:
        InvalidInput: If an argument cannot be accepted.
    """
    how = How(me, {} if map is None else map)
    given = None if format is None else member(Format, "format", format)
    looked = Survey((), parse_scope(scope), member(Trust, "trust", trust), name, how)
    every = [one for named in files for one in _things(named, given, how)]
    if name is not None and sum(len(one.items) for one in every) > 1:
        raise InvalidInput("name", "names one file, and there are several")
    watch = _Watch(sum(item.size for one in every for item in one.items), progress)
    counted = (_counted(looked, one, watch) for one in every)
    return replace(looked, found=tuple(counted))


class _Watch:
    """Tells how much of all files was read."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._done, self._total, self._progress = 0, total, progress
        self._to(0)

    def _to(self, more: int) -> None:
        self._done = min(self._done + more, self._total)
        if self._progress is not None and self._total:
            self._progress(self._done, self._total)

    def over(self, one: Found) -> Found:
        """Return the same with files that are watched."""
        return replace(one, items=tuple(replace(item, told=self._to) for item in one.items))


def _things(named: str | Path, given: Format | None, how: How) -> Iterator[Found]:
    """Yield what is behind a name: files each by itself, and the files of an export together."""
    try:
        items = found(named)
    except InvalidInput as error:
        yield Found(str(named), None, (), problem=error.problem)
        return
    if not items:
        yield Found(str(named), None, (), problem=f"{named}: holds no files")
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
"""Exports that come with other files."""
_PEOPLE = (Format.SLACK, Format.TELEGRAM, Format.WHATSAPP, Format.MAIL)
"""Formats in which somebody has to say who the user is."""


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
    """Read it through."""
    if one.format is None:
        return one
    how = replace(looked.how, notes={})
    try:
        mine = [draft.role == "user" for draft in replace(looked, how=how).drafts(watch.over(one))]
    except InvalidInput as error:
        return replace(one, format=None, problem=error.problem)
    if how.me is not None and one.format in _PEOPLE and not any(mine):
        how.note(f"nobody in it is called {how.me}")
    return replace(one, count=len(mine), notes=tuple(how.notes))
