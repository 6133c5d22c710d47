"""Settings of the policy."""

from __future__ import annotations

from dataclasses import dataclass

from memento.check import check_count, check_share


@dataclass(frozen=True, slots=True)
class PolicyConfig:
    """The way in which the policy of a prompt is compiled.

    Attributes:
        holds_at: Least cosine of a condition to the message from which it holds, [0, 1]. On the
            repository's own set 0.2 finds nine of ten that hold and one in ten of the others: a
            rule too many costs 15 tokens, one that is missed costs a correction.
        turnover: Share of the head's budget that the changes since it was made may take before it
            is made again, (0, 1].
        open: Most plans in the tail, >= 0.
        ahead_days: Days before it is due from which a plan is shown, >= 0.
    """

    holds_at: float = 0.2
    turnover: float = 0.25
    open: int = 5
    ahead_days: int = 1

    def __post_init__(self) -> None:
        check_share("policy.holds_at", self.holds_at)
        check_share("policy.turnover", self.turnover)
        check_count("policy.open", self.open, least=0)
        check_count("policy.ahead_days", self.ahead_days, least=0)
