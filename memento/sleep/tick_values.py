"""The values that the verbs of the sleep return: what it did, what is stale, what is unusual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from memento.base import display
from memento.types import Memory


@dataclass(frozen=True, slots=True)
class StepDone:
    """The work of one step of a sleep.

    Attributes:
        looked: Memories that were looked at; of ``fold`` events.
        changed: Memories that were changed, or would be.
        skipped: Why memories were left as they are, to how many.
    """

    looked: int
    changed: int
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tick:
    """The result of ``sleep.run``.

    Attributes:
        steps: Name of each step that ran, in order, to its work.
        run: Number with which ``undo(run=...)`` takes everything back that this sleep changed;
            None if it changed nothing.
        done: Whether the sleep ended; if not, the next call goes on with it.
        took: Seconds that this call took.
        skipped: Why this call did nothing, or ``""``.
        notes: Number of stale memories, of unusual days, and of links between memories that act,
            once the sleep has ended; if nothing was new, as they were counted when the last one
            ended.
    """

    steps: Mapping[str, StepDone]
    run: int | None
    done: bool
    took: float
    skipped: str = ""
    notes: Mapping[str, int] = field(default_factory=dict)

    __repr__ = display.brief


@dataclass(frozen=True, slots=True)
class Stale:
    """An active memory that somebody should look at.

    Attributes:
        memory: The memory.
        reasons: ``expired`` if it is not valid any more; ``doubted`` if verdicts made it less
            credible than it was; ``fading`` if it is nearly forgotten.
        retention: How much of it is left, (0, 1].
    """

    memory: Memory
    reasons: tuple[str, ...]
    retention: float

    __repr__ = display.brief


@dataclass(frozen=True, slots=True)
class Anomaly:
    """A day on which something happened far more or far less often than usual.

    Attributes:
        day: The day, UTC.
        what: ``added``, or ``opposed`` for verdicts against memories.
        count: How often on that day.
        usual: How often on most days.
        score: Robust standard score, see ``sleep.report.outlier``.
    """

    day: date
    what: str
    count: int
    usual: float
    score: float
