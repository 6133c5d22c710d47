"""The indexes that answer searches by vector, for every namespace of a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from memento.config import Config
from memento.config.tiers import LongIndex
from memento.ledger import vectors
from memento.ledger.contract import Ledger, Session
from memento.retrieve.cache import Held
from memento.retrieve.choose import choose_index, prefers_chroma
from memento.retrieve.coders import coder_of
from memento.retrieve.ledger_source import LedgerSource, LongSearch
from memento.retrieve.roster import Mask, Snapshot
from memento.retrieve.scans import Scans
from memento.retrieve.source import Nearest
from memento.tiers.embedder import StoreEmbedder
from memento.tiers.long import LongState

if TYPE_CHECKING:
    from memento.tiers.long import LongTier


class Indexes:
    """Chooses and lends the index of a search. The caller holds the lock of the namespace.

    Args:
        ledger: The store.
        config: Settings.
        embedding: The embedder, or None for full text only.
        long: Returns the long tier; None while the store has no long tier.
    """

    def __init__(
        self,
        ledger: Ledger,
        config: Config,
        embedding: StoreEmbedder | None,
        long: Callable[[], LongTier | None],
    ) -> None:
        self._ledger = ledger
        self._setting, self._config = config.long_index, config.choose
        self._embedding = embedding
        self._long = long
        self._scans = Scans(ledger, coder_of(config.choose.codes))

    def is_small(self, held: Held) -> bool:
        """Tell whether a namespace is searched exactly, without a look at any index."""
        if self._setting in {LongIndex.CHROMA, LongIndex.SCAN}:
            return False
        return self._setting == LongIndex.EXACT or len(held.roster) < self._config.exact_below

    def follow(
        self, connection: Session, ns: int, held: Held, model: int | None, *, exact: bool
    ) -> None:
        """Bring the vectors of a namespace up to date with a read, as far as they are in RAM.

        Args:
            connection: A read in which all rows were followed before. A vector of a row that is
                not known yet would be lost.
            ns: Namespace number.
            held: The namespace.
            model: Number of the embedder whose vectors are needed; None for none.
            exact: Whether all vectors are needed in RAM.
        """
        if model is None:
            return
        if exact or self.is_small(held):
            self._load(connection, ns, held, model)
        elif held.scanned or not self._prefers_chroma(held):
            self._open_scan(connection, ns, held, model)

    def has_followed(self, held: Held, model: int | None, *, exact: bool) -> bool:
        """Tell whether a namespace still has the vectors that ``follow`` brought up to date."""
        if model is None:
            return True
        if exact or self.is_small(held):
            return held.stamp > 0
        if held.scan is not None:
            return not held.scan.damaged
        return not held.scanned and self._prefers_chroma(held)

    def search(
        self,
        source: LedgerSource,
        held: Held,
        model: int,
        catch_up: Callable[[], tuple[Snapshot, Mask]],
        *,
        narrow: bool,
    ) -> tuple[Snapshot, Mask, Nearest | None]:
        """Choose the index of one search.

        Args:
            source: The namespace.
            held: The same, up to date.
            model: Number of the embedder.
            catch_up: Brings it up to date; returns its rows, and those that may be found.
            narrow: Whether there are filters.

        Returns:
            The rows, those that may be found, and the index; None for exact search.
        """
        snap, allowed = catch_up()
        choice, _why = choose_index(
            self._setting,
            live=len(held.roster),
            allowed=int(np.count_nonzero(allowed)) if narrow else None,
            scan=lambda: self._can_scan(source.ns, held, model),
            chroma=lambda: self._chroma(source.ns, model),
            config=self._config,
        )
        nearest: Nearest | None = None
        if choice is LongIndex.SCAN:
            held.scanned = True
            if held.scan is None:
                snap, allowed = catch_up()  # opens what was just written
            nearest = self._scan(source.ns, held, snap)
        elif choice is LongIndex.CHROMA:
            nearest = self._chroma_search(source, model, snap, allowed, narrow=narrow)
        if nearest is not None:
            held.roster.drop_vectors()
            held.stamp = 0
            snap = held.roster.snapshot()
        return snap, allowed, nearest

    def _load(self, connection: Session, ns: int, held: Held, model: int) -> None:
        """Bring the vectors for exact search up to date."""
        stamp = vectors.latest_stamp(connection)
        if stamp != held.stamp:
            for bite in (
                _of_members(connection, held, model)
                if held.shown and not held.stamp
                else vectors.since(connection, ns, model, held.stamp)
            ):
                docids = np.array([docid for docid, _ in bite], np.int64)
                matrix = np.frombuffer(b"".join(blob for _, blob in bite), np.float32)
                held.roster.set_vectors(docids, matrix.reshape(len(bite), -1))
        held.stamp = stamp

    def _prefers_chroma(self, held: Held) -> bool:
        return prefers_chroma(self._setting, len(held.roster), self._config)

    def _open_scan(self, connection: Session, ns: int, held: Held, model: int) -> None:
        if self._embedding is not None:
            docids = held.roster.snapshot().docid
            dim = self._embedding.dim
            held.scan = self._scans.follow(connection, ns, held.scan, docids, model, dim)

    def _can_scan(self, ns: int, held: Held, model: int) -> bool:
        if held.scan is not None:
            return True
        least = 1 if self._setting == LongIndex.SCAN else self._config.exact_below
        return self._embedding is not None and self._scans.can_open(
            ns, model, self._embedding.dim, least
        )

    def _scan(self, ns: int, held: Held, snap: Snapshot) -> Nearest | None:
        scan = held.scan
        if scan is None:
            return None
        if self._scans.settle(ns, scan):
            held.scan = None  # the next query opens the new files
        return scan.search(snap)

    def _chroma(self, ns: int, model: int) -> tuple[LongState, int]:
        """Return the state of the long tier, and how many vectors it lacks. It loads Chroma."""
        long = self._long()
        if long is None or self._embedding is None:
            return LongState.COLD, 0
        return long.state, len(self._ledger.read(lambda c: vectors.unindexed(c, ns, model)))

    def _chroma_search(
        self, source: LedgerSource, model: int, snap: Snapshot, allowed: Mask, *, narrow: bool
    ) -> LongSearch | None:
        long = self._long()
        if long is None or self._embedding is None:
            return None
        return LongSearch(
            self._ledger,
            source,
            model=model,
            dim=self._embedding.dim,
            long=long,
            tail=self._ledger.read(lambda c: vectors.unindexed(c, source.ns, model)),
            overfetch=self._config.overfetch if narrow else 1,
            seen=None if snap.live == snap.n else snap.docid[snap.heard | allowed],
        )


def _of_members(connection: Session, held: Held, model: int) -> Iterator[list[tuple[int, bytes]]]:
    """Read the vectors of a part of a namespace, in bites that bound memory."""
    docids = held.roster.snapshot().docid.tolist()
    for start in range(0, len(docids), vectors.BITE):
        found = vectors.read(connection, docids[start : start + vectors.BITE], model)
        if found:  # none of them may be embedded yet
            yield list(found.items())
