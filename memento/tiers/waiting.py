"""The needs of waiting questions: the newest memories of their namespace that lack a vector.

A question waits for what was written before it, and within reason: for the newest memories, up to
`ROWS` of them and `CHARS` characters. A long document, or a backlog from an earlier run, delays no
question by more than the time to embed so much.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from queue import Empty, SimpleQueue
from time import monotonic

from memento.ledger import owing
from memento.ledger.contract import Ledger
from memento.ledger.owing import Lacking
from memento.tiers.turns import in_turns

ROWS = 1_024
"""Most memories that one question waits for."""
CHARS = 16_384
"""Most characters of them together; the default embedder takes about 0.5 s for so many."""
SHORT = 2_048
"""Most characters of a text that is embedded beside the indexer's other work, and of a batch of the
indexer while questions are expected: about 80 ms."""

LATELY = 5.0
"""Seconds after a question during which the next one is expected."""


class Wish:
    """The memories that one question waits for.

    Args:
        ns: Number of their namespace.
        lacking: The memories, newest first.

    Attributes:
        ns: Number of their namespace.
        lacking: Row ids of the memories, with the number of characters, newest first.
        left: Those of them that are not embedded yet, as far as this process knows.
        taken_up: Whether all of them have a line in the backlog.
        ring: Called, from any thread, when it may be fulfilled, or cannot be.
    """

    def __init__(self, ns: int, lacking: Iterable[Lacking]) -> None:
        self.ns = ns
        self.lacking = dict(lacking)
        self.left = dict(self.lacking)
        self.taken_up = False
        self.ring: Callable[[], None] = self._ring
        self._bell: SimpleQueue[None] = SimpleQueue()  # in C: an interrupt leaves no lock held

    def _ring(self) -> None:
        self._bell.put(None)

    def wait(self, seconds: float) -> None:
        """Block until somebody rings, for so many seconds at most."""
        try:
            self._bell.get(timeout=max(0.0, seconds))
        except Empty:
            return


class Wishes:
    """The wishes of all questions that wait now. Thread-safe.

    Args:
        ledger: The store.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.RLock()
        self._wishes: list[Wish] = []
        self._expected_until = 0.0

    def __bool__(self) -> bool:
        return bool(self._wishes)

    def of(self, ns: int, sessions: Sequence[str] = ()) -> Wish | None:
        """Return what a question to a namespace, or to some sessions of it, has to wait for."""
        lacking = self._ledger.read(lambda c: owing.newest(c, ns, sessions, ROWS, CHARS))
        return Wish(ns, lacking) if lacking else None

    @contextmanager
    def hold(self, wish: Wish) -> Iterator[None]:
        """Let the indexer know of a wish while the block runs."""
        try:
            with self._lock:
                self._wishes.append(wish)
            yield
        finally:
            with self._lock:
                if wish in self._wishes:
                    self._wishes.remove(wish)
                self._expected_until = monotonic() + LATELY

    def fulfilled(self, wish: Wish) -> bool:
        """Look in the ledger whether nothing of a wish is left."""
        left = self._ledger.read(lambda c: owing.still_lacking(c, wish.ns, wish.lacking))
        with self._lock:
            wish.left = {docid: chars for docid, chars in wish.lacking.items() if docid in left}
            wish.taken_up = wish.taken_up and not left
        return not left

    def embedded(self, docids: Iterable[int]) -> None:
        """Note that memories lack a vector no longer; tell the questions that wait for no more."""
        done = set(docids)
        with self._lock:
            for wish in self._wishes:
                if wish.left and done.intersection(wish.left):
                    wish.left = {one: n for one, n in wish.left.items() if one not in done}
                    if not wish.left:
                        wish.ring()

    def ring(self) -> None:
        """Let every question look how it stands, because something went wrong or ends."""
        with self._lock:
            for wish in self._wishes:
                wish.ring()

    def expected(self) -> bool:
        """Tell whether a question waits now, or one did lately."""
        return bool(self._wishes) or monotonic() < self._expected_until

    def urgent(self) -> bool:
        """Tell whether a question waits for a short text, which another thread embeds now."""
        with self._lock:
            return any(chars <= SHORT for wish in self._wishes for chars in wish.left.values())

    def not_taken_up(self) -> list[Wish]:
        """Return the wishes whose memories may have no line in the backlog yet."""
        with self._lock:
            return [wish for wish in self._wishes if not wish.taken_up]

    def next(self, most: int, *, long: bool) -> list[int]:
        """Choose memories that questions wait for, newest first; the questions take turns.

        Args:
            most: Most memories, >= 1.
            long: Whether to choose among the texts longer than `SHORT`, or among the others.

        Returns:
            Their row ids, no repeats.
        """
        with self._lock:
            queues = [
                [docid for docid, chars in wish.left.items() if (chars > SHORT) is long]
                for wish in self._wishes
                if wish.taken_up
            ]
        return list(islice(dict.fromkeys(in_turns(queues)), most))
