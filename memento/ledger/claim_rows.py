"""The hashes of what statements claim, and how far they were compared. SQL only.

The hashes are derived from the texts, see ``write.settling``: they can be dropped and are then made
again. The revision up to which the statements of a namespace were compared is in ``meta``; it is
not derived, as what was compared and settled must not be compared again.
"""

from __future__ import annotations

from collections.abc import Iterable

from memento.ledger import memories, meta
from memento.ledger.contract import Session
from memento.ledger.dialect import SKIP_IF_THERE
from memento.ledger.rows import Row, column, docid_range, select
from memento.ledger.schema import SEQ_MASK

_CURSOR = "claims "
_REWORDED = (
    "SELECT docid FROM memories AS m WHERE ns = ?1 AND rev > ?2"
    f" AND rev <> (docid & {SEQ_MASK}) AND docid <= ?3 AND text <> (SELECT text FROM versions"
    " WHERE docid = m.docid AND rev <= ?2 ORDER BY rev DESC LIMIT 1)"
)


def cursor(db: Session, ns: int) -> int:
    """Return the revision up to which the statements of a namespace were compared."""
    return min(meta.get_number(db, f"{_CURSOR}{ns}"), memories.latest_rev(db, ns))


def move_cursor(db: Session, ns: int, rev: int) -> None:
    """Note up to which revision the statements of a namespace were compared."""
    meta.put(db, f"{_CURSOR}{ns}", rev)


def behind(db: Session, ns: int) -> bool:
    """Return whether anything of a namespace was not compared yet."""
    return waiting(db, ns) > 0


def waiting(db: Session, ns: int) -> int:
    """Count the revisions of a namespace that were not compared yet."""
    return memories.latest_rev(db, ns) - cursor(db, ns)


def reworded(db: Session, ns: int) -> set[int]:
    """Return the row ids of the memories whose text changed since they were compared."""
    rev, (low, _) = cursor(db, ns), docid_range(ns)
    return set(column(db, _REWORDED, (ns, rev, low + rev)))


def keys(db: Session, docid: int) -> frozenset[int]:
    """Return the stored hashes of a memory."""
    return frozenset(column(db, "SELECT key FROM claims WHERE docid = ?", (docid,)))


def store(db: Session, docid: int, found: Iterable[int]) -> None:
    """Store the hashes of a memory in place of its earlier ones."""
    db.execute("DELETE FROM claims WHERE docid = ?", (docid,))
    query = f"INSERT INTO claims (key, docid) VALUES (?, ?) {SKIP_IF_THERE}"
    db.executemany(query, [(key, docid) for key in sorted(found)])


def sharing(db: Session, found: Iterable[int], docid: int, most: int) -> list[int]:
    """Return the newest other row ids that share a hash, at most ``most`` for each hash."""
    query = "SELECT docid FROM claims WHERE key = ? AND docid <> ? ORDER BY docid DESC LIMIT ?"
    others = {other for key in found for other in column(db, query, (key, docid, most))}
    return sorted(others, reverse=True)


def drop_all(db: Session) -> None:
    """Drop every row; they are made again."""
    db.execute("DELETE FROM claims")


def newest(db: Session, ns: int, before: int, most: int) -> list[Row]:
    """Read the rows of a namespace that came before a row id, the newest first."""
    where = f"docid >= ? AND docid < ? AND {memories.NOT_ERASED} ORDER BY docid DESC LIMIT ?"
    return list(select(db, where, (docid_range(ns)[0], before, most)))
