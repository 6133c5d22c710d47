"""Which statements a later one changes, and how far new vectors were compared for it. SQL only.

Statements are compared in the order in which their vectors were stored: a new text, or another
embedder, brings a new vector, and so a new comparison; nothing else does.
"""

from __future__ import annotations

from collections.abc import Iterable

from memento.ledger import meta
from memento.ledger.contract import Transaction
from memento.ledger.dialect import SKIP_IF_THERE
from memento.ledger.schema import SEQ_BITS, SEQ_MASK

_CURSOR = "changes "
Place = tuple[int, int]
"""The stamp of a vector and the row id of its memory."""


def place(db: Transaction, ns: int) -> Place:
    """Return up to where the vectors of a namespace were compared."""
    match meta.get_json(db, f"{_CURSOR}{ns}"):
        case [int(stamp), int(docid)]:
            return stamp, docid
    return 0, 0


def waiting(db: Transaction, ns: int, most: int) -> list[Place]:
    """Return the places of the newest vectors that were not compared yet, oldest first."""
    stamp, docid = place(db, ns)
    query = (
        f"SELECT stamp, docid FROM embeddings WHERE docid >> {SEQ_BITS} = ?1 AND stamp >= ?2"
        " AND (stamp > ?2 OR docid > ?3) ORDER BY stamp DESC, docid DESC LIMIT ?4"
    )
    return db.execute(query, (ns, stamp, docid, most)).fetchall()[::-1]


def note(db: Transaction, ns: int, found: Iterable[tuple[int, Iterable[int]]], done: Place) -> None:
    """Store what some memories change, each with the earlier ones, and up to where was compared.

    It takes the place of what was noted that they change. What was noted to change them stays: it
    was compared with the same text, since another text drops it.
    """
    for newer, older in found:
        db.execute("DELETE FROM successions WHERE newer = ?", (newer,))
        query = f"INSERT INTO successions (older, newer) VALUES (?, ?) {SKIP_IF_THERE}"
        db.executemany(query, [(docid, newer) for docid in older])
    meta.put(db, f"{_CURSOR}{ns}", f"[{done[0]}, {done[1]}]")


def drop(db: Transaction, docid: int) -> None:
    """Drop the pairs of a memory whose text has changed."""
    db.execute("DELETE FROM successions WHERE newer = ?1 OR older = ?1", (docid,))


MOST_READ = 500
"""Maximum number of pairs in a namespace that a query looks at."""


def pairs(db: Transaction, ns: int, most: int = MOST_READ) -> list[tuple[int, int]]:
    """Return the pairs (earlier, later) of which the later changes the earlier, newest first."""
    which = "older BETWEEN ? AND ? ORDER BY older DESC LIMIT ?"
    query, low = f"SELECT older, newer FROM successions WHERE {which}", ns << SEQ_BITS
    return db.execute(query, (low, low | SEQ_MASK, most)).fetchall()
