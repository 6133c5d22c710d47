"""Erase: memories leave the store for good, from every file of it.

``forget`` hides and can be undone; this cannot. One transaction takes the rows out of the ledger
and notes what the files are owed. Then the ledger is written anew without what was deleted, the
snapshot is written anew, copies that were set aside are removed, the Chroma folder is removed (the
long tier makes it again), and the log is emptied. Each step can be repeated; a process that dies
leaves the rest to the next one that opens the store, and what another process has open is left to
that one.

It reaches the files in the store's folder and no others; ``NOT_REACHED`` says what that leaves.
"""

from __future__ import annotations

import logging
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from memento.errors import InvalidInput, NotFound, ReadOnlyStore, StoreClosed, StoreError
from memento.ledger import erase as sql
from memento.ledger import vectors
from memento.ledger.erase import Chosen
from memento.ledger.files import remove_litter, sync_folder, unfinished
from memento.ledger.ledger import FILE_NAME, Ledger
from memento.ledger.rows import from_micros
from memento.ledger.sqlite import Connection, explain_os
from memento.observe.admit import MAX_URI, ids, short_name
from memento.observe.redact import redact
from memento.tiers.ownership import FolderLock
from memento.tiers.short import FILE_NAME as SNAPSHOT
from memento.tiers.short import ShortTier

CHROMA = "chroma"
POLL_SECONDS = 0.05
"""Pause between looks at what another process still has to do."""
PATIENCE = 1.0
"""Seconds the log's last readers are waited for at once; writers wait as long."""

NOT_REACHED = (
    "backups and exports made before, and what one that was killed left (.NAME.*.tmp)",
    "texts already handed to a model or shown",
    "what the file system, a volume snapshot, the disk's firmware or swap keeps of old blocks",
)
"""What erasing cannot promise."""

_ASIDE = re.compile(r"\.?(ledger\.db|short\.json|chroma|chroma\.json)\..+")
_IN_USE = re.compile(r"ledger\.db-(wal|shm|journal)|chroma\.(json|lock)")
_OURS = re.compile(
    r"ledger\.db(-wal|-shm|-journal)?|short\.json|chroma(\.json|\.lock)?|\w+\.lock|reserve"
)

log = logging.getLogger("memento.erase")


@dataclass(frozen=True, slots=True)
class Erasure:
    """The receipt of an erasure, or of a dry run of one.

    Attributes:
        ids: Ids of the memories asked for, in order of arrival.
        derived: Ids of the memories that were derived from those: erased with them, unless
            ``derived=False``.
        at: When, UTC.
        dry_run: Whether nothing was done.
        rows: Rows deleted, by table of the ledger.
        removed: Files and folders of the store that were removed.
        rewritten: Files of the store that were written anew.
        pending: What is still to be done, to the reason; it is done by whoever has the store
            open, or opens it next.
        untouched: Files in the store's folder that are not the store's; they were not looked into.
        not_reached: What erasing cannot promise; stores that a restore or a salvage set aside
            beside this one are named, as they hold what they held, and so is what one that was
            killed left unfinished there.
    """

    ids: tuple[str, ...]
    derived: tuple[str, ...]
    at: datetime
    dry_run: bool
    rows: Mapping[str, int] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    rewritten: tuple[str, ...] = ()
    pending: Mapping[str, str] = field(default_factory=dict)
    untouched: tuple[str, ...] = ()
    not_reached: tuple[str, ...] = NOT_REACHED

    @property
    def complete(self) -> bool:
        """Whether nothing is left to be done."""
        return not self.pending


def choose(wanted: object, source: object, session: object, *, everything: bool) -> Chosen:
    """Accept exactly one way of saying what is to be erased.

    Raises:
        InvalidInput: If none or several are given, or one is malformed.
    """
    given = [wanted is not None, source is not None, session is not None, everything]
    if sum(given) != 1:
        raise InvalidInput(
            "erase", "say what: ids, a source, a session, or everything; one of them"
        )
    if wanted is not None:
        several = ids("ids", wanted)
        if not several:
            raise InvalidInput("ids", "is empty")
        return Chosen(ids=several)
    return Chosen(
        sources=() if source is None else _spellings(source),
        session=None if session is None else short_name("session", session),
        everything=everything,
    )


def _spellings(source: object) -> tuple[str, ...]:
    """Spell an address as it was given, and as it is kept where secrets are taken out.

    Both, since nobody need know which setting was in force when it was stored.
    """
    given = short_name("source", source, most=MAX_URI)
    return tuple(dict.fromkeys((given, redact(given, Counter()))))


