"""The difference between two moments of recording. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from memento.clock import from_micros
from memento.ledger import memories, states
from memento.ledger.contract import Ledger, Session
from memento.ledger.rows import Row, sound, to_memory
from memento.past import Diff
from memento.status import having
from memento.types import Memory, Status

_PARTS = ("added", "changed", "superseded", "archived", "forgotten", "restored")
_BY_TRAIT = {
    "found": "restored",
    "ended": "superseded",
    "by_name": "archived",
    "current": "changed",
}
"""The part of a difference that a memory is in whose new status has a trait, in order.
Without any of them it is hidden, like a forgotten one."""


def between(
    ledger: Ledger, ns: int | None, labels: tuple[str, ...], since: int, until: int
) -> Diff:
    """Compare two moments of recording.

    Args:
        ledger: The store.
        ns: Namespace number; None if there is no such namespace.
        labels: Its labels.
        since: The earlier moment, microseconds.
        until: The later moment, microseconds.

    Raises:
        StoreUnusable: If an earlier state is damaged.
    """
    parts: dict[str, dict[str, tuple[Memory | None, Memory]]] = {part: {} for part in _PARTS}
    pairs = [] if ns is None else ledger.read(lambda c: list(_pairs(c, ns, since, until)))
    for before, after in pairs:
        was = None if before is None else to_memory(before, labels)
        now = to_memory(after, labels)
        if part := _part(was, now):
            parts[part][now.id] = was, now
    return Diff(from_micros(since), from_micros(until), **parts)  # type: ignore[arg-type]


def _pairs(session: Session, ns: int, since: int, until: int) -> Iterator[tuple[Row | None, Row]]:
    """Yield the memories that may differ, as they were at both moments."""
    docids = states.touched_between(session, ns, since, until)
    for _, row in sorted(memories.by_docids(session, ns, docids).items()):
        sound(row)
        after = states.at_moment(session, row, until)
        before = states.at_moment(session, row, since)
        if after is not None and (before or _was_accepted(session, after, until)):
            yield before, after


def _was_accepted(session: Session, row: Row, until: int) -> bool:
    """Tell whether a memory was accepted at any moment up to another one."""
    then = (one for one, _, _ in states.numbered(session, row.docid) if one.until <= until)
    return any(one in having("accepted") for one in (row.status, *(one.status for one in then)))


def _part(before: Memory | None, after: Memory) -> str | None:
    """Say in which part of the difference a memory is.

    Returns:
        None if it does not differ, or if nobody has accepted it at either moment.
    """
    doubted = before is not None and before.status is Status.QUARANTINED
    if doubted and after.status in (Status.QUARANTINED, Status.FORGOTTEN):
        return None
    if before is None:
        return None if after.status is Status.QUARANTINED else "added"
    if before.status is not after.status:
        crossed = Status.QUARANTINED in (before.status, after.status)
        return "changed" if crossed else _part_of(after.status)
    same = _content(before) == _content(after)
    return None if same else "changed"


def _part_of(status: Status) -> str:
    return next((part for one, part in _BY_TRAIT.items() if status in having(one)), "forgotten")


def _content(memory: Memory) -> dict[str, object]:
    """Return what a memory says; not how often it was said, nor when it last changed."""
    said = memory.to_dict()
    return {name: said[name] for name in said if name not in ("updated_at", "reinforced")}
