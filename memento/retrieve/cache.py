"""LRU cache of the rosters of namespaces in RAM, limited by their total size in bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from memento.ledger.contract import Moment
from memento.ledger.links import Linked
from memento.ledger.predicate import Filters
from memento.retrieve.columns import Mask, Roster, RosterView
from memento.retrieve.ledger_source import State
from memento.retrieve.spellings import Vocabulary
from memento.retrieve.usage_boost import Strengths
from memento.retrieve.visible import Open
from memento.tiers.exact import Vectors

AROUND = 13_000
"""Bytes of a namespace besides its arrays: the objects around them, its view, the mask for
queries without filters, and its empty vocabulary. Measured with tracemalloc: 13,200 for one memory.
"""

Part = tuple[int, tuple[str, ...]]
"""A namespace and the scopes to which its memories are confined; () for all of it."""


class Followed(NamedTuple):
    """The moment, of one thread, up to which a namespace was read, and what was found then.

    ``model`` is the number of the embedder whose vectors were needed, None if none were.
    """

    moment: Moment
    model: int | None
    state: State
    linked: Linked


@dataclass(slots=True)
class Held:
    """The cached state of one namespace, and up to where it has read the ledger.

    Attributes:
        roster: Outlines of its memories.
        snap: The memories that are known.
        rev: Newest revision that is known.
        whole: Whether all its rows could be read.
        filed: Revision of the outline that was read or written last; 0 for none.
        lock: Held by the thread that brings it up to date, which has a connection.
        filing: Held by the thread that writes its vector file, before it reads anything.
        counted: Its bytes as last counted.
        open: Rows that a query without filters may find; None before the first such query.
        strengths: The sums of its events.
        vectors: Where its vectors are; None before the first question that needs them.
        compared: Number of vectors that exact search has compared, over all queries.
        followed: The moment of the ledger up to which it was read, and what was found then.
        owed: A moment of the ledger, and how many memories were still to be embedded then.
        words: Its vocabulary; empty before the first query with a word that is in no memory.
        shown: The scopes to which its memories are confined; () for all of them.
    """

    roster: Roster = field(default_factory=Roster)
    snap: RosterView = field(init=False)
    rev: int = 0
    whole: bool = True
    filed: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    filing: threading.Lock = field(default_factory=threading.Lock)
    counted: int = 0
    open: Open | None = None
    words: Vocabulary = field(default_factory=Vocabulary)
    strengths: Strengths = field(default_factory=Strengths)
    vectors: Vectors | None = None
    compared: int = 0
    followed: Followed | None = None
    owed: tuple[Moment, int] | None = None
    shown: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.snap = self.roster.view()

    def drop_rows(self) -> None:
        """Drop the memories and all that was derived from them, to be read again."""
        self.roster, self.words = Roster(), Vocabulary()
        self.snap = self.roster.view()
        self.vectors = self.open = None

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        vectors = 0 if self.vectors is None else self.vectors.nbytes
        return self.roster.nbytes + self.words.nbytes + self.strengths.nbytes + vectors

    def open_at(self, filters: Filters) -> Mask:
        """Return the rows that a query without filters may find; the caller holds the lock.

        Args:
            filters: The filters of that query: only the present moment.
        """
        if self.open is None or not self.open.since <= filters.now < self.open.until:
            self.open = Open.of(self.snap, filters)
        return self.open.mask


class Kept:
    """The cached namespaces, and parts of them, of at most so many bytes. Thread-safe.

    An evicted one is rebuilt on its next use. The one used last stays, whatever its size.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._held: OrderedDict[Part, Held] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, part: Part) -> Held:
        """Return a namespace, empty if it is not cached, and mark it as used last."""
        with self._lock:
            held = self._held.get(part)
            if held is None:
                held = self._held[part] = Held(shown=part[1])
            self._held.move_to_end(part)
            return held

    def every(self) -> list[tuple[int, Held]]:
        """Return the cached namespaces that are held as a whole, with their numbers."""
        with self._lock:
            return [(ns, held) for (ns, shown), held in self._held.items() if not shown]

    def make_room(self, part: Part) -> None:
        """Count the bytes of an updated namespace and evict those used least recently.

        A thread that still uses an evicted one keeps its own reference.
        """
        with self._lock:
            held = self._held.get(part)
            if held is None:  # evicted in the meantime
                return
            size = held.nbytes + AROUND
            self._bytes += size - held.counted
            held.counted = size
            while self._bytes > self._most and len(self._held) > 1:
                _, least = self._held.popitem(last=False)
                self._bytes -= least.counted
