"""Decide whether a Chroma folder is opened as it is or set aside and rebuilt, and how often.

`Recovery.enter` opens the folder if it can be trusted. A damaged one is replaced by an empty one at
most ``max_resets`` times per process and folder; one that is missing, or that belongs to another
embedder, is replaced without counting. The caller is told (``on_reset``) to feed the empty one.

The long tier (`LongTier`) says when; all functions here run under its gate or its guard, and while
it owns the folder.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memento import layout
from memento.tiers.check_in_child import probe
from memento.tiers.chroma import (
    ChromaFault,
    ChromaFolder,
    Sample,
    blank_all,
    chroma_version,
    collection_name,
)
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

logger = logging.getLogger("memento.tiers")

_resets: Counter[Path] = Counter()
"""Resets after damage, by folder, in this process."""


class TooManyResets(Exception):
    """The folder is damaged again, and was replaced too often in this process."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The calls by which a recovery reaches the tier that uses the folder.

    Attributes:
        attach: Takes an open folder, which the tier closes from then on.
        detach: Closes the folder that the tier has open, if any, and does not stamp it as sound.
        rebuilding: Is told why the tier will start with an empty folder, before anything changes.
    """

    attach: Callable[[ChromaFolder], None]
    detach: Callable[[], None]
    rebuilding: Callable[[str], None]


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
        samples: Returns some rows that the folder should hold.
        on_reset: Called with the reason whenever the folder starts empty.
        marks: Storage for the marks by which the folder is recognised.
        config: How to use Chroma.
        holder: The tier that uses the folder.
    """

    def __init__(
        self,
        folder: Path,
        *,
        identity: str,
        dim: int,
        samples: Callable[[], Sequence[LongSample]],
        on_reset: Callable[[str], None],
        marks: Marks,
        config: LongConfig,
        holder: Holder,
    ) -> None:
        self._folder = folder
        self._stamp_path = layout.stamp_of(folder)
        self._identity = identity
        self._dim = dim
        self._samples = samples
        self._on_reset = on_reset
        self._marks = marks
        self._mark = ""
        self._config = config
        self._holder = holder

    # The decision.

    def enter(self, lock: int, cancel: threading.Event) -> str:
        """Open the folder as it is if it can be trusted; otherwise start with an empty one.

        Args:
            lock: File descriptor of the folder's lock, for a check in a child process.
            cancel: Stops the check when it is set.

        Returns:
            How the tier became ready, for people.

        Raises:
            ProbeCancelled: If the check was stopped.
            ChromaFault: If a temporary cause prevents the check, or Chroma fails.
            TooManyResets: As for `rebuild`.
        """
        verdict = self._examine(lock, cancel)
        if isinstance(verdict, Refused):
            return self.rebuild(verdict.why) if verdict.damaged else self.start_empty(verdict.why)
        if problem := self._load(verdict):
            return self.rebuild(problem)
        return "ready"

    def rebuild(self, why: str) -> str:
        """Start with an empty folder after damage, unless that happened too often.

        Args:
            why: The damage.

        Returns:
            How the tier became ready, for people.

        Raises:
            TooManyResets: If this process replaced the folder ``max_resets`` times before.
        """
        if (done := _resets[self._folder]) >= self._config.max_resets:
            self._holder.detach()
            raise TooManyResets(f"rebuilt {done} times in this process, and again {why}")
        _resets[self._folder] += 1
        return self.start_empty(why)

    def start_empty(self, why: str) -> str:
        """Set the present folder aside and begin with an empty one.

        ``on_reset`` is called before the new folder is made: after a crash in between there is no
        folder, and it is called again. It is also called before the tier is ready, so that no
        search sees an empty index whose backlog is not known yet.

        Args:
            why: The reason.

        Returns:
            How the tier became ready, for people.
        """
        logger.info("starting the Chroma folder %s empty: %s", self._folder, why)
        self._holder.rebuilding(why)
        self._holder.detach()
        self._clear_away()
        self._on_reset(why)
        self._holder.attach(self._make_empty())
        return f"started empty: {why}"

    def _examine(self, lock: int, cancel: threading.Event) -> Trusted | Refused:
        """Judge the folder by its stamp, and if that leaves a doubt, by a check in a child."""
        expected = self._fresh_stamp()
        stamp = read_stamp(self._stamp_path)
        state, why = judge(stamp, manifest(self._folder), expected, self._marks.read())
        if state in {FolderState.NEW, FolderState.FOREIGN}:
            return Refused(why, damaged=False)
        if state is FolderState.FATAL:
            return Refused(why, damaged=True)
        known = stamp if isinstance(stamp, Stamp) else expected
        held = by_collection(self._samples())
        if state is FolderState.SUSPECT:
            seconds = self._config.probe_seconds
            problem = probe(
                self._folder, held, known.rows, seconds=seconds, lock=lock, cancel=cancel
            )
            if problem:
                return Refused(f"{why}; {problem}", damaged=True)
        return Trusted(known, held)

    def _load(self, found: Trusted) -> str | None:
        """Open the folder as it is; return the damage that shows only then."""
        try:
            chroma = self._reopen(found.stamp)
            self._holder.attach(chroma)
            return chroma.ailment(found.samples, found.stamp.rows)
        except ChromaFault as fault:
            if fault.damage:
                return str(fault)
            self._holder.detach()
            raise

    # The folder and its notes.

    def _clear_away(self) -> None:
        """Set aside what is there; what proves to be the store's may be deleted later."""
        with contextlib.suppress(PermissionError):  # nobody may look into it: kept, without a mark
            if self._folder.is_dir() and is_ours(self._folder, read_stamp(self._stamp_path)):
                mark(self._folder)
        set_aside(self._folder)
        if not is_stamp(self._stamp_path):  # it would be written over
            set_aside(self._stamp_path)

    def _reopen(self, known: Stamp) -> ChromaFolder:
        """Open the folder as it is."""
        if not (known.clean and known.blanked):
            blank_all(self._folder)
        return self._open(unclean=known.unclean + 1, before=known.mark)

    def _make_empty(self) -> ChromaFolder:
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
