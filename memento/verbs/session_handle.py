"""The values that sessions take and return: checkpoints, states and where work broke off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias, TypedDict

from memento.admit.redact import Redaction
from memento.base import display
from memento.check import Limits, check_metadata, optional_name, short_name
from memento.errors import InvalidInput
from memento.types import Memory

SessionState: TypeAlias = Literal["open", "interrupted", "ended"]
CheckpointKind: TypeAlias = Literal["task", "decision", "error", "compaction"]

MAX_LINE = 1_000
"""Maximum length of a goal, and longest item of ``done``, ``next`` and ``blocked``, characters."""
MAX_LINES = 64
"""Maximum number of items in each."""
MAX_NOTE = 4_000
"""Maximum length of a note of a checkpoint, characters."""
MAX_DATA = 65_536
"""Largest ``data`` of a checkpoint as JSON, bytes."""


class CheckpointParts(TypedDict, total=False):
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
    """Information about a session.

    Attributes:
        id: Its name, the ``session`` of its memories.
        namespace: Labels of its namespace.
        scope: Scope in which it applies; ``""`` means everywhere.
        goal: The task, or None.
        started_at: When it started, UTC.
        touched_at: When it was last written to, UTC, to the second.
        ended_at: When it ended, UTC; None if it has not.
        outcome: How it ended, or None.
        state: ``open``, ``ended`` or ``interrupted``. A session is interrupted if it has not ended,
            and its process has exited or has written nothing for ``SessionConfig.idle_minutes``.
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

    __repr__ = display.brief


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A record of the state of the work in a session.

    Attributes:
        session: The session.
        number: Its number in the session, from 1.
        at: When it was saved, UTC.
        kind: ``task``, ``decision``, ``error`` or ``compaction``.
        goal: The task, or None.
        done: Completed work that must not be repeated.
        next: The next steps, in order.
        blocked: What blocks the work.
        files: Paths of the affected files, each with a digest from the caller or ``""``.
        note: Anything else worth noting.
        data: A JSON object with the caller's custom data.
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

    __repr__ = display.brief

    def __hash__(self) -> int:
        return hash((self.session, self.number, self.at))


@dataclass(frozen=True, slots=True)
class Resumption:
    """Where an interrupted session left off.

    Attributes:
        session: The session.
        checkpoint: Its last checkpoint, or None.
        turns: The newest turns after that checkpoint, oldest first.
        learnt: The session's decisions, rules, preferences and plans, oldest first.
        text: All of the above as a block for a prompt; the same content always produces the same
            text.
        tokens: Number of tokens in the text.
    """

    session: SessionInfo
    checkpoint: Checkpoint | None
    turns: tuple[Memory, ...]
    learnt: tuple[Memory, ...]
    text: str
    tokens: int

    __repr__ = display.brief

    def __str__(self) -> str:
        return self.text


class Named:
    """An object that ``checkpoint`` and ``resume`` accept instead of a session's name."""

    __slots__ = ("id",)

    def __init__(self, session: str) -> None:
        self.id = session

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r}>"


def name_of(session: object) -> str:
    """Accept a session or the name of one."""
    return session.id if isinstance(session, Named) else short_name("session", session)


def line(field: str, text: object) -> str | None:
    """Accept one line of text, or None."""
    return None if text is None else short_name(field, text, most=MAX_LINE)


def lines(field: str, texts: object, clean: Redaction) -> list[str]:
    """Accept several lines of text, and take the secrets out of them."""
    if isinstance(texts, str) or not isinstance(texts, Sequence):
        raise InvalidInput(field, f"must be a list of strings, not {type(texts).__name__}")
    if len(texts) > MAX_LINES:
        raise InvalidInput(field, f"has more than {MAX_LINES} items")
    return [clean.text(field, short_name(field, text, most=MAX_LINE)) for text in texts]


def files(said: object, clean: Redaction) -> dict[str, str]:
    """Accept paths, or paths with digests."""
    if not isinstance(said, Mapping):
        return dict.fromkeys(lines("files", said, clean), "")
    if len(said) > MAX_LINES:
        raise InvalidInput("files", f"has more than {MAX_LINES} items")
    digests = {path: optional_name("files", digest or None) for path, digest in said.items()}
    return {
        clean.text("files", short_name("files", path, most=MAX_LINE)): clean.text(
            "files", digest or ""
        )
        for path, digest in digests.items()
    }


def note(said: object) -> str:
    """Accept a note, which may be empty."""
    return "" if said == "" else short_name("note", said, most=MAX_NOTE)


def data(said: object) -> str:
    """Accept a JSON object; returns it as JSON text."""
    try:
        given = {} if said is None else said
        return check_metadata(given, Limits(metadata_bytes=MAX_DATA))
    except InvalidInput as error:
        raise InvalidInput("data", error.problem) from error
