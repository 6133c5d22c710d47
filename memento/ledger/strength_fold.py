"""The state of each memory, folded from the events of the log: the rows of ``dynamics``.

The events are the truth. These rows are derived: they can be dropped, and folding the log again
gives every one of them, bit for bit. A memory without events has none.

The log is folded in the order of its events, some hundred in one transaction, up to a cursor in
``meta``. A row is marked stale and folded again from the start if events can no longer just be
added: when a verdict was retracted, or the kind of its memory changed. A reader of a row adds the
events after the cursor, so nobody has to wait for the fold, and reading writes nothing.

Time in which a store is not used does not count as forgetting: retention is in active days, the
days of the log. An ``add`` is not in the log. The list of these days, in ``meta``, only grows at
its end.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from struct import Struct
from typing import Any

from memento.base.clock import DAY
from memento.dynamics.fold import (
    FOLDED,
    SHOWN_FIRST,
    Basis,
    Occurrence,
    Standing,
    State,
    begin,
    standing,
    step,
)
from memento.dynamics.formulas import RATES
from memento.dynamics.settings import Dynamics
from memento.ledger import co_use, learnt_weights, memories, meta, usage_events
from memento.ledger.contract import Transaction
from memento.ledger.dialect import listed, one_of_numbers, or_replace
from memento.ledger.rows import Row, column, docid_range, first, is_sound, lock_of, select, single
from memento.ledger.schema import SEQ_BITS
from memento.ledger.usage_events import Fold, Happening, standing_ones
from memento.status import having
from memento.types import Event

BITE = 200
"""Maximum number of events folded in one transaction: about 25 ms if each is an answer of five
memories, during which an ``add`` waits."""
AGAIN = 4
"""Maximum number of stale rows folded again in one transaction; each may have to search the log."""

_EDITION = 3
"""Version of the fold and of its constants: rows of another version are dropped."""

ASLEEP = frozenset({
    Event.ARCHIVED, Event.FOLDED, Event.MOVED, Event.REPLAYED, Event.SUPERSEDED, Event.UNDONE,
})  # fmt: skip
"""Events that the sleep may write: a day with no others is no day of use."""

_ALWAYS = -(1 << 63)
"""Before every moment."""
_FOLD, _DAYS = Fold("dynamics"), "dynamics days "
_FEELS, _ACCEPTED = frozenset(having("feels")), frozenset(having("accepted"))
_SUMS, _ALIKE = Struct(f"<{len(RATES)}d"), Struct("<d")
_NAMES = (
    "at", "uses", "used_at", "counted", "sums", "stability", "day", "short", "long",
    "supporting", "opposing", "worth", "today", "spent", "marks",
)  # fmt: skip
_COLUMNS = ", ".join(_NAMES)
_PUT = (
    f"INSERT INTO dynamics (docid, stale, stamp, {_COLUMNS})"
    f" VALUES (?, ?, ?, {', '.join('?' * len(_NAMES))})"
    f" {or_replace('docid', 'stale', 'stamp', *_NAMES)}"
)


@dataclass(slots=True)
class Calendar:
    """The days on which a namespace was used, in days since 1970, ascending.

    Attributes:
        days: The days.
        changed: Whether days were added that are not stored yet.
    """

    days: list[int]
    changed: bool = False

    def note(self, at: int) -> None:
        """Add the day of an event, if it is later than the last one."""
        if not self.days or at // DAY > self.days[-1]:
            self.days.append(at // DAY)
            self.changed = True

    def until(self, at: int) -> int:
        """Count the days until a moment, that day included."""
        return bisect_right(self.days, at // DAY)

    def reached(self, at: int, event: int) -> int:
        """Count the days until a moment, with the day of an event, even if it is no day of use.

        So the number does not depend on when the event is folded: if the sleep wrote the event, its
        day may become a day of use later.
        """
        own = event // DAY
        place = bisect_left(self.days, own)
        used = self.days[place : place + 1] == [own]
        return self.until(at) + (own <= at // DAY and not used)


@dataclass(slots=True)
class _Fold:
    """The fold of one bite, with the calendars that it read and extended."""

    db: Transaction
    config: Dynamics
    calendars: dict[int, Calendar] = field(default_factory=dict)

    def calendar(self, ns: int) -> Calendar:
        """Return the calendar of a namespace, read once."""
        if ns not in self.calendars:
            self.calendars[ns] = calendar_of(self.db, ns)
        return self.calendars[ns]

    def after(self, state: State | None, happened: Happening, rank: int, row: Row) -> State | None:
        """Return the state of a memory after an event; None if no event has changed it."""
        if happened.begins_anew:
            return None
        if happened.kind not in FOLDED:
            return state
        calendar, basis = self.calendar(row.ns), basis_of(row)
        came = calendar.reached(basis.at, happened.since)
        before = state or begin(basis, came, self.config)
        occurred = Occurrence(
            kind=happened.kind,
            at=happened.since,
            day=calendar.reached(happened.since, happened.since),
            source=happened.source,
            rank=rank,
            outcome=happened.outcome,
        )
        later = step(before, occurred, basis, self.config)
        return state if later is before else later

    def again(self, row: Row, upto: int) -> State | None:
        """Fold the events of one memory from the start, up to one of the log."""
        return self.onto(None, row, usage_events.of_memory(self.db, row, 0, upto))

    def onto(self, state: State | None, row: Row, found: Sequence[Happening]) -> State | None:
        """Fold events of one memory onto a state; verdicts that were retracted are left out."""
        for happened in standing_ones(found):
            if happened.kind == Event.RETRIEVED:
                rank = happened.ids.index(row.id) + 1
            else:
                rank = happened.rank
            state = self.after(state, happened, rank, row)
        return state


def basis_of(row: Row) -> Basis:
    """Return the properties on which the dynamics of a memory depend."""
    lock = lock_of(row.pinned) if isinstance(row.pinned, int) else None
    return Basis(row.created_at, row.trust, row.kind, row.importance, lock)


def feels(row: Row) -> bool:
    """Return whether events change the state of a memory: not in quarantine, nor if damaged."""
    return row.status in _FEELS and is_sound(row)


def look(
    db: Transaction, row: Row, now: int, config: Dynamics
) -> tuple[State, Standing, list[Happening]]:
    """Read the state, standing and verdicts of a memory at a moment, microseconds.

    The verdicts and repeats are in the order of the log, including retracted ones and retractions.
    """
    fold = _Fold(db, config)
    basis, calendar = basis_of(row), fold.calendar(row.ns)
    later = partial(usage_events.next_from, db, row.ns, but=ASLEEP)
    event = _FOLD.place(db)[0]
    while found := later(event, (calendar.days[-1] + 1) * DAY if calendar.days else _ALWAYS):
        event = found.event  # of each day that is not folded yet one event is read
        if _is_use(found):
            calendar.note(found.at)
    told = usage_events.told_of(db, row.docid)
    state = _present(fold, row) if feels(row) else None
    shown = state or begin(basis, calendar.until(basis.at), config)
    first = max((at for at, one in enumerate(told, start=1) if one.begins_anew), default=0)
    counted = [one for one in told[first:] if one.kind != Event.REPLACED]
    return shown, standing(shown, now, calendar.until(now), basis, config), counted


def _present(fold: _Fold, row: Row) -> State | None:
    """Return the state of a memory with all events of the log; None if none changed it."""
    event, rules = _FOLD.place(fold.db)
    states, stale = _load(fold.db, [row.docid])
    whole = rules == _rules(fold.config) and not stale
    since = usage_events.of_memory(fold.db, row, event if whole else 0, None)
    if whole and not any(one.kind == Event.RETRACTED for one in since):
        return fold.onto(states.get(row.docid), row, since)
    return fold.onto(None, row, usage_events.of_memory(fold.db, row, 0, None))


def calendar_of(db: Transaction, ns: int) -> Calendar:
    """Return the days on which a namespace was used, as far as the log is folded."""
    days = meta.get_json(db, f"{_DAYS}{ns}")
    sound = isinstance(days, list) and all(isinstance(day, int) for day in days)
    return Calendar(sorted(days) if sound else [])


def states_of(db: Transaction, docids: Sequence[int]) -> dict[int, State]:
    """Return the folded states of memories by row id; those without events are left out."""
    return _load(db, docids)[0]


def used(db: Transaction, ns: int) -> set[int]:
    """Return the row ids of the memories of a namespace with a use that was counted."""
    query = "SELECT docid FROM dynamics WHERE docid BETWEEN ? AND ? AND uses > 0"
    return set(column(db, query, docid_range(ns)))


def behind(db: Transaction, config: Dynamics, *, takes_over: bool = True) -> bool:
    """Return whether there is anything to fold; see ``Fold.is_behind``."""
    event, rules = _FOLD.place(db)
    if event and rules != _rules(config):
        return takes_over
    query = "SELECT EXISTS (SELECT 1 FROM dynamics WHERE stale = 1)"
    return usage_events.newest(db) > event or bool(single(db, query))


def waiting(db: Transaction, config: Dynamics) -> int:
    """Count the events and stale rows that the next folds will take; all, if settings changed."""
    event, rules = _FOLD.place(db)
    query = (
        "SELECT (SELECT count(*) FROM events WHERE event > ?)"
        " + (SELECT count(*) FROM dynamics WHERE stale = 1)"
    )
    since = event if rules == _rules(config) else 0
    return int(single(db, query, (since,)))


def catch_up(db: Transaction, config: Dynamics, most: int = BITE) -> bool:
    """Fold the next events, and a few stale rows; return whether there may be more."""
    rules, (event, known) = _rules(config), _FOLD.place(db)
    if known != rules:
        drop_rows(db)
        event = 0
    found, count, event = usage_events.after(db, event, most)
    fold = _Fold(db, config)
    if count:
        _fold_bite(fold, found)
        for ns, calendar in fold.calendars.items():
            if calendar.changed:
                meta.put(db, f"{_DAYS}{ns}", json.dumps(calendar.days))
                usage_events.next_stamp(db)
        _FOLD.move(db, event, rules)
    query = "SELECT docid FROM dynamics WHERE stale = 1 ORDER BY docid LIMIT ?"
    stale = column(db, query, (AGAIN,))
    for docid in stale:
        row = first(db, "docid = ?", (docid,))
        again = fold.again(row, event) if row is not None and feels(row) else None
        _store(db, docid, again)
    return count == most or len(stale) == AGAIN


def differing(db: Transaction, config: Dynamics, sample: int) -> list[int]:
    """Fold the memories used last again; return the row ids of those whose stored state differs."""
    event, rules = _FOLD.place(db)
    if rules != _rules(config):
        return []  # with other settings: they will all be folded again
    fold = _Fold(db, config)
    query = "SELECT docid FROM dynamics WHERE stale = 0 ORDER BY at DESC, docid LIMIT ?"
    docids = column(db, query, (sample,))
    states, damaged = _load(db, docids)
    wrong = sorted(damaged)
    for docid, state in states.items():
        row = first(db, "docid = ?", (docid,))
        judged = row is not None and row.status in _ACCEPTED and is_sound(row)
        if row is not None and judged and fold.again(row, event) != state:
            wrong.append(docid)
    return wrong


def forget_all(db: Transaction) -> None:
    """Drop everything that was folded from the events; the events remain."""
    drop_rows(db)
    meta.drop_below(db, _DAYS)
    learnt_weights.forget_all(db)
    co_use.forget_all(db)


def fold_again(db: Transaction, docid: int) -> None:
    """Note that a memory is to be folded again from the start, whether or not it has a row.

    For a change of its lock: events that had no effect while it was locked made no row.
    """
    nothing = dict.fromkeys(_NAMES, 0) | {"sums": b"", "used_at": None}
    db.execute(_PUT, (docid, 1, 0, *nothing.values()))


def drop_rows(db: Transaction) -> None:
    """Drop every row, to be folded again; the days on which the store was used remain."""
    if db.execute("DELETE FROM dynamics").rowcount:
        usage_events.dropped(db)
    meta.drop(db, _FOLD.name)


def events_went(db: Transaction) -> None:
    """Note that events were deleted; see ``Fold.step_back``."""
    for fold in (_FOLD, learnt_weights.FOLD, co_use.FOLD):
        fold.step_back(db, usage_events.newest(db))


def _fold_bite(fold: _Fold, found: Sequence[Happening]) -> None:
    """Fold events onto the rows, and store those that changed."""
    db = fold.db
    for happened in found:
        if _is_use(happened):
            fold.calendar(happened.ns).note(happened.at)
    about = list(_about(fold, found))
    docids = [docid for happened, docid, _ in about if docid >> SEQ_BITS == happened.ns]
    changed = select(db, f"docid {one_of_numbers()}", (listed(docids),))
    rows = {row.docid: row for row in changed if feels(row)}
    known, stale = _load(db, list(rows))
    states: dict[int, State | None] = dict(known)
    for happened, docid, rank in about:
        if happened.kind == Event.RETRACTED:
            stale.add(docid)
            if happened.counts_again and docid in rows:
                fold_again(db, docid)  # without that event it may have no row
        elif docid in rows:
            states[docid] = fold.after(states.get(docid), happened, rank, rows[docid])
    for docid, state in states.items():
        if state is not known.get(docid):
            _store(db, docid, state)
    for docid in stale:
        db.execute("UPDATE dynamics SET stale = 1 WHERE docid = ?", (docid,))


def _is_use(happened: Happening) -> bool:
    """Return whether an event makes its day one of use: a sleep and its undo do not."""
    undone = happened.kind == Event.RETRACTED and happened.change is not None
    return happened.kind not in ASLEEP and not undone


def _about(fold: _Fold, found: Iterable[Happening]) -> Iterator[tuple[Happening, int, int]]:
    """Yield each event with the memories it is about, and their rank in the answer."""
    first = SHOWN_FIRST
    for happened in found:
        if happened.kind == Event.RETRIEVED:
            ids = happened.ids[:first]
            docids = memories.docids_of(fold.db, happened.ns, ids)
            for rank, memory_id in enumerate(ids, start=1):
                if memory_id in docids:
                    yield happened, docids[memory_id], rank
        elif happened.docid is not None and happened.kind in usage_events.OWN:
            yield happened, happened.docid, happened.rank


def _load(db: Transaction, docids: Sequence[int]) -> tuple[dict[int, State], set[int]]:
    """Return the states of memories by row id, and which rows are stale or damaged."""
    found: dict[int, State] = {}
    spoilt: set[int] = set()
    query = f"SELECT docid, stale, {_COLUMNS} FROM dynamics WHERE docid {one_of_numbers()}"
    for docid, stale, *values in db.execute(query, (listed(docids),)):
        state = None if stale else _read(dict(zip(_NAMES, values, strict=True)))
        if state is None:
            spoilt.add(docid)
        else:
            found[docid] = state
    return found, spoilt


def _read(values: dict[str, Any]) -> State | None:
    """Make a state from the columns of a row; None if they are damaged."""
    sums, sides = values.pop("sums"), (values.pop("supporting"), values.pop("opposing"))
    numbers = [value for name, value in values.items() if name != "used_at"]
    known = sums_in(sums)
    if known is None or not all(isinstance(value, int | float) for value in (*numbers, *sides)):
        return None
    return State(**values, sums=known, belief=sides)


def sums_in(blob: object) -> tuple[float, ...] | None:
    """Read leaky sums as they are stored; None if they are damaged."""
    if not isinstance(blob, bytes):
        return None
    if len(blob) == _ALIKE.size:
        return _ALIKE.unpack(blob) * len(RATES)
    return _SUMS.unpack(blob) if len(blob) == _SUMS.size else None


def _store(db: Transaction, docid: int, state: State | None) -> None:
    """Write the state of a memory; None deletes it."""
    if state is None:
        if db.execute("DELETE FROM dynamics WHERE docid = ?", (docid,)).rowcount:
            usage_events.dropped(db)
        return
    alike = len(set(state.sums)) == 1  # as after one use
    sums = _ALIKE.pack(state.sums[0]) if alike else _SUMS.pack(*state.sums)
    own = dict(zip(("sums", "supporting", "opposing"), (sums, *state.belief), strict=True))
    values = [own[name] if name in own else getattr(state, name) for name in _NAMES]
    db.execute(_PUT, (docid, 0, usage_events.next_stamp(db), *values))


def _rules(config: Dynamics) -> str:
    """Return a digest of the settings that the rows depend on; the others apply on reading."""
    kept = config.rates[1:], sorted(config.stability.items()), config.agent, config.half_life
    return blake2b(f"{_EDITION} {kept!r}".encode(), digest_size=8).hexdigest()
