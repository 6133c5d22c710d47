"""Every deliberate change of mind: put, update, forget, restore, move. Nothing is lost by any.

Each function that takes a connection is one writer job and runs in one transaction. What a change
costs by the size of its text is done before, in `accept`: nobody waits for a search for secrets.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memento import check
from memento.admit import draft
from memento.admit.redact import Redaction
from memento.config import Config
from memento.errors import InvalidInput, UntrustedSource
from memento.language.words import cues
from memento.ledger import descent, memories
from memento.ledger.contract import Session
from memento.ledger.predicate import Filters
from memento.ledger.rows import NAMES, Row, columns_of, content_hash, is_sound
from memento.lifecycle import quarantine
from memento.scopes import parse_scope
from memento.status import having
from memento.types import Event, Kind, Reason, Status, Tier, Trust

_ABSENT: Any = object()
FOUND = frozenset(having("found"))


@dataclass(frozen=True, slots=True)
class Corrections:
    """What ``update`` changes; fields left at ``KEEP`` stay as they are."""

    text: Any = _ABSENT
    kind: Any = _ABSENT
    importance: Any = _ABSENT
    scope: Any = _ABSENT
    tags: Any = _ABSENT
    metadata: Any = _ABSENT
    pinned: Any = _ABSENT
    valid_until: Any = _ABSENT
    expires_in: Any = _ABSENT
    add_aliases: Sequence[str] = ()
    remove_aliases: Sequence[str] = ()
    source: Any = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """Corrections that were checked and lost their secrets; nothing of it depends on the memory.

    Attributes:
        columns: Columns to the values they are to have.
        added: Aliases to add.
        removed: Aliases to take away.
        author: Who says so.
        found: Secrets that were taken out, by kind.
    """

    columns: Mapping[str, Any]
    added: tuple[str, ...]
    removed: frozenset[str]
    author: Trust
    found: Mapping[str, int]


_BOOKKEEPING = {"updated_at", "version", "content_hash", "cues", "words", "head_words"}

_OWN = {
    "docid", "ns", "rev", "id", "created_at", "updated_at", "reinforced", "version", "checksum",
}  # fmt: skip
_REPLACED = tuple(name for name in NAMES if name not in _OWN)
"""Columns that ``put`` takes over."""
_EMBEDDED = {"text", "actor", "role"}
"""Columns that a vector is made of."""

KEEP = _ABSENT
"""Stands for "as it is", since None means "none" for some fields."""


def accept(asked: Corrections, *, now: int, config: Config) -> Accepted:
    """Check corrections and take the secrets out of them, before the writer is asked for.

    Raises:
        InvalidInput: If a value cannot be accepted.
        SecretFound: If it holds a secret and these are to be refused.
    """
    clean = Redaction(config.secrets)
    columns = {
        name: accept(value, clean, config.limits)
        for name, accept in _CHECKS.items()
        if (value := getattr(asked, name)) is not KEEP
    }
    if asked.expires_in is not KEEP:
        columns["expires_at"] = check.expiry(asked.expires_in, now)
    return Accepted(
        columns=columns,
        added=clean.names("add_aliases", check.names("add_aliases", asked.add_aliases)),
        removed=frozenset(check.names("remove_aliases", asked.remove_aliases)),
        author=Trust.USER if asked.source is None else check.member(Trust, "source", asked.source),
        found=clean.found,
    )


def _moment(value: object) -> int | None:
    return None if value is None else check.check_moment("valid_until", value)


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
    "valid_until": lambda value, _clean, _limits: _moment(value),
}
"""Corrections to what accepts each; in the order in which they are refused."""


def update(
    connection: Session,
    ns: int,
    memory_id: str,
    asked: Accepted,
    *,
    now: int,
    untrusted: Collection[str],
) -> Row:
    """Change a memory in place and keep its earlier version.

    Raises:
        NotFound: If the namespace has no such id.
        InvalidInput: If a value does not fit the memory, or the memory is forgotten.
        UntrustedSource: If it would be a rule or be pinned, and its source is not trusted; or if
            who changes it is not, and it counts.
    """
    row = memories.by_id(connection, ns, memory_id)
    if row.status == Status.FORGOTTEN:
        raise InvalidInput("id", f"{memory_id!r} is forgotten; restore it first")
    _check_author(row, asked.author, untrusted)
    changes = _changes(row, asked)
    if not changes:
        return row
    trust = Trust.least([Trust(row.trust), asked.author]).value
    if trust != row.trust:
        changes["trust"] = trust
    kind, pinned = changes.get("kind", row.kind), bool(changes.get("pinned", row.pinned))
    quarantine.check_standing(trust, kind, pinned=pinned, untrusted=untrusted)
    reworded = "text" in changes
    retitled = reworded or "aliases" in changes or "tags" in changes
    rescoped = "scope" in changes
    changes |= {"updated_at": now, "version": row.version + 1}
    memories.keep_version(connection, row, Reason.UPDATED, now)
    if retitled:
        columns = columns_of(replace(row, **changes))
        changes |= {"words": columns.words, "head_words": columns.head_words}
        connection.words.replace(row.docid, columns)
    memories.overwrite(connection, row, changes)
    if reworded and row.status in memories.OWED_VECTOR:
        memories.enqueue(connection, row, "embed")
    if rescoped and row.status in memories.SLOT_HOLDING and row.key is not None:
        holder = memories.slot_holder(connection, row)
        if holder is not None:
            memories.supersede(connection, holder, row, now)
    named = sorted(set(changes) - _BOOKKEEPING)
    memories.record(connection, ns, now, Event.UPDATED, row.docid, {"fields": named})
    if asked.found:
        memories.record(connection, ns, now, Event.REDACTED, row.docid, asked.found)
    return row


def _check_author(row: Row, author: Trust, untrusted: Collection[str]) -> None:
    """Accept who changes a memory.

    Raises:
        UntrustedSource: If it is not trusted, and the memory counts.
    """
    if author in untrusted and row.status != Status.QUARANTINED:
        raise UntrustedSource(
            "source",
            f"what comes from {author} cannot change {row.id!r}, which counts; add it with"
            " supersedes, and it takes that place once it is approved",
        )


def forget(connection: Session, ns: int, memory_id: str, *, now: int) -> Row:
    """Hide a memory at once; ``restore`` brings it back. Forgetting twice changes nothing.

    Raises:
        NotFound: If the namespace has no such id.
    """
    row = memories.by_id(connection, ns, memory_id, damaged=True)
    return memories.hide(connection, row, now, Reason.FORGOTTEN)


def to_forget(connection: Session, ns: int, filters: Filters) -> list[int]:
    """Find every memory that fits and is not hidden yet, quarantined ones too: row ids."""
    return memories.matching(connection, ns, _not_hidden(filters))


def forget_those(
    connection: Session, ns: int, docids: Sequence[int], filters: Filters, *, now: int
) -> list[Row]:
    """Hide those of some memories that still fit, in order of arrival; see ``forget``."""
    return [
        memories.hide(connection, row, now, Reason.FORGOTTEN)
        for row in memories.fitting(connection, ns, _not_hidden(filters), docids)
    ]


def _not_hidden(filters: Filters) -> Filters:
    return replace(filters, statuses=having("current"))


def sweep(connection: Session, ns: int, docids: Sequence[int], *, now: int) -> list[Row]:
    """Hide those of some memories that have expired, so that they leave the indexes too."""
    return [
        memories.hide(connection, row, now, Reason.FORGOTTEN)
        for _, row in sorted(memories.by_docids(connection, ns, docids).items())
        if row.status in FOUND and row.expires_at is not None and row.expires_at <= now
    ]


def touchable(connection: Session, ns: int, ids: Sequence[str], *, now: int) -> list[int]:
    """Find those of some memories that are active and hold: row ids, in the order of the ids.

    Raises:
        NotFound: If the namespace lacks one of the ids.
        StoreUnusable: If one is damaged.
    """
    rows = [memories.by_id(connection, ns, memory_id) for memory_id in ids]
    return [row.docid for row in rows if row.status in FOUND and _holds(row, now)]


def touch(
    connection: Session, ns: int, docids: Sequence[int], ends: int | None, *, now: int
) -> list[Row]:
    """Set again when memories expire; those that are hidden or expired by now stay so.

    Returns:
        The rows that were changed, in the order of the row ids given.
    """
    rows = memories.by_docids(connection, ns, docids)
    live = [row for docid in docids if (row := rows.get(docid)) and row.status in FOUND]
    return [
        memories.overwrite(connection, row, {"expires_at": ends})
        for row in live
        if _holds(row, now)
    ]


def add(
    connection: Session,
    ns: int,
    entries: Sequence[memories.Entry],
    *,
    now: int,
    ring: int,
    untrusted: Collection[str],
) -> list[Row]:
    """Insert entries as ``memories.add`` does; no id is kept from what counts by what does not.

    Where an entry that counts names the id of a memory that is quarantined, or was rejected, it
    takes that one's place, with equal content or another; what was there stays in the history.

    Args:
        connection: Inside a transaction.
        ns: Namespace number.
        entries: What to insert, judged, in order of arrival.
        now: The present moment, microseconds.
        ring: Capacity of a session's ring buffer.
        untrusted: Classes of trust that are quarantined.

    Returns:
        One row an entry, in order.

    Raises:
        IdConflict: If a chosen id is taken by another content.
        NotFound: If ``supersedes`` or ``related`` names no memory of this namespace.
    """
    doubtful = {entry.row.id for entry in entries if entry.chosen_id and not _counts(entry)}
    chosen = [entry.row.id for entry in entries if entry.chosen_id and _counts(entry)]
    squatted = doubtful & set(chosen) | memories.hidden_ids(connection, ns, chosen)
    answers: list[Row] = []
    start = 0
    for at, entry in enumerate(entries if squatted else ()):
        if not (_counts(entry) and entry.chosen_id and entry.row.id in squatted):
            continue
        answers += memories.add(connection, ns, entries[start:at], now=now, ring=ring)
        start = at
        held = memories.docids_of(connection, ns, [entry.row.id])
        row = memories.by_id(connection, ns, entry.row.id) if held else None
        if row is not None and _gives_way(row, untrusted):
            _put_over(connection, row, entry, now)
            memories.overflow(connection, ns, entry.row.session, now=now, ring=ring)
            answers.append(row)
            start = at + 1
    if not start:
        return memories.add(connection, ns, entries, now=now, ring=ring)
    answers += memories.add(connection, ns, entries[start:], now=now, ring=ring)
    return [memories.by_id(connection, ns, row.id) for row in answers]


def put(
    connection: Session,
    ns: int,
    entries: Sequence[memories.Entry],
    *,
    now: int,
    ring: int,
    untrusted: Collection[str],
) -> list[Row]:
    """Insert entries, or put them in the place of the memories that have their ids.

    What was there stays in the history. A memory that was hidden or had expired begins anew. Of
    several entries with one id the last counts. What is quarantined takes only the place of what
    comes from such a source too and does not count, or no longer.

    Returns:
        One row an entry, in order.

    Raises:
        NotFound: If ``supersedes`` or ``related`` names no memory of this namespace.
        UntrustedSource: If what is quarantined would take the place of what is not.
    """
    last = _last(entries)
    taken = memories.docids_of(connection, ns, list(last))
    fresh = [entry for _, entry in last.values() if entry.row.id not in taken]
    memories.add(connection, ns, fresh, now=now, ring=ring)
    for at, entry in last.values():
        if entry.row.id not in taken:
            continue
        row = memories.by_id(connection, ns, entry.row.id, damaged=_counts(entry))
        if _counts(entry) or _gives_way(row, untrusted):
            _put_over(connection, row, entry, now)
        elif not _repeats(row, entry):
            raise _no_place(entry, at, len(entries))
    for session in {entry.row.session for _, entry in last.values()}:
        memories.overflow(connection, ns, session, now=now, ring=ring)
    return [memories.by_id(connection, ns, entry.row.id) for entry in entries]


def restore(
    connection: Session,
    ns: int,
    memory_id: str,
    *,
    now: int,
    ring: int,
    untrusted: Collection[str],
) -> Row:
    """Bring a forgotten memory back to the status it had.

    If another memory fills its slot by now, it comes back superseded by that one. An active or
    quarantined memory is returned as it is. An import may have left out the history that tells
    what it was before; then what is untrusted comes back into quarantine.

    Raises:
        NotFound: If the namespace has no such id.
        InvalidInput: If it is superseded: there is nothing to restore.
    """
    row = memories.by_id(connection, ns, memory_id)
    if row.status == Status.SUPERSEDED:
        raise InvalidInput(
            "id",
            f"{memory_id!r} is superseded by {row.superseded_by!r}, not forgotten; to let it hold"
            " again add what it says",
        )
    if row.status != Status.FORGOTTEN:
        return row
    status = quarantine.status_before(connection, row) or _likely_status(row, untrusted)
    changes: dict[str, Any] = {"status": status, "updated_at": now}
    memories.revise(connection, row, changes, Reason.RESTORED)
    memories.record(connection, ns, now, Event.RESTORED, row.docid)
    if status in memories.ENDED:
        memories.enqueue(connection, row, "drop")  # it may have been forgotten without a vector
    if status in memories.SLOT_HOLDING:
        memories.enqueue(connection, row, "embed")
        holder = None if row.key is None else memories.slot_holder(connection, row)
        if holder is not None and _holds(holder, now):
            memories.supersede(connection, row, holder, now)
            return row
        if holder is not None:
            memories.supersede(connection, holder, row, now)
        if row.tier == Tier.SHORT:
            memories.overflow(connection, ns, row.session, now=now, ring=ring)
            row = memories.by_id(connection, ns, memory_id)
    return row


def move(connection: Session, ns: int, memory_id: str, tier: object, *, now: int, ring: int) -> Row:
    """Put a memory into another tier.

    Raises:
        NotFound: If the namespace has no such id.
        InvalidInput: If the tier is unknown.
    """
    target = check.member(Tier, "tier", tier)
    row = memories.by_id(connection, ns, memory_id)
    if row.tier == target:
        return row
    memories.revise(connection, row, {"tier": target.value, "updated_at": now}, Reason.MOVED)
    hidden = target is Tier.SHORT or row.status not in memories.INDEXED
    memories.enqueue(connection, row, "drop" if hidden else "index")
    memories.record(connection, ns, now, Event.MOVED, row.docid, {"to": target.value})
    if target is Tier.SHORT:
        memories.overflow(connection, ns, row.session, now=now, ring=ring)
        row = memories.by_id(connection, ns, memory_id)
    return row


def _last(entries: Sequence[memories.Entry]) -> dict[str, tuple[int, memories.Entry]]:
    """Find the entry that counts of those with one id, and its position."""
    last: dict[str, tuple[int, memories.Entry]] = {}
    for at, entry in enumerate(entries):
        before = last.get(entry.row.id)
        if before is not None and _counts(before[1]) and not _counts(entry):
            raise _no_place(entry, at, len(entries))
        last[entry.row.id] = at, entry
    return last


def _no_place(entry: memories.Entry, at: int, count: int) -> UntrustedSource:
    """Say that what is quarantined cannot take the place of what is not."""
    error = UntrustedSource(
        "replace",
        f"{entry.row.id!r} is a memory that counts, and this would be quarantined: it comes or is "
        f"derived from {entry.row.trust}; give it an id of its own",
    )
    return error if count == 1 else error.within(f"items[{at}]")


def _counts(entry: memories.Entry) -> bool:
    return entry.row.status in memories.ACCEPTED


def _gives_way(row: Row, untrusted: Collection[str]) -> bool:
    """Tell whether a memory has no claim to its id: it waits, or is hidden and nobody's own."""
    hidden = row.status not in FOUND and row.trust in untrusted
    return row.status == Status.QUARANTINED or hidden


