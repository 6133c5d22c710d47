"""Look at a store beside its manager: at its files, its tables and its export."""

from __future__ import annotations

import io
import sqlite3


def read_sql(memory, query, *values):
    """Read rows of the ledger."""
    return memory._engine.ledger.read(lambda c: c.execute(query, values).fetchall())


def write_sql(memory, statement, *values):
    """Change the ledger behind memento's back."""
    memory._engine.ledger.write(lambda c: c.execute(statement, values) and None)


def counted(memory, *tables):
    """Count the rows of each table."""
    return tuple(read_sql(memory, f"SELECT count(*) FROM {table}")[0][0] for table in tables)


def content(memory, *tables):
    """Return all that tables hold, as one string."""
    return repr([read_sql(memory, f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables])


def close_and_damage(memory, statement):
    """Close a store and change its file as another program would."""
    memory.close()
    with sqlite3.connect(memory.store.root / "ledger.db") as connection:
        connection.execute(statement)
    connection.close()


def written(root):
    """Return the bytes of all files below a folder, one after the other."""
    return b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())


def exported(memory, **options):
    """Export into a string."""
    memory.store.export(stream := io.StringIO(), **options)
    return stream.getvalue()


def sound(memory):
    """Tell whether the doctor, who only looks, finds nothing wrong."""
    return [found.detail for found in memory.store.doctor(repair=False) if not found.ok] == []
