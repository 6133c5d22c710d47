"""Every deliberate change of mind: put, update, forget, restore, move. Nothing is lost by any.

Each function is one writer job: it takes the connection first and runs in one transaction.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memento import quarantine
from memento.config import Config
from memento.errors import InvalidInput, UntrustedSource
from memento.ledger import descent, fulltext, memories
from memento.ledger.predicate import Filters
from memento.ledger.rows import NAMES, Row, content_hash, is_sound
from memento.ledger.sqlite import Connection
from memento.observe import admit
from memento.observe.redact import Redaction
from memento.scopes import parse_scope
from memento.text import cues
from memento.types import Kind, Status, Tier, Trust

_ABSENT: Any = object()


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


def update(
    connection: Connection,
    ns: int,
    memory_id: str,
    corrections: Corrections,
    *,
    now: int,
    config: Config,
) -> Row:
    """Change a memory in place and keep its earlier version.

    Raises:
        NotFound: If the namespace has no such id.
        InvalidInput: If a value cannot be accepted, or the memory is forgotten.
        SecretFound: If it holds a secret and these are to be refused.
        UntrustedSource: If it would be a rule or be pinned, and its source is not trusted; or if
            who changes it is not, and it counts.
    """
    row = memories.by_id(connection, ns, memory_id)
    if row.status == Status.FORGOTTEN:
        raise InvalidInput("id", f"{memory_id!r} is forgotten; restore it first")
    author = _author(row, corrections.source, config.untrusted)
    clean = Redaction(config.secrets)
    changes = _changes(row, corrections, now, config.limits, clean)
    if not changes:
        return row
    trust = Trust.least([Trust(row.trust), author]).value
    if trust != row.trust:
        changes["trust"] = trust
    kind, pinned = changes.get("kind", row.kind), bool(changes.get("pinned", row.pinned))
    quarantine.check_standing(trust, kind, pinned=pinned, untrusted=config.untrusted)
    reworded = "text" in changes
    retitled = reworded or "aliases" in changes or "tags" in changes
    rescoped = "scope" in changes
    changes |= {"updated_at": now, "version": row.version + 1}
    memories.keep_version(connection, row, "updated", now)
    if retitled:
        columns = fulltext.columns_of(replace(row, **changes))
        changes |= {"words": columns.words, "head_words": columns.head_words}
        fulltext.replace(connection, row.docid, columns)
    memories.overwrite(connection, row, changes)
    if reworded and row.status == Status.ACTIVE:
        memories.enqueue(connection, row, "embed")
    if rescoped and row.status == Status.ACTIVE and row.key is not None:
        holder = memories.slot_holder(connection, row)
        if holder is not None:
            memories.supersede(connection, holder, row, now)
    named = sorted(set(changes) - _BOOKKEEPING)
    memories.record(connection, ns, now, "updated", row.docid, {"fields": named})
    if clean.found:
        memories.record(connection, ns, now, "redacted", row.docid, clean.found)
    return row


def _author(row: Row, source: object, untrusted: Collection[str]) -> Trust:
    """Accept who changes a memory.

    Raises:
        InvalidInput: If it is no class of trust.
        UntrustedSource: If it is not trusted, and the memory counts.
    """
    author = Trust.USER if source is None else admit.member(Trust, "source", source)
    if author in untrusted and row.status != Status.QUARANTINED:
        raise UntrustedSource(
            "source",
            f"what comes from {author} cannot change {row.id!r}, which counts; add it with"
            " supersedes, and it takes that place once it is approved",
        )
    return author


def forget(connection: Connection, ns: int, memory_id: str, *, now: int) -> Row:
    """Hide a memory at once; ``restore`` brings it back. Forgetting twice changes nothing.

    Raises:
        NotFound: If the namespace has no such id.
    """
    row = memories.by_id(connection, ns, memory_id, damaged=True)
    return memories.hide(connection, row, now, "forgotten")


def forget_many(connection: Connection, ns: int, filters: Filters, *, now: int) -> list[Row]:
    """Hide every memory that fits, quarantined ones too, in order of arrival; see ``forget``."""
    filters = replace(filters, statuses=(Status.ACTIVE.value, Status.QUARANTINED.value))
    return [
        memories.hide(connection, row, now, "forgotten")
        for row in memories.select(connection, ns, filters)
    ]


def sweep(connection: Connection, ns: int, *, now: int) -> list[Row]:
    """Hide what has expired, so that it leaves the indexes too."""
    return [
        memories.hide(connection, row, now, "forgotten")
        for row in memories.expired(connection, ns, now)
    ]


def touch(
    connection: Connection, ns: int, ids: Sequence[str], expires_in: object, *, now: int
) -> list[Row]:
    """Set anew when memories expire; those that are hidden or expired already stay so.

    Returns:
        The rows that were changed.

    Raises:
        NotFound: If the namespace lacks one of the ids.
        InvalidInput: If it is no time to live.
    """
    ends = admit.expiry(expires_in, now)
    rows = [memories.by_id(connection, ns, memory_id) for memory_id in ids]
    live = [row for row in rows if row.status == Status.ACTIVE and _holds(row, now)]
    return [memories.overwrite(connection, row, {"expires_at": ends}) for row in live]


def add(
    connection: Connection,
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
    connection: Connection,
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
    connection: Connection,
    ns: int,
    memory_id: str,
    *,
    now: int,
    ring: int,
    untrusted: Collection[str],
) -> Row:
    """Bring a forgotten memory back to the status it had.

    If another memory fills its slot by now, it comes back superseded by that one. A memory
    that was not forgotten is returned as it is. An import may have left out the history that tells
    what it was before; then what is untrusted comes back into quarantine.

    Raises:
        NotFound: If the namespace has no such id.
    """
    row = memories.by_id(connection, ns, memory_id)
    if row.status != Status.FORGOTTEN:
        return row
    status = quarantine.status_before(connection, row) or _likely_status(row, untrusted)
    changes: dict[str, Any] = {"status": status, "updated_at": now}
    memories.revise(connection, row, changes, "restored")
    memories.record(connection, ns, now, "restored", row.docid)
    if status == Status.ACTIVE:
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


def move(
    connection: Connection, ns: int, memory_id: str, tier: object, *, now: int, ring: int
) -> Row:
    """Put a memory into another tier.

    Raises:
        NotFound: If the namespace has no such id.
        InvalidInput: If the tier is unknown.
    """
    target = admit.member(Tier, "tier", tier)
    row = memories.by_id(connection, ns, memory_id)
    if row.tier == target:
        return row
    memories.revise(connection, row, {"tier": target.value, "updated_at": now}, "moved")
    hidden = target is Tier.SHORT or row.status != Status.ACTIVE
    memories.enqueue(connection, row, "drop" if hidden else "index")
    memories.record(connection, ns, now, "moved", row.docid, {"to": target.value})
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
    return entry.row.status == Status.ACTIVE


def _gives_way(row: Row, untrusted: Collection[str]) -> bool:
    """Tell whether a memory has no claim to its id: it waits, or is hidden and nobody's own."""
    hidden = row.status != Status.ACTIVE and row.trust in untrusted
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


