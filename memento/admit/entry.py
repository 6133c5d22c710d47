"""An accepted memory on its way into the ledger; ``tier_choice.weigh`` adds what it may lack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from memento.admit.tier_choice import TierChoice
from memento.language.words import Columns
from memento.ledger.rows import Row

MAX_METADATA = 1_048_576
"""Largest metadata as JSON, bytes, unless the settings say otherwise."""


@dataclass(slots=True)
class Entry:
    """An accepted memory on its way into the ledger.

    Attributes:
        row: All columns; ``docid``, ``ns`` and ``rev`` are set on insertion.
        text: What full text indexes: title, head, rest.
        chosen_id: Whether the caller gave the id.
        supersedes: Ids of the memories that it replaces.
        related: Ids it is linked to.
        derived: Columns whose value the caller did not give.
        metadata_bytes: Largest metadata as JSON, bytes, where it is joined with another's.
        redacted: Secrets taken out of it, by kind, and how often.
        words: Its words, folded.
        telling: Those of them whose novelty its importance depends on.
        choice: Which tier an importance leads to; None once importance and tier are settled.
        by: Class of trust of who says it, which decides what it may replace; None for the trust of
            the memory, which may be less: that of what it is derived from.
    """

    row: Row
    text: Columns
    chosen_id: bool
    supersedes: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    metadata_bytes: int = MAX_METADATA
    redacted: Mapping[str, int] = field(default_factory=dict)
    words: Sequence[str] = ()
    telling: Sequence[str] = ()
    choice: TierChoice | None = None
    by: str | None = None
