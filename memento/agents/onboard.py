"""Read a repository into a store: its documents, commit messages, and an outline of its files.

The source and id of each memory name its place in the repository, so that a second run adds what is
new and updates what changed. The text may be another person's: unless the user vouches for the
repository, it is quarantined.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from memento.base.layout import is_own
from memento.errors import InvalidInput
from memento.types import Draft, Kind, Source, Tier, Trust

if TYPE_CHECKING:
    from memento import MemoryManager
    from memento.protocols import Progress

COMMITS = 500
"""Maximum number of commits that are read, the newest first."""
FEWEST_WORDS = 12
"""Fewest words of a commit message that is read: shorter ones say what was done, not why."""
DOCUMENTS = 200
"""Maximum number of documents that are read, those nearest to the root first."""
_MOST_BYTES = 1 << 20
_MOST_FOLDERS = 40
_SUFFIXES = (".md", ".markdown", ".mdc", ".rst", ".txt")
_NAMES = ("readme", "contributing", "architecture", "agents", "claude", "gemini", "changelog")
_FOLDERS = ("docs", "doc", "adr", ".cursor", ".github")
_GIT = ("git", "--no-pager", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false")
_LOG = "--format=%H%x00%an%x00%aI%x00%B%x1e"
_SECONDS = 60


class Onboarded(NamedTuple):
    """What was learned from a repository.

    Attributes:
        documents: The documents by path, each with its number of parts.
        commits: Number of commits whose message is long enough to be read.
        files: Number of files in the outline.
        new: Number of new memories.
        unread: The documents that cannot be read, and why.
    """

    documents: dict[str, int]
    commits: int
    files: int
    new: int
    unread: dict[str, str]


def onboard(
    memory: MemoryManager, folder: Path, scope: str, trust: Trust, progress: Progress | None = None
) -> Onboarded:
    """Read a repository into a store.

    Args:
        memory: The manager of the store to use.
        folder: The folder of the repository.
        scope: Scope of the new memories.
        trust: How far it is trusted.
        progress: Called with the number of documents read and the total.

    Raises:
        InvalidInput: If there is no such folder, or git cannot list the files of a repository:
            what git ignores must not be read.
        StoreError: If something cannot be written.
    """
    if not folder.is_dir():
        raise InvalidInput("folder", f"{folder} is not a folder")
    before = _count(memory)
    name = scope.rpartition("/")[2] or folder.resolve().name
    files = _files(folder)
    chosen = sorted(filter(_is_document, files), key=lambda one: (one.count("/"), one))[:DOCUMENTS]
    read: dict[str, int] = {}
    unread: dict[str, str] = {}
    for number, path in enumerate(chosen, start=1):
        source = Source(trust, f"{name}:{path}")
        try:
            text = (folder / path).read_text(encoding="utf-8")
            parts = memory.documents.add(text, name=f"{name}:{path}", scope=scope, source=source)
        except (OSError, UnicodeDecodeError, InvalidInput) as error:
            unread[path] = str(error)
            continue
        read[path] = len(parts)
        if progress is not None:
            progress(number, len(chosen))
    commits = list(_commits(folder, name, scope, trust))
    memory.add_many(commits)
    if files:
        outline = f"Files of {name}: {'; '.join(_outline(files))}"
        source = Source(trust, f"{name}:")
        memory.add(
            outline, Tier.LONG, scope=scope, source=source, id=f"{name} outline", replace=True
        )
    new = _count(memory) - before
    return Onboarded(read, len(commits), len(files), new, unread)


def _count(memory: MemoryManager) -> int:
    now = memory.store.stats()
    return sum(now.tiers.values()) + sum(now.hidden.values())


def _git(folder: Path, *words: str) -> str | None:
    """Return the output of git; None if it fails or the folder is not a repository."""
    try:
        done = subprocess.run(  # noqa: S603 - no word of it is from the repository
            [*_GIT, "-C", str(folder), *words], capture_output=True, check=True, timeout=_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace")


def _files(folder: Path) -> list[str]:
    """List the files of a repository that git does not ignore, or those of another folder.

    A store's own files are left out.
    """
    known = _git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if known is not None:
        named = [path for path in known.split("\0") if path]
    elif any((one / ".git").exists() for one in (folder.resolve(), *folder.resolve().parents)):
        raise InvalidInput("folder", f"git cannot list {folder}; try `git -C {folder} status`")
    else:
        below = (path.relative_to(folder) for path in folder.rglob("*"))
        named = [
            path.as_posix() for path in below if not any(part[0] == "." for part in path.parts)
        ]
    return [path for path in named if _is_file(folder, path)]


def _is_file(folder: Path, path: str) -> bool:
    whole = folder / path
    inner = PurePosixPath(path)
    parts = (folder / one for one in (inner, *inner.parents))
    return whole.is_file() and not whole.is_symlink() and not any(map(is_own, parts))


def _is_document(path: str) -> bool:
    """Return whether a path looks like documentation, by its name, suffix and folder."""
    place = PurePosixPath(path)
    if place.suffix.lower() not in (*_SUFFIXES, ""):
        return False
    known = place.stem.lower() in _NAMES
    return known or (place.suffix != "" and place.parts[0].lower() in _FOLDERS)


def _commits(folder: Path, name: str, scope: str, trust: Trust) -> Iterator[Draft]:
    """Yield a draft for each of the newest commits with a message of `FEWEST_WORDS` or more."""
    log = _git(folder, "log", "--no-merges", "-n", str(COMMITS), _LOG) or ""
    for entry in log.split("\x1e"):
        fields = entry.strip("\n").split("\0")
        if len(fields) != len(("hash", "author", "date", "words")):
            continue
        digest, author, date, words = fields
        if len(words.split()) >= FEWEST_WORDS:
            yield Draft(
                words.strip()[:1000],
                Tier.LONG,
                kind=Kind.EPISODE,
                scope=scope,
                actor=" ".join(author.split())[:100] or None,
                source=Source(trust, f"git:{name}#{digest}"),
                occurred_at=datetime.fromisoformat(date),
                id=f"git {digest}",
            )


def _outline(files: list[str]) -> Iterator[str]:
    """Yield the files of the root, then each folder with its two commonest suffixes."""
    folders: dict[str, Counter[str]] = {}
    for path in files:
        place = PurePosixPath(path)
        top = "/".join(place.parts[:-1][:2])
        folders.setdefault(top, Counter())[place.suffix or place.name] += 1
    root = [path for path in files if "/" not in path]
    yield ", ".join(root[:_MOST_FOLDERS])
    for top in sorted(filter(None, folders), key=lambda one: -folders[one].total())[:_MOST_FOLDERS]:
        kinds = ", ".join(f"{count} {kind}" for kind, count in folders[top].most_common(2))
        yield f"{top}/ ({kinds})"
