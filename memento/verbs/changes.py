"""Correct a memory, undo a change, and see what changed a memory, when and how.

A change is a call that ended a state of a memory, see ``ledger.changes``; a plain ``add`` is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from memento.base.clock import from_micros
from memento.base.lazy import later
from memento.check import check_count, check_flag, check_id, check_moment, check_text, short_name
from memento.errors import InvalidInput, NothingToUndo
from memento.ledger import changes as sql
from memento.ledger import links, memories, past, slot_rows, usage_events
from memento.ledger.changes import Recorded
from memento.ledger.contract import Trace, Transaction, Work
from memento.ledger.rows import Row, docid_of, sound
from memento.ledger.schema import SEQ_MASK
from memento.types import (
    Change,
    Diff,
    Draft,
    Kind,
    Memory,
    SlotValue,
    Source,
    Status,
    Trust,
    TrustName,
    Undone,
    Version,
)
from memento.upkeep import lineage
from memento.upkeep.lineage import between
from memento.views import Part, View
from memento.write import undo as undoing
from memento.write.steps import ENDED, FOUND, SLOT_HOLDING, holds
from memento.write.undo import Outcome

if TYPE_CHECKING:
    from memento.observe import derive
else:
    derive = later("memento.observe.derive")


class _Moved(Exception):
    """A memory changed between being read and being corrected."""


def correct(
    view: View,
    id: str,  # noqa: A002 - the field's own name
    text: str,
    *,
    source: Source | Trust | TrustName | None = None,
    occurred_at: datetime | None = None,
) -> Memory:
    """Do what ``MemoryManager.correct`` does; see there."""
    ns = view.known_namespace(check_id(id))
    said = check_text(text, view.engine.config.limits)
    while True:
        old = view.engine.ledger.read(lambda c: memories.by_id(c, ns, id), space=ns)
        draft = _correction(view, old, said, source, occurred_at)

        def guard(work: Work, rev: int = old.rev) -> None:
            if memories.by_id(work.db, work.ns, id).rev != rev:
                raise _Moved

        try:
            rows = view.engine.add(view.namespace, [draft], verb="correct", guard=guard)
        except _Moved:
            continue
        return view.memory(rows[0])


def _correction(
    view: View,
    row: Row,
    text: str,
    source: Source | Trust | TrustName | None,
    occurred_at: datetime | None,
) -> Draft:
    """Make the draft of the memory that supersedes another one."""
    now = view.engine.now()
    if row.status not in FOUND:
        raise InvalidInput("id", _not_active(row))
    if not holds(row, now):
        raise InvalidInput("id", f"{row.id!r} has expired; add the correct statement instead")
    if row.text == text:
        raise InvalidInput("text", f"is already the text of {row.id!r}")
    old = view.memory(row)
    expires = row.expires_at
    due = old.due_at
    if old.kind is Kind.PLAN:
        said_at = from_micros(now).astimezone(view.config.zone)
        due = derive.dates_of(text, said_at)[0] or due
    return Draft(
        text,
        old.tier,
        old.kind,
        importance=old.importance,
        key=old.key,
        aliases=old.aliases,
        scope=old.scope,
        session=old.session,
        actor=old.actor,
        role=old.role,
        source=source,
        tags=old.tags,
        metadata=old.metadata,
        occurred_at=occurred_at,
        expires_in=None if expires is None else (expires - now) / 1_000_000,
        pinned=old.pinned,
        supersedes=(row.id,),
        condition=old.condition,
        due_at=due,
        signal=old.signal,
    )


def _not_active(row: Row) -> str:
    """Say why a memory cannot be corrected, and what to do."""
    if row.status == Status.SUPERSEDED and row.superseded_by is not None:
        return f"{row.id!r} is superseded; correct {row.superseded_by!r}, which superseded it"
    if row.status == Status.QUARANTINED:
        return f"{row.id!r} is quarantined; approve or reject it"
    return f"{row.id!r} is {row.status}, not active"


def undo(
    view: View, change: int | None = None, *, run: int | None = None, force: bool = False
) -> Undone:
    """Do what ``MemoryManager.undo`` does; see there."""
    if (change is None) == (run is None):
        raise InvalidInput("change", "pass either the number of a change or run=")
    check_flag("force", force)
    field, given = ("change", change) if run is None else ("run", run)
    asked = check_count(field, given, most=SEQ_MASK)
    if (ns := view.ns) is None:
        raise NothingToUndo(asked, f"this namespace has no change {asked}")
    key = docid_of(ns, asked)
    keys = [key] if run is None else _of_run(view, ns, key)
    whole = Outcome(several=force or len(keys) > 1)
    try:
        for one in keys:
            _undo_one(view, ns, one, whole, force=force, lenient=run is not None)
    finally:
        view.engine.changed(ns, list(whole.rows.values()))
    if whole.folds:
        view.engine.background.fold_events()
    return Undone(
        changes=tuple(map(sql.number_of, whole.changes)),
        undone=tuple(map(sql.number_of, whole.undone)),
        memories=tuple(row.id for _, row in sorted(whole.rows.items())),
        left={whole.names[docid]: shown_number(why) for docid, why in sorted(whole.left.items())},
    )


def _of_run(view: View, ns: int, run: int) -> Sequence[int]:
    """Return the keys of those changes of a run that can be undone, the newest first."""
    found = view.engine.ledger.read(lambda c: sql.of_run(c, ns, run), space=ns)
    number = sql.number_of(run)
    if not found:
        raise NothingToUndo(number, f"this namespace has no run {number}")
    left = [one.change for one in found if undoing.is_undoable(one)]
    if not left:
        raise NothingToUndo(number, f"run {number} was already undone, or cannot be undone")
    return left


def _undo_one(view: View, ns: int, key: int, whole: Outcome, *, force: bool, lenient: bool) -> None:
    """Undo one change in a transaction, and add the result to that of the others."""
    engine, now = view.engine, view.engine.now()

    def job(session: Transaction) -> Outcome | None:
        work = Work(session, ns, now, engine.rules, Trace())
        one = sql.find(session, ns, key)
        if lenient and (one is None or not undoing.is_undoable(one)):
            return None  # it was undone meanwhile, perhaps as it stood in the way of another
        outcome = whole.fresh()
        undoing.undo(work, undoing.undoable(work, key), outcome, force=force)
        return outcome

    try:
        outcome = engine.ledger.write(job, spaces=(ns,))
    except NothingToUndo:
        if not lenient:
            raise
        return
    if outcome is not None:
        whole.add(outcome)


Versions = list[Version]
"""Named here, because inside the class ``list`` is a method."""


class Changes(Part):
    """Lists and compares changes to memories; available as ``memory.changes``."""

    def head(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Return the newest memory in a chain of replacements.

        Args:
            id: Id of a memory. A memory that was never superseded is its own head.

        Raises:
            NotFound: If no memory in this namespace has this id.
            StoreUnusable: If the memory or the head is damaged.
        """
        ns = self._view.known_namespace(check_id(id))

        def job(session: Transaction) -> Row:
            row = memories.by_id(session, ns, id)
            return memories.by_id(session, ns, links.head(session, row))

        return self._view.memory(self._view.engine.ledger.read(job, space=ns))

    def evolution(self, key_or_id: str, *, scope: str = "") -> list[SlotValue]:
        """Return the successive values of a slot or a chain of replacements, each with its period.

        Args:
            key_or_id: The key of a slot, or the id of a memory. If the memory has a key, the values
                of its slot are returned; otherwise, the memories in its chain.
            scope: Scope of the slot, if a key is given; only this exact scope is searched.

        Returns:
            The values, in the order in which they became valid; empty if there are none. Forgotten,
            quarantined and expired memories are not included.

        Raises:
            InvalidInput: If an argument is invalid.
            StoreUnusable: If a value is damaged.
        """
        name, where = _key_or_id(key_or_id), self._view.present_scope(scope)
        now = self._view.engine.now()

        def job(session: Transaction, ns: int) -> list[Row]:
            row = memories.by_ids(session, ns, [name]).get(name)
            if row is None:
                return slot_rows.values(session, ns, (name, where), now)
            if sound(row).key is not None:
                return slot_rows.values(session, ns, (str(row.key), row.scope), now)
            shown = SLOT_HOLDING | ENDED
            chain = links.members(session, ns, links.head(session, row))
            return [
                one
                for one in chain
                if one.status in shown and (one.expires_at is None or one.expires_at > now)
            ]

        return self._view.values(job)

    def diff(
        self,
        since: datetime,
        until: datetime | None = None,
        *,
        after: str | None = None,
        limit: int = 1000,
    ) -> Diff:
        """Report what was added, changed, hidden and restored between two points in time.

        Both times refer to when changes were recorded, not to when statements were true. Erased
        memories are not included.

        Args:
            since: The earlier moment (timezone-aware).
            until: The later moment; None for now.
            after: Compare only memories that arrived after the memory with this id. To get the next
                page, pass ``Diff.more`` with the same moments, until it is None.
            limit: Maximum number of memories to compare, 1 to 1,000,000; comparing 1,000 takes
                about 0.2 s.

        Raises:
            InvalidInput: If a moment has no time zone, or ``until`` is before ``since``.
            NotFound: If no memory in this namespace has the id ``after``.
            StoreUnusable: If an earlier state is damaged.
        """
        first = check_moment("since", since)
        last = self._view.engine.now() if until is None else check_moment("until", until)
        if last < first:
            raise InvalidInput("until", "is before since")
        check_count("limit", limit, most=1_000_000)
        name, ns = None if after is None else check_id(after, "after"), self._view.ns
        if name is not None:
            self._view.known_namespace(name)
        view = self._view
        return between(view.engine.ledger, ns, view.namespace, first, last, after=name, limit=limit)

    def list(
        self,
        *,
        since: datetime | None = None,
        id: str | None = None,  # noqa: A002 - the field's own name
        run: int | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> list[Change]:
        """List the calls that changed memories, newest first.

        A call is listed if it changed an existing memory; this includes any
        ``add`` that superseded or merged with a memory. An ``add`` that only added or repeated a
        memory is not listed, nor are calls to ``store.touch``, erasures, or turns that leave the
        ring buffer. A sleep is listed even if it only replayed memories or scaled down their links.

        Args:
            since: Earliest moment (timezone-aware); None for no limit.
            id: Only changes that affected this memory; None for all.
            run: Only changes in this run; None for all.
            before: Only changes with a smaller number. For the next page, pass the number of the
                last change on this page; None to start with the newest.
            limit: Maximum number of changes to return, 1 to 1,000,000.

        Raises:
            NotFound: If no memory in this namespace has this id.
            InvalidInput: If an argument is invalid.
        """
        check_count("limit", limit, most=1_000_000)
        after = None if since is None else check_moment("since", since)
        asked = None if run is None else check_count("run", run, most=SEQ_MASK)
        last = None if before is None else check_count("before", before, most=SEQ_MASK)
        name = None if id is None else check_id(id)
        if name is not None:
            self._view.known_namespace(name)

        def job(session: Transaction, ns: int) -> list[Change]:
            docid = None if name is None else memories.by_id(session, ns, name).docid
            key = None if asked is None else docid_of(ns, asked)
            end = docid_of(ns, SEQ_MASK if last is None else last)
            found = sql.listed(
                session, ns, since=after, docid=docid, run=key, before=end, limit=limit
            )
            told = _told_by(session, ns, found)
            return [_change(session, one, told.get(one.change, [])) for one in found]

        return self._view.ask(job) or []

    def history(self, id: str, *, chain: bool = False) -> Versions:  # noqa: A002 - the field's own name
        """Return every state of a memory, oldest first, ending with the current state.

        Args:
            id: Id of a memory, which may have any status.
            chain: Whether to include all memories that superseded it or that it superseded. Their
                states are grouped by memory, oldest first.

        Raises:
            NotFound: If no memory in this namespace has this id.
            InvalidInput: If an argument is invalid.
            StoreUnusable: If a state is damaged.
        """
        check_flag("chain", chain)
        ns = self._view.known_namespace(check_id(id))
        return lineage.history(self._view.engine.ledger, ns, id, chain=chain)


def _told_by(session: Transaction, ns: int, found: Sequence[Recorded]) -> dict[int, list[str]]:
    """Return the memory ids of the changes that only wrote to the log, by change."""
    moments = {sql.number_of(one.change): one.at for one in found if one.rev_to < one.rev_from}
    told = usage_events.written_by(session, ns, moments)
    names = past.names(session, sorted({one.docid for one in told if one.docid is not None}))
    docids: dict[int, set[int]] = {}
    for one in told:
        if one.docid in names and one.change is not None:
            docids.setdefault(docid_of(ns, one.change), set()).add(one.docid)
    return {change: [names[docid] for docid in sorted(each)] for change, each in docids.items()}


def _change(session: Transaction, one: Recorded, told: Sequence[str]) -> Change:
    changed, added = sql.ids_of(session, one)
    return Change(
        number=sql.number_of(one.change),
        at=from_micros(one.at),
        kind=one.kind,
        by=Trust(one.by),
        run=shown_number(one.run),
        rev_from=one.rev_from,
        rev_to=one.rev_to,
        changed=tuple(changed or told),
        added=tuple(added),
        undone_by=shown_number(one.undone_by),
        undoes=shown_number(one.undoes),
    )


def shown_number(key: int | None) -> int | None:
    """Return the number of a change, if there is one."""
    return None if key is None else sql.number_of(key)


def _key_or_id(value: object) -> str:
    """Accept a key, as ``add`` does, or an id; both are strings."""
    return (
        short_name("key_or_id", value) if isinstance(value, str) else check_id(value, "key_or_id")
    )
