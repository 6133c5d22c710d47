"""Write an export to the ledger: each part of it in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import inf
from typing import TYPE_CHECKING, TypeVar

from memento.admit.entry import Entry
from memento.later import later
from memento.ledger import changes, claims, happenings, memories, namespaces, scopes, sessions
from memento.ledger import transfer as sql
from memento.ledger.contract import Session, Work
from memento.ledger.rows import Row
from memento.ledger.schema import SEQ_MASK
from memento.lifecycle import slots, trust
from memento.lifecycle.remember import go_to_present_scopes
from memento.lifecycle.scopes import may_be_merged
from memento.lifecycle.steps import log_event
from memento.types import Event, Status, Tier, Trust
from memento.upkeep.import_lines import (
    Arrival,
    EventLine,
    Item,
    Labels,
    Link,
    ScopeLine,
    SessionLine,
    ShareLine,
    Terms,
)

if TYPE_CHECKING:
    from memento.lifecycle import conflicts
else:
    conflicts = later("memento.lifecycle.conflicts")

W = TypeVar("W", Arrival, Link, EventLine, SessionLine, ScopeLine, ShareLine)
Sessions = dict[int, set[str | None]]


class Taking:
    """Writes the lines of an export, and counts them.

    Args:
        name: Name of the import, see ``sql.begin_import``.
        into_of: Namespaces to their numbers.
        began: Number of a namespace to its newest revision when the import began, perhaps in
            another process that was killed: a later memory that is in the file is the import's.
        model: Number of the embedder that made the vectors; None to leave them out.
        terms: See ``Terms``.
        sessions: Receives the sessions that have new turns.
    """

    def __init__(
        self,
        name: str,
        into_of: Mapping[Labels, int],
        began: Mapping[int, int],
        model: int | None,
        terms: Terms,
        sessions: Sessions,
    ) -> None:
        self.model = model
        self.counts: Counter[str] = Counter()
        self.redacted: Counter[str] = Counter()
        self._name = name
        self._into_of = into_of
        self._began = began
        self._terms = terms
        self._sessions = sessions
        self._ours: dict[int, set[str]] = {ns: set() for ns in into_of.values()}
        self._quarantined: set[int] = set()

    @property
    def quarantined(self) -> int:
        """Number of new memories that are quarantined."""
        return len(self._quarantined)

    def put(self, connection: Session, bite: Sequence[Item]) -> None:
        """Write some lines; the store is consistent afterwards.

        Args:
            connection: Inside a transaction.
            bite: Lines in the order of the file.
        """
        done = sql.imported_to(connection, self._name)
        for ns, arrivals in self._of_kind(bite, Arrival):
            work = self._work(connection, ns)
            self._put_memories(work, arrivals)
            door = self._terms.door
            changes.finish(work, "import_from", Trust.USER if door is None else door.trust)
        for ns, links in self._of_kind(bite, Link):
            for link in links:
                self._put_link(connection, ns, link)
        since = inf if done is None else done  # None: another process has written all of it
        for ns, events in self._of_kind([item for item in bite if item.line > since], EventLine):
            for event in events:
                self._put_event(connection, ns, event)
        self._put_others(connection, bite)
        sql.note_imported(connection, self._name, bite[-1].line)

    def _put_others(self, connection: Session, bite: Sequence[Item]) -> None:
        """Write what is no memory and belongs to none."""
        for ns, begun in self._of_kind(bite, SessionLine):
            for one in begun:
                self._put_session(connection, ns, one)
        for ns, places in self._of_kind(bite, ScopeLine):
            for place in places:
                self._put_scope(connection, ns, place)
        for ns, shares in self._of_kind(bite, ShareLine):
            for share in shares:
                self._put_share(connection, ns, share)

    def _work(self, connection: Session, ns: int) -> Work:
        return Work(connection, ns, self._terms.now, self._terms.rules)

    def _of_kind(self, bite: Sequence[Item], kind: type[W]) -> Iterator[tuple[int, list[W]]]:
        """Yield the items of one kind, by namespace."""
        chosen = [(item.labels, item.what) for item in bite if isinstance(item.what, kind)]
        for labels, group in groupby(chosen, key=lambda one: one[0]):
            yield self._into_of[labels], [what for _, what in group]

    def _put_memories(self, work: Work, arrivals: Sequence[Arrival]) -> None:
        go_to_present_scopes(work, [one.entry for one in arrivals])
        fresh = [one for one in arrivals if not self._is_here(work, one.entry.row)]
        if not fresh:
            return
        entries = [one.entry for one in fresh]
        self._ours[work.ns].update(entry.row.id for entry in entries)
        self._sessions.setdefault(work.ns, set())
        if self._terms.door is not None:
            trust.judge(work, entries)
        pile = [(one.entry.row, one.entry.text, one.states, one.vector) for one in fresh]
        changes.comes_with(work)
        sql.put(work.db, work.ns, pile, self.model)
        for entry in entries:
            self._note(work, entry)
        self.counts["vectors"] += sum(one.vector is not None for one in fresh)
        again = self._judge_again(work, [entry.row for entry in entries])
        slots.settle(work, sorted(entry.row.id for entry in entries))
        self._let_overflow(work, [*(entry.row for entry in entries), *again])

    def _is_here(self, work: Work, row: Row) -> bool:
        """Tell whether a memory is here already, perhaps from an earlier run of this import."""
        docid = sql.known(work.db, work.ns, row)
        if docid is None:
            return False
        self.counts["known"] += 1
        if docid & SEQ_MASK > self._began.get(work.ns, SEQ_MASK):
            self._ours[work.ns].add(row.id)
        return True

    def _judge_again(self, work: Work, rows: Sequence[Row]) -> list[Row]:
        """Re-evaluate memories whose parents were imported; a trusted file stays as it is."""
        ours = self._ours[work.ns]
        spared = ours if self._terms.door is None else ()
        changed = trust.judge_again(work, rows, [row.id for row in rows], spared=spared)
        for row in changed:
            if row.status == Status.QUARANTINED and row.id in ours:
                self._quarantined.add(row.docid)
        return changed

    def _let_overflow(self, work: Work, rows: Sequence[Row]) -> None:
        """Move memories that no longer fit into the rings of their sessions to medium."""
        sessions = {row.session for row in rows if row.tier == Tier.SHORT}
        memories.overflow(work, sessions)
        if sessions:
            self._sessions.setdefault(work.ns, set()).update(sessions)

    def _note(self, work: Work, entry: Entry) -> None:
        """Count the outcome for a memory that was written."""
        self.counts["memories"] += 1
        if entry.row.status == Status.QUARANTINED:
            self._quarantined.add(entry.row.docid)
        if entry.redacted:
            self.redacted.update(entry.redacted)
            log_event(work, entry.row, Event.REDACTED, entry.redacted)

    def _put_link(self, connection: Session, ns: int, link: Link) -> None:
        if self._terms.door is not None and not self._ours[ns].issuperset(link.ends):
            return  # it would change a memory that is not from the file
        made = sql.put_link(connection, ns, link.ends, link.relation, link.weight)
        self.counts["links"] += made
        if made and link.relation == claims.RESOLVED:  # it may have been compared here meanwhile
            conflicts.unflag(self._work(connection, ns), *link.ends)

    def _put_event(self, connection: Session, ns: int, event: EventLine) -> None:
        """Import an event of a new memory; one without a memory only into an empty namespace."""
        detail = event.detail
        if event.memory is not None and event.memory not in self._ours[ns]:
            return
        if event.memory is None and self._began.get(ns):
            if not isinstance(detail, dict) or "ids" not in detail:
                return
            ours = self._ours[ns]  # the places of the others in the answer stay
            detail = {**detail, "ids": [one if one in ours else "" for one in detail["ids"]]}
            if not any(detail["ids"]):
                return
        if self._is_doubted(connection, ns, event):
            return
        put = sql.put_event(connection, ns, event.at, event.kind, event.memory, detail)
        self.counts["events"] += put

    def _is_doubted(self, connection: Session, ns: int, event: EventLine) -> bool:
        """Tell whether an event is a doubt that comparing here has noted during this import."""
        detail = event.detail
        if event.kind != Event.DOUBTED or event.memory is None or not isinstance(detail, dict):
            return False
        docid = memories.docids_of(connection, ns, [event.memory]).get(event.memory)
        if docid is None:  # it was erased between two parts of the import
            return False
        return happenings.is_doubted(connection, docid, detail.get("by"), self._terms.now)

    def _put_session(self, connection: Session, ns: int, one: SessionLine) -> None:
        """Import a session that is not here; the moment of a turn tells what a checkpoint knew."""
        if sessions.find(connection, ns, one.begun.id) is not None:
            return
        sessions.put(connection, replace(one.begun, ns=ns))
        for noted in one.checkpoints:
            rev = sessions.seq_at(connection, ns, noted.session, noted.at)
            sessions.insert_checkpoint(connection, replace(noted, ns=ns, rev=rev))
        self.counts["sessions"] += 1

    def _put_scope(self, connection: Session, ns: int, one: ScopeLine) -> None:
        """Import a scope that is not named here."""
        place = one.place
        if scopes.find(connection, ns, place.path) is not None:
            return
        if place.merged_into is not None and not may_be_merged(connection, ns, place):
            place = replace(place, merged_at=None, merged_into=None)
        scopes.put(connection, replace(place, ns=ns))
        self.counts["scopes"] += 1

    def _put_share(self, connection: Session, ns: int, one: ShareLine) -> None:
        """Import a share that is not there."""
        other = namespaces.number(connection, one.labels)
        made = scopes.put_share(connection, replace(one.share, ns=ns, other=other))
        self.counts["shares"] += made
