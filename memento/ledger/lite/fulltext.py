"""The full text of SQLite: an FTS5 index, its rows, and the postings it returns.

FTS5 stems, folds and stores the postings. The ranking is ours (``retrieve/``), since FTS5's
``bm25()`` counts every tenant's rows and cannot see the neighbouring turns.

Each insert costs FTS5 six pages of the log, whether of one row or of a hundred. So a single ``add``
does not index its row: ``namespaces.fts_upto`` is the last indexed row of a namespace. The
background thread indexes the waiting rows later; a search reads them itself (`LiteTail`). A waiting
row has no line in the backlog either; it gets one when it is indexed.
"""

from __future__ import annotations

import json
import re
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, cast
from typing import Any as Anything

from memento.ledger.lite.library import DatabaseError, open_in_memory, sqlite3
from memento.ledger.match import All, Any, In, Match, Phrase, Start, Word
from memento.ledger.rows import COLUMNS, Row, columns_of, docid_range
from memento.ledger.schema import FULLTEXT, SEQ_BITS, SEQ_MASK
from memento.status import sql
from memento.text.words import Columns

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memento.ledger.contract import Transaction


_UNSAYABLE = re.compile("[\0\ud800-\udfff]")
"""Characters at which FTS5 would stop, or that SQLite does not accept; they separate words."""


def expression(match: Match) -> str:
    """Return the FTS5 expression for a match.

    Every value is quoted, so that none is read as syntax. Compound parts are in brackets, as FTS5's
    ``AND`` binds tighter than its ``OR``.

    >>> expression(All((Any((Word("near"), Start("bar"))), In("head", Word("kite")))))
    '("near" OR "bar" *) AND {head} : "kite"'
    """
    return _WRITTEN[type(match)](match)


def _quoted(text: str) -> str:
    if not text.isalnum():
        text = _UNSAYABLE.sub(" ", text).replace('"', '""')
    return f'"{text}"'


def _bracketed(part: Match) -> str:
    kind = type(part)
    written = _WRITTEN[kind](part)
    return f"({written})" if kind is All or kind is Any else written


# A look-up by type costs a third of a chain of `isinstance`.
_WRITTEN: dict[type[Match], Callable[[Anything], str]] = {
    Word: lambda word: _quoted(word.text),
    Start: lambda start: f"{_quoted(start.text)} *",
    Phrase: lambda phrase: _quoted(" ".join(phrase.words)),
    In: lambda narrowed: f"{{{narrowed.column}}} : {expression(narrowed.what)}",
    All: lambda every: " AND ".join([_bracketed(part) for part in every.parts]),
    Any: lambda either: " OR ".join([_bracketed(part) for part in either.parts]),
}


Connection = sqlite3.Connection

AT_ONCE = 64
"""Number of rows indexed in one transaction of the background thread: about 2 ms, for which an
``add`` waits."""
MOST_WAITING = 256
"""Number of revisions past ``fts_upto`` at which an ``add`` catches up the index itself: when the
background thread finds no quiet moment, or does not run."""
LOOKED_EVERY = 16
"""Number of revisions after which an ``add`` checks whether `MOST_WAITING` is reached; this costs
as much as a check for a repeat."""
MOST_LOOKED = 1024
"""Maximum number of namespaces for which a connection remembers when it last checked."""
MERGED_PAGES = 64
"""Maximum number of pages of the index that one merge writes, so that no ``add`` waits long."""
SEGMENTS = 16
"""Number of segments of one level that FTS5 always merges, at any cost; its default."""
MANY_SEGMENTS = 1999
"""Maximum of that setting. Source: sqlite.org/fts5.html, crisismerge option, and fts5_config.c."""
MOST_ASKED = 4096
"""Maximum number of memories that `unheard` looks at, 1 µs each: a flood in quarantine must not
delay an ``add``."""
REBUILT_AT_ONCE = 1_000
"""Number of rows that a rebuild reads at once; bounds memory."""
CHECKED_AS_READ = (3, 44, 0)
"""First version of SQLite in which a reader can check the index, so that no writer waits. Source:
sqlite.org/releaselog/3_44_0.html, xIntegrity."""

