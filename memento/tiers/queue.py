"""Choose the text to embed next: namespaces take turns, from both ends of the backlog of each.

So a document pasted into one conversation does not delay what is said after it. The backlog of a
namespace is never read as a whole.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TypeVar

from memento.ledger import vectors
from memento.ledger.contract import Ledger, Transaction
from memento.ledger.rows import docid_range
from memento.ledger.vectors import Lacking, Owed, Place

LOOK = 384
"""Lines looked at from each end, all namespaces together; about 1 µs each."""

T = TypeVar("T")


def in_turns(queues: Iterable[Iterable[T]]) -> Iterator[T]:
    """Take the first of each queue, then the second of each, until all are empty.

    >>> "".join(in_turns(["aaa", "b", "cc"]))
    'abcaca'
    """
    left = [iter(queue) for queue in queues]
    while left:
        going = []
        for queue in left:
            for item in islice(queue, 1):
                yield item
                going.append(queue)
        left = going


def within(lines: Sequence[Owed], chars: int) -> list[Owed]:
    """Take the first lines, up to ``chars`` characters in total, but at least one line."""
    taken = list(lines[:1])
    room = chars - sum(len(line.text) for line in taken)
    for line in lines[1:]:
        room -= len(line.text)
        if room < 0:
            break
        taken.append(line)
    return taken


class Turns:
    """Chooses the lines of the backlog to embed next. Not thread-safe."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._last = 0
        self.deferred = False
        """Whether the last `shared` left a line to another machine."""

    @contextmanager
    def shared(self, rows: int, chars: int, skip: set[tuple[int, int]]) -> Iterator[list[Owed]]:
        """Choose lines as `take` does, which no other machine chooses during the block."""
        self.deferred = False
        while lines := self.take(rows, chars, skip):
            with self._ledger.claimed([line.docid for line in lines]) as mine:
                self.deferred |= len(mine) < len(lines)
                if mine:
                    yield [line for line in lines if line.docid in mine]
                    return
            skip = skip | {(line.docid, line.rev) for line in lines}
        yield []

    def take(self, rows: int, chars: int, skip: Collection[tuple[int, int]] = ()) -> list[Owed]:
        """Choose lines, namespaces in turn; the next call continues after the last namespace.

        ``skip`` excludes lines, as (row id, revision). At least one line is taken, even if it has
        more than ``chars`` characters.
        """
        lines = self._ledger.read(lambda c: self._chosen(c, rows, skip))
        taken = within(lines, chars)
        if taken:
            self._last = list(dict.fromkeys(line.ns for line in taken))[-1]
        return taken

    def _chosen(
        self, connection: Transaction, rows: int, skip: Collection[tuple[int, int]]
    ) -> list[Owed]:
        found = vectors.spaces(connection, self._last, rows + len(skip))
        share = max(rows // max(1, len(found)), 1) + len(skip)
        look = max(share, LOOK // max(1, len(found)))
        queues = (self._of_space(connection, ns, share, look, skip) for ns in found)
        chosen = islice(in_turns(queues), rows)
        return vectors.lines_of(connection, [place.docid for place in chosen], ("embed",))

    def _of_space(
        self,
        connection: Transaction,
        ns: int,
        share: int,
        look: int,
        skip: Collection[tuple[int, int]],
    ) -> list[Place]:
        """Return lines of a namespace; if they exceed its share, oldest and newest alternate."""
        low, high = docid_range(ns)
        oldest = vectors.window(connection, low, high, look)
        newest = oldest[share:][::-1]
        if len(oldest) == look:
            newest = vectors.window(connection, low, high, look, newest=True)
        places = dict.fromkeys(in_turns([oldest, newest]))
        return [place for place in places if (place.docid, place.rev) not in skip]


ROWS = 1_024
"""Maximum number of memories that one question waits for."""
CHARS = 16_384
"""Maximum number of characters in all of them together; the default embedder takes about 0.5 s for
so many."""
SHORT = 2_048
"""Maximum number of characters in a text that is embedded beside the indexer's other work, and of a
batch of the indexer while questions are expected: about 80 ms."""

LATELY = 5.0
"""Seconds after a question during which the next one is expected."""


class Wish:
    """The memories of a namespace that one question waits for."""

    def __init__(self, ns: int, lacking: Iterable[Lacking]) -> None:
        self.ns = ns
        self.lacking = dict(lacking)
        """Their row ids, with the number of characters, newest first."""
        self.left = dict(self.lacking)
        """Those that are not embedded yet, as far as this process knows."""
        self.taken_up = False
        """Whether all of them have a line in the backlog."""
        self._bell: SimpleQueue[None] = SimpleQueue()  # in C: an interrupt leaves no lock held
        self.ring: Callable[[], None] = lambda: self._bell.put(None)
        """Called, from any thread, when it may be fulfilled, or cannot be."""

    def wait(self, seconds: float) -> None:
        """Block until `ring` is called, for at most ``seconds``."""
        with suppress(Empty):
            self._bell.get(timeout=max(0.0, seconds))


class Wishes:
    """The wishes of all questions that are waiting. Thread-safe."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.RLock()
        self._wishes: list[Wish] = []
        self._expected_until = 0.0

    def __bool__(self) -> bool:
        return bool(self._wishes)

    def of(self, ns: int, sessions: Sequence[str] = ()) -> Wish | None:
        """Return the wish of a question to a namespace or some sessions; None if none is needed."""
        lacking = self._ledger.read(
            lambda c: vectors.newest(c, ns, sessions, ROWS, CHARS), space=ns
        )
        return Wish(ns, lacking) if lacking else None

    @contextmanager
    def hold(self, wish: Wish) -> Iterator[None]:
        """Announce a wish to the indexer during the block."""
        try:
            with self._lock:
                self._wishes.append(wish)
            yield
        finally:
            with self._lock:
                self._wishes = [one for one in self._wishes if one is not wish]
                self._expected_until = monotonic() + LATELY

    def fulfilled(self, wish: Wish) -> bool:
        """Return whether, by the ledger, nothing of a wish is left; update what is left."""
        left = self._ledger.read(
            lambda c: vectors.still_lacking(c, wish.ns, wish.lacking), space=wish.ns
        )
        with self._lock:
            wish.left = {docid: chars for docid, chars in wish.lacking.items() if docid in left}
            wish.taken_up = wish.taken_up and not left
        return not left

    def embedded(self, docids: Iterable[int]) -> None:
        """Note that memories have vectors; ring the wishes of which nothing is left."""
        done = set(docids)
        with self._lock:
            for wish in self._wishes:
                if wish.left and done.intersection(wish.left):
                    wish.left = {one: n for one, n in wish.left.items() if one not in done}
                    if not wish.left:
                        wish.ring()

    def ring(self) -> None:
        """Make every question check its wish, because of a failure or the end."""
        with self._lock:
            for wish in self._wishes:
                wish.ring()

    def expected(self) -> bool:
        """Return whether a question waits now, or waited in the last `LATELY` seconds."""
        return bool(self._wishes) or monotonic() < self._expected_until

    def urgent(self) -> bool:
        """Return whether a question waits for a short text, which `Express` embeds."""
        with self._lock:
            return any(chars <= SHORT for wish in self._wishes for chars in wish.left.values())

    def not_taken_up(self) -> list[Wish]:
        """Return the wishes whose memories may have no line in the backlog yet."""
        with self._lock:
            return [wish for wish in self._wishes if not wish.taken_up]

    def next(self, most: int, *, long: bool) -> list[int]:
        """Choose memories that questions wait for, newest first; the questions take turns.

        ``long`` selects texts longer than `SHORT`; else the others.
        """
        with self._lock:
            ready = [wish.left for wish in self._wishes if wish.taken_up]
            queues = [[at for at, n in left.items() if (n > SHORT) is long] for left in ready]
        return list(islice(dict.fromkeys(in_turns(queues)), most))
