"""Move a store: copy all of it into another one, of whatever engine, and compare the two.

The copy is an export in one file and its import. The file is removed at the end. A move that finds
it continues the interrupted one, unless the store was changed since: then the file is removed, as
it may hold what was erased. The store that is moved stays as it is.
"""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, cast

from memento.base import layout
from memento.errors import ArchiveDamaged, IdConflict, InvalidInput, LockedMemory, StoreError
from memento.ledger import meta, namespaces, replays
from memento.ledger.contract import Ledger, Transaction
from memento.ledger.opening import open_ledger
from memento.protocols import Progress
from memento.upkeep.export import Exported, export
from memento.upkeep.import_ import Imported, Sessions, import_from
from memento.upkeep.import_lines import Terms

_REFUSED = (InvalidInput, IdConflict, LockedMemory, ArchiveDamaged)
"""Errors of an import that come again whenever it is repeated."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A store that was copied into another one, and is the same there.

    Attributes:
        namespaces: Namespaces in each.
        memories: Memories in each, of every status.
        links: Number of links.
        events: Number of events.
        vectors: Copied vectors; other memories are embedded there.
        sha256: Digest of all that was compared, the same for both.
    """

    namespaces: int
    memories: int
    links: int
    events: int
    vectors: int
    sha256: str


def move(ledger: Ledger, to: str | Path, *, terms: Terms, progress: Progress | None) -> Moved:
    """Copy a store into an empty one; see ``StoreView.move``."""
    with closing(open_ledger(to)) as target:
        if target.root == ledger.root:
            raise InvalidInput("to", "is this store")
        file = _file(ledger, target)
        if file.exists() and _said_by(file) != _read(ledger, terms.now)[1]:
            file.unlink()
        if not file.exists():
            _refuse_if_used(target)
            export(ledger, file, only=None, now=terms.now, with_vectors=True, overwrite=False)
        _hand_over_secret(ledger, target)
        done = _taken(target, file, terms, progress)
        (here, said), (there, copied) = (_read(one, terms.now) for one in (ledger, target))
        if said != copied:
            file.unlink()
            problem = (
                f"differs from the store that was moved ({here.memories} memories and "
                f"{here.events} events"
                f" here, {there.memories} and {there.events} there): something was written in "
                "the meantime, or the store is damaged; empty the target and move again"
            )
            raise StoreError(target.path, problem)
        _hand_over_erased_turns(ledger, target)
        file.unlink()
        kept = here.namespaces, here.memories, here.links, here.events
        return Moved(*kept, done.vectors, said)


def _hand_over_secret(ledger: Ledger, target: Ledger) -> None:
    """Give the secret of a store to another one: only with it are erased turns recognised."""
    if (secret := ledger.read(namespaces.read)) is not None:
        target.write(lambda c: meta.put(c, namespaces.NAME, secret))


def _hand_over_erased_turns(ledger: Ledger, target: Ledger) -> None:
    """Let turns that were erased stay away from the other store, too; no export names them."""
    labels = dict(ledger.read(namespaces.every))
    gone = ledger.read(replays.all_erased)

    def job(connection: Transaction) -> None:
        known = {ns: namespaces.number(connection, labels[ns]) for ns in {ns for ns, _ in gone}}
        replays.take_over(connection, [(known[ns], turn) for ns, turn in gone])

    if gone:
        target.write(job)


def _refuse_if_used(target: Ledger) -> None:
    if target.read(namespaces.every):
        problem = "already contains memories, perhaps of a move that was interrupted before this"
        raise InvalidInput("to", f"{problem} store was changed; specify an empty store")


def _taken(target: Ledger, file: Path, terms: Terms, progress: Progress | None) -> Imported:
    """Import the file of a move; it stays only if the import was interrupted, not refused."""
    nothing: Sessions = {}  # no ring of this process is open there
    try:
        return import_from(
            target,
            file,
            into=None,
            embedder=lambda: None,
            terms=terms,
            sessions=nothing,
            progress=progress,
        )
    except _REFUSED:
        file.unlink()
        raise


def _file(ledger: Ledger, target: Ledger) -> Path:
    """Return the file of a move, beside the store: the same for the same two stores."""
    both = sha256(f"{ledger.root}\0{target.root}".encode()).hexdigest()[:8]
    root = ledger.root.resolve()
    return root.with_name(f"{root.name}{layout.MOVING}{both}.jsonl")


def _said_by(file: Path) -> str:
    """Return the digest of the lines of a move's file, as ``_read`` does of those of a store."""
    lines = _Digest()
    with file.open("rb") as stream:
        for data in stream:
            try:
                line = json.loads(data)
                line.pop("vector", None)
            except (ValueError, AttributeError):  # modified: it is not what a store says
                return ""
            lines.write(f"{json.dumps(line, ensure_ascii=False)}\n".encode())
    return lines.said


def _read(ledger: Ledger, now: int) -> tuple[Exported, str]:
    """Export a store without keeping it; returns the counts, and a digest of its lines."""
    lines = _Digest()
    stream = cast("IO[bytes]", lines)
    return export(
        ledger, stream, only=None, now=now, with_vectors=False, overwrite=False
    ), lines.said


class _Digest:
    """A stream that keeps a digest of its lines except the first, with the time, and the last."""

    def __init__(self) -> None:
        self._digest = sha256()
        self._line: bytes | None = None

    def write(self, data: bytes) -> int:
        """Take a line."""
        self._digest.update(self._line or b"")
        self._line = b"" if self._line is None else data
        return len(data)

    def flush(self) -> None:
        """Do nothing."""

    @property
    def said(self) -> str:
        return self._digest.hexdigest()
