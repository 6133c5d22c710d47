"""Which tier a memory goes to when ``add`` is not told one.

A draft gets a tier in ``admit.draft``; `weigh` chooses again when the novelty of its words is
known. Later it changes by a full ring (``ledger.memories.overflow``), a user
(``lifecycle.change.move``), a repeat that names a higher tier (``ledger.merge``), a replacement by
id (``lifecycle.remember``), an undo (``lifecycle.undo``), and the sleep (``consolidate.tiers``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memento.admit.importance import importance
from memento.ledger.rows import Row
from memento.types import Kind, Tier


@dataclass(frozen=True, slots=True)
class TierChoice:
    """Which importance leads to which tier when ``add`` is not told one.

    Attributes:
        long_from: Importance from which a memory goes to the long tier, [0, 1].
        short_below: Importance below which it stays in the ring buffer, [0, 1].
    """

    long_from: float = 0.6
    short_below: float = 0.3

    def tier(self, importance: float, *, pinned: bool) -> Tier:
        """Choose a tier.

        >>> TierChoice().tier(0.7, pinned=False).value
        'long'
        """
        if pinned or importance >= self.long_from:
            return Tier.LONG
        return Tier.SHORT if importance < self.short_below else Tier.MEDIUM


def weigh(
    row: Row, choice: TierChoice, words: Sequence[str], novelty: float, *, choose_tier: bool
) -> None:
    """Settle the importance of a memory, and its tier unless the caller gave one.

    Args:
        row: Changed in place.
        choice: Which tier an importance leads to.
        words: The words of its text, folded.
        novelty: Share of its telling words not met before, [0, 1].
        choose_tier: Whether the tier follows from the importance.
    """
    row.importance = importance(row.text, words, Kind(row.kind), novelty)
    if choose_tier:
        row.tier = choice.tier(row.importance, pinned=bool(row.pinned)).value
    row.seal()
