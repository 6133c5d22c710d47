"""The ledger on a PostgreSQL server; see ``contract.Ledger``."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

import psycopg
from psycopg import errors, sql
from psycopg_pool import ConnectionPool

from memento.base import layout
from memento.base.files import explain_os
from memento.base.home import cache_folder, shown, without
from memento.errors import (
    InvalidInput,
    StoreBusy,
    StoreClosed,
    StoreError,
    StoreFromTheFuture,
    StoreUnusable,
)
from memento.ledger import meta, namespaces, schema
from memento.ledger.contract import Moment
from memento.ledger.erasure import UNDER_WAY
from memento.ledger.group import commit_separately
from memento.ledger.pg import schema as tables
from memento.ledger.pg.connect import (
    BY_INDEX,
    Error,
    Lost,
    PgTransaction,
    at_home,
    configure,
    explain,
)
from memento.ledger.pg.words import PgTail, renew_cutter
from memento.ledger.pg.writer import PgWriter
from memento.ledger.rows import single

T = TypeVar("T")

log = logging.getLogger("memento.ledger.pg.store")

SCHEMA = "memento"
"""Schema of the store unless the address names one: ``?schema=``."""
MOST_CONNECTIONS = 32
"""Maximum number of connections of a process; a thread that needs one more waits."""
WAIT_SECONDS = 30.0
"""Seconds a call waits for a connection, and a connection for the server."""
OLDEST_SERVER = 15
_CONNECTED: dict[str, Any] = {
    "autocommit": True, "cursor_factory": psycopg.RawCursor, "client_encoding": "UTF8",
}  # fmt: skip
LONGEST_SCHEMA = 50
"""Bytes; PostgreSQL cuts names off at 63, and memento appends to this one."""

_WRITTEN = "SELECT sum(n)::bigint FROM {0}.written"
_BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
LEASE_SECONDS = 30.0
"""Seconds after which the claim of a process that died is free again."""
_CLAIM = (
    "INSERT INTO {0}.work AS held SELECT name, $2, clock_timestamp() + $3 * interval '1 second'"
    " FROM unnest($1::text[]) AS name ORDER BY name"
    " ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until"
    " WHERE held.until < clock_timestamp() RETURNING name"
)
_RELEASE = (
    "DELETE FROM {0}.work WHERE name IN (SELECT name FROM {0}.work"
    " WHERE holder = $1 OR until < clock_timestamp() FOR UPDATE SKIP LOCKED)"
)
_HIDE_ERASED = "SET LOCAL search_path = {}, {}, pg_catalog"
_VIEW = (
    "CREATE OR REPLACE VIEW {0}.memories WITH (security_invoker = true) AS"
    " SELECT * FROM {1}.memories WHERE docid NOT IN (SELECT docid FROM {1}.erased)"
)
"""Made again after every change of the tables: it has the columns that were there when it was made.
"""
_IS_PAST = (
    "SELECT age(relfrozenxid) < (SELECT age(xmin) FROM {0}.meta WHERE name = 'erasing ledger')"
    " FROM pg_class WHERE oid = '{0}.meta'::regclass"
)
"""Whether nobody can read any more what was erased last: then a table that was just frozen holds no
transaction as old as the one that erased it, whoever has a snapshot, a standby too."""
WHOLE_BYTES = 16 << 20
"""Maximum size of a table, with its indexes, that is rewritten after an erasure; readers wait a
second or two. In others, bytes of deleted rows stay in the free space of a page until it is used.
"""
_TABLES = (
    "SELECT indrelid::regclass::text, relname, pg_total_relation_size(indrelid) <= $2"
    " FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
    " WHERE indisprimary AND relnamespace = to_regnamespace(quote_ident($1))"
)
_HURRY = "SET LOCAL lock_timeout = '50ms'"
"""While a lock on a whole table is waited for, all its readers wait, too."""
_HELD = "a reader is using an earlier state; the tables cannot be cleared yet"
_READ = "a reader is using a table that is to be cleared; try again"
_PRESENT = "_present"
"""End of the name of the schema that holds the view without what is being erased."""
_NAME = "store id"
"""Name in ``meta`` of the name of this store in the folder of derived files."""


class PgLedger:
    """A schema of a database; see ``contract.Ledger`` and ``opening.open_ledger``."""

    in_file = False
    immutable = False
    locks_lost = False
    reserve_trouble = ""

    def __init__(self, address: str) -> None:
        self._conninfo, self._schema, self._role, self.shown = parsed(address)
        self._closed = False
        self.read_only = False
        self._named = sql.Identifier(self._schema).as_string()
        self._home = at_home(self._schema)
        self._state = f"SELECT ({UNDER_WAY}), ({_WRITTEN.format(self._named)})"
        self._renew()
        self._namespaces: dict[tuple[str, ...], int] = {}
        self._step_down = ""
        try:
            self._open()
        except BaseException:  # also an interruption: nobody else can close it
            self.close()
            raise
        _opened.add(self)

    @property
    def closed(self) -> bool:
        return self._closed

    def write(
        self,
        job: Callable[[PgTransaction], T],
        *,
        spaces: Collection[int] | None = None,
        **_room: bool,
    ) -> T:
        self._check_open()
        return self._writer.run(job, spaces)

    def commit_separately(self) -> None:
        commit_separately()

    def read(self, job: Callable[[PgTransaction], T], *, space: int | None = None) -> T:
        self._check_open()
        inner: PgTransaction | None = getattr(self._local, "session", None)
        if inner is not None:  # a signal handler that reads within a read shares its snapshot
            with _moved(inner, space):
                return job(inner)
        try:
            with self._lend() as connection:
                session = PgTransaction(connection)
                try:
                    with connection.pipeline():  # one message, of statements that are prepared
                        connection.execute(_BEGIN_READ)
                        connection.execute(self._home)
                        state = connection.execute(self._state)
                        if space is not None:
                            connection.execute(f"SELECT {BY_INDEX}")
                        if self._step_down and space is not None:
                            session.space = space
                            connection.execute(f"SELECT {tables.SEES.format(space)}")
                            connection.execute(self._step_down)
                    hides, session.written = state.fetchone() or (None, 0)
                    if hides:
                        connection.execute(self._hide_erased)
                    self._local.session = session
                    return job(session)
                finally:
                    self._local.session = None
                    session.end_job()
                    if not connection.closed:  # after a rollback the driver prepares all anew
                        connection.commit()
        except Error as error:
            raise explain(self.shown, error) from error

    def gathered(self, job: Callable[[], T], *, space: int) -> T:
        return self.read(lambda _: job(), space=space)

    @contextmanager
    def claimed(self, names: Iterable[object]) -> Iterator[Collection[object]]:
        asked = {str(name): name for name in names}
        holder = uuid4().hex
        held = {name for (name,) in self._at_once(_CLAIM, [*asked], holder, LEASE_SECONDS)}
        try:
            yield [name for text, name in asked.items() if text in held]
        finally:
            with suppress(StoreError):  # then it ends with its lease
                self._at_once(_RELEASE, holder)

    def check_present(self) -> None:
        self._check_open()

    def find_namespace(self, labels: tuple[str, ...]) -> int | None:
        self._check_open()
        number = self._namespaces.get(labels)
        if number is None:
            number = self.read(lambda session: namespaces.find(session, labels))
            if number is not None:
                self._namespaces[labels] = number
        return number

    def labels(self, ns: int) -> tuple[str, ...]:
        return self.read(lambda session: namespaces.labels_of(session, ns), space=ns)

    def is_writing(self) -> bool:
        query = (
            "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            " AND classid = (hashtext(current_schema())::bigint & 4294967295)::oid AND objid = 0)"
        )
        return bool(self.read(lambda session: single(session, query)))

    def moment(self) -> Moment:
        inner: PgTransaction | None = getattr(self._local, "session", None)
        if inner is not None:
            return 0, inner.written
        ((count,),) = self._at_once(_WRITTEN)
        return 0, int(count)

    def _at_once(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Run a statement in a transaction of its own; ``{0}`` in it is the schema."""
        self._check_open()
        try:
            with self._lend() as connection:
                answer = connection.execute(statement.format(self._named), parameters)
                return answer.fetchall() if answer.description else []
        except Error as error:
            raise explain(self.shown, error) from error

    @property
    def library(self) -> tuple[str, str]:
        version = self.read(lambda s: single(s, "SHOW server_version"))
        return "postgresql", f"PostgreSQL {version}"

    def make_tail(self) -> PgTail:
        return PgTail(lambda: self._turn)

    def quick_check(self) -> list[str]:
        return []  # the server checks its own files

    def words_intact(self) -> bool:
        return self.read(lambda session: session.words.intact())

    def compact(self) -> None:
        with self.claimed(["clear the tables"]) as mine, self._lend() as connection:
            if not mine:
                raise StoreBusy(self.shown, "another process is clearing the tables")
            connection.execute(f"VACUUM (FREEZE) {self._named}.meta")
            if connection.execute(_IS_PAST.format(self._named)).fetchone() == (False,):
                raise StoreBusy(self.shown, _HELD)
            tables = connection.execute(_TABLES, (self._schema, WHOLE_BYTES)).fetchall()
            for table, index, is_small in tables:
                connection.execute(f"VACUUM (FREEZE, INDEX_CLEANUP ON, ANALYZE) {table}")
                if is_small:
                    self._rewrite(connection, f"CLUSTER {table} USING {index}")

    def _rewrite(self, connection: psycopg.Connection[Any], statement: str) -> None:
        try:
            with connection.transaction():
                connection.execute(_HURRY)
                connection.execute(statement)
        except errors.LockNotAvailable as error:
            raise StoreBusy(self.shown, _READ) from error

    def fold_log(self, seconds: float) -> bool:  # noqa: ARG002 - see ``contract``
        return True  # the server's log is the server's

    def checkpoint(self) -> None:
        """Leave it to the server."""

    def keep_reserve(self) -> None:
        """Leave it to the server."""

    def size(self) -> int:
        query = (
            "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relkind = 'r'"
            " AND relnamespace = quote_ident(current_schema())::regnamespace"
        )
        return int(self.read(lambda session: single(session, query)) or 0)

    def wal_bytes(self) -> int:
        return 0

    def growth(self) -> int:
        return 0

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._writer.close()
        self._pool.close()

    def hold_still(self) -> None:
        """Let no thread search a tail while the process forks; ``go_on`` ends it."""
        self._turn.acquire()

    def go_on(self) -> None:
        """End ``hold_still``."""
        self._turn.release()

    def reopen_after_fork(self) -> None:
        """Forget the parent's connections without touching them; they are the parent's."""
        _inherited.append((self._pool, self._writer))
        self._renew()

    def _renew(self) -> None:
        self._lock = threading.Lock()
        self._turn = threading.RLock()
        self._local = threading.local()
        self._pool = ConnectionPool(
            self._conninfo,
            min_size=0,
            max_size=MOST_CONNECTIONS,
            timeout=WAIT_SECONDS,
            open=False,
            configure=lambda connection: configure(connection, self._schema),
            kwargs=_CONNECTED,
            name="memento",
        )
        self._opening = threading.Lock()
        self._is_open = False
        self._writer = PgWriter(self.shown, self._lend, self._home)

    @contextmanager
    def _lend(self) -> Iterator[psycopg.Connection[Any]]:
        if not self._is_open:
            with self._opening:
                if not self._is_open and not self._closed:
                    self._pool.open()
                    self._is_open = True
        try:
            with self._pool.connection() as connection:
                yield connection
        except Lost:
            with suppress(*Error):
                self._pool.check()  # those that went with it are not lent any more
            raise

    def _open(self) -> None:
        try:
            with psycopg.connect(self._conninfo, **_CONNECTED) as connection:
                self._refuse_unsafe(connection)
                configure(connection, self._schema)
                self._make(connection)
                if self._role:
                    self._fence(connection, self._role)
            name = self.read(lambda session: meta.get(session, _NAME))
        except Error as error:
            if isinstance(error, psycopg.OperationalError):
                problem = f"the server cannot be reached: {str(error).splitlines()[0]}"
                raise StoreUnusable(self.shown, problem) from error
            raise explain(self.shown, error) from error
        self.root = cache_folder() / str(name)
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise explain_os(self.root, error) from error
        self.path = self.root / layout.LEDGER

    def _refuse_unsafe(self, connection: psycopg.Connection[Any]) -> None:
        """Refuse a server that acknowledges writes that a crash can lose, or that is too old."""
        version = connection.info.server_version
        if version < OLDEST_SERVER * 10_000:
            problem = f"is PostgreSQL {version // 10_000}; memento needs {OLDEST_SERVER} or later"
            raise StoreUnusable(self.shown, problem)
        (encoding,) = connection.execute("SHOW server_encoding").fetchone() or ("",)
        if encoding != "UTF8":
            problem = f"has the encoding {encoding}; memento needs a database in UTF8"
            raise StoreUnusable(self.shown, problem)
        for setting in ("fsync", "synchronous_commit"):
            (value,) = connection.execute(f"SHOW {setting}").fetchone() or ("",)
            if value == "off":
                raise StoreUnusable(
                    self.shown,
                    f"has {setting} = off: a crash of the server would lose memories that were"
                    f" acknowledged; set {setting} = on for this database",
                )

    def _make(self, connection: psycopg.Connection[Any]) -> None:
        """Create the tables or bring them up to date, one process at a time."""
        own, hidden = (sql.Identifier(name) for name in (self._schema, f"{self._schema}{_PRESENT}"))
        self._hide_erased = sql.SQL(_HIDE_ERASED).format(hidden, own).as_string()
        with connection.transaction():
            connection.execute(self._home)
            connection.execute("SELECT pg_advisory_xact_lock(hashtext($1), 1)", (self._schema,))
            version = self._version(connection)
            if not version:
                for name in (own, hidden):
                    connection.execute(
                        sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name).as_string()
                    )
            if version < schema.SCHEMA_VERSION:
                connection.execute(";\n".join(tables.statements(version)))
                connection.execute(sql.SQL(_VIEW).format(hidden, own).as_string())
            if not version:
                connection.execute(
                    "INSERT INTO meta VALUES ($1, replace(gen_random_uuid()::text, '-', ''))",
                    (_NAME,),
                )
                log.info("created a new store in %s", self.shown)
            is_bound = connection.execute("SELECT row_security_active('memories')").fetchone()
        if is_bound == (True,):
            problem = "has row security that hides every memory from this user: connect as the"
            raise StoreUnusable(self.shown, f"{problem} owner of the tables, or as a member of it")

    def _version(self, connection: psycopg.Connection[Any]) -> int:
        """Return the schema version of the store, 0 if there is none yet."""
        if connection.execute("SELECT to_regclass('meta')").fetchone() == (None,):
            return 0
        query = "SELECT (value).n FROM meta WHERE name = 'schema'"
        (version,) = connection.execute(query).fetchone() or (None,)
        if version is None:
            raise StoreUnusable(self.shown, "has a table `meta` that does not state its version")
        casts = "SELECT count(*) FROM pg_cast WHERE casttarget = 'memento_value'::regtype"
        if connection.execute(casts).fetchone() == (0,):
            problem = "lacks its casts, which a dump of one schema leaves out: dump the database"
            raise StoreUnusable(self.shown, problem)
        if version > schema.SCHEMA_VERSION:
            raise StoreFromTheFuture(self.shown, found=version, known=schema.SCHEMA_VERSION)
        return int(version)

    def _fence(self, connection: psycopg.Connection[Any], role: str) -> None:
        """Let a role read the rows of one namespace at a time, and check that it is bound to it."""
        named = sql.Identifier(role).as_string()
        with connection.transaction():
            connection.execute(self._home)
            found = connection.execute(tables.IS_FREE, (role,)).fetchone()
            if found is None:
                problem = f"has no role {role}: CREATE ROLE {named} NOLOGIN, and GRANT it"
                raise StoreUnusable(self.shown, f"{problem} to this user")
            if not found[1]:
                problem = f"has a role {role} that this user is not a member of"
                raise StoreUnusable(self.shown, f"{problem}: GRANT {named} to this user")
            if found[0]:
                problem = f"has a role {role} that row security does not bind: it owns the tables,"
                raise StoreUnusable(self.shown, f"{problem} is a superuser, or has BYPASSRLS")
            connection.execute("SELECT pg_advisory_xact_lock(hashtext($1), 1)", (self._schema,))
            owners = connection.execute(tables.OWNERS, (role,)).fetchall()
            if not all(is_fenced for *_, is_fenced in owners):
                connection.execute(";\n".join(tables.fence(self._schema, named, owners)))
        self._step_down = f"SET LOCAL ROLE {named}"

    def _check_open(self) -> None:
        if self._closed:
            raise StoreClosed(self.shown)


