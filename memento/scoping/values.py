"""The values that the verbs about scopes return. Plain data, immutable."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memento.types import Memory


@dataclass(frozen=True, slots=True)
class ScopeInfo:
    """A scope of a namespace.

    Attributes:
        path: The scope.
        namespace: Labels of the namespace that it belongs to: another one if that one shares it.
        memories: Number of active memories at it or below it.
        title: Its name for people; ``""`` for none.
        aliases: Other names.
        created_at: When it was named, UTC; None if only memories name it.
        merged_into: The scope that it became a part of, or None.
        shared_with: The namespaces that see it, as far as this namespace shares it.
    """

    path: str
    namespace: tuple[str, ...]
    memories: int
    title: str = ""
    aliases: tuple[str, ...] = ()
    created_at: datetime | None = None
    merged_into: str | None = None
    shared_with: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class ScopeGuess:
    """A scope that a text may belong to.

    Attributes:
        path: The scope.
        confidence: How sure that is, [0, 1).
        why: The signs, each a word: ``named`` in the text, ``context`` names it, ``meaning``.
        defined: Whether it was named by ``define_scope``; else only memories name it.
    """

    path: str
    confidence: float
    why: tuple[str, ...]
    defined: bool


@dataclass(frozen=True, slots=True)
class Promotion:
    """A rule or preference that several scopes have alike, and that may hold for all of them.

    Attributes:
        scope: The scope that contains them all.
        memories: A memory of each scope, the oldest first; ``promote`` takes the id of one.
        key: Their slot, or None.
    """

    scope: str
    memories: tuple[Memory, ...]
    key: str | None
