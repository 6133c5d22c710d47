"""How much of a text was never met before in its namespace.

Only a memory that is heard (see `status.HEARD`) was met: the words of a web page that nobody
approved make nothing of the user's less new.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from memento.admit.entry import Entry, weigh
from memento.ledger.contract import Session, Work
from memento.status import HEARD

REMEMBERED = 50_000
"""Words kept in RAM as known, of all namespaces together; those used last are kept."""


class Novelty:
    """Tells new words from known ones. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[int, set[str]] = OrderedDict()
        self._held = 0

    def weigh(self, work: Work, entries: Sequence[Entry]) -> None:
        """Settle the importance and tier of those entries that do not have them yet.

        Args:
            work: The transaction that writes them, where a look into the index costs a third of
                what it does on a connection that has to notice the last commit first.
            entries: What is about to be written, with the status it gets.
        """
        for entry in entries:
            if entry.choice is not None:
                heard = entry.row.status in HEARD
                new = self.share(work.session, work.ns, entry.telling, remember=heard)
                weigh(entry, entry.choice, new)

    def share(
        self, connection: Session, ns: int, telling: Sequence[str], *, remember: bool = True
    ) -> float:
        """Return the share of some words that the namespace has not met, [0, 1].

        Of the rows that full text does not know yet a word counts as met in the form it was
        written only.

        Args:
            connection: Inside a transaction.
            ns: Namespace number.
            telling: The words.
            remember: Whether they count as met from then on.
        """
        if not telling:
            return 0.0
        with self._lock:
            known = self._of(connection, ns)
            asked = [word for word in telling if word not in known]
            if remember:
                known.update(asked)
                self._held += len(asked)
        unmet = sum(not connection.words.holds(ns, word) for word in asked)
        return unmet / len(telling)

    def forget(self, ns: int) -> None:
        """Forget the words of a namespace; they are looked up when they are needed again."""
        with self._lock:
            self._held -= len(self._known.pop(ns, ()))

    def _of(self, connection: Session, ns: int) -> set[str]:
        """Return the known words of a namespace, dropping those that were not used for longest."""
        while self._held > REMEMBERED:
            _, gone = self._known.popitem(last=False)
            self._held -= len(gone)
        known = self._known.get(ns)
        if known is None:
            known = self._known[ns] = connection.words.waiting_words(ns)
            self._held += len(known)
        self._known.move_to_end(ns)
        return known
