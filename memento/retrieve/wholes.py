"""All rows of frequent words, kept in RAM, to find where such words stand beside others.

A frequent word is looked up beside rarer ones, or beside all others of the question. The index
answers that by walking all rows of the frequent word, in every question again. Reading all its rows
once costs about as much as one such walk, and from then on they are found by comparing arrays.

A word is read whole once the walks that it would have saved cost as much as that: so it never costs
more than twice what the best choice would.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from memento.ledger.match import All, Any, Match
from memento.ledger.schema import SEQ_BITS
from memento.retrieve.columns import distinct

Docids: TypeAlias = NDArray[np.int64]
State: TypeAlias = tuple[int, int]
_Key: TypeAlias = tuple[int, State, Match]

ROOM = 32_000_000
"""Most bytes of all rows that are kept."""
_STEP = 512
"""Rows of a frequent word that the index reads to know whether one row has it: about a page."""
_WIDER = 4
_MOST_WALKED = 512  # expressions of which is known how far they were walked
_ENTRY_BYTES = 1_000  # of what is kept of an expression besides its rows, of which it may have none
_FEW = 16  # so many times fewer rows are looked up by bisection


class Wholes:
    """All docids of words, valid while nothing changes. Thread-safe.

    Args:
        room: Most bytes; words used least recently are evicted first.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._room, self._used = room, 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Key, Docids] = OrderedDict()
        self._walked: OrderedDict[_Key, int] = OrderedDict()

    def find(self, ns: int, state: State, match: Match) -> Docids | None:
        """Return all docids of an expression, ascending, or None."""
        key = (ns, state, match)
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def put(self, ns: int, state: State, match: Match, docids: Docids) -> None:
        """Keep all docids of an expression, unless they alone need more than the room."""
        key = (ns, state, match)
        with self._lock:
            self._walked.pop(key, None)
            if _bytes_of(docids) > self._room or key in self._kept:
                return
            docids.flags.writeable = False
            self._kept[key] = docids
            self._used += _bytes_of(docids)
            while self._used > self._room:
                _, least = self._kept.popitem(last=False)
                self._used -= _bytes_of(least)

    def is_due(self, ns: int, state: State, match: Match, beside: int, rows: int) -> bool:
        """Tell whether an expression is to be read whole; if not, note that it is walked.

        Args:
            ns: Namespace number.
            state: Its state.
            match: The expression.
            beside: Rows beside which it is looked up.
            rows: How many it has, at about.
        """
        key = (ns, state, match)
        with self._lock:
            walked = self._walked.get(key, 0)
            if walked >= rows:
                return True
            self._walked[key] = walked + min(rows, _STEP * beside)
            self._walked.move_to_end(key)
            while len(self._walked) > _MOST_WALKED:
                self._walked.popitem(last=False)
            return False


@dataclass(frozen=True, slots=True)
class Together:
    """Finds where expressions match together, in one namespace and for one query.

    Attributes:
        wholes: All docids of frequent words.
        ns: Namespace number.
        state: Its state.
        limit: Most docids of each expression, >= 1.
        newest: Returns the newest docids of an expression, ``limit`` if there are as many, or None
            if they were not looked up.
        read: Reads all docids of expressions.
    """

    wholes: Wholes
    ns: int
    state: State
    limit: int
    newest: Callable[[Match], Docids | None]
    read: Callable[[Sequence[Match]], Sequence[Docids]]

    def find(self, joined: Sequence[All]) -> dict[Match, Docids]:
        """Return the newest docids of those expressions of whose parts all docids are known.

        Parts are read if that is due.
        """
        parts = {match: list(dict.fromkeys(_parts(match))) for match in joined}
        known = {
            part: self._whole(part) for part in {part for one in parts.values() for part in one}
        }
        lacking = {part for part, docids in known.items() if docids is None}
        if lacking:
            beside = min(
                (len(one) for one in known.values() if one is not None), default=self.limit
            )
            due = {part for part in lacking if self._is_due(part, beside)}
            parts = {match: of for match, of in parts.items() if due.issuperset(lacking & {*of})}
            needed = [part for part in due if any(part in of for of in parts.values())]
            for part, docids in zip(needed, self.read(needed) if needed else (), strict=True):
                self.wholes.put(self.ns, self.state, part, docids)
                known[part] = docids
        lists = {match: [known[part] for part in of] for match, of in parts.items()}
        return {
            match: newest_common([one for one in of if one is not None], self.limit)
            for match, of in lists.items()
        }

    def _whole(self, match: Match) -> Docids | None:
        """Return all docids of an expression if they are known."""
        newest = self.newest(match)
        if newest is not None and len(newest) < self.limit:
            return newest
        whole = self.wholes.find(self.ns, self.state, match)
        if whole is not None or not isinstance(match, Any):
            return whole
        lists = [self._whole(part) for part in match.parts]
        found = [one for one in lists if one is not None]
        return any_of(found) if len(found) == len(lists) else None

    def _is_due(self, match: Match, beside: int) -> bool:
        """Tell whether all docids of an expression are to be read; see ``Wholes.is_due``."""
        newest = self.newest(match)
        rows = self.state[0]  # no namespace has more rows than revisions
        if newest is not None and len(newest):
            first = self.ns << SEQ_BITS
            rows = len(newest) * int(newest[-1] - first) // int(newest[-1] - newest[0] + 1)
        return self.wholes.is_due(self.ns, self.state, match, beside, rows)


def _parts(match: Match) -> Iterator[Match]:
    """Yield the expressions that all have to match."""
    if isinstance(match, All):
        for part in match.parts:
            yield from _parts(part)
    else:
        yield match


def _bytes_of(docids: Docids) -> int:
    return _ENTRY_BYTES + docids.nbytes


def newest_common(lists: Sequence[Docids], limit: int) -> Docids:
    """Return the largest docids that are in all of several ascending lists, ascending.

    >>> some, others = np.array([1, 3, 5, 7]), np.array([3, 4, 5, 7, 9])
    >>> newest_common([some, others], 2).tolist()
    [5, 7]
    """
    fewest, *others = sorted(lists, key=len)
    looked = _WIDER * limit
    while True:
        common = fewest[-looked:]
        for other in others:
            common = common[_is_in(common, other)]
        if len(common) >= limit or looked >= len(fewest):
            return common[-limit:]
        looked *= _WIDER


def any_of(lists: Sequence[Docids]) -> Docids:
    """Return the docids that are in any of several lists, ascending, no repeats."""
    return distinct(np.concatenate(lists))


def _is_in(docids: Docids, others: Docids) -> NDArray[np.bool_]:
    """Tell of each docid whether it is among others. Both ascend."""
    if not len(docids):
        return np.zeros(0, np.bool_)
    low, high = docids[0], docids[-1]
    others = others[np.searchsorted(others, low) : np.searchsorted(others, high, "right")]
    if not len(others):
        return np.zeros(len(docids), np.bool_)
    if _FEW * len(docids) < len(others):
        at = np.minimum(np.searchsorted(others, docids), len(others) - 1)
        found: NDArray[np.bool_] = others[at] == docids
        return found
    held = np.zeros(int(high - low) + 1, np.bool_)
    held[others - low] = True
    kept: NDArray[np.bool_] = held[docids - low]
    return kept
