"""Pins and locks as the bits of one column, ``memories.pinned``.

The column is sealed and kept in every earlier state, so a lock is too. A pinned memory never fades;
a locked one is not changed either.
"""

from __future__ import annotations

from typing import Literal

PINNED, PROMOTED, USER = 1, 2, 4
"""The bits: pinned; locked because it proved itself; locked by the user."""
LOCKS = PROMOTED | USER
BITS = {"promoted": PROMOTED, "user": USER}
"""The levels of a lock, and the bit of each."""

MOST_LOCKED = 100
"""Most memories of a namespace that the user may lock."""
WARN_LOCKED = 80
"""Number of locked memories from which ``stats`` warns."""


def lock_of(pinned: int) -> Literal["promoted", "user"] | None:
    """Return the level of the lock that a column says; the higher one of two.

    >>> lock_of(1), lock_of(3), lock_of(6)
    (None, 'promoted', 'user')
    """
    if pinned & USER:
        return "user"
    return "promoted" if pinned & PROMOTED else None
