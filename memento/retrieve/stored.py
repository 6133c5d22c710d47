"""The ledger and the long tier as `find` sees them: one namespace, nothing else."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memento.ledger import fulltext, memories, vectors
from memento.ledger.ledger import Ledger
from memento.ledger.predicate import Filters
from memento.ledger.rows import docid_of
from memento.retrieve.meaning import dots
from memento.retrieve.roster import distinct

if TYPE_CHECKING:
    from memento.tiers.long import LongTier

Docids = NDArray[np.int64]
State = tuple[int, int]
"""Newest revision of a namespace, and the edition of the full-text index."""


class Postings:
    """Where expressions match, kept between questions while nothing changes. Safe from any thread.

    Frequent words are asked for again and again, and are the dear ones to look up.

    Args:
        most: Most expressions kept, >= 0; those asked least recently go first.
    """

    LONGEST = 4096
    """Most docids of an expression that is kept; more of them are rarely asked for twice."""

    def __init__(self, most: int = 512) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, State, str, int], Docids] = OrderedDict()

    def find(self, ns: int, state: State, match: str, limit: int) -> Docids | None:
        """Return the docids that were put in for this, or None."""
        key = (ns, state, match, limit)
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def put(self, ns: int, state: State, match: str, limit: int, docids: Docids) -> None:
        """Keep the docids of an expression."""
        if len(docids) > self.LONGEST:
            return
        docids.flags.writeable = False
        with self._lock:
            self._kept[ns, state, match, limit] = docids
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)


class LedgerSource:
    """The texts and postings of one namespace, for one query; see `source.Source`.

    Args:
        ledger: The store.
        ns: Number of the namespace.
        labels: Its labels.
        tail: Full text that waits for the index.
        kept: Postings of earlier queries.

    Attributes:
        ns: Number of the namespace.
        labels: Its labels.
        state: What the namespace was last known to be at; None until that is known.
    """

    def __init__(
        self,
        ledger: Ledger,
        ns: int,
        labels: tuple[str, ...],
        tail: fulltext.Tail,
        kept: Postings,
    ) -> None:
        self._ledger, self._tail, self._kept = ledger, tail, kept
        self.ns, self.labels = ns, labels
        self.state: State | None = None

    def postings(self, matches: Sequence[str], limit: int) -> list[Docids]:
        """Return where expressions match, from earlier queries as far as nothing changed."""
        if self.state is None:
            return self._read(matches, limit)
        kept = [self._kept.find(self.ns, self.state, match, limit) for match in matches]
        unread = [match for match, docids in zip(matches, kept, strict=True) if docids is None]
        read = iter(self._read(unread, limit) if unread else ())
        found: list[Docids] = []
        for match, known in zip(matches, kept, strict=True):
            docids = next(read) if known is None else known
            if known is None:
                self._kept.put(self.ns, self.state, match, limit, docids)
            found.append(docids)
        return found

    def _read(self, matches: Sequence[str], limit: int) -> list[Docids]:
        waiting = [self._tail.postings(self.ns, match, limit) for match in matches]
        found = self._ledger.read(
            lambda c: [fulltext.postings(c, self.ns, match, limit) for match in matches]
        )
        first = docid_of(self.ns, 0)
        return [first + _together(*both, limit) for both in zip(found, waiting, strict=True)]

    def texts(self, docids: Sequence[int]) -> list[str]:
        """Return the texts of memories, ``""`` for one gone."""
        found = self._ledger.read(lambda c: memories.texts(c, self.ns, docids))
        return [found.get(docid, "") for docid in docids]

    def matching(self, filters: Filters) -> Docids:
        """Return the docids of what passes filters that only the ledger can judge."""
        found = self._ledger.read(lambda c: memories.matching(c, self.ns, filters))
        return np.array(found, np.int64)


def _together(found: str, waiting: str, limit: int) -> Docids:
    if waiting:
        return distinct(np.concatenate([_numbers(found), _numbers(waiting)]))[-limit:]
    seqs = _numbers(found)
    seqs.sort()
    return seqs


def _numbers(listed: str) -> Docids:
    """Read numbers joined by commas."""
    return np.fromstring(listed, np.int64, sep=",")


class LongSearch:
    """The long tier's index and, exactly, what it has not learnt yet, for one query.

    Args:
        ledger: The store.
        source: The namespace.
        model: Number of the embedder.
        dim: Length of its vectors.
        long: The index.
        tail: Row ids and vectors that the index has not learnt yet.
        overfetch: How many times more is asked of the index, >= 1.
    """

    def __init__(
        self,
        ledger: Ledger,
        source: LedgerSource,
        *,
        model: int,
        dim: int,
        long: LongTier,
        tail: Sequence[tuple[int, bytes]],
        overfetch: int,
    ) -> None:
        self._ledger, self._ns, self._labels = ledger, source.ns, source.labels
        self._model, self._none = model, bytes(4 * dim)
        self._long, self._tail, self._overfetch = long, tail, overfetch
        self._read: dict[int, bytes] = {}

    def nearest(self, vector: NDArray[np.float32], n: int) -> tuple[Docids, NDArray[np.float32]]:
        """Return the n nearest, nearest first."""
        found = self._long.search(self._labels, vector, n * self._overfetch)
        names = [memory_id for memory_id, _ in found]
        known = self._ledger.read(lambda c: memories.docids_in_place(c, self._ns, names))
        places, rows = (_numbers(listed) for listed in known)
        cosines = np.array([cosine for _, cosine in found], np.float32)[places]
        if self._tail:  # what was indexed before and changed since counts as it is now
            fresh = np.array([docid for docid, _ in self._tail], np.int64)
            matrix = np.frombuffer(b"".join(blob for _, blob in self._tail), np.float32)
            kept = ~np.isin(rows, fresh)
            rows = np.concatenate([rows[kept], fresh])
            now = dots(matrix.reshape(len(fresh), -1), vector)
            cosines = np.concatenate([cosines[kept], now])
        order = np.lexsort((-rows, -cosines))
        return rows[order], cosines[order]

    def vectors_of(self, docids: Docids) -> NDArray[np.float32]:
        """Return vectors from the ledger, each read once; zeros where there is none."""
        asked = docids.tolist()
        unread = [docid for docid in asked if docid not in self._read]
        if unread:
            self._read |= dict.fromkeys(unread, self._none)
            self._read |= self._ledger.read(lambda c: vectors.read(c, unread, self._model))
        held = b"".join([self._read[docid] for docid in asked])
        return np.frombuffer(held, np.float32).reshape(len(asked), -1)
