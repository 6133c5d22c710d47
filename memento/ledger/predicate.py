"""Decide which rows a caller may see: the counterpart in SQL of ``retrieve/visible.py``. Pure.

`allow` there does the same in NumPy for the rows in RAM, and ``tests/retrieve/test_visible.py``
compares them: change both or neither.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from operator import attrgetter
from typing import Any

from memento.base.plain import composed
from memento.base.scopes import ancestors
from memento.ledger import dialect
from memento.ledger.dialect import each_below, each_of, in_one_form, number_in, without_index
from memento.ledger.rows import PINNED, docid_range
from memento.status import having, sql_lacking
from memento.types import Status

Scalar = str | int | float | bool | None
Clause = tuple[str, list[Any]]

COMPARED = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
"""Operators that compare with one number or string, and their form in SQL."""
ONE_OF, NONE_OF, EXISTS = "$in", "$nin", "$exists"
_ANY, _NOT_NULL = "true", "{at}.type <> 'null'"


@dataclass(frozen=True, slots=True)
class Condition:
    """A test of one field of the metadata.

    Attributes:
        names: Path to the field, from the outside in. If no field has these names as they are
            given, the dots in them separate names.
        operator: ``ONE_OF``, ``NONE_OF``, ``EXISTS`` or a key of ``COMPARED``.
        values: What it is compared with: any number of scalars for ``ONE_OF`` and ``NONE_OF``,
            where None is a null or no such field; one bool for ``EXISTS``; else one number or
            string.
    """

    names: tuple[str, ...]
    operator: str
    values: tuple[Scalar, ...]

    @property
    def split(self) -> tuple[str, ...]:
        """The path if the dots in its names separate names."""
        return tuple(part for name in self.names for part in name.split("."))


def clause(condition: Condition) -> Clause:
    """Build the SQL for a condition, and the values to bind to it."""
    if condition.operator in (ONE_OF, NONE_OF):
        found = _one_of(condition)
        return _not(found) if condition.operator == NONE_OF else found
    if condition.operator == EXISTS:
        there = _has(condition, _ANY, [])
        return there if condition.values[0] else _not(there)
    sign, bound = COMPARED[condition.operator], condition.values[0]
    return _has(condition, f"{_type_of(bound)} AND {_atom(bound)} {sign} ?", [_bound(bound)])


def _one_of(condition: Condition) -> Clause:
    """Match a field that is one of some values."""
    truths = [("true" if one else "false") for one in condition.values if isinstance(one, bool)]
    texts = [_bound(one) for one in condition.values if isinstance(one, str)]
    numbers = [one for one in condition.values if _is_number(one)]
    tests = [
        f"{test} IN ({_holes(options)})"
        for test, options in (
            ("{at}.type", truths),
            (f"{_type_of('')} AND {_atom('')}", texts),
            (f"{_type_of(0)} AND {_atom(0)}", numbers),
        )
        if options
    ]
    values = [*truths, *texts, *numbers]
    found, bound = _has(condition, " OR ".join(tests) or "false", values)
    if None not in condition.values:
        return found, bound
    absent, names = _not(_has(condition, _NOT_NULL, []))
    return f"({found} OR {absent})", [*bound, *names]


def _is_number(value: Scalar) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _type_of(value: Scalar) -> str:
    """Return the condition that a field has the type of a number or a string."""
    return "{at}.type = 'text'" if isinstance(value, str) else "{at}.type IN ('integer', 'real')"


def _atom(value: Scalar) -> str:
    """Return the SQL value of a field that is compared with a number or a string."""
    return in_one_form("{at}.atom") if isinstance(value, str) else number_in("{at}")


def _bound(value: Scalar) -> Scalar | bytes:
    """Return a number or a string as bound for the comparison with `_atom`."""
    return composed(value).encode() if isinstance(value, str) else value


def _not(given: Clause) -> Clause:
    return f"NOT {given[0]}", given[1]


def _has(condition: Condition, test: str, values: Sequence[Any]) -> Clause:
    """Match metadata whose field passes a test; ``{at}`` in the test stands for the field."""
    whole, bound = _field(condition.names, test, values)
    if condition.split == condition.names:
        return whole, bound
    there, names = _field(condition.names, _ANY, [])
    split, below = _field(condition.split, test, values)
    return f"({whole} OR NOT {there} AND {split})", [*bound, *names, *below]


def _field(names: tuple[str, ...], test: str, values: Sequence[Any]) -> Clause:
    """Match metadata whose field at exactly this path passes a test."""
    levels = [f"{each_of('metadata')} AS level0"]
    levels += [f"{each_below(f'level{n}')} AS level{n + 1}" for n in range(len(names) - 1)]
    keys = " AND ".join(f"level{n}.key = ?" for n in range(len(names)))
    passes = test.format(at=f"level{len(names) - 1}")
    found = f"SELECT 1 FROM {', '.join(levels)} WHERE {keys} AND ({passes})"
    return f"EXISTS ({found})", [*map(composed, names), *values]


_NS, _LISTED = without_index("ns"), dialect.one_of()
_TAGS = each_of("tags")
_STILL = f"status = '{Status.SUPERSEDED.value}' AND valid_from <= ? AND valid_until > ?"
_PAST = f"({sql_lacking('current')} OR superseded_by IS NOT NULL)"
"""Superseded or forgotten, or superseded and then quarantined: listed on request, even if its
validity has ended."""


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of a call, without the namespace; see ``filters.Filtering``.

    Empty means no such condition. Times are microseconds; ``scopes`` match a memory at, above or
    below them, ``within`` at or below them, never the root; what expired by ``now`` is not seen,
    unless forgotten memories are asked for and it is one. ``until_a_plan`` adds the values that
    hold until a planned one replaces them, whose status is already "superseded".
    """

    now: int
    tiers: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    statuses: tuple[str, ...] = having("found")
    scopes: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    any_tags: tuple[str, ...] = ()
    where: tuple[Condition, ...] = ()
    keys: tuple[str, ...] = ()
    actors: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    pinned: bool | None = None
    since: int | None = None
    until: int | None = None
    as_of: int | None = None
    until_a_plan: bool = False

    @property
    def narrow(self) -> bool:
        """Whether anything but the defaults was asked for."""
        return _asked(self) != _NOTHING_ASKED