def _put_over(connection: Connection, row: Row, entry: memories.Entry, now: int) -> None:
    """Give a row the content of an entry; equal content makes no new version."""
    damaged = not is_sound(row)
    new, anew = entry.row, damaged or row.status != entry.row.status or not _holds(row, now)
    changes = _differences(row, entry) if not damaged else _everything(entry)
    if new.content_hash == row.content_hash and not anew:  # what nobody gave is no difference
        changes = {name: v for name, v in changes.items() if name not in entry.derived}
    changes |= {"expires_at": new.expires_at, "updated_at": now}
    if not anew and changes.keys() == {"expires_at", "updated_at"}:
        memories.overwrite(connection, row, changes)
        memories.record(connection, row.ns, now, "touched", row.docid)
        return
    if row.source_parents != "[]":
        descent.leave(connection, row.docid)
    reworded = anew or not changes.keys().isdisjoint(_EMBEDDED)
    moved = "tier" in changes
    memories.keep_version(connection, row, "replaced", now)
    changes |= {"version": row.version + 1} if isinstance(row.version, int) else {"version": 1}
    changes |= {"created_at": now} if anew else {}
    memories.overwrite(connection, row, changes, anew=damaged)
    fulltext.replace(connection, row.docid, entry.text)
    if reworded:
        memories.enqueue(connection, row, "embed")
    elif moved:
        memories.enqueue(connection, row, "drop" if row.tier == Tier.SHORT else "index")
    memories.take_place(connection, row.ns, entry, row, now)
    for memory_id in entry.related:
        other = memories.by_id(connection, row.ns, memory_id, damaged=True)
        memories.link(connection, row.docid, other.docid, "related")
    memories.record(connection, row.ns, now, "replaced", row.docid)
    if entry.redacted:
        memories.record(connection, row.ns, now, "redacted", row.docid, entry.redacted)


