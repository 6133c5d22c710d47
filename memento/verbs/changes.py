"""Correct or forget a memory, list and undo changes, read what differs between two moments.

A change is a call that ended a state of a memory, see ``ledger.changes``; a plain ``add`` is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from memento.base.clock import from_micros
from memento.base.lazy import later
from memento.check import (
    check_count,
    check_flag,
    check_id,
    check_moment,
    check_text,
    member,
)
from memento.errors import InvalidInput, NothingToUndo
from memento.ledger import changes as sql
from memento.ledger import links, memories, past, slot_rows, usage_events
from memento.ledger.changes import Recorded
from memento.ledger.contract import Session, Trace, Work
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
)
from memento.upkeep.lineage import between
from memento.views import View
from memento.write import undo as undoing
from memento.write.steps import ENDED, FOUND, SLOT_HOLDING, holds
from memento.write.undo import Outcome

if TYPE_CHECKING:
    from memento.observe import derive
else:
    derive = later("memento.observe.derive")


class _Moved(Exception):
    """A memory changed between being read and being corrected."""


class Changes(View):
    """Verbs of the manager that correct and forget memories, and that list and undo changes."""

    def correct(
        self,
        id: str,  # noqa: A002 - the field's own name
        text: str,
        *,
        source: Source | Trust | TrustName | None = None,
        occurred_at: datetime | None = None,
    ) -> Memory:
        """Replace what a memory says by a new memory, which takes its place.

        The old memory is superseded and stays in the history; ``undo`` brings it back. The new one
        has its scope, session, key, aliases, kind, importance, tier, tags, metadata and speaker,
        the condition of a rule, and the date of a plan unless the text names another one.
        ``update`` changes a memory in place instead, and is for a slip of the pen.

        Args:
            id: Id of the memory; it must be active.
            text: What is right.
            source: Who says so; None for the user. If they are not trusted, the new memory is
                quarantined and takes the place once it is approved; if they are trusted less than
                the old memory, both stay, in conflict, until the user settles them.
            occurred_at: Since when it is right, with a time zone; None for now.

        Returns:
            The new memory.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If a value cannot be accepted, the memory is not active or has expired, or
                it says so already.
            LockedMemory: If the memory is locked against who says so.
            SecretFound: As for ``add``.
            UntrustedSource: As for ``add``.
            StoreError: If it could not be written.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     wrong = memory.add("Rami lives in Rome", tags=["home"])
        ...     right = memory.correct(wrong.id, "Rami lives in Oslo")
        ...     right.tags, memory.get(wrong.id).status.value
        (('home',), 'superseded')
        """
        ns = self._known_namespace(check_id(id))
        said = check_text(text, self._engine.config.limits)
        while True:
            old = self._engine.ledger.read(lambda c: memories.by_id(c, ns, id))
            draft = self._correction(old, said, source, occurred_at)

            def guard(work: Work, rev: int = old.rev) -> None:
                if memories.by_id(work.db, work.ns, id).rev != rev:
                    raise _Moved

            try:
                rows = self._engine.add(self._namespace, [draft], verb="correct", guard=guard)
            except _Moved:
                continue
            return self._memory(rows[0])

    def _correction(
        self,
        row: Row,
        text: str,
        source: Source | Trust | TrustName | None,
        occurred_at: datetime | None,
    ) -> Draft:
        """Make the draft of a memory that takes the place of another one."""
        now = self._engine.now()
        if row.status not in FOUND:
            raise InvalidInput("id", _not_active(row))
        if not holds(row, now):
            raise InvalidInput("id", f"{row.id!r} has expired; add what is right")
        if row.text == text:
            raise InvalidInput("text", f"is what {row.id!r} says already")
        old = self._memory(row)
        expires = row.expires_at
        due = old.due_at
        if old.kind is Kind.PLAN:
            said_at = from_micros(now).astimezone(self.config.zone)
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
        )

    def forget(
        self,
        id: str,  # noqa: A002 - the field's own name
        *,
        source: Trust | TrustName | None = None,
    ) -> Memory:
        """Hide a memory at once; ``restore`` brings it back.

        Args:
            id: The memory.
            source: Who wants it hidden, a trust class; None for the user.

        Raises:
            NotFound: If this namespace has no such id.
            LockedMemory: If the user locked it.
            UntrustedSource: If ``source`` is not trusted, or less than the memory.
        """
        return self._forget(id, Trust.USER if source is None else member(Trust, "source", source))

    def changes(
        self,
        *,
        since: datetime | None = None,
        id: str | None = None,  # noqa: A002 - the field's own name
        run: int | None = None,
        limit: int = 100,
    ) -> list[Change]:
        """List the calls that changed memories, the newest first.

        A call is listed if it ended a state of a memory: every ``update``, ``correct``, ``forget``
        and so on, and an ``add`` that superseded or merged. A plain ``add`` is not, and neither are
        a repeat, ``touch``, an erasure, and what the ring buffer pushed out. A sleep is listed also
        for memories that it only replayed, or whose links it scaled down.

        Args:
            since: Earliest moment, with a time zone; None for any.
            id: A memory that they changed or that came with them; None for any.
            run: The run of a call that made several changes; None for any.
            limit: Most changes to return, 1 to 1,000,000.

        Raises:
            NotFound: If this namespace has no such id.
            InvalidInput: If an argument cannot be accepted.
        """
        check_count("limit", limit, most=1_000_000)
        after = None if since is None else check_moment("since", since)
        asked = None if run is None else check_count("run", run, most=SEQ_MASK)
        name = None if id is None else check_id(id)
        if name is not None:
            self._known_namespace(name)

        def job(session: Session, ns: int) -> list[Change]:
            docid = None if name is None else memories.by_id(session, ns, name).docid
            key = None if asked is None else docid_of(ns, asked)
            found = sql.listed(session, ns, since=after, docid=docid, run=key, limit=limit)
            told = _told_by(session, ns, found)
            return [_change(session, one, told.get(one.change, [])) for one in found]

        return self._ask(job) or []

    def undo(
        self, change: int | None = None, *, run: int | None = None, force: bool = False
    ) -> Undone:
        """Undo a change: set back what it did, as far as nothing else changed it since.

        Each memory that the change altered gets the state it had before, and each that came with it
        is forgotten; links likewise. All of it is new history, a change like any other: undoing the
        undo is redo. Erasures, verdicts of the quarantine and feedback are not undone.

        A memory is left as it is, and named in ``Undone.left``, if a later change altered it, if
        another memory holds its slot by now, if its successor is hidden or gone, if it would pass
        the border of the quarantine, if the user locked it and the lock is not what is undone, or
        if it would be locked again and 100 are locked already.

        Args:
            change: Number of the change, see ``changes``.
            run: A run instead: all its changes, the newest first, each in its own transaction.
            force: Undo first the later changes that stand in the way.

        Raises:
            InvalidInput: If not exactly one of ``change`` and ``run`` is given.
            NothingToUndo: If there is no such change, it was undone, it is a verdict, or nothing
                of it is there any more.
            StoreUnusable: If an earlier state is damaged.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     old = memory.add("Rami uses Vim", key="rami/editor")
        ...     new = memory.add("Rami uses Helix", key="rami/editor")
        ...     done = memory.undo(memory.changes()[0].number)
        ...     memory.value("rami/editor").text, memory.get(new.id).status.value
        ('Rami uses Vim', 'forgotten')
        """
        if (change is None) == (run is None):
            raise InvalidInput("change", "give either the number of a change or run=")
        check_flag("force", force)
        field, given = ("change", change) if run is None else ("run", run)
        asked = check_count(field, given, most=SEQ_MASK)
        if (ns := self._ns) is None:
            raise NothingToUndo(asked, f"this namespace has no change {asked}")
        key = docid_of(ns, asked)
        keys = [key] if run is None else self._of_run(ns, key)
        whole = Outcome(several=force or len(keys) > 1)
        try:
            for one in keys:
                self._undo_one(ns, one, whole, force=force, lenient=run is not None)
        finally:
            self._engine.changed(ns, list(whole.rows.values()))
        if whole.folds:
            self._engine.background.fold_events()
        return Undone(
            changes=tuple(map(sql.number_of, whole.changes)),
            undone=tuple(map(sql.number_of, whole.undone)),
            memories=tuple(row.id for _, row in sorted(whole.rows.items())),
            left={whole.names[docid]: _shown(why) for docid, why in sorted(whole.left.items())},
        )

    def _of_run(self, ns: int, run: int) -> Sequence[int]:
        """Return the keys of those changes of a run that can be undone, the newest first."""
        found = self._engine.ledger.read(lambda c: sql.of_run(c, ns, run))
        number = sql.number_of(run)
        if not found:
            raise NothingToUndo(number, f"this namespace has no run {number}")
        left = [one.change for one in found if undoing.is_undoable(one)]
        if not left:
            raise NothingToUndo(number, f"all of run {number} was undone, or cannot be")
        return left

    def _undo_one(self, ns: int, key: int, whole: Outcome, *, force: bool, lenient: bool) -> None:
        """Undo one change in a transaction, and add the result to that of the others."""
        engine, now = self._engine, self._engine.now()

        def job(session: Session) -> Outcome | None:
            work = Work(session, ns, now, engine.rules, Trace())
            one = sql.find(session, ns, key)
            if lenient and (one is None or not undoing.is_undoable(one)):
                return None  # it was undone meanwhile, perhaps as it stood in the way of another
            outcome = whole.fresh()
            undoing.undo(work, undoing.undoable(work, key), outcome, force=force)
            return outcome

        try:
            outcome = engine.ledger.write(job)
        except NothingToUndo:
            if not lenient:
                raise
            return
        if outcome is not None:
            whole.add(outcome)

    def head(self, id: str) -> Memory:  # noqa: A002 - the field's own name
        """Return the memory at the end of the chain of supersession that begins with one.

        Args:
            id: Id of a memory. If nothing superseded it, it is the head itself.

        Raises:
            NotFound: If this namespace has no such id.
            StoreUnusable: If the memory or the head is damaged.
        """
        ns = self._known_namespace(check_id(id))

        def job(session: Session) -> Row:
            row = memories.by_id(session, ns, id)
            return memories.by_id(session, ns, links.head(session, row))

        return self._memory(self._engine.ledger.read(job))

    def evolution(self, key_or_id: str, *, scope: str = "") -> list[SlotValue]:
        """Return the values that a slot or a chain of memories had, each with its interval.

        Args:
            key_or_id: Id of a memory; or the key of a slot. Of a memory with a key, its slot is
                meant; of another one, what superseded it and what that superseded in turn.
            scope: Scope of the slot, exactly, if it is a key.

        Returns:
            The values in the order in which they began to be valid; empty if there is none.
            Forgotten, quarantined and expired memories are left out.

        Raises:
            InvalidInput: If an argument cannot be accepted.
            StoreUnusable: If a value is damaged.
        """
        name, where = check_id(key_or_id, "key_or_id"), self._present_scope(scope)
        now = self._engine.now()

        def job(session: Session, ns: int) -> list[Row]:
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

        return self._values(job)

    def diff(self, since: datetime, until: datetime | None = None) -> Diff:
        """Compare what was recorded at two moments: what came, changed, was hidden and came back.

        The moments are those of recording, not those at which something was true. An erased
        memory is in no result.

        Args:
            since: The earlier moment, with a time zone.
            until: The later moment; None for now.

        Raises:
            InvalidInput: If a moment has no time zone, or ``until`` is before ``since``.
            StoreUnusable: If an earlier state is damaged.
        """
        first = check_moment("since", since)
        last = self._engine.now() if until is None else check_moment("until", until)
        if last < first:
            raise InvalidInput("until", "is before since")
        return between(self._engine.ledger, self._ns, self._namespace, first, last)


def _shown(key: int | None) -> int | None:
    """Return the number of a change, if there is one."""
    return None if key is None else sql.number_of(key)


def _not_active(row: Row) -> str:
    """Say why a memory cannot be corrected, and what to do."""
    if row.status == Status.SUPERSEDED and row.superseded_by is not None:
        return f"{row.id!r} is superseded; correct {row.superseded_by!r}, which superseded it"
    if row.status == Status.QUARANTINED:
        return f"{row.id!r} is quarantined; approve or reject it"
    return f"{row.id!r} is {row.status}, not active"


def _told_by(session: Session, ns: int, found: Sequence[Recorded]) -> dict[int, list[str]]:
    """Return the memories of the changes that only wrote to the log: change to ids."""
    moments = {sql.number_of(one.change): one.at for one in found if one.rev_to < one.rev_from}
    told = usage_events.written_by(session, ns, moments)
    names = past.names(session, sorted({one.docid for one in told if one.docid is not None}))
    docids: dict[int, set[int]] = {}
    for one in told:
        if one.docid in names and one.change is not None:
            docids.setdefault(docid_of(ns, one.change), set()).add(one.docid)
    return {change: [names[docid] for docid in sorted(each)] for change, each in docids.items()}


def _change(session: Session, one: Recorded, told: Sequence[str]) -> Change:
    changed, added = sql.ids_of(session, one)
    return Change(
        number=sql.number_of(one.change),
        at=from_micros(one.at),
        kind=one.kind,
        by=Trust(one.by),
        run=_shown(one.run),
        rev_from=one.rev_from,
        rev_to=one.rev_to,
        changed=tuple(changed or told),
        added=tuple(added),
        undone_by=_shown(one.undone_by),
        undoes=_shown(one.undoes),
    )
