"""The one place that decides which rows a caller may see. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memento.scopes import ancestors
from memento.types import Status

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Filters:
    """What a caller asked to see, beside the namespace. Empty means no such condition.

    Attributes:
        tiers: Tiers to look in.
        kinds: Kinds to return.
        statuses: Statuses to return.
        scopes: Scope paths; a memory fits if it applies at one of them: it is there, below
            it, or above it.
        sessions: Sessions to return.
        tags: Every one of these must be on the memory.
        where: Metadata keys with the value each must have, or several to choose from.
        pinned: Only pinned ones, or only others.
        since: Earliest ``occurred_at``, microseconds.
        until: First ``occurred_at`` no longer wanted, microseconds.
        as_of: Moment at which the memory must have held, microseconds.
        now: The present moment, microseconds; what expired by then is not seen.
    """

    now: int
    tiers: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    statuses: tuple[str, ...] = (Status.ACTIVE.value,)
    scopes: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    where: Mapping[str, Scalar | tuple[Scalar, ...]] = field(default_factory=dict)
    pinned: bool | None = None
    since: int | None = None
    until: int | None = None
    as_of: int | None = None

    @property
    def narrow(self) -> bool:
        """Whether anything but the defaults was asked for."""
        return self != Filters(now=self.now)


def predicate(ns: int, filters: Filters) -> tuple[str, list[Any]]:
    """Build the condition that every query on ``memories`` carries.

    Args:
        ns: Number of the namespace.
        filters: What was asked for.

    Returns:
        An SQL condition without ``WHERE``, and the values to bind to it.
    """
    clauses = ["ns = ?", "(expires_at IS NULL OR expires_at > ?)"]
    values: list[Any] = [ns, filters.now]
    for column, wanted in (
        ("tier", filters.tiers),
        ("kind", filters.kinds),
        ("status", filters.statuses),
        ("session", filters.sessions),
    ):
        if wanted:
            clauses.append(f"{column} IN ({_holes(wanted)})")
            values += wanted
    if filters.scopes:
        clause, bound = _scopes(filters.scopes)
        clauses.append(clause)
        values += bound
    for tag in filters.tags:
        clauses.append("EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)")
        values.append(tag)
    for key, value in filters.where.items():
        clause, bound = _metadata(key, value)
        clauses.append(clause)
        values += bound
    if filters.pinned is not None:
        clauses.append("pinned = ?")
        values.append(int(filters.pinned))
    if filters.since is not None:
        clauses.append("occurred_at >= ?")
        values.append(filters.since)
    if filters.until is not None:
        clauses.append("occurred_at < ?")
        values.append(filters.until)
    moment = filters.now if filters.as_of is None else filters.as_of
    clauses.append("(valid_until IS NULL OR valid_until > ? OR status = 'superseded' AND ?)")
    values += [moment, filters.as_of is None]
    if filters.as_of is not None:
        clauses.append("valid_from <= ?")
        values.append(moment)
    return " AND ".join(clauses), values


def _holes(wanted: tuple[Any, ...]) -> str:
    return ", ".join("?" * len(wanted))


def _scopes(scopes: tuple[str, ...]) -> tuple[str, list[Any]]:
    """Match scopes segment-wise: at, above or below one of the given paths."""
    above = sorted({outer for scope in scopes for outer in ancestors(scope)})
    parts, values = [f"scope IN ({_holes(tuple(above))})"], list[Any](above)
    for scope in scopes:
        if scope:
            parts.append("scope >= ? AND scope < ?")
            values += [f"{scope}/", f"{scope}0"]  # "0" is the character after "/"
        else:
            parts.append("1")
    return f"({' OR '.join(parts)})", values


def _metadata(key: str, value: Scalar | tuple[Scalar, ...]) -> tuple[str, list[Any]]:
    """Match one metadata key. The key is bound, never spelt into the SQL."""
    options = value if isinstance(value, tuple) else (value,)
    tests: list[str] = []
    values: list[Any] = [key]
    for option in options:
        if option is None or isinstance(option, bool):
            tests.append("type = ?")
            values.append({None: "null", True: "true", False: "false"}[option])
        elif isinstance(option, int | float):
            tests.append("(type IN ('integer', 'real') AND atom = ?)")
            values.append(option)
        else:
            tests.append("(type = 'text' AND atom = ?)")
            values.append(option)
    matches = " OR ".join(tests) or "0"
    return f"EXISTS (SELECT 1 FROM json_each(metadata) WHERE key = ? AND ({matches}))", values
