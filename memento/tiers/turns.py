"""Choose the text to embed next: namespaces take turns, and sessions take turns within each.

A namespace is never read whole. Of a long backlog three places are looked at: the oldest lines, the
newest, and some at a place that moves, so that every session is seen in time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from memento.ledger import owing
from memento.ledger.contract import Ledger, Session
from memento.ledger.owing import Place
from memento.ledger.rows import docid_range
from memento.ledger.vectors import Owed

LOOK = 384
"""Lines looked at in each place, all namespaces together; about 1 µs each."""
STEP = 0.618_033_988_749_895
"""Step of the place that moves, as a share of the backlog of a namespace: multiples of the golden
ratio, modulo 1, leave no large gap."""

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
    """Take the first lines, up to so many characters together; one line in any case."""
    taken = list(lines[:1])
    room = chars - sum(len(line.text) for line in taken)
    for line in lines[1:]:
        room -= len(line.text)
        if room < 0:
            break
        taken.append(line)
    return taken


class Turns:
    """Chooses the lines of the backlog to embed next. For one thread.

    Args:
        ledger: Ledger of the backlog.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._last = 0
        self._taken = 0

    def take(self, rows: int, chars: int, skip: Collection[tuple[int, int]] = ()) -> list[Owed]:
        """Choose lines, in turns; the next call goes on with the namespace after the last one.

        Args:
            rows: Most lines, >= 1.
            chars: Most characters of them together; one line is taken in any case.
            skip: Lines to leave out, as (row id, revision).
        """
        lines = self._ledger.read(lambda c: self._chosen(c, rows, skip))
        taken = within(lines, chars)
        if taken:
            reached = list(dict.fromkeys(line.ns for line in taken))
            self._last = reached[-1]
        self._taken += 1
        return taken

    def _chosen(
        self, connection: Session, rows: int, skip: Collection[tuple[int, int]]
    ) -> list[Owed]:
        found = owing.spaces(connection, self._last, rows + len(skip))
        look = max(rows // max(1, len(found)), LOOK // max(1, len(found)), 1) + len(skip)
        queues = (in_turns(self._sessions(connection, ns, look, skip)) for ns in found)
        chosen = islice(in_turns(queues), rows)
        return owing.lines_of(connection, [place.docid for place in chosen], ("embed",))

    def _sessions(
        self, connection: Session, ns: int, look: int, skip: Collection[tuple[int, int]]
    ) -> list[list[Place]]:
        """Return lines of a namespace by session, oldest first; another session leads each time."""
        sessions: dict[str | None, list[Place]] = {}
        for place in self._seen(connection, ns, look):
            if (place.docid, place.rev) not in skip:
                sessions.setdefault(place.session, []).append(place)
        queues = list(sessions.values())
        lead = self._taken % len(queues) if queues else 0
        return queues[lead:] + queues[:lead]

    def _seen(self, connection: Session, ns: int, look: int) -> Sequence[Place]:
        low, high = docid_range(ns)
        oldest = owing.window(connection, low, high, look)
        if len(oldest) < look:
            return oldest
        newest = owing.window(connection, low, high, look, newest=True)
        first, last = oldest[-1].docid, newest[0].docid
        moving = first + int((last - first) * (self._taken * STEP % 1))
        between = owing.window(connection, moving, high, look)
        return sorted({*oldest, *between, *newest})
