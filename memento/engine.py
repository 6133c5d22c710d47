"""The parts of one open store; opening, closing and forking it.

The views of a store share one ``Engine``: ledger, tiers, embedder and the background thread.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from importlib import import_module
from itertools import islice
from math import inf
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING, NamedTuple, TypeVar

from memento.admit.draft import Entry, admit, at_position
from memento.admit.novelty import Met, Novelty
from memento.background import Background
from memento.base import layout
from memento.base.clock import to_micros
from memento.base.forks import whole
from memento.base.lazy import later
from memento.base.spans import traced
from memento.config import Config
from memento.embed import check as check_embedder
from memento.errors import (
    CommitUnknown,
    EmbedderError,
    InvalidInput,
    MementoError,
    MissingExtra,
    StoreError,
    TierUnavailable,
)
from memento.insight.name_index import NameIndexes
from memento.ledger import changes, erasure, namespaces, vectors
from memento.ledger.checks import Sees, everyone
from memento.ledger.contract import Rules, Transaction, Work
from memento.ledger.erasure import Chosen
from memento.ledger.opening import open_ledger
from memento.ledger.rows import Row
from memento.ledger.schema import SEQ_BITS
from memento.protocols import Progress, Reranker
from memento.text.words import estimate
from memento.tiers.folder import Taken
from memento.tiers.indexer import Indexer, Remaining, told
from memento.tiers.queue import Wish
from memento.tiers.ring import ShortTier
from memento.tiers.store_embedder import StoreEmbedder
from memento.types import Draft, Finding, Tier, Trust
from memento.upkeep.erase import Eraser, Erasure
from memento.write.remember import remember
from memento.write.steps import Change, Run

if TYPE_CHECKING:
    from memento.protocols import Clock, Embedder
    from memento.retrieve.searcher import Searcher
    from memento.tiers.chroma import LongSample
    from memento.tiers.long_tier import Index
    from memento.upkeep import doctor, import_, import_lines
    from memento.upkeep import move as mover
    from memento.upkeep.import_ import Imported, Sessions
    from memento.upkeep.move import Moved
else:
    doctor = later("memento.upkeep.doctor")
    import_ = later("memento.upkeep.import_")
    import_lines = later("memento.upkeep.import_lines")
    mover = later("memento.upkeep.move")

log = logging.getLogger("memento.engine")

SAMPLED = 64
"""Number of stored vectors that must find themselves before a Chroma folder is trusted."""
BITE = 256
"""Maximum number of memories that one transaction changes in a call that changes many: about 20 ms,
during which an ``add`` waits."""
_GLANCE = 0.02
"""Seconds for which notes are compared in one look of an awaited flush, so that it keeps its time
limit; at least a few are."""
_READ_PATH = "memento.retrieve.searcher"

A = TypeVar("A")


class Engine:
    """One open store. Thread-safe, and usable in a forked child.

    Args:
        root: The store folder.
        config: Settings.
        embedder: Any setting that ``memento.embed.resolve`` accepts; None for full text only.
        clock: Tells the time.
        reranker: Reorders the best candidates, or None.
        sweep: Closes stores of this process that nobody holds any more; called now and then.
    """

    def __init__(
        self,
        root: str | Path,
        config: Config,
        embedder: str | Embedder | None,
        clock: Clock,
        reranker: Reranker | None,
        sweep: Callable[[], None],
    ) -> None:
        if reranker is not None and not isinstance(reranker, Reranker):
            raise InvalidInput("reranker", f"has no score method: {type(reranker).__name__}")
        check_embedder(embedder)
        if not isinstance(config, Config):
            raise InvalidInput("config", f"must be a Config, not {type(config).__name__}")
        if not callable(clock):
            raise InvalidInput("clock", f"must be callable, not {type(clock).__name__}")
        self.config = config
        self.rules = Rules(ring=config.short.capacity, untrusted=config.untrusted)
        self.clock = clock
        self.ledger = open_ledger(root, allow_network=config.allow_network)
        self._spec = embedder
        self._reranker = reranker
        self._sweep = sweep
        try:
            self._start()
            self.short.load()
            self._eraser.finish()  # left by a dead process, or blocked by another
            self._eraser.catch_up()
            _open_engines.add(self)
            left = not self.ledger.in_file or self.ledger.read(vectors.any_owed)
            if self.embedding is not None and left:
                self.indexer.start()  # other processes, or earlier ones, left memories to embed
        except BaseException:  # KeyboardInterrupt, too: nobody else can close it
            self.ledger.close()
            raise

    def _start(self) -> None:
        """Create everything that does not survive a fork."""
        self.short = ShortTier(self.ledger, self.config.short)
        self._eraser = Eraser(self.ledger, self.short, self._let_go, self.config.chroma)
        self.embedding = None if self._spec is None else StoreEmbedder(self.ledger, self._spec)
        self._novelty = Novelty()
        self.names = NameIndexes(self.ledger)
        self._lock = threading.Lock()
        self._closing = threading.Lock()
        self._searcher: Searcher | None = None
        self._long: Index | None = None
        self._shut = False
        self.background = jobs = Background(
            self.ledger,
            self.short,
            self._eraser,
            self._keep_outlines,
            self._earlier_notes,
            self.now,
            self.config,
            embeds=self.embedding is not None,
        )
        self.indexer = Indexer(
            self.ledger,
            self.embedding,
            self.open_long,
            self._index_lost,
            chores=self._chores,
            take_up=jobs.words.take_up,
            waiting=jobs.words.waiting,
            aside=jobs.keep_up,
            housekeeping=jobs.keep_house,
            embedded=jobs.changes.fresh.update,
            busy=jobs.traffic.busy,
            streaming=jobs.traffic.streaming,
            config=self.config.index,
        )

    def _chores(self) -> None:
        self._sweep()
        self.background.finish_erasing()

    def suits(
        self,
        config: Config,
        embedder: str | Embedder | None,
        clock: Clock,
        reranker: Reranker | None,
    ) -> bool:
        """Return whether a manager with these settings can share this engine."""
        named = isinstance(embedder, str) and self._spec == embedder
        if not (named or self._spec is embedder) or self.config != config:
            return False
        if self.clock is not clock or self._reranker is not reranker or self.ledger.read_only:
            return False
        with suppress(StoreError):  # closed, or the files are gone
            self.ledger.check_present()
            return True
        return False

    def now(self) -> int:
        """Return the present moment, microseconds since 1970 UTC.

        Raises:
            InvalidInput: If the clock returns a time without a time zone.
        """
        moment = self.clock()
        if not isinstance(moment, datetime) or moment.tzinfo is None:
            raise InvalidInput("clock", "must return a datetime with a time zone")
        return to_micros(moment)

    def add(
        self,
        labels: tuple[str, ...],
        drafts: Sequence[Draft],
        *,
        replace: bool = False,
        progress: Progress | None = None,
        verb: str = "add",
        run: Run | None = None,
        guard: Callable[[Work], object] | None = None,
        then: Callable[[Work, list[Row]], list[Row]] | None = None,
    ) -> list[Row]:
        """Validate drafts and write them in one durable transaction.

        Args:
            labels: The namespace.
            drafts: The memories to write.
            replace: Let each replace the memory that has its id.
            progress: Told how many drafts are checked, and all at the end.
            verb: The call that it is, for ``changes``.
            run: Its changes, if it makes several.
            guard: Called first in the transaction; it may refuse.
            then: Called last, with the rows; returns others that it changed, in its own change.
        """
        now = self.now()
        known = self.ledger.find_namespace(labels)

        def check(draft: Draft) -> Entry:
            if replace and draft.id is None:
                raise InvalidInput("id", "is required with replace=True")
            return self.admitted(draft, now)

        if len(drafts) == 1:
            entries = [check(drafts[0])]
        else:
            entries = [at_position(at, check, one) for at, one in enumerate(told(drafts, progress))]

        def job(session: Transaction) -> Added:
            ns = self.new_namespace(session, labels) if known is None else known
            work = Work(session, ns, now, self.rules)
            if guard is not None:
                guard(work)
            if run is not None and entries:  # so that pure additions are undone with the run
                changes.begin(work)
            done = remember(work, entries, self._novelty, replace=replace)
            number = _numbered(work, verb, entries, run)
            more = [] if then is None else then(Work(session, ns, now, self.rules), done[0])
            return Added(ns, done[0], [*done[1], *more], done[2], number)

        joins = None if replace or guard or run or then else known
        made = _Adding(job, joins, entries, now, self.rules, self._novelty)
        ns, rows, judged_again, met, number = self._written(made, known)
        if run is not None:
            run.add(number)
        if met is not None:
            self._novelty.count(met)
        self.background.traffic.added = monotonic()
        self.background.words.fresh.add(ns)
        mended = replace and any(row.version > 1 for row in rows)
        self.changed(ns, [*rows, *judged_again], new=not (mended or judged_again))
        again = {row.docid: row for row in judged_again}
        if progress is not None:
            progress(len(rows), len(rows))
        return [again.get(row.docid, row) for row in rows]

    def _written(self, made: _Adding, known: int | None) -> Added:
        """Write additions; a ``CommitUnknown`` names the memories that it concerns."""
        try:
            return self.ledger.write(made, spaces=None if known is None else (known,))
        except CommitUnknown as error:
            raise error.of([entry.row.id for entry in made.entries]) from error

    def admitted(self, draft: Draft, now: int) -> Entry:
        """Check a draft, take secrets out of it and weigh it; nothing is written."""
        return admit(draft, now=now, limits=self.config.limits, secrets=self.config.secrets)

    def new_namespace(self, connection: Transaction, labels: tuple[str, ...]) -> int:
        """Give a namespace a number, inside the transaction that first writes to it.

        If that transaction is rolled back, the next namespace gets the same number, and must not be
        confused with this one.
        """
        ns = namespaces.number(connection, labels)
        self._novelty.forget(ns)
        return ns

    def in_bites(
        self,
        ns: int,
        things: Sequence[A],
        job: Change[A],
        now: int,
        *,
        verb: str,
        makes_room: bool = False,
        run: Run | None = None,
        alone: bool = False,
    ) -> list[Row]:
        """Change many memories, ``BITE`` per transaction, so that other writers never wait long.

        If it is interrupted, the earlier ones are changed and the others are as they were.

        Args:
            ns: Namespace number.
            things: The memories, by row id or id, as the job takes them.
            job: Changes some of them; returns their rows.
            now: The present moment, microseconds.
            verb: The call that it is, for ``changes``; all transactions are one run.
            makes_room: See ``Ledger.write``.
            run: The run of a call that made other changes before.
            alone: Whether each has the store alone, as it folds the events of all namespaces.
        """
        several = run is not None or len(things) > BITE
        made = Run() if run is None else run
        rows: list[Row] = []

        def bite(session: Transaction, part: Sequence[A]) -> tuple[Sequence[Row], int | None]:
            work = Work(session, ns, now, self.rules)
            done = job(work, part)
            return done, changes.finish(work, verb, run=made.first, begins_run=several)

        try:
            for start in range(0, len(things) or 1, BITE):  # once if empty: must fail if read-only
                part = things[start : start + BITE]
                done, number = self.ledger.write(
                    partial(bite, part=part), spaces=None if alone else (ns,), makes_room=makes_room
                )
                made.add(number)
                rows += done
        finally:
            self.changed(ns, rows)
        return rows

    def changed(self, ns: int, rows: Sequence[Row], *, new: bool = False) -> None:
        """Tell the tiers that rows changed; ``new`` if no existing row did."""
        if not new:
            self._novelty.forget(ns)  # the words met may have changed
        sessions = {row.session for row in rows if row.tier == Tier.SHORT}
        if sessions:
            self.short.touch(ns, sessions)
        self.background.statements.fresh.add(ns)
        self.indexer.start()

    @property
    def searcher(self) -> Searcher:
        """The read path, created on first use, because it needs NumPy."""
        if (found := self._searcher) is None:  # read once: an erasure may reset it meanwhile
            if _READ_PATH not in sys.modules:  # else a fork cannot interrupt an import
                with whole():
                    import_module(_READ_PATH)
            from memento.retrieve.searcher import Searcher  # noqa: PLC0415 - keeps import light

            with self._lock:
                if (found := self._searcher) is None:
                    found = self._searcher = Searcher(
                        self.ledger,
                        self.config,
                        self.embedding,
                        self._reranker,
                        self.long_tier,
                        lambda ns: self.indexer.trouble_for(ns.__eq__),
                    )
        return found

    def _earlier_notes(self, ns: int, docid: int, most: int) -> Sequence[int]:
        return self.searcher.earlier_notes(ns, docid, most, self.now())

    def _keep_outlines(self) -> None:
        if (found := self._searcher) is not None:
            found.keep_outlines()

    def long_tier(self, wanted: bool) -> Index | None:
        """Return the long tier for a search; if it is wanted, ask the indexer to open it."""
        if wanted and (self._long is None or self._long.state != "ready"):
            self.indexer.want_index()
        return self._long

    def long_state(self) -> str:
        """Return the state of the long tier's index."""
        return "cold" if self._long is None else str(self._long.state)

    def open_long(self) -> Index | None:
        """Open the long tier and return it; only the background thread calls this.

        A ledger on a server has none, unless Chroma is on a server too: a folder in the cache of a
        machine would lack what other machines index.

        Raises:
            TierUnavailable: If it cannot be opened, or another process feeds it on a server.
            EmbedderError: If its vectors come from another embedder.
        """
        if self.config.chroma.url is None and self.ledger.read(vectors.generations):
            raise Taken("long", "the index is on a Chroma server; to use it, set chroma.url")
        assert self.embedding is not None  # noqa: S101 - the indexer has no index without one
        long = self._long
        if long is None:
            if self._index_place is None:
                return None
            long = self._make_long(self.embedding.model(), self.embedding.identity)
            with self._lock:
                if self._shut:  # closed during this call, so nothing else would close it
                    raise TierUnavailable("long", "the store is closed")
                self._long = long
        long.open()
        return long

    @property
    def _index_place(self) -> str | Path | None:
        """Where Chroma is: the address of a server, or a folder; None if there is neither."""
        folder = self.ledger.root / layout.CHROMA
        return self.config.chroma.url or (folder if self.ledger.in_file else None)

    def _make_long(self, model: int, identity: str) -> Index:
        if self.config.chroma.url is not None:
            with whole():
                from memento.tiers.chroma_server import ServerTier  # noqa: PLC0415 - needs NumPy

            return ServerTier(
                self.ledger,
                self.config.chroma,
                model=model,
                identity=identity,
                samples=self._samples,
                on_fault=self._index_failed,
            )
        with whole():
            from memento.tiers.long_tier import LongTier  # noqa: PLC0415 - needs NumPy

        return LongTier(
            self.ledger.root / layout.CHROMA,
            identity=identity,
            samples=self._samples,
            on_reset=lambda _: self.ledger.write(lambda c: vectors.owe_index(c, model)),
            mark=lambda: self.ledger.read(vectors.mark),
            set_mark=lambda mark: self.ledger.write(lambda c: vectors.set_mark(c, mark)),
        )

    def _index_failed(self, error: TierUnavailable) -> None:
        """Note that a server's index failed a search, and retry opening it later."""
        self.indexer.failed("long", error)
        self.indexer.want_index()

    def reindex(self) -> int:
        """Make the current embedder that of the store and queue all memories; return how many.

        Raises:
            InvalidInput: If there is no embedder.
        """
        if self.embedding is None:
            raise InvalidInput("embedder", "is None, so this store cannot embed memories")
        with self.indexer.paused():  # else the index would be closed while the indexer uses it
            owed = self.embedding.adopt()
            self._let_go()
        self.indexer.retry()
        return owed

    def _let_go(self) -> None:
        """Close the long tier and drop the read path; the next use opens them again."""
        with self._lock:
            long, self._searcher, self._long = self._long, None, None
        if long is not None:
            long.close()

    def erase(
        self, labels: tuple[str, ...], what: Chosen, *, derived: bool, dry_run: bool, timeout: float
    ) -> Erasure:
        """Erase memories from every file of the store; see ``erase.Eraser``."""
        ns, now = self.ledger.find_namespace(labels), self.now()
        if dry_run or ns is None:
            planned = self._eraser.plan(ns, what, derived=derived, now=now)
            return replace(planned, dry_run=dry_run)
        self.background.accesses.log()
        with self.indexer.paused():
            done = self._eraser.erase(ns, what, derived=derived, now=now)
        self.names.forget(ns)
        self.indexer.start()
        return replace(done, pending=self._eraser.wait(timeout)) if done.pending else done

    def import_from(
        self,
        source: str | Path | IO[str] | IO[bytes],
        into: tuple[str, ...] | None,
        trust: Trust,
        progress: Progress | None = None,
    ) -> Imported:
        """Import an export; see ``upkeep.import_``."""
        terms = self._terms(trust)
        sessions: Sessions = {}
        try:
            return import_.import_from(
                self.ledger,
                source,
                into=into,
                embedder=self._identity,
                terms=terms,
                sessions=sessions,
                progress=progress,
            )
        finally:  # even if interrupted: some may be written
            for ns, names in sessions.items():
                self.short.touch(ns, names)
                self.background.statements.fresh.add(ns)
            self.indexer.start()

    def _terms(self, trust: Trust) -> import_lines.Terms:
        config = self.config
        return import_lines.Terms(config.limits, self.rules, config.secrets, trust, self.now())

    def move(self, to: str | Path, progress: Progress | None) -> Moved:
        """Copy the store into another one; see ``upkeep.move``."""
        return mover.move(self.ledger, to, terms=self._terms(Trust.USER), progress=progress)

    def _identity(self) -> str | None:
        """Return the name of the embedder; None without one, ``""`` if it cannot be loaded."""
        try:
            return None if self.embedding is None else self.embedding.identity
        except (EmbedderError, InvalidInput, MissingExtra):
            return ""

    def wish(self, labels: tuple[str, ...], sessions: Sequence[str] = ()) -> Wish | None:
        """Return what a question about some sessions, or all, waits for: the newest memories.

        None if all of them have vectors, or waiting would not help; see ``tiers.queue``.
        """
        ns = self.ledger.find_namespace(labels)
        if ns is None or self.ledger.read_only or self.embedding is None:
            return None
        return self.indexer.wishes.of(ns, sessions)

    @property
    def prompt_confidence(self) -> float:
        """Minimum confidence for a prompt to show hits, see ``RetrieveConfig.least_for``."""
        return self.config.retrieve.least_for(getattr(self._spec, "name", self._spec))

    def settle(self, labels: tuple[str, ...], timeout: float, sessions: Sequence[str] = ()) -> None:
        """Wait until the memories of a `wish` have vectors, at most ``timeout`` seconds."""
        if (wish := self.wish(labels, sessions)) is not None:
            self.indexer.wait_for(wish, timeout)

    def accessed(self, labels: tuple[str, ...], ids: list[str]) -> None:
        """Note which memories were retrieved; the background thread writes it to the event log."""
        ns = self.ledger.find_namespace(labels)
        if ns is not None and not self.ledger.read_only:
            self.background.accesses.note(ns, ids)
            self.indexer.start()

    def count_tokens(self, text: str) -> int:
        """Count the tokens that a text takes in a prompt; see ``StoreEmbedder.count_tokens``.

        If the embedder cannot be loaded, which ``Retrieval.missing`` reports, it is the estimate.
        """
        if self.embedding is not None:
            with suppress(EmbedderError, MissingExtra):
                return self.embedding.count_tokens(text)
        return estimate(text)

    def sees(self, labels: tuple[str, ...]) -> Sees:
        """Return a test whether a number is that of this namespace, which is read in each call."""
        return lambda number: number == self.ledger.find_namespace(labels)

    def examine(
        self, labels: tuple[str, ...], *, repair: bool, all_namespaces: bool
    ) -> list[Finding]:
        """Look for damage in the ledger and in what is derived from it; see ``doctor.examine``."""
        sees = everyone if all_namespaces else self.sees(labels)
        found = doctor.examine(
            self.ledger,
            sees=sees,
            repair=repair,
            embedding=self.embedding is not None,
            settings=self.config.dynamics,
            association=self.config.association,
            rules=self.config.conflicts,
            trouble=self.indexer.trouble_for(sees),
        )
        if any(finding.check == "store" for finding in found):
            return found
        if self.embedding is not None and "embedder" not in self.indexer.trouble:
            found += doctor.stale_vectors(self.embedding.known_model)
        if others := self.indexer.refused_unseen(sees):
            detail = f"texts of other namespaces refused: {others}"
            found.append(Finding("embedder", ok=False, detail=detail))
        found += self._examine_index(repair=repair)
        if owed := self.ledger.read(erasure.owed):
            why = [self._eraser.pending.get(part, "not tried yet") for part in owed]
            found.append(Finding("erasure", ok=False, detail="; ".join(why)))
        if any(finding.repaired for finding in found):
            self.indexer.retry()
        return found

    def _examine_index(self, *, repair: bool) -> list[Finding]:
        """Check the contents of the long tier's index if it is open; damage is repaired later."""
        if self._long is None or self._long.state == "cold":
            return []
        try:
            sound = self._long.healthy(self._samples())
        except TierUnavailable as error:
            return [Finding("index", ok=False, detail=str(error))]
        if sound:
            return [Finding("index", ok=True, detail="stored vectors are found")]
        detail = f"damaged: {self._long.reason}"
        if not repair:
            return [Finding("index", ok=False, detail=detail)]
        self.indexer.want_index()
        return [Finding("index", ok=True, detail=f"{detail}; it is rebuilt", repaired=True)]

    @traced("flush", lambda done: {"done": done})
    def flush(
        self,
        labels: tuple[str, ...],
        *,
        wait: bool,
        timeout: float | None,
        progress: Progress | None = None,
    ) -> bool:
        """Write the snapshot, the log and missing full text; optionally wait for the indexes.

        Returns:
            Whether no work is left that this process can do. Texts of other namespaces that the
            embedder refused do not make it False.
        """
        ends = None if timeout is None else monotonic() + timeout
        attendant = self.background.attendant
        shown = not wait or attendant is None or attendant.finish(timeout)
        self.background.accesses.log()
        self.short.snapshot()
        if not self.ledger.read_only:
            self.background.words.catch_up()
        if not wait:
            return True
        late = self.background.statements.settle(
            gives_way=False, seconds=inf if ends is None else max(0.0, ends - monotonic())
        )
        owed = None if progress is None else self.owed(labels, progress)
        done = self.indexer.wait(
            None if ends is None else max(0.0, ends - monotonic()),
            sees=self.sees(labels),
            each=None if owed is None else owed.glance,
        )
        if owed is not None:
            owed.report()
        late |= self._compare(labels, inf if ends is None else max(0.0, ends - monotonic()))
        return done and shown and not late

    def _compare(self, labels: tuple[str, ...], seconds: float) -> bool:
        """Look for what the notes of a namespace change; return whether the time was too short."""
        if (ns := self.ledger.find_namespace(labels)) is not None:
            self.background.changes.fresh.add(ns)  # includes work left by an earlier process
        return self.background.changes.compare(gives_way=False, seconds=seconds)

    def owed(self, labels: tuple[str, ...], progress: Progress) -> Remaining:
        """Return a report to ``progress`` of how much of a backlog is done since now."""

        def left() -> int:
            ns = self.ledger.find_namespace(labels)
            found = (
                {}
                if ns is None
                else self.ledger.read(lambda c: vectors.backlog_size(c, ns), space=ns)
            )
            return sum(found.values())

        return Remaining(left, progress)

    def drained(self, labels: tuple[str, ...]) -> bool | None:
        """Tell what ``flush(wait=True)`` would return without waiting; None while it would wait."""
        self.background.statements.settle(gives_way=False, seconds=inf)
        self.indexer.start()
        attendant = self.background.attendant
        if attendant is not None and attendant.busy():
            return None
        done = self.indexer.drained(self.sees(labels))
        if done is not None and self._compare(labels, _GLANCE):
            return None
        return done

    def close(self) -> None:
        """Finish the current batch, write the snapshot, close everything. Idempotent."""
        with self._closing:
            if self.ledger.closed:
                return
            ends = monotonic() + self.config.close_seconds
            if (attendant := self.background.attendant) is not None:
                attendant.stop(self.config.close_seconds / 2)  # the indexer has a batch to finish
            self.indexer.stop(max(0.0, ends - monotonic()))
            with self._lock:
                self._shut, searcher = True, self._searcher
            try:
                self._let_go()  # Chroma, and the open files of the read path
                self.background.accesses.log()
                self.short.snapshot()
                if searcher is not None:
                    searcher.keep_outlines()
            except StoreError as error:  # the memories are on the disk; the rest is rebuilt
                problem = str(error)  # a log record with the error would keep its frames alive
                log.warning("closed without writing the access log and the snapshot: %s", problem)
            finally:
                self.ledger.close()
                _open_engines.discard(self)

    def _samples(self) -> list[LongSample]:
        import numpy as np  # noqa: PLC0415 - must not load with memento

        assert self.embedding is not None  # noqa: S101 - see open_long
        model = self.embedding.model()
        chosen = self.ledger.read(lambda c: vectors.sample(c, model, SAMPLED))
        return [
            (self.ledger.labels(docid >> SEQ_BITS), memory_id, np.frombuffer(blob, "f4"))
            for docid, memory_id, blob in chosen
        ]

    def _index_lost(self) -> bool:
        """Return whether Chroma's folder is missing and nothing is queued for the index."""
        place = self._index_place
        if not isinstance(place, Path) or place.exists() or self.ledger.read_only:
            return False
        return self.ledger.read(vectors.is_left_unfed)

    def reopen_after_fork(self) -> None:
        """Start again in a forked child, which has none of the parent's threads and locks."""
        attendant = self.background.attendant
        self._start()
        self.background.attendant = None if attendant is None else attendant.renewed()


