"""Make the tables of a new file, and bring a file of an earlier release up to date."""

from __future__ import annotations

from pathlib import Path

from memento.errors import StoreFromTheFuture, StoreUnusable
from memento.ledger import schema
from memento.ledger.lite.sqlite import Connection

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
    try:
        connection.execute("BEGIN IMMEDIATE")
        version = check_version(connection, path)  # another process may have been faster
        if version < schema.SCHEMA_VERSION:
            for statement in schema.statements(version):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id={schema.APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={schema.SCHEMA_VERSION}")
        connection.execute("COMMIT")
    except BaseException:  # also an interruption: all of the statements or none
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