def _likely_status(row: Row, untrusted: Collection[str]) -> str:
    """Say what a forgotten memory would be if it had never been forgotten."""
    if row.superseded_by is not None:
        return Status.SUPERSEDED.value
    return (Status.QUARANTINED if row.trust in untrusted else Status.ACTIVE).value


def _holds(row: Row, now: int) -> bool:
    """Tell whether an active memory is still to be found."""
    ends = (end for end in (row.expires_at, row.valid_until) if end is not None)
    return all(end > now for end in ends)


def _changes(
    row: Row, asked: Corrections, now: int, limits: admit.Limits, clean: Redaction
) -> dict[str, Any]:
    """Work out which columns differ from what is asked for."""
    wanted: dict[str, Any] = {}
    if asked.text is not KEEP:
        wanted |= _wording(row, clean.text("text", admit.check_text(asked.text, limits)))
    if asked.kind is not KEEP:
        wanted["kind"] = admit.member(Kind, "kind", asked.kind).value
    if asked.importance is not KEEP:
        wanted["importance"] = admit.check_share("importance", asked.importance)
    if asked.scope is not KEEP:
        wanted["scope"] = parse_scope(asked.scope)
    if asked.tags is not KEEP:
        wanted["tags"] = admit.to_json(clean.names("tags", admit.names("tags", asked.tags)))
    if asked.metadata is not KEEP:
        wanted["metadata"] = clean.json("metadata", admit.check_metadata(asked.metadata, limits))
    if asked.pinned is not KEEP:
        wanted["pinned"] = int(admit.check_flag("pinned", asked.pinned))
    wanted |= _ends(row, asked, now)
    wanted["aliases"] = _aliases(row, asked, clean)
    if "text" in wanted or "scope" in wanted:
        text, scope = wanted.get("text", row.text), wanted.get("scope", row.scope)
        wanted["content_hash"] = _identity(row, text, scope)
    return {name: value for name, value in wanted.items() if getattr(row, name) != value}


def _wording(row: Row, text: str) -> Mapping[str, Any]:
    return {"text": text, "cues": cues(text, row.role)}


def _identity(row: Row, text: str, scope: str) -> bytes:
    """Digest what would make another memory the same; the time counts if it did before."""
    said_by = (row.key, row.session, row.actor, row.role)
    timeless = row.content_hash == content_hash(row.text, row.scope, *said_by, None)
    return content_hash(text, scope, *said_by, None if timeless else row.occurred_at)


def _ends(row: Row, asked: Corrections, now: int) -> Mapping[str, Any]:
    ends: dict[str, Any] = {}
    if asked.expires_in is not KEEP:
        ends["expires_at"] = admit.expiry(asked.expires_in, now)
    if asked.valid_until is not KEEP:
        end = asked.valid_until
        moment = None if end is None else admit.check_moment("valid_until", end)
        if moment is not None and moment <= row.valid_from:
            raise InvalidInput("valid_until", "must be later than the start of validity")
        ends["valid_until"] = moment
    return ends


def _aliases(row: Row, asked: Corrections, clean: Redaction) -> str:
    added = clean.names("add_aliases", admit.names("add_aliases", asked.add_aliases))
    removed = set(admit.names("remove_aliases", asked.remove_aliases))
    kept = [name for name in json.loads(row.aliases) if name not in removed]
    return admit.to_json(admit.names("add_aliases", (*kept, *added)))