_open_engines: weakref.WeakSet[Engine] = weakref.WeakSet()


class Added(NamedTuple):
    """The result of an addition: its rows, re-evaluated rows, words met, number of the change."""

    ns: int
    rows: list[Row]
    judged_again: list[Row]
    met: Met | None
    number: int | None


class _Adding:
    """The transaction of one ``add``, which may be combined with others, see ``group``.

    Args:
        job: Carries it out alone.
        ns: The namespace, if it does nothing but add; None if it must be carried out alone.
        entries: The memories.
        now: The moment of the call.
        rules: Settings that a write obeys.
        novelty: The words that namespaces have met.
    """

    __slots__ = ("_job", "_novelty", "_rules", "entries", "joins", "now")

    def __init__(
        self,
        job: Callable[[Transaction], Added],
        ns: int | None,
        entries: Sequence[Entry],
        now: int,
        rules: Rules,
        novelty: Novelty,
    ) -> None:
        self._job, self.entries, self.now = job, entries, now
        self._rules, self._novelty = rules, novelty
        alone = ns is None or any(
            one.chosen_id or one.supersedes or one.row.key is not None for one in entries
        )
        self.joins = None if alone else ns

    def __call__(self, session: Transaction) -> Added:
        return self._job(session)

    def together(self, session: Transaction, jobs: Sequence[_Adding]) -> list[Added]:
        """Add the memories of several calls as if one call had added all.

        Raises:
            _AloneError: If that ended a state of a memory.
        """
        assert self.joins is not None  # noqa: S101 - else it is carried out alone
        entries = [entry for job in jobs for entry in job.entries]
        work = Work(session, self.joins, max(job.now for job in jobs), self._rules)
        rows, judged_again, met = remember(work, entries, self._novelty)
        if work.trace.number is not None:
            raise _AloneError
        left = iter(rows)
        return [
            Added(work.ns, list(islice(left, len(job.entries))), judged_again, met, None)
            for job in jobs
        ]


class _AloneError(Exception):
    """A combined addition ended a state of a memory; such a change must belong to one call."""


def _numbered(work: Work, verb: str, entries: Sequence[Entry], run: Run | None) -> int | None:
    """Record the change that an addition made, if it made one; see ``changes.finish``."""
    if work.trace.number is None:
        return None
    by = Trust.least(Trust(one.row.trust) for one in entries)
    first = None if run is None else run.first
    return changes.finish(work, verb, by, run=first, begins_run=run is not None)


@atexit.register
def _close_all() -> None:
    for engine in list(_open_engines):
        with suppress(MementoError):  # the interpreter is ending; the ledger has all memories
            engine.close()


def _after_fork() -> None:
    for engine in list(_open_engines):
        if not engine.ledger.closed:
            engine.reopen_after_fork()


os.register_at_fork(after_in_child=_after_fork)
