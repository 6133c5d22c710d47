"""Links between memories, and chains of supersession. SQL only.

A link is made once and sealed. In a chain each memory names its successor, and so on to the head.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from memento.base import layout
from memento.errors import StoreUnusable
from memento.ledger import memories, rows, succession_rows
from memento.ledger.contract import Transaction
from memento.ledger.dialect import SKIP_IF_THERE, listed, one_of, one_of_numbers
from memento.ledger.memories import NOT_ERASED
from memento.ledger.rows import Row, column, docid_range, select, single, strings_in
from memento.ledger.schema import SEQ_BITS

CONFLICTS = ("contradicts", "echoes")
"""Relations of memories that conflict; comparing statements makes these links."""
RESOLVED = "resolved"
"""Link between two memories that a person has settled."""
QUOTES = "quotes"
"""Link of an article to each memory that it was made of."""
Ends: TypeAlias = Literal["both", "either", "src", "dst"]


def link(db: Transaction, src: int, dst: int, relation: str, weight: float = 1.0) -> bool:
    """Link two memories unless that link exists; return whether a link was made."""
    made = db.execute(
        "INSERT INTO links (src, dst, relation, weight, seal) VALUES (?, ?, ?, ?, ?)"
        f" {SKIP_IF_THERE}",
        (src, dst, relation, weight, rows.seal_of(src, dst, relation, weight)),
    )
    return made.rowcount > 0


def unlink(db: Transaction, src: int, dst: int, relation: str) -> float | None:
    """Remove a link between two memories; returns its weight, None if there is none."""
    query = "DELETE FROM links WHERE src = ? AND dst = ? AND relation = ? RETURNING weight"
    weight = single(db, query, (src, dst, relation))
    return None if weight is None else float(weight)


def drop(db: Transaction, docid: int, relations: Sequence[str]) -> None:
    """Remove the links of some relations from and to a memory."""
    query = f"DELETE FROM links WHERE {_related(relations)} AND (src = ?1 OR dst = ?1)"
    db.execute(query, (docid,))


def linked(db: Transaction, docid: int, which: str = "true") -> list[tuple[int, int, str]]:
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
    if any(rows.is_changed(*found) for found in links):
        owner = memories.by_docid(db, docid)
        raise StoreUnusable(layout.LEDGER, f"a link of {rows.damaged([owner.id])}")
    return [(src, dst, relation) for src, dst, relation, *_ in links]


def proposed(db: Transaction, docid: int) -> list[Row]:
    """Return the memories whose place a quarantined one will take when it is approved."""
    links = linked(db, docid, "src = ?1 AND relation = 'proposes'")
    replaced = memories.by_docids(db, docid >> SEQ_BITS, [dst for _, dst, _ in links])
    return [row for _, row in sorted(replaced.items())]


def pairs(
    db: Transaction, docids: Iterable[int], relations: Sequence[str], ends: Ends = "both"
) -> list[tuple[int, int]]:
    """Return (from, to) of the links of some relations with ``ends`` among memories, ascending."""
    src, dst = f"src {one_of_numbers('?1')}", f"dst {one_of_numbers('?1')}"
    conditions = {"both": (f"{src} AND {dst}",), "either": (src, dst), "src": (src,), "dst": (dst,)}
    query = " UNION ".join(
        f"SELECT src, dst FROM links WHERE {_related(relations)} AND {condition}"
        for condition in conditions[ends]
    )
    return db.execute(f"{query} ORDER BY 1, 2", (listed(docids),)).fetchall()


def are_linked(db: Transaction, one: int, other: int, *relations: str) -> bool:
    """Return whether two memories are linked by one of some relations, in either direction."""
    return single(db, f"{between(relations)} LIMIT 1", (one, other)) is not None


def between(relations: Sequence[str]) -> str:
    """Return the query that finds a link of some relations between two row ids."""
    of_kind = f"SELECT 1 FROM links WHERE {_related(relations)}"
    return f"{of_kind} AND src = ?1 AND dst = ?2 UNION ALL {of_kind} AND src = ?2 AND dst = ?1"


def newest(
    db: Transaction, ns: int, relations: Sequence[str], most: int, *, skipped: int = 0
) -> list[tuple[int, int, str]]:
    """Return (from, to, relation) of links of some relations in a namespace, newest first.

    The ``skipped`` newest ones are left out, and at most ``most`` returned.
    """
    query = (
        f"SELECT src, dst, relation FROM links WHERE {_related(relations)}"
        " AND src BETWEEN ? AND ? ORDER BY src DESC, dst DESC, relation LIMIT ? OFFSET ?"
    )
    return db.execute(query, (*docid_range(ns), most, skipped)).fetchall()


def _related(relations: Sequence[str]) -> str:
    """Return the condition that a link is of some relations: constants, so they are not bound."""
    names = ", ".join(f"'{name}'" for name in relations)
    return f"relation IN ({names})"


class Linked(NamedTuple):
    """Which links there are in a namespace; few have any.

    ``flagged`` has one row id of each flagged pair, see `CONFLICTS`; None if they are many.
    ``successions`` has the newest pairs of which the later changes the earlier.
    """

    flagged: frozenset[int] | None = frozenset()
    successions: Sequence[tuple[int, int]] = ()

    @property
    def any_flagged(self) -> bool:
        """Whether any pair is flagged."""
        return self.flagged is None or bool(self.flagged)

    def may_conflict(self, docids: Iterable[int]) -> bool:
        """Return whether there can be a flagged pair among some memories; a cheap first check."""
        return self.flagged is None or not self.flagged.isdisjoint(docids)


def any_flagged(db: Transaction, ns: int) -> bool:
    """Return whether any pair of a namespace is flagged."""
    return single(db, f"{FLAGGED} LIMIT 1", docid_range(ns)) is not None


def linked_in(db: Transaction, ns: int, *, flagged: bool, succeeded: bool) -> Linked:
    """Return which links there are in a namespace; those known to be none are not read."""
    found = column(db, f"{FLAGGED} LIMIT {_MANY_FLAGGED}", docid_range(ns)) if flagged else []
    few = frozenset(found) if len(found) < _MANY_FLAGGED else None
    return Linked(few, succession_rows.pairs(db, ns) if succeeded else ())


_MANY_FLAGGED = 256
"""Maximum number of flagged pairs that are read when anything changed; 30 µs."""
FLAGGED = f"SELECT src FROM links WHERE {_related(CONFLICTS)} AND src BETWEEN ?1 AND ?2"
SUCCEEDED = "SELECT 1 FROM successions WHERE older BETWEEN ?1 AND ?2"
"""Queries that find the flagged and the succeeded ones among a range of row ids."""


LONGEST = 10_000
"""Maximum number of links that are followed."""


def successors(db: Transaction, ns: int, memory_id: str | None) -> Iterator[str]:
    """Yield an id, the id of the memory that superseded it, and so on; at most ``LONGEST``."""
    query = f"SELECT superseded_by FROM memories WHERE ns = ? AND id = ? AND {NOT_ERASED}"
    for _ in range(LONGEST):
        if memory_id is None:
            return
        found = db.execute(query, (ns, memory_id)).fetchone()
        if found is None:
            return
        yield memory_id
        memory_id = found[0]


def is_successor(db: Transaction, ns: int, memory_id: str) -> bool:
    """Return whether a memory superseded any other; if not, no chain leads to it."""
    query = "SELECT 1 FROM memories WHERE ns = ? AND superseded_by = ? LIMIT 1"
    return single(db, query, (ns, memory_id)) is not None


def leads_to(db: Transaction, ns: int, start: str | None, memory_id: str) -> bool:
    """Return whether the chain from ``start`` leads to a memory, or is too long to tell."""
    count = 0
    for one in successors(db, ns, start):
        if one == memory_id:
            return True
        count += 1
    return count >= LONGEST


def head(db: Transaction, row: Row) -> str:
    """Return the id of the memory at the end of the chain of another one."""
    last = row.id
    seen = {last}
    for one in successors(db, row.ns, row.superseded_by):
        if one in seen:  # a circle from before circles were refused
            break
        seen.add(one)
        last = one
    return last


def members(db: Transaction, ns: int, head_id: str) -> list[Row]:
    """Return a memory and all whose chain ends at it, by ``valid_from``, then by arrival."""
    found: dict[int, Row] = {}
    waiting = list(select(db, f"ns = ? AND id = ? AND {NOT_ERASED}", (ns, head_id)))
    while waiting and len(found) <= LONGEST:
        row = waiting.pop()
        if row.docid not in found:
            found[row.docid] = row
            waiting += select(db, f"ns = ? AND superseded_by = ? AND {NOT_ERASED}", (ns, row.id))
    return sorted(found.values(), key=lambda row: (row.valid_from, row.docid))


_FILL = """
INSERT INTO awaited SELECT DISTINCT child.ns, parent.value, child.docid FROM memories AS child,
    json_each(CASE WHEN json_valid(child.source_parents) THEN child.source_parents ELSE '[]' END)
    AS parent
    WHERE child.source_parents <> '[]' AND parent.type = 'text' AND NOT EXISTS
    (SELECT 1 FROM memories WHERE ns = child.ns AND id = parent.value)
