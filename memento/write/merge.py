"""Merge a repeat into the stored memory: the union, or the stronger value. Fold and unfold.

Equal content is stored once, but each ``add`` may give it other fields. Unless the table names an
order, the order of arrival does not matter, within the limits of one memory:

================  ==============================================================================
field             the memory afterwards has
================  ==============================================================================
``tier``          the higher one: short < medium < long; a lower one does not demote
``pinned``        True if either is
``importance``    the larger one
``tags``          both, in order of arrival; past ``MAX_ITEMS`` the first ones
``aliases``       both, in order of arrival; past ``MAX_ITEMS`` the first ones
``metadata``      both; of one key the newer value; as it was if both together are too large
``kind``          the newer one, unless that is ``fact``, the default
``expires_in``    the later end; none at all beats any
``valid_until``   the later end; none at all beats any
``due_at``        the newer one, if given
``signal``        the first one
``related``       both
``source``        the more trusted one; of equals the first
================  ==============================================================================

A tier or an importance that the caller did not give changes nothing. A quarantined memory is never
merged, in either direction; its repeats are only counted.

The table is for sources that are trusted alike. A repeat from a less trusted source is only counted
and changes nothing. One from a more trusted source takes over: the memory gets its source and its
values of the fields above, except that the tier never falls. Values of the less trusted source,
such as aliases, stay in the history only.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from memento.admit.draft import Entry, to_json
from memento.check import MAX_ITEMS
from memento.ledger import changes, memories, usage_events
from memento.ledger.contract import Work
from memento.ledger.rows import LOCKS, TIER_GIVEN, Row, mapping_in, strings_in
from memento.types import Event, Kind, Reason, Status, Tier, Trust
from memento.write.steps import ACCEPTED, alter, log_event, note_event, retitled
from memento.write.trust import standing


def fold(work: Work, survivor: Row, members: Sequence[Row]) -> list[Row]:
    """Let one memory stand for others; it gets the aliases and tags of those trusted alike.

    The arrival of each other one counts as a use of it, at that time. All are active.
    """
    equals = [row for row in (survivor, *members) if row.trust == survivor.trust]
    names = {name: joined(getattr(row, name) for row in equals) for name in ("aliases", "tags")}
    more = {name: value for name, value in names.items() if value != getattr(survivor, name)}
    if more:
        alter(work, survivor, retitled(work, survivor, more), Reason.MERGED)
    for row in members:
        values = {
            "status": Status.SUPERSEDED.value,
            "superseded_by": survivor.id,
            "valid_until": max(row.valid_from, work.now),
        }
        by = {"by": survivor.id}
        alter(work, row, values, Reason.FOLDED, Event.SUPERSEDED, by, index="drop")
        changes.link(work, survivor.docid, row.docid, "supersedes")
        log_event(work, survivor, Event.FOLDED, {"member": row.id, "since": row.created_at})
    return [survivor, *members]


def is_folded(work: Work, row: Row) -> bool:
    """Return whether a memory is superseded because another one stands for it."""
    last = memories.states(work.db, row.docid)[-1:]
    return row.status == Status.SUPERSEDED and [state.reason for state in last] == [Reason.FOLDED]


def unfold(work: Work, row: Row) -> Row:
    """Take a memory out of the one that stands for it, and retract the use it counted as."""
    for survivor in unfolded(work, row):
        changes.unlink(work, survivor.docid, row.docid, "supersedes")
    values = {"status": Status.ACTIVE.value, "superseded_by": None, "valid_until": None}
    return alter(work, row, values, Reason.UNFOLDED, Event.UNFOLDED, index="embed")


def unfolded(work: Work, row: Row) -> list[Row]:
    """Retract the use that a memory counted as for the one that stands for it.

    Returns that one, in a list; an empty list if it is gone.
    """
    found = [*memories.by_ids(work.db, work.ns, [row.superseded_by or ""]).values()]
    for survivor in found:
        told = usage_events.told_of(work.db, survivor.docid)
        for one in usage_events.standing_ones(told):
            if one.kind == Event.FOLDED and one.detail.get("member") == row.id:
                note_event(work, survivor, Event.RETRACTED, one.retraction)
    return found


MAX_STATES = 64
"""Maximum number of earlier states that repeats of its own source leave of one memory."""

SOURCE = ("trust", "source_uri", "source_model", "source_parents")
_SAID = (
    "pinned", "importance", "tags", "aliases", "metadata", "kind", "expires_at", "valid_until",
    "due_at", "signal",
)  # fmt: skip
"""Columns in which a source describes the content."""
_TIERS = [tier.value for tier in Tier]


def merged(row: Row, new: Row, derived: Collection[str], metadata_bytes: int) -> dict[str, Any]:
    """Return the columns that a repeat changes, with new values; check `may_add` first.

    Args:
        row: The stored memory.
        new: The repeat.
        derived: Columns of ``new`` whose value the caller did not give.
        metadata_bytes: Maximum size of the metadata as JSON, in bytes.
    """
    if Trust.outranks(new.trust, row.trust):
        both = {name: getattr(new, name) for name in (*SOURCE, *_SAID)}
        both["pinned"] |= row.pinned & LOCKS
    else:
        both = _both(row, new, derived, metadata_bytes)
    if "tier" not in derived or "importance" not in derived or new.pinned:
        both["tier"] = max(row.tier, new.tier, key=_TIERS.index)
    changes = {name: value for name, value in both.items() if value != getattr(row, name)}
    if "tier" in changes and "tier" not in derived:
        changes["given"] = row.given | TIER_GIVEN
    return changes


def may_add(row: Row, new: Row, untrusted: Collection[str]) -> bool:
    """Return whether the source of a repeat may change a memory, or link it to others.

    A quarantined memory must be approved as it was read, so no repeat changes it. What an
    untrusted source said stays as it was approved, unless the user says the same. A repeat with
    other parents may lose trust when these arrive, and its changes could not be taken back then.
    """
    if not ACCEPTED.issuperset((row.status, new.status)):
        return False
    if Trust.outranks(standing(row, untrusted), new.trust):
        return False
    return Trust.outranks(new.trust, row.trust) or new.source_parents in ("[]", row.source_parents)


def relate(work: Work, entry: Entry, row: Row) -> None:
    """Link a memory to those that the caller named."""
    for memory_id in entry.related:
        other = memories.by_id(work.db, work.ns, memory_id, damaged=True)
        if row is entry.row or may_add(row, entry.row, work.rules.untrusted):
            changes.link(work, row.docid, other.docid, "related")


def _both(row: Row, new: Row, derived: Collection[str], metadata_bytes: int) -> dict[str, Any]:
    """Merge the fields of sources that are trusted alike."""
    both: dict[str, Any] = {
        "pinned": row.pinned | new.pinned,
        "kind": row.kind if new.kind == Kind.FACT else new.kind,
        "tags": joined((row.tags, new.tags)),
        "aliases": joined((row.aliases, new.aliases)),
        "metadata": _updated(row.metadata, new.metadata, metadata_bytes),
        "valid_until": _later(row.valid_until, new.valid_until),
        "expires_at": _later(row.expires_at, new.expires_at),
        "due_at": row.due_at if new.due_at is None else new.due_at,
        "signal": new.signal if row.signal is None else row.signal,
    }
    if "importance" not in derived:
        both["importance"] = max(row.importance, new.importance)
    return both


def joined(lists: Iterable[str]) -> str:
    """Join JSON lists, each name once."""
    names = dict.fromkeys(name for one in lists for name in strings_in(one))
    return to_json([*names][:MAX_ITEMS])


def _updated(old: str, new: str, most: int) -> str:
    before = mapping_in(old)
    both = before | mapping_in(new)
    if both == before and repr(both) == repr(before):  # 1 == 1.0 == True, but they differ
        return old
    spelt = json.dumps(both, ensure_ascii=False)
    return spelt if len(spelt.encode()) <= most else old


def _later(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)
