"""Trust: quarantine a memory of an untrusted source until a person approves it.

A web page, a tool's output or a stranger's file may hold anything: orders to the agent, "facts"
that only its author wants believed. Filters for such texts are easily got round, so nothing here
relies on one. The origin of a memory decides:

- a memory of an untrusted source is quarantined: it is kept, listed and found on request, but
  ``retrieve`` does not show it by itself, it is in no ring, and it replaces no other memory;
- it cannot be a rule or be pinned, approved or not, nor replace another memory by its id;
- a memory derived from others is trusted as little as the least trusted of them;
- everything from one source can be taken back at once, with all that was derived from it.

Each function that takes a `Work` is a step of one write, or all of it.

Source: OWASP Top 10 for Agentic Applications (2026), ASI06 "Memory and context poisoning".
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from typing import Any

from memento.admit.draft import Entry
from memento.errors import ChangedSince, InvalidInput, UntrustedSource
from memento.ledger import changes, links, memories, past, reviews
from memento.ledger.contract import Transaction, Work
from memento.ledger.rows import Row, is_changed_state, is_sound, sound, strings_in, to_memory
from memento.types import Event, Kind, Memory, Reason, Status, Trust
from memento.write import locks, slots
from memento.write.steps import ACCEPTED, SLOT_HOLDING, alter, hide, in_ring

_said = attrgetter(
    "text", "kind", "tier", "scope", "session", "actor", "role", "key", "aliases", "importance",
    "tags", "metadata", "source", "pinned", "occurred_at", "valid_from", "valid_until",
    "expires_at", "signal", "condition", "due_at",
)  # fmt: skip
"""All that a person reads of a memory before approving it."""
HIDING = (Reason.FORGOTTEN, Reason.REJECTED, Reason.DISOWNED)
"""Reasons of a version after which a memory is forgotten."""


def judge(work: Work, entries: Sequence[Entry], *, replace: bool = False) -> None:
    """Set how far new memories are trusted, and quarantine those that are not.

    Args:
        work: The transaction.
        entries: The new memories; changed in place.
        replace: Whether an entry replaces the memory that has its id: then it alone is the parent.

    Raises:
        UntrustedSource: If an untrusted one would be a rule, or be pinned.
    """
    untrusted = work.rules.untrusted
    derived = [entry.row for entry in entries if entry.row.source_parents != "[]"]
    for entry in entries:
        if entry.row.trust in untrusted:
            entry.row.status = Status.QUARANTINED.value
    if derived:
        _inherit_all(work, entries, derived, replace=replace)
    if waiting := [entry.row for entry in entries if entry.row.status == Status.QUARANTINED]:
        _number_anew(work, waiting)
    for at, entry in enumerate(entries):
        row = entry.row
        try:
            check_standing(row.trust, row.kind, pinned=bool(row.pinned), untrusted=untrusted)
        except UntrustedSource as error:
            raise (error if len(entries) == 1 else error.within(f"items[{at}]")) from None
        if row.status == Status.QUARANTINED or row.source_parents != "[]":
            row.seal()


def _number_anew(work: Work, rows: Sequence[Row]) -> None:
    """Let the versions of new memories begin after those that a person read under the same id."""
    known = reviews.known(work.db, work.ns, {row.id for row in rows})
    for row in rows if known else ():
        if row.id in known:
            row.version = memories.next_rev(work.db, work.ns)


def judge_again(
    work: Work, rows: Sequence[Row], named: Collection[str], *, spared: Collection[str] = ()
) -> list[Row]:
    """Re-evaluate memories whose parents have just been stored, and their descendants.

    They are trusted as if the parents had come first: quarantined unless they were approved. Those
    of an untrusted source are no longer a rule or pinned, and what quarantined ones superseded is
    active again. The earlier state stays in the history.

    Args:
        work: The transaction that stored the parents.
        rows: The rows that were stored, as they are now.
        named: Ids that the caller chose: only these can have been named as parents before.
        spared: Ids of memories that stay as they are.

    Returns:
        The memories that changed, as they are now.
    """
    if derived := [row for row in rows if row.source_parents != "[]"]:
        links.note(work.db, work.ns, derived)
    waited = links.take_waiting(work.db, work.ns, sorted(named)) if named else {}
    if not waited:
        return []
    names = set().union(*waited.values())
    news = {row.id: row for row in rows if row.id in names}
    family = [*memories.by_docids(work.db, work.ns, list(waited)).values()]
    changed: dict[int, Row] = {}
    while news:  # trust only falls and quarantine only spreads, so this ends
        fresh: dict[str, Row] = {}
        for child in family:
            heard = [news[name] for name in strings_in(child.source_parents) if name in news]
            if child.id not in spared and is_sound(child) and _lower_trust(work, child, heard):
                fresh[child.id] = changed[child.docid] = child
        family = links.children(work.db, work.ns, fresh) if fresh else []
        news = fresh
    return [*changed.values(), *_places_given_back(work, [*changed.values()])]


def status_before(connection: Transaction, row: Row) -> str | None:
    """Return the status a forgotten memory had, or would have by now; None if it is unknown.

    States before a damaged one do not count.
    """
    for state in reversed(memories.states(connection, row.docid)):
        if is_changed_state(row, state):
            return None
        if state.reason == Reason.DISTRUSTED:
            return Status.QUARANTINED.value
        undone = state.reason == Reason.UNDONE and state.status != Status.FORGOTTEN
        if undone or state.reason in HIDING:
            return state.status
    return None


def standing(row: Row, untrusted: Collection[str]) -> str:
    """Return the class of trust that is needed to change a memory.

    What an untrusted source said is the user's to change: they approved it as they read it, or may
    be about to.
    """
    return Trust.USER if row.trust in untrusted else row.trust


def check_standing(trust: str, kind: str, *, pinned: bool, untrusted: Collection[str]) -> None:
    """Check that a memory of an untrusted source is no rule and not pinned.

    Raises:
        UntrustedSource: If it is.
    """
    if trust not in untrusted:
        return
    if kind == Kind.RULE:
        raise UntrustedSource(
            "kind", f"a memory from {trust} cannot be a rule; add the rule as the user"
        )
    if pinned:
        raise UntrustedSource(
            "pinned", f"a memory from {trust} cannot be pinned; add it as the user"
        )


def approve(work: Work, memory_id: str, seen: Memory | int | None) -> Row:
    """Approve a quarantined memory; it takes its slot and supersedes what it proposed to.

    A value that began before the present one becomes a former value of the slot instead: the user
    may have known it when saying the newer one. Its source stays what it was. A memory that is not
    quarantined is returned as it is.

    Args:
        work: The transaction.
        memory_id: Its id.
        seen: The memory as somebody read it, or its version; None only if it never changed.
    """
    row = memories.by_id(work.db, work.ns, memory_id)
    if row.status not in (Status.QUARANTINED, Status.FORGOTTEN):
        if isinstance(seen, Memory) and seen.text != row.text:
            raise ChangedSince(row.id, row.version)
        return row
    _check_read(work, row, seen)
    behind = row.superseded_by is not None  # another memory has replaced it by now
    status = Status.SUPERSEDED if behind else Status.ACTIVE
    index = None if behind else "embed"
    alter(work, row, {"status": status.value}, Reason.APPROVED, Event.APPROVED, index=index)
    if behind:
        return row
    for old in links.proposed(work.db, row.docid):
        if old.status in SLOT_HOLDING:
            slots.supersede(work, old, row, by=Trust.USER)
    active = slots.contend_in_time(work, row, by=Trust.USER)
    return in_ring(work, row) if active else row


def _check_read(work: Work, row: Row, seen: Memory | int | None) -> None:
    """Check that a quarantined memory is still as somebody read it; see ``approve``."""
    if row.status == Status.FORGOTTEN:
        raise InvalidInput("id", f"{row.id!r} is forgotten; restore it first")
    if seen is None:
        changed = _was_reworded(work.db, row)
    elif isinstance(seen, Memory):
        changed = _said(seen) != _said(to_memory(row, seen.namespace))
        changed |= seen.version != row.version
    else:
        changed = seen != row.version
    if changed:
        raise ChangedSince(row.id, row.version)
    for parent in _parents(work, {}, row):
        if parent.status == Status.QUARANTINED and parent.docid != row.docid:
            raise InvalidInput(
                "id", f"{row.id!r} is derived from {parent.id!r}; approve or reject that first"
            )


def _was_reworded(connection: Transaction, row: Row) -> bool:
    """Return whether a memory was changed since it came into quarantine."""
    for state in reversed(memories.states(connection, row.docid)):
        if is_changed_state(row, state):
            return True
        before = past.in_state(row, state)
        if before.status in ACCEPTED:
            return False
        if _said(to_memory(before, ())) != _said(to_memory(row, ())):
            return True
    return False


def reject(work: Work, memory_id: str) -> Row:
    """Forget a quarantined memory; ``restore`` puts it back into quarantine."""
    row = memories.by_id(work.db, work.ns, memory_id)
    if row.status != Status.QUARANTINED:
        raise InvalidInput("id", f"{memory_id!r} is {row.status}, not quarantined; forget it")
    return hide(work, row, Reason.REJECTED)


def from_source(connection: Transaction, ns: int, uri: str) -> list[Row]:
    """List every memory from a source and all that was derived from it, in order of arrival."""
    children: dict[str, list[str]] = {}
    for child, parents in memories.derivations(connection, ns):
        for parent in strings_in(parents):
            children.setdefault(parent, []).append(child)
    waiting = [row.id for row in memories.of_source(connection, ns, uri)]
    known = set(waiting)
    while waiting:
        fresh = {child for child in children.get(waiting.pop(), ()) if child not in known}
        known |= fresh
        waiting += fresh
    found = memories.by_ids(connection, ns, sorted(known))
    return sorted(found.values(), key=attrgetter("docid"))


def to_disown(connection: Transaction, ns: int, uri: str) -> list[int]:
    """Return the row ids of all from a source, or derived from it, that is not forgotten."""
    rows = [row for row in from_source(connection, ns, uri) if row.status != Status.FORGOTTEN]
    locks.guard(rows)
    return [row.docid for row in rows]


def disown(work: Work, docids: Sequence[int]) -> list[Row]:
    """Forget memories of a source that is not to be believed."""
    rows = memories.by_docids(work.db, work.ns, docids)
    shown = [row for _, row in sorted(rows.items()) if row.status != Status.FORGOTTEN]
    locks.guard(shown)
    return [hide(work, row, Reason.DISOWNED) for row in shown]


def disowned(connection: Transaction, ns: int, uri: str) -> list[str]:
    """List the ids of what `disown` hid for a source, in order of arrival."""
    return [
        row.id
        for row in from_source(connection, ns, uri)
        if row.status == Status.FORGOTTEN
        and [state.reason for state in memories.versions(connection, row)][-1:] == [Reason.DISOWNED]
    ]


def _inherit_all(
    work: Work, entries: Sequence[Entry], derived: Sequence[Row], *, replace: bool
) -> None:
    """Set the trust of derived memories; parents may be stored, or anywhere in the batch."""
    batch: dict[str, list[Row]] = {}
    for entry in entries:
        batch.setdefault(entry.row.id, []).append(entry.row)
    gone = batch.keys() if replace else ()
    families = [(row, _parents(work, batch, row, gone)) for row in derived]
    # trust only falls and quarantine only spreads, so this ends; mostly after the first round
    while sum(_inherit(row, parents) for row, parents in families):
        pass


def _least(row: Row, parents: Sequence[Row]) -> str:
    return Trust.least([Trust(row.trust), *(Trust(parent.trust) for parent in parents)]).value


def _inherit(row: Row, parents: Sequence[Row]) -> bool:
    """Trust a row as little as its least trusted parent; return whether it changed."""
    before = row.trust, row.status
    row.trust = _least(row, parents)
    if any(parent.status not in ACCEPTED for parent in parents):
        row.status = Status.QUARANTINED.value
    return (row.trust, row.status) != before


def _lower_trust(work: Work, child: Row, heard: Sequence[Row]) -> bool:
    """Trust a stored memory no more than its parents; return whether it changed."""
    trust = _least(child, heard)
    unaccepted = any(parent.status not in ACCEPTED for parent in heard)
    doubted = unaccepted and not _was_approved(work.db, child)
    changes: dict[str, Any] = {} if trust == child.trust else {"trust": trust}
    if doubted and child.status in ACCEPTED:
        changes["status"] = Status.QUARANTINED.value
    if trust in work.rules.untrusted and child.kind == Kind.RULE:
        changes["kind"] = Kind.FACT.value
    if changes:
        changes |= locks.lost(work, child, child.pinned)
    if trust in work.rules.untrusted and child.pinned:
        changes["pinned"] = 0
    hidden = doubted and child.status == Status.FORGOTTEN
    if not changes and not (hidden and status_before(work.db, child) in ACCEPTED):
        return False
    reason = Reason.DISTRUSTED if doubted else Reason.INHERITED
    by = {"by": [parent.id for parent in heard]}
    index = "drop" if "status" in changes else None
    alter(work, child, changes, reason, Event(reason.value), by, index=index)
    return True


def _was_approved(connection: Transaction, row: Row) -> bool:
    """Return whether a memory was approved, and not replaced since."""
    for state in reversed(memories.states(connection, row.docid)):
        if is_changed_state(row, state):
            return False
        if state.reason in (Reason.APPROVED, Reason.REPLACED):
            return state.reason == Reason.APPROVED
    return False


def _places_given_back(work: Work, rows: Sequence[Row]) -> list[Row]:
    """Make memories active again that newly quarantined ones superseded; return them.

    The quarantined ones propose to supersede them instead.
    """
    waiting = [
        row for row in rows if row.status == Status.QUARANTINED and row.superseded_by is None
    ]
    returned = [(row, old) for row in waiting for old in slots.give_back(work, row)]
    for row, old in returned:
        changes.link(work, row.docid, old.docid, "proposes")
    return [old for _, old in returned]


def _parents(
    work: Work, batch: Mapping[str, Sequence[Row]], row: Row, gone: Collection[str] = ()
) -> list[Row]:
    """Read the parents of a row that this namespace, without ``gone``, or the same batch holds.

    Raises:
        StoreUnusable: If one is damaged, so that its trust is unknown.
    """
    named = json.loads(row.source_parents)
    stored = memories.by_ids(work.db, work.ns, [name for name in named if name not in gone])
    return [sound(one) for one in stored.values()] + [
        parent for name in named for parent in batch.get(name, ())
    ]
