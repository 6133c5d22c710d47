"""Taking very many memories out of the ledger for good, without keeping other writers waiting.

The first transaction writes the row ids to ``erased``, and nothing else. From then on no read shows
these memories: what is retrieved leaves out all that is in ``erased``, and reading connections hide
it (``Ledger.read``). Then a few rows are deleted in each transaction. The work left to do is noted
in ``meta``, in case this process dies: ``doomed:NS:REV`` holds the row id up to which rows are
deleted, ``doomed ids:...`` the ids of these, which are taken out of the rows that name them at the
end.
Each step can be repeated, and several processes may do it at once.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import NamedTuple

from memento.ledger import erase, memories
from memento.ledger.contract import Session
from memento.ledger.dialect import SKIP_IF_THERE, one_of
from memento.types import Event

FEW = 128
"""Most memories that are erased in one transaction, and not by this module."""
AT_ONCE = 128
"""Most memories that one transaction deletes, with some rows of each other table: 10 ms."""

_MARK, _IDS = "doomed:", "doomed ids:"


class Marked(NamedTuple):
    """Memories that are erased and whose rows are still being deleted.

    Attributes:
        ns: Their namespace number.
        rev: Revision at which they were erased.
    """

    ns: int
    rev: int

    @property
    def name(self) -> str:
        """Name in ``meta`` of how far their deletion is."""
        return f"{_MARK}{self.ns}:{self.rev}"

    @property
    def ids(self) -> str:
        """The beginning of the names in ``meta`` of their ids."""
        return f"{_IDS}{self.ns}:{self.rev}:"


def mark(connection: Session, ns: int, docids: Collection[int], now: int) -> None:
    """Erase memories for every reader, and note that their rows are to be deleted.

    Args:
        connection: Inside a transaction.
        ns: Namespace number.
        docids: Which ones.
        now: The present moment, microseconds.
    """
    marked = Marked(ns, erase.leave_numbers(connection, ns, [*docids]))
    connection.execute("INSERT INTO meta VALUES (?, 0)", (marked.name,))
    memories.record(connection, ns, now, Event.ERASED, None, {"memories": len(docids)})
    erase.owe(connection, [erase.ROWS])


def marked(connection: Session) -> list[Marked]:
    """Return what is not wholly deleted yet, of every namespace."""
    query = "SELECT name FROM meta WHERE name >= ?1 AND name < ?1 || '~'"
    names = [name.split(":") for (name,) in connection.execute(query, (_MARK,))]
    return [Marked(int(ns), int(rev)) for _, ns, rev in names]


def delete_some(connection: Session, which: Marked) -> dict[str, int] | None:
    """Delete the next rows, and note their ids.

    Returns:
        How many rows were deleted, by table; None if there are no more.
    """
    found = connection.execute("SELECT value FROM meta WHERE name = ?", (which.name,)).fetchone()
    if found is None:
        return None  # another process did the rest
    query = "SELECT docid FROM erased WHERE ns = ? AND rev = ? AND docid > ? ORDER BY docid LIMIT ?"
    after = (which.ns, which.rev, found[0], AT_ONCE)
    docids = [docid for (docid,) in connection.execute(query, after)]
    if not docids:
        return None
    _note_ids(connection, f"{which.ids}{docids[0]}", docids)
    counts = erase.delete(connection, docids)
    connection.execute("UPDATE meta SET value = ? WHERE name = ?", (docids[-1], which.name))
    return counts


def _note_ids(connection: Session, name: str, docids: list[int]) -> None:
    heirs = erase.successors(connection, docids)
    connection.execute(
        f"INSERT INTO meta VALUES (?, ?) {SKIP_IF_THERE}",
        (name, json.dumps(heirs)),
    )


def heirs_of(connection: Session, which: Marked) -> dict[str, str | None]:
    """Return the ids of what was deleted, each with that of its successor.

    A process of schema 8 or earlier noted no successors.
    """
    query = "SELECT value FROM meta WHERE name >= ?1 AND name < ?1 || '~'"
    heirs: dict[str, str | None] = {}
    for (listed,) in connection.execute(query, (which.ids,)):
        noted = json.loads(listed)
        heirs |= noted if isinstance(noted, dict) else dict.fromkeys(noted)
    return heirs


def drop_ids(connection: Session, which: Marked) -> int:
    """Delete some of the notes of ids; returns how many, 0 if none was left."""
    query = (
        "DELETE FROM meta WHERE name IN"
        " (SELECT name FROM meta WHERE name >= ?1 AND name < ?1 || '~' LIMIT ?2)"
    )
    return connection.execute(query, (which.ids, AT_ONCE)).rowcount


def unmark(connection: Session, which: Marked) -> None:
    """Note that all rows are deleted; after the last ones, that the files are next."""
    mine = connection.execute("DELETE FROM meta WHERE name = ?", (which.name,)).rowcount
    if mine and not marked(connection):
        connection.execute("DELETE FROM meta WHERE name = ?", (f"erasing {erase.ROWS}",))
        erase.owe(connection, erase.PARTS)


def make_way(connection: Session, ns: int, ids: Iterable[str]) -> None:
    """Delete at once those of some ids that are erased and not deleted yet: they come again."""
    if not is_under_way(connection):
        return
    query = (
        f"SELECT docid, id FROM memories WHERE ns = ? AND id {one_of()}"
        " AND docid IN (SELECT docid FROM erased)"
    )
    doomed = dict(connection.execute(query, (ns, json.dumps(list(ids)))).fetchall())
    if doomed:
        heirs = erase.successors(connection, [*doomed])
        erase.delete(connection, [*doomed])
        erase.forget_ids(connection, ns, heirs)


def is_under_way(connection: Session) -> bool:
    """Tell whether rows of erased memories are still being deleted."""
    return connection.execute(UNDER_WAY).fetchone() is not None


UNDER_WAY = f"SELECT 1 FROM meta WHERE name = 'erasing {erase.ROWS}'"
"""Query that finds a row while that is so."""
