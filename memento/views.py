"""One namespace of an open store, and the part of the manager that looks after the store.

A view is one namespace of an open store; ``MemoryManager`` is also one. Its private methods are the
verbs in the bare form that the rooms above call, and the ways to read and write a namespace.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Never, Self, TypeVar, Unpack
from uuid import UUID, uuid5

import uuid_utils

from memento.admit.redact import Redaction
from memento.base.clock import from_micros
from memento.base.plain import plain
from memento.base.scopes import parse_scope
from memento.check import (
    Limits,
    check_count,
    check_flag,
    check_id,
    check_metadata,
    check_progress,
    check_seconds,
    member,
)
from memento.errors import InvalidInput, NotFound
from memento.holding import Hold
from memento.ingest.paragraphs import PART_LIMIT, pieces
from memento.ledger import changes, memories, past, scope_rows
from memento.ledger.contract import Session, Work
from memento.ledger.filters import Filtering, check_known_at, filtering
from memento.ledger.predicate import Filters
from memento.ledger.rows import Row, sound, to_memory
from memento.llm import asking
from memento.prompt import Relevant
from memento.types import (
    Draft,
    Finding,
    Kind,
    Match,
    Memory,
    Retrieval,
    SlotValue,
    Tier,
    Trust,
    TrustName,
)
from memento.upkeep import lineage
from memento.upkeep.backup import Backup, back_up
from memento.upkeep.erase import Erasure, choose
from memento.upkeep.export import Exported, export
from memento.upkeep.import_ import Imported
from memento.write import change
from memento.write.steps import Change

if TYPE_CHECKING:
    from memento.config import Config
    from memento.engine import Engine
    from memento.protocols import Clock, Progress, TokenCounter
    from memento.upkeep.lineage import Stats

ID_SPACE = UUID("b0b1c0de-5c1a-5d0c-9a11-7e6d0c5f2a40")
"""Root of the name-based ids made here. Changing it would make every document new again."""
PART, PARTS, TURN = "part", "parts", "turn"
"""Metadata of parts: the number from 1, how many there are, and the id of the first part."""

Memories = list[Memory]
"""Named here, because inside some classes ``list`` is a method."""

A = TypeVar("A")
R = TypeVar("R")


class View:
    """One namespace of an open store, and how its memories are read and changed.

    Args:
        hold: The open store.
        namespace: Labels of the namespace.
    """

    def __init__(self, hold: Hold, namespace: tuple[str, ...]) -> None:
        self._hold = hold
        self._namespace = namespace

    @property
    def _engine(self) -> Engine:
        return self._hold.use()

    @property
    def _ns(self) -> int | None:
        """Number of the namespace; None if it was never written to."""
        return self._engine.ledger.find_namespace(self._namespace)

    @property
    def root(self) -> Path:
        """Folder of the store."""
        return self._hold.engine.ledger.root

    @property
    def namespace(self) -> tuple[str, ...]:
        """Labels of the namespace that is read and written."""
        return self._namespace

    @property
    def closed(self) -> bool:
        """Whether the store was closed."""
        return self._hold.closed

    @property
    def read_only(self) -> bool:
        """Whether the store cannot be written; reading still works."""
        return self._hold.engine.ledger.read_only

    @property
    def config(self) -> Config:
        """Settings that the manager was made with."""
        return self._hold.engine.config

    @property
    def prompt_confidence(self) -> float:
        """Default of ``min_confidence`` for ``prompt`` and for adapters that fill a prompt."""
        return self._hold.engine.prompt_confidence

    @property
    def clock(self) -> Clock:
        """The clock that the manager uses."""
        return self._hold.engine.clock

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        return f"<{type(self).__name__} {str(self.root)!r} {'/'.join(self._namespace)} {state}>"

    def __copy__(self) -> Self:
        """Return a view of the same store and namespace; the store is not copied."""
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        return view

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    def __reduce__(self) -> Never:
        raise InvalidInput(
            "memory", "is open and cannot be pickled; open it by its root where it is needed"
        )

    def _ask(self, job: Callable[[Session, int], R]) -> R | None:
        """Read from the namespace; None if it was never written to."""
        ns = self._ns
        return None if ns is None else self._engine.ledger.read(lambda c: job(c, ns))

    def _write(self, job: Callable[[Work], R]) -> R:
        """Run one transaction of the namespace, which may be new."""
        engine, now, known = self._engine, self._engine.now(), self._ns

        def carry_out(db: Session) -> R:
            ns = engine.new_namespace(db, self._namespace) if known is None else known
            return job(Work(db, ns, now, engine.rules))

        return engine.ledger.write(carry_out)

    def _known_namespace(self, memory_id: str) -> int:
        if (ns := self._ns) is None:
            raise NotFound(memory_id)
        return ns

    def _memory(self, row: Row) -> Memory:
        return to_memory(row, self._namespace)

    def _read(self, rows: Iterable[Row]) -> Memories:
        """Convert rows into memories.

        Raises:
            StoreUnusable: If a row is damaged.
        """
        return [to_memory(sound(row), self._namespace) for row in rows]

    def _add(
        self, drafts: Sequence[Draft], *, replace: bool = False, progress: Progress | None = None
    ) -> Memories:
        """Add drafts; a turn that is too long for one memory is stored in parts.

        Returns:
            One memory per draft, in order: of a turn in parts, the first part.
        """
        expanded: list[Draft] = []
        firsts: list[int] = []
        for draft in drafts:
            firsts.append(len(expanded))
            split = not replace and _is_long_turn(draft, self.config.limits)
            expanded += self._parts_of_turn(draft) if split else [draft]
        rows = self._engine.add(self._namespace, expanded, replace=replace, progress=progress)
        return [self._memory(rows[at]) for at in firsts]

    def _parts_of_turn(self, draft: Draft) -> Iterator[Draft]:
        """Split a turn; later parts are linked to the first, and do not crowd the ring buffer."""
        limits = self.config.limits
        text = Redaction(self.config.secrets).text("text", draft.text)
        split = [one for one in pieces(text, min(PART_LIMIT, limits.text_chars)) if one]
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
                id=str(uuid5(ID_SPACE, json.dumps([TURN, first, number]))),
                tier=Tier.MEDIUM if draft.tier in (None, Tier.SHORT) else draft.tier,
                aliases=(),
                supersedes=(),
                related=(first,),
                metadata=told | {TURN: first},
            )

    def _get(self, memory_id: str) -> Memory:
        ns = self._known_namespace(check_id(memory_id))
        return self._memory(self._engine.ledger.read(lambda c: memories.by_id(c, ns, memory_id)))

    def _update(self, memory_id: str, corrections: Mapping[str, Any]) -> Memory:
        now = self._engine.now()
        asked = change.accept(corrections, now=now, config=self.config)
        return self._change(
            memory_id,
            lambda work: change.update(work, memory_id, asked),
            verb="update",
            by=asked.author.value,
            now=now,
        )

    def _forget(self, memory_id: str, author: Trust = Trust.USER) -> Memory:
        return self._change(
            memory_id,
            lambda work: change.forget(work, memory_id, author),
            verb="forget",
            makes_room=True,
        )

    def _retrieve(
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
        searcher = self._engine.searcher  # loads what the next line imports, safe from forks
        from memento.retrieve.request import Request  # noqa: PLC0415 - needs NumPy
        from memento.retrieve.shared import answer  # noqa: PLC0415 - as above

        now = self._engine.now()
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
            count_tokens=count_tokens or self._engine.count_tokens,
            fold=fold,
            wait=wait,
            filters=filtering(
                now if moment is None else moment,
                filters,
                self._retrieve,
                as_of=as_of,
                include_superseded=include_superseded,
                include_archived=include_archived,
                include_quarantined=include_quarantined,
            ),
        )
        also = check_flag("shared", shared) and moment is None and self.config.scopes.shared
        return self._searched(
            lambda: answer(self._engine.ledger, searcher, self._namespace, request, shared=also),
            wait=request.wait,
            sessions=request.filters.sessions,
            record=check_flag("record", record) and moment is None,
        )

    def _searched(
        self,
        search: Callable[[], Retrieval],
        *,
        wait: float,
        sessions: Sequence[str],
        record: bool,
    ) -> Retrieval:
        """Search once earlier memories are embedded, or the time to wait is over."""
        engine = self._engine
        if wait:
            engine.settle(self._namespace, wait, sessions)
        with engine.background.traffic.query():
            found = search()
        if record and found.hits:
            engine.accessed(self._namespace, [hit.id for hit in found.hits])
        return found

    def _cut_for(self, found: Retrieval, *, budget: bool) -> Relevant:
        """Return what shortens the long memories of an answer, if there is a token budget."""
        engine, config = self._engine, self.config.retrieve
        several = config.passage if budget else None
        if engine.embedding is None or not found.hits or "meaning" not in found[0].ranks:
            return Relevant(found.query, config.long, several)
        near = engine.embedding.nearness(found.query)
        return Relevant(found.query, config.long, several, near, best=found[0].text)

    def _contradicted(self, found: Retrieval) -> dict[str, datetime]:
        """Return the ids of hits of the present that a higher statement contradicts, and when.

        Only statements outside the answer count.
        """
        from memento.retrieve.standings import outside  # noqa: PLC0415 - needs NumPy

        if not found.hits:
            return {}
        ids = [hit.id for hit in found if not hit.shared]
        now, settings = self._engine.now(), self.config.dynamics
        told = self._ask(lambda c, ns: outside(c, ns, ids, now, settings)) or {}
        return {name: from_micros(at) for name, at in told.items()}

    def _listed(
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
        page, looked = memories.Page(by_time, newest_first, limit, offset), self._looked(filters)
        return self._read(
            self._ask(lambda c, ns: past.listing(c, ns, looked, page, known_at)) or []
        )

    def _values(self, find: Callable[[Session, int], Sequence[Row]]) -> list[SlotValue]:
        """Read values of a slot, each with the time in which it held and why it ended."""
        rows = self._ask(find) or []
        reasons = lineage.endings(rows, self._engine.now())
        return [
            SlotValue(memory, memory.valid_from, memory.valid_until, reason)
            for memory, reason in zip(self._read(rows), reasons, strict=True)
        ]

    def _present_scope(self, path: str) -> str:
        """Accept a scope and return the one that it is part of now, if it was merged."""
        where = parse_scope(path)
        present = self._ask(lambda c, ns: scope_rows.present(c, ns, where)) if where else None
        return where if present is None else present

    def _looked(self, filters: Filters) -> Filters:
        """Return filters that look where the scopes that they name were merged to."""
        if not (filters.scopes or filters.within):
            return filters
        return self._ask(lambda c, ns: scope_rows.redirected(c, ns, filters)) or filters

    def _change(
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
        (row,) = self._change_together(
            self._known_namespace(check_id(memory_id)),
            lambda work: [job(work)],
            verb=verb,
            by=by,
            makes_room=makes_room,
            now=now,
        )
        return self._memory(row)

    def _change_together(
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
        engine = self._engine
        moment = engine.now() if now is None else now

        def carry_out(session: Session) -> Sequence[Row]:
            work = Work(session, ns, moment, engine.rules)
            rows = job(work)
            changes.finish(work, verb, by)
            return rows

        rows = engine.ledger.write(carry_out, makes_room=makes_room)
        engine.changed(ns, rows)
        return rows

    def _change_rows(
        self,
        find: Callable[[Session, int], Sequence[A]],
        job: Change[A],
        *,
        verb: str,
        makes_room: bool = False,
        now: int | None = None,
    ) -> Sequence[Row]:
        """Find the things to change, then change them in several transactions."""
        engine, ns = self._engine, self._ns
        if ns is None:
            return ()
        moment = engine.now() if now is None else now
        found = engine.ledger.read(lambda c: find(c, ns))
        return engine.in_bites(ns, found, job, moment, verb=verb, makes_room=makes_room)


def _is_long_turn(draft: Draft, limits: Limits) -> bool:
    """Tell whether a draft is a turn of a conversation that is longer than a memory may be.

    A turn has a session or a role, or is an episode. A value of a slot is not a turn.
    """
    text, kind = draft.text, draft.kind
    if not isinstance(text, str) or str.__len__(text) <= limits.text_chars:
        return False
    episode = isinstance(kind, str) and plain(kind) == Kind.EPISODE
    return (draft.session is not None or draft.role is not None or episode) and draft.key is None


def _id_of_turn(draft: Draft) -> str:
    """Give a turn an id: a new one if a conversation keeps its equal turns, or one of its content.

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


