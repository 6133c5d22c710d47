"""The ledger's facts about files that are derived from it: whether one is its own, and how new.

A file and a ledger know each other by a random word, which is new each time the file is written:
a copy of the ledger from an earlier day does not know the word of a later file.
"""

from __future__ import annotations

from typing import NamedTuple

from memento.ledger import erase_many
from memento.ledger.contract import Session
from memento.ledger.dialect import or_replace

_NOTED = or_replace("name", "value")


class Facts(NamedTuple):
    """The facts that a derived file of one namespace is compared with.

    Attributes:
        stamp: Stamp of the vectors stored last, of any namespace.
        erased: Newest revision at which something was erased from the namespace; 0 for never.
        marks: Words of the files that were derived from this ledger last.
    """

    stamp: int
    erased: int
    marks: tuple[str, ...]


def facts(connection: Session, kind: str, ns: int) -> Facts:
    """Read what a file of a namespace has to agree with.

    Args:
        connection: Any connection.
        kind: Kind of file.
        ns: Namespace number.
    """
    stamp, marks = connection.execute(
        "SELECT (SELECT value FROM meta WHERE name = 'stamp'),"
        " (SELECT value FROM meta WHERE name = ?)",
        (_name(kind, ns),),
    ).fetchone()
    words = tuple(str(marks).split()) if marks else ()
    return Facts(int(stamp), erased_at(connection, ns), words)


def erased_at(connection: Session, ns: int) -> int:
    """Return the newest revision at which something was erased from a namespace; 0 for never."""
    query = "SELECT max(rev) FROM erased WHERE ns = ?"
    (rev,) = connection.execute(query, (ns,)).fetchone()
    return int(rev or 0)


def adopt(
    connection: Session, kind: str, ns: int, mark: str, *, replaced: str | None, erased: int
) -> bool:
    """Note that a file with a mark is this ledger's. Inside the transaction in which it is named.

    An erasure is a transaction as well, after which the files are looked through. So none that
    holds what it erased gets its name later.

    Args:
        connection: Inside a transaction.
        kind: Kind of file.
        ns: Namespace number.
        mark: A word that no other file has.
        replaced: Mark of the file that is there now, which is known as well until the next time.
        erased: `erased_at` of the moment from which the content is.

    Returns:
        Whether it may be named; False if something was erased meanwhile, or is being erased.
    """
    if erased_at(connection, ns) != erased or erase_many.is_under_way(connection):
        return False
    marks = mark if replaced is None else f"{mark} {replaced}"
    connection.execute(f"INSERT INTO meta VALUES (?, ?) {_NOTED}", (_name(kind, ns), marks))
    return True


def _name(kind: str, ns: int) -> str:
    return f"{kind}:{ns}"
