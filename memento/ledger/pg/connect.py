"""Connections to the server, the session of a job, and the translation of the server's errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg
from psycopg import errors, sql
from psycopg.types.composite import CompositeInfo, register_composite
from psycopg.types.numeric import Int8Dumper
from psycopg.types.string import StrDumper
from psycopg_pool import PoolClosed, PoolTimeout

from memento.errors import (
    ReadOnlyStore,
    StorageFailed,
    StorageFull,
    StoreBusy,
    StoreClosed,
    StoreError,
    StoreUnusable,
)
from memento.ledger.pg.words import PgWords

if TYPE_CHECKING:
    from memento.ledger.contract import Answer, Transaction
    from memento.ledger.pg.words import Terms

Error = (psycopg.Error, PoolTimeout, PoolClosed)
"""Errors of the driver and of its pool."""
Lost = (psycopg.OperationalError, psycopg.InterfaceError)
"""Errors after which a connection may be gone."""

BY_INDEX = (
    "set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true),"
    " set_config('plan_cache_mode', 'force_generic_plan', true)"
)
"""Columns of a ``SELECT`` after which each statement of a transaction is planned once and uses an
index, also if it was planned for an empty table. Only for transactions of one namespace: what reads
a whole table has no index. A scan of a table, for want of an index, then counts as so dear that
PostgreSQL before 18 would compile the statement first: for 0.2 s and more, each time."""

_HOLES = re.compile(r"'(?:[^']|'')*'|\?(\d*)")
_MARKED = {
    "IS /* same */": "IS NOT DISTINCT FROM",
    "IS NOT /* same */": "IS DISTINCT FROM",
    "NOT INDEXED": "",
    "CROSS /* in this order */ JOIN": "JOIN",
    "/* bytes */ BLOB": "text",
}
"""Maps fragments of ``dialect`` to what the server has instead."""
_NUMBERS = re.compile(r"IN \(SELECT CAST\(value AS BIGINT\) FROM json_each\((\?\d*)\)\)")
_ARRAY = r"= ANY (CAST((SELECT translate(\1, '[]', '{}')) AS bigint[]))"
"""``dialect.one_of_numbers``, and what finds the rows by their index behind row security, too."""


@lru_cache(maxsize=4096)
def prepared(statement: str) -> str:
    """Return a statement of the shared SQL for the server, with numbered parameters.

    >>> prepared("SELECT '?' WHERE a = ? AND b = ?1")
    "SELECT '?' WHERE a = $1 AND b = $1"
    """
    highest = 0

    def named(found: re.Match[str]) -> str:
        nonlocal highest
        if not found[0].startswith("?"):
            return found[0]
        number = int(found[1]) if found[1] else highest + 1
        highest = max(highest, number)
        return f"${number}"

    for here, there in _MARKED.items():
        statement = statement.replace(here, there)
    return _HOLES.sub(named, _NUMBERS.sub(_ARRAY, statement))


class PgTransaction:
    """The session of a job: one connection inside a transaction, see ``contract.Transaction``.

    ``upto`` maps the namespaces to how far their full text was when the transaction locked them;
    ``written`` is the number of commits that a snapshot has seen; ``space`` is the only namespace
    whose rows it sees, None for all.
    """

    __slots__ = (
        "_answers",
        "_early",
        "_queue",
        "_upto",
        "_whole",
        "connection",
        "space",
        "written",
    )

    def __init__(
        self, connection: psycopg.Connection[Any], upto: Mapping[int, int] | None = None
    ) -> None:
        self.connection, self._upto = connection, upto or {}
        self._whole: Terms | None = {} if upto is None else None  # a write changes them
        self.written = 0
        self.space: int | None = None
        self._answers: list[psycopg.Cursor[Any]] = []
        self._queue: list[_Asked] = []
        self._early: list[tuple[_Asked, psycopg.Cursor[Any]]] = []

    @property
    def words(self) -> PgWords:
        return PgWords(self, self._upto, {} if self._whole is None else self._whole)

    @property
    def in_transaction(self) -> bool:
        return self.connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE

    def execute(self, statement: str, parameters: Any = (), /) -> Answer:
        asked = _Asked(statement, parameters)
        if not statement.startswith("SELECT"):
            self._forget_early()
        cursor = self._take_early(asked)
        if cursor is None and self._queue:
            self._ask_all(asked)
            cursor = self._take_early(asked)
        if cursor is None:
            cursor = self.connection.execute(prepared(statement), parameters or None)
            self._answers.append(cursor)
        return _Answer(cursor)

    def executemany(self, statement: str, parameters: Iterable[Any], /) -> Answer:
        self._forget_early()
        cursor = self.connection.cursor()
        cursor.executemany(prepared(statement), parameters)
        self._answers.append(cursor)
        return _Answer(cursor)

    def ahead(self, *asks: Callable[[Transaction], object]) -> None:
        for ask in asks:
            try:
                ask(_Listening(self.connection, self._upto))
            except _AskedError as heard:
                if heard.asked not in (*self._queue, *(one for one, _ in self._early)):
                    self._queue.append(heard.asked)

    def _ask_all(self, asked: _Asked) -> None:
        """Execute a statement and those that were announced, in one message."""
        due, self._queue = [*self._queue, asked], []
        with self.connection.pipeline():
            for one in due if asked not in due[:-1] else due[:-1]:
                cursor = self.connection.execute(prepared(one.statement), one.parameters or None)
                self._answers.append(cursor)
                self._early.append((one, cursor))

    def _take_early(self, asked: _Asked) -> psycopg.Cursor[Any] | None:
        """Return the answer to a statement that was announced, once."""
        for at, (one, cursor) in enumerate(self._early):
            if one == asked:
                del self._early[at]
                return cursor
        return None

    def _forget_early(self) -> None:
        """Forget what a change may have made untrue."""
        self._queue.clear()
        self._early.clear()

    def end_job(self) -> None:
        """Close the cursors that a job left open, even if referred to; harmless if repeated."""
        self._forget_early()
        while self._answers:
            self._answers.pop().close()


class _Asked(NamedTuple):
    """A statement with its values."""

    statement: str
    parameters: Any


class _AskedError(Exception):
    """Ends a function that announces a statement."""

    def __init__(self, asked: _Asked) -> None:
        super().__init__()
        self.asked = asked


class _Listening(PgTransaction):
    """A session that executes nothing, and tells what it should execute."""

    __slots__ = ()

    def execute(self, statement: str, parameters: Any = (), /) -> Answer:
        raise _AskedError(_Asked(statement, parameters))


class _Answer:
    """The answer to a statement; it is empty if the statement returns no rows."""

    __slots__ = ("_cursor", "_has_rows", "rowcount")

    def __init__(self, cursor: psycopg.Cursor[Any]) -> None:
        self._cursor, self.rowcount = cursor, cursor.rowcount
        # ``description`` would tell, too, but it is made anew each time, column by column.
        self._has_rows = cursor.pgresult is not None and cursor.pgresult.nfields > 0

    def fetchone(self) -> Any:
        return self._cursor.fetchone() if self._has_rows else None

    def fetchmany(self, size: int = 1) -> list[Any]:
        return self._cursor.fetchmany(size) if self._has_rows else []

    def fetchall(self) -> list[Any]:
        return self._cursor.fetchall() if self._has_rows else []

    def __iter__(self) -> Any:
        return iter(self._cursor if self._has_rows else ())


class _NumberLoader(psycopg.adapt.Loader):
    """Loads a sum of whole numbers as an integer, as SQLite does."""

    def load(self, data: Any) -> int | float:
        said = bytes(data).decode()
        return float(said) if "." in said or said == "NaN" else int(said)


def at_home(schema: str) -> str:
    """Return the statement that finds the tables of a store, until the transaction ends.

    A pooler hands on what was set for longer to other programs.
    """
    return (
        sql.SQL("SET LOCAL search_path = {}, pg_catalog").format(sql.Identifier(schema)).as_string()
    )


def configure(connection: psycopg.Connection[Any], schema: str) -> None:
    """Configure a new connection: the conversion of values, and what is prepared.

    Nothing is behind a pooler, which may pass the next transaction to another process of the
    server: it is not the one that the connection was told of.
    """
    (process,) = connection.execute("SELECT pg_backend_pid()").fetchone() or (0,)
    if process != connection.info.backend_pid:
        connection.prepare_threshold = None
    adapters = connection.adapters
    adapters.register_dumper(int, Int8Dumper)
    adapters.register_dumper(str, StrDumper)
    adapters.register_loader("numeric", _NumberLoader)
    if info := CompositeInfo.fetch(
        connection, f"{sql.Identifier(schema).as_string()}.memento_value"
    ):
        register_composite(info, connection, factory=_value)


def _value(number: int | None, text: str | None, octets: bytes | None) -> int | str | bytes | None:
    """Return a value of ``meta``: a number, a text, bytes or None."""
    return next((one for one in (number, text, octets) if one is not None), None)


_KINDS: tuple[tuple[type[Exception], type[StoreError], str], ...] = (
    (errors.ReadOnlySqlTransaction, ReadOnlyStore, "the store is read-only; nothing was written"),
    (errors.DiskFull, StorageFull, "the server's disk is full; nothing was written"),
    (errors.IoError, StorageFailed, "the server's disk reported an error; nothing was written"),
    (
        errors.DataCorrupted,
        StoreUnusable,
        "the server reports damaged data; restore a backup of the database",
    ),
    (errors.IndexCorrupted, StoreUnusable, "an index on the server is damaged; run REINDEX"),
    (
        errors.InsufficientPrivilege,
        ReadOnlyStore,
        "this user lacks a permission (CREATE for a new store); nothing was written",
    ),
    (PoolTimeout, StoreBusy, "no connection became available; try again, or raise max_connections"),
    (errors.LockNotAvailable, StoreBusy, "a lock was not free within lock_timeout; try again"),
    (errors.DeadlockDetected, StoreBusy, "another process is writing; try again"),
    (psycopg.OperationalError, StoreBusy, "the server cannot be reached; try again"),
)


def explain(shown: str, error: Exception) -> StoreError:
    """Return the memento error for an error of the server."""
    if isinstance(error, PoolClosed):
        return StoreClosed(shown)
    for kind, ours, problem in _KINDS:
        if isinstance(error, kind):
            return ours(shown, problem)
    return StoreError(
        shown, f"PostgreSQL error: {str(error).splitlines()[0] if str(error) else ''}"
    )