def _repeats(row: Row, entry: memories.Entry) -> bool:
    """Tell whether an entry says nothing but what is there, so that putting it changes nothing."""
    free = {*entry.derived, "status", "expires_at", "updated_at"}
    return _differences(row, entry).keys() <= free


def _differences(row: Row, entry: memories.Entry) -> dict[str, Any]:
    """Return the columns in which an entry differs from a row, and its values."""
    return {
        name: getattr(entry.row, name)
        for name in _REPLACED
        if getattr(row, name) != getattr(entry.row, name)
    }


def _everything(entry: memories.Entry) -> dict[str, Any]:
    """Return all of an entry that can be put in the place of what is damaged."""
    return {name: getattr(entry.row, name) for name in (*_REPLACED, "id", "reinforced")}


def _put_over(connection: Session, row: Row, entry: memories.Entry, now: int) -> None:
    """Give a row the content of an entry; equal content makes no new version."""
    damaged = not is_sound(row)
    new, anew = entry.row, damaged or row.status != entry.row.status or not _holds(row, now)
    changes = _differences(row, entry) if not damaged else _everything(entry)
    if new.content_hash == row.content_hash and not anew:  # what nobody gave is no difference
        changes = {name: v for name, v in changes.items() if name not in entry.derived}
    changes |= {"expires_at": new.expires_at, "updated_at": now}
    if not anew and changes.keys() == {"expires_at", "updated_at"}:
        memories.overwrite(connection, row, changes)
        memories.record(connection, row.ns, now, Event.TOUCHED, row.docid)
        return
    if row.source_parents != "[]":
        descent.leave(connection, row.docid)
    reworded = anew or not changes.keys().isdisjoint(_EMBEDDED)
    moved = "tier" in changes
    memories.keep_version(connection, row, Reason.REPLACED, now)
    changes |= {"version": row.version + 1} if isinstance(row.version, int) else {"version": 1}
    changes |= {"created_at": now} if anew else {}
    memories.overwrite(connection, row, changes, anew=damaged)
    connection.words.replace(row.docid, entry.text)
    if reworded:
        memories.enqueue(connection, row, "embed")
    elif moved:
        memories.enqueue(connection, row, "drop" if row.tier == Tier.SHORT else "index")
    memories.take_place(connection, row.ns, entry, row, now)
    for memory_id in entry.related:
        other = memories.by_id(connection, row.ns, memory_id, damaged=True)
        memories.link(connection, row.docid, other.docid, "related")
    memories.record(connection, row.ns, now, Event.REPLACED, row.docid)
    if entry.redacted:
        memories.record(connection, row.ns, now, Event.REDACTED, row.docid, entry.redacted)