_DEFAULTS = ("now", "until_a_plan")
"""Fields that narrow nothing."""
_asked = attrgetter(*[field.name for field in fields(Filters) if field.name not in _DEFAULTS])
_NOTHING_ASKED = _asked(Filters(now=0))


def predicate(ns: int, filters: Filters) -> tuple[str, list[Any]]:
    """Build the condition of each listing that a caller filters, and the values to bind to it."""
    clause, values = _inside(ns, filters)
    hidden = f" OR status = '{Status.FORGOTTEN.value}'"  # by the sweep, because it had expired
    hidden = hidden if Status.FORGOTTEN in filters.statuses else ""
    clauses = [clause, f"(expires_at IS NULL OR expires_at > ?{hidden})"]
    values.append(filters.now)
    for clause, bound in chain(_what(filters), _where(filters), _when(filters)):
        clauses.append(clause)
        values += bound
    return " AND ".join(clauses), values


def _inside(ns: int, filters: Filters) -> Clause:
    """Restrict the rows to a namespace, by the index that serves best.

    By default SQLite takes any index that begins with ``ns``, visits the rows in its order and
    sorts them; ``+`` forbids that. The rows themselves are in the order of their row ids.
    """
    if filters.sessions or filters.ids or filters.keys:
        return "ns = ?", [ns]
    return f"{_NS} = ? AND docid BETWEEN ? AND ?", [ns, *docid_range(ns)]


def _what(filters: Filters) -> Iterator[Clause]:
    """Yield the conditions on columns that hold one value."""
    if filters.statuses:
        among = f"status IN ({_holes(filters.statuses)})"
        yield (
            (f"({among} OR {_STILL})", [*filters.statuses, filters.now, filters.now])
            if filters.until_a_plan
            else (among, [*filters.statuses])
        )
    for column, wanted in (
        ("tier", filters.tiers),
        ("kind", filters.kinds),
        ("session", filters.sessions),
        ("key", filters.keys),
        ("actor", filters.actors),
        ("role", filters.roles),
    ):
        if wanted:
            yield f"{column} IN ({_holes(wanted)})", [*wanted]
    if named := filters.sources:
        either = f"(trust IN ({_holes(named)}) OR source_uri IN ({_holes(named)}))"
        yield either, [*named, *named]
    if filters.ids:
        yield f"id {_LISTED}", [dialect.listed(filters.ids)]
    if filters.without:
        yield f"NOT id {_LISTED}", [dialect.listed(filters.without)]
    if filters.pinned is not None:
        yield f"(pinned & {PINNED}) = ?", [int(filters.pinned)]


def _where(filters: Filters) -> Iterator[Clause]:
    """Yield the conditions on scopes, tags and metadata."""
    if filters.scopes and "" not in filters.scopes:
        yield _scopes(filters.scopes)
    if filters.within:
        yield _within(filters.within)
    for one_of in (*((tag,) for tag in filters.tags), filters.any_tags):
        if one_of:
            found = f"SELECT 1 FROM {_TAGS} WHERE value IN ({_holes(one_of)})"
            yield f"EXISTS ({found})", [*one_of]
    yield from map(clause, filters.where)


def _when(filters: Filters) -> Iterator[Clause]:
    """Yield the conditions on times."""
    if filters.since is not None:
        yield "occurred_at >= ?", [filters.since]
    if filters.until is not None:
        yield "occurred_at < ?", [filters.until]
    moment = filters.now if filters.as_of is None else filters.as_of
    ends = f"(valid_until IS NULL OR valid_until > ? OR {_PAST} AND ?)"
    yield ends, [moment, filters.as_of is None]
    if filters.as_of is not None:
        yield "valid_from <= ?", [moment]


def _holes(wanted: Sequence[Any]) -> str:
    return ", ".join("?" * len(wanted))


def _scopes(scopes: tuple[str, ...]) -> Clause:
    """Match scopes segment-wise: at, above or below one of some paths, none the root."""
    above = sorted({outer for scope in scopes for outer in ancestors(scope)})
    below, values = _within(scopes)
    return f"(scope IN ({_holes(above)}) OR {below})", [*above, *values]


def _within(scopes: tuple[str, ...]) -> Clause:
    """Match scopes segment-wise: at or below one of some paths, none the root."""
    parts = [f"scope IN ({_holes(scopes)})"]
    values: list[Any] = [*scopes]
    for scope in scopes:
        parts.append("scope >= ? AND scope < ?")
        values += [f"{scope}/", f"{scope}0"]  # "0" is the character after "/"
    return f"({' OR '.join(parts)})", values
