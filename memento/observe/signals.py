"""The values of the detection: signals, spans, candidates and what was found.

Plain data; no I/O and no heavy imports.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

STORE_AT = 0.5
"""Minimum probability at which a candidate is sure, (0, 1]; see ``ObserveConfig``."""
DOUBT_AT = 0.25
"""Minimum probability at which a candidate is returned at all, as doubtful."""
SENTENCES = 40
"""Maximum number of sentences in a message that are read; the rest is taken for pasted text."""


class Signal(StrEnum):
    """Kind of statement that a sentence of a user makes."""

    IDENTITY = "identity"
    """A fact that identifies the user: name, home, job, employer, age, pronouns, address."""
    FACT = "fact"
    """A lasting fact about the user or their work."""
    RELATION = "relation"
    """A person that the user knows, or who is responsible for what."""
    PREFERENCE = "preference"
    """A like, a dislike or a wish of the user."""
    RULE = "rule"
    """A standing instruction."""
    CORRECTION = "correction"
    """A statement that replaces something said before."""
    DECISION = "decision"
    """A choice that was made."""
    PLAN = "plan"
    """Something that will happen at a stated time."""
    TODO = "todo"
    """Something the user has to do or wants to be reminded of."""
    PROCEDURE = "procedure"
    """The steps by which something is done."""
    FEEDBACK = "feedback"
    """Praise or fault of the assistant's last turn; an event, not a memory."""
    FORGET = "forget"
    """A request to forget something or not to store it; an action, not a memory."""


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a message.

    Attributes:
        start: Index of its first character in the message.
        end: Index after its last character.
        text: ``message[start:end]``, exactly.
    """

    start: int
    end: int
    text: str

    def meets(self, other: Span) -> bool:
        """Return whether both have a character in common."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement of a user's message that may be worth a memory.

    Attributes:
        span: The words, exactly as in the message.
        signal: Its class.
        probability: Probability that it is worth a memory, [0, 1].
        sure: Whether it is to be stored.
        reasons: Names of the checks and cues that applied, for ``explain``.
        subject: The subject that a clause shares with the one before it, ``""`` if it has its own.
        before: The user's own words right before it, which it may need to be understood; ``""`` if
            there are none, or if they may be somebody else's.
    """

    span: Span
    signal: Signal
    probability: float
    sure: bool
    reasons: tuple[str, ...] = ()
    subject: str = ""
    before: str = ""

    @property
    def text(self) -> str:
        """The words, with the subject that they leave out."""
        return f"{self.subject} {self.span.text}" if self.subject else self.span.text


@dataclass(frozen=True, slots=True)
class Found:
    """The result of reading one message.

    Attributes:
        candidates: In the order of the message.
        vetoed: Reason to the number of sentences that were refused for it.
        skipped: Sentences behind the limit, which were not read.
        language: ISO 639-1 code of the message's language, "" if unknown.
        how: ``"model"`` (the reader), ``"cues"`` (a table of the language), or ``"none"`` (no
            table for the language: nothing is derived).
        carried: Why the message may hold words that the user did not type, see ``carried.carries``;
            None if it does not. With ``prose`` candidates may be sure, with other reasons not.
    """

    candidates: tuple[Candidate, ...] = ()
    vetoed: Counter[str] = field(default_factory=Counter)
    skipped: int = 0
    language: str = ""
    how: str = "none"
    carried: str | None = None
