"""Report how far a long call is, see ``protocols.Progress``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from time import monotonic
from typing import TypeVar

from memento.protocols import Progress

A = TypeVar("A")

EACH = 100
"""Items from one report to the next."""
SECONDS = 0.5
"""Time from one report of a backlog to the next: counting a long one takes milliseconds."""


def told(items: Sequence[A], progress: Progress | None) -> Iterable[A]:
    """Return items that report how many of them were taken, before each hundredth.

    >>> list(told("ab", lambda done, total: print(done, total)))
    0 2
    ['a', 'b']
    """
    return items if progress is None else _told(items, progress)


def _told(items: Sequence[A], progress: Progress) -> Iterator[A]:
    for at, item in enumerate(items):
        if at % EACH == 0:
            progress(at, len(items))
        yield item


class Owed:
    """Reports how much of a backlog is done, while others may add to it.

    Args:
        left: Returns the number of items that are left.
        progress: Receives the number that is done and the number of all items.
    """

    def __init__(self, left: Callable[[], int], progress: Progress) -> None:
        self._count = left
        self._progress = progress
        self._left = self._total = left()
        self._next = 0.0

    def glance(self) -> None:
        """Report, unless the last report was a moment ago."""
        if monotonic() >= self._next:
            self.report()
            self._next = monotonic() + SECONDS

    def report(self) -> None:
        """Report how many of the items are done; new items add to the total."""
        left = self._count()
        self._total += max(0, left - self._left)
        self._left = left
        self._progress(self._total - left, self._total)
