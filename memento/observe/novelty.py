"""How much of a text was never met before in its namespace."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from memento import text
from memento.ledger import fulltext
from memento.ledger.ledger import Ledger
from memento.ledger.sqlite import Connection

LOOKED_AT = 3
"""Words of a text that are looked up, the longest ones; each costs about 10 us when unknown."""
REMEMBERED = 50_000
"""Words kept in RAM as known, of all namespaces together; those used last are kept."""


class Novelty:
    """Tells new words from known ones. Safe from any thread.

    Args:
        ledger: Where known words are.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._known: OrderedDict[int, set[str]] = OrderedDict()
        self._held = 0

    def share(self, ns: int, words: Sequence[str]) -> float:
        """Return the share of a text's telling words that the namespace has not met, [0, 1].

        The words count as met from then on. Of the rows that full text does not know yet a word
        counts as met in the form it was written only.
        """
        telling = sorted(sorted(set(text.content(words))), key=len, reverse=True)[:LOOKED_AT]
        if not telling:
            return 0.0
        with self._lock:
            known = self._of(ns)
            asked = [word for word in telling if word not in known]
            known.update(asked)
            self._held += len(asked)
        if not asked:
            return 0.0

        def unmet(connection: Connection) -> int:
            return sum(not fulltext.holds(connection, ns, word) for word in asked)

        return self._ledger.read(unmet) / len(telling)

    def _of(self, ns: int) -> set[str]:
        """Return the known words of a namespace, in place of those not used for longest."""
        while self._held > REMEMBERED:
            _, gone = self._known.popitem(last=False)
            self._held -= len(gone)
        known = self._known.get(ns)
        if known is None:
            known = self._known[ns] = self._ledger.read(lambda c: fulltext.waiting_words(c, ns))
            self._held += len(known)
        self._known.move_to_end(ns)
        return known
