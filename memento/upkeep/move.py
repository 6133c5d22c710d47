"""Move a store: copy all of it into another one, of whatever engine, and compare the two.

The copy is an export in one file and its import. The file is removed at the end; a move that finds
it continues the interrupted one. The store that is moved stays as it is.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import IO, cast

from memento.errors import InvalidInput, StoreError
from memento.ledger import namespaces
from memento.ledger.contract import Ledger
from memento.ledger.opening import open_ledger
from memento.protocols import Progress
from memento.upkeep.export import Exported, export
from memento.upkeep.import_ import Sessions, import_from
from memento.upkeep.import_lines import Terms


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
        if not file.exists():
            if target.read(namespaces.every):
                raise InvalidInput("to", "already contains memories; specify an empty store")
            export(ledger, file, only=None, now=terms.now, with_vectors=True, overwrite=False)
        nothing: Sessions = {}  # no ring of this process is open there
        done = import_from(
            target,
            file,
            into=None,
            embedder=lambda: None,
            terms=terms,
            sessions=nothing,
            progress=progress,
        )
        (here, said), (there, copied) = (_read(one, terms.now) for one in (ledger, target))
        file.unlink()
        if said != copied:
            problem = (
                f"differs from the store that was moved ({here.memories} memories and "
                f"{here.events} events"
                f" here, {there.memories} and {there.events} there): something was written in "
                "the meantime, or the store is damaged; empty the target and move again"
            )
            raise StoreError(target.path, problem)
        kept = here.namespaces, here.memories, here.links, here.events
        return Moved(*kept, done.vectors, said)


def _file(ledger: Ledger, target: Ledger) -> Path:
    """Return the file of a move, beside the store: the same for the same two stores."""
    both = sha256(f"{ledger.root}\0{target.root}".encode()).hexdigest()[:8]
    return ledger.root.with_name(f"{ledger.root.name}.moving-{both}.jsonl")


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
