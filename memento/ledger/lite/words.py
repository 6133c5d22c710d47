"""The full text of SQLite as the rest of memento sees it, see ``contract.Words``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from memento.language.words import Columns
from memento.ledger.lite import fulltext
from memento.ledger.match import Match
from memento.ledger.rows import COLUMNS, Row, columns_of
from memento.ledger.schema import FULLTEXT, SEQ_MASK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memento.ledger.lite.library import sqlite3

REBUILT_AT_ONCE = 1_000
"""Rows read before they are indexed again; bounds memory."""
_STRAY = "rowid NOT IN (SELECT docid FROM memories)"


class LiteWords:
    """The full text as of one connection's transaction; see ``contract.Words``.

    Args:
        connection: Any connection of the ledger.
        looked: At which row ids the connection looked how many rows wait, see ``fulltext.is_due``.
    """

    __slots__ = ("_connection", "_looked")
    at_once = fulltext.AT_ONCE

    def __init__(self, connection: sqlite3.Connection, looked: dict[int, int]) -> None:
        self._connection, self._looked = connection, looked

    def postings(self, ns: int, matches: Sequence[Match], limit: int) -> list[NDArray[np.int64]]:
        """Find the newest indexed rows of a namespace that match each expression."""
        return fulltext.look_up(self._connection, ns, matches, limit)

    def holds(self, ns: int, word: str) -> bool:
        """Tell whether a text of any heard memory of a namespace that is indexed has a word."""
        return fulltext.holds(self._connection, ns, word)

    def waiting_words(self, ns: int) -> set[str]:
        """Return the words of the heard rows of a namespace that wait."""
        return fulltext.waiting_words(self._connection, ns)

    def behind(self) -> list[int]:
        """Return the namespaces that have rows waiting."""
        return fulltext.behind(self._connection)

    def is_due(self, newest: int, count: int) -> bool:
        """Tell whether rows about to come are to be indexed at once."""
        return fulltext.is_due(self._connection, newest, count, self._looked)

    def index_next(self, ns: int, documents: Sequence[tuple[int, Columns]]) -> None:
        """Index the next rows of a namespace."""
        fulltext.index_next(self._connection, ns, documents)

    def catch_up(self, ns: int, most: int = SEQ_MASK) -> bool:
        """Index the oldest waiting rows of a namespace; tell whether there may be more."""
        return fulltext.catch_up(self._connection, ns, most)

    def replace(self, docid: int, document: Columns) -> None:
        """Index a row again because its text changes."""
        fulltext.replace(self._connection, docid, document)

    def remove(self, docids: Sequence[int]) -> int:
        """Take rows out of the index; returns how many were in it."""
        return fulltext.remove(self._connection, docids)

    def edition(self) -> int:
        """Return a number that changes when the index is rebuilt."""
        return fulltext.edition(self._connection)

    def merge(self) -> bool:
        """Merge some of the index's segments; tell whether there was anything to merge."""
        return fulltext.merge(self._connection)

    def intact(self) -> bool:
        """Tell whether the index agrees with what it was built from."""
        return fulltext.intact(self._connection)

    def misindexed(self) -> list[tuple[int, tuple[str, ...] | None]]:
        """Return the rows whose entry is absent though it is due, or made from another text."""
        indexed = self._connection.cursor()
        known = {ns: fulltext.upto(self._connection, ns) for ns in self._namespaces()}
        wrong = []
        for row in self._rows():
            if row.docid > known.get(row.ns, 0):
                continue  # not indexed yet, or without a namespace, see ``namespaces.wrong``
            found = indexed.execute(
                "SELECT title, head, rest FROM memories_fts WHERE rowid = ?", (row.docid,)
            ).fetchone()
            if found != tuple(columns_of(row)):
                wrong.append((row.docid, found))
        return wrong

    def strays(self) -> int:
        """Count entries whose memory is not there."""
        (count,) = self._connection.execute(
            f"SELECT count(*) FROM memories_fts WHERE {_STRAY}"
        ).fetchone()
        return int(count)

    def drop_strays(self) -> None:
        """Remove entries whose memory is not there."""
        self._connection.execute(f"DELETE FROM memories_fts WHERE {_STRAY}")

    def rebuild(self) -> int:
        """Build the index again from the memories; returns how many rows it holds."""
        self._connection.execute("DROP TABLE memories_fts")  # DELETE would read what may be damaged
        for statement in FULLTEXT:
            self._connection.execute(statement)
        self._connection.execute("UPDATE namespaces SET fts_upto = 0")
        for ns in self._namespaces():
            while self.catch_up(ns, REBUILT_AT_ONCE):
                pass
        (count,) = self._connection.execute("SELECT count(*) FROM memories_fts").fetchone()
        return int(count)

    def _namespaces(self) -> list[int]:
        return [ns for (ns,) in self._connection.execute("SELECT ns FROM namespaces")]

    def _rows(self) -> Iterator[Row]:
        query = f"SELECT {COLUMNS} FROM memories ORDER BY docid"
        for values in self._connection.execute(query):
            yield Row(*values)
