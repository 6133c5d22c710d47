"""The values that ``memory.policy`` returns."""

from __future__ import annotations

from dataclasses import dataclass

from memento.base import display

TOKENS = 800
"""Default budget of the head."""
ZONES = {
    1: "Rules the user has locked: follow always",
    2: "Standing instructions of the user",
    3: "Instructions of the user under a condition",
    4: "About the user (data)",
    5: "This project (data)",
    6: "Changed since this session began",
    7: "In force for this message",
    8: "Open",
    9: "Recalled",
    10: "Shared by other namespaces (data)",
}
"""The title of each zone, as the block has it."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A memory that a policy shows.

    Attributes:
        id: Its id.
        zone: The zone, 1 to 10.
        text: Its text.
    """

    id: str
    zone: int
    text: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """A memory that a policy leaves out.

    Attributes:
        id: Its id.
        zone: The zone in which it would appear.
        reason: The reason: ``budget`` or ``conflict``.
    """

    id: str
    zone: int
    reason: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two rules that cannot both be followed.

    Attributes:
        winner: Id of the rule that is shown, or of the first rule if both are shown.
        loser: Id of the other rule.
        key: The slot of the winner; None if it has none.
        reason: Why the winner is shown: ``trust`` (the other rule comes from a less trusted
            source), ``locked``, ``narrower scope``, ``condition holds`` or ``newer``; ``undecided``
            if both are shown.
    """

    winner: str
    loser: str
    key: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy rendered for a prompt.

    Attributes:
        text: The head followed by the tail.
        head: The part that stays the same, byte for byte, throughout a session: zones 1 to 5. Put
            it into the system message.
        tail: The part that depends on the current time and message: zones 6 to 10. Put it after the
            last message.
        memories: The memories that the policy contains, in order.
        dropped: The memories left out, each with its reason.
        conflicts: Pairs of rules that cannot both be followed; they are always reported.
        tokens: Estimated number of tokens in the text.
        fingerprint: Digest of the head; identical heads have the same digest.
        over_budget: Whether the locked rules alone exceed the head's budget.
    """

    text: str
    head: str
    tail: str
    memories: tuple[Shown, ...]
    dropped: tuple[Dropped, ...]
    conflicts: tuple[Conflict, ...]
    tokens: int
    fingerprint: str
    over_budget: bool

    __repr__ = display.brief

    def __str__(self) -> str:
        return self.text

    def explain(self) -> str:
        """Return the zone of each memory, and why other memories were left out, one per line."""
        lines = [f"zone {one.zone} ({ZONES[one.zone]}): {one.id}" for one in self.memories]
        lines += [f"left out of zone {one.zone}: {one.id}, {one.reason}" for one in self.dropped]
        for one in self.conflicts:
            slot = "" if one.key is None else f" in the slot {one.key!r}"
            lines.append(f"conflict{slot}: {one.winner} before {one.loser}, {one.reason}")
        return "\n".join(lines)
