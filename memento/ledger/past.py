"""The memories of a namespace as they were recorded at an earlier moment, from ``versions``.

A memory that changed since is rebuilt from the state that the moment fell into; any other is as it
is now. An erased memory is gone from the past too. The past does not show a memory that is in
quarantine, or was then: nobody believed it.

A store that was set back to a moment has lost all that was recorded after it. So its recording
begins again (`LINE`), and `read` refuses an earlier moment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from memento.base import layout
from memento.base.clock import from_micros
from memento.errors import InvalidInput, StoreUnusable
from memento.ledger import memories, meta, slot_rows
from memento.ledger.contract import Session
from memento.ledger.dialect import each_of, field_of, one_of
from memento.ledger.predicate import Filters, predicate
from memento.ledger.rows import (
    STATE,
    Row,
    State,
    column,
    columns_of,
    damaged,
    docid_range,
    earlier_state,
    is_changed_state,
    is_sound,
    select,
    sound,
)
from memento.status import having
from memento.text.words import Columns

LINE = "recorded_since"
"""Name in ``meta`` of the moment at which the recording of a store that was set back begins."""

_BITE = 500
"""Memories whose histories are in RAM at once."""
_ACCEPTED = frozenset(having("accepted"))
_DOUBTED = frozenset(having("current")) - _ACCEPTED
"""Statuses in which a memory is not believed, though nobody took it back."""
_OF_SLOT = frozenset(having("holds_slot", "ended"))
_FILTERED = (
    "docid", "ns", "id", "tier", "kind", "status", "scope", "session", "actor", "role", "key",
    "tags", "metadata", "trust", "source_uri", "pinned", "occurred_at", "valid_from", "valid_until",
    "expires_at", "superseded_by",
)  # fmt: skip
"""Columns that ``predicate`` looks at."""


@dataclass(frozen=True, slots=True)
class Past:
    """The differences between a namespace now and as it was recorded at a moment.

    Attributes:
        moment: The moment, microseconds; changes recorded at it belong to it.
        changed: Row ids of the memories that changed since, to each as it was then.
        absent: Row ids of the memories that were not recorded yet, or are not shown by the past.
        damaged: Ids of the memories whose state of then is damaged; they are among the absent.
    """

    moment: int
    changed: Mapping[int, Row]
    absent: frozenset[int]
    damaged: tuple[str, ...]

    def rows(self, db: Session, ns: int, docids: Sequence[int]) -> dict[int, Row]:
        """Read memories as they were; those that were not there are left out."""
        unchanged = [docid for docid in docids if docid not in self.changed]
        now = memories.by_docids(db, ns, unchanged)
        rows = {docid: replace(row) for docid, row in self.changed.items() if docid in set(docids)}
        return rows | {docid: row for docid, row in now.items() if docid not in self.absent}


def read(db: Session, ns: int, moment: int, docids: Sequence[int] | None = None) -> Past:
    """Find out what a namespace was at a moment, microseconds; of some memories, or of all (None).

    Raises:
        InvalidInput: If the recording of the store begins later.
    """
    _check_line(db, moment)
    changed: dict[int, Row] = {}
    absent, damaged = set(_later(db, ns, moment, docids)), []
    for row, states in _histories(db, ns, moment, docids):
        then = _state_at(row, states, moment)
        if then is None:
            damaged.append(row.id)
        if then is None or then.created_at > moment or _is_doubted(row, states, then):
            absent.add(row.docid)
        else:
            absent.discard(row.docid)
            changed[row.docid] = then
    return Past(moment, changed, frozenset(absent), tuple(damaged))


def reword(db: Session, rows: Iterable[Row], moment: int, past: Past | None) -> set[int]:
    """Give rows, in place, the text of a moment as far as ``past`` knows; None for all known now.

    Returns those where it is damaged.
    """
    until = None if past is None else past.moment
    return memories.reword_as_of(db, rows, moment, known_at=until)


def matching(db: Session, ns: int, filters: Filters, past: Past) -> list[int]:
    """Return the row ids of the memories that fitted the filters then, ascending."""
    now = memories.matching(db, ns, filters)
    found = [one for one in now if one not in past.changed and one not in past.absent]
    return sorted([*found, *_fitting(db, ns, filters, list(past.changed.values()))])


@dataclass(frozen=True, slots=True)
class Page:
    """The part of a list that is wanted, in order of arrival or of occurrence (``by_time``)."""

    by_time: bool
    newest_first: bool
    limit: int
    offset: int


def listed(db: Session, ns: int, filters: Filters, page: Page, known_at: int | None) -> list[Row]:
    """List what fits the filters, as it is or was recorded, with the text of ``filters.as_of``.

    ``known_at`` is the moment by which it was recorded, microseconds; None for now.

    Raises:
        StoreUnusable: If a state that is needed is damaged.
    """
    past = None if known_at is None else _whole(read(db, ns, known_at))
    if past is not None:
        rows = _select(db, ns, filters, page, past)
    else:
        rows = memories.select(
            db,
            ns,
            filters,
            newest_first=page.newest_first,
            by_time=page.by_time,
            limit=page.limit,
            offset=page.offset,
        )
    return rows if filters.as_of is None else _worded(db, rows, filters.as_of, past)


def value(
    db: Session,
    ns: int,
    slot: tuple[str, str],
    as_of: int | None,
    known_at: int | None,
    *,
    now: int,
) -> Row | None:
    """Return the value of a slot that holds ``as_of``, as recorded by ``known_at``; None for now.

    Raises:
        StoreUnusable: If it is damaged, or a state that is needed.
    """
    past = None if known_at is None else _whole(read(db, ns, known_at))
    present = now if known_at is None else known_at
    moment = present if as_of is None else as_of
    if past is None:
        row = slot_rows.value_at(db, ns, slot, moment, now=now, present=as_of is None)
    else:
        row = _value_at(db, ns, slot, moment, past, present=as_of is None)
    if row is None:
        return None
    sound(row)
    return row if as_of is None else _worded(db, [row], as_of, past)[0]


def _whole(past: Past) -> Past:
    """Return a past of which nothing is damaged.

    Raises:
        StoreUnusable: If something is.
    """
    if past.damaged:
        raise StoreUnusable(layout.LEDGER, f"an earlier state of {damaged(past.damaged)}")
    return past


def _worded(db: Session, rows: list[Row], moment: int, past: Past | None) -> list[Row]:
    """Give rows the text of a moment, and the checksum of a row with that text.

    Raises:
        StoreUnusable: If that, or a row, is damaged.
    """
    garbled = reword(db, [sound(row) for row in rows], moment, past)
    if garbled:
        names = [row.id for row in rows if row.docid in garbled]
        raise StoreUnusable(layout.LEDGER, f"an earlier state of {damaged(names)}")
    for row in rows:
        row.seal()
    return rows


def _select(db: Session, ns: int, filters: Filters, page: Page, past: Past) -> list[Row]:
    """List what fitted the filters then, as it was; see ``memories.select``."""
    docids = matching(db, ns, filters, past)
    part = slice(page.offset, page.offset + page.limit)
    if not page.by_time:
        docids = docids[::-1][part] if page.newest_first else docids[part]
    rows = past.rows(db, ns, docids)
    if not page.by_time:
        return [rows[docid] for docid in docids]
    order = sorted(rows.values(), key=lambda row: (row.occurred_at, row.docid))
    return (order[::-1] if page.newest_first else order)[part]


def _value_at(
    db: Session, ns: int, slot: tuple[str, str], moment: int, past: Past, *, present: bool
) -> Row | None:
    """Return the value that a slot had at a moment, as recorded then: ``slot_values.value_at``."""
    now = list(select(db, "ns = ? AND key = ? AND scope = ?", (ns, *slot)))
    rows = [row for row in now if row.docid not in past.changed and row.docid not in past.absent]
    rows += [row for row in past.changed.values() if (row.key, row.scope) == slot]
    held = [row for row in rows if _held(row, moment, past.moment, present=present)]
    best = max(held, key=lambda row: (row.valid_from, row.docid), default=None)
    return None if best is None else replace(best)


def reworded(db: Session, ns: int, past: Past) -> dict[int, Columns]:
    """Return what was to be found of each changed memory whose words were others then."""
    now = memories.by_docids(db, ns, list(past.changed))
    found = {docid: columns_of(row) for docid, row in past.changed.items()}
    return {
        docid: words
        for docid, words in sorted(found.items())
        if docid in now and columns_of(now[docid]) != words
    }


def _check_line(db: Session, moment: int) -> None:
    begins = meta.get(db, LINE)
    if begins is not None and moment < begins:
        raise InvalidInput(
            "known_at",
            f"is before {from_micros(begins).isoformat()}, when the recording of this store"
            " begins: it was set back to an earlier moment (restore with at), and lost all that"
            " was recorded in between",
        )


def _later(db: Session, ns: int, moment: int, docids: Sequence[int] | None) -> list[int]:
    """Return the memories that were recorded after a moment, by their present state."""
    if docids is not None:
        rows = memories.by_docids(db, ns, docids)
        return [docid for docid, row in rows.items() if row.created_at > moment]
    query = "SELECT docid FROM memories WHERE docid BETWEEN ? AND ? AND created_at > ?"
    return column(db, query, (*docid_range(ns), moment))


def _histories(
    db: Session, ns: int, moment: int, docids: Sequence[int] | None
) -> Iterator[tuple[Row, list[State]]]:
    """Yield the memories that changed after a moment, each with all its earlier states."""
    query = "SELECT DISTINCT docid FROM versions WHERE docid BETWEEN ? AND ? AND until > ?"
    found = db.execute(query, (*docid_range(ns), moment)).fetchall()
    wanted = None if docids is None else set(docids)
    some = [docid for (docid,) in found if wanted is None or docid in wanted]
    for start in range(0, len(some), _BITE):
        part = some[start : start + _BITE]
        rows = memories.by_docids(db, ns, part)
        query = f"SELECT docid, {STATE} FROM versions WHERE docid {one_of()} ORDER BY docid, rev"
        states = db.execute(query, (json.dumps(part),)).fetchall()
        for docid, group in groupby(states, key=lambda one: one[0]):
            if docid in rows:
                yield rows[docid], [State(*one[1:]) for one in group]


def _state_at(row: Row, states: Sequence[State], moment: int) -> Row | None:
    """Return a memory as it was at a moment; None if that is damaged."""
    state = next(one for one in states if one.until > moment)
    if not is_sound(row) or is_changed_state(row, state):
        return None
    return earlier_state(row, state)


def _is_doubted(row: Row, states: Sequence[State], then: Row) -> bool:
    """Tell whether a memory was in quarantine then, or is by now, even if it was hidden since."""
    standing = [*(state.status for state in states), row.status]
    seen = [status for status in standing if status in _ACCEPTED or status in _DOUBTED]
    return then.status in _DOUBTED or bool(seen and seen[-1] in _DOUBTED)


def _held(row: Row, moment: int, now: int, *, present: bool) -> bool:
    """Tell whether a memory held its slot at a moment, at the present ``now``."""
    if row.status not in _OF_SLOT or (row.expires_at is not None and row.expires_at <= now):
        return False
    told = present and row.valid_from <= max(row.created_at, row.updated_at)
    begun = row.valid_from <= moment or told
    return begun and (row.valid_until is None or row.valid_until > moment)


def _fitting(db: Session, ns: int, filters: Filters, rows: Sequence[Row]) -> Iterator[int]:
    """Yield the row ids of the rebuilt rows that fit, by the very condition of all other queries.

    A table of the rows stands before ``memories`` in the statement and has its name.
    """
    condition, values = predicate(ns, filters)
    columns = ", ".join(f"{field_of('value', name)} AS {name}" for name in _FILTERED)
    table = f"WITH memories AS (SELECT {columns} FROM {each_of('?')})"
    query = f"{table} SELECT docid FROM memories WHERE {condition}"
    for start in range(0, len(rows), _BITE):
        part = rows[start : start + _BITE]
        listed = json.dumps([{name: getattr(row, name) for name in _FILTERED} for row in part])
        for (docid,) in db.execute(query, (listed, *values)):
            yield docid
