"""A random value that only this store knows, so that a stored text cannot forge what it signs.

It is in ``meta``: a backup has it, an export does not.
"""

from __future__ import annotations

import secrets

from memento.ledger.contract import Session
from memento.ledger.dialect import SKIP_IF_THERE

NAME = "frame secret"
"""Name in ``meta``."""

_BYTES = 16


def new() -> bytes:
    """Draw a secret."""
    return secrets.token_bytes(_BYTES)


def read(db: Session) -> bytes | None:
    """Return the secret; None if the store has none yet."""
    found = db.execute("SELECT value FROM meta WHERE name = ?", (NAME,)).fetchone()
    return found[0] if found is not None and isinstance(found[0], bytes) else None


def make(db: Session) -> bytes:
    """Return the secret, and make one if the store has none. Inside a transaction."""
    known = read(db)
    if known is None:
        db.execute(f"INSERT INTO meta VALUES (?, ?) {SKIP_IF_THERE}", (NAME, new()))
        known = read(db)
    return known or new()
