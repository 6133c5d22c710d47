"""Deliberate changes of a stored memory: update, forget, restore, move, archive. No text is lost.

Each function that takes a `Work` is one writer job. What takes longer for a longer text, such as
the search for secrets, is done before it, in `accept`, so that no other writer waits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from memento import check
from memento.admit import draft
from memento.admit.redact import Redaction
from memento.base.lazy import later
from memento.base.scopes import parse_scope
from memento.config import Config
from memento.errors import InvalidInput, UntrustedSource
from memento.ledger import changes as recorded
from memento.ledger import memories, parts, quotes
from memento.ledger.contract import Transaction, Work
from memento.ledger.predicate import Filters
from memento.ledger.replays import RESERVED, TURN
from memento.ledger.rows import (
    BITS,
    IDENTIFYING,
    IMPORTANCE_GIVEN,
    LOCKS,
    TIER_GIVEN,
    Row,
    identity,
    mapping_in,
)
from memento.status import having
from memento.text.words import cues
from memento.types import Event, Kind, Reason, Status, Tier, Trust
from memento.write import locks, slots, trust
from memento.write.steps import (
    ACCEPTED,
    FOUND,
    INDEXED,
    SLOT_HOLDING,
    alter,
    hide,
    holds,
    in_ring,
    log_event,
    retitled,
)  # fmt: skip

if TYPE_CHECKING:
    from memento.ledger import scope_rows
    from memento.write import merge
else:
    merge = later("memento.write.merge")
    scope_rows = later("memento.ledger.scope_rows")


class _Keep:
    """Marks a field that an update leaves as it is; ``help()`` shows its name."""

    def __repr__(self) -> str:
        return "KEEP"


KEEP: Any = _Keep()
"""Leaves a field as it is; None would clear some fields."""
_BOOKKEEPING = {"updated_at", "version", "given", "content_hash", "cues", "words", "head_words"}
_REVIVING = (Event.USED, Event.CONFIRMED)
"""Verdicts that bring a memory back from the archive."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """Validated and redacted arguments of an update; they do not depend on the memory.

    Attributes:
        columns: New values by column.
        added: Aliases to add.
        removed: Aliases to remove.
        author: Trust class of the author.
        found: Number of removed secrets, by kind.
        tier: The tier to move to; None to stay.
        lock: The lock level to set; None to unlock; ``KEEP`` to leave it as it is.
    """

    columns: Mapping[str, Any]
    added: tuple[str, ...]
    removed: frozenset[str]
    author: Trust
    found: Mapping[str, int]
    tier: Tier | None
    lock: Any

    @property
    def verb(self) -> str:
        """Name of the change in ``changes``: ``update`` unless it does just one thing."""
        fields = bool(self.added or self.removed) or not self.columns.keys() <= {"pinned"}
        steps = [*self.columns, *(["tier"] if self.tier else ())]
        steps += ["lock"] if self.lock is not KEEP else []
        if fields or len(steps) != 1:
            return "update"
        if steps == ["pinned"]:
            return "pin" if self.columns["pinned"] else "unpin"
        if steps == ["tier"]:
            return "move"
        return "unlock" if self.lock is None else "lock"


def accept(asked: Mapping[str, Any], *, now: int, config: Config) -> Accepted:
    """Validate and redact the arguments of ``update``, before the writer job.

    Raises:
        InvalidInput: If a value is invalid.
        SecretFound: If it contains a secret and the settings refuse those.
    """
    clean = Redaction(config.secrets)
    columns = {
        name: check_it(value, clean, config.limits)
        for name, check_it in _CHECKS.items()
        if (value := asked.get(name, KEEP)) is not KEEP
    }
    if (expires_in := asked.get("expires_in", KEEP)) is not KEEP:
        columns["expires_at"] = check.expiry(expires_in, now)
    source = asked.get("source")
    tier, lock = asked.get("tier", KEEP), asked.get("lock", KEEP)
    return Accepted(
        columns=columns,
        added=clean.names("add_aliases", check.names("add_aliases", asked.get("add_aliases", ()))),
        removed=frozenset(check.names("remove_aliases", asked.get("remove_aliases", ()))),
        author=Trust.USER if source is None else check.member(Trust, "source", source),
        found=clean.found,
        tier=None if tier is KEEP else check.member(Tier, "tier", tier),
        lock=lock if lock is KEEP or lock is None else check.check_word("lock", lock, BITS),
    )


def _moment(name: str, value: object) -> int | None:
    return None if value is None else check.check_moment(name, value)


_CHECKS: Mapping[str, Callable[[Any, Redaction, check.Limits], Any]] = {
    "text": lambda value, clean, limits: clean.text("text", check.check_text(value, limits)),
    "kind": lambda value, _clean, _limits: check.member(Kind, "kind", value).value,
    "importance": lambda value, _clean, _limits: check.check_share("importance", value),
    "scope": lambda value, _clean, _limits: parse_scope(value),
    "tags": lambda value, clean, _limits: draft.to_json(
        clean.names("tags", check.names("tags", value))
    ),
    "metadata": lambda value, clean, limits: clean.json(
        "metadata", check.check_metadata(value, limits)
    ),
    "pinned": lambda value, _clean, _limits: int(check.check_flag("pinned", value)),
    "valid_until": lambda value, _clean, _limits: _moment("valid_until", value),
    "condition": lambda value, clean, _limits: clean.name(
        "condition", check.optional_condition("condition", value)
    ),
    "due_at": lambda value, _clean, _limits: _moment("due_at", value),
}
"""Arguments to their validators, in the order in which they are validated."""


def update(work: Work, memory_id: str, asked: Accepted) -> Row:
    """Change a memory in place; its history keeps the earlier state."""
    check_author(memories.by_id(work.db, work.ns, memory_id), asked.author, work.rules.untrusted)
    if asked.lock is None:
        locks.unlock(work, memory_id)
    row = memories.by_id(work.db, work.ns, memory_id)
    if asked.verb in ("pin", "unpin"):
        locks.guard([row])
        row = (locks.pin if asked.columns["pinned"] else locks.unpin)(work, memory_id)
    elif asked.columns or asked.added or asked.removed:
        row = _set_fields(work, memory_id, asked)
    if asked.tier is not None:
        row = move(work, memory_id, asked.tier)
    if asked.lock not in (KEEP, None):
        row = locks.lock(work, memory_id, asked.lock)
    return row


def _set_fields(work: Work, memory_id: str, asked: Accepted) -> Row:
    """Set the fields of a memory, and keep its earlier version."""
    session, untrusted = work.db, work.rules.untrusted
    row = memories.by_id(session, work.ns, memory_id)
    if row.status == Status.FORGOTTEN:
        raise InvalidInput("id", f"{memory_id!r} is forgotten; restore it first")
    locks.guard([row])
    wanted = dict(asked.columns)
    if "scope" in wanted:  # a merged scope means the one that it was merged into
        wanted["scope"] = scope_rows.present(session, work.ns, wanted["scope"])
    changes = _changes(row, wanted, asked)
    if not changes:
        return row
    reworded = "text" in changes and asked.author is Trust.USER and row.status in ACCEPTED
    least = asked.author.value if reworded else Trust.least([Trust(row.trust), asked.author]).value
    if least != row.trust:
        changes["trust"] = least
        changes |= {} if reworded else locks.lost(work, row, changes.get("pinned", row.pinned))
    kind, pinned = changes.get("kind", row.kind), bool(changes.get("pinned", row.pinned))
    trust.check_standing(least, kind, pinned=pinned, untrusted=untrusted)
    if "importance" in changes:
        changes["given"] = row.given | IMPORTANCE_GIVEN
    changes["version"] = row.version + 1
    if not changes.keys().isdisjoint(("text", "aliases", "tags")):
        changes = retitled(work, row, changes)
    owed = "text" in changes and row.status in memories.OWED_VECTOR
    alter(work, row, changes, Reason.UPDATED, index="embed" if owed else None)
    if "scope" in changes:
        slots.contend(work, row)
    if not changes.keys().isdisjoint(("scope", "valid_until")):
        slots.fit(work, row)
    log_event(work, row, Event.UPDATED, {"fields": sorted(set(changes) - _BOOKKEEPING)})
    if asked.found:
        log_event(work, row, Event.REDACTED, asked.found)
    return row


def check_author(row: Row, author: str, untrusted: Collection[str]) -> None:
    """Check that an author may change a memory.

    Only the user may change a quarantined one: somebody may have read it and be about to approve.

    Raises:
        UntrustedSource: If the author is untrusted, or less trusted than the memory.
    """
    waits = row.status == Status.QUARANTINED and author != Trust.USER
    stands = trust.standing(row, untrusted)
    if waits or author in untrusted or Trust.outranks(stands, author):
        raise UntrustedSource(
            "source",
            f"a memory from {author} cannot change or hide {row.id!r}, which comes from"
            f" {row.trust}; instead, add the correct statement with supersedes={row.id!r}, and "
            "let the user settle the conflict",
        )


def forget(work: Work, memory_id: str, author: str = Trust.USER, *, alone: bool = False) -> Row:
    """Hide a memory at once; ``restore`` brings it back. Forgetting twice changes nothing.

    If it is ``alone``, a value that it would have replaced later goes on; else that was asked to go
    as well, as all about a subject.
    """
    row = memories.by_id(work.db, work.ns, memory_id, damaged=True)
    locks.guard([row])
    check_author(row, author, work.rules.untrusted)
    return _put_away(work, row) if alone else hide(work, row, Reason.FORGOTTEN)


def _put_away(work: Work, row: Row) -> Row:
    """Forget a memory; a value that it would have replaced later goes on."""
    planned = row.status in SLOT_HOLDING and row.key is not None and slots.is_planned(row, work.now)
    hidden = hide(work, row, Reason.FORGOTTEN)
    if planned:
        slots.give_back(work, row, Reason.RESTORED)
    return hidden


def forget_turn(work: Work, memory_id: str, author: str) -> list[Row]:
    """Hide a memory, and the later parts of a turn by its first part; the first one comes first."""
    others = parts.later_parts(work.db, work.ns, [memory_id])
    return [forget(work, one, author, alone=True) for one in (memory_id, *others.values())]


def restore_turn(work: Work, memory_id: str) -> list[Row]:
    """Restore a memory, and the forgotten later parts of a turn; the first one comes first."""
    first = restore(work, memory_id)
    others = memories.by_docids(work.db, work.ns, parts.later_parts(work.db, work.ns, [memory_id]))
    hidden = [row for _, row in sorted(others.items()) if row.status == Status.FORGOTTEN]
    return [first, *(restore(work, row.id) for row in hidden)]


def to_forget(connection: Transaction, ns: int, filters: Filters) -> list[int]:
    """Return the row ids of the matching memories not hidden yet, also quarantined ones."""
    found = memories.matching(connection, ns, _not_hidden(filters))
    locked = sorted(set(memories.locked(connection, ns)).intersection(found))
    locks.guard(memories.by_docids(connection, ns, locked).values())
    return found


def forget_those(work: Work, docids: Sequence[int], filters: Filters) -> list[Row]:
    """Hide the given memories that still match, in order of arrival; see ``forget``."""
    rows = memories.fitting(work.db, work.ns, _not_hidden(filters), docids)
    locks.guard(rows)
    return [hide(work, row, Reason.FORGOTTEN) for row in rows]


def _not_hidden(filters: Filters) -> Filters:
    return replace(filters, statuses=having("current"))


def sweep(work: Work, docids: Sequence[int]) -> list[Row]:
    """Hide the given memories that have expired, which removes them from the indexes."""
    return [
        _put_away(work, row)
        for _, row in sorted(memories.by_docids(work.db, work.ns, docids).items())
        if row.status in FOUND
        and row.expires_at is not None
        and row.expires_at <= work.now
        and not locks.is_locked(row)
    ]


def touchable(connection: Transaction, ns: int, ids: Sequence[str], *, now: int) -> list[int]:
    """Return the row ids of the given memories that are active and hold, in the given order."""
    rows = [memories.by_id(connection, ns, memory_id) for memory_id in ids]
    locks.guard(rows)
    return [row.docid for row in rows if row.status in FOUND and holds(row, now)]


def touch(work: Work, docids: Sequence[int], ends: int | None) -> list[Row]:
    """Set a new expiry, except for memories that were hidden or expired in the meantime.

    An article that would outlive a memory that it quotes is withdrawn.

    Returns:
        The changed rows, in the order of ``docids``.
    """
    rows = memories.by_docids(work.db, work.ns, docids)
    live = [row for docid in docids if (row := rows.get(docid)) and row.status in FOUND]
    locks.guard(live)
    changed = [
        memories.overwrite(work.db, row, {"expires_at": ends})
        for row in live
        if holds(row, work.now)
    ]
    for article in quotes.outdated_by(work, docids) if ends is not None else ():
        recorded.begin(work)
        quotes.withdraw(work, article)
    return changed


def restore(work: Work, memory_id: str) -> Row:
    """Bring a forgotten memory back to its earlier status.

    If another memory fills its slot by now, it comes back superseded by that one. If it had
    expired, it comes back without an expiry. An active or
    quarantined memory is returned as it is. If an import left out the history that records the
    earlier status, an untrusted memory comes back into quarantine.
    """
    session = work.db
    row = memories.by_id(session, work.ns, memory_id)
    if row.status == Status.SUPERSEDED and merge.is_folded(work, row):
        return merge.unfold(work, row)
    if row.status == Status.SUPERSEDED:
        raise InvalidInput("id", _how_it_holds_again(row))
    if row.status != Status.FORGOTTEN:
        return row
    status = trust.status_before(session, row) or _likely_status(row, work.rules.untrusted)
    over = row.expires_at is not None and row.expires_at <= work.now
    values = {"status": status} | ({"expires_at": None} if over else {})
    if status in SLOT_HOLDING:
        return _hold_again(work, row, values, Reason.RESTORED)
    alter(work, row, values, Reason.RESTORED, Event.RESTORED)
    if status not in INDEXED and status in memories.OWED_VECTOR:
        memories.enqueue(session, row, "drop")  # it may have been forgotten without a vector
    slots.fit(work, row)
    return row


def _hold_again(work: Work, row: Row, values: Mapping[str, Any], reason: Reason) -> Row:
    """Make a memory hold its slot again, unless the slot has a holder that still holds."""
    alter(work, row, dict(values), reason, Event(reason.value), index="embed")
    planned = slots.is_planned(row, work.now)

    def wins(holder: Row | None) -> bool:
        if holder is None or not holds(holder, work.now):
            return True
        return planned and not slots.is_planned(holder, work.now)

    return in_ring(work, row) if slots.contend(work, row, wins=wins) else row


def _how_it_holds_again(row: Row) -> str:
    """Say what to do instead of restoring a superseded memory."""
    again = "add its text again"
    if row.key is not None:
        slot = f"{row.key!r} in scope {row.scope!r}" if row.scope else repr(row.key)
        again = f"revert with key {slot} to return to the earlier value, or {again}"
    return f"{row.id!r} is superseded by {row.superseded_by!r}, not forgotten: {again}"


def move(work: Work, memory_id: str, tier: object) -> Row:
    """Put a memory into another tier."""
    target = check.member(Tier, "tier", tier)
    row = memories.by_id(work.db, work.ns, memory_id)
    if row.tier == target:
        return row
    locks.guard([row])
    return in_ring(work, into_tier(work, row, target.value, row.given | TIER_GIVEN))


def into_tier(work: Work, row: Row, tier: str, given: int) -> Row:
    """Put a memory that is not locked into another tier."""
    hidden = tier == Tier.SHORT or row.status not in INDEXED
    moved, op = {"tier": tier, "given": given}, "drop" if hidden else "index"
    return alter(work, row, moved, Reason.MOVED, Event.MOVED, {"to": tier}, index=op)


def _likely_status(row: Row, untrusted: Collection[str]) -> str:
    """Guess the status that a forgotten memory had, from its columns."""
    if row.superseded_by is not None:
        return Status.SUPERSEDED.value
    return (Status.QUARANTINED if row.trust in untrusted else Status.ACTIVE).value


def _changes(row: Row, wanted: dict[str, Any], asked: Accepted) -> dict[str, Any]:
    """Return the wanted values that differ from those of the row."""
    ends = wanted.get("valid_until")
    if ends is not None and ends <= row.valid_from:
        raise InvalidInput(
            "valid_until", "must be later than the time from which the memory is valid"
        )
    if "text" in wanted:
        wanted["cues"] = cues(wanted["text"], row.role)
    if "pinned" in wanted:
        wanted["pinned"] |= row.pinned & LOCKS
    if "metadata" in wanted:
        wanted["metadata"] = _with_reserved(row, wanted["metadata"])
    kept = [name for name in json.loads(row.aliases) if name not in asked.removed]
    wanted["aliases"] = draft.to_json(check.names("add_aliases", (*kept, *asked.added)))
    if not wanted.keys().isdisjoint(IDENTIFYING):
        wanted["content_hash"] = identity(row, wanted)
    return {name: value for name, value in wanted.items() if getattr(row, name) != value}


def _with_reserved(row: Row, metadata: str) -> str:
    """Keep the reserved metadata by which the store recognises a turn."""
    there = mapping_in(row.metadata)
    known = {name: there[name] for name in RESERVED if name in there}
    if not known or not row.id.startswith(TURN):
        return metadata
    return json.dumps(known | mapping_in(metadata), ensure_ascii=False)


def archive(work: Work, memory_id: str) -> Row:
    """Archive a memory; one that is archived already stays as it is."""
    row = memories.by_id(work.db, work.ns, memory_id)
    if row.status == Status.ARCHIVED:
        return row
    if row.status not in FOUND:
        raise InvalidInput("id", f"{memory_id!r} is {row.status}, not active")
    locks.guard([row])
    return put_away(work, row)


def put_away(work: Work, row: Row) -> Row:
    """Archive an active memory that is not locked."""
    archived = {"status": Status.ARCHIVED.value}
    return alter(work, row, archived, Reason.ARCHIVED, Event.ARCHIVED, index="drop")


def unarchive(work: Work, memory_id: str) -> Row:
    """Bring a memory back from the archive; an active one stays as it is.

    If another memory fills its slot by now, it comes back superseded by that one.
    """
    row = memories.by_id(work.db, work.ns, memory_id)
    if row.status in FOUND:
        return row
    if row.status != Status.ARCHIVED:
        raise InvalidInput("id", f"{memory_id!r} is {row.status}, not archived")
    return _hold_again(work, row, {"status": Status.ACTIVE.value}, Reason.UNARCHIVED)


def revived(work: Work, row: Row, kind: Event, source: Trust) -> Row:
    """Bring an archived memory back if the user or the agent used or confirmed it."""
    trusted = source in (Trust.USER, Trust.AGENT)
    if row.status == Status.ARCHIVED and kind in _REVIVING and trusted:
        return _hold_again(work, row, {"status": Status.ACTIVE.value}, Reason.UNARCHIVED)
    return row
