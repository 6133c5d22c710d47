"""Bringing an SQLite file to the present schema, and telling whose file it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from memento.errors import StoreFromTheFuture, StoreUnusable
from memento.ledger import schema

if TYPE_CHECKING:
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

    from memento.ledger.lite.sqlite import Connection


def migrate(connection: Connection, path: Path) -> None:
    """Bring the file to ``schema.SCHEMA_VERSION``; does nothing when it is there already.

    All pending migrations and the version stamp are one transaction: a crash leaves the
    old schema or the new one.

    Raises:
        StoreFromTheFuture: If a newer memento wrote the file.
        StoreUnusable: If another program did.
    """
    if check_version(connection, path) == schema.SCHEMA_VERSION:
        return
    from sqlite_utils import Database  # noqa: PLC0415 - costs 0.1 s, needed on first open only

    try:
        connection.execute("BEGIN IMMEDIATE")
        if check_version(connection, path) < schema.SCHEMA_VERSION:
            _migrations().apply(Database(connection, execute_plugins=False))
            connection.execute(f"PRAGMA application_id={schema.APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={schema.SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except BaseException:  # also an interruption: all of the migrations or none
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


_WHAT_IT_IS = (
    "SELECT (SELECT application_id FROM pragma_application_id),"
    " (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_master)"
)
"""One statement, so that it never sees half of what another process is just turning it into."""


def check_version(connection: Connection, path: Path) -> int:
    """Return the schema version of the file; 0 for an empty one.

    Raises:
        StoreFromTheFuture: If it is newer than this code.
        StoreUnusable: If the file holds another program's tables.
    """
    application, version, tables = connection.execute(_WHAT_IT_IS).fetchone()
    if application != schema.APPLICATION_ID and (application or version or tables):
        raise StoreUnusable(path, "this SQLite file belongs to another program")
    if version > schema.SCHEMA_VERSION:
        raise StoreFromTheFuture(path, found=version, known=schema.SCHEMA_VERSION)
    return int(version)


_SCRIPTS = {"m001_schema": schema.SCHEMA}
"""Every migration in order. A name is recorded in the file, so it never changes."""


def _migrations() -> Migrations:
    from sqlite_utils import migrations as library  # noqa: PLC0415 - see migrate()

    migrations = library.Migrations("memento")
    for name, script in _SCRIPTS.items():
        migrations(name=name)(_step(script))
    return migrations


def _step(script: str) -> Callable[[Database], None]:
    def run(db: Database) -> None:
        for statement in script.split(";\n"):
            if statement.strip():
                db.execute(statement)

    return run
