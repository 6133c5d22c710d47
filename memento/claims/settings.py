"""The settings of the settling pass."""

from __future__ import annotations

from dataclasses import dataclass

from memento.check import MAX_INTEGER, check_count


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Settings for statements that conflict.

    Attributes:
        pairs: Maximum number of earlier statements to compare with a new statement, >= 0; 0
            disables the comparison.
    """

    pairs: int = 12

    def __post_init__(self) -> None:
        check_count("conflicts.pairs", self.pairs, least=0, most=MAX_INTEGER)
