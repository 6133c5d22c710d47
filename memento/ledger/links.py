"""Links between memories: made once, sealed, read with their seals checked. SQL only."""

from __future__ import annotations

from memento.base import layout
from memento.errors import StoreUnusable
from memento.ledger import memories
from memento.ledger.contract import Session
from memento.ledger.dialect import SKIP_IF_THERE
from memento.ledger.rows import Row, damaged, is_changed_link, seal_of
from memento.ledger.schema import SEQ_BITS


def link(db: Session, src: int, dst: int, relation: str) -> None:
    """Link two memories; linking them again changes nothing."""
    put_link(db, src, dst, relation, 1.0)


def put_link(db: Session, src: int, dst: int, relation: str, weight: float) -> bool:
    """Link two memories unless they are linked so; tells whether a link was made."""
    made = db.execute(
        "INSERT INTO links (src, dst, relation, weight, seal) VALUES (?, ?, ?, ?, ?)"
        f" {SKIP_IF_THERE}",
        (src, dst, relation, weight, seal_of(src, dst, relation, weight)),
    )
    return made.rowcount > 0


def unlink(db: Session, src: int, dst: int, relation: str) -> float | None:
    """Remove a link between two memories; returns its weight, None if there is none."""
    found = db.execute(
        "DELETE FROM links WHERE src = ? AND dst = ? AND relation = ? RETURNING weight",
        (src, dst, relation),
    ).fetchone()
    return None if found is None else float(found[0])


def linked(db: Session, docid: int) -> list[tuple[int, int, str]]:
    """Return (row id it goes from, row id it goes to, relation) of every link of a memory.

    Raises:
        StoreUnusable: If one of them is damaged.
    """
    return [
        *_links(db, docid, "src = ?1"),
        *_links(db, docid, "dst = ?1 AND src <> dst"),
    ]


def proposed(db: Session, docid: int) -> list[Row]:
    """Return the memories whose place a quarantined one will take when it is approved.

    Raises:
        StoreUnusable: If a link that tells which is damaged.
    """
    links = _links(db, docid, "src = ?1 AND relation = 'proposes'")
    replaced = memories.by_docids(db, docid >> SEQ_BITS, [dst for _, dst, _ in links])
    return [row for _, row in sorted(replaced.items())]


def _links(db: Session, docid: int, condition: str) -> list[tuple[int, int, str]]:
    links = db.execute(
        f"SELECT src, dst, relation, weight, seal FROM links WHERE {condition}", (docid,)
    ).fetchall()
    if any(is_changed_link(*found) for found in links):
        owner = memories.by_docid(db, docid)
        raise StoreUnusable(layout.LEDGER, f"a link of {damaged([owner.id])}")
    return [(src, dst, relation) for src, dst, relation, *_ in links]