_LIMIT = "LIMIT +"
"""Stands before the parameter of a limit: without the ``+``, SQLite 3.53 plans a statement again
for each bound value, which costs as much as the search."""
_HEARD = sql("in_statistics")
_NEWEST_SEQ = (
    f"((SELECT max(docid) FROM memories WHERE docid BETWEEN namespaces.ns << {SEQ_BITS}"
    f" AND namespaces.ns << {SEQ_BITS} | {SEQ_MASK}) & {SEQ_MASK})"
)
_OWE_VECTORS = (
    "INSERT INTO backlog SELECT docid, rev, 'embed' FROM memories WHERE docid BETWEEN ? AND ?"
    f" AND {sql('embedded')}"
    " AND docid NOT IN (SELECT docid FROM embeddings)"
    " AND docid NOT IN (SELECT docid FROM backlog)"
)
_OLDEST = (
    "SELECT rowid FROM memories_fts WHERE memories_fts MATCH ? AND rowid BETWEEN ? AND ?"
    " ORDER BY rowid LIMIT 1"
)
_IS_HEARD = f"SELECT 1 FROM memories WHERE docid = ? AND {_HEARD}"
_ANY_HEARD = (
    "SELECT 1 FROM (SELECT rowid AS found FROM memories_fts WHERE memories_fts MATCH ?"
    f" AND rowid BETWEEN ? AND ? ORDER BY rowid {_LIMIT}?)"
    f" CROSS JOIN memories ON docid = found WHERE {_HEARD} LIMIT 1"
)
_STRAY = "rowid NOT IN (SELECT docid FROM memories)"