class StoreView(View):
    """Look after the store: count, back up, move, check and erase: ``memory.store``.

    Each method says whether it works on this namespace or on the whole store.

    >>> import tempfile
    >>> from memento import MemoryManager
    >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
    ...     kept = memory.add("The museum opens at nine")
    ...     all(finding.ok for finding in memory.store.doctor())
    ...     memory.store.erase(kept.id).complete
    ...     memory.store.stats().memories
    True
    True
    0
    """

    def stats(self) -> Stats:
        """Count the memories of this namespace and the backlog, and report present problems."""
        engine, ns, now = self._engine, self._ns, self._engine.now()
        spent = asking.trouble(engine.ledger, ns, self.config.llm, now)
        return lineage.stats(
            engine.ledger,
            ns,
            now=now,
            trouble={**engine.indexer.trouble_for(engine.sees(self._namespace)), **spent},
            long=engine.long_state(),
        )

    def namespaces(self) -> dict[tuple[str, ...], int]:
        """Count the active memories of every namespace of the store.

        For the administrator of the store, not for a user who shares it.

        Returns:
            The labels of each namespace to its number of active memories, in order of the labels.

        Raises:
            StoreError: If the ledger cannot be read.
        """
        return lineage.per_namespace(self._engine.ledger, self._engine.now())

    def backup(self, file: str | Path, *, overwrite: bool = False) -> Backup:
        """Write the whole store, with every namespace, into one file; others may go on writing.

        When this returns, the file is private, on the disk and checked;
        ``memento.upkeep.backup.restore`` makes a store of it again.

        Args:
            file: Name of the backup, outside the store's folder.
            overwrite: Replace an existing file.

        Raises:
            InvalidInput: If the file would be in the store's own folder.
            TargetExists: If the file exists already, or is not a regular file.
            StoreError: If it cannot be written, or the store is damaged. Damaged memories of this
                namespace are named; those of others are only counted.
        """
        engine = self._engine
        sees = engine.sees(self._namespace)
        return back_up(engine.ledger, file, sees=sees, now=engine.now(), overwrite=overwrite)

    def export(
        self,
        target: str | Path | IO[str] | IO[bytes],
        *,
        vectors: bool = False,
        all_namespaces: bool = False,
        overwrite: bool = False,
    ) -> Exported:
        """Write this namespace as JSON Lines, as of one moment; others may go on writing.

        It holds everything that ``import_from`` needs to rebuild the namespace elsewhere: every
        field of every memory of every status, earlier states, links and events.

        Args:
            target: Name of a file, which becomes private, or an open stream of text or bytes.
            vectors: Also write the vectors of the embedder in use, so that they need not be
                computed again; about 2 kB per memory.
            all_namespaces: Write every namespace of the store.
            overwrite: Replace an existing file.

        Raises:
            InvalidInput: If the file would be in the store's own folder.
            TargetExists: If the file exists already, or is not a regular file.
            StoreError: If it cannot be written, or the store cannot be read.
        """
        everything = check_flag("all_namespaces", all_namespaces)
        return export(
            self._engine.ledger,
            target,
            only=None if everything else self._namespace,
            now=self._engine.now(),
            with_vectors=check_flag("vectors", vectors),
            overwrite=check_flag("overwrite", overwrite),
        )

    def import_from(
        self,
        source: str | Path | IO[str] | IO[bytes],
        *,
        all_namespaces: bool = False,
        trust: Trust | TrustName = Trust.IMPORT,
        progress: Progress | None = None,
    ) -> Imported:
        """Import a file that ``export`` wrote; if any part is refused, nothing is imported.

        The whole file is checked before anything is written. Then a few hundred memories are
        written per transaction, so that other writers never wait for long; readers see those that
        are written. If the call is interrupted, these are complete, and the same call again imports
        the rest.

        Memories keep their ids, times and order. A memory that is here already stays as it is, so
        importing twice adds nothing. If two active memories fill one slot, the one that is valid
        from a later moment supersedes the other.

        A file is treated as foreign unless you say otherwise. The present state of its memories is
        validated as by ``add``. No memory is trusted more than the file, and untrusted ones are
        quarantined. Secrets are removed; no memory is a rule or pinned. Their earlier states,
        events and vectors are left out, and so are superseded and forgotten memories. With
        ``trust="user"`` the file is your own backup: everything is imported unchanged, and the
        store is as it was.

        Args:
            source: Name of a file, or an open stream of text or bytes.
            all_namespaces: Put each memory into the namespace it comes from; otherwise an export of
                one namespace, whatever its name, is put into this one.
            trust: Highest trust class for memories of the file; ``"user"`` for your own file.
            progress: Called with 0 and None again and again while the file is checked, and then
                with the number of its lines that are on the disk and of all its lines; see
                ``memento.protocols.Progress``.

        Raises:
            ArchiveDamaged: If the file is cut off, changed, or not an export.
            ArchiveFromTheFuture: If the file is in a newer format.
            InvalidInput: If it holds several namespaces and ``all_namespaces`` is not given, or a
                value that cannot be accepted; the message names the line.
            IdConflict: If an id belongs to another memory here.
            SecretFound: If the file is not your own, holds a secret, and the settings refuse them.
            StoreError: If it could not be written; memories written before that stay.
        """
        everything = check_flag("all_namespaces", all_namespaces)
        believed = member(Trust, "trust", trust)
        return self._engine.import_from(
            source, None if everything else self._namespace, believed, check_progress(progress)
        )

    def doctor(self, *, repair: bool = True, all_namespaces: bool = False) -> list[Finding]:
        """Look for damage in the whole store.

        Its counts are for the whole store. Damaged memories of this namespace are named; those of
        others are only counted.

        Args:
            repair: Repair data derived from the memories; the memories are never changed.
            all_namespaces: Name damaged memories of every namespace: for the administrator of the
                store, not for a user who shares it.

        Returns:
            One finding per check; the store is healthy if every one is ``ok``.
        """
        return self._engine.examine(
            self._namespace,
            repair=check_flag("repair", repair),
            all_namespaces=check_flag("all_namespaces", all_namespaces),
        )

    def reindex(
        self,
        *,
        wait: bool = False,
        timeout: float | None = None,
        progress: Progress | None = None,
    ) -> int:
        """Embed all memories again with the embedder in use, after the embedder was changed.

        This affects the whole store, with every namespace.

        Args:
            wait: Return only when it is done.
            timeout: Seconds to wait at most, up to a day; None for as long as it takes.
            progress: As for ``flush``.

        Returns:
            Number of memories to embed, in all namespaces.

        Raises:
            InvalidInput: If this manager has no embedder.
        """
        limit = None if timeout is None else check_seconds("timeout", timeout)
        check_progress(progress)
        owed = self._engine.reindex()
        if check_flag("wait", wait):
            self._engine.flush(self._namespace, wait=True, timeout=limit, progress=progress)
        return owed

    def erase(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        source: str | None = None,
        session: str | None = None,
        everything: bool = False,
        derived: bool = True,
        dry_run: bool = False,
        timeout: float = 30.0,
    ) -> Erasure:
        """Remove memories of this namespace for good, from every file of the store.

        Text, versions, words, vectors, links, events and every copy in the store's folder are
        removed; nothing brings them back. ``forget`` can be undone. Memories of every status are
        included. The Chroma folder is removed and rebuilt in the background.

        Args:
            ids: One id or several.
            source: Instead of ids: all memories whose ``source.uri`` is this address, or this
                address without its secrets.
            session: Instead of ids: all memories of this session.
            everything: Instead of ids: all memories of this namespace.
            derived: Also erase memories that name one of them among their ``source.parents``, and
                those derived from these in turn: they may say the same. An article that a sleep
                made of one is erased in any case.
            dry_run: Only report what would be erased.
            timeout: Longest wait, in seconds, for other processes that have the store open to do
                their part, >= 0.

        Returns:
            The receipt. A part in ``pending`` is finished by the process that has the store open,
            or by the next one that opens it.

        Raises:
            InvalidInput: If not exactly one of the first four is given.
            NotFound: If this namespace lacks one of the ids; nothing was erased.
            StoreError: If the ledger could not be written; nothing was erased.
        """
        what = choose(ids, source, session, everything=check_flag("everything", everything))
        return self._engine.erase(
            self._namespace,
            what,
            derived=check_flag("derived", derived),
            dry_run=check_flag("dry_run", dry_run),
            timeout=check_seconds("timeout", timeout),
        )
