"""Merge a repeat into the memory that is there: the union, or the stronger value. Pure.

Equal content is kept once, but each ``add`` may say something else about it. In whichever order two
repeats arrive, what is joined is the same, within the limits of one memory:

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

A tier or an importance that nobody gave is ours, and changes nothing. What is quarantined is merged
into nothing, and nothing into it: what a source says again there is counted, and no more.

That is among equals. A repeat from a less trusted source is counted and changes nothing. One from a
more trusted source says it in its own name: the memory then has its source, and of the fields above
only what that repeat says, but for the tier, which never falls. Values from the page or agent
before it, such as names to be found by, stay in the history only.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from memento.admit.draft import to_json
from memento.check import MAX_ITEMS
from memento.ledger import changes, memories, usage_events
from memento.ledger.contract import Work
from memento.ledger.rows import LOCKS, TIER_GIVEN, Row, mapping_in, strings_in
from memento.types import Event, Kind, Reason, Status, Tier, Trust
from memento.write.steps import ACCEPTED, alter, log_event, note_event, retitled
from memento.write.trust import standing


def fold(work: Work, survivor: Row, members: Sequence[Row]) -> list[Row]:
    """Let one memory stand for others: aliases and tags of the same trust are joined to it.

    Each arrival of the others counts as a use of it, at its own time. All are active.
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
    """Take a memory out of the one that stands for it; its arrival is no use of that any more."""
    for survivor in unfolded(work, row):
        changes.unlink(work, survivor.docid, row.docid, "supersedes")
    values = {"status": Status.ACTIVE.value, "superseded_by": None, "valid_until": None}
    return alter(work, row, values, Reason.UNFOLDED, Event.UNFOLDED, index="embed")


def unfolded(work: Work, row: Row) -> list[Row]:
    """Take back that the arrival of a memory was a use of the one that stands for it.

    Returns that one; nothing if it is gone.
    """
    found = [*memories.by_ids(work.db, work.ns, [row.superseded_by or ""]).values()]
    for survivor in found:
        told = usage_events.told_of(work.db, survivor.docid)
        for one in usage_events.standing_ones(told):
            if one.kind == Event.FOLDED and one.detail.get("member") == row.id:
                note_event(work, survivor, Event.RETRACTED, one.retraction)
    return found


MAX_STATES = 64
"""Most earlier states of one memory that repeats of its own source may leave in its history."""

SOURCE = ("trust", "source_uri", "source_model", "source_parents")
_SAID = (
    "pinned", "importance", "tags", "aliases", "metadata", "kind", "expires_at", "valid_until",
    "due_at", "signal",
)  # fmt: skip
"""Columns that are a source's word about the content."""
_TIERS = [tier.value for tier in Tier]


def merged(row: Row, new: Row, derived: Collection[str], metadata_bytes: int) -> dict[str, Any]:
    """Return the columns that a repeat changes, to new values, if it may (`may_add`).

    Args:
        row: The memory that is there, as it is.
        new: The same content again.
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

    What is quarantined is approved as somebody read it, so that no repeat changes it; and what an
    untrusted source said stays as it was approved, unless the user says the same. A repeat that is
    derived from others may turn out to be trusted less when these arrive, which could not be taken
    back any more.
    """
    if not ACCEPTED.issuperset((row.status, new.status)):
        return False
    if Trust.outranks(standing(row, untrusted), new.trust):
        return False
    return Trust.outranks(new.trust, row.trust) or new.source_parents in ("[]", row.source_parents)


def _both(row: Row, new: Row, derived: Collection[str], metadata_bytes: int) -> dict[str, Any]:
    """Join what two sources say that are trusted alike."""
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
    """Join lists of names, each name once."""
    names = dict.fromkeys(name for one in lists for name in strings_in(one))
    return to_json([*names][:MAX_ITEMS])


def _updated(old: str, new: str, most: int) -> str:
    before = mapping_in(old)
    both = before | mapping_in(new)
    if both == before and repr(both) == repr(before):  # 1, 1.0 and True are equal, and differ
        return old
    spelt = json.dumps(both, ensure_ascii=False)
    return spelt if len(spelt.encode()) <= most else old


def _later(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)
