"""The values that tell of sessions: what one is, where the work stands, what broke off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias, TypedDict

from memento.types import Memory

SessionState: TypeAlias = Literal["open", "interrupted", "ended"]
CheckpointKind: TypeAlias = Literal["task", "decision", "error", "compaction"]

TOKENS = 400
"""Default budget of ``resume``."""


class Said(TypedDict, total=False):
    """The parts of a checkpoint; each may be left out."""

    goal: str | None
    done: Sequence[str]
    next: Sequence[str]
    blocked: Sequence[str]
    files: Sequence[str] | Mapping[str, str]
    note: str
    kind: CheckpointKind
    data: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session that was begun.

    Attributes:
        id: Its name, the ``session`` of its memories.
        namespace: Labels of its namespace.
        scope: Where it applies; ``""`` is everywhere.
        goal: The task, or None.
        started_at: When it began, UTC.
        touched_at: When it was last written to, UTC, to the second.
        ended_at: When it ended, UTC; None if it has not.
        outcome: How it ended, or None.
        state: ``open``, ``ended``, or ``interrupted``: it has not ended, and the process that
            worked on it is gone or has not written for ``SessionConfig.idle_minutes``.
    """

    id: str
    namespace: tuple[str, ...]
    scope: str
    goal: str | None
    started_at: datetime
    touched_at: datetime
    ended_at: datetime | None
    outcome: str | None
    state: SessionState


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A note of where the work of a session stands.

    Attributes:
        session: The session.
        number: Its number there, from 1.
        at: When it was made, UTC.
        kind: ``task``, ``decision``, ``error`` or ``compaction``.
        goal: The task, or None.
        done: What is finished and is not to be done again.
        next: What comes next, the first step first.
        blocked: What stands in the way.
        files: Paths that the work touches, each with a digest of the caller's or ``""``.
        note: Anything else.
        data: A JSON object of the caller's.
    """

    session: str
    number: int
    at: datetime
    kind: CheckpointKind
    goal: str | None
    done: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.session, self.number, self.at))


@dataclass(frozen=True, slots=True)
class Resumption:
    """The work that was being done when a session broke off.

    Attributes:
        session: The session.
        checkpoint: Its last checkpoint, or None.
        turns: The newest turns after that checkpoint, oldest first.
        learnt: Decisions, rules, preferences and plans of the session, oldest first.
        text: All of it as a block for a prompt. Equal content gives equal text.
        tokens: Tokens of the text.
    """

    session: SessionInfo
    checkpoint: Checkpoint | None
    turns: tuple[Memory, ...]
    learnt: tuple[Memory, ...]
    text: str
    tokens: int