def _likely_status(row: Row, untrusted: Collection[str]) -> str:
    """Say what a forgotten memory would be if it had never been forgotten."""
    if row.superseded_by is not None:
        return Status.SUPERSEDED.value
    return (Status.QUARANTINED if row.trust in untrusted else Status.ACTIVE).value


def _holds(row: Row, now: int) -> bool:
    """Tell whether an active memory is still to be found."""
    ends = (end for end in (row.expires_at, row.valid_until) if end is not None)
    return all(end > now for end in ends)


def _changes(row: Row, asked: Accepted) -> dict[str, Any]:
    """Work out which columns differ from what is asked for.

    Raises:
        InvalidInput: If it would end before it begins, or have too many aliases.
    """
    wanted = dict(asked.columns)
    ends = wanted.get("valid_until")
    if ends is not None and ends <= row.valid_from:
        raise InvalidInput("valid_until", "must be later than the start of validity")
    if "text" in wanted:
        wanted["cues"] = cues(wanted["text"], row.role)
    wanted["aliases"] = _aliases(row, asked)
    if "text" in wanted or "scope" in wanted:
        text, scope = wanted.get("text", row.text), wanted.get("scope", row.scope)
        wanted["content_hash"] = _identity(row, text, scope)
    return {name: value for name, value in wanted.items() if getattr(row, name) != value}


def _identity(row: Row, text: str, scope: str) -> bytes:
    """Digest what would make another memory the same; the time counts if it did before."""
    said_by = (row.key, row.session, row.actor, row.role)
    timeless = row.content_hash == content_hash(row.text, row.scope, *said_by, None)
    return content_hash(text, scope, *said_by, None if timeless else row.occurred_at)


def _aliases(row: Row, asked: Accepted) -> str:
    kept = [name for name in json.loads(row.aliases) if name not in asked.removed]
    return draft.to_json(check.names("add_aliases", (*kept, *asked.added)))