class Eraser:
    """Erases from one store, and finishes what was begun.

    Its methods run while the background thread of this process stands still, or in it.

    Args:
        ledger: The store.
        short: Its ring buffers.
        let_go: Closes this process's Chroma client, if there is one.
    """

    def __init__(self, ledger: Ledger, short: ShortTier, let_go: Callable[[], None]) -> None:
        self._ledger = ledger
        self._short = short
        self._let_go = let_go
        self._folder = ledger.root / CHROMA
        self._removed: list[str] = []
        self._rewritten: list[str] = []
        self.pending: dict[str, str] = {}
        """What could not be finished when it was last tried, to the reason."""

    def plan(self, ns: int | None, what: Chosen, now: int) -> Erasure:
        """Say what would be erased; see ``erase``."""
        roots: dict[int, str] = {}
        also: dict[int, str] = {}
        if ns is not None:
            roots = self._ledger.read(lambda c: sql.chosen(c, ns, what))
            also = self._ledger.read(lambda c: sql.derived(c, ns, roots))
        elif what.ids:
            raise NotFound(what.ids[0])
        return Erasure(
            tuple(roots.values()),
            tuple(also.values()),
            from_micros(now),
            dry_run=True,
            not_reached=(*NOT_REACHED, *self._beside()),
        )

    def erase(self, ns: int, what: Chosen, *, derived: bool, now: int) -> Erasure:
        """Take memories out of the ledger in one transaction, then out of the files.

        Raises:
            NotFound: If the namespace lacks one of the ids.
            StoreError: If the ledger could not be written; then nothing was erased.
        """
        if self._ledger.read_only:
            raise ReadOnlyStore(self._ledger.root, "the store is read-only; nothing was erased")

        def job(
            connection: Connection,
        ) -> tuple[dict[int, str], dict[int, str], dict[str, int]]:
            roots = sql.chosen(connection, ns, what)
            also = sql.derived(connection, ns, roots)
            doomed = roots | also if derived else roots
            rows = sql.erase(connection, ns, doomed, now) if doomed else {}
            return roots, also, rows

        self._removed, self._rewritten = [], []
        roots, also, rows = self._ledger.write(job, makes_room=True)
        if rows:
            self.finish(patience=PATIENCE)
        return Erasure(
            ids=tuple(roots.values()),
            derived=tuple(also.values()),
            at=from_micros(now),
            dry_run=False,
            rows=rows,
            removed=tuple(self._removed),
            rewritten=tuple(self._rewritten),
            pending=dict(self.pending),
            untouched=self._strangers(),
            not_reached=(*NOT_REACHED, *self._beside()),
        )

    def finish(self, *, patience: float = 0.0) -> None:
        """Do what the files are owed; what cannot be done now is left in ``pending``.

        Args:
            patience: Longest wait for those who read an older state, seconds.
        """
        if self._ledger.read_only:
            return
        steps: dict[str, Callable[[], str | None]] = {
            "ledger": self._compact,
            "files": self._clear_files,
            "chroma": self._clear_chroma,
            "log": lambda: self._fold_log(patience),
        }
        left: dict[str, str] = {}
        for part, number in self._ledger.read(sql.owed).items():
            why = self._try(steps[part])
            if why is None:
                self._ledger.write(lambda c, part=part, n=number: sql.settle(c, part, n))  # type: ignore[misc]
            else:
                left[part] = why
        if left != self.pending and left:
            log.warning("an erasure is not finished: %s", "; ".join(left.values()))
        self.pending = left

    def wait(self, seconds: float) -> dict[str, str]:
        """Wait for other processes to do their part; returns what is still to be done."""
        deadline = time.monotonic() + seconds
        while (owed := self._ledger.read(sql.owed)) and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        return {part: self.pending.get(part, "not tried yet") for part in owed}

    def _try(self, step: Callable[[], str | None]) -> str | None:
        try:
            return step()
        except StoreClosed:
            raise
        except StoreError as error:
            return str(error)
        except OSError as error:
            return str(explain_os(self._ledger.root, error))

    def _compact(self) -> None:
        self._ledger.alone(sql.compact)
        self._rewritten.append(FILE_NAME)

    def _fold_log(self, patience: float) -> str | None:
        if not self._ledger.alone(lambda c: sql.fold_log(c, patience)):
            return "somebody still reads the store as it was before; the log cannot be emptied yet"
        self._rewritten.append(f"{FILE_NAME}-wal")
        return None

    def _clear_files(self) -> str | None:
        """Write the snapshot anew, and remove what was ever set aside or left behind."""
        self._short.rewrite()
        self._rewritten.append(SNAPSHOT)
        remove_litter(self._ledger.root / SNAPSHOT)
        for path in sorted(self._ledger.root.iterdir()):
            is_litter = path.name.startswith(f"{SNAPSHOT}.") and path.suffix == ".tmp"
            if _ASIDE.fullmatch(path.name) and not _IN_USE.fullmatch(path.name) and not is_litter:
                self._remove(path)
        sync_folder(self._ledger.root)
        if litter := list(self._ledger.root.glob(f"{SNAPSHOT}.*.tmp")):
            return f"another process is writing {litter[0].name}"
        return None

    def _clear_chroma(self) -> str | None:
        """Remove the Chroma folder, and owe it everything anew."""
        lock = FolderLock(self._folder.with_name(f"{CHROMA}.lock"))
        if not lock.acquire():
            self._let_go()
            if not lock.acquire():
                return f"{lock.holder()} has the Chroma folder open"
        try:
            for name in (CHROMA, f"{CHROMA}.json"):
                self._remove(self._folder.with_name(name))
            sync_folder(self._ledger.root)
            self._ledger.write(vectors.owe_index_anew)
        finally:
            lock.release()
        return None

    def _remove(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.is_symlink() or path.exists():
            path.unlink()
        else:
            return
        self._removed.append(path.name)

    def _beside(self) -> list[str]:
        """Name the stores that were set aside beside this one, and what was never finished there.

        See ``ledger.swap`` and ``ledger.files.new_file``.
        """
        root = self._ledger.root.resolve()
        try:
            aside = [p for p in root.parent.iterdir() if p.name.startswith(f"{root.name}.aside-")]
            drafts = unfinished(root.parent)
        except OSError as error:
            return [f"{root.parent}: cannot be looked into for copies ({error.strerror})"]
        return [
            *(f"{path}: a store that was set aside; delete it yourself" for path in sorted(aside)),
            *(
                f"{path}: what a backup, export or restore has not finished; if none is running,"
                " delete it yourself"
                for path in drafts
            ),
        ]

    def _strangers(self) -> tuple[str, ...]:
        names = sorted(path.name for path in self._ledger.root.iterdir())
        return tuple(name for name in names if not _OURS.fullmatch(name))
