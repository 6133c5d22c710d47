"""What the views of one store share: ledger, tiers, embedder and the background thread."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING

from memento import correct, doctor, quarantine
from memento.config import Config
from memento.embedding import StoreEmbedder
from memento.erase import Eraser, Erasure
from memento.errors import (
    EmbedderError,
    InvalidInput,
    MementoError,
    MissingExtra,
    StoreError,
    TierUnavailable,
)
from memento.ledger import erase, fulltext, memories, vectors
from memento.ledger.erase import Chosen
from memento.ledger.ledger import Ledger
from memento.ledger.memories import Entry
from memento.ledger.rows import Row, to_micros
from memento.ledger.schema import SEQ_BITS
from memento.ledger.sqlite import Connection
from memento.observe.admit import admit, at_position
from memento.observe.novelty import Novelty
from memento.protocols import Reranker
from memento.tiers.indexer import Indexer
from memento.tiers.short import ShortTier
from memento.transfer.door import Door
from memento.transfer.read import Imported, import_from
from memento.types import Draft, Finding, Tier, Trust

if TYPE_CHECKING:
    from memento.protocols import Clock, Embedder
    from memento.retrieve.search import Searcher
    from memento.tiers.long import LongSample, LongTier

log = logging.getLogger("memento.engine")

CHROMA_FOLDER = "chroma"
SAMPLED = 64
"""Stored vectors that must find themselves before a Chroma folder is trusted."""
ACCESSES = 10_000
"""Most retrievals whose log line waits in RAM; older ones give way."""
STREAM_SECONDS = 0.005
"""Adds that follow each other faster are a stream, which the background thread gives way to."""


class LedgerMarks:
    """Keeps in the ledger by which marks its Chroma folder is known; see ``tiers.stamp``."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def read(self) -> list[str]:
        """Return the marks last written."""
        return self._ledger.read(vectors.marks)

    def write(self, marks: Sequence[str]) -> None:
        """Keep these marks."""
        self._ledger.write(lambda c: vectors.set_marks(c, marks))


def system_clock() -> datetime:
    """Return the present moment, UTC."""
    return datetime.now(UTC)


