"""Read and write one namespace of an open store, for the manager and its parts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Never, Self, TypeVar, Unpack
from uuid import uuid5

import uuid_utils

from memento.admit.redact import Redaction
from memento.base.clock import from_micros
from memento.base.lazy import later
from memento.base.plain import plain
from memento.base.scopes import parse_scope
from memento.base.spans import traced
from memento.check import Limits, check_count, check_flag, check_id, check_metadata
from memento.errors import InvalidInput, NotFound, TurnErased
from memento.holding import Hold
from memento.ledger import changes, copies, memories, past
from memento.ledger.contract import Transaction, Work
from memento.ledger.filters import Filtering, check_known_at, filtering
from memento.ledger.parts import ID_SPACE, PART, PARTS, TURN, id_of_part
from memento.ledger.predicate import Filters
from memento.ledger.rows import Row, sound, to_memory
from memento.types import Draft, Kind, Match, Memories, Memory, Retrieval, SlotValue, Tier, Trust
from memento.write import change
from memento.write.remember import refuse_copies
from memento.write.steps import Change, Run

if TYPE_CHECKING:
    from memento.config import Config
    from memento.engine import Engine
    from memento.ingest import paragraphs
    from memento.ledger import scope_rows
    from memento.prompt import Relevant, rendering
    from memento.protocols import Clock, Progress, TokenCounter
    from memento.upkeep import lineage
else:
    lineage = later("memento.upkeep.lineage")
    paragraphs = later("memento.ingest.paragraphs")
    rendering = later("memento.prompt.rendering")
    scope_rows = later("memento.ledger.scope_rows")

A = TypeVar("A")
Manager = TypeVar("Manager", bound="Part")
R = TypeVar("R")


class View:
    """One namespace of an open store, and how its memories are read and changed.

    Args:
        hold: The open store.
        namespace: Labels of the namespace.
        run: The run to which all changes belong, if they are to be undone together.
    """

    __slots__ = ("hold", "namespace", "run")
    is_remote = False
    """Whether a service has the store open; see ``memento.remote``."""

    def __init__(self, hold: Hold, namespace: tuple[str, ...], run: Run | None = None) -> None:
        self.hold = hold
        self.namespace = namespace
        self.run = run

    @property
    def engine(self) -> Engine:
        """The open store."""
        return self.hold.use()

    @property
    def ns(self) -> int | None:
        """Number of the namespace; None if it was never written to."""
        return self.engine.ledger.find_namespace(self.namespace)

    @property
    def root(self) -> Path:
        """The store folder."""
        return self.hold.engine.ledger.root

    @property
    def closed(self) -> bool:
        """Whether the store has been closed."""
        return self.hold.closed

    @property
    def read_only(self) -> bool:
        """Whether the store cannot be written; reading still works."""
        return self.hold.engine.ledger.read_only

    @property
    def config(self) -> Config:
        """Settings with which the manager was created."""
        return self.hold.engine.config

    @property
    def prompt_confidence(self) -> float:
        """Default ``min_confidence`` for ``prompt`` and for adapters that fill a prompt."""
        return self.hold.engine.prompt_confidence

    @property
    def clock(self) -> Clock:
        """The clock that the manager uses."""
        return self.hold.engine.clock

    def ask(self, job: Callable[[Transaction, int], R]) -> R | None:
        """Read from the namespace; None if it was never written to."""
        ns = self.ns
        return None if ns is None else self.engine.ledger.read(lambda c: job(c, ns), space=ns)

    def write(self, job: Callable[[Work], R], *, alone: bool = False) -> R:
        """Run one transaction of the namespace, which may be new.

        Args:
            job: The steps of the write.
            alone: Whether it has the store alone, as it folds the events of all namespaces.
        """
        engine, now, known = self.engine, self.engine.now(), self.ns

        def carry_out(db: Transaction) -> R:
            ns = engine.new_namespace(db, self.namespace) if known is None else known
            return job(Work(db, ns, now, engine.rules))

        return engine.ledger.write(carry_out, spaces=None if known is None or alone else (known,))

    def known_namespace(self, memory_id: str) -> int:
        """Return the number of the namespace, for an id that is searched for in it."""
        if (ns := self.ns) is None:
            raise NotFound(memory_id)
        return ns

    def memory(self, row: Row) -> Memory:
        """Convert a row into a memory."""
        return to_memory(row, self.namespace)

    def read(self, rows: Iterable[Row]) -> Memories:
        """Convert rows into memories.

        Raises:
            StoreUnusable: If a row is damaged.
        """
        return Memories(to_memory(sound(row), self.namespace) for row in rows)

    @traced("add", lambda kept: {"memories": len(kept)})
    def add(
        self,
        drafts: Sequence[Draft],
        *,
        replace: bool = False,
        progress: Progress | None = None,
        again: bool = False,
    ) -> Memories:
        """Add drafts; a turn that is too long for one memory is stored in parts.

        Args:
            drafts: What to add.
            replace: Let each replace the memory that has its id.
            progress: Told how many are checked, and all at the end.
            again: Whether sources may bring again what was taken out here: it stays away.

        Returns:
            One memory per draft, in order: of a turn in parts, the first part. A draft of which
            nothing is left has none.
        """
        parts: list[tuple[int, Draft]] = []
        for at, draft in enumerate(drafts):
            split = not replace and _is_long_turn(draft, self.config.limits)
            parts += [(at, one) for one in (self._parts_of_turn(draft) if split else [draft])]
        if again:
            left = self._what_is_left([one for _, one in parts])
            parts = [(at, one) for (at, _), one in zip(parts, left, strict=True) if one is not None]
        every = [one for _, one in parts]
        rows: Sequence[Row | None]
        if again:
            rows = self.add_again(every, replace=replace, progress=progress)
        else:
            rows = self.engine.add(
                self.namespace, every, replace=replace, progress=progress, run=self.run
            )
        firsts: dict[int, Row] = {}
        for (at, _), row in zip(parts, rows, strict=True):
            if row is not None:
                firsts.setdefault(at, row)
        return Memories(to_memory(row, self.namespace) for row in firsts.values())

    def _what_is_left(self, drafts: Sequence[Draft]) -> list[Draft | None]:
        """Return each draft without what was erased or forgotten; None if nothing is left."""
        found = self.ask(lambda c, ns: copies.taken_out(c, ns, drafts)) or {}
        named = {name: one.text and id_of_content(name, one.text) for name, one in found.items()}
        left: list[Draft | None] = []
        for draft in drafts if found else ():
            related = [named.get(one, one) for one in draft.related]
            one = replace(draft, related=tuple(filter(None, related)))
            if isinstance(draft.id, str) and draft.id in found:
                one = replace(one, id=named[draft.id], text=found[draft.id].text)
            left.append(one if one.text else None)
        return left or [*drafts]

    def add_again(self, drafts: Sequence[Draft], **how: Any) -> list[Row | None]:
        """Add drafts that sources may bring again; None for those erased or forgotten meanwhile."""
        gone: set[str | None] = set()
        while True:
            kept = [draft for draft in drafts if draft.id not in gone] if gone else [*drafts]
            guard = partial(refuse_copies, drafts=kept)
            try:
                rows = iter(self.engine.add(self.namespace, kept, guard=guard, **how))
            except TurnErased as erased:
                if not erased.ids <= {one.id for one in kept if copies.source_of(one) is not None}:
                    raise
                gone |= erased.ids
            else:
                return [None if gone and draft.id in gone else next(rows) for draft in drafts]

    def _parts_of_turn(self, draft: Draft) -> Iterator[Draft]:
        """Split a turn; later parts are linked to the first and kept out of the short tier."""
        limits = self.config.limits
        text = Redaction(self.config.secrets).text("text", draft.text)
        most = min(paragraphs.PART_LIMIT, limits.text_chars)
        split = [one for one in paragraphs.pieces(text, most) if one]
        given = json.loads(check_metadata(draft.metadata, limits))
        first = draft.id or _id_of_turn(draft)
        for number, piece in enumerate(split, start=1):
            told = given | {PART: number, PARTS: len(split)}
            if number == 1:
                yield replace(draft, text=piece, id=first, metadata=told)
                continue
            yield replace(
                draft,
                text=piece,
                id=id_of_part(first, number),
                tier=Tier.MEDIUM if draft.tier in (None, Tier.SHORT) else draft.tier,
                aliases=(),
                supersedes=(),
                related=(first,),
                metadata=told | {TURN: first},
            )

    def get(self, memory_id: str) -> Memory:
        """Return a memory by its id."""
        ns = self.known_namespace(check_id(memory_id))
        return self.memory(
            self.engine.ledger.read(lambda c: memories.by_id(c, ns, memory_id), space=ns)
        )

    def update(
        self, memory_id: str, corrections: Mapping[str, Any], verb: str | None = None
    ) -> Memory:
        """Change a memory in place; ``verb`` names the change if nobody asked for just that."""
        now = self.engine.now()
        asked = change.accept(corrections, now=now, config=self.config)
        return self.change(
            memory_id,
            lambda work: change.update(work, memory_id, asked),
            verb=verb or asked.verb,
            by=asked.author.value,
            now=now,
        )

    def forget(self, memory_id: str, author: Trust = Trust.USER) -> Memory:
        """Hide a memory, and the other parts of a turn."""
        first, *_ = self.change_together(
            self.known_namespace(check_id(memory_id)),
            lambda work: change.forget_turn(work, memory_id, author),
            verb="forget",
            makes_room=True,
        )
        return self.memory(first)

    def restore(self, memory_id: str) -> Memory:
        """Bring a forgotten memory back, and the other parts of a turn."""
        first, *_ = self.change_together(
            self.known_namespace(check_id(memory_id)),
            lambda work: change.restore_turn(work, memory_id),
            verb="restore",
        )
        return self.memory(first)

    @traced("retrieve", lambda found: {"hits": len(found), "confidence": found.confidence})
    def retrieve(
        self,
        query: str,
        k: int | None = 5,
        *,
        match: Match = "auto",
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        min_score: float = 0.0,
        min_confidence: float = 0.0,
        cutoff: float = 0.0,
        tokens: int | None = None,
        count_tokens: TokenCounter | None = None,
        include_superseded: bool = False,
        include_archived: bool = False,
        include_quarantined: bool = False,
        fold: bool = True,
        wait: float = 0.0,
        record: bool = True,
        shared: bool = True,
        **filters: Unpack[Filtering],
    ) -> Retrieval:
        """Do what ``MemoryManager.retrieve`` does; see there."""
        engine = self.engine
        searcher = engine.searcher  # loads what the next line imports, safe from forks
        from memento.retrieve.request import Request  # noqa: PLC0415 - needs NumPy
        from memento.retrieve.shared import answer  # noqa: PLC0415 - as above

        now = engine.now()
        moment = check_known_at(known_at, now, include_quarantined=include_quarantined)
        if moment is not None:
            from memento.retrieve.known_at import PastSearcher  # noqa: PLC0415 - needs NumPy

            searcher = PastSearcher(searcher, moment)
        request = Request.checked(
            query,
            k=k,
            match=match,
            min_score=min_score,
            min_confidence=min_confidence,
            cutoff=cutoff,
            tokens=tokens,
            count_tokens=count_tokens or engine.count_tokens,
            fold=fold,
            wait=wait,
            filters=filtering(
                now if moment is None else moment,
                filters,
                self.retrieve,
                as_of=as_of,
                include_superseded=include_superseded,
                include_archived=include_archived,
                include_quarantined=include_quarantined,
            ),
        )
        shared, record = check_flag("shared", shared), check_flag("record", record)
        also = shared and moment is None and engine.config.scopes.shared
        return self.searched(
            engine,
            lambda: answer(engine.ledger, searcher, self.namespace, request, shared=also),
            wait=request.wait,
            sessions=request.filters.sessions,
            record=record and moment is None,
        )

    def searched(
        self,
        engine: Engine,
        search: Callable[[], Retrieval],
        *,
        wait: float,
        sessions: Sequence[str],
        record: bool,
    ) -> Retrieval:
        """Search once earlier memories are embedded, or the time to wait is over."""
        if wait:
            engine.settle(self.namespace, wait, sessions)
        with engine.background.traffic.query():
            found = search()
        if record and found.hits:
            engine.accessed(self.namespace, [hit.memory.id for hit in found.hits])
        return found

    def cut_for(self, found: Retrieval, *, budget: bool) -> Relevant:
        """Return what shortens the long memories of an answer, if there is a token budget."""
        engine, config = self.engine, self.config.retrieve
        several = config.passage if budget else None
        if engine.embedding is None or not found.hits or "meaning" not in found[0].ranks:
            return rendering.Relevant(found.query, config.long, several)
        near = engine.embedding.nearness(found.query, self.ns)
        return rendering.Relevant(found.query, config.long, several, near, best=found[0].text)

    def contradicted(self, found: Retrieval) -> dict[str, datetime]:
        """Return the ids of hits of the present that a higher statement contradicts, and when.

        Only statements outside the answer count.
        """
        from memento.retrieve.standings import outside  # noqa: PLC0415 - needs NumPy

        if not found.hits:
            return {}
        ids = [hit.id for hit in found if not hit.shared]
        now, settings = self.engine.now(), self.config.dynamics
        told = self.ask(lambda c, ns: outside(c, ns, ids, now, settings)) or {}
        return {name: from_micros(at) for name, at in told.items()}

    def listed(
        self,
        filters: Filters,
        *,
        by_time: bool = False,
        newest_first: bool = False,
        limit: int = 100,
        offset: int = 0,
        known_at: int | None = None,
    ) -> Memories:
        """Check how to list, then list the memories that match the filters."""
        check_count("limit", limit, most=1_000_000)
        check_count("offset", offset, least=0, most=1 << 40)
        check_flag("newest_first", newest_first)
        page, looked = memories.Page(by_time, newest_first, limit, offset), self.looked(filters)
        return self.read(self.ask(lambda c, ns: past.listing(c, ns, looked, page, known_at)) or [])

    def values(self, find: Callable[[Transaction, int], Sequence[Row]]) -> list[SlotValue]:
        """Read values of a slot, each with the time in which it held and why it ended."""
        rows = self.ask(find) or []
        reasons = lineage.endings(rows, self.engine.now())
        return [
            SlotValue(memory, memory.valid_from, memory.valid_until, reason)
            for memory, reason in zip(self.read(rows), reasons, strict=True)
        ]

    def present_scope(self, path: str) -> str:
        """Accept a scope and return the one that it is part of now, if it was merged."""
        where = parse_scope(path)
        present = self.ask(lambda c, ns: scope_rows.present(c, ns, where)) if where else None
        return where if present is None else present

    def looked(self, filters: Filters) -> Filters:
        """Return filters that look where the scopes that they name were merged to."""
        if not (filters.scopes or filters.within):
            return filters
        return self.ask(lambda c, ns: scope_rows.redirected(c, ns, filters)) or filters

    def change(
        self,
        memory_id: str,
        job: Callable[[Work], Row],
        *,
        verb: str,
        by: str = Trust.USER,
        makes_room: bool = False,
        now: int | None = None,
    ) -> Memory:
        """Change one memory, as one change that ``undo`` takes back."""
        (row,) = self.change_together(
            self.known_namespace(check_id(memory_id)),
            lambda work: [job(work)],
            verb=verb,
            by=by,
            makes_room=makes_room,
            now=now,
        )
        return self.memory(row)

    def change_together(
        self,
        ns: int,
        job: Callable[[Work], Sequence[Row]],
        *,
        verb: str,
        by: str = Trust.USER,
        makes_room: bool = False,
        now: int | None = None,
    ) -> Sequence[Row]:
        """Change memories in one transaction, as one change."""
        engine, run = self.engine, self.run
        moment = engine.now() if now is None else now

        def carry_out(session: Transaction) -> tuple[Sequence[Row], int | None]:
            work = Work(session, ns, moment, engine.rules)
            rows = job(work)
            first = None if run is None else run.first
            return rows, changes.finish(work, verb, by, run=first, begins_run=run is not None)

        rows, number = engine.ledger.write(carry_out, spaces=(ns,), makes_room=makes_room)
        if run is not None:
            run.add(number)
        engine.changed(ns, rows)
        return rows

    def change_rows(
        self,
        find: Callable[[Transaction, int], Sequence[A]],
        job: Change[A],
        *,
        verb: str,
        makes_room: bool = False,
        now: int | None = None,
    ) -> Sequence[Row]:
        """Find the things to change, then change them in several transactions."""
        engine, ns = self.engine, self.ns
        if ns is None:
            return ()
        moment = engine.now() if now is None else now
        found = engine.ledger.read(lambda c: find(c, ns), space=ns)
        return engine.in_bites(
            ns, found, job, moment, verb=verb, makes_room=makes_room, run=self.run
        )


def _is_long_turn(draft: Draft, limits: Limits) -> bool:
    """Return whether a draft is a turn of a conversation that is longer than a memory may be.

    A turn has a session or a role, or is an episode. A value of a slot is not a turn.
    """
    text, kind = draft.text, draft.kind
    if not isinstance(text, str) or str.__len__(text) <= limits.text_chars:
        return False
    episode = isinstance(kind, str) and plain(kind) == Kind.EPISODE
    return (draft.session is not None or draft.role is not None or episode) and draft.key is None


def _id_of_turn(draft: Draft) -> str:
    """Return an id for a turn: a new one if equal turns stay separate, else one of its content.

    See ``MemoryManager.add`` for which turns are stored once.
    """
    in_talk = draft.session is not None and draft.occurred_at is None
    if in_talk and (draft.tier == Tier.SHORT or draft.kind == Kind.EPISODE):
        return str(uuid_utils.uuid7())
    said = (draft.scope, draft.session, draft.actor, draft.role, str(draft.kind))
    when = None if draft.occurred_at is None else str(draft.occurred_at)
    return id_of_content(TURN, *said, when, draft.text)


def id_of_content(*content: object) -> str:
    """Return an id that is always the same for the same content."""
    digest = sha256(json.dumps(content).encode()).hexdigest()
    return str(uuid5(ID_SPACE, digest))


class Part:
    """What a memory offers about one subject, such as ``memory.sleep``.

    Args:
        view: The namespace that is read and written.
    """

    __slots__ = ("_view",)

    def __init__(self, view: View) -> None:
        self._view = view

    @property
    def _engine(self) -> Engine:
        return self._view.engine

    def __repr__(self) -> str:
        view = self._view
        state = "closed" if view.closed else "open"
        return f"<{type(self).__name__} {str(view.root)!r} {'/'.join(view.namespace)} {state}>"

    def __copy__(self) -> Self:
        """Return itself: the store is not copied."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> Never:
        raise InvalidInput(
            "memory", "is an open store and cannot be pickled; open it again from its root instead"
        )


def together(part: Manager) -> Manager:
    """Return the same manager, whose changes are one run: one ``undo`` takes them all back.

    Through a service, each call is a change of its own, and the manager is returned as it is.
    """
    view, same = part._view, object.__new__(type(part))  # noqa: SLF001 - as below
    if view.is_remote:
        return part
    Part.__init__(same, View(view.hold, view.namespace, Run()))
    return same


def view_of(part: Part) -> View:
    """Return the view of a manager or of one of its parts, for code of this package."""
    return part._view  # noqa: SLF001 - the door for this package
