"""The inputs of `find` from the ledger, limited to one namespace."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memento.ledger import memories, past
from memento.ledger.contract import Ledger, Tail, Transaction
from memento.ledger.links import Linked
from memento.ledger.match import Match
from memento.ledger.predicate import Filters
from memento.ledger.rows import Row, string_in
from memento.ledger.schema import SEQ_BITS
from memento.retrieve.columns import RosterView, distinct
from memento.retrieve.spellings import Vocabulary
from memento.retrieve.usage_boost import Life, Strengths
from memento.status import HEARD
from memento.text.words import words

_FEW = 20
"""Memories up to which reading all of them costs less than reading those that are shown again."""

Docids = NDArray[np.int64]
State = tuple[int, int]
"""Newest revision of a namespace, and the edition of the full-text index."""


class TextSource(Protocol):
    """The ledger as `find` needs it; it is bound to one namespace and returns nothing else."""

    def postings(self, matches: Sequence[Match], limit: int) -> list[Docids]:
        """Return the docids of the rows that each expression matches, all of one moment.

        Ascending, without repeats; only the largest ``limit`` if there are more.
        """
        ...

    def texts(self, docids: Sequence[int]) -> list[str]:
        """Return the text of each docid, in that order; ``""`` for an erased memory."""
        ...

    def vocabulary(self, first: int) -> Vocabulary:
        """Return the words of the heard memories, as of now.

        Args:
            first: Docid of the oldest memory whose words are wanted; it never decreases.
        """
        ...


class Texts:
    """Texts of rows, each fetched once."""

    def __init__(self, snap: RosterView, source: TextSource) -> None:
        self._snap, self._source = snap, source
        self.known: dict[int, str] = {}

    def read(self, rows: Sequence[int]) -> Mapping[int, str]:
        """Return the texts of these rows and of all rows read before."""
        missing = [row for row in dict.fromkeys(rows) if row not in self.known]
        if missing:
            docids = self._snap.docid[missing].tolist()
            self.known.update(zip(missing, self._source.texts(docids), strict=True))
        return self.known


class Postings:
    """Cache of the docids that expressions match, valid while nothing changes. Thread-safe.

    Frequent words recur in queries and are the most expensive to look up; those used least recently
    are evicted first.
    """

    LONGEST = 4096
    """Maximum number of docids of a cached expression; larger results are rarely needed twice."""

    def __init__(self, most: int = 512) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, State, Match, int], Docids] = OrderedDict()

    def find(self, ns: int, state: State, match: Match, limit: int) -> Docids | None:
        """Return the cached docids of an expression, or None."""
        key = (ns, state, match, limit)
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def put(self, ns: int, state: State, match: Match, limit: int, docids: Docids) -> None:
        """Keep the docids of an expression."""
        if len(docids) > self.LONGEST:
            return
        docids.flags.writeable = False
        with self._lock:
            self._kept[ns, state, match, limit] = docids
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)


class LedgerSource:
    """The texts and postings of one namespace, for one query; see `TextSource`.

    Attributes:
        shown: Scopes that it shows to another namespace, if that one asks; () for all of it.
        members: Row ids of the memories in them, ascending; set with the state, None for all.
        moment: The moment of the ledger before the query read anything.
        state: Last known state of the namespace; None before it is known.
        known: Its vocabulary, as far as an earlier query needed it; set with the state.
        strengths: The sums of its events; set with the state.
        linked: Which relations there are between its memories; set with the state.
        life: The effects of its events on this query; None before they are asked for.
        rows: Row id to the row, of memories whose texts were read; damaged ones too.
    """

    known: Vocabulary
    strengths: Strengths
    linked: Linked

    def __init__(
        self,
        ledger: Ledger,
        ns: int,
        labels: tuple[str, ...],
        tail: Tail,
        kept: Postings,
        shown: tuple[str, ...] = (),
    ) -> None:
        self._ledger, self._tail, self._kept = ledger, tail, kept
        self.ns, self.labels, self.shown = ns, labels, shown
        self.members: Docids | None = None
        self.moment = ledger.moment()
        self.state: State | None = None
        self.life: Life | None = None
        self.rows: dict[int, Row] = {}

    def postings(self, matches: Sequence[Match], limit: int) -> list[Docids]:
        """Return the docids that expressions match, from the cache if nothing has changed."""
        if self.state is None:
            return self._read(matches, limit)
        found: dict[Match, Docids] = {}
        unread: list[Match] = []
        for match in dict.fromkeys(matches):
            docids = self._kept.find(self.ns, self.state, match, limit)
            if docids is None:
                unread.append(match)
            else:
                found[match] = docids
        if unread:
            for match, docids in zip(unread, self._read(unread, limit), strict=True):
                self._kept.put(self.ns, self.state, match, limit, docids)
                found[match] = docids
        return [found[match] for match in matches]

    def _read(self, matches: Sequence[Match], limit: int) -> list[Docids]:
        """Look words up in the tail and then in the file, never inside another read.

        A transaction that begins after the tail was asked sees everything that left the tail.
        """
        waiting = self._tail.postings(self.ns, matches, limit)
        found = self._ledger.read(
            lambda c: c.words.postings(self.ns, matches, limit), space=self.ns
        )
        first = self.ns << SEQ_BITS
        return [
            first + (distinct(np.concatenate(both))[-limit:] if len(both[1]) else both[0])
            for both in zip(found, waiting, strict=True)
        ]

    def texts(self, docids: Sequence[int]) -> list[str]:
        """Return the texts of memories, ``""`` for an erased one.

        If there are few, their whole rows are read and kept, as most of them will be shown.
        """
        if len(docids) > _FEW:
            found = self._ledger.read(lambda c: memories.texts(c, self.ns, docids), space=self.ns)
            return [found.get(docid, "") for docid in docids]
        self.rows |= self._ledger.read(
            lambda c: memories.by_docids(c, self.ns, docids), space=self.ns
        )
        rows = [self.rows.get(docid) for docid in docids]
        return ["" if row is None else string_in(row.text) or "" for row in rows]

    def vocabulary(self, first: int) -> Vocabulary:
        """Return the words of the heard memories; only what changed is read."""
        known = self.known
        if self.state is not None and known.rev == self.state[0] and first <= known.first:
            return known
        with self.known.following():
            among = None if self.members is None else frozenset(self.members.tolist())
            self._ledger.read(
                lambda c: _follow_words(c, self.ns, self.known, first, among), space=self.ns
            )
        return self.known

    def matching(self, filters: Filters) -> Docids:
        """Return the docids that pass filters which only the ledger can decide."""
        found = self._ledger.read(lambda c: memories.matching(c, self.ns, filters), space=self.ns)
        return np.array(found, np.int64)

    def hidden(self, filters: Filters) -> Docids | None:
        """Return the docids of the memories that are to be left out; None if there are none."""
        if not filters.without:
            return None
        found = self._ledger.read(
            lambda c: memories.docids_of(c, self.ns, filters.without), space=self.ns
        )
        return np.array(sorted(found.values()), np.int64)


def _follow_words(
    connection: Transaction, ns: int, known: Vocabulary, first: int, among: frozenset[int] | None
) -> None:
    """Bring a vocabulary up to date, limited to the row ids ``among``; None for all."""
    rev = memories.latest_rev(connection, ns)
    if first > known.first:
        known.drop_before(first)
    if rev == known.rev:
        return
    for docid in past.erased_since(connection, ns, known.rev):
        known.drop(docid)
    known.put_all(_heard_words(connection, ns, known, first, among))
    known.rev = rev


def _heard_words(
    connection: Transaction, ns: int, known: Vocabulary, first: int, among: frozenset[int] | None
) -> Iterator[tuple[int, list[str]]]:
    """Yield the words of the heard rows that came or changed; drop those of the others."""
    for docid, status, text, names in past.said_since(connection, ns, known.rev, first):
        if status in HEARD and (among is None or docid in among):
            parts = [part for part in (text, *names) if part]
            yield docid, words(parts[0] if len(parts) == 1 else "\n".join(parts))
        else:
            known.drop(docid)
