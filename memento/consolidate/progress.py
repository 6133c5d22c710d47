"""Where the sleep of a namespace stands: what is kept between two calls, and between two bites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self, TypeAlias

Mark: TypeAlias = list[int]
"""Revision, event and UTC day up to which a step has looked."""


@dataclass(slots=True)
class Progress:
    """The state in ``sleeps``.

    Attributes:
        marks: Name of a step to its mark, from the last sleep that ended.
        at: Moment at which the present sleep began, microseconds; 0 if none is unfinished.
        active: Active memories then.
        run: Number of its first change; None before there is one.
        steps: Names of the steps that are left, the present one first.
        done: Things that the present step has done.
        since: Revision from which the present step plans.
        rev: Newest revision that is known; somebody else made a later one.
        event: Newest event that is known.
        notes: What somebody should look at, by ``report.notes``, when the last sleep ended.
        noted: The mark of that moment; empty if none is known.
    """

    marks: dict[str, Mark] = field(default_factory=dict)
    at: int = 0
    active: int = 0
    run: int | None = None
    steps: list[str] = field(default_factory=list)
    done: int = 0
    since: int = 0
    rev: int = 0
    event: int = 0
    notes: dict[str, int] = field(default_factory=dict)
    noted: Mark = field(default_factory=list)

    @classmethod
    def read(cls, state: Mapping[str, Any]) -> Self:
        """Read a state; one that is damaged is that of a namespace that never slept."""
        return cls(**state) if {one.name for one in fields(cls)} == set(state) else cls()

    def spelt(self) -> dict[str, Any]:
        """Return the state as it is kept."""
        return asdict(self)

    def begin_step(self) -> None:
        """Plan the present step from where the last sleep that ended left it."""
        self.done = 0
        self.since = self.marks.get(self.steps[0], [0])[0] if self.steps else 0