class LiteWords:
    """The full text as of one connection's transaction; see ``contract.Words``.

    Args:
        connection: Any connection of the ledger.
        looked: Maps a namespace to the row id at which the connection last checked how many rows
            wait; it is updated here. Row ids alone do not tell when to check: changes take numbers
            between them.
    """

    __slots__ = ("_connection", "_looked")
    at_once = AT_ONCE

    def __init__(self, connection: Connection, looked: dict[int, int]) -> None:
        self._connection, self._looked = connection, looked

    def postings(self, ns: int, matches: Sequence[Match], limit: int) -> list[NDArray[np.int64]]:
        return look_up(self._connection, ns, matches, limit)

    def unheard(self, ns: int, words: Iterable[str]) -> set[str]:
        """Return those of some words that no indexed text of a memory in `status.HEARD` has.

        Of a word that very many memories hold, only the oldest are looked at, see `MOST_ASKED`.
        """
        low = ns << SEQ_BITS
        execute, bounds = self._connection.execute, (low, low | SEQ_MASK)
        found = set()
        for word in words:
            asked = (f'{{head rest}} : "{word}"', *bounds)  # a tag or a name is not a text
            oldest = execute(_OLDEST, asked).fetchone()
            heard = oldest and (  # the oldest is heard nearly always, and at half the cost
                execute(_IS_HEARD, oldest).fetchone()
                or execute(_ANY_HEARD, (*asked, MOST_ASKED)).fetchone()
            )
            if not heard:
                found.add(word)
        return found

    def waiting_words(self, ns: int) -> set[str]:
        upto = _upto(self._connection, ns)
        waiting = _waiting(self._connection, ns, upto, SEQ_MASK, _HEARD)
        return {word for _, document in waiting for part in document.spoken() for word in part}

    def behind(self) -> list[int]:
        query = f"SELECT ns FROM namespaces WHERE fts_upto < {_NEWEST_SEQ}"
        return [ns for (ns,) in self._connection.execute(query)]

    def is_due(self, newest: int, count: int) -> bool:
        if count >= AT_ONCE:
            return True
        ns, looked = newest >> SEQ_BITS, self._looked
        if 0 <= newest - looked.get(ns, -LOOKED_EVERY) < LOOKED_EVERY:
            return False
        if len(looked) >= MOST_LOOKED:
            looked.clear()
        looked[ns] = newest
        return newest - _upto(self._connection, ns) >= MOST_WAITING - LOOKED_EVERY

    def index_next(self, ns: int, documents: Sequence[tuple[int, Columns]]) -> None:
        _insert_postings(self._connection, documents)
        self._took(ns, documents[0][0], documents[-1][0])

    def _took(self, ns: int, first: int, newest: int) -> None:
        """Note that the next rows of a namespace are indexed, and queue them for vectors."""
        self._connection.execute(_OWE_VECTORS, (first, newest))
        query = "UPDATE namespaces SET fts_upto = ? WHERE ns = ?"
        self._connection.execute(query, (newest & SEQ_MASK, ns))

    def catch_up(self, ns: int, most: int = SEQ_MASK) -> bool:
        waiting = _waiting(self._connection, ns, _upto(self._connection, ns), most)
        if waiting:
            self.index_next(ns, waiting)
        return len(waiting) == most

    def replace(self, docid: int, document: Columns) -> None:
        ns = docid >> SEQ_BITS
        if docid > _upto(self._connection, ns):
            self.catch_up(ns)  # so that a `LiteTail` that holds the old text lets go of it
        self._connection.execute("DELETE FROM memories_fts WHERE rowid = ?", (docid,))
        _insert_postings(self._connection, [(docid, document)])

    def remove(self, docids: Sequence[int]) -> int:
        """Remove rows; FTS5 merges nothing meanwhile, since a full disk may lack the room."""
        execute = self._connection.execute
        self._command("crisismerge", MANY_SEGMENTS)
        query = "DELETE FROM memories_fts WHERE rowid IN (SELECT value FROM json_each(?))"
        removed = execute(query, (json.dumps(list(docids)),)).rowcount
        execute("SAVEPOINT removed")  # FTS5 writes what it holds back
        execute("RELEASE removed")
        self._command("crisismerge", SEGMENTS)
        return removed

    def lose_later(self) -> None:
        """Note that the newest rows were removed and that their row ids may be used again."""
        self._connection.execute(
            f"UPDATE namespaces SET fts_upto = min(fts_upto, ifnull({_NEWEST_SEQ}, 0))"
        )

    def edition(self) -> int:
        (version,) = self._connection.execute("PRAGMA schema_version").fetchone()
        return int(version)

    def merge(self, *, anew: bool = False) -> bool:
        """Merge some segments: a query searches each, and every commit adds one.

        Otherwise FTS5 would do it within an ``add``. With ``anew`` it starts to merge all segments
        into one, without the words of deleted rows; then call it without ``anew`` until it returns
        False.
        """
        before = self._connection.total_changes
        self._command("merge", -MERGED_PAGES if anew else MERGED_PAGES)
        return self._connection.total_changes - before > 1  # Source: sqlite.org/fts5.html, merge

    def intact(self) -> bool:
        """Return whether the index agrees with its rows."""
        try:
            self._command("integrity-check", 1)
        except DatabaseError:
            return False
        return True

    def intact_as_read(self) -> bool:
        """As `intact`, for a new connection that only reads; an older one has cached too much."""
        try:
            found = self._connection.execute("PRAGMA integrity_check(memories_fts)").fetchall()
        except DatabaseError:
            return False
        return found == [("ok",)]

    def misindexed(self) -> list[tuple[int, tuple[str, ...] | None]]:
        indexed = self._connection.cursor()
        known = {ns: _upto(self._connection, ns) for ns in self._namespaces()}
        wrong = []
        query = f"SELECT {COLUMNS} FROM memories ORDER BY docid"
        for row in (Row(*values) for values in self._connection.execute(query)):
            if row.docid > known.get(row.ns, 0):
                continue  # not indexed yet, or without a namespace, see ``namespaces.wrong``
            found = indexed.execute(
                "SELECT title, head, rest FROM memories_fts WHERE rowid = ?", (row.docid,)
            ).fetchone()
            if found != tuple(columns_of(row)):
                wrong.append((row.docid, found))
        return wrong

    def strays(self) -> int:
        query = f"SELECT count(*) FROM memories_fts WHERE {_STRAY}"
        return int(self._connection.execute(query).fetchone()[0])

    def drop_strays(self) -> None:
        self._connection.execute(f"DELETE FROM memories_fts WHERE {_STRAY}")

    def rebuild(self) -> int:
        execute = self._connection.execute
        execute("DROP TABLE memories_fts")  # DELETE would read what may be damaged
        for statement in FULLTEXT:
            execute(statement)
        execute("UPDATE namespaces SET fts_upto = 0")
        for ns in self._namespaces():
            while self.catch_up(ns, REBUILT_AT_ONCE):
                pass
        return int(execute("SELECT count(*) FROM memories_fts").fetchone()[0])

    def _upto(self, ns: int) -> int:
        return _upto(self._connection, ns)

    def _namespaces(self) -> list[int]:
        return [ns for (ns,) in self._connection.execute("SELECT ns FROM namespaces")]

    def _command(self, name: str, value: int) -> None:
        query = "INSERT INTO memories_fts (memories_fts, rank) VALUES (?, ?)"
        self._connection.execute(query, (name, value))


