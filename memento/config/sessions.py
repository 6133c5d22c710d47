"""Settings of sessions."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from memento.check import check_count
from memento.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """When a session counts as broken off, and how much of it is kept.

    Attributes:
        idle_minutes: Minutes without a write after which a session that has not ended counts as
            broken off, although its process may still be there, > 0.
        checkpoints: Checkpoints of a session that are kept, the newest ones, >= 1.
    """

    idle_minutes: float = 30.0
    checkpoints: int = 50

    def __post_init__(self) -> None:
        check_count("sessions.checkpoints", self.checkpoints)
        idle = self.idle_minutes
        if isinstance(idle, bool) or not isinstance(idle, int | float) or not 0 < idle < inf:
            raise InvalidInput("sessions.idle_minutes", f"must be above 0, not {idle!r}")
