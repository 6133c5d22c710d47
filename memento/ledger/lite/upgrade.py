"""Make the tables of a new file, and bring a file of an earlier release up to date."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from memento.errors import StoreFromTheFuture, StoreUnusable
from memento.ledger import schema
from memento.ledger.lite.sqlite import Connection

if TYPE_CHECKING:
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

_WHAT_IT_IS = (
    "SELECT (SELECT application_id FROM pragma_application_id),"
    " (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_master)"
)
"""One statement, so that it never sees a file that another process has half initialised."""


def check_version(connection: Connection, path: Path) -> int:
    """Return the schema version of the file, 0 for an empty one; refuse a file that is not ours."""
    application, version, tables = connection.execute(_WHAT_IT_IS).fetchone()
    if application != schema.APPLICATION_ID and (application or version or tables):
        raise StoreUnusable(path, "this SQLite file belongs to another program")
    if version > schema.SCHEMA_VERSION:
        raise StoreFromTheFuture(path, found=version, known=schema.SCHEMA_VERSION)
    return int(version)


def migrate(connection: Connection, path: Path) -> None:
    """Bring the file to ``SCHEMA_VERSION`` in one transaction, unless it is there already."""
    if check_version(connection, path) == schema.SCHEMA_VERSION:
        return
    from sqlite_utils import Database  # noqa: PLC0415 - costs 0.1 s, needed on first open only

    try:
        connection.execute("BEGIN IMMEDIATE")
        version = check_version(connection, path)  # another process may have been faster
        if version < schema.SCHEMA_VERSION:
            _migrations(version).apply(Database(connection, execute_plugins=False))
            connection.execute(f"PRAGMA application_id={schema.APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={schema.SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except BaseException:  # also an interruption: all of the statements or none
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _migrations(version: int) -> Migrations:
    """Return what a file of a version lacks; the file records the name of each."""
    from sqlite_utils import migrations as library  # noqa: PLC0415 - see migrate()

    migrations = library.Migrations("memento")
    for reached, statements in schema.missing(version):
        migrations(name=f"m{reached:03}_schema")(_run(statements))
    return migrations


def _run(statements: list[str]) -> Callable[[Database], None]:
    def run(db: Database) -> None:
        for statement in statements:
            db.execute(statement)

    return run
