"""What stays in RAM of the namespaces that were asked: of those asked last, so many bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from memento.ledger.predicate import Filters
from memento.retrieve.filters import Open
from memento.retrieve.roster import Mask, Roster


@dataclass(slots=True)
class Held:
    """What is kept in RAM of one namespace, and up to where it has followed the ledger.

    Attributes:
        roster: Its memories in outline, and their vectors if it is searched exactly.
        rev: Newest revision that is known.
        stamp: Newest vector that is known.
        lock: Whoever brings it up to date holds it.
        counted: Bytes it was counted with.
        open: What of it a query without filters may find; None until one asks.
    """

    roster: Roster = field(default_factory=Roster)
    rev: int = 0
    stamp: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    counted: int = 0
    open: Open | None = None

    def open_at(self, filters: Filters) -> Mask:
        """Return the rows that a query without filters may find; the lock is held.

        Args:
            filters: The filters of that query: nothing but the present moment.
        """
        if self.open is None or not self.open.since <= filters.now < self.open.until:
            self.open = Open.of(self.roster.snapshot(), filters)
        return self.open.mask


class Kept:
    """The namespaces that are kept, each made anew when it was let go of. Safe from any thread.

    Args:
        most: Bytes of all of them together. The one asked last is kept however large it is.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._held: OrderedDict[int, Held] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, ns: int) -> Held:
        """Return a namespace, empty if it is not kept; it is the one asked last now."""
        with self._lock:
            held = self._held.get(ns)
            if held is None:
                held = self._held[ns] = Held()
            self._held.move_to_end(ns)
            return held

    def make_room(self, ns: int) -> None:
        """Count a namespace that was brought up to date; let go of those asked least recently.

        Who is still working with one of those keeps it until he is done.
        """
        with self._lock:
            held = self._held.get(ns)
            if held is None:  # let go of meanwhile
                return
            size = held.roster.nbytes
            self._bytes += size - held.counted
            held.counted = size
            while self._bytes > self._most and len(self._held) > 1:
                _, least = self._held.popitem(last=False)
                self._bytes -= least.counted
