"""The rows of scopes and of shares. SQL only; the rules are in ``lifecycle.scopes``.

A row that is not as it was written is left out of every answer; ``doctor`` reports it. So a share
that was changed on the disk shows nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memento.base.scopes import resolved
from memento.ledger import erasure
from memento.ledger.contract import Session
from memento.ledger.dialect import SKIP_IF_THERE, or_replace
from memento.ledger.erasure import Chosen
from memento.ledger.predicate import Filters
from memento.ledger.rows import seal_of


@dataclass(frozen=True, slots=True)
class Place:
    """The row of a scope, fields in the order of its columns but for the seal.

    Attributes:
        ns: Namespace number.
        path: The scope.
        title: Its name for people, ``""`` for none.
        aliases: Other names, as JSON.
        created_at: When it was named, microseconds.
        merged_at: When it was merged into another one, microseconds, or None.
        merged_into: That scope, or None.
        merges: Numbers of the changes that moved its memories, as JSON.
    """

    ns: int
    path: str
    title: str
    aliases: str
    created_at: int
    merged_at: int | None
    merged_into: str | None
    merges: str

    def values(self) -> tuple[Any, ...]:
        """Return the values in the order of the columns, the seal last."""
        named = (self.ns, self.path, self.title, self.aliases, self.created_at)
        values = (*named, self.merged_at, self.merged_into, self.merges)
        return (*values, seal_of(*values))


@dataclass(frozen=True, slots=True)
class Share:
    """The row of a share, fields in the order of its columns but for the seal.

    Attributes:
        ns: Number of the namespace whose memories are shown.
        scope: The scope at which they are, or below it.
        other: Number of the namespace that they are shown to.
        since: When they were shared, microseconds.
    """

    ns: int
    scope: str
    other: int
    since: int

    def values(self) -> tuple[Any, ...]:
        """Return the values in the order of the columns, the seal last."""
        values = (self.ns, self.scope, self.other, self.since)
        return (*values, seal_of(*values))


_PLACES = "ns, path, title, aliases, created_at, merged_at, merged_into, merges, seal"
_SHARES = "ns, scope, other, since, seal"
_SELECT = f"SELECT {_PLACES} FROM scopes"
_SELECT_SHARES = f"SELECT {_SHARES} FROM shares"
_CHANGED = tuple(name for name in _PLACES.split(", ") if name not in ("ns", "path"))
_PUT = (
    f"INSERT INTO scopes ({_PLACES}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    f" {or_replace('ns, path', *_CHANGED)}"
)
_PUT_SHARE = f"INSERT INTO shares ({_SHARES}) VALUES (?, ?, ?, ?, ?) {SKIP_IF_THERE}"


def whole(values: Sequence[Any]) -> Place | None:
    """Make a scope of the values of its row; None if it is not as it was written."""
    made = Place(*values[:-1])
    return made if made.values() == tuple(values) else None


def whole_share(values: Sequence[Any]) -> Share | None:
    """Make a share of the values of its row; None if it is not as it was written."""
    made = Share(*values[:-1])
    return made if made.values() == tuple(values) else None


def put(db: Session, one: Place) -> None:
    """Write the row of a scope, new or changed. Inside a transaction."""
    db.execute(_PUT, one.values())


def find(db: Session, ns: int, path: str) -> Place | None:
    """Read a scope; None if nobody named or merged it."""
    found = db.execute(f"{_SELECT} WHERE ns = ? AND path = ?", (ns, path)).fetchone()
    return None if found is None else whole(found)


def every(db: Session, ns: int) -> list[Place]:
    """Read the scopes of a namespace that have a row, in order of their paths."""
    found = db.execute(f"{_SELECT} WHERE ns = ? ORDER BY path", (ns,))
    return [one for one in map(whole, found) if one is not None]


def merges(db: Session, ns: int) -> dict[str, str]:
    """Return which scopes of a namespace were merged, each to the one that it is part of now."""
    query = f"{_SELECT} WHERE ns = ? AND merged_into IS NOT NULL"
    found = (whole(values) for values in db.execute(query, (ns,)))
    merged = ((one.path, one.merged_into) for one in found if one is not None)
    return {path: into for path, into in merged if into is not None}


def present(db: Session, ns: int, path: str) -> str:
    """Return the scope that a scope is part of now: itself, unless it was merged."""
    return resolved(path, merges(db, ns)) if path else path


def redirected(db: Session, ns: int, filters: Filters) -> Filters:
    """Return filters that look where the scopes that they name were merged to."""
    known = merges(db, ns) if filters.scopes or filters.within else {}
    if not known:
        return filters
    return replace(
        filters,
        scopes=tuple(dict.fromkeys(resolved(path, known) for path in filters.scopes)),
        within=tuple(dict.fromkeys(resolved(path, known) for path in filters.within)),
    )


def put_share(db: Session, one: Share) -> bool:
    """Write the row of a share; tells whether there was none. Inside a transaction."""
    return db.execute(_PUT_SHARE, one.values()).rowcount > 0


def drop_share(db: Session, ns: int, scope: str, other: int) -> bool:
    """Remove a share; tells whether there was one. Inside a transaction."""
    query = "DELETE FROM shares WHERE ns = ? AND scope = ? AND other = ?"
    return db.execute(query, (ns, scope, other)).rowcount > 0


def shares_of(db: Session, ns: int) -> list[Share]:
    """Read the shares by which a namespace shows memories to others."""
    found = db.execute(f"{_SELECT_SHARES} WHERE ns = ? ORDER BY scope, other", (ns,))
    return [one for one in map(whole_share, found) if one is not None]


def shown_to(db: Session, ns: int) -> list[Share]:
    """Read the shares by which others show memories to a namespace."""
    found = db.execute(f"{_SELECT_SHARES} WHERE other = ? ORDER BY ns, scope", (ns,))
    return [one for one in map(whole_share, found) if one is not None]


def by_owner(shares: Iterable[Share]) -> Mapping[int, tuple[str, ...]]:
    """Group shares: namespace number to the scopes that it shows."""
    found: dict[int, list[str]] = {}
    for one in shares:
        found.setdefault(one.ns, []).append(one.scope)
    return {ns: tuple(scopes) for ns, scopes in sorted(found.items())}


def changed(db: Session) -> tuple[int, int]:
    """Count the scopes, and the shares, that are not as they were written."""
    wrong = sum(whole(values) is None for values in db.execute(_SELECT))
    return wrong, sum(whole_share(values) is None for values in db.execute(_SELECT_SHARES))


def drop(db: Session, ns: int, what: Chosen) -> dict[str, int]:
    """Remove the scopes and shares of a namespace if everything of it is erased.

    Shares with it go too: a later namespace of the same labels is not the one that was meant.

    Returns:
        How many rows were removed, by table.
    """
    counts = {"scopes": 0, "shares": 0}
    if not what.everything:
        return counts
    counts["scopes"] = db.execute("DELETE FROM scopes WHERE ns = ?", (ns,)).rowcount
    done = db.execute("DELETE FROM shares WHERE ns = ? OR other = ?", (ns, ns))
    counts["shares"] = done.rowcount
    if any(counts.values()):
        erasure.owe(db, erasure.PARTS)
    return counts


def set_back_to(db: Session, moment: int) -> None:
    """Undo what happened to scopes after a moment, microseconds.

    A share that was withdrawn since stays withdrawn, and a scope that was unmerged since is not
    merged again.
    """
    db.execute("DELETE FROM scopes WHERE created_at > ?", (moment,))
    db.execute("DELETE FROM shares WHERE since > ?", (moment,))
    query = f"{_SELECT} WHERE merged_at > ?"
    for one in map(whole, db.execute(query, (moment,)).fetchall()):
        if one is not None:
            put(db, replace(one, merged_at=None, merged_into=None, merges="[]"))


def names_of(one: Place) -> tuple[str, ...]:
    """Return the other names of a scope."""
    return tuple(json.loads(one.aliases))
