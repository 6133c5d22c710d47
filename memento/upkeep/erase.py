"""Erase: remove memories for good, from every file of the store.

``forget`` hides and can be undone; this cannot. One transaction deletes the rows from the ledger
and records the steps still to do on the files. If there are very many, it only marks them, which
hides them from every read, and the rows are deleted a few at a time. Then the unused parts of
the ledger are removed or overwritten, the snapshot is written again without the deleted rows,
copies that were set aside and derived files of the namespace are removed, the Chroma folder is
removed (the long tier rebuilds it), and the write-ahead log is emptied. Each step can be repeated.
If a process dies, the next one that opens the store does the rest; a file that another process has
open is left to that process.

It reaches only the files in the store's folder; ``NOT_REACHED`` lists what remains elsewhere.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from memento.admit.redact import redact
from memento.base import layout
from memento.base.clock import from_micros
from memento.base.files import explain_os, remove_litter, sync_folder, unfinished, written
from memento.base.lazy import later
from memento.check import MAX_URI, ids, short_name
from memento.errors import (
    InvalidInput,
    NotFound,
    ReadOnlyStore,
    StorageFull,
    StoreClosed,
    StoreError,
)
from memento.ledger import erasure, memories, quotes, vectors
from memento.ledger.contract import Ledger, Transaction
from memento.ledger.erasure import Chosen
from memento.tiers import derived, folder
from memento.tiers.folder import FolderLock
from memento.tiers.ring import ShortTier

if TYPE_CHECKING:
    from memento.config import ChromaConfig
    from memento.ledger import scope_rows, session_rows
else:
    scope_rows = later("memento.ledger.scope_rows")
    session_rows = later("memento.ledger.session_rows")

POLL_SECONDS = 0.05
"""Pause, in seconds, between checks of the work of other processes."""
PATIENCE = 0.5
"""Maximum wait, in seconds, for the last readers of the log; writers wait as long."""

NOT_REACHED = (
    "earlier backups and exports, and remains of any that were killed (.NAME.*.tmp)",
    "the notes of a vault, until it is synced (`memento export --vault`)",
    "text that was already shown or sent to a model",
    "old blocks retained by the file system, volume snapshots, disk firmware or swap",
)
"""Copies that erasing cannot reach."""
OF_A_SERVER = (
    "the log of the database server with its archive, its statistics, standbys and dumps",
    "free space in the pages of the database's larger tables, until it is used again",
    "the caches of other machines, until they next open the store or read the namespace",
)
"""More such copies of a ledger on a server."""

A = TypeVar("A")
B = TypeVar("B")

log = logging.getLogger("memento.upkeep.erase")


@dataclass(frozen=True, slots=True)
class Erasure:
    """The receipt for an erasure or a dry run.

    Attributes:
        ids: Ids of the requested memories, in order of arrival, and of the other parts of a long
            turn that was requested by its first part.
        derived: Ids of the memories derived from them, which are also erased; with
            ``derived=False``, only the articles that a sleep wrote from them.
        kept: With ``derived=False``, ids of the memories derived from them that are not erased.
        at: Time of the erasure, UTC.
        dry_run: Whether nothing was changed.
        rows: Number of deleted rows, by table. If very many memories are erased, rows deleted by
            other processes are not included.
        removed: The store's files and folders that were removed.
        rewritten: The store's files that were rewritten.
        pending: The unfinished steps, each with the reason. They are completed by the process that
            has the store open, or by the next process that opens it.
        untouched: Files and folders in the store folder that do not belong to the store or cannot
            be identified; they were not changed.
        not_reached: Copies that an erasure cannot reach, including stores next to this one that a
            restore or a salvage set aside, files of interrupted moves, and unfinished files left by
            killed processes.
        locked: Ids of erased memories that were locked; a lock does not prevent an erasure.
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
    locked: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every step is finished."""
        return not self.pending


def choose(wanted: object, source: object, session: object, *, everything: bool) -> Chosen:
    """Check and return the one choice of memories to erase.

    Raises:
        InvalidInput: If none or several are given, or one is malformed.
    """
    given = [wanted is not None, source is not None, session is not None, everything]
    if sum(given) != 1:
        raise InvalidInput("erase", "pass exactly one of ids, source, session or everything")
    if wanted is not None:
        several = ids("ids", wanted)
        if not several:
            raise InvalidInput("ids", "is empty")
        return Chosen(ids=several)
    if source is not None:
        spelt = short_name("source", source, most=MAX_URI)
        # As given, and as it is stored if secrets were removed when it was added.
        return Chosen(sources=tuple({spelt: None, redact(spelt, Counter()): None}))
    return Chosen(
        session=None if session is None else short_name("session", session), everything=everything
    )


def _drop(connection: Transaction, ns: int, what: Chosen) -> dict[str, int]:
    """Remove what is not a memory: sessions, scopes and shares; returns how many rows, by table."""
    return session_rows.drop(connection, ns, what) | scope_rows.drop(connection, ns, what)


class _Choice(NamedTuple):
    """The memories of a call, row ids to ids: chosen, erased with those, and derived but kept."""

    roots: dict[int, str]
    also: dict[int, str]
    kept: dict[int, str]

    @property
    def doomed(self) -> dict[int, str]:
        """All that is erased."""
        return self.roots | self.also


def _choice(connection: Transaction, ns: int, what: Chosen, *, derived: bool) -> _Choice:
    """Find the memories of a call."""
    roots = erasure.chosen(connection, ns, what)
    also = _made(connection, ns, roots, 0, derived=derived)
    family = {} if derived else erasure.derived(connection, ns, roots)
    return _Choice(roots, also, {docid: one for docid, one in family.items() if docid not in also})


def _made(
    connection: Transaction, ns: int, roots: dict[int, str], after: int, *, derived: bool
) -> dict[int, str]:
    """Find what is erased with some memories, among those added after a row id."""
    if derived:
        return erasure.derived(connection, ns, roots, after=after)
    return quotes.made_of(connection, ns, roots.values(), after=after)


class Eraser:
    """Erases from one store, and finishes interrupted erasures.

    Its methods run while the background thread of this process is paused, or in that thread.

    Args:
        ledger: The store.
        short: Its ring buffers.
        let_go: Closes this process's Chroma client, if there is one.
        chroma: Where Chroma is.
    """

    def __init__(
        self, ledger: Ledger, short: ShortTier, let_go: Callable[[], None], chroma: ChromaConfig
    ) -> None:
        self._ledger = ledger
        self._short = short
        self._let_go, self._chroma = let_go, chroma
        self._folder = ledger.root / layout.CHROMA
        self._rows: Counter[str] = Counter()
        self._removed: list[str] = []
        self._rewritten: list[str] = []
        self.pending: dict[str, str] = {}
        """Each step that failed when it was last tried, to the reason."""

    def plan(self, ns: int | None, what: Chosen, *, derived: bool, now: int) -> Erasure:
        """Report what would be erased; see ``erase``."""
        choice = _Choice({}, {}, {})
        if ns is not None:
            choice = self._ledger.read(lambda c: _choice(c, ns, what, derived=derived), space=ns)
        elif what.ids:
            raise NotFound(what.ids[0])
        locked = () if ns is None else self._locked(ns, choice.doomed)
        return replace(self._receipt(choice, now, locked), dry_run=True)

    def erase(self, ns: int, what: Chosen, *, derived: bool, now: int) -> Erasure:
        """Remove memories from the ledger, then from the files.

        Up to ``erasure.FEW`` memories are deleted in one transaction; more are marked in one and
        deleted in others.

        Raises:
            NotFound: If the namespace lacks one of the ids.
            StoreError: If the ledger could not be written; then nothing was erased.
        """
        if self._ledger.read_only:
            raise ReadOnlyStore(self._ledger.root, "the store is read-only; nothing was erased")

        def choose(connection: Transaction) -> _Choice:
            return _choice(connection, ns, what, derived=derived)

        def job(connection: Transaction) -> _Choice:
            choice = choose(connection)
            doomed = choice.doomed
            self._rows = Counter(erasure.erase(connection, ns, doomed, now) if doomed else {})
            self._rows.update(_drop(connection, ns, what))
            return choice

        def mark(connection: Transaction) -> _Choice:
            late = _made(connection, ns, choice.doomed, newest, derived=derived)
            erasure.mark(connection, ns, [*choice.doomed, *late], now)
            self._rows = Counter(_drop(connection, ns, what))
            return choice._replace(also=choice.also | late)

        self._rows, self._removed, self._rewritten = Counter(), [], []
        strangers = self._strangers()  # before anything is erased: it may fail
        newest, choice = self._ledger.read(lambda c: (erasure.newest(c, ns), choose(c)), space=ns)
        locked = self._locked(ns, choice.doomed)  # while they are there
        # If they are many, no other writer waits while they are searched for.
        choice = self._write(mark if len(choice.doomed) > erasure.FEW else job)
        if self._ledger.read(erasure.owed):
            why = self._try(lambda: self.finish(patience=PATIENCE))
            if why is not None:  # the rows are gone all the same
                self.pending = dict.fromkeys(self._ledger.read(erasure.owed), why)
        return replace(
            self._receipt(choice, now, locked),
            rows=dict(self._rows),
            removed=tuple(self._removed),
            rewritten=tuple(self._rewritten),
            pending=dict(self.pending),
            untouched=strangers,
        )

    def _receipt(self, choice: _Choice, now: int, locked: tuple[str, ...]) -> Erasure:
        """Return a receipt that names what was chosen, what is kept and what is not reached."""
        return Erasure(
            ids=tuple(choice.roots.values()),
            derived=tuple(choice.also.values()),
            at=from_micros(now),
            dry_run=False,
            locked=locked,
            kept=tuple(choice.kept.values()),
            not_reached=(*NOT_REACHED, *self._beside(), *self._of_a_server()),
        )

    def _locked(self, ns: int, doomed: Mapping[int, str]) -> tuple[str, ...]:
        """Return the ids of the memories that the user locked."""
        found = self._ledger.read(lambda c: memories.locked(c, ns), space=ns)
        return tuple(doomed[docid] for docid in found if docid in doomed)

    def finish(self, *, patience: float = 0.0) -> None:
        """Do the steps left on the files; a step that is not possible now stays in ``pending``.

        Args:
            patience: Maximum wait for readers of an older state, seconds.
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
        if (why := self._try(self._delete_rows)) is not None:
            left[erasure.ROWS] = why
        owed = self._ledger.read(erasure.owed)
        for part, number in owed.items():
            if part == erasure.ROWS:
                continue
            why = self._try(steps[part])
            if why is None:
                self._write(partial(erasure.settle, part=part, number=number))
            else:
                left[part] = why
        if left != self.pending and left:
            log.warning("an erasure is not finished: %s", "; ".join(left.values()))
        self.pending = left
        if owed and not left:
            self._ledger.keep_reserve()  # the erasure may have used it up

    def catch_up(self) -> None:
        """Remove derived files on this machine from before an erasure by another machine."""
        if not self._ledger.in_file:
            self._try(self._clear_derived)

    def wait(self, seconds: float) -> dict[str, str]:
        """Wait for other processes to do their part; returns the steps that are left."""
        deadline = time.monotonic() + seconds
        while (owed := self._ledger.read(erasure.owed)) and time.monotonic() < deadline:
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

    def _delete_rows(self) -> None:
        """Delete the marked rows, and remove their ids from all that names them."""
        for which in self._ledger.read(erasure.marked):
            delete = partial(erasure.delete_some, which=which)
            while (counts := self._write(delete)) is not None:
                self._rows.update(counts)
                self._write(lambda c: c.words.merge())  # each transaction left a segment
            self._take_out_ids(which)
            self._write(partial(erasure.unmark, which=which))

    def _take_out_ids(self, which: erasure.Marked) -> None:
        """Search for ids in a read, and remove them a few at a time."""
        heirs = self._ledger.read(lambda c: erasure.heirs_of(c, which))
        for find, clean in erasure.traces(which.ns, heirs):
            self._rows["events"] += sum(one is True for one in self._in_bites(find, clean))
        while self._write(lambda c: erasure.drop_ids(c, which)):
            pass

    def _in_bites(
        self, find: Callable[[Transaction], Sequence[A]], job: Callable[[Transaction, A], B]
    ) -> list[B]:
        things = self._ledger.read(find)

        def bite(connection: Transaction, part: Sequence[A]) -> list[B]:
            return [job(connection, thing) for thing in part]

        done: list[B] = []
        for at in range(0, len(things), erasure.AT_ONCE):
            done += self._write(partial(bite, part=things[at : at + erasure.AT_ONCE]))
        return done

    def _write(self, job: Callable[[Transaction], A]) -> A:
        return self._ledger.write(job, frees_room=True)

    def _compact(self) -> None:
        try:
            self._ledger.compact()
        except StorageFull:  # the log took all the room; other steps need little
            self._ledger.fold_log(0.0)
            raise
        self._rewritten.append(layout.LEDGER)

    def _fold_log(self, patience: float) -> str | None:
        if not self._ledger.fold_log(patience):
            return "a reader is still using an earlier state; the log cannot be emptied yet"
        self._rewritten.append(layout.LOG)
        return None

    def _clear_files(self) -> str | None:
        """Write the snapshot again, and remove all copies that were set aside or left behind."""
        self._short.rewrite()
        self._rewritten.append(layout.SNAPSHOT)
        remove_litter(self._ledger.root / layout.SNAPSHOT)
        for path in sorted(self._ledger.root.iterdir()):
            if folder.is_copy(path):
                self._remove(path)
        sync_folder(self._ledger.root)
        if litter := written(self._ledger.root / layout.SNAPSHOT):
            return f"another process is writing {litter[0].name}"
        return self._clear_derived()

    def _clear_derived(self) -> str | None:
        """Remove derived files that may hold what was erased: those from before the erasure."""
        if not (self._ledger.root / layout.DERIVED).is_dir():
            return None

        def is_later(head: Mapping[str, Any]) -> bool:
            ns = head.get("ns")
            if not isinstance(ns, int):
                return False
            erased = self._ledger.read(partial(memories.erased_at, ns=ns), space=ns)
            return bool(head.get("erased") == erased)

        with derived.locked(self._ledger.root) as mine:
            if not mine:
                return "another process is writing derived files"
            self._removed += derived.clear(self._ledger.root, is_later)
        return None

    def _clear_chroma(self) -> str | None:
        """Remove the Chroma folder, if it is the store's, and queue all its rows again.

        Also remove what the store has on a Chroma server.
        """
        if self._ledger.read(vectors.generations):
            self._let_go()
            from memento.tiers.chroma_server import forget  # noqa: PLC0415 - needs NumPy

            if (why := forget(self._ledger, self._chroma)) is not None:
                return why
            self._removed.append(f"the index on {self._chroma.url}")
        lock = FolderLock(layout.lock_of(self._folder))
        if not lock.acquire():
            self._let_go()
            if not lock.acquire():
                return f"{lock.holder()} has the Chroma folder open"
        try:
            stamp = layout.stamp_of(self._folder)
            if folder.is_ours(self._folder):
                self._remove(self._folder)
            if folder.is_stamp(stamp):
                self._remove(stamp)
            sync_folder(self._ledger.root)
            self._write(vectors.owe_index_anew)
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

    def _of_a_server(self) -> tuple[str, ...]:
        return () if self._ledger.in_file else OF_A_SERVER

    def _beside(self) -> list[str]:
        """Name the stores set aside beside this one, files of moves, and unfinished files there."""
        root = self._ledger.root.resolve()
        try:
            beside = sorted(root.parent.iterdir())
            drafts = unfinished(root.parent)
        except OSError as error:
            return [f"{root.parent}: cannot be searched for copies ({error.strerror})"]
        return [
            *(
                f"{path}: a store that was set aside; delete it yourself"
                for path in beside
                if path.name.startswith(f"{root.name}.aside-")
            ),
            *(
                f"{path}: the file of an interrupted move; repeat the move or delete it yourself"
                for path in beside
                if path.name.startswith(f"{root.name}{layout.MOVING}")
            ),
            *(
                f"{path}: an unfinished backup, export or restore; if none is running, delete it "
                "yourself"
                for path in drafts
            ),
        ]

    def _strangers(self) -> tuple[str, ...]:
        """Name the files in the folder that are not, or not provably, the store's."""
        try:
            names = sorted(path.name for path in self._ledger.root.iterdir())
            left = set(folder.left_alone(self._ledger.root))
            beneath = derived.strangers(self._ledger.root)
        except OSError as error:
            raise explain_os(self._ledger.root, error) from error
        known = (layout.OURS, layout.ASIDE)
        others = [n for n in names if n in left or not any(one.fullmatch(n) for one in known)]
        return (*others, *beneath)
