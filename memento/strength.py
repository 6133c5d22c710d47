"""The values that tell how strong a memory is: what was said about it, belief, strength."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memento.types import Trust


@dataclass(frozen=True, slots=True)
class Evidence:
    """Something that was said about a memory.

    Attributes:
        event: Number of the event, for ``retract``.
        at: When it was said, UTC.
        verdict: ``used``, ``confirmed``, ``ignored``, ``wrong`` or ``harmful``; ``outcome`` of a
            loop; ``reinforced`` if the same was said again.
        source: Who said it; None if that is not known.
        note: Why, in their words, or None.
        retracted: Whether it was taken back.
    """

    event: int
    at: datetime
    verdict: str
    source: Trust | None
    note: str | None
    retracted: bool


@dataclass(frozen=True, slots=True)
class Belief:
    """The chance that a memory is right, from what was said about it.

    Attributes:
        id: Identifier of the memory.
        mean: Estimated chance that it is right, (0, 1).
        prior: The same before anything was said about it: 0.8 from the user, 0.67 from the agent,
            0.5 from anyone else.
        supporting: Evidence that it is right, as a count > 0.
        opposing: Evidence that it is wrong, as a count > 0.
        evidence: What was said about it, oldest first. Also what has no effect: verdicts of tools,
            of the web and of imports, and retracted ones.
    """

    id: str
    mean: float
    prior: float
    supporting: float
    opposing: float
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Strength:
    """How much a memory was used, and how much of it would be left if it was not.

    Attributes:
        id: Identifier of the memory.
        uses: Weight of its uses, >= 0: 1 for each that counted in full, 0.1 for being shown.
        used_at: When a use last counted, UTC; None if never.
        need: Odds that it is needed, >= 0, from how often and how long ago it was used.
        use: How far that speaks for it, nats, [0, 2); 0 if it was never used.
        retention: Share that is still remembered, [0, 1], by the days on which its namespace was
            used since its last use.
        stability: Such days after which 37 % is left; grows with every use that is spaced.
        short: Short strength, [0, 2]; fades within weeks.
        long: Long strength, >= 0; grows out of the short one.
        worth: Mean outcome of the answers it had a share in, [-1, 1]; 0 if none is known.
    """

    id: str
    uses: float
    used_at: datetime | None
    need: float
    use: float
    retention: float
    stability: float
    short: float
    long: float
    worth: float