class Engine:
    """One open store. Safe from any thread, and usable again in a forked child.

    Args:
        root: Folder of the store.
        config: Settings.
        embedder: What ``memento.embed.resolve`` accepts; None for full text alone.
        clock: Tells the time.
        reranker: Orders the best candidates anew, or None.
    """

    def __init__(
        self,
        root: Path,
        config: Config,
        embedder: str | Embedder | None,
        clock: Clock,
        reranker: Reranker | None = None,
    ) -> None:
        if reranker is not None and not isinstance(reranker, Reranker):
            raise InvalidInput("reranker", f"has no method score: {type(reranker).__name__}")
        self.config = config
        self.clock = clock
        self.ledger = Ledger(root, allow_network=config.allow_network)
        self._spec = embedder
        self._reranker = reranker
        self._start()
        self.short.load()
        self._eraser.finish()  # what a process that died, or was in the way of, left to do
        _open_engines.add(self)
        if self.embedding is not None and self.ledger.read(vectors.backlog_size):
            self.indexer.start()  # an earlier process ended before its memories were embedded

    def _start(self) -> None:
        """Make everything that does not survive a fork."""
        self.short = ShortTier(self.ledger, self.config.short)
        self._eraser = Eraser(self.ledger, self.short, self._let_go)
        self.embedding = None if self._spec is None else StoreEmbedder(self.ledger, self._spec)
        self._novelty = Novelty()
        self._lock = threading.Lock()
        self._closing = threading.Lock()
        self._searcher: Searcher | None = None
        self._long: LongTier | None = None
        self._shut = False
        self._queries = 0
        self._added = -inf
        self._fresh: set[int] = set()
        self._accesses: deque[tuple[int, int, list[str]]] = deque(maxlen=ACCESSES)
        self.indexer = Indexer(
            self.ledger,
            self.embedding,
            self.open_long,
            self._index_lost,
            chores=self._finish_erasing,
            take_up=self._take_up,
            waiting=lambda: bool(self.ledger.read(fulltext.behind)),
            housekeeping=self._keep_house,
            busy=lambda: self._queries > 0,
            streaming=lambda: monotonic() - self._added < STREAM_SECONDS,
            config=self.config.index,
        )
        self._seen = self._tidied = self._swept = -1
        self._snapshot_due = self.now() + self._snapshot_period()

    def now(self) -> int:
        """Return the present moment, microseconds since 1970 UTC.

        Raises:
            InvalidInput: If the clock tells a time without time zone.
        """
        moment = self.clock()
        if moment.tzinfo is None:
            raise InvalidInput("clock", "must return a time with a time zone")
        return to_micros(moment)

    def add(
        self, labels: tuple[str, ...], drafts: Sequence[Draft], *, replace: bool = False
    ) -> list[Row]:
        """Accept drafts and write them in one durable transaction.

        Args:
            labels: The namespace.
            drafts: What to write.
            replace: Put each in the place of the memory that has its id.
        """
        now = self.now()
        ns = self.ledger.namespace(labels)

        def check(draft: Draft) -> Entry:
            if replace and draft.id is None:
                raise InvalidInput("id", "is needed to replace: say which memory")
            return admit(
                draft,
                now=now,
                limits=self.config.limits,
                choice=self.config.tier_choice,
                secrets=self.config.secrets,
            )

        if len(drafts) == 1:
            entries = [check(drafts[0])]
        else:
            entries = [at_position(at, check, draft) for at, draft in enumerate(drafts)]
        ring = self.config.short.capacity
        write, untrusted = correct.put if replace else correct.add, self.config.untrusted
        named = {entry.row.id for entry in entries if entry.chosen_id}

        def job(connection: Connection) -> tuple[list[Row], dict[int, Row]]:
            self._novelty.weigh(connection, ns, entries)
            quarantine.judge(connection, ns, entries, untrusted)
            rows = write(connection, ns, entries, now=now, ring=ring, untrusted=untrusted)
            again = quarantine.judge_again(
                connection, ns, rows, named, untrusted, now=now, ring=ring
            )
            return rows, {row.docid: row for row in again}

        rows, again = self.ledger.write(job)
        self._added = monotonic()
        self._fresh.add(ns)
        self.changed(ns, [*rows, *again.values()])
        return [again.get(row.docid, row) for row in rows]

    def changed(self, ns: int, rows: Sequence[Row]) -> None:
        """Tell the tiers that rows changed."""
        sessions = {row.session for row in rows if row.tier == Tier.SHORT}
        if sessions:
            self.short.touch(ns, sessions)
        self.indexer.start()

    @property
    def searcher(self) -> Searcher:
        """The read path, made on first use: it needs NumPy."""
        if self._searcher is None:
            from memento.retrieve.search import Searcher  # noqa: PLC0415 - keeps import light

            with self._lock:
                if self._searcher is None:
                    self._searcher = Searcher(
                        self.ledger,
                        self.config,
                        self.embedding,
                        self._reranker,
                        self.long_tier,
                        lambda: self.indexer.trouble,
                    )
        return self._searcher

    def long_tier(self) -> LongTier | None:
        """Return the long tier for a search, asking the indexer to open it if it is not."""
        if self._long is None or self._long.state in {"cold", "damaged"}:
            self.indexer.want_index()
        return self._long

    def long_state(self) -> str:
        """Say whether the long tier's index can be asked."""
        return "cold" if self._long is None else str(self._long.state)

    def open_long(self) -> LongTier:
        """Return the long tier, open; only the background thread calls this.

        Raises:
            TierUnavailable: If it cannot be opened.
            EmbedderError: If its vectors come from another embedder.
        """
        assert self.embedding is not None  # noqa: S101 - the indexer has no index without one
        long = self._long
        if long is None:
            from memento.tiers.long import LongTier  # noqa: PLC0415 - needs NumPy

            model = self.embedding.model()
            long = LongTier(
                self.ledger.root / CHROMA_FOLDER,
                identity=self.embedding.identity,
                dim=self.embedding.dim,
                samples=self._samples,
                on_reset=lambda _why: self._owe_index(model),
                marks=LedgerMarks(self.ledger),
                config=self.config.long,
            )
            with self._lock:
                if self._shut:  # closed while this was on its way: nobody would close it
                    raise TierUnavailable("long", "this memory is closed")
                self._long = long
        long.open()
        return long

    def reindex(self) -> int:
        """Make the embedder in use the store's, owe every vector anew; returns how many.

        Raises:
            InvalidInput: If there is no embedder.
        """
        if self.embedding is None:
            raise InvalidInput("embedder", "is None: this store has nothing to index with")
        owed = self.embedding.adopt()
        self._let_go()
        self.indexer.retry()
        return owed

    def _let_go(self) -> None:
        """Close the long tier; the next to need it opens it anew."""
        with self._lock:
            self._searcher = None
            long, self._long = self._long, None
        if long is not None:
            long.close()

    def erase(
        self,
        labels: tuple[str, ...],
        what: Chosen,
        *,
        derived: bool,
        dry_run: bool,
        timeout: float,
    ) -> Erasure:
        """Erase memories from every file of the store; see ``erase.Eraser``."""
        ns, now = self.ledger.find_namespace(labels), self.now()
        if dry_run or ns is None:
            return self._eraser.plan(ns, what, now)
        self._log_accesses()
        with self.indexer.paused():
            done = self._eraser.erase(ns, what, derived=derived, now=now)
        self.indexer.start()
        return replace(done, pending=self._eraser.wait(timeout)) if done.pending else done

    def _finish_erasing(self) -> None:
        version = self.ledger.data_version()
        if version != self._swept or self._eraser.pending:
            self._eraser.finish()
            self._swept = version

    def import_from(
        self,
        source: str | Path | IO[str] | IO[bytes],
        into: tuple[str, ...] | None,
        trust: Trust,
    ) -> Imported:
        """Take in an export; see ``transfer.read``, and ``transfer.door`` for how far."""
        now, config = self.now(), self.config
        own = trust == Trust.USER
        door = None if own else Door(trust, config.secrets, now)
        done, sessions = import_from(
            self.ledger,
            source,
            into=into,
            embedder=self._identity,
            limits=config.limits,
            door=door,
            untrusted=config.untrusted,
            now=now,
            ring=config.short.capacity,
        )
        for ns, names in sessions.items():
            self.short.touch(ns, names)
        self.indexer.start()
        return done

    def _identity(self) -> str | None:
        """Name the embedder in use; one that cannot be made is none that the vectors come from."""
        try:
            return None if self.embedding is None else self.embedding.identity
        except (EmbedderError, InvalidInput, MissingExtra):
            return ""

    def settle(self, labels: tuple[str, ...], timeout: float) -> None:
        """Wait until all that a namespace holds can be found by meaning, or time runs out.

        Args:
            labels: The namespace.
            timeout: Seconds to wait at most.
        """
        ns = self.ledger.find_namespace(labels)
        if ns is None or self.ledger.read_only or self.embedding is None:
            return  # nothing comes, however long one waits
        self.indexer.wait(timeout, lambda: self.ledger.read(lambda c: vectors.owed_in(c, ns)) > 0)

    def query_begins(self) -> None:
        """Note that a query is in flight; the indexer gives way."""
        with self._lock:
            self._queries += 1

    def query_ends(self) -> None:
        """Note that a query is done."""
        with self._lock:
            self._queries -= 1

    def accessed(self, labels: tuple[str, ...], ids: list[str]) -> None:
        """Note what was retrieved; the background thread writes it to the log."""
        ns = self.ledger.find_namespace(labels)
        if ns is not None and not self.ledger.read_only:
            with self._lock:
                self._accesses.append((ns, self.now(), ids))
            self.indexer.start()

    def examine(self, *, repair: bool) -> list[Finding]:
        """Look for damage; see ``doctor.examine``."""
        found = doctor.examine(
            self.ledger,
            repair=repair,
            embedding=self.embedding is not None,
            trouble=self.indexer.trouble,
        )
        found += self._examine_index(repair=repair)
        if owed := self.ledger.read(erase.owed):
            why = [self._eraser.pending.get(part, "not tried yet") for part in owed]
            found.append(Finding("erasure", ok=False, detail="; ".join(why)))
        if any(finding.repaired for finding in found):
            self.indexer.retry()
        return found

    def _examine_index(self, *, repair: bool) -> list[Finding]:
        """Ask the long tier's index for what it holds, if it is open; damage is mended later."""
        if self._long is None or self._long.state in {"cold", "elsewhere", "closed"}:
            return []
        try:
            sound = self._long.healthy(self._samples())
        except TierUnavailable as error:
            return [Finding("index", ok=False, detail=str(error))]
        if sound:
            return [Finding("index", ok=True, detail="stored vectors find themselves")]
        detail = f"damaged: {self._long.reason}"
        if not repair:
            return [Finding("index", ok=False, detail=detail)]
        self.indexer.want_index()
        return [Finding("index", ok=True, detail=f"{detail}; is made anew", repaired=True)]

    def flush(self, *, wait: bool, timeout: float | None) -> bool:
        """Write the snapshot, the log and what full text lacks; optionally wait for the indexes.

        Returns:
            Whether nothing is owed any more that this process can settle.
        """
        self._log_accesses()
        self.short.snapshot()
        if not self.ledger.read_only:
            self._index_words()
        return self.indexer.wait(timeout) if wait else True

    def close(self) -> None:
        """Finish the bite in hand, write the snapshot, close everything. Idempotent."""
        with self._closing:
            if self.ledger.closed:
                return
            self.indexer.stop(self.config.close_seconds)
            with self._lock:
                self._shut, long = True, self._long
            try:
                if long is not None:
                    long.close()
                self._log_accesses()
                self.short.snapshot()
            except StoreError as error:  # the memories are on the disk; these are made again
                log.warning("closed without log and snapshot: %s", error)
            finally:
                self.ledger.close()
                _open_engines.discard(self)

    def _keep_house(self) -> None:
        """Do what is due in a quiet moment."""
        self._log_accesses()
        now = self.now()
        if self.short.stale and now >= self._snapshot_due:
            self._snapshot_due = now + self._snapshot_period()
            self.short.snapshot()
        version = self.ledger.data_version()
        quiet, self._seen = version == self._seen, version
        if quiet and version != self._tidied and not self.ledger.read_only:
            self._tidy()
            self._tidied = self.ledger.data_version()

    def _tidy(self) -> None:
        """Do to the file what would slow down an ``add``: full text, its segments, the log.

        And keep room for a full disk, if it had to be given back and there is some again.
        """
        self._index_words()
        while not self._queries and self.ledger.write(fulltext.merge):
            pass
        if self.ledger.wal_bytes() > self.config.index.checkpoint_bytes:
            self.ledger.checkpoint()
        self.ledger.keep_reserve()

    def _index_words(self) -> None:
        """Let full text catch up, a little at a time."""
        for ns in self.ledger.read(fulltext.behind):
            while not self._queries and self.ledger.write(
                lambda c, ns=ns: fulltext.catch_up(c, ns, fulltext.AT_ONCE)  # type: ignore[misc]
            ):
                pass

    def _take_up(self) -> None:
        """Let full text take a bite of what came, and with it the backlog.

        Of all namespaces only those are asked that this process added to, if there are any.
        """
        fresh = [self._fresh.pop() for _ in range(len(self._fresh))]
        for ns in fresh or self.ledger.read(fulltext.behind):
            more = self.ledger.write(
                lambda c, ns=ns: fulltext.catch_up(c, ns, fulltext.AT_ONCE)  # type: ignore[misc]
            )
            if more:
                self._fresh.add(ns)

    def _snapshot_period(self) -> int:
        return int(self.config.short.snapshot_seconds * 1_000_000)

    def _log_accesses(self) -> None:
        with self._lock:
            waiting = list(self._accesses)
            self._accesses.clear()
        if not waiting:
            return

        def job(connection: Connection) -> None:
            for ns, at, ids in waiting:
                if there := erase.still_there(connection, ns, ids):
                    memories.record(connection, ns, at, "retrieved", None, {"ids": there})

        self.ledger.write(job)

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
        """Tell whether the Chroma folder is gone though the ledger has rows for it."""
        if (self.ledger.root / CHROMA_FOLDER).exists() or self.ledger.read_only:
            return False
        return self.ledger.read(vectors.any_indexed)

    def _owe_index(self, model: int) -> None:
        self.ledger.write(lambda c: vectors.owe_index(c, model))

    def reopen_after_fork(self) -> None:
        """Start afresh in a forked child; the parent's threads and locks are not here."""
        self._start()


_open_engines: weakref.WeakSet[Engine] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for engine in list(_open_engines):
        with suppress(MementoError):  # the interpreter is going; the ledger has it all
            engine.close()


def _after_fork() -> None:
    for engine in list(_open_engines):
        if not engine.ledger.closed:
            engine.reopen_after_fork()


os.register_at_fork(after_in_child=_after_fork)
