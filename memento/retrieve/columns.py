"""Keep an outline of one namespace in RAM: a few numbers per memory, and no text.

Rows are in the order of their docids, which is the order of arrival. The arrays only grow, by
doubling. A `RosterView` is a view of the first n rows; it is taken under the lock and read without
it. A row that changes in the meantime (forgotten, promoted) shows at once; a new row does not show.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from memento.retrieve.by_name import Named, Names
from memento.status import HEARD, TABLE, having
from memento.text.words import STOP_WORDS, Cue, words
from memento.types import Kind, Status, Tier

_NO_NAMES = STOP_WORDS | {"user", "assistant", "system", "tool", "human", "ai"}
_SAMPLED = 8
"""One of so many rows is looked at first where the best of very many are chosen."""
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


ERASED = "erased"
"""Status of a row whose memory was erased: it is never found and never a neighbour."""

TIERS: dict[str, int] = {tier.value: code for code, tier in enumerate(Tier)}
KINDS: dict[str, int] = {kind.value: code for code, kind in enumerate(Kind)}
STATUSES: dict[str, int] = {status.value: code for code, status in enumerate(TABLE)} | {
    ERASED: len(TABLE)
}
NEVER = int(np.iinfo(np.int64).max)
"""Value for an open end."""
ALWAYS = int(np.iinfo(np.int64).min)
"""Value for an open beginning."""
_NONE = np.int32(-1)
_SPARSE = 8  # with so many times more docids than rows, they are looked up by bisection

Rows = NDArray[np.intp]
Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]


def still_holding(snap: RosterView, some: Rows | slice, now: int) -> Mask:
    """Mark those of some rows that hold until a planned value replaces them."""
    ends = snap.valid_until[some]
    holds: Mask = (snap.valid_from[some] <= now) & (ends > now) & (ends != NEVER)
    holds &= snap.status[some] == STATUSES[Status.SUPERSEDED]
    return holds


def having_trait(codes: NDArray[np.int8], trait: str) -> Mask:
    """Mark the rows whose status, as its code in ``STATUSES``, has a trait."""
    mask = np.zeros(len(codes), np.bool_)
    for status in having(trait):
        mask |= codes == STATUSES[status]
    return mask


class RosterRow(NamedTuple):
    """The outline of one memory, as the ledger gives it; all moments are microseconds.

    Attributes:
        docid: Row id in the full-text table, > 0; ascending with arrival.
        status: Value of `Status`, or `ERASED`.
        words: Words in all its columns (`text.words.Columns.words`), >= 0.
        cues: Bits of `text.words.Cue`.
        valid_from: Start of the time in which it is true, or None for always.
        valid_until: End of that time, exclusive, or None for open.
        successor: Docid of the memory that superseded it, -1 if that is not stored, or None.
    """

    docid: int
    session: str | None
    actor: str | None
    scope: str
    tier: str
    kind: str
    status: str
    words: int
    head_words: int
    cues: int
    importance: float
    occurred_at: int
    expires_at: int | None = None
    valid_from: int | None = None
    valid_until: int | None = None
    successor: int | None = None
    key: str | None = None
    aliases: tuple[str, ...] = ()


COLUMNS: dict[str, type[np.generic]] = {
    "docid": np.int64,
    "session": np.int32,
    "actor": np.int32,
    "scope": np.int32,
    "tier": np.int8,
    "kind": np.int8,
    "status": np.int8,
    "heard": np.bool_,
    "words": np.int32,
    "head_words": np.int32,
    "cues": np.uint32,
    "importance": np.float32,
    "occurred_at": np.int64,
    "expires_at": np.int64,
    "valid_from": np.int64,
    "valid_until": np.int64,
    "successor": np.int64,
    "prev": np.int32,
    "next": np.int32,
    "window_words": np.float32,
}
INTERNED = ("session", "actor", "scope")
"""Columns of codes, each with names of its own."""
_FIRST_ROOM = 64
"""Rows that a new namespace has room for; the room doubles as it grows."""


@dataclass(frozen=True, slots=True, eq=False)
class RosterView:
    """A namespace as one query sees it. The arrays have one value per row; -1 means no value.

    Attributes:
        live: Number of heard rows, see `status.HEARD`. Only these count: in the means, sessions,
            years and names of participants, and as neighbours.
        mean_window: Mean of ``window_words`` over heard rows, > 0.
        talks: Whether any heard row belongs to a session.
        noted: Whether any row belongs to no session.
        named_only: Whether any row is found only by its name.
        years: Calendar years in which heard rows occurred, ascending.
        docid: Ascending.
        first: The first of them; 0 without rows.
        row_at: Row of each docid from ``first`` on, -1 for none, and perhaps of later ones; None if
            there are no gaps, or too many.
        lone: Whether the row belongs to no session.
        succeeded: Rows with a stored successor, ascending.
        next: Row of the next heard turn of the session; may point past ``n``, see `neighbours`.
        window_words: Words of the row and of the heads of the two turns before and after.
        people: Names of participants with a heard row to their codes, see the function `people`.
        names: Keys and aliases.
    """

    n: int
    live: int
    mean_window: float
    talks: bool
    noted: bool
    named_only: bool
    years: tuple[int, ...]
    docid: NDArray[np.int64]
    first: int
    row_at: NDArray[np.int32] | None
    lone: Mask
    succeeded: Rows
    session: NDArray[np.int32]
    actor: NDArray[np.int32]
    scope: NDArray[np.int32]
    tier: NDArray[np.int8]
    kind: NDArray[np.int8]
    status: NDArray[np.int8]
    heard: Mask
    words: NDArray[np.int32]
    cues: NDArray[np.uint32]
    importance: Floats
    occurred_at: NDArray[np.int64]
    expires_at: NDArray[np.int64]
    valid_from: NDArray[np.int64]
    valid_until: NDArray[np.int64]
    successor: NDArray[np.int64]
    prev: NDArray[np.int32]
    next: NDArray[np.int32]
    window_words: Floats
    actors: Interned
    scopes: Interned
    session_names: Interned
    people: dict[str, int]
    names: Names

    def rows_of(self, docids: NDArray[np.int64]) -> Rows:
        """Find the rows of docids; those not in the view are left out."""
        offset: Rows = (docids - self.first).astype(np.intp, copy=False)
        if not len(offset):
            return offset
        if self.row_at is not None:
            rows = self.row_at[offset[(offset >= 0) & (offset < len(self.row_at))]]
            return rows[(rows >= 0) & (rows < self.n)].astype(np.intp)
        if self.n and int(self.docid[-1]) - self.first == self.n - 1:  # no gaps
            if offset.min() >= 0 and offset.max() < self.n:  # nearly always
                return offset
            return offset[(offset >= 0) & (offset < self.n)]
        at = np.searchsorted(self.docid, docids)
        known = at < self.n
        known[known] = self.docid[at[known]] == docids[known]
        return at[known]

    def rows_of_each(self, lists: Sequence[NDArray[np.int64]]) -> list[Rows]:
        """Find the rows of several lists of docids."""
        return [self.rows_of(docids) for docids in lists]

    def neighbours(self, rows: Rows, step: int) -> Rows:
        """Return for each row, or -1, the next turn of its session (step 1), or the one before."""
        link = self.next if step > 0 else self.prev
        found = np.where(rows >= 0, link[rows], _NONE)
        return np.where(found < self.n, found, _NONE).astype(np.intp)


class State(NamedTuple):
    """The content of a roster, to be written to a file; see `Roster.restored`.

    The columns are views, in which later changes show. ``heard`` and ``unheard`` are the names of
    heard and of other rows.
    """

    n: int
    columns: dict[str, NDArray[Any]]
    names: dict[str, list[str]]
    heard: list[Named]
    unheard: list[Named]


class Roster:
    """The rows of one namespace, kept up to date from the ledger."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n = 0
        self._columns = {name: np.zeros(0, kind) for name, kind in COLUMNS.items()}
        self._last_of_session: dict[int, int] = {}
        self._codes = {column: Interned() for column in INTERNED}
        self._names = Names()
        # number of heard rows, of those in sessions, and of the words in their windows
        self._live, self._turns, self._window = 0, 0, 0.0
        self._spoke, self._years = Counter[int](), Counter[int]()
        self._people: dict[str, int] | None = {}  # None after a participant came or went
        self._row_at = np.zeros(0, np.int32)
        self._placed = 0  # number of rows in `_row_at`
        self._taken: RosterView | None = None
        self._bytes = 0  # valid while there is a view

    def __len__(self) -> int:
        return self._n

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays, including the room to grow."""
        with self._lock:
            if self._taken is None or not self._bytes:
                arrays = [*self._columns.values(), self._row_at]
                self._bytes = sum(array.nbytes for array in arrays)
            return self._bytes

    def state(self) -> State:
        """Return its present state; write it before anything changes."""
        with self._lock:
            columns = {name: self._columns[name][: self._n] for name in COLUMNS}
            names = {column: list(codes.names) for column, codes in self._codes.items()}
            return State(self._n, columns, names, *self._names.state())

    @classmethod
    def restored(cls, state: State) -> Self:
        """Make a roster from the state of another."""
        roster = cls()
        for column, codes in roster._codes.items():
            for name in state.names[column]:
                codes.code(name)
        roster._reserve(state.n)
        roster._n = state.n
        for name, values in state.columns.items():
            roster._columns[name][: state.n] = values
        roster._names.restore(state.heard, state.unheard)
        rows = np.arange(state.n)
        roster._tally(rows, +1)
        places = roster._places(rows)
        last = rows[(places >= 0) & (roster._columns["next"][rows] == _NONE)]
        roster._last_of_session = dict(zip(places[last].tolist(), last.tolist(), strict=True))
        return roster

    def view(self) -> RosterView:
        """Return the present namespace; the same object until something changes."""
        with self._lock:
            if self._taken is None:
                self._taken = self._take()
                self._bytes = 0
            return self._taken

    def _take(self) -> RosterView:
        n = self._n
        column = {name: self._columns[name][:n] for name in RosterView.__slots__ if name in COLUMNS}
        lone = column["session"] < 0
        if self._people is None:
            spoken = self._codes["actor"].names
            self._people = people({spoken[code]: code for code in self._spoke})
        return RosterView(
            n=n,
            live=self._live,
            mean_window=max(1.0, self._window / max(self._live, 1)),
            talks=self._turns > 0,
            noted=bool(lone.any()),
            named_only=bool(having_trait(column["status"], "by_name").any()),
            first=int(column["docid"][0]) if n else 0,
            row_at=self._places_of_docids(),
            lone=lone,
            succeeded=np.flatnonzero(column["successor"] > 0),
            years=tuple(sorted(self._years)),
            actors=self._codes["actor"],
            scopes=self._codes["scope"],
            session_names=self._codes["session"],
            people=self._people,
            names=self._names,
            **column,
        )

    def _places_of_docids(self) -> NDArray[np.int32] | None:
        """Return the row of each docid from the first one on; see ``RosterView.row_at``.

        Rows keep their docids, so that only new ones are added. Earlier views share the array.
        """
        docid = self._columns["docid"][: self._n]
        span = int(docid[-1] - docid[0]) + 1 if self._n else 0
        if span == self._n or span > _SPARSE * self._n:
            return None
        if span > len(self._row_at):
            wider = np.full(2 * span, _NONE, np.int32)
            wider[: len(self._row_at)] = self._row_at
            self._row_at = wider
        self._row_at[docid[self._placed :] - docid[0]] = np.arange(self._placed, self._n)
        self._placed = self._n
        return self._row_at

    def apply(self, rows: Iterable[RosterRow]) -> None:
        """Add new memories and update changed ones; of several with the same docid the last counts.

        Raises:
            ValueError: If a new docid is smaller than one added before; nothing was added.
        """
        latest = {row.docid: row for row in rows}
        if not latest:
            return
        with self._lock:
            self._taken = None
            taken = self._columns["docid"][: self._n]
            newest = int(taken[-1]) if self._n else 0
            fresh = [latest[docid] for docid in sorted(latest) if docid > newest]
            changed = [latest[docid] for docid in sorted(latest) if docid <= newest]
            at = np.searchsorted(taken, [row.docid for row in changed])
            if any(taken[i] != row.docid for i, row in zip(at, changed, strict=True)):
                raise ValueError("docids must be taken in ascending order")
            self._change(at, changed)
            self._append(fresh)

    # -- writing, under the lock ------------------------------------------------------------

    def _append(self, fresh: Sequence[RosterRow]) -> None:
        if not fresh:
            return
        start, end = self._n, self._n + len(fresh)
        self._reserve(end)
        for name, values in self._coded(fresh).items():
            self._columns[name][start:end] = values
        self._columns["prev"][start:end] = self._columns["next"][start:end] = _NONE
        self._n = end
        rows = np.arange(start, end)
        self._link(rows)
        self._tally(rows, +1)
        for row, at in zip(fresh, range(start, end), strict=True):
            if row.key is not None or row.aliases:
                self._names.put(at, row.key, row.aliases, heard=row.status in HEARD)
        self._measure(self._with_neighbours(rows, 2))

    def _change(self, at: Rows, changed: Sequence[RosterRow]) -> None:
        """Overwrite rows and recompute the windows of the rows around them."""
        if not changed:
            return
        touched = self._with_neighbours(at, 2)
        before = self._places(at)
        self._tally(at, -1)
        self._columns["window_words"][at] = 0  # computed and added below
        for name, values in self._coded(changed).items():
            self._columns[name][at] = values
        self._tally(at, +1)
        self._relink(at, before, self._places(at))
        for row, one in zip(changed, at.tolist(), strict=True):
            self._names.put(one, row.key, row.aliases, heard=row.status in HEARD)
        touched = np.union1d(touched, self._with_neighbours(at, 2))
        self._measure(touched)

    def _coded(self, rows: Sequence[RosterRow]) -> dict[str, Sequence[float]]:
        """Turn rows into columns of numbers."""
        by = dict(zip(RosterRow._fields, zip(*rows, strict=True), strict=True))
        return {
            **{
                name: by[name]
                for name in ("docid", "words", "head_words", "cues", "importance", "occurred_at")
            },
            **{
                column: [codes.code(name) for name in by[column]]
                for column, codes in self._codes.items()
            },
            "tier": [TIERS[name] for name in by["tier"]],
            "kind": [KINDS[name] for name in by["kind"]],
            "status": [STATUSES[name] for name in by["status"]],
            "heard": [name in HEARD for name in by["status"]],
            "expires_at": [NEVER if at is None else at for at in by["expires_at"]],
            "valid_from": [ALWAYS if at is None else at for at in by["valid_from"]],
            "valid_until": [NEVER if at is None else at for at in by["valid_until"]],
            "successor": [docid or 0 for docid in by["successor"]],
        }

    def _reserve(self, size: int) -> None:
        room = len(self._columns["docid"])
        if size <= room:
            return
        room = max(size, 2 * room, _FIRST_ROOM)
        for name, column in self._columns.items():
            self._columns[name] = grown(column, room)

    def _link(self, rows: Rows) -> None:
        """Link new rows, later than all linked ones, to the turn before them in their session."""
        session = self._places(rows)
        rows, session = rows[session >= 0], session[session >= 0]
        order = np.argsort(session, kind="stable")
        rows, session = rows[order], session[order]
        if not len(rows):
            return
        same = session[1:] == session[:-1]
        self._pair(rows[:-1][same], rows[1:][same])
        opens = np.r_[True, ~same]
        closes = np.r_[~same, True]
        for at, code in zip(rows[opens].tolist(), session[opens].tolist(), strict=True):
            if (before := self._last_of_session.get(code)) is not None:
                self._pair(np.array([before]), np.array([at]))
        self._last_of_session.update(
            zip(session[closes].tolist(), rows[closes].tolist(), strict=True)
        )

    def _pair(self, before: Rows, after: Rows) -> None:
        self._columns["next"][before] = after
        self._columns["prev"][after] = before

    def _places(self, rows: Rows) -> NDArray[np.int32]:
        """Return the session in which each row is a turn, or -1."""
        return np.where(self._columns["heard"][rows], self._columns["session"][rows], _NONE)

    def _relink(self, rows: Rows, before: NDArray[np.int32], after: NDArray[np.int32]) -> None:
        """Link again the sessions that overwritten rows left or joined; -1 is none."""
        moved = before != after
        if not moved.any():
            return
        self._columns["prev"][rows[moved]] = self._columns["next"][rows[moved]] = _NONE
        codes = np.union1d(before[moved], after[moved])
        for code in codes.tolist():
            self._last_of_session.pop(code, None)
        members = np.flatnonzero(np.isin(self._columns["session"][: self._n], codes[codes >= 0]))
        self._columns["prev"][members] = self._columns["next"][members] = _NONE
        self._link(members)

    def _tally(self, rows: Rows, sign: int) -> None:
        """Add the heard rows among these to the statistics, or take them out."""
        heard = rows[self._columns["heard"][rows]]
        names = ("session", "actor", "occurred_at", "window_words")
        session, actor, occurred_at, window = (self._columns[name][heard] for name in names)
        self._live += sign * len(heard)
        self._window += sign * float(window.sum(dtype=np.float64))
        self._turns += sign * int(np.count_nonzero(session >= 0))
        _add(self._years, _years_of(occurred_at), sign)
        before = len(self._spoke)
        _add(self._spoke, actor[actor >= 0], sign)
        if len(self._spoke) != before:
            self._people = None

    def _with_neighbours(self, rows: Rows, reach: int) -> Rows:
        found = [rows]
        back = ahead = rows
        for _ in range(reach):
            back, ahead = self._columns["prev"][back], self._columns["next"][ahead]
            back, ahead = back[back >= 0], ahead[ahead >= 0]
            found += [back, ahead]
        return distinct(np.concatenate(found)).astype(np.intp)

    def _measure(self, rows: Rows) -> None:
        """Recompute the words in the window of rows."""
        column, words = self._columns["window_words"], self._columns["head_words"]
        heard = rows[self._columns["heard"][rows]]
        self._window -= float(column[heard].sum(dtype=np.float64))
        column[rows] = self._columns["words"][rows]
        for name in ("prev", "next"):
            first = self._columns[name][rows]
            second = _take(self._columns[name], first, _NONE)
            for near in (first, second):
                column[rows] += _take(words, near, np.int32(0))
        self._window += float(column[heard].sum(dtype=np.float64))


def smoothable(
    rows: Rows,
    link: NDArray[np.int32],
    cues: NDArray[np.uint32],
    n: int,
) -> NDArray[np.int32]:
    """Return for each row the neighbour whose vector smooths its own, or -1: short turns only."""
    near = link[rows]
    near = np.where(near < n, near, _NONE)
    both = (cues[rows] & cues[near] & np.uint32(Cue.SHORT)) != 0
    return np.where((near >= 0) & both, near, _NONE)


def distinct(rows: Rows) -> Rows:
    """Return rows ascending without repeats: like ``numpy.unique``, but faster for few rows.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(rows)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def best_rows(rows: Rows, score: Floats, count: int) -> Rows:
    """Return the best of some ascending rows, best first; among equals the newest first."""
    values = score[rows]
    if len(rows) > _SAMPLED * count:
        rows, values = _promising(rows, values, count)
    if len(rows) > count:
        bar = np.partition(values, len(rows) - count)[len(rows) - count]
        above = values > bar
        level = np.flatnonzero(values == bar)[np.count_nonzero(above) - count :]
        above[level] = True
        rows, values = rows[above], values[above]
    return rows[np.lexsort((-rows, -values))]


def _promising(rows: Rows, values: Floats, count: int) -> tuple[Rows, Floats]:
    """Leave out most of the rows that cannot be among the best, judged by a sample.

    Source: Floyd & Rivest, Expected Time Bounds for Selection, 1975.
    """
    sample = values[::_SAMPLED]
    wanted = min(len(sample), 2 * count // _SAMPLED + _SAMPLED)
    kept = values >= np.partition(sample, len(sample) - wanted)[len(sample) - wanted]
    return (rows[kept], values[kept]) if np.count_nonzero(kept) >= count else (rows, values)


def _take(
    column: NDArray[np.int32], rows: NDArray[np.int32], missing: np.int32
) -> NDArray[np.int32]:
    return np.where(rows >= 0, column[rows], missing)
