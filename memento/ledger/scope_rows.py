"""The rows of scopes and of shares; the rules are in ``write.scope_moves``.

A share that is damaged shows nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from memento.base.scopes import resolved
from memento.ledger import erasure, memories
from memento.ledger.contract import Transaction
from memento.ledger.erasure import Chosen
from memento.ledger.predicate import Filters
from memento.ledger.rows import Table, column


@dataclass(frozen=True, slots=True)
class Place:
    """A scope that was named or merged. Times are microseconds.

    ``title`` is its name for people, ``""`` for none; ``aliases`` are others, as JSON. ``merges``
    are the numbers of the changes that moved its memories into another scope, as JSON.
    """

    ns: int
    path: str
    title: str
    aliases: str
    created_at: int
    merged_at: int | None
    merged_into: str | None
    merges: str


@dataclass(frozen=True, slots=True)
class Share:
    """A scope that a namespace shows to another one, with all below it, since a moment."""

    ns: int
    scope: str
    other: int
    since: int


SCOPES = Table("scopes", Place, ("ns", "path"))
SHARES = Table("shares", Share, ("ns", "scope", "other"))
put, put_share = SCOPES.put, SHARES.add
whole, whole_share = SCOPES.whole, SHARES.whole


def find(db: Transaction, ns: int, path: str) -> Place | None:
    """Read a scope; None if nobody named or merged it."""
    return SCOPES.find(db, "WHERE ns = ? AND path = ?", (ns, path))


def every(db: Transaction, ns: int) -> list[Place]:
    """Read the scopes of a namespace that have a row, in order of their paths."""
    return list(SCOPES.select(db, "WHERE ns = ? ORDER BY path", (ns,)))


def merges(db: Transaction, ns: int) -> dict[str, str]:
    """Return the merged scopes of a namespace, each with the scope that it was merged into."""
    merged = SCOPES.select(db, "WHERE ns = ? AND merged_into IS NOT NULL", (ns,))
    return {one.path: one.merged_into for one in merged if one.merged_into is not None}


def present(db: Transaction, ns: int, path: str) -> str:
    """Return the scope that a scope belongs to now: itself, unless it was merged."""
    return resolved(path, merges(db, ns)) if path else path


def redirected(db: Transaction, ns: int, filters: Filters) -> Filters:
    """Return filters in which merged scopes are replaced by those that they were merged into."""
    known = merges(db, ns) if filters.scopes or filters.within else {}
    if not known:
        return filters
    return replace(
        filters,
        scopes=tuple(dict.fromkeys(resolved(path, known) for path in filters.scopes)),
        within=tuple(dict.fromkeys(resolved(path, known) for path in filters.within)),
    )


def drop_share(db: Transaction, ns: int, scope: str, other: int) -> bool:
    """Remove a share; return whether there was one. Inside a transaction."""
    query = "DELETE FROM shares WHERE ns = ? AND scope = ? AND other = ?"
    return db.execute(query, (ns, scope, other)).rowcount > 0


def shares_of(db: Transaction, ns: int) -> list[Share]:
    """Read the shares by which a namespace shows memories to others."""
    return list(SHARES.select(db, "WHERE ns = ? ORDER BY scope, other", (ns,)))


def shown_to(db: Transaction, ns: int) -> list[Share]:
    """Read the shares by which others show memories to a namespace."""
    return list(SHARES.select(db, "WHERE other = ? ORDER BY ns, scope", (ns,)))


def by_owner(shares: Iterable[Share]) -> Mapping[int, tuple[str, ...]]:
    """Group shares: namespace number to the scopes that it shows."""
    found: dict[int, list[str]] = {}
    for one in shares:
        found.setdefault(one.ns, []).append(one.scope)
    return {ns: tuple(scopes) for ns, scopes in sorted(found.items())}


def drop(db: Transaction, ns: int, what: Chosen) -> dict[str, int]:
    """Remove the scopes and shares of a namespace if everything of it is erased.

    Shares with it go too, since a later namespace with the same labels is another one. Returns how
    many rows were removed, by table.
    """
    counts = {"scopes": 0, "shares": 0}
    if not what.everything:
        return counts
    counts["scopes"] = db.execute("DELETE FROM scopes WHERE ns = ?", (ns,)).rowcount
    counts["shares"] = db.execute("DELETE FROM shares WHERE ?1 IN (ns, other)", (ns,)).rowcount
    if any(counts.values()):
        erasure.owe(db, erasure.PARTS)
    return counts


def set_back_to(db: Transaction, moment: int) -> None:
    """Undo what happened to scopes after a moment, microseconds.

    A share that was withdrawn since stays withdrawn, and a scope that was unmerged since is not
    merged again.
    """
    db.execute("DELETE FROM scopes WHERE created_at > ?", (moment,))
    db.execute("DELETE FROM shares WHERE since > ?", (moment,))
    for one in SCOPES.select(db, "WHERE merged_at > ?", (moment,)):
        put(db, replace(one, merged_at=None, merged_into=None, merges="[]"))


def used(db: Transaction, ns: int) -> set[str]:
    """Return the scopes of a namespace's memories, regardless of their status."""
    query = f"SELECT DISTINCT scope FROM memories WHERE ns = ? AND {memories.NOT_ERASED}"
    return {scope for scope in column(db, query, (ns,)) if isinstance(scope, str) and scope}


def below(db: Transaction, ns: int, scope: str) -> list[int]:
    """Return the row ids of the memories at a scope or below it, of any status, in order."""
    query = (
        f"SELECT docid FROM memories WHERE ns = ? AND {memories.NOT_ERASED}"
        " AND (scope = ? OR scope >= ? AND scope < ?) ORDER BY docid"
    )
    bounds = (scope, f"{scope}/", f"{scope}0")  # "0" is the character after "/"
    return column(db, query, (ns, *bounds))


def names_of(one: Place) -> tuple[str, ...]:
    """Return the other names of a scope."""
    return tuple(json.loads(one.aliases))
