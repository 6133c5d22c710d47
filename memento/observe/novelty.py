"""How much of a text was never met before in its namespace."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from memento import text
from memento.ledger import fulltext
from memento.ledger.ledger import Ledger
from memento.ledger.sqlite import Connection

LOOKED_AT = 3
"""Words of a text that are looked up, the longest ones; each costs about 10 us when unknown."""
REMEMBERED = 50_000
"""Words kept in RAM as known, for each namespace."""


class Novelty:
    """Tells new words from known ones. Safe from any thread.

    Args:
        ledger: Where known words are.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._known: dict[int, set[str]] = {}

    def share(self, ns: int, words: Sequence[str]) -> float:
        """Return the share of a text's telling words that the namespace has not met, [0, 1].

        The words count as met from then on. Of the rows that full text does not know yet a word
        counts as met in the form it was written only.
        """
        telling = sorted(sorted(set(text.content(words))), key=len, reverse=True)[:LOOKED_AT]
        if not telling:
            return 0.0
        with self._lock:
            known = self._known.get(ns)
            if known is None or len(known) > REMEMBERED:
                known = self._known[ns] = self._ledger.read(lambda c: fulltext.waiting_words(c, ns))
            asked = [word for word in telling if word not in known]
            known.update(asked)
        if not asked:
            return 0.0

        def unmet(connection: Connection) -> int:
            return sum(not fulltext.holds(connection, ns, word) for word in asked)

        return self._ledger.read(unmet) / len(telling)
