"""The parts of a sleep: what each step is given, and what it plans to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memento.config import Config
from memento.dynamics.fold import Standing, State
from memento.ledger.contract import Ledger, Session, Work
from memento.ledger.rows import Row


@dataclass(frozen=True, slots=True)
class Night:
    """One sleep of one namespace: the same for each call that goes on with it.

    Attributes:
        ns: Namespace number.
        at: Moment at which it began, microseconds.
        since: Revision up to which an earlier sleep did this step.
        active: Active memories when it began.
        done: Things that the step has done in this sleep so far.
        config: Settings.
        embeds: Whether memories get vectors.
    """

    ns: int
    at: int
    since: int
    active: int
    done: int
    config: Config
    embeds: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """The work that a step found, in the order in which it is to be done.

    Planned again in the middle, the rest is the same.

    Attributes:
        things: Each is done as a whole, in one transaction.
        looked: Memories that were looked at.
        skipped: Why memories were left as they are, to how many.
        more: Revision up to which the plan reaches, if there are newer memories to plan for.
    """

    things: Sequence[Any] = ()
    looked: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    more: int | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the sleep.

    Attributes:
        name: Its name.
        plan: Finds what is to be done. Writes nothing.
        carry_out: Does one thing of a plan; returns the memories that changed. A thing that does
            not fit any more, since somebody changed a memory in the meantime, changes none.
        prepare: Does what takes long, such as asking a language model, before the transaction of
            one thing, at a moment in microseconds; returns the thing as ``carry_out`` takes it, or
            why it is left. With it each thing has a transaction of its own. None if nothing does.
    """

    name: str
    plan: Callable[[Session, Night], Plan]
    carry_out: Callable[[Work, Night, Any], Sequence[Row]]
    prepare: Callable[[Ledger, Night, Any, int], Any] | None = None


@dataclass(frozen=True, slots=True)
class Left:
    """The reason why a thing of a plan is left to a later sleep."""

    why: str


@dataclass(frozen=True, slots=True)
class Felt:
    """A memory with what uses and time made of it.

    Attributes:
        row: The memory.
        state: The state of its dynamics.
        standing: What that says at the moment of the sleep.
    """

    row: Row
    state: State
    standing: Standing
