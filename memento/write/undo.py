"""Undo: take back what a change did to memories, unless something else changed them since.

A memory that the change altered gets its earlier state, as a new state; one that it added is
forgotten. So nothing is lost, and undoing the undo is redo. A memory is left as it is if

- a later change, such as a lock, altered it, unless that was also undone;
- the user locked it, unless the lock itself is what the caller undoes;
- it would be locked again, but no more locks are allowed;
- its slot is held by a memory that stays;
- it is active, and would be superseded by a memory that was hidden since or erased;
- it would be superseded in a cycle;
- it is the successor of a memory that is left: else neither of them would be active;
- it would leave quarantine, or get back trust that it lost: only people decide that. If the change
  approved or rejected it, it waits in quarantine again.

Events that a change wrote, such as the replays of a sleep, are retracted in the log: sums and links
between memories are computed again without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

from memento.errors import NothingToUndo
from memento.ledger import changes, links, memories, past, slot_rows, strength_fold, usage_events
from memento.ledger.changes import Ended, Recorded
from memento.ledger.contract import Trace, Work
from memento.ledger.links import LONGEST
from memento.ledger.rows import MOST_LOCKED, NAMES, Row, columns_of, lock_of, sound
from memento.ledger.schema import SEQ_MASK
from memento.ledger.usage_events import Happening
from memento.types import Event, Reason, Status, Tier, Trust
from memento.write import merge, scope_moves, slots
from memento.write.locks import is_locked
from memento.write.steps import ACCEPTED, ENDED, INDEXED, SLOT_HOLDING, alter, holds, note_event

_KEPT = frozenset({"docid", "ns", "rev", "id", "updated_at", "checksum"})
_SET_BACK = tuple(name for name in NAMES if name not in _KEPT)
_TITLED = ("text", "actor", "role", "key", "aliases", "tags")
_EMBEDDED = ("text", "actor", "role")
_DECIDED = (
    Reason.APPROVED, Reason.REJECTED, Reason.DISTRUSTED, Reason.INHERITED, Reason.RETURNED,
)  # fmt: skip
"""Reasons why trust ended a state; only a person brings such a state back."""


@dataclass(slots=True)
class Outcome:
    """The result of an undo.

    Attributes:
        several: Whether the call makes several changes, which are one run.
        run: Number of the first of them, if made before.
        changes: Numbers of the changes that it made.
        undone: Numbers of the changes that were undone.
        rows: The memories that were changed, by row id.
        left: Row ids of memories that were left, to the change that stands in the way.
        names: Row ids of those to their ids.
        folds: Whether the log is to be folded again, without what was retracted.
    """

    several: bool = False
    run: int | None = None
    changes: list[int] = field(default_factory=list)
    undone: list[int] = field(default_factory=list)
    rows: dict[int, Row] = field(default_factory=dict)
    left: dict[int, int | None] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    folds: bool = False

    def fresh(self) -> Outcome:
        """Return an empty result, for the next transaction of the same call."""
        return Outcome(self.several, self.changes[0] if self.changes else None)

    def add(self, other: Outcome) -> None:
        """Add the result of a committed transaction."""
        self.changes += other.changes
        self.undone += other.undone
        self.rows |= other.rows
        self.left |= other.left
        self.names |= other.names
        self.folds |= other.folds


@dataclass(slots=True)
class _Plan:
    """The work that an undo is to do.

    Attributes:
        present: Present rows of the memories of the change, by row id.
        targets: Rows to write, for those to set back or hide.
        left: Row ids of those that are left, to the change that stands in the way.
        events: Events of the change to retract with the memories that are set back.
    """

    present: dict[int, Row] = field(default_factory=dict)
    targets: dict[int, Row] = field(default_factory=dict)
    left: dict[int, int | None] = field(default_factory=dict)
    events: list[Happening] = field(default_factory=list)

    def leave(self, docid: int, because: int | None) -> None:
        """Leave a memory as it is."""
        del self.targets[docid]
        self.left[docid] = because


def is_undoable(one: Recorded) -> bool:
    """Return whether a change was not undone yet."""
    return one.undone_by is None


def undoable(work: Work, key: int) -> Recorded:
    """Return a change that can be undone.

    Raises:
        NothingToUndo: If there is no such change, or it was undone.
    """
    one = changes.find(work.db, work.ns, key)
    number = changes.number_of(key)
    if one is None:
        raise NothingToUndo(number, f"this namespace has no change {number}")
    if one.undone_by is not None:
        by = changes.number_of(one.undone_by)
        raise NothingToUndo(number, f"change {number} was undone by {by}; undo {by} to redo it")
    return one


def undo(
    work: Work,
    one: Recorded,
    outcome: Outcome,
    *,
    force: bool = False,
    tried: set[int] | None = None,
) -> None:
    """Undo a change, in one transaction.

    Args:
        work: The transaction.
        one: The change; see ``undoable``.
        outcome: Receives the result.
        force: Whether to undo first the later changes that stand in the way.
        tried: Changes already tried to undo first; None if the caller named this one.

    Raises:
        NothingToUndo: If none of its memories is there any more.
    """
    forced = tried is not None
    tried = set() if tried is None else tried
    plan = _plan(work, one, forced=forced)
    if not plan.targets and not plan.left and not plan.events:
        number = changes.number_of(one.change)
        raise NothingToUndo(number, f"no memory from change {number} still exists")
    while force and (blocker := _blocker(work, one, plan, tried.union(outcome.changes))):
        tried.add(blocker.change)  # each is tried once, so that this ends
        undo(work, blocker, outcome, force=True, tried=tried)
        plan = _plan(work, one, forced=forced)
    outcome.left |= plan.left
    outcome.names |= {docid: plan.present[docid].id for docid in plan.left}
    if plan.targets or plan.events:
        _carry_out(replace(work, trace=Trace()), one, plan, outcome)


def _blocker(work: Work, one: Recorded, plan: _Plan, passed: AbstractSet[int]) -> Recorded | None:
    """Return the newest later change that stands in the way and can be undone itself.

    ``passed`` includes the changes that this undo itself made: to undo them would do again what was
    just undone, without end.
    """
    found = {why for why in plan.left.values() if why is not None and why > one.change}
    for number in sorted(found - passed, reverse=True):
        later = changes.find(work.db, work.ns, number)
        if later is not None and is_undoable(later) and later.kind != "lock":
            return later  # only the user takes a lock away: by unlock, or by undoing the lock
    return None


def _plan(work: Work, one: Recorded, *, forced: bool) -> _Plan:
    """Plan which memories can be set back, and to which state."""
    plan = _Plan()
    ended = {found.docid: found for found in changes.ended(work.db, one.change)}
    brought = set(changes.brought(work.db, one))
    docids = sorted(brought | ended.keys())
    present = memories.by_docids(work.db, one.ns, docids)
    for docid in docids:
        if (row := present.get(docid)) is None:
            continue  # it was erased
        plan.present[docid] = sound(row)
        last = ended[docid].last if docid in ended else (row.docid & SEQ_MASK) - 1
        changed, why = _changed_since(work, docid, last)
        if docid not in brought:
            target = _before(work, one, row, ended[docid])
        elif row.status == Status.FORGOTTEN:
            continue
        else:
            target = replace(row, status=Status.FORGOTTEN.value)
        plan.targets[docid] = target
        if changed:
            plan.leave(docid, why)
        elif is_locked(row) and (forced or is_locked(target)):  # it is not the lock that is undone
            plan.leave(docid, changes.latest_of(work.db, docid))
        elif (
            _is_decided(work, one, row, target)
            or _has_no_lock_left(work, plan, row, target)
            or scope_moves.are_shared_since(work, row.scope, target.scope, one.at)
        ):
            plan.leave(docid, None)
    while _leave_more(work, one, plan):
        pass
    heard = {None, *(plan.present[docid].id for docid in plan.targets)}
    found = usage_events.written_by(work.db, one.ns, {changes.number_of(one.change): one.at})
    plan.events = [happened for happened in found if happened.member in heard]
    return plan


def _before(work: Work, one: Recorded, row: Row, ended: Ended) -> Row:
    """Return a memory as it was before a change, with what was overwritten in place since.

    ``touch`` and a repeat overwrite the present state; they are no change, so they are kept.
    """
    target = past.at_revision(work.db, row, ended.before)
    if not changes.is_written_over(work.db, one, row, ended.last):
        return target
    target = replace(target, reinforced=row.reinforced)
    if lock_of(row.pinned) != lock_of(target.pinned) or changes.set_expiry(work.db, one, row.docid):
        return target
    return replace(target, expires_at=row.expires_at)


def _changed_since(work: Work, docid: int, rev: int) -> tuple[bool, int | None]:
    """Return whether a memory changed after a revision, and by which change last.

    A change and the one that undid it cancel each other out.
    """
    standing: list[int | None] = []
    for number, undoes in changes.later(work.db, docid, rev):
        if undoes is not None and standing and standing[-1] == undoes:
            standing.pop()
        else:
            standing.append(number)
    return bool(standing), standing[-1] if standing else None


def _has_no_lock_left(work: Work, plan: _Plan, row: Row, target: Row) -> bool:
    """Return whether a memory would be locked again, but no more locks are allowed."""
    if is_locked(row) or not is_locked(target):
        return False
    others = [one for docid, one in plan.targets.items() if docid != row.docid]
    coming = sum(is_locked(one) for one in others)
    return len(memories.locked(work.db, work.ns)) + coming >= MOST_LOCKED


def _is_decided(work: Work, one: Recorded, row: Row, target: Row) -> bool:
    """Return whether a memory would leave quarantine, or get back lost trust."""
    if target.status == Status.QUARANTINED:
        return False
    leaves = row.status == Status.QUARANTINED and target.status in ACCEPTED
    return leaves or not changes.reasons(work.db, one.change, row.docid).isdisjoint(_DECIDED)


def _leave_more(work: Work, one: Recorded, plan: _Plan) -> bool:
    """Leave the first memory that others keep from being set back; return whether one was left."""
    for docid, target in plan.targets.items():
        row = plan.present[docid]
        for stands, why in (
            _slot_is_held(work, plan, row, target),
            _has_no_successor(work, one, plan, row, target),
            _is_needed(plan, row, target),
        ):
            if stands:
                plan.leave(docid, why)
                return True
    return False


_FREE = (False, None)


def _slot_is_held(work: Work, plan: _Plan, row: Row, target: Row) -> tuple[bool, int | None]:
    """Return whether a memory that stays holds the slot that another one would hold again."""
    if target.key is None or target.status not in SLOT_HOLDING:
        return _FREE
    for holder in list(slot_rows.holders(work.db, target.ns, (target.key, target.scope))):
        after = plan.targets.get(holder.docid, holder)
        same = (after.key, after.scope) == (target.key, target.scope)
        stays = after.status in SLOT_HOLDING and holds(after, work.now)
        if same and stays and holder.docid != row.docid:
            return True, changes.latest_of(work.db, holder.docid)
    return _FREE


def _has_no_successor(
    work: Work, one: Recorded, plan: _Plan, row: Row, target: Row
) -> tuple[bool, int | None]:
    """Return whether a memory would be superseded in a cycle, or by one that was hidden since.

    A memory that is hidden at present may be superseded by any: nothing active is lost by that.
    """
    if target.status not in ENDED or row.status in ENDED:
        return _FREE
    named = target.superseded_by
    successor = memories.by_ids(work.db, work.ns, [named]).get(named) if named else None
    if successor is None:
        return row.status in ACCEPTED, None
    why = changes.latest_of(work.db, successor.docid)
    if _comes_back(work, plan, plan.targets.get(successor.docid, successor), row.id):
        return True, why
    stays = successor.docid not in plan.targets and successor.rev > one.rev_to
    lost = row.status in ACCEPTED and stays and successor.status not in ACCEPTED
    return lost, why if lost else None


def _comes_back(work: Work, plan: _Plan, start: Row, memory_id: str) -> bool:
    """Return whether the successors of a memory would include another one, or not end."""
    at: Row | None = start
    for _ in range(LONGEST):
        if at is None or at.superseded_by is None:
            return False
        if at.superseded_by == memory_id:
            return True
        found = memories.by_ids(work.db, work.ns, [at.superseded_by])
        at = found.get(at.superseded_by)
        at = at if at is None else plan.targets.get(at.docid, at)
    return True


def _is_needed(plan: _Plan, row: Row, target: Row) -> tuple[bool, int | None]:
    """Return whether a memory to hide is the successor of one that is left."""
    if target.status in ACCEPTED or row.status not in ACCEPTED:
        return _FREE
    for docid, why in plan.left.items():
        other = plan.present[docid]
        if other.superseded_by == row.id and other.status in ENDED:
            return True, why
    return _FREE


def _carry_out(work: Work, one: Recorded, plan: _Plan, outcome: Outcome) -> None:
    """Set back what a plan says, and record it as a change."""
    rows = {docid: plan.present[docid] for docid in sorted(plan.targets)}
    for docid, row in rows.items():
        _set_back(work, row, plan.targets[docid], one.change)
    _relink(work, one, plan.left)
    outcome.folds |= bool(plan.events) or one.kind == "consolidate"
    told = memories.by_docids(work.db, work.ns, [one.docid for one in plan.events if one.docid])
    for one_told in plan.events:
        if one_told.docid in told:
            note_event(work, told[one_told.docid], Event.RETRACTED, one_told.retraction)
    for docid in rows:
        row = memories.by_docid(work.db, docid)
        slots.contend(work, row, by=Trust.USER)
        slots.fit(work, row)
    memories.overflow(work, {row.session for row in rows.values() if row.tier == Tier.SHORT})
    run = outcome.changes[0] if outcome.changes else outcome.run
    number = changes.finish(work, "undo", run=run, begins_run=outcome.several, undoes=one.change)
    changes.mark_undone(work.db, one, number)
    if one.kind == "merge_scopes":
        scope_moves.end_undone(work, changes.number_of(one.change))
    if one.undoes is not None and (first := changes.find(work.db, work.ns, one.undoes)):
        changes.mark_undone(work.db, first, None)
    outcome.rows |= memories.by_docids(work.db, work.ns, [*rows, *told])
    outcome.undone.append(one.change)
    outcome.changes += [] if number is None else [number]


def _set_back(work: Work, row: Row, target: Row, number: int) -> None:
    """Set a memory back to a state, and update the indexes."""
    session = work.db
    wanted = {name: getattr(target, name) for name in _SET_BACK}
    values = {name: value for name, value in wanted.items() if getattr(row, name) != value}
    if "version" in values:  # no number stands for two texts: people approve a text by it
        values["version"] = row.version + 1
    if Reason.FOLDED in changes.reasons(session, number, row.docid):
        merge.unfolded(work, row)
    locked, index = lock_of(row.pinned), _operation(target, values)
    undone = {"change": changes.number_of(number)}
    alter(work, row, values, Reason.UNDONE, Event.UNDONE, undone, index=index)
    if lock_of(row.pinned) != locked:
        strength_fold.fold_again(session, row.docid)
    if not values.keys().isdisjoint(_TITLED):
        session.words.replace(row.docid, columns_of(row))
    if "source_parents" in values:
        links.stop_waiting(session, row.docid)
        links.note(session, work.ns, [row])


def _operation(row: Row, values: Mapping[str, Any]) -> str:
    """Return the indexer operation for a memory that gets values back."""
    if row.status in memories.OWED_VECTOR and not values.keys().isdisjoint(_EMBEDDED):
        return "embed"
    if row.status not in INDEXED:
        return "drop"
    return "embed" if "status" in values else "drop" if row.tier == Tier.SHORT else "index"


def _relink(work: Work, one: Recorded, left: Mapping[int, object]) -> None:
    """Remove the links that a change made, and restore those that it removed.

    A ``supersedes`` link stays if the superseded memory is left; another one, if either end is.
    """
    for src, dst, relation, weight, made in changes.changed_links(work.db, one.change):
        ends = {dst} if relation == "supersedes" else {src, dst}
        if not left.keys().isdisjoint(ends):
            continue
        if made:
            changes.unlink(work, src, dst, relation)
        else:
            changes.link(work, src, dst, relation, weight)
