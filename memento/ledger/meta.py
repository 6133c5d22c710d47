"""The table ``meta``: single values of a ledger, each by its name."""

from __future__ import annotations

import json
from typing import Any

from memento.ledger.contract import Transaction
from memento.ledger.dialect import or_replace
from memento.ledger.rows import single

NOTE = f"INSERT INTO meta VALUES (?, ?) {or_replace('name', 'value')}"
BELOW = "name >= ?1 AND name < ?1 || '~'"
"""The condition that a name begins with the bound prefix."""


def get(db: Transaction, name: str) -> Any:
    """Return a value; None if there is none."""
    return single(db, "SELECT value FROM meta WHERE name = ?", (name,))


def get_number(db: Transaction, name: str) -> int:
    """Return a number; 0 if there is none or it is damaged."""
    found = get(db, name)
    return found if isinstance(found, int) else 0


def get_json(db: Transaction, name: str) -> Any:
    """Return a value read as JSON; None if there is none or it is damaged."""
    text = get(db, name)
    try:
        return json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None


def put(db: Transaction, name: str, value: Any) -> None:
    """Store a value in place of an existing one."""
    db.execute(NOTE, (name, value))


def drop(db: Transaction, name: str) -> int:
    """Remove a value; return 1 if there was one, else 0."""
    return db.execute("DELETE FROM meta WHERE name = ?", (name,)).rowcount


def below(db: Transaction, prefix: str) -> list[tuple[str, Any]]:
    """Return the names that begin with a prefix, each with its value."""
    return db.execute(f"SELECT name, value FROM meta WHERE {BELOW}", (prefix,)).fetchall()


def drop_below(db: Transaction, prefix: str) -> None:
    """Remove the values whose names begin with a prefix."""
    db.execute(f"DELETE FROM meta WHERE {BELOW}", (prefix,))