class LiteTail:
    """The full text of waiting rows: an FTS5 index in RAM; see ``contract.Tail``.

    Args:
        turn: Returns the lock that the calling thread must hold while it is inside SQLite, so that
            a fork waits for it; callers of ``follow`` hold it already.
    """

    def __init__(self, turn: Callable[[], AbstractContextManager[object]]) -> None:
        self._turn = turn
        self._lock = threading.Lock()
        self._index: Connection | None = None
        self._held: dict[int, int] = {}  # maps a namespace to its newest row id here
        self._known: dict[int, int] = {}  # and to the newest that was in the index

    def ahead(self, session: Transaction, ns: int) -> None:
        after = self._held.get(ns, self._known.get(ns))
        session.ahead(lambda c: _upto(cast("Connection", c), ns))
        if after is not None:
            session.ahead(lambda c: _waiting(cast("Connection", c), ns, after, SEQ_MASK))

    def follow(
        self,
        session: Transaction,
        ns: int,
        newest: int,
        erased: Iterable[int] = (),
        *,
        afresh: bool = False,
    ) -> None:
        connection = cast("Connection", session)
        self._known[ns] = known = _upto(connection, ns)
        with self._lock:
            if ns in self._held:
                self._let_go(ns, self._held[ns] if afresh else known, erased)
            if ns << SEQ_BITS | newest > known:
                waiting = _waiting(connection, ns, self._held.get(ns, known), SEQ_MASK)
                if waiting:
                    self._take(ns, waiting)

    def hold(self, ns: int, documents: Sequence[tuple[int, Columns]]) -> None:
        if documents:
            with self._turn(), self._lock:
                self._take(ns, documents)

    def postings(self, ns: int, matches: Sequence[Match], limit: int) -> list[NDArray[np.int64]]:
        with self._turn(), self._lock:
            if ns not in self._held:
                return [_seqs("")] * len(matches)
            return look_up(self._open(), ns, matches, limit)

    def _take(self, ns: int, documents: Sequence[tuple[int, Columns]]) -> None:
        _insert_postings(self._open(), documents)
        self._held[ns] = documents[-1][0]

    def _let_go(self, ns: int, known: int, erased: Iterable[int]) -> None:
        delete, (low, _) = "DELETE FROM memories_fts WHERE rowid BETWEEN ? AND ?", docid_range(ns)
        self._open().execute(delete, (low, known))
        self._open().executemany(delete, [(docid, docid) for docid in erased])
        if self._held[ns] <= known:
            del self._held[ns]

    def _open(self) -> Connection:
        if self._index is None:
            self._index = open_in_memory()
            weakref.finalize(self, self._index.close)  # after the last search that looks into it
            for statement in FULLTEXT:
                self._index.execute(statement)
        return self._index


def look_up(
    connection: Connection, ns: int, matches: Sequence[Match], limit: int
) -> list[NDArray[np.int64]]:
    """Find the newest rows of a namespace that match each of several expressions, ascending.

    The numbers of the rows come joined by commas, in no order: one value costs the driver less than
    the rows would (0.1 µs per row against 0.5).
    """
    execute, low, high = connection.execute, ns << SEQ_BITS, ns << SEQ_BITS | SEQ_MASK
    asked = [(expression(one), low, high, limit) for one in matches]
    found = [execute(_POSTINGS, one).fetchone()[0] for one in asked]
    return [_seqs(one or "") for one in found]


_POSTINGS = (
    "SELECT group_concat(seq) FROM (SELECT rowid - ?2 AS seq FROM memories_fts"
    " WHERE memories_fts MATCH ?1 AND rowid BETWEEN ?2 AND ?3"
    f" ORDER BY rowid DESC {_LIMIT}?4)"
)


def _seqs(listed: str) -> NDArray[np.int64]:
    """Return numbers joined by commas as an ascending array."""
    import numpy as np  # noqa: PLC0415 - must not load with memento

    found = np.fromstring(listed, np.int64, sep=",")
    found.sort()
    return found


def _upto(connection: Connection, ns: int) -> int:
    """Return the newest indexed row id of a namespace; rows are indexed in order."""
    query = "SELECT fts_upto FROM namespaces WHERE ns = ?"
    found = connection.execute(query, (ns,)).fetchone()
    return ns << SEQ_BITS | (found[0] if found else 0)


def _waiting(
    connection: Connection, ns: int, after: int, most: int, which: str = "true"
) -> list[tuple[int, Columns]]:
    """Read the oldest rows of a namespace after a row id."""
    found = connection.execute(
        f"SELECT {COLUMNS} FROM memories WHERE docid > ? AND docid <= ? AND {which}"
        f" ORDER BY docid {_LIMIT}?",
        (after, ns << SEQ_BITS | SEQ_MASK, most),
    )
    return [(row.docid, columns_of(row)) for row in (Row(*values) for values in found)]


def _insert_postings(connection: Connection, documents: Iterable[tuple[int, Columns]]) -> None:
    connection.executemany(
        "INSERT INTO memories_fts (rowid, title, head, rest) VALUES (?, ?, ?, ?)",
        [(docid, *document) for docid, document in documents],
    )