"""
"""Adds every parent that does not exist; a damaged row names none."""


def note(db: Transaction, ns: int, rows: Iterable[Row]) -> None:
    """Note which of the parents that memories name do not exist."""
    named = {row.docid: strings_in(row.source_parents) for row in rows}
    names = sorted({name for parents in named.values() for name in parents})
    absent = set(names) - memories.docids_of(db, ns, names).keys() if names else set()
    waits = [(ns, name, docid) for docid, of in named.items() for name in of if name in absent]
    db.executemany(f"INSERT INTO awaited VALUES (?, ?, ?) {SKIP_IF_THERE}", waits)


def stop_waiting(db: Transaction, docid: int) -> None:
    """Forget what a memory waits for, since it gets other parents."""
    db.execute("DELETE FROM awaited WHERE docid = ?", (docid,))


def take_waiting(db: Transaction, ns: int, ids: Sequence[str]) -> dict[int, set[str]]:
    """Remove and return the memories that waited for some ids: row ids to those ids."""
    query = f"SELECT docid, parent FROM awaited WHERE ns = ? AND parent {one_of()}"
    waited: dict[int, set[str]] = {}
    for docid, parent in db.execute(query, (ns, listed(ids))):
        waited.setdefault(docid, set()).add(parent)
    if waited:
        come = listed(sorted(set().union(*waited.values())))
        db.execute(f"DELETE FROM awaited WHERE ns = ? AND parent {one_of()}", (ns, come))
    return waited


def children(db: Transaction, ns: int, ids: Collection[str]) -> list[Row]:
    """Return the memories that name one of some ids as their parent, in order of arrival."""
    found = select(
        db, "docid BETWEEN ? AND ? AND source_parents <> '[]' ORDER BY docid", docid_range(ns)
    )
    return [row for row in found if not set(strings_in(row.source_parents)).isdisjoint(ids)]


def note_all(db: Transaction) -> None:
    """Make ``awaited`` again from the memories."""
    db.execute("DELETE FROM awaited")
    db.execute(_FILL)
