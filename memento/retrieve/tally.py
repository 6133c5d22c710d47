"""Statistics of the memories of a namespace that are heard, see `status.HEARD`.

All other memories (quarantined, forgotten, erased) are left out, so that they cannot change an
answer that does not ask for them. Every memory can be removed again, and no number depends on the
order of arrival: a store that is opened again has the same numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memento.language.words import STOP_WORDS, words

_NO_NAMES = STOP_WORDS | {"user", "assistant", "system", "tool", "human", "ai"}
_EPOCH_YEAR = 1970  # year 0 of numpy.datetime64
_A = TypeVar("_A", bound=np.generic)


class Interned:
    """Small integers for strings, in the order first seen.

    Attributes:
        names: The strings; the index is the code.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self._codes: dict[str, int] = {}

    def code(self, name: str | None) -> int:
        """Return the code of a name, a new code for a new name; -1 for None."""
        if name is None:
            return -1
        code = self._codes.setdefault(name, len(self.names))
        if code == len(self.names):
            self.names.append(name)
        return code

    def find(self, name: str) -> int | None:
        """Return the code of a name, or None if it was never seen."""
        return self._codes.get(name)


class Tally:
    """The statistics of one namespace. Every caller holds a lock.

    Args:
        sessions: Names of the sessions.
        actors: Names of the participants.

    Attributes:
        live: Rows, >= 0.
        window: Sum of the words in the windows of all rows, >= 0.
    """

    def __init__(self, sessions: Interned, actors: Interned) -> None:
        self._sessions, self._actors = sessions, actors
        self.live = 0
        self.window = 0.0
        self._words = np.zeros(0, np.int64)  # of each session
        self._turns = Counter[int]()
        self._spoke = Counter[int]()
        self._years = Counter[int]()
        self._people: dict[str, int] | None = {}

    @property
    def mean_window(self) -> float:
        """Mean words in the window of a row, >= 1."""
        return max(1.0, self.window / max(self.live, 1))

    @property
    def mean_session(self) -> float:
        """Mean words of the sessions that have a row, >= 1."""
        return max(1.0, float(self._words.sum()) / max(len(self._turns), 1))

    @property
    def talks(self) -> bool:
        """Whether any row belongs to a session."""
        return bool(self._turns)

    def years(self) -> tuple[int, ...]:
        """Return the calendar years in which rows occurred, ascending."""
        return tuple(sorted(self._years))

    def session_words(self) -> NDArray[np.int64]:
        """Return the words of each session."""
        known = len(self._sessions.names)
        if known > len(self._words):
            self._words = grown(self._words, max(known, 2 * len(self._words)))
        return self._words[:known]

    def people(self) -> dict[str, int]:
        """Return the names of participants; the same dict until a participant comes or goes."""
        if self._people is None:
            self._people = people({self._actors.names[code]: code for code in self._spoke})
        return self._people

    def count(
        self,
        sign: int,
        session: NDArray[np.int32],
        actor: NDArray[np.int32],
        length: NDArray[np.int32],
        occurred_at: NDArray[np.int64],
        window: NDArray[np.float32],
    ) -> None:
        """Add rows to the statistics, or remove them.

        Args:
            sign: 1 or -1.
            session: Session of each, or -1.
            actor: Participant of each, or -1.
            length: Words of each.
            occurred_at: When each happened, microseconds since 1970 UTC.
            window: Words in the window of each.
        """
        self.live += sign * len(session)
        self.window += sign * float(window.sum(dtype=np.float64))
        inside = session >= 0
        np.add.at(self.session_words(), session[inside], sign * length[inside])
        _add(self._turns, session[inside], sign)
        _add(self._years, _years_of(occurred_at), sign)
        before = len(self._spoke)
        _add(self._spoke, actor[actor >= 0], sign)
        if len(self._spoke) != before:
            self._people = None


def people(actors: dict[str, int]) -> dict[str, int]:
    """Return the names by which a query may call participants.

    Args:
        actors: Name of each to its code.

    Returns:
        Folded name of each to its code, and the first word of a longer name to its code; to -1 if
        several participants share that word and it is not the whole name of one.

    >>> people({"Ada Lovelace": 0, "Ada Byron": 1, "Bob Ross": 2})["ada"]
    -1
    """
    spoken = {tuple(words(name)): code for name, code in sorted(actors.items())}
    spoken = {name: code for name, code in spoken.items() if not _NO_NAMES.issuperset(name)}
    shared = Counter(name[0] for name in spoken)
    first = {name[0]: -1 if shared[name[0]] > 1 else code for name, code in spoken.items()}
    return first | {" ".join(name): code for name, code in spoken.items()}


def _years_of(occurred_at: NDArray[np.int64]) -> NDArray[np.int64]:
    years: NDArray[np.int64] = occurred_at.astype("datetime64[us]").astype("datetime64[Y]")
    return years.astype(np.int64) + _EPOCH_YEAR


def _add(counter: Counter[int], found: Iterable[int], sign: int) -> None:
    """Count values, or uncount them; a value with count 0 has no entry."""
    values, counts = np.unique(np.asarray(found), return_counts=True)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        counter[value] += sign * count
        if not counter[value]:
            del counter[value]


def grown(column: NDArray[_A], room: int) -> NDArray[_A]:
    """Return a column with room for more rows; new rows are zero."""
    wider = np.zeros((room, *column.shape[1:]), column.dtype)
    wider[: len(column)] = column
    return wider
