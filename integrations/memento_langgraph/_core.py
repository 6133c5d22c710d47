"""What the store needs of the manager's inside, in one place.

Each function here is to become a method of ``MemoryManager``; until then this module alone of
this package knows the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from memento import MemoryManager, correct
from memento.ledger.rows import Row
from memento.ledger.sqlite import Connection

_EXPIRED = "SELECT id FROM memories WHERE ns = ? AND status = 'active' AND expires_at <= ?"


def clock_of(manager: MemoryManager) -> Callable[[], datetime]:
    """Return the clock the manager goes by."""
    return manager._engine.clock  # noqa: SLF001 - see above


def sweep(manager: MemoryManager) -> int:
    """Forget what has expired, in one transaction, so that it leaves the indexes; counts it.

    Raises:
        StoreError: If the store cannot be written.
    """
    engine = manager._engine  # noqa: SLF001 - see above
    now, ns = engine.now(), engine.ledger.find_namespace(manager.namespace)
    if ns is None:
        return 0
    number = ns

    def job(connection: Connection) -> list[Row]:
        expired = connection.execute(_EXPIRED, (number, now)).fetchall()
        return [correct.forget(connection, number, name, now=now) for (name,) in expired]

    rows = engine.ledger.write(job)
    engine.changed(number, rows)
    return len(rows)
