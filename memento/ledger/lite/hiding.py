"""Hide memories that are erased and not deleted yet from a reading connection.

A view of the connection's own stands before the table ``memories`` and has its name, so that every
query goes through it. It is there only while very many memories are being erased: the planner then
has a little more to do, and at other times nothing.
"""

from __future__ import annotations

from memento.ledger.erase_many import is_under_way
from memento.ledger.lite.sqlite import Connection

_HIDE = (
    "CREATE TEMP VIEW memories AS SELECT * FROM main.memories"
    " WHERE docid NOT IN (SELECT docid FROM main.erased)"
)
_SHOW = "DROP VIEW temp.memories"


def hide_erased(connection: Connection, *, hidden: bool) -> bool:
    """Hide erased memories if some are still being deleted, and no longer if none are.

    Args:
        connection: A reading connection, inside a transaction.
        hidden: Whether it hides them already.

    Returns:
        Whether it hides them now.
    """
    wanted = is_under_way(connection)
    if wanted != hidden:
        connection.execute("PRAGMA query_only=0")  # the view is in no file, but counts as writing
        try:
            connection.execute(_HIDE if wanted else _SHOW)
        finally:
            connection.execute("PRAGMA query_only=1")
    return wanted
