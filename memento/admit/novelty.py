"""How much of a text was never met before in its namespace.

Only a memory that is heard (see `status.HEARD`) was met: the words of a web page that nobody
approved make nothing of the user's less new.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memento.admit.draft import Entry
from memento.admit.importance import importance, tier_for
from memento.ledger.contract import Session, Work
from memento.status import HEARD
from memento.types import Kind

REMEMBERED = 50_000
"""Words kept in RAM as known, of all namespaces together; those used last are kept."""


@dataclass(slots=True)
class Met:
    """The words that one transaction has met; others know them once `Novelty.count` was called.

    Attributes:
        ns: Namespace number.
        known: Words met before; only read here, as other transactions may share it.
        forgotten: How often `Novelty` had forgotten words when ``known`` was complete.
        new: Words that the transaction has met itself.
        unheard: Words that full text was asked about and does not know.
    """

    ns: int
    known: set[str]
    forgotten: int
    new: set[str] = field(default_factory=set)
    unheard: set[str] = field(default_factory=set)

    def ask(self, session: Session, telling: Iterable[str]) -> None:
        """Ask full text which of some words it does not know, all at once.

        Of the rows that it does not know yet a word counts as met in the form it was written only.
        """
        asked = dict.fromkeys(word for word in telling if word not in self.known)
        self.unheard = session.words.unheard(self.ns, asked) if asked else set()

    def share(self, telling: Sequence[str]) -> float:
        """Return the share of some words, about which `ask` asked, that were not met, [0, 1]."""
        if not telling:
            return 0.0
        return sum(word in self.unheard and word not in self.new for word in telling) / len(telling)


class Novelty:
    """Tells new words from known ones. Safe from any thread.

    A transaction that fails leaves no trace here: `weigh` changes nothing that others see, and
    `count` is called after the commit. Transactions that run at the same time do not see each
    other's words.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[int, set[str]] = OrderedDict()
        self._held = 0
        self._forgotten = 0

    def weigh(self, work: Work, entries: Sequence[Entry]) -> Met | None:
        """Settle the importance and tier of those entries that do not have them yet.

        This is done in the transaction that writes them, where a look into the index costs a third
        of what it does on a connection that has to notice the last commit first.

        Returns:
            The words that were met, for `count`; None if there is nothing to count: all entries had
            both, and no words of the namespace are kept.
        """
        if not any(entry.unweighed for entry in entries) and work.ns not in self._known:
            return None
        met = self.met(work.db, work.ns)
        met.ask(work.db, [word for entry in entries if entry.unweighed for word in entry.telling])
        for entry in entries:
            if entry.unweighed:
                row, share = entry.row, met.share(entry.telling)
                row.importance = importance(row.text, entry.words, Kind(row.kind), share)
                if "tier" in entry.derived:
                    row.tier = tier_for(row.importance, pinned=bool(row.pinned)).value
                row.seal()
                entry.unweighed = False
            if entry.row.status in HEARD:  # all its words, as full text has them all later
                met.new.update(entry.words)
        return met

    def met(self, session: Session, ns: int) -> Met:
        """Return the words that a namespace has met, as a transaction sees them."""
        with self._lock:
            known, forgotten = self._known.get(ns), self._forgotten
        if known is None:
            known = session.words.waiting_words(ns)
        return Met(ns, known, forgotten)

    def count(self, met: Met) -> None:
        """Count the words of a transaction that is committed as met from now on."""
        with self._lock:
            known = self._known.get(met.ns)
            if known is None:
                if met.forgotten != self._forgotten:  # it may lack what was counted meanwhile
                    return
                known = self._known[met.ns] = met.known
                self._held += len(known)
            self._held -= len(known)
            known |= met.new
            self._held += len(known)
            self._known.move_to_end(met.ns)
            while self._held > REMEMBERED:
                self._drop(next(iter(self._known)))

    def forget(self, ns: int) -> None:
        """Forget the words of a namespace; they are looked up when they are needed again."""
        with self._lock:
            self._drop(ns)

    def _drop(self, ns: int) -> None:
        known = self._known.pop(ns, None)
        if known is not None:
            self._held -= len(known)
            self._forgotten += 1