@contextmanager
def _moved(session: PgTransaction, space: int | None) -> Iterator[None]:
    """Let a session see another namespace during the block, if it sees only one."""
    before = session.space
    if space is None or before in (None, space):
        yield
        return
    try:
        session.connection.execute(f"SELECT {tables.SEES.format(space)}")
        session.space = space
        yield
    finally:
        session.space = before
        with suppress(psycopg.Error):  # then the transaction has failed, and reads nothing more
            session.connection.execute(f"SELECT {tables.SEES.format(before)}")


class Address(NamedTuple):
    """The driver's connection string, the schema, a role or ``""``, and the address to show."""

    conninfo: str
    schema: str
    role: str
    shown: str


def parsed(address: str) -> Address:
    """Take an address apart.

    >>> parsed("postgresql://me:secret@host/db?schema=team&role=reader")[1:]
    ('team', 'reader', 'postgresql://me@host/db?schema=team&role=reader')
    """
    options = parse_qsl(urlsplit(address).query, keep_blank_values=True)
    ours = {name: value for name, value in options if name in ("schema", "role")}
    schema_name = ours.get("schema", SCHEMA)
    if not schema_name.isidentifier() or len(schema_name.encode()) > LONGEST_SCHEMA:
        raise InvalidInput(
            "root", "specifies a schema name that is not an identifier of at most 50 bytes"
        )
    if schema_name.endswith(_PRESENT):
        raise InvalidInput("root", f"specifies a schema whose name ends in {_PRESENT}")
    try:
        conninfo = without(address, *ours)
        psycopg.conninfo.conninfo_to_dict(conninfo)
    except psycopg.ProgrammingError as error:
        problem = (
            "is not the address of a PostgreSQL database, such as postgresql://user@host/database"
        )
        raise InvalidInput("root", problem) from error
    return Address(conninfo, schema_name, ours.get("role", ""), shown(address))


_opened: weakref.WeakSet[PgLedger] = weakref.WeakSet()
_inherited: list[object] = []
"""Pools of a forked parent, kept so that the child never closes them."""
_held: list[PgLedger] = []
"""Ledgers that ``_before_fork`` holds; of the one thread that has ``_forking``."""
_forking = threading.Lock()


def _before_fork() -> None:
    _forking.acquire()
    for ledger in list(_opened):
        ledger.hold_still()
        _held.append(ledger)


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop().go_on()
    _forking.release()


def _after_fork_in_child() -> None:
    _held.clear()
    _forking.release()
    renew_cutter()
    for ledger in list(_opened):
        ledger.reopen_after_fork()


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
)
