"""What a statement settles about its speaker: a name, a home, an employer, or their end.

People rarely say "I work at": "us lot at Royal Mail are on strike", "they let me go in March". A
model reads it (``slot_reader``), in English only; the other languages have the forms of
``slots.toml``.
"""

from __future__ import annotations

from dataclasses import dataclass

SLOTS = (
    "name", "home", "employer", "job", "birthday", "age", "pronouns", "timezone", "language",
    "email", "phone", "diet", "partner",
)  # fmt: skip
"""What is read of a speaker, each with one value at a time."""
HEARD_AT, TOLD_AT, SURE_AT = 0.5, 0.9, 0.95
"""Minimum probability of what a pattern may take back, of a value or an end, and of a value that
replaces another."""


@dataclass(frozen=True, slots=True)
class Personal:
    """One thing about the speaker of a statement.

    Attributes:
        slot: One of ``SLOTS``.
        words: Its value, or the name of what ended; ``""`` for an end that names nothing.
        probability: How probable it is, (0, 1).
        ended: Whether the words no longer hold.
    """

    slot: str
    words: str
    probability: float
    ended: bool = False


def is_told(one: Personal) -> bool:
    """Return whether it is sure enough to be used.

    >>> is_told(Personal("employer", "", 0.8, ended=True))
    False
    """
    return one.probability >= TOLD_AT
