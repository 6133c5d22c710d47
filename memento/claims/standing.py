"""Standing: tell which of two statements that conflict stands higher. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from memento.types import Trust

SURE = 1.1
"""Difference of belief, in nats, that counts more than which one is newer."""
ASSISTANT = "assistant"
"""The role whose statements stand below the user's."""


@dataclass(frozen=True, slots=True)
class Stand:
    """The facts on which the standing of a statement depends.

    Attributes:
        trust: Class of its source.
        role: Role of its speaker, or None.
        valid_from: Since when it holds, microseconds.
        docid: Its row id.
        belief: Log odds that it is right, beyond what its source alone gives.
    """

    trust: str
    role: str | None
    valid_from: int
    docid: int
    belief: float = 0.0

    @property
    def rank(self) -> int:
        """The class of its speaker: 0 for the user, 1 for an agent, 2 for the rest."""
        known = Trust.rank_of(self.trust)
        return max(known, 1) if self.role == ASSISTANT else known


def stands_higher(one: Stand, other: Stand) -> bool:
    """Return whether the first of two statements that conflict stands higher.

    The one of the more trusted speaker does, whatever verdicts say. Of two speakers of one class
    the one that is believed more does, if the difference is above ``SURE``; else the one that
    holds since later, then the one that came later.
    """
    if one.rank != other.rank:
        return one.rank < other.rank
    if abs(one.belief - other.belief) > SURE:
        return one.belief > other.belief
    return (one.valid_from, one.docid) > (other.valid_from, other.docid)
