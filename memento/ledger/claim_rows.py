"""The hashes of what statements claim, and how far they were compared. SQL only.

The hashes are derived from the texts, see ``write.settling``: they can be dropped and are then made
again. The revision up to which the statements of a namespace were compared is in ``meta``; it is
not derived, as what was compared and settled must not be compared again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from operator import itemgetter

from memento.ledger import memories, meta
from memento.ledger.contract import Transaction
from memento.ledger.dialect import IN_THIS_ORDER, SKIP_IF_THERE, each_of, listed, one_of_numbers
from memento.ledger.rows import Row, column, docid_range, select
from memento.ledger.schema import SEQ_MASK

_CURSOR = "claims "
_REWORDED = (
    "SELECT docid FROM memories AS m WHERE ns = ?1 AND rev > ?2"
    f" AND rev <> (docid & {SEQ_MASK}) AND docid <= ?3 AND text <> (SELECT text FROM versions"
    " WHERE docid = m.docid AND rev <= ?2 ORDER BY rev DESC LIMIT 1)"
)


def cursor(db: Transaction, ns: int) -> int:
    """Return the revision up to which the statements of a namespace were compared."""
    return min(meta.get_number(db, f"{_CURSOR}{ns}"), memories.latest_rev(db, ns))


def move_cursor(db: Transaction, ns: int, rev: int) -> None:
    """Note up to which revision the statements of a namespace were compared."""
    meta.put(db, f"{_CURSOR}{ns}", rev)


def behind(db: Transaction, ns: int) -> bool:
    """Return whether anything of a namespace was not compared yet."""
    return waiting(db, ns) > 0


def waiting(db: Transaction, ns: int) -> int:
    """Count the revisions of a namespace that were not compared yet."""
    return memories.latest_rev(db, ns) - cursor(db, ns)


def reworded(db: Transaction, ns: int) -> set[int]:
    """Return the row ids of the memories whose text changed since they were compared."""
    rev, (low, _) = cursor(db, ns), docid_range(ns)
    return set(column(db, _REWORDED, (ns, rev, low + rev)))


def keys(db: Transaction, docids: Iterable[int]) -> dict[int, frozenset[int]]:
    """Return the stored hashes of some memories; those without any are left out."""
    query = f"SELECT docid, key FROM claims WHERE docid {one_of_numbers()} ORDER BY docid"
    found = db.execute(query, (listed(docids),)).fetchall()
    return {
        docid: frozenset(key for _, key in pairs)
        for docid, pairs in groupby(found, key=itemgetter(0))
    }


def store(db: Transaction, found: Mapping[int, Iterable[int]]) -> None:
    """Store the hashes of some memories in place of their earlier ones."""
    db.execute(f"DELETE FROM claims WHERE docid {one_of_numbers()}", (listed(found),))
    query = f"INSERT INTO claims (key, docid) VALUES (?, ?) {SKIP_IF_THERE}"
    pairs = sorted((key, docid) for docid, of_it in found.items() for key in of_it)
    if pairs:
        db.executemany(query, pairs)


def sharing(db: Transaction, found: Iterable[int], most: int) -> dict[int, list[int]]:
    """Return the newest row ids that have each hash, newest first, at most ``most`` of each."""
    query = (
        f"SELECT claims.key, docid FROM {each_of('?1')} AS asked {IN_THIS_ORDER} claims"
        " ON claims.key = CAST(asked.value AS BIGINT) WHERE docid >= coalesce((SELECT docid FROM"
        " claims WHERE key = CAST(asked.value AS BIGINT) ORDER BY docid DESC LIMIT 1 OFFSET ?2), 0)"
        " ORDER BY 1, 2 DESC"
    )
    pairs = db.execute(query, (listed(found), most - 1)).fetchall()
    return {key: [docid for _, docid in of_it] for key, of_it in groupby(pairs, key=itemgetter(0))}


def drop_all(db: Transaction) -> None:
    """Drop every row; they are made again."""
    db.execute("DELETE FROM claims")


def newest(db: Transaction, ns: int, before: int, most: int) -> list[Row]:
    """Read the rows of a namespace that came before a row id, the newest first."""
    where = f"docid >= ? AND docid < ? AND {memories.NOT_ERASED} ORDER BY docid DESC LIMIT ?"
    return list(select(db, where, (docid_range(ns)[0], before, most)))
