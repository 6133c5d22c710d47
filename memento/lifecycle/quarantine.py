"""What untrusted sources say is kept apart until somebody approves it.

A web page, a tool's output or a stranger's file may hold anything: orders to the agent, "facts"
that only its author wants believed. Filters for such texts are easily got round, so none is relied
on here. What decides is where a memory comes from:

- what comes from an untrusted source is quarantined: kept, listed, found on request, but not
  among what ``retrieve`` finds by itself, nor in the ring, nor in the place of what it contradicts;
- it can be no rule and cannot be pinned, approved or not, nor be put in another's place by its id;
- what is derived from several memories is trusted as little as the least trusted of them;
- everything from one source can be taken back at once, with what was derived from it.

Each function is one writer job: it takes the connection first and runs in one transaction.

Source: OWASP Top 10 for Agentic Applications (2026), ASI06 "Memory and context poisoning".
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from memento.errors import InvalidInput, UntrustedSource
from memento.ledger import descent, memories
from memento.ledger.contract import Session
from memento.ledger.memories import Entry
from memento.ledger.rows import Row, is_changed_state, is_sound, sound, strings_in
from memento.status import having
from memento.types import Event, Kind, Reason, Status, Tier, Trust

APPROVED = having("accepted")
"""Statuses that only what is trusted or was approved can have."""
HIDING = (Reason.FORGOTTEN, Reason.REJECTED, Reason.DISOWNED)
"""Reasons of a version after which a memory is forgotten."""


def judge(
    connection: Session, ns: int, entries: Sequence[Entry], untrusted: Collection[str]
) -> None:
    """Settle how far new memories are trusted, and quarantine those that are not.

    Args:
        connection: Inside a transaction.
        ns: Namespace number.
        entries: What is to be written; changed in place.
        untrusted: Classes of trust that are quarantined.

    Raises:
        UntrustedSource: If one of them would be a rule, or be pinned.
    """
    derived = [entry.row for entry in entries if entry.row.source_parents != "[]"]
    for entry in entries:
        if entry.row.trust in untrusted:
            entry.row.status = Status.QUARANTINED.value
    _inherit_all(connection, ns, entries, derived)
    for at, entry in enumerate(entries):
        row = entry.row
        try:
            check_standing(row.trust, row.kind, pinned=bool(row.pinned), untrusted=untrusted)
        except UntrustedSource as error:
            raise (error if len(entries) == 1 else error.within(f"items[{at}]")) from None
        if row.status == Status.QUARANTINED or row.source_parents != "[]":
            row.seal()


def judge_again(
    connection: Session,
    ns: int,
    rows: Sequence[Row],
    named: Collection[str],
    untrusted: Collection[str],
    *,
    now: int,
    ring: int,
    spared: Collection[str] = (),
) -> list[Row]:
    """Judge memories whose parents come only now, and what is derived from them in turn.

    They are trusted as little as if the parents had come first: whom the parents would have put
    into quarantine waits there, unless somebody approved it; it is a rule no longer, nor pinned,
    and gives back the places it took. The earlier state stays in the history.

    Args:
        connection: Inside the transaction that wrote what came.
        ns: Namespace number.
        rows: What came, as it is now.
        named: Ids of those that others may have named before: they were chosen by the caller.
        untrusted: Classes of trust that are quarantined.
        now: The present moment, microseconds.
        ring: Capacity of a session's ring buffer.
        spared: Ids of memories that stay as they are.

    Returns:
        The memories that changed, as they are now.
    """
    if derived := [row for row in rows if row.source_parents != "[]"]:
        descent.note(connection, ns, derived)
    waited = descent.welcome(connection, ns, sorted(named)) if named else {}
    if not waited:
        return []
    names = set().union(*waited.values())
    news = {row.id: row for row in rows if row.id in names}
    family = [*memories.by_docids(connection, ns, list(waited)).values()]
    changed: dict[int, Row] = {}
    while news:  # trust only falls and quarantine only spreads, so this ends
        fresh: dict[str, Row] = {}
        for child in family:
            heard = [news[name] for name in strings_in(child.source_parents) if name in news]
            if (
                child.id not in spared
                and is_sound(child)
                and _hear(connection, child, heard, untrusted, now)
            ):
                fresh[child.id] = changed[child.docid] = child
        family = descent.children(connection, ns, fresh) if fresh else []
        news = fresh
    return [*changed.values(), *_places_given_back(connection, [*changed.values()], now, ring)]


def status_before(connection: Session, row: Row) -> str | None:
    """Return the status a forgotten memory had, or would have by now; None if nothing tells it.

    Where damage garbled what came last, nothing older answers for it.
    """
    for state in reversed(memories.states(connection, row.docid)):
        if is_changed_state(row, state):
            return None
        if state.reason == Reason.DISTRUSTED:
            return Status.QUARANTINED.value
        if state.reason in HIDING:
            return state.status
    return None


def check_standing(trust: str, kind: str, *, pinned: bool, untrusted: Collection[str]) -> None:
    """Accept a memory that an untrusted source may have made.

    Raises:
        UntrustedSource: If it is a rule or pinned, and its source is not trusted.
    """
    if trust not in untrusted:
        return
    if kind == Kind.RULE:
        raise UntrustedSource(
            "kind", f"what comes from {trust} cannot be a rule; state the rule in your own name"
        )
    if pinned:
        raise UntrustedSource(
            "pinned", f"what comes from {trust} cannot be pinned; say it in your own name"
        )


def approve(connection: Session, ns: int, memory_id: str, *, now: int, ring: int) -> Row:
    """Let a quarantined memory be found; it takes its slot and the place of what it supersedes.

    Its source stays what it was. A memory that is not quarantined is returned as it is.

    Raises:
        NotFound: If the namespace has no such id.
        InvalidInput: If it was rejected or forgotten, or was derived from one that waits itself.
    """
    row = memories.by_id(connection, ns, memory_id)
    if row.status == Status.FORGOTTEN:
        raise InvalidInput("id", f"{memory_id!r} is forgotten; restore it first")
    if row.status != Status.QUARANTINED:
        return row
    for parent in _parents(connection, ns, {}, row):
        if parent.status == Status.QUARANTINED and parent.docid != row.docid:
            raise InvalidInput(
                "id", f"{memory_id!r} is derived from {parent.id!r}; approve or reject that first"
            )
    behind = row.superseded_by is not None  # somebody else has its place by now
    status = Status.SUPERSEDED if behind else Status.ACTIVE
    memories.revise(connection, row, {"status": status.value, "updated_at": now}, Reason.APPROVED)
    if behind:
        memories.record(connection, ns, now, Event.APPROVED, row.docid)
        return row
    memories.enqueue(connection, row, "embed")
    memories.record(connection, ns, now, Event.APPROVED, row.docid)
    holder = None if row.key is None else memories.slot_holder(connection, row)
    replaced = {old.docid: old for old in memories.proposed(connection, row.docid)}
    if holder is not None:
        replaced[holder.docid] = holder  # perhaps the very one it proposes to replace
    for old in replaced.values():
        if old.status in memories.SLOT_HOLDING:
            memories.supersede(connection, old, row, now)
    if row.tier == Tier.SHORT:
        memories.overflow(connection, ns, row.session, now=now, ring=ring)
        row = memories.by_id(connection, ns, memory_id)
    return row


def reject(connection: Session, ns: int, memory_id: str, *, now: int) -> Row:
    """Forget a quarantined memory; ``restore`` puts it back into quarantine.

    Raises:
        NotFound: If the namespace has no such id.
        InvalidInput: If it is not quarantined.
    """
    row = memories.by_id(connection, ns, memory_id)
    if row.status != Status.QUARANTINED:
        raise InvalidInput("id", f"{memory_id!r} is {row.status}, not quarantined; forget it")
    return memories.hide(connection, row, now, Reason.REJECTED)


def from_source(connection: Session, ns: int, uri: str) -> list[Row]:
    """List every memory from a source and all that was derived from it, in order of arrival."""
    found = {row.docid: row for row in memories.of_source(connection, ns, uri)}
    children = _children(memories.derivations(connection, ns))
    waiting = [row.id for row in found.values()]
    known = set(waiting)
    while waiting:
        fresh = {child for child in children.get(waiting.pop(), ()) if child not in known}
        known |= fresh
        waiting += fresh
    docids = memories.docids_of(connection, ns, sorted(known))
    return [
        row for _, row in sorted(memories.by_docids(connection, ns, [*docids.values()]).items())
    ]


def to_disown(connection: Session, ns: int, uri: str) -> list[int]:
    """Find everything from a source, and all that was derived from it, that is not hidden yet."""
    return [row.docid for row in from_source(connection, ns, uri) if row.status != Status.FORGOTTEN]


def disown(connection: Session, ns: int, docids: Sequence[int], *, now: int) -> list[Row]:
    """Forget what comes from a source that is not to be believed."""
    return [
        memories.hide(connection, row, now, Reason.DISOWNED)
        for _, row in sorted(memories.by_docids(connection, ns, docids).items())
        if row.status != Status.FORGOTTEN
    ]


def disowned(connection: Session, ns: int, uri: str) -> list[str]:
    """List the ids of what `disown` hid for a source, in order of arrival."""
    return [
        row.id
        for row in from_source(connection, ns, uri)
        if row.status == Status.FORGOTTEN
        and [state.reason for state in memories.versions(connection, row)][-1:] == [Reason.DISOWNED]
    ]


def _inherit_all(
    connection: Session, ns: int, entries: Sequence[Entry], derived: Sequence[Row]
) -> None:
    """Settle what is derived, from what is stored or from any part of the batch, later ones too."""
    if not derived:
        return
    batch: dict[str, list[Row]] = {}
    for entry in entries:
        batch.setdefault(entry.row.id, []).append(entry.row)
    families = [(row, _parents(connection, ns, batch, row)) for row in derived]
    # trust only falls and quarantine only spreads, so this ends; mostly after the first round
    while sum(_inherit(row, parents) for row, parents in families):
        pass


def _inherit(row: Row, parents: Sequence[Row]) -> bool:
    """Trust a row as little as the least of its parents; tell whether anything about it changed."""
    before = row.trust, row.status
    row.trust = Trust.least([Trust(row.trust), *(Trust(parent.trust) for parent in parents)]).value
    if any(parent.status not in APPROVED for parent in parents):
        row.status = Status.QUARANTINED.value
    return (row.trust, row.status) != before


def _hear(
    connection: Session,
    child: Row,
    heard: Sequence[Row],
    untrusted: Collection[str],
    now: int,
) -> bool:
    """Hold against a stored memory what its parents are; tell whether anything about it changed."""
    trust = Trust.least([Trust(child.trust), *(Trust(parent.trust) for parent in heard)]).value
    waits = any(parent.status not in APPROVED for parent in heard)
    doubted = waits and not _was_approved(connection, child)
    changes: dict[str, Any] = {} if trust == child.trust else {"trust": trust}
    if doubted and child.status in APPROVED:
        changes["status"] = Status.QUARANTINED.value
    if trust in untrusted and child.kind == Kind.RULE:
        changes["kind"] = Kind.FACT.value
    if trust in untrusted and child.pinned:
        changes["pinned"] = 0
    hidden = doubted and child.status == Status.FORGOTTEN
    if not changes and not (hidden and status_before(connection, child) in APPROVED):
        return False
    reason = Reason.DISTRUSTED if doubted else Reason.INHERITED
    memories.revise(connection, child, changes | {"updated_at": now}, reason)
    if "status" in changes:
        memories.enqueue(connection, child, "drop")
    memories.record(
        connection,
        child.ns,
        now,
        Event(reason.value),
        child.docid,
        {"by": [parent.id for parent in heard]},
    )
    return True


def _was_approved(connection: Session, row: Row) -> bool:
    """Tell whether somebody approved what a memory says, and nothing was put in its place since."""
    for state in reversed(memories.states(connection, row.docid)):
        if is_changed_state(row, state):
            return False
        if state.reason in (Reason.APPROVED, Reason.REPLACED):
            return state.reason == Reason.APPROVED
    return False


def _places_given_back(connection: Session, rows: Sequence[Row], now: int, ring: int) -> list[Row]:
    """Let those have their place again whose place was taken by what waits now."""
    waiting = [
        row for row in rows if row.status == Status.QUARANTINED and row.superseded_by is None
    ]
    returned = [old for row in waiting for old in memories.give_back(connection, row, now)]
    for old in returned:
        if old.tier == Tier.SHORT:
            memories.overflow(connection, old.ns, old.session, now=now, ring=ring)
    return [memories.by_docid(connection, old.docid) for old in returned]


def _parents(
    connection: Session, ns: int, batch: Mapping[str, Sequence[Row]], row: Row
) -> list[Row]:
    """Read the parents of a row that this namespace or the same batch holds.

    Raises:
        StoreUnusable: If one is damaged: nothing tells how far it is trusted.
    """
    named = json.loads(row.source_parents)
    docids = memories.docids_of(connection, ns, named)
    stored = [sound(one) for one in memories.by_docids(connection, ns, [*docids.values()]).values()]
    return stored + [parent for name in named for parent in batch.get(name, ())]


def _children(derivations: Iterator[tuple[str, str]]) -> Mapping[str, list[str]]:
    children: dict[str, list[str]] = {}
    for child, parents in derivations:
        for parent in strings_in(parents):
            children.setdefault(parent, []).append(child)
    return children
