"""Load the vectors of the namespaces of a store, and choose who searches them: all, or Chroma.

Both have the same vectors. Chroma only chooses candidates, whose cosines are computed from the
stored vectors, so that scores and order are those of exact search; see ``by_meaning``.

The part of a namespace that it shows to another is searched in RAM, by the vectors of its members
alone: files and Chroma cover the whole namespace.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from memento.config import Config, LongIndex
from memento.ledger import memories, vectors
from memento.ledger.contract import Ledger, Transaction
from memento.retrieve.by_meaning import ByChroma, Exact
from memento.retrieve.cache import Held
from memento.retrieve.columns import (
    TIERS,
    Floats,
    RosterView,
    Rows,
    distinct,
    having_trait,
    still_holding,
)
from memento.tiers import derived, mapped
from memento.tiers.derived import Filing, Unusable
from memento.tiers.exact import Vectors
from memento.tiers.folder import LongState
from memento.tiers.mapped import KIND, Docids, Table
from memento.tiers.store_embedder import StoreEmbedder
from memento.types import Tier

if TYPE_CHECKING:
    from memento.tiers.long_tier import Index

log = logging.getLogger("memento.retrieve.vector_search")

CHROMA_FROM = 12_000
"""Vectors of a namespace from which Chroma answers: exact search of fewer costs no more CPU."""
PASS = 4
"""Chroma answers if one memory in so many passes the filters, which apply after its search."""
LACKING = 2
"""Chroma answers if it lacks at most one vector in so many: those are compared in any case."""
TAIL = 4_096
"""Vectors in the tail from which it is written to the file, or
a sixteenth of the file if that is more, up to four times as many: comparing 4,096 takes 0.4 ms."""
_SHARE = 16
_ROOM = 2
"""Free disk space needed to write the file, in multiples of its size."""
_AGAIN = 4
"""If one of so many vectors in the file is outdated, all are written again."""
WORTH_OPENING = 20_000_000
"""Vectors that a process compares before it opens Chroma only to ask it: that costs as much as the
second of CPU that Chroma takes to import. A process that writes has opened it before."""


def who_answers(
    setting: LongIndex,
    *,
    vectors: int,
    allowed: int | None,
    chroma: Callable[[], tuple[LongState, int]],
) -> tuple[bool, str]:
    """Return whether Chroma, not exact search, answers a search by vector; and why, in a few words.

    Args:
        setting: The user's ``long_index``.
        vectors: Vectors in the namespace.
        allowed: How many memories pass the filters of the search; None without filters.
        chroma: Returns the state of Chroma in this process, and how many of the vectors it lacks.
            Called only if that decides.

    >>> who_answers(LongIndex.AUTO, vectors=800, allowed=None, chroma=lambda: (LongState.COLD, 0))
    (False, 'fewer than 12000 vectors')
    """
    if setting is LongIndex.EXACT:
        return False, "exact search was requested"
    if setting is LongIndex.AUTO and vectors < CHROMA_FROM:
        return False, f"fewer than {CHROMA_FROM} vectors"
    if allowed is not None and allowed * PASS < vectors:
        return False, f"the filters match fewer than one in {PASS}"
    state, lacking = chroma()
    if state is not LongState.READY:
        return False, f"Chroma is {state} in this process"
    if lacking * LACKING > vectors:
        return False, f"Chroma is missing more than one in {LACKING}"
    return True, "Chroma has the vectors"


class VectorSearch:
    """Loads the vectors of namespaces and searches them.

    The caller of ``follow`` and ``search`` holds the lock of the namespace.

    Args:
        ledger: The store.
        config: Settings.
        embedding: The embedder, or None for full text only.
        long: Returns the long tier if it is open; with True it is opened if it is not, later.
    """

    def __init__(
        self,
        ledger: Ledger,
        config: Config,
        embedding: StoreEmbedder | None,
        long: Callable[[bool], Index | None],
    ) -> None:
        self._ledger, self._setting = ledger, LongIndex(config.long_index)
        self._embedding, self._long = embedding, long
        self._filing = Filing(ledger, KIND)
        self._damaged: set[str] = set()  # marks of files that hold a damaged vector

    def is_at_hand(self, held: Held) -> bool:
        """Return whether the vectors of a namespace are loaded and not known to be damaged."""
        table = None if held.vectors is None else held.vectors.table
        return held.vectors is not None and (table is None or table.mark not in self._damaged)

    def may_be_due(self, held: Held) -> bool:
        """Return whether the file of a namespace may have to be written before a question."""
        found = held.vectors
        return found is None or not self.is_at_hand(held) or _has_long_tail(found)

    def file(self, ns: int, held: Held, model: int) -> None:
        """Write the file of a large namespace if there is none, or add its tail if that is long.

        The caller holds ``held.filing``, and neither its lock nor a connection.
        """
        with held.lock:
            found, docids = held.vectors, held.snap.docid
        if found is not None and self.is_at_hand(held):
            if _has_long_tail(found) and self._settle(ns, found, docids):
                with held.lock:
                    held.vectors = None  # the question reopens the file
            return
        if self._embedding is None:
            return
        dim = self._embedding.dim

        def is_due(connection: Transaction) -> bool:
            facts = vectors.facts(connection, KIND, ns)
            return vectors.count(connection, ns) >= TAIL and not self._table(ns, facts, model, dim)

        if self._ledger.read(is_due, space=ns):
            self._filing.write(ns, lambda folder: self._write_all(folder, ns, model, dim))

    def follow(
        self, connection: Transaction, ns: int, held: Held, model: int | None, facts: vectors.Facts
    ) -> None:
        """Bring the vectors of a namespace, made by one model, up to date.

        The same read must have followed the rows: the vector of an unknown row would be lost.
        """
        if model is None or self._embedding is None:
            return
        docids = held.snap.docid
        found = held.vectors if self.is_at_hand(held) else None
        if found is not None and (found.source != (model, facts.erased) or found.outdated):
            found = None
        dim = self._embedding.dim if found is None else found.dim
        if found is None:
            table = None if held.shown else self._table(ns, facts, model, dim)
            found = Vectors.of(table, docids, dim, (model, facts.erased))
        if found.stamp != facts.stamp:
            bites = (
                _of_members(connection, docids, model)
                if held.shown and not found.stamp
                else vectors.since(connection, ns, model, found.stamp)
            )
            for some, matrix in _arrays(bites, dim):
                found = found.take(some, matrix, docids)
            found = replace(found, stamp=facts.stamp)
        if len(found.at) <= len(docids):  # no vector came with the last rows
            found = found.placed(docids[:0], docids, 0)
        held.vectors = found

    def _table(self, ns: int, facts: vectors.Facts, model: int, dim: int) -> Table | None:
        """Open the file of a namespace, if it agrees with the ledger."""
        try:
            table = mapped.open_table(self._ledger.root, ns, facts, model=model, dim=dim)
        except (Unusable, OSError) as error:
            log.debug("namespace %s has no vector file: %s", ns, error)
            return None
        return None if table.mark in self._damaged else table

    def search(
        self,
        ns: int,
        labels: tuple[str, ...],
        held: Held,
        snap: RosterView,
        allowed: int | None,
        now: int,
        *,
        exact: bool,
    ) -> Exact | None:
        """Return the search for one query, exact or by Chroma; None if nothing has a vector.

        ``allowed``: how many rows pass the filters, None without filters. ``now``: microseconds.
        ``exact``: never Chroma.
        """
        found = held.vectors
        if found is None or not found.embedded:
            return None
        lacking = np.zeros(0, np.intp)

        def chroma() -> tuple[LongState, int]:
            nonlocal lacking
            long = self._long(self._setting is LongIndex.CHROMA or held.compared > WORTH_OPENING)
            if long is None or long.state is not LongState.READY:
                return LongState.COLD if long is None else long.state, 0
            lacking = self._lacking(ns, snap, found, now)
            return long.state, len(lacking)

        by_chroma, why = who_answers(
            LongIndex.EXACT if exact or held.shown else self._setting,
            vectors=found.embedded,
            allowed=allowed,
            chroma=chroma,
        )
        log.debug("namespace %s: by_chroma=%s, because %s", ns, by_chroma, why)
        if by_chroma and (long := self._long(False)) is not None:
            return ByChroma(
                found,
                snap,
                self._note_damage,
                lambda vector, n: [name for name, _ in long.search(labels, vector, n)],
                lambda ids: self._docids(ns, ids),
                lacking,
            )
        held.compared += found.embedded
        return Exact(found, snap, self._note_damage)

    def _docids(self, ns: int, ids: list[str]) -> Docids:
        listed = self._ledger.read(lambda c: memories.docids_named(c, ns, ids), space=ns)
        return np.fromstring(listed, np.int64, sep=",")

    def _lacking(self, ns: int, snap: RosterView, found: Vectors, now: int) -> Rows:
        """Return the rows whose vectors Chroma lacks.

        They are of the short tier, hold until a plan, or were not handed on yet.
        """
        most = found.embedded // LACKING + 1
        waiting = self._ledger.read(lambda c: vectors.waiting_in(c, ns, most), space=ns)
        apart = (snap.tier == TIERS[Tier.SHORT.value]) & having_trait(snap.status, "in_index")
        apart |= still_holding(snap, slice(None), now)
        apart &= found.known[:-1]
        waited = snap.rows_of(np.array(waiting, np.int64))
        return distinct(np.concatenate([np.flatnonzero(apart), waited]))

    def _note_damage(self, table: Table) -> None:
        self._damaged.add(table.mark)

    def _settle(self, ns: int, found: Vectors, docids: Docids) -> bool:
        """Write the tail to the file; return whether that was possible."""
        tail, table, model = len(found.tail), found.table, found.source[0]

        def job(folder: int) -> bool:
            if table is None or (found.filed + tail - found.embedded) * _AGAIN > found.filed + tail:
                return self._write_all(folder, ns, model, found.dim)
            if derived.head_of(folder, f"{ns}.{KIND}").get("mark") == table.mark:
                name_it = self._filing.naming(ns, found.source[1])
                mapped.append(folder, table, *found.live_tail(docids), found.stamp, name_it)
            return True  # else another process was faster

        return self._filing.write(ns, job)

    def _write_all(self, folder: int, ns: int, model: int, dim: int) -> bool:
        """Write the file of a namespace."""
        count = self._ledger.read(lambda c: vectors.count(c, ns), space=ns)
        disk = os.fstatvfs(folder)
        if disk.f_bavail * disk.f_frsize < _ROOM * mapped.size_of(count, dim):
            raise Unusable("too little room on the disk")

        with derived.drafted(folder, f"{ns}.{KIND}") as draft:

            def job(connection: Transaction) -> int:
                facts = vectors.facts(connection, KIND, ns)
                bites = _arrays(vectors.since(connection, ns, model, 0), dim)
                mapped.fill(draft, ns, facts, bites, model=model, dim=dim)
                return facts.erased

            erased = self._ledger.read(job, space=ns)
            draft.name(self._filing.naming(ns, erased))
        return True


def _has_long_tail(found: Vectors) -> bool:
    return len(found.tail) >= min(max(TAIL, found.filed // _SHARE), 4 * TAIL)


def _of_members(
    connection: Transaction, members: Docids, model: int
) -> Iterator[list[tuple[int, bytes]]]:
    """Read the vectors of a part of a namespace, in batches that bound memory."""
    for start in range(0, len(members), vectors.BITE):
        bite = members[start : start + vectors.BITE].tolist()
        yield list(vectors.read(connection, bite, model).items())


def _arrays(bites: Iterable[list[tuple[int, bytes]]], dim: int) -> Iterator[tuple[Docids, Floats]]:
    """Yield the row ids and the vectors of each bite."""
    for bite in bites:
        docids = np.array([docid for docid, _ in bite], np.int64)
        matrix = np.frombuffer(b"".join(blob for _, blob in bite), np.float32)
        yield docids, matrix.reshape(len(bite), dim)
