"""The settings of the sleep, each with its unit and its range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from memento.check import check_flag
from memento.errors import InvalidInput
from memento.types import Kind, KindName


class Auto(StrEnum):
    """How much the background thread does by itself in quiet moments."""

    IDLE = "idle"
    """It adds up uses and verdicts."""
    ALL = "all"
    """Every step of the sleep, at most once an hour for each namespace."""
    OFF = "off"
    """Nothing; uses and verdicts are added up when somebody asks for them."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """Settings of ``consolidate``, and of how much of it happens by itself.

    Attributes:
        auto: ``idle``, ``all`` or ``off``, see ``Auto``.
        bite: Most memories that one transaction changes, 1 to 500.
        promote_at: Long strength from which a memory goes to the long tier, >= 0.
        demote_at: Long strength below which it goes back to the medium tier, if its importance did
            not bring it there, in [0, ``promote_at``].
        tier_share: Most memories that change their tier in one sleep, share of the active ones.
        archive_below: Retention below which a memory that nobody used may be archived, [0, 1]; 0
            for never.
        fade_below: Retention below which ``stale`` shows a memory, [0, 1].
        archive_share: Most memories that are archived in one sleep for that, share of the active
            ones.
        perishable: Kinds that may be archived for that.
        archive_importance: Importance from which a memory is not archived for that, [0, 1].
        most_active: Most active memories of a namespace; None for no limit. To keep it, the
            most forgotten of the perishable kinds are archived, and then the most forgotten and
            least important of the others; never one that has a key, was used, is pinned or locked.
        move_given: Whether to change a tier that the caller chose as well.
        replay: Memories that are replayed on an active day, share of the active ones, [0, 1].
        most_replayed: Most memories that are replayed on an active day, >= 0.
        fold_jaccard: Least share of common words of statements that say the same, (0, 1].
        fold_cosine: Least cosine of their vectors, [-1, 1].
        lease: Seconds after which the sleep of a process that died is taken over, >= 0.
    """

    auto: Auto | Literal["idle", "all", "off"] = Auto.IDLE
    bite: int = 200
    promote_at: float = 0.25
    demote_at: float = 0.10
    tier_share: float = 0.05
    archive_below: float = 0.05
    fade_below: float = 0.3
    archive_share: float = 0.02
    perishable: tuple[Kind | KindName, ...] = (
        Kind.EPISODE,
        Kind.CONTEXT,
        Kind.EMOTION,
        Kind.QUESTION,
    )
    archive_importance: float = 0.5
    most_active: int | None = None
    move_given: bool = False
    replay: float = 0.01
    most_replayed: int = 200
    fold_jaccard: float = 0.8
    fold_cosine: float = 0.9
    lease: float = 60.0

    def __post_init__(self) -> None:
        if self.auto not in tuple(Auto):
            raise InvalidInput("sleep.auto", f"{self.auto!r} is not one of: {', '.join(Auto)}")
        if not isinstance(self.perishable, tuple) or not set(self.perishable) <= set(Kind):
            raise InvalidInput("sleep.perishable", f"{self.perishable!r} is no tuple of kinds")
        check_flag("sleep.move_given", self.move_given)
        for name, (least, most) in _RANGES.items():
            _check_number(name, getattr(self, name), least, most)
        for name, least, most in (("bite", 1, 500), ("most_replayed", 0, 1_000_000)):
            _check_count(name, getattr(self, name), least, most)
        if self.most_active is not None:
            _check_count("most_active", self.most_active, 1, 1 << 40)
        if self.demote_at > self.promote_at:
            raise InvalidInput("sleep.demote_at", "must not be above promote_at")


_RANGES = {
    "promote_at": (0.0, math.inf),
    "demote_at": (0.0, math.inf),
    "tier_share": (0.0, 1.0),
    "archive_below": (0.0, 1.0),
    "fade_below": (0.0, 1.0),
    "archive_share": (0.0, 1.0),
    "archive_importance": (0.0, 1.0),
    "replay": (0.0, 1.0),
    "fold_jaccard": (0.01, 1.0),
    "fold_cosine": (-1.0, 1.0),
    "lease": (0.0, 86_400.0),
}


def _check_number(name: str, value: object, least: float, most: float) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not least <= value <= most or math.isinf(value):  # type: ignore[operator,arg-type]
        raise InvalidInput(
            f"sleep.{name}", f"must be a finite number in [{least}, {most}], not {value!r}"
        )


def _check_count(name: str, value: object, least: int, most: int) -> None:
    if type(value) is not int or not least <= value <= most:
        raise InvalidInput(
            f"sleep.{name}", f"must be an integer from {least} to {most}, not {value!r}"
        )
