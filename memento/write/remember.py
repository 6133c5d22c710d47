"""The write path: how one ``add`` or ``add_many`` stores its drafts, in one transaction.

`remember` is the entry point. Its parts follow it: insert new entries, merge repeats into stored
memories, and put entries over the memories that have their ids (``replacing``). All of that is one
transaction, including the links of a memory and the overflow of its ring. The background thread
adds vectors, claims and most of the full text later (``contract.Words.is_due``). No event records
an ``add``: the row itself has its time of arrival. Drafts were validated and redacted before, in
``admit``, so that no other writer waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memento.admit.draft import Entry
from memento.admit.novelty import Met, Novelty
from memento.base.lazy import later
from memento.base.scopes import resolved
from memento.errors import IdConflict, TurnErased
from memento.ledger import changes as recorded
from memento.ledger import copies, erasure, links, memories, past, replays, slot_rows
from memento.ledger.contract import Work
from memento.ledger.replays import SAID
from memento.ledger.rows import Row, identity, is_sound, mapping_in, sound
from memento.types import Draft, Event, Kind, Reason, Status, Tier, Trust
from memento.write import locks, replacing, slots, trust
from memento.write.merge import MAX_STATES, may_add, merged, relate
from memento.write.replacing import is_accepted, is_kept_turn
from memento.write.steps import (
    ACCEPTED,
    ENDED,
    INDEXED,
    SLOT_HOLDING,
    holds,
    log_event,
    retitled,
)  # fmt: skip

if TYPE_CHECKING:
    from memento.ledger import scope_rows, session_rows
else:
    scope_rows = later("memento.ledger.scope_rows")
    session_rows = later("memento.ledger.session_rows")


def remember(
    work: Work, entries: Sequence[Entry], novelty: Novelty, *, replace: bool = False
) -> tuple[list[Row], list[Row], Met | None]:
    """Write entries: judge trust, weigh novelty, insert or replace, judge trust again.

    An entry is inserted, or merged into a memory with the same content; then it takes its slot,
    supersedes what it names, and is linked. Then the rings of the sessions overflow.

    Args:
        work: The transaction.
        entries: In order of arrival; changed in place.
        novelty: The words that the namespace has met.
        replace: Whether an entry replaces the memory that has its id.

    Returns:
        One row per entry, in order, new or already stored; the rows that changed when trust was
        judged again; the words to count as met after the commit.

    Raises:
        IdConflict: If a chosen id belongs to other content.
        NotFound: If ``supersedes`` or ``related`` names no memory of this namespace.
        TurnErased: If one is a turn that was erased.
        UntrustedSource: If one of an untrusted source would be a rule, be pinned, or replace an
            active memory.
    """
    if chosen := [entry.row.id for entry in entries if entry.chosen_id]:
        erasure.make_way(work.db, work.ns, chosen)
        # A turn that was erased, perhaps since the call began, is refused.
        turns = [entry.row for entry in entries if entry.chosen_id and is_kept_turn(entry.row)]
        said = {row.id: str(mapping_in(row.metadata).get(SAID)) for row in turns}
        if erased := replays.erased(work.db, work.ns, said):
            raise TurnErased(erased)
    go_to_present_scopes(work, entries)
    trust.judge(work, entries, replace=replace)  # first, as quarantined words stay new
    if len(entries) > 1:
        _announce(work, entries)
    met = novelty.weigh(work, entries)
    rows = _replace(work, entries) if replace else _insert_taking_ids(work, entries)
    if sessions := {entry.row.session for entry in entries if entry.row.session is not None}:
        session_rows.touch(work.db, work.ns, sessions, work.now)
    named = {entry.row.id for entry in entries if entry.chosen_id}
    return rows, trust.judge_again(work, rows, named), met


def _announce(work: Work, entries: Sequence[Entry]) -> None:
    """Announce what `_known` and the insertion will ask."""
    hashes = [entry.row.content_hash for entry in entries if _may_repeat(entry)]
    work.db.ahead(
        lambda db: memories.repeatable(db, work.ns, hashes, work.now),
        lambda db: memories.latest_rev(db, work.ns),
    )


def refuse_copies(work: Work, drafts: Sequence[Draft]) -> None:
    """Refuse copies from a source that were taken out, perhaps since the call began."""
    ids = [draft.id for draft in drafts if draft.id is not None]
    erasure.make_way(work.db, work.ns, ids)
    if gone := copies.taken_out(work.db, work.ns, drafts):
        raise TurnErased(gone)


def go_to_present_scopes(work: Work, entries: Sequence[Entry]) -> None:
    """Put entries of a merged scope into the one that it was merged into."""
    named = [entry.row for entry in entries if entry.row.scope]
    known = scope_rows.merges(work.db, work.ns) if named else {}
    for row in named if known else ():
        scope = resolved(row.scope, known)
        if scope != row.scope:
            row.content_hash = identity(row, {"scope": scope})
            row.scope = scope
            row.seal()


def insert_or_fold(work: Work, entries: Sequence[Entry]) -> list[Row]:
    """Insert new entries, merge repeats, let all take their slots and the rings overflow.

    For what a repeat changes, see ``merge``.

    Returns:
        One row per entry, in order: the new one, or the one already stored.
    """
    several = len(entries) > 1 and any(map(_may_change_others, entries))
    before = memories.latest_rev(work.db, work.ns) if several else 0
    rows = [row for run in _runs(entries) for row in _write_run(work, run)]
    for entry, row in zip(entries, rows, strict=True):
        if entry.related:
            relate(work, entry, row)
        if entry.redacted and row is entry.row:
            log_event(work, row, Event.REDACTED, entry.redacted)
    if short := {row.session for row in rows if row.tier == Tier.SHORT}:
        memories.overflow(work, short)
    if not several:
        return rows
    changed = past.changed_since(work.db, work.ns, before)  # by later entries
    return [changed.get(row.docid, row) for row in rows]


def _may_change_others(entry: Entry) -> bool:
    """Return whether an entry may change memories that came before it in the same batch."""
    return bool(entry.row.key is not None or entry.supersedes or entry.row.tier == Tier.SHORT)


def _runs(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    """Split a batch into runs that can be inserted at once.

    An entry that may replace a memory is a run of its own: that memory may come just before it.
    """
    start = 0
    for at, entry in enumerate(entries):
        if entry.row.key is not None or entry.supersedes:
            yield from (run for run in (entries[start:at], [entry]) if run)
            start = at + 1
    if start < len(entries):
        yield entries[start:]


def _write_run(work: Work, run: Sequence[Entry]) -> list[Row]:
    """Insert the new entries of a run, merge the repeats, let each take its slot."""
    known = _known(work, run)
    above = _outranked(work, run, known)
    if above:
        known = _known(work, run)
    fresh: list[Entry] = []
    repeated: list[tuple[Entry, Row]] = []
    settled: list[tuple[Entry, Row]] = []
    rows: list[Row] = []
    for entry in run:
        found = None if _is_turn(entry) else known.get(_name_of(entry))
        rows.append(found or entry.row)
        if found is None:
            known[entry.row.id] = entry.row
            known.setdefault(_content_of(entry.row), entry.row)
            fresh.append(entry)
        elif found.content_hash == entry.row.content_hash:
            repeated.append((entry, found))
        if found is not None and _claims_nothing(work, entry, found):
            continue
        settled.append((entry, rows[-1]))
    fresh_rows = [(entry.row, entry.text) for entry in fresh]
    memories.insert_rows(work.db, work.ns, fresh_rows, work.trace)
    for entry, row in repeated:
        _fold(work, entry, row)
    for entry, row in settled:
        if row.key is not None or entry.supersedes:
            slots.take_place(work, entry, row)
        if id(entry) in above:
            slots.oppose(work, row, above[id(entry)])
    return rows


def _was_changed(work: Work, entry: Entry, found: Row) -> bool:
    """Return whether an entry is an earlier text of a memory that somebody changed here."""
    if entry.row.source_uri is None or entry.row.source_uri != found.source_uri:
        return False
    before = [state.text for state, *_ in past.numbered(work.db, found.docid)]
    return entry.row.text in before and copies.by_somebody(work.db, found)


def _claims_nothing(work: Work, entry: Entry, found: Row) -> bool:
    """Return whether a repeat takes no slot: it is a retry, or the memory is quarantined."""
    if entry.chosen_id:
        sound(found, entry.row.id)
    another = found.content_hash != entry.row.content_hash
    if another and not _was_changed(work, entry, found):
        raise IdConflict(entry.row.id)
    return entry.chosen_id or found.status == Status.QUARANTINED


def _outranked(work: Work, run: Sequence[Entry], known: Mapping[object, Row]) -> dict[int, Row]:
    """Remove the key of entries whose slot a more trusted source fills with another value.

    Without a key, the same words are a repeat when they are said again.

    Returns:
        ``id()`` of those entries to the memories that fill their slots.
    """
    above: dict[int, Row] = {}
    for entry in run:
        row, by = entry.row, entry.by or entry.row.trust
        if row.key is None or row.status not in SLOT_HOLDING or "valid_from" not in entry.derived:
            continue
        holder = slot_rows.holder_of(work.db, work.ns, (row.key, row.scope))
        if holder is None or not is_sound(holder) or not Trust.outranks(holder.trust, by):
            continue
        there = known.get(_name_of(entry))
        if there is not None and there.key is not None:
            continue  # a repeat of a value
        locks.guard_replaced(holder, by)
        above[id(entry)] = holder
        row.content_hash = identity(row, {"key": None})
        entry.rekey(None)
    return above


def _known(work: Work, entries: Sequence[Entry]) -> dict[object, Row]:
    """Find stored memories that have a chosen id, or equal content that still holds.

    An accepted and a quarantined memory are never equal: a page that repeats the user's words does
    not reinforce the user's memory and is not mistaken for it. A superseded value is found if it
    ever held; a plan that was given up and is made again is new.
    """
    known: dict[object, Row] = {}
    if ids := [entry.row.id for entry in entries if entry.chosen_id]:
        known.update(memories.by_ids(work.db, work.ns, ids))
    hashes = [entry.row.content_hash for entry in entries if _may_repeat(entry)]
    for row in memories.repeatable(work.db, work.ns, hashes, work.now):
        known[_content_of(row)] = row
    for entry in entries:
        if _is_dated_value(entry) and _name_of(entry) not in known:
            content = entry.row.content_hash
            for row in memories.past_values(work.db, work.ns, content, work.now):
                known[_name_of(entry)] = row
    return known


def _name_of(entry: Entry) -> object:
    """Return the key of an entry in `_known`: the id that the caller chose, or its content."""
    return entry.row.id if entry.chosen_id else _content_of(entry.row)


def _content_of(row: Row) -> tuple[bytes, bool]:
    """Return what makes two memories equal: their content, and whether they are accepted."""
    return row.content_hash, row.status in ACCEPTED


def _may_repeat(entry: Entry) -> bool:
    """Return whether equal content makes an entry a repeat."""
    return not (entry.chosen_id or _is_turn(entry))


def _is_turn(entry: Entry) -> bool:
    """Return whether an entry is a turn, of which equal content is no repeat.

    False if the caller gave its time: equal content of the same moment is a repeat, as nobody says
    a thing twice at once.
    """
    row = entry.row
    if entry.chosen_id or row.session is None or "occurred_at" not in entry.derived:
        return False
    return row.tier == Tier.SHORT or row.kind == Kind.EPISODE


def _is_dated_value(entry: Entry) -> bool:
    """Return whether an entry is a value of a slot with a start that the caller gave."""
    row = entry.row
    named = row.key is not None and not entry.chosen_id and row.status in SLOT_HOLDING
    return named and "valid_from" not in entry.derived


def _fold(work: Work, entry: Entry, row: Row) -> None:
    """Merge a repeat into the stored memory.

    A repeat under an id that the caller chose is a retry and is not counted. A later expiry alone
    makes no version; removing the expiry does.
    """
    changes: dict[str, Any] = {}
    if _may_merge(work, entry, row):
        changes = merged(row, entry.row, entry.derived, entry.metadata_bytes)
    if row.status in ENDED:
        changes.pop("valid_until", None)  # it ends where the next value begins
    if is_kept_turn(row):
        changes.pop("metadata", None)  # its first position counts
    count: dict[str, Any] = {}
    if not entry.chosen_id:
        count = {"reinforced": row.reinforced + 1, "updated_at": work.now}
    if not changes or (changes.keys() == {"expires_at"} and changes["expires_at"] is not None):
        if changes or count:
            memories.overwrite(work.db, row, changes | count)
        if count:
            log_event(work, row, Event.REINFORCED, {"source": entry.row.trust})
        return
    _merge(work, row, changes, count)
    if entry.redacted:
        log_event(work, row, Event.REDACTED, entry.redacted)


def _may_merge(work: Work, entry: Entry, row: Row) -> bool:
    """Return whether a repeat may change a memory.

    Not if the user locked it, or if it is over without having been superseded.
    """
    if locks.is_locked(row) or not may_add(row, entry.row, work.rules.untrusted):
        return False
    if row.status in ENDED:
        return entry.row.status in SLOT_HOLDING
    return holds(row, work.now)


def _merge(work: Work, row: Row, changes: dict[str, Any], count: dict[str, Any]) -> None:
    """Apply the changes of a repeat to a memory, and keep its earlier state.

    As repeats are unlimited, only the first ``MAX_STATES`` leave a state; a change of source
    always does, as it discards what the earlier source said.
    """
    session, names = work.db, sorted(changes)
    kept = "trust" in changes or memories.count_states(session, row.docid, "merged") < MAX_STATES
    if kept:
        recorded.keep_version(work, row, Reason.MERGED)
    if not changes.keys().isdisjoint(("aliases", "tags")):
        changes = retitled(work, row, changes)
    if "source_parents" in changes:
        links.stop_waiting(session, row.docid)
    changes |= {"version": row.version + 1, "updated_at": work.now}
    memories.overwrite(session, row, changes | count)
    if "tier" in names:
        memories.enqueue(session, row, "index" if row.status in INDEXED else "drop")
    log_event(work, row, Event.MERGED, {"fields": names})


def _insert_taking_ids(work: Work, entries: Sequence[Entry]) -> list[Row]:
    """Insert entries; an accepted one may take over the id of a hidden memory.

    If that memory is quarantined or was rejected, the entry replaces it, whether their content is
    equal or not; the earlier state stays in the history.
    """
    contested = _contested_ids(work, entries)
    rows: list[Row] = []
    start = 0
    for at, entry in enumerate(entries if contested else ()):
        if not (entry.chosen_id and entry.row.id in contested):
            continue
        rows += insert_or_fold(work, entries[start:at])
        start = at
        row = memories.by_ids(work.db, work.ns, [entry.row.id]).get(entry.row.id)
        if row is not None and replacing.take_over(work, row, entry):
            memories.overflow(work, [entry.row.session])
            rows.append(row)
            start = at + 1
    if not start:
        return insert_or_fold(work, entries)
    rows += insert_or_fold(work, entries[start:])
    return [memories.by_id(work.db, work.ns, row.id) for row in rows]


def _contested_ids(work: Work, entries: Sequence[Entry]) -> set[str]:
    """Return chosen ids that hidden memories have, or accepted and unaccepted entries share."""
    chosen = [entry for entry in entries if entry.chosen_id]
    if not chosen:
        return set()
    accepted = [entry.row.id for entry in chosen if is_accepted(entry)]
    doubtful = {entry.row.id for entry in chosen if not is_accepted(entry)}
    ids = [entry.row.id for entry in chosen]
    return doubtful & set(accepted) | memories.hidden_ids(work.db, work.ns, ids, work.now)


def _replace(work: Work, entries: Sequence[Entry]) -> list[Row]:
    """Insert entries, or replace the memories that have their ids.

    The earlier state stays in the history. A memory that was hidden or had expired starts anew. If
    several entries share an id, the last wins. A quarantined entry can replace only a memory of its
    own source that is not active.
    """
    last = replacing.last_of_each_id(entries)
    taken = memories.docids_of(work.db, work.ns, list(last))
    insert_or_fold(work, [entry for _, entry in last.values() if entry.row.id not in taken])
    for at, entry in last.values():
        if entry.row.id not in taken:
            continue
        replacing.replace(work, entry, at, len(entries))
    memories.overflow(work, {entry.row.session for _, entry in last.values()})
    return [memories.by_id(work.db, work.ns, entry.row.id) for entry in entries]
