"""The memories of a namespace as they were recorded at an earlier moment, from ``versions``.

A memory that changed since is rebuilt from its state at the moment; any other is as it is now. An
erased memory is gone from the past too. The past does not show a memory that is in quarantine, or
was then, as it was not trusted. What was added, changed or erased after a revision is read here
too, for caches in RAM.

A store that was set back to a moment has lost all that was recorded after it. So its recorded past
begins anew at `LINE`, and `read` refuses an earlier moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from memento.base import layout
from memento.base.clock import from_micros
from memento.errors import InvalidInput, StoreUnusable
from memento.ledger import memories, meta, slot_rows
from memento.ledger.contract import Transaction
from memento.ledger.dialect import (
    each_of,
    field_of,
    listed,
    number_of,
    one_of_numbers,
    without_index,
)
from memento.ledger.predicate import Filters, predicate
from memento.ledger.rows import (
    COLUMNS,
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
    string_in,
    strings_in,
)
from memento.ledger.schema import SEQ_BITS, SEQ_MASK
from memento.status import having
from memento.text.words import Columns

LINE = "recorded_since"
"""Name in ``meta`` of the moment from which a store that was set back knows its past."""

_BITE = 500
"""Maximum number of memories whose histories are in RAM at once."""
_ACCEPTED = frozenset(having("accepted"))
_DOUBTED = frozenset(having("current")) - _ACCEPTED
"""Statuses in which a memory is current but not accepted."""
_OF_SLOT = frozenset(having("holds_slot", "ended"))
_FILTERED = (
    "docid", "ns", "id", "tier", "kind", "status", "scope", "session", "actor", "role", "key",
    "tags", "metadata", "trust", "source_uri", "pinned", "occurred_at", "valid_from", "valid_until",
    "expires_at", "superseded_by",
)  # fmt: skip
"""Columns that ``predicate`` looks at."""
_NUMBERS = frozenset(_FILTERED[:2] + _FILTERED[15:20])
"""Those of them that are whole numbers."""


@dataclass(frozen=True, slots=True)
class Past:
    """The differences between a namespace now and as it was recorded at a moment, microseconds.

    ``changed`` has the memories that changed since, by row id, as they were then; ``absent``
    those that were not recorded yet or that the past does not show. Among them are the
    ``damaged`` ones, by id.
    """

    moment: int
    changed: Mapping[int, Row]
    absent: frozenset[int]
    damaged: tuple[str, ...]

    def rows(self, db: Transaction, ns: int, docids: Sequence[int]) -> dict[int, Row]:
        """Read memories as they were; those that did not exist are left out."""
        unchanged = [docid for docid in docids if docid not in self.changed]
        now = memories.by_docids(db, ns, unchanged)
        rows = {docid: replace(row) for docid, row in self.changed.items() if docid in set(docids)}
        return rows | {docid: row for docid, row in now.items() if docid not in self.absent}


def read(db: Transaction, ns: int, moment: int, docids: Sequence[int] | None = None) -> Past:
    """Read what a namespace was at a moment, microseconds, for some memories or all (None).

    Raises ``InvalidInput`` if the recorded past of the store begins later.
    """
    begins = meta.get(db, LINE)
    if begins is not None and moment < begins:
        raise InvalidInput(
            "known_at",
            f"is before {from_micros(begins).isoformat()}, when the recorded history of this "
            "store begins: the store was restored to an earlier state (restore with at), which "
            "discarded everything recorded in between",
        )
    changed: dict[int, Row] = {}
    absent, damaged = set(_later(db, ns, moment, docids)), []
    for row, states in _histories(db, ns, moment, docids):
        state = next(one for one in states if one.until > moment)
        sound = is_sound(row) and not is_changed_state(row, state)
        then = earlier_state(row, state) if sound else None
        if then is None:
            damaged.append(row.id)
        if then is None or then.created_at > moment or _is_doubted(row, states, then):
            absent.add(row.docid)
        else:
            absent.discard(row.docid)
            changed[row.docid] = then
    return Past(moment, changed, frozenset(absent), tuple(damaged))


def matching(db: Transaction, ns: int, filters: Filters, past: Past) -> list[int]:
    """Return the row ids of the memories that fitted the filters then, ascending."""
    now = memories.matching(db, ns, filters)
    found = [one for one in now if one not in past.changed and one not in past.absent]
    return sorted([*found, *_fitting(db, ns, filters, list(past.changed.values()))])


def listing(
    db: Transaction, ns: int, filters: Filters, page: memories.Page, known_at: int | None
) -> list[Row]:
    """List what fits the filters, as recorded by ``known_at``, with the text of ``as_of``."""
    past = None if known_at is None else _whole(read(db, ns, known_at))
    if past is None:
        rows = memories.select(db, ns, filters, page)
    else:
        rows = _select(db, ns, filters, page, past)
    return rows if filters.as_of is None else _worded(db, rows, filters.as_of, known_at)


def value(
    db: Transaction,
    ns: int,
    slot: tuple[str, str],
    as_of: int | None,
    known_at: int | None,
    *,
    now: int,
) -> Row | None:
    """Return the value of a slot that holds ``as_of``, as recorded by ``known_at``."""
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
    return row if as_of is None else _worded(db, [row], as_of, known_at)[0]


def _whole(past: Past) -> Past:
    """Return a past in which nothing is damaged, or raise ``StoreUnusable``."""
    if past.damaged:
        raise StoreUnusable(layout.LEDGER, f"an earlier state of {damaged(past.damaged)}")
    return past


def _worded(db: Transaction, rows: list[Row], moment: int, known_at: int | None) -> list[Row]:
    """Give sound rows the text of a moment, and a checksum that fits it."""
    garbled = memories.reword_as_of(db, map(sound, rows), moment, known_at=known_at)
    if garbled:
        names = [row.id for row in rows if row.docid in garbled]
        raise StoreUnusable(layout.LEDGER, f"an earlier state of {damaged(names)}")
    for row in rows:
        row.seal()
    return rows


def _select(
    db: Transaction, ns: int, filters: Filters, page: memories.Page, past: Past
) -> list[Row]:
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
    db: Transaction, ns: int, slot: tuple[str, str], moment: int, past: Past, *, present: bool
) -> Row | None:
    """Return the value of a slot as ``slot_rows.value_at`` does, but as recorded then."""
    now = list(select(db, "ns = ? AND key = ? AND scope = ?", (ns, *slot)))
    rows = [row for row in now if row.docid not in past.changed and row.docid not in past.absent]
    rows += [row for row in past.changed.values() if (row.key, row.scope) == slot]
    held = [row for row in rows if _held(row, moment, past.moment, present=present)]
    best = max(held, key=lambda row: (row.valid_from, row.docid), default=None)
    return None if best is None else replace(best)


def reworded(db: Transaction, ns: int, past: Past) -> dict[int, Columns]:
    """Return the indexed words of then of each changed memory whose words differ now."""
    now = memories.by_docids(db, ns, list(past.changed))
    found = {docid: columns_of(row) for docid, row in past.changed.items()}
    return {
        docid: words
        for docid, words in sorted(found.items())
        if docid in now and columns_of(now[docid]) != words
    }


def _later(db: Transaction, ns: int, moment: int, docids: Sequence[int] | None) -> list[int]:
    """Return the memories that were recorded after a moment, by their present state."""
    if docids is not None:
        rows = memories.by_docids(db, ns, docids)
        return [docid for docid, row in rows.items() if row.created_at > moment]
    query = "SELECT docid FROM memories WHERE docid BETWEEN ? AND ? AND created_at > ?"
    return column(db, query, (*docid_range(ns), moment))


def _histories(
    db: Transaction, ns: int, moment: int, docids: Sequence[int] | None
) -> Iterator[tuple[Row, list[State]]]:
    """Yield the memories that changed after a moment, each with all its earlier states."""
    query = "SELECT DISTINCT docid FROM versions WHERE docid BETWEEN ? AND ? AND until > ?"
    found = db.execute(query, (*docid_range(ns), moment)).fetchall()
    wanted = None if docids is None else set(docids)
    some = [docid for (docid,) in found if wanted is None or docid in wanted]
    for start in range(0, len(some), _BITE):
        part = some[start : start + _BITE]
        rows = memories.by_docids(db, ns, part)
        which = f"docid {one_of_numbers()} ORDER BY docid, rev"
        query = f"SELECT docid, {STATE} FROM versions WHERE {which}"
        states = db.execute(query, (listed(part),)).fetchall()
        for docid, group in groupby(states, key=lambda one: one[0]):
            if docid in rows:
                yield rows[docid], [State(*one[1:]) for one in group]


def _is_doubted(row: Row, states: Sequence[State], then: Row) -> bool:
    """Return whether a memory was in quarantine then, or came into it, even if hidden since."""
    standing = [*(state.status for state in states), row.status]
    seen = [status for status in standing if status in _ACCEPTED or status in _DOUBTED]
    return then.status in _DOUBTED or bool(seen and seen[-1] in _DOUBTED)


def _held(row: Row, moment: int, now: int, *, present: bool) -> bool:
    """Return whether a memory held its slot at a moment, at the present ``now``."""
    if row.status not in _OF_SLOT or (row.expires_at is not None and row.expires_at <= now):
        return False
    told = present and row.valid_from <= max(row.created_at, row.updated_at)
    begun = row.valid_from <= moment or told
    return begun and (row.valid_until is None or row.valid_until > moment)


def _fitting(db: Transaction, ns: int, filters: Filters, rows: Sequence[Row]) -> Iterator[int]:
    """Yield the row ids of the rebuilt rows that fit, by the same condition as all other queries.

    In the statement a table of these rows, with the same name, hides ``memories``.
    """
    condition, values = predicate(ns, filters)
    columns = ", ".join(
        f"{(number_of if name in _NUMBERS else field_of)('value', name)} AS {name}"
        for name in _FILTERED
    )
    table = f"WITH memories AS (SELECT {columns} FROM {each_of('?')})"
    query = f"{table} SELECT docid FROM memories WHERE {condition}"
    for start in range(0, len(rows), _BITE):
        part = rows[start : start + _BITE]
        found = listed({name: getattr(row, name) for name in _FILTERED} for row in part)
        yield from column(db, query, (found, *values))


_OUTLINE = (
    "docid, session, actor, scope, tier, kind, status, words, head_words, cues, importance,"
    " occurred_at, expires_at, valid_from, valid_until, CASE WHEN superseded_by IS NOT NULL THEN"
    " coalesce((SELECT heir.docid FROM memories AS heir WHERE heir.ns = memories.ns"
    " AND heir.id = memories.superseded_by), -1) END, key, aliases"
)
_NOTHING = (
    None, None, "", "medium", "fact", "erased", 0, 0, 0, 0.0, 0, None, 0, None, None, None, "[]",
)  # fmt: skip
"""The outline of an erased memory, without its row id."""
_OLD = without_index("docid")
"""A server would else read all older rows, of which few changed."""
_SINCE = (
    "SELECT {0} FROM memories WHERE docid > ?1 AND docid <= ?2"
    " UNION ALL SELECT {0} FROM memories WHERE ns = ?3 AND rev > ?4"
    f" AND rev <> (docid & {SEQ_MASK}) AND {_OLD} <= ?1"
)


def changes_since(db: Transaction, ns: int, rev: int, *, limit: int) -> list[Row]:
    """Return the rows of a namespace that were added or changed after ``rev``."""
    query = f"{_SINCE.format(COLUMNS)} LIMIT ?"
    return [Row(*values) for values in db.execute(query, (*_since(ns, rev), limit))]


def changed_since(db: Transaction, ns: int, rev: int) -> dict[int, Row]:
    """Read the rows of a namespace that changed after ``rev``, without new ones, by row id."""
    found = select(db, f"ns = ? AND rev > ? AND rev <> (docid & {SEQ_MASK})", (ns, rev))
    return {row.docid: row for row in found}


def next_rows(db: Transaction, ns: int, rev: int, most: int) -> list[tuple[int, Row]]:
    """Read the next rows added or changed after a revision, in order, each with its revision."""
    low, high = docid_range(ns)
    came = f"docid > ? AND docid <= ? AND {memories.NOT_ERASED} ORDER BY docid LIMIT ?"
    new = select(db, came, (low + rev, high, most))
    later = f"ns = ? AND rev > ? AND rev <> (docid & {SEQ_MASK}) AND {_OLD} <= ?"
    sound = "typeof(rev) = 'integer'"  # a damaged value sorts after every number
    where = f"{later} AND {sound} AND {memories.NOT_ERASED} ORDER BY rev LIMIT ?"
    changed = select(db, where, (ns, rev, low + rev, most))
    placed = [(row.docid & SEQ_MASK, row) for row in new] + [(row.rev, row) for row in changed]
    return sorted(placed, key=lambda one: one[0])[:most]


def outlines_since(db: Transaction, ns: int, rev: int) -> list[tuple[Any, ...]]:
    """Return what the read path keeps in RAM of the rows added, changed or erased after ``rev``.

    Each is (docid, session, actor, scope, tier, kind, status, words, head_words, cues,
    importance, occurred_at, expires_at, valid_from, valid_until, successor, key, aliases):
    times in microseconds since 1970 UTC, the row id of the successor (-1 if it is not stored),
    aliases as JSON. Of what was erased only the row id is left.
    """
    bounds = _since(ns, rev)
    outlines = db.execute(_SINCE.format(_OUTLINE), bounds).fetchall()
    erased = db.execute(_ERASED_SINCE, (ns, rev, bounds[0])).fetchall()
    return outlines + [(docid, *_NOTHING) for (docid,) in erased]


def said_since(
    db: Transaction, ns: int, rev: int, first: int
) -> Iterator[tuple[int, str, str | None, list[str | None]]]:
    """Yield what is said in each row from row id ``first`` on, added or changed after ``rev``.

    Each is (docid, status, text, names): actor or role, key, aliases, tags. A damaged value is
    None or left out.
    """
    low, high, _, _ = _since(ns, rev)
    columns = "docid, status, text, coalesce(actor, role), key, aliases, tags"
    query = f"SELECT * FROM ({_SINCE.format(columns)}) AS came WHERE docid >= ?5"
    for docid, status, text, who, key, aliases, tags in db.execute(
        query, (low, high, ns, rev, first)
    ):
        names = [string_in(who), string_in(key), *strings_in(aliases), *strings_in(tags)]
        yield docid, status, string_in(text), names


def named_since(
    db: Transaction, ns: int, rev: int
) -> Iterator[tuple[int, str, int, str, list[str]]]:
    """Yield the names of the rows that were added or changed after ``rev``.

    Each is (docid, status, occurred_at, text, names): key and aliases. A damaged value is left out.
    """
    columns = "docid, status, occurred_at, text, key, aliases"
    for docid, status, at, text, key, aliases in db.execute(
        _SINCE.format(columns), _since(ns, rev)
    ):
        own = [string_in(key), *strings_in(aliases)]
        said = string_in(text)
        if isinstance(at, int) and said is not None:
            yield docid, str(status), at, said, [name for name in own if name]


def erased_since(db: Transaction, ns: int, rev: int) -> list[int]:
    """Return the row ids that were added up to ``rev`` and erased after it."""
    return column(db, _ERASED_SINCE, (ns, rev, docid_range(ns)[0] + rev))


_ERASED_SINCE = "SELECT docid FROM erased WHERE ns = ? AND rev > ? AND docid <= ?"


def _since(ns: int, rev: int) -> tuple[int, int, int, int]:
    low = ns << SEQ_BITS
    return low + rev, low | SEQ_MASK, ns, rev


def at_revision(db: Transaction, row: Row, rev: int) -> Row:
    """Return a memory as it was in its earlier state of a revision, which must exist."""
    (state,) = memories.states_where(db, "docid = ? AND rev = ?", (row.docid, rev))
    return in_state(row, state)


def in_state(row: Row, state: State) -> Row:
    """Return a memory as it was in an earlier state; ``StoreUnusable`` if that is damaged."""
    found = None if is_changed_state(row, state) else earlier_state(row, state)
    if found is None:
        raise StoreUnusable(layout.LEDGER, f"an earlier state of {damaged([row.id])}")
    return found


def at_moment(db: Transaction, row: Row, moment: int) -> Row | None:
    """Return a memory as it was recorded at a moment, microseconds; None if it was not yet."""
    where = "docid = ? AND until > ? ORDER BY rev LIMIT 1"
    then = row
    for state in memories.states_where(db, where, (row.docid, moment)):
        then = in_state(row, state)
    return then if then.created_at <= moment else None


def touched_between(
    db: Transaction, ns: int, since: int, until: int, *, after: int | None, limit: int
) -> list[int]:
    """Return the row ids of the memories added or changed after a moment, up to another.

    Only row ids higher than ``after`` are returned, at most ``limit``, ascending.
    """
    low, high = docid_range(ns)
    low = low if after is None else after + 1
    query = (
        "SELECT docid FROM memories WHERE docid BETWEEN ?1 AND ?2"
        " AND created_at > ?3 AND created_at <= ?4"
        " UNION SELECT docid FROM versions WHERE docid BETWEEN ?1 AND ?2"
        " AND until > ?3 AND until <= ?4 ORDER BY docid LIMIT ?5"
    )
    return column(db, query, (low, high, since, until, limit))


def numbered(db: Transaction, docid: int) -> list[tuple[State, int | None, str | None]]:
    """Read the earlier states of a memory, oldest first, each with its change and who made that."""
    query = (
        f"SELECT {STATE}, versions.change, changes.by FROM versions"
        " LEFT JOIN changes ON changes.change = versions.change WHERE docid = ? ORDER BY rev"
    )
    found = db.execute(query, (docid,)).fetchall()
    return [(State(*one[:-2]), one[-2], one[-1]) for one in found]


def names(db: Transaction, docids: Sequence[int]) -> dict[int, str]:
    """Return the ids of some memories by row id, in order of arrival."""
    query = f"SELECT docid, id FROM memories WHERE docid {one_of_numbers()} ORDER BY docid"
    return dict(db.execute(query, (listed(docids),)).fetchall())
