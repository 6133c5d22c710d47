"""Decide which rows a caller may see: the twin of ``retrieve/visible.py``, for SQL. Pure.

`allow` there says the same in NumPy for the rows in RAM, and ``tests/retrieve/test_visible.py``
compares them: change both or neither.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import chain
from operator import attrgetter
from typing import Any

from memento.ledger import conditions, dialect
from memento.ledger.conditions import Clause, Condition
from memento.ledger.dialect import each_of, without_index
from memento.ledger.rows import docid_range
from memento.levels import PINNED
from memento.scopes import ancestors
from memento.status import having, sql_lacking

_NS, _LISTED = without_index("ns"), dialect.one_of()
_TAGS = each_of("tags")
_PAST = f"({sql_lacking('current')} OR superseded_by IS NOT NULL)"
"""Superseded or forgotten, or superseded and then quarantined: listed on request, whether or not
its validity has ended."""


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of a call, beside the namespace. Empty means no such condition.

    Attributes:
        tiers: Tiers to look in.
        kinds: Kinds to return.
        statuses: Statuses to return.
        scopes: Scope paths; a memory fits if it applies at one of them: it is there, below
            it, or above it.
        within: Scope paths other than the root; a memory fits if it is at one of them or below.
        sessions: Sessions to return.
        tags: Every one of these must be on the memory.
        any_tags: One of these at least must be on the memory.
        where: Conditions on the metadata, all of which must hold.
        keys: Keys of slots.
        actors: Who said it.
        roles: Chat roles of who said it.
        sources: Trust classes and addresses; one of these at least must be that of its source.
        ids: Only these memories.
        without: All memories but these.
        pinned: Only pinned ones, or only others.
        since: Earliest ``occurred_at``, microseconds.
        until: First ``occurred_at`` no longer wanted, microseconds.
        as_of: Moment at which the memory must have held, microseconds.
        now: The present moment, microseconds; what expired by then is not seen.
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

    @property
    def narrow(self) -> bool:
        """Whether anything but the defaults was asked for."""
        return _asked(self) != _NOTHING_ASKED


_asked = attrgetter(*[field.name for field in fields(Filters) if field.name != "now"])
_NOTHING_ASKED = _asked(Filters(now=0))


def predicate(ns: int, filters: Filters) -> tuple[str, list[Any]]:
    """Build the condition of each listing that a caller filters.

    Args:
        ns: Number of the namespace.
        filters: The conditions.

    Returns:
        An SQL condition without ``WHERE``, and the values to bind to it.
    """
    clause, values = _inside(ns, filters)
    clauses = [clause, "(expires_at IS NULL OR expires_at > ?)"]
    values.append(filters.now)
    for clause, bound in chain(_what(filters), _where(filters), _when(filters)):
        clauses.append(clause)
        values += bound
    return " AND ".join(clauses), values


def _inside(ns: int, filters: Filters) -> Clause:
    """Keep to a namespace, by the index that serves best.

    Left to itself SQLite takes any index that begins with ``ns``, visits the rows in its order and
    sorts them; ``+`` forbids that. Rows stand in the order of their ids.
    """
    if filters.sessions or filters.ids or filters.keys:
        return "ns = ?", [ns]
    return f"{_NS} = ? AND docid BETWEEN ? AND ?", [ns, *docid_range(ns)]


def _what(filters: Filters) -> Iterator[Clause]:
    """Yield the conditions on columns that hold one value."""
    for column, wanted in (
        ("tier", filters.tiers),
        ("kind", filters.kinds),
        ("status", filters.statuses),
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
        yield f"id {_LISTED}", [json.dumps(filters.ids)]
    if filters.without:
        yield f"NOT id {_LISTED}", [json.dumps(filters.without)]
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
    yield from map(conditions.clause, filters.where)


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


def _holes(wanted: tuple[Any, ...]) -> str:
    return ", ".join("?" * len(wanted))


def _scopes(scopes: tuple[str, ...]) -> Clause:
    """Match scopes segment-wise: at, above or below one of some paths, none the root."""
    above = sorted({outer for scope in scopes for outer in ancestors(scope)})
    below, values = _within(scopes)
    return f"(scope IN ({_holes(tuple(above))}) OR {below})", [*above, *values]


def _within(scopes: tuple[str, ...]) -> Clause:
    """Match scopes segment-wise: at or below one of some paths, none the root."""
    parts = [f"scope IN ({_holes(scopes)})"]
    values: list[Any] = [*scopes]
    for scope in scopes:
        parts.append("scope >= ? AND scope < ?")
        values += [f"{scope}/", f"{scope}0"]  # "0" is the character after "/"
    return f"({' OR '.join(parts)})", values
