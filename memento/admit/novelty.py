"""Measure how much of a text is new to its namespace.

Only memories whose status is in `status.HEARD` count: words of an unapproved web page do not make
the user's words less new.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from memento.admit.draft import Entry
from memento.admit.importance import importance, tier_for
from memento.ledger.contract import Transaction, Work
from memento.status import HEARD
from memento.types import Kind

REMEMBERED = 50_000
"""Maximum number of known words in RAM, all namespaces together; the least recently used namespaces
are dropped."""


@dataclass(slots=True)
class Met:
    """The words known to one transaction; `Novelty.count` makes its new ones known to others.

    Attributes:
        ns: Namespace number.
        known: Words met before. Read only: other transactions may share the set.
        forgotten: Value of `Novelty`'s counter of dropped sets when ``known`` was read.
        new: Words that the transaction itself adds.
        unheard: Words that `ask` looked up and the full-text index lacks.
    """

    ns: int
    known: set[str]
    forgotten: int
    new: set[str] = field(default_factory=set)
    unheard: set[str] = field(default_factory=set)

    def ask(self, session: Transaction, telling: Iterable[str]) -> None:
        """Look up, in one query, which words the full-text index lacks.

        In rows that are not indexed yet, a word counts as met only in exactly the same form.
        """
        asked = dict.fromkeys(word for word in telling if word not in self.known)
        self.unheard = session.words.unheard(self.ns, asked) if asked else set()

    def share(self, telling: Sequence[str]) -> float:
        """Return the share of the words that are new, [0, 1]; call `ask` with them first."""
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
        """Set the importance and tier of the entries that are still unweighed.

        Runs in the transaction that writes them: an index lookup there costs a third of one on a
        connection that first has to notice the last commit.

        Returns:
            The words met, for `count`; None if there is nothing to count: no entry was unweighed
            and no words of the namespace are cached.
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
            if entry.row.status in HEARD:  # all words: the index will have them
                met.new.update(entry.words)
        return met

    def met(self, session: Transaction, ns: int) -> Met:
        """Return the words of a namespace that are known without an index lookup."""
        with self._lock:
            known, forgotten = self._known.get(ns), self._forgotten
        if known is None:
            known = session.words.waiting_words(ns)
        return Met(ns, known, forgotten)

    def count(self, met: Met) -> None:
        """Add the new words of a transaction to the known ones; call it after the commit."""
        with self._lock:
            known = self._known.get(met.ns)
            if known is None:
                if met.forgotten != self._forgotten:  # words counted since may be missing
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
        """Drop the cached words of a namespace; they are read again when needed."""
        with self._lock:
            self._drop(ns)

    def _drop(self, ns: int) -> None:
        known = self._known.pop(ns, None)
        if known is not None:
            self._held -= len(known)
            self._forgotten += 1
