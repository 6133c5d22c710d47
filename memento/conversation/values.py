"""The values of a conversation: what ``keep`` takes, and what ``recall`` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from memento.types import Hit, Retrieval, Trust


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation, for ``keep`` and ``recall``.

    Attributes:
        text: Its words; a blank one is not kept.
        role: Who speaks: ``user``, ``assistant``, ``tool`` or ``system``.
        id: What the message is called in its conversation, call after call; None if it has no name
            that lasts.
        actor: Name of the speaker, or None.
        trust: How far it is trusted, if less than its role is; None for what its role is.
    """

    text: str
    role: str = "user"
    id: str | None = None
    actor: str | None = None
    trust: Trust | str | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """The answer of ``recall``: what to show a model that goes on with a conversation.

    Attributes:
        block: The memories as a block for a prompt; ``""`` if nothing bears on the conversation.
            Equal memories give an equal block.
        hits: The memories, best first, each text once. The block may show fewer: what fits.
        missing: Name of each part that could not be searched to the reason.
        confidence: Estimated chance that an answer is among the hits, [0, 1].
        query: The last message of the user, as it was searched for; ``""`` if nothing was asked.
    """

    block: str = ""
    hits: tuple[Hit, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    confidence: float = 0.0
    query: str = ""

    def as_retrieval(self) -> Retrieval:
        """Return the same as an answer of ``retrieve``, for ``cite`` and ``feedback``."""
        return Retrieval(self.query, self.hits, self.missing, self.confidence)
