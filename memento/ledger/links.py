"""Links between memories: made once, sealed. SQL only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from memento.base import layout
from memento.errors import StoreUnusable
from memento.ledger import memories
from memento.ledger.contract import Session
from memento.ledger.dialect import SKIP_IF_THERE, listed, one_of
from memento.ledger.rows import Row, column, damaged, docid_range, is_changed_link, seal_of, single
from memento.ledger.schema import SEQ_BITS

CONFLICTS = ("contradicts", "echoes")
"""Links between memories that conflict."""
MADE = (*CONFLICTS, "refines")
"""Links that comparing makes."""
RESOLVED = "resolved"
"""Link between two memories that a person has settled."""
QUOTES = "quotes"
"""Link of an article to each memory that it was made of."""
Ends: TypeAlias = Literal["both", "either", "src", "dst"]


def link(db: Session, src: int, dst: int, relation: str, weight: float = 1.0) -> bool:
    """Link two memories unless they are linked so; tells whether a link was made."""
    made = db.execute(
        "INSERT INTO links (src, dst, relation, weight, seal) VALUES (?, ?, ?, ?, ?)"
        f" {SKIP_IF_THERE}",
        (src, dst, relation, weight, seal_of(src, dst, relation, weight)),
    )
    return made.rowcount > 0


def unlink(db: Session, src: int, dst: int, relation: str) -> float | None:
    """Remove a link between two memories; returns its weight, None if there is none."""
    query = "DELETE FROM links WHERE src = ? AND dst = ? AND relation = ? RETURNING weight"
    weight = single(db, query, (src, dst, relation))
    return None if weight is None else float(weight)


def drop(db: Session, docid: int, relations: Sequence[str]) -> None:
    """Remove the links of a memory of some relations."""
    query = f"DELETE FROM links WHERE {_related(relations)} AND (src = ?1 OR dst = ?1)"
    db.execute(query, (docid,))


def linked(db: Session, docid: int, which: str = "true") -> list[tuple[int, int, str]]:
    """Return (row id it goes from, row id it goes to, relation) of every link of a memory.

    Raises:
        StoreUnusable: If one of them is damaged.
    """
    query = (
        f"SELECT src, dst, relation, weight, seal FROM links WHERE src = ?1 AND {which} UNION ALL"
        " SELECT src, dst, relation, weight, seal FROM links WHERE dst = ?1 AND src <> dst"
        f" AND {which}"
    )
    links = db.execute(query, (docid,)).fetchall()
    if any(is_changed_link(*found) for found in links):
        owner = memories.by_docid(db, docid)
        raise StoreUnusable(layout.LEDGER, f"a link of {damaged([owner.id])}")
    return [(src, dst, relation) for src, dst, relation, *_ in links]


def proposed(db: Session, docid: int) -> list[Row]:
    """Return the memories whose place a quarantined one will take when it is approved.

    Raises:
        StoreUnusable: If a link that tells which is damaged.
    """
    links = linked(db, docid, "src = ?1 AND relation = 'proposes'")
    replaced = memories.by_docids(db, docid >> SEQ_BITS, [dst for _, dst, _ in links])
    return [row for _, row in sorted(replaced.items())]


def pairs(
    db: Session, docids: Iterable[int], relations: Sequence[str], ends: Ends = "both"
) -> list[tuple[int, int]]:
    """Return (from, to) of the links of some relations with such ends among memories, ascending."""
    src, dst = f"src {one_of('?1')}", f"dst {one_of('?1')}"
    conditions = {"both": (f"{src} AND {dst}",), "either": (src, dst), "src": (src,), "dst": (dst,)}
    query = " UNION ".join(
        f"SELECT src, dst FROM links WHERE {_related(relations)} AND {condition}"
        for condition in conditions[ends]
    )
    return db.execute(f"{query} ORDER BY 1, 2", (listed(docids),)).fetchall()


def are_linked(db: Session, one: int, other: int, *relations: str) -> bool:
    """Tell whether two memories are linked so, in either direction."""
    query = f"SELECT 1 FROM links WHERE {_related(relations)} AND src = ? AND dst = ?"
    return any(single(db, query, ends) is not None for ends in ((one, other), (other, one)))


def newest(db: Session, ns: int, relations: Sequence[str], most: int) -> list[tuple[int, int, str]]:
    """Return (from, to, relation) of the newest links of some relations in a namespace."""
    query = (
        f"SELECT src, dst, relation FROM links WHERE {_related(relations)}"
        " AND src BETWEEN ? AND ? ORDER BY src DESC, dst DESC LIMIT ?"
    )
    return db.execute(query, (*docid_range(ns), most)).fetchall()


def _related(relations: Sequence[str]) -> str:
    """Return the condition that a link is of some relations: words of memento, never bound."""
    names = ", ".join(f"'{name}'" for name in relations)
    return f"relation IN ({names})"


class Linked(NamedTuple):
    """Which relations there are in a namespace; few have any.

    ``flagged`` are row ids, of which each flagged pair has one, see `pairs`; None if they are many.
    ``succeeded`` is whether any memory may be succeeded, see ``claim_rows.successions``.
    """

    flagged: frozenset[int] | None
    succeeded: bool

    @property
    def any_flagged(self) -> bool:
        """Whether any pair is flagged."""
        return self.flagged is None or bool(self.flagged)

    def may_conflict(self, docids: Iterable[int]) -> bool:
        """Tell cheaply whether there can be a flagged pair among some memories."""
        return self.flagged is None or not self.flagged.isdisjoint(docids)


def linked_in(db: Session, ns: int) -> Linked:
    """Tell which relations there are in a namespace. One statement, since every query asks."""
    flagged, succeeded = db.execute(_LINKED, docid_range(ns)).fetchone()
    found = column(db, f"{_FLAGGED} LIMIT {_MANY_FLAGGED}", docid_range(ns)) if flagged else []
    few = frozenset(found) if len(found) < _MANY_FLAGGED else None
    return Linked(few, bool(succeeded))


_MANY_FLAGGED = 256
"""Flagged pairs that are read at most when anything changed; 30 µs."""
_FLAGGED = f"SELECT src FROM links WHERE {_related(CONFLICTS)} AND src BETWEEN ?1 AND ?2"
_LINKED = (
    f"SELECT EXISTS ({_FLAGGED}), EXISTS (SELECT 1 FROM successions WHERE older BETWEEN ?1 AND ?2)"
)
