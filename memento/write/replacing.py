"""Replace a memory by an entry that has its id: when that may be, and what changes.

With ``add(replace=True)`` the caller asks for it. Without, an accepted entry takes over the id of a
memory that is hidden: one in quarantine or from an untrusted source, whatever its content, or one
that is given again after it was forgotten or expired.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memento.admit.draft import Entry
from memento.errors import UntrustedSource
from memento.ledger import changes as recorded
from memento.ledger import links, memories
from memento.ledger.contract import Work
from memento.ledger.replays import TURN
from memento.ledger.rows import LOCKS, NAMES, Row, is_sound, sound
from memento.status import having
from memento.types import Event, Reason, Status, Tier, Trust
from memento.write import locks, slots, trust
from memento.write.merge import relate
from memento.write.steps import ACCEPTED, ENDED, FOUND, holds, log_event

_OWN = {
    "docid", "ns", "rev", "id", "created_at", "updated_at", "reinforced", "version", "checksum",
    "given",
}  # fmt: skip
_REPLACED = tuple(name for name in NAMES if name not in _OWN)
"""Columns that a replacement takes over."""
_KEEPS_ID = frozenset(having("keeps_id"))
_EMBEDDED = {"text", "actor", "role"}
"""Columns that a vector is made of."""


def take_over(work: Work, row: Row, entry: Entry) -> bool:
    """Put an entry over the memory that has its id, if it may; return whether it was."""
    if not (_takes_id(work, row, entry) or _comes_back(work, row, entry)):
        return False
    _put_over(work, row, entry)
    return True


def replace(work: Work, entry: Entry, at: int, count: int) -> None:
    """Put an entry over the memory that has its id, or refuse; it is the ``at``-th of ``count``."""
    accepted = is_accepted(entry)
    row = memories.by_id(work.db, work.ns, entry.row.id, damaged=accepted)
    theirs = _gives_way(work, row) and (accepted or _is_own(row, entry))
    if theirs or (accepted and not _stands_against(work, row, entry)):
        _put_over(work, row, entry)
    elif _differences(row, entry).keys() - {*entry.derived, "status", "expires_at"}:
        raise _no_place(entry, at, count)  # else it changes nothing


def is_kept_turn(row: Row) -> bool:
    """Return whether ``keep`` chose the id: such a turn is added again with its conversation."""
    return row.id.startswith(TURN) and row.source_uri is None


def is_accepted(entry: Entry) -> bool:
    """Return whether an entry is accepted: trusted, or approved."""
    return entry.row.status in ACCEPTED


def _takes_id(work: Work, row: Row, entry: Entry) -> bool:
    """Return whether an entry replaces the memory that has its id, whatever its content."""
    free = is_accepted(entry) and row.status not in _KEEPS_ID
    return free and _gives_way(work, sound(row))


def _gives_way(work: Work, row: Row) -> bool:
    """Return whether a memory may lose its id: it is quarantined, or hidden and untrusted."""
    hidden = row.status not in FOUND and row.trust in work.rules.untrusted
    return row.status == Status.QUARANTINED or hidden


def _comes_back(work: Work, row: Row, entry: Entry) -> bool:
    """Return whether an entry adds, under its id, a memory again that is no longer found.

    Turns and parts of a file are added again with the rest of the conversation or file, so they
    stay hidden until restored. A superseded value that is given with its time stays in the past.
    """
    if row.content_hash != entry.row.content_hash or is_kept_turn(row) or row.source_uri:
        return False
    if row.status in ENDED and "valid_from" not in entry.derived:
        return False
    found = row.status in FOUND or row.status == entry.row.status
    if (found and holds(row, work.now)) or not holds(entry.row, work.now):
        return False
    if _outranks(sound(row), entry) or not (is_accepted(entry) or _gives_way(work, row)):
        raise _no_place(entry, 0, 1)
    return True


def last_of_each_id(entries: Sequence[Entry]) -> dict[str, tuple[int, Entry]]:
    """Return the last entry of each id, with its position, if it may win."""
    last: dict[str, tuple[int, Entry]] = {}
    for at, entry in enumerate(entries):
        _, before = last.get(entry.row.id, (0, None))
        wins = is_accepted(entry) and not (before and _outranks(before.row, entry))
        if before is not None and is_accepted(before) and not wins:
            raise _no_place(entry, at, len(entries))
        last[entry.row.id] = at, entry
    return last


def _no_place(entry: Entry, at: int, count: int) -> UntrustedSource:
    """Make the error for an entry that would replace a memory that is trusted more."""
    error = UntrustedSource(
        "replace",
        f"{entry.row.id!r} is trusted more than this memory, which comes from, or is derived from,"
        f" {entry.row.trust}, so it cannot be replaced; use a different id",
    )
    return error if count == 1 else error.within(f"items[{at}]")


def _put_over(work: Work, row: Row, entry: Entry) -> None:
    """Give a memory the content of an entry; equal content makes no new version."""
    session, damaged = work.db, not is_sound(row)
    renewed = damaged or row.status != entry.row.status or not holds(row, work.now)
    changes = _replacement(work, row, entry, damaged=damaged, renewed=renewed)
    if not renewed and changes.keys() == {"expires_at", "updated_at"}:
        if locks.is_locked(row):
            return  # a lock allows no expiry
        memories.overwrite(session, row, changes)
        log_event(work, row, Event.TOUCHED)
        return
    locks.guard_replaced(row, entry.by or entry.row.trust)
    if row.source_parents != "[]":
        links.stop_waiting(session, row.docid)
    reworded = renewed or not changes.keys().isdisjoint(_EMBEDDED)
    recorded.keep_version(work, row, Reason.REPLACED)
    for after in memories.docids_of(session, work.ns, [row.superseded_by or ""]).values():
        recorded.unlink(work, after, row.docid, "supersedes")
    changes["version"] = row.version + 1 if isinstance(row.version, int) else 1
    if renewed:
        changes["created_at"] = work.now
    memories.overwrite(session, row, changes, anew=damaged)
    session.words.replace(row.docid, entry.text)
    if reworded:
        memories.enqueue(session, row, "embed")
    elif "tier" in changes:
        memories.enqueue(session, row, "drop" if row.tier == Tier.SHORT else "index")
    slots.take_place(work, entry, row)
    relate(work, entry, row)
    another = renewed or "content_hash" in changes
    log_event(work, row, Event.REPLACED, {"anew": True} if another else None)
    if entry.redacted:
        log_event(work, row, Event.REDACTED, entry.redacted)


def _replacement(
    work: Work, row: Row, entry: Entry, *, damaged: bool, renewed: bool
) -> dict[str, Any]:
    """Return the columns that change when an entry replaces a memory, with new values."""
    if damaged:
        changes = {name: getattr(entry.row, name) for name in (*_REPLACED, "id", "reinforced")}
    else:
        changes = _differences(row, entry)
    if entry.row.content_hash == row.content_hash and not renewed:  # a default is no difference
        changes = {name: v for name, v in changes.items() if name not in entry.derived}
    if changes.keys() - {"expires_at"}:
        changes["given"] = entry.row.given
    return changes | {"expires_at": entry.row.expires_at, "updated_at": work.now}


def _differences(row: Row, entry: Entry) -> dict[str, Any]:
    """Return the columns in which an entry differs from a row, with its values; locks stay."""
    wanted = {name: getattr(entry.row, name) for name in _REPLACED}
    wanted["pinned"] |= row.pinned & LOCKS
    return {name: value for name, value in wanted.items() if getattr(row, name) != value}


def _outranks(row: Row, entry: Entry) -> bool:
    """Return whether a memory is trusted more than an entry's author; False if damaged."""
    return is_sound(row) and Trust.outranks(row.trust, entry.by or entry.row.trust)


def _stands_against(work: Work, row: Row, entry: Entry) -> bool:
    """Return whether an entry's author may not replace a memory; damaged counts as ``web``."""
    stands = trust.standing(row, work.rules.untrusted) if is_sound(row) else Trust.WEB
    return Trust.outranks(stands, entry.by or entry.row.trust)


def _is_own(row: Row, entry: Entry) -> bool:
    """Return whether an entry and a memory have the same source."""
    return (row.trust, row.source_uri) == (entry.row.trust, entry.row.source_uri)
