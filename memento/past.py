"""The values that tell of the past: states, values of slots, changes, undone ones, differences.

Plain data, immutable; the others are in ``types``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from memento.types import Memory, Status, Tier, Trust


@dataclass(frozen=True, slots=True)
class Version:
    """One state of a memory.

    Attributes:
        version: Number of that state, from 1.
        text: Its text.
        status: Its status.
        tier: Its tier.
        until: When the next state replaced it, UTC; None for the present state.
        reason: Why this state ended, a word of ``Reason``. By a change of content: ``updated``,
            ``merged``, ``replaced``, ``moved``. By a change of status: ``superseded``,
            ``archived``, ``unarchived``, ``forgotten``, ``disowned`` (forgotten with its source),
            ``restored``, ``approved``, ``rejected``. Because a parent arrived late: the memory was
            quarantined (``distrusted``) or, already approved, only lost trust (``inherited``).
            Because the memory that had superseded it was quarantined: ``returned``. Because the
            change that had made it was undone: ``undone``. The present state has the reason
            ``present``.
        id: Id of the memory.
        valid_from: Start of the time in which that state said that it is true, UTC; None for states
            that schema 1 kept.
        valid_until: End of that time (exclusive), UTC; None for open.
        change: Number of the change that ended it, see ``changes``; None for the present state, and
            for what is older than schema 9 or was imported.
        by: Class of who made that change, or None.
    """

    version: int
    text: str
    status: Status
    tier: Tier
    until: datetime | None
    reason: str
    id: str = ""
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    change: int | None = None
    by: Trust | None = None


@dataclass(frozen=True, slots=True)
class SlotValue:
    """One value of a slot, and the time in which it held.

    Attributes:
        memory: The memory; active, or superseded.
        since: From when it held, UTC.
        until: Until when (exclusive), UTC; None for open.
        reason: Why it ended: ``superseded`` by another memory, or ``ended`` because it was valid
            only until then. ``present`` if it holds now; ``planned`` if it is to hold from a later
            moment on; ``withdrawn`` if it was planned and superseded before it held.
    """

    memory: Memory
    since: datetime
    until: datetime | None
    reason: str


@dataclass(frozen=True, slots=True)
class Change:
    """A call that changed memories: it ended a state of at least one, or it was a sleep.

    Attributes:
        number: Its number in its namespace, which ``undo`` takes; later changes have larger ones.
        at: When, UTC.
        kind: The method that was called, such as ``add``, ``correct`` or ``forget_many``.
        by: Class of who called it.
        run: Number of the first change of the call, if it made several; else None.
        rev_from: First revision of the namespace that it took.
        rev_to: Last revision that it took; those between are its own. Less than ``rev_from`` for a
            sleep that only replayed memories or scaled down links, and for the undo of one.
        changed: Ids of the memories of which it ended a state, in order of arrival; of a change
            without any, those that it replayed or whose links it scaled down.
        added: Ids of the memories that came with it, in order of arrival.
        undone_by: Number of the change that undid it; None if none did, or if that was undone.
        undoes: Number of the change that it undid; None if it is no undo.
    """

    number: int
    at: datetime
    kind: str
    by: Trust
    run: int | None
    rev_from: int
    rev_to: int
    changed: tuple[str, ...]
    added: tuple[str, ...]
    undone_by: int | None
    undoes: int | None


@dataclass(frozen=True, slots=True)
class Undone:
    """The result of ``undo``.

    Attributes:
        changes: Numbers of the changes that this call made, in order; undo one of them to redo.
            Empty if everything was left.
        undone: Numbers of the changes that were undone, in that order.
        memories: Ids of the memories that were set back or hidden, or of which a replay or a
            scaling of links was taken back, in order of arrival.
        left: Ids of memories that were left as they are, to the number of the change that stands in
            the way; None if none of those that can be undone does.
    """

    changes: tuple[int, ...]
    undone: tuple[int, ...]
    memories: tuple[str, ...]
    left: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Diff:
    """The memories that differ between two moments of recording: id to (before, after).

    Each memory is in one of the mappings, by what it is after. A memory that nobody has
    accepted is in none.

    Attributes:
        since: The earlier moment, UTC.
        until: The later moment, UTC.
        added: Memories that were not recorded before; ``before`` is None.
        changed: Memories that say something else, or that changed to or from quarantine.
        superseded: Memories that were superseded.
        archived: Memories that were archived.
        forgotten: Memories that were hidden.
        restored: Memories that are active again.
    """

    since: datetime
    until: datetime
    added: Mapping[str, tuple[None, Memory]]
    changed: Mapping[str, tuple[Memory, Memory]]
    superseded: Mapping[str, tuple[Memory, Memory]]
    archived: Mapping[str, tuple[Memory, Memory]]
    forgotten: Mapping[str, tuple[Memory, Memory]]
    restored: Mapping[str, tuple[Memory, Memory]]

    def __iter__(self) -> Iterator[tuple[str, Memory | None, Memory]]:
        """Yield (id, before, after) of every memory that differs, in order of arrival."""
        hidden = (self.superseded, self.archived, self.forgotten)
        parts = (self.added, self.changed, *hidden, self.restored)
        found = [(name, *states) for part in parts for name, states in part.items()]
        yield from sorted(found, key=lambda one: one[2].seq)

    def __bool__(self) -> bool:
        return any(True for _ in self)
