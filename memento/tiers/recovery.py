"""Judge a Chroma folder before it is opened, set a damaged one aside, and note how it was left.

The long tier (`LongTier`) decides when; all functions here run under its gate or its guard, and
while it owns the folder.
"""

from __future__ import annotations

import contextlib
import secrets
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memento import layout
from memento.tiers.check_in_child import probe
from memento.tiers.chroma import ChromaFolder, Sample, blank_all, chroma_version, collection_name
from memento.tiers.folder_stamp import (
    FolderState,
    Marks,
    Stamp,
    judge,
    manifest,
    read_stamp,
    write_stamp,
)
from memento.tiers.own_files import is_ours, is_stamp, mark, set_aside

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from memento.config.tiers import LongConfig

LongSample = tuple[tuple[str, ...], str, "NDArray[np.float32]"]
"""Namespace, id and vector of a row that the long tier should hold."""

_resets: Counter[Path] = Counter()
"""Resets after damage, by folder, in this process."""


@dataclass(frozen=True, slots=True)
class Trusted:
    """A folder that may be opened as it is.

    Attributes:
        stamp: What is known of it.
        samples: Rows that it should hold, by collection.
    """

    stamp: Stamp
    samples: Mapping[str, Sequence[Sample]]


@dataclass(frozen=True, slots=True)
class Refused:
    """A folder that has to be replaced by an empty one.

    Attributes:
        why: The reason, for people.
        damaged: Whether it is the tier's own folder and was damaged; otherwise there is none, or
            it belongs to another embedder or layout.
    """

    why: str
    damaged: bool


class Recovery:
    """The Chroma folder of a long tier, its stamp and its marks.

    Args:
        folder: The Chroma folder.
        identity: Name of the embedder in use.
        dim: Length of its vectors, >= 1.
        marks: Storage for the marks by which the folder is recognised.
        config: How to use Chroma.
    """

    def __init__(
        self, folder: Path, *, identity: str, dim: int, marks: Marks, config: LongConfig
    ) -> None:
        self._folder = folder
        self._stamp_path = layout.stamp_of(folder)
        self._identity = identity
        self._dim = dim
        self._marks = marks
        self._mark = ""
        self._config = config

    def examine(
        self, samples: Callable[[], Sequence[LongSample]], lock: int, cancel: threading.Event
    ) -> Trusted | Refused:
        """Judge the folder by its stamp, and if that leaves a doubt, by a check in a child process.

        Args:
            samples: Returns some rows that the folder should hold.
            lock: File descriptor of the folder's lock, for the child.
            cancel: Stops the check when it is set.

        Raises:
            ProbeCancelled: If it was stopped.
            ChromaFault: If a temporary cause prevents the check.
        """
        expected = self._fresh_stamp()
        stamp = read_stamp(self._stamp_path)
        state, why = judge(stamp, manifest(self._folder), expected, self._marks.read())
        if state in {FolderState.NEW, FolderState.FOREIGN}:
            return Refused(why, damaged=False)
        if state is FolderState.FATAL:
            return Refused(why, damaged=True)
        known = stamp if isinstance(stamp, Stamp) else expected
        held = by_collection(samples())
        if state is FolderState.SUSPECT:
            seconds = self._config.probe_seconds
            problem = probe(
                self._folder, held, known.rows, seconds=seconds, lock=lock, cancel=cancel
            )
            if problem:
                return Refused(f"{why}; {problem}", damaged=True)
        return Trusted(known, held)

    @property
    def resets(self) -> int:
        """Number of times that this process replaced the folder after damage."""
        return _resets[self._folder]

    def count_reset(self) -> None:
        """Count one more replacement after damage."""
        _resets[self._folder] += 1

    def clear_away(self) -> None:
        """Set aside what is there; what proves to be the store's may be deleted later."""
        with contextlib.suppress(PermissionError):  # nobody may look into it: kept, without a mark
            if self._folder.is_dir() and is_ours(self._folder, read_stamp(self._stamp_path)):
                mark(self._folder)
        set_aside(self._folder)
        if not is_stamp(self._stamp_path):  # it would be written over
            set_aside(self._stamp_path)

    def reopened(self, known: Stamp) -> ChromaFolder:
        """Open the folder as it is."""
        if not (known.clean and known.blanked):
            blank_all(self._folder)
        return self._open(unclean=known.unclean + 1, before=known.mark)

    def begun(self) -> ChromaFolder:
        """Make an empty folder where nothing is, and open it."""
        self._folder.mkdir(mode=0o700)
        return self._open(unclean=1)

    def note_sound(self, rows: Mapping[str, int]) -> None:
        """Stamp the closed folder as trustworthy, with the number of rows of each collection."""
        stamp = replace(self._fresh_stamp(), clean=True, files=manifest(self._folder), rows=rows)
        with contextlib.suppress(OSError):  # then it is probed next time
            write_stamp(self._stamp_path, stamp)

    def note_settled(self) -> None:
        """Stamp the open folder as one that has worked for a while."""
        with contextlib.suppress(OSError):  # a lost note costs one rebuild
            write_stamp(self._stamp_path, self._fresh_stamp(), durable=False)

    def _open(self, *, unclean: int, before: str | None = None) -> ChromaFolder:
        """Open the folder with a new mark; until the stamp has it, the old mark is valid also."""
        self._mark = secrets.token_hex(8)
        self._marks.write([self._mark] if before is None else [self._mark, before])
        write_stamp(self._stamp_path, replace(self._fresh_stamp(), unclean=unclean))
        if before is not None:
            self._marks.write([self._mark])
        mark(self._folder)
        return ChromaFolder(self._folder)

    def _fresh_stamp(self) -> Stamp:
        return Stamp(
            identity=self._identity, dim=self._dim, chroma=chroma_version(), mark=self._mark
        )


def by_collection(samples: Sequence[LongSample]) -> dict[str, list[Sample]]:
    """Group rows by the Chroma collection of their namespace."""
    grouped: dict[str, list[Sample]] = defaultdict(list)
    for namespace, row, vector in samples:
        grouped[collection_name(namespace)].append((row, np.asarray(vector, np.float32)))
    return dict(grouped)
