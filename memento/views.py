"""One namespace of an open store, and the part of the manager that looks after the store.

A view is one namespace of an open store; ``MemoryManager`` is also one. Each method checks its
arguments and calls the module that holds the rules.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Never, Self, TypeAlias, TypeVar
from uuid import UUID, uuid5

import uuid_utils

from memento.admit.draft import is_long_turn
from memento.admit.redact import Redaction
from memento.base.clock import from_micros
from memento.base.scopes import parse_scope
from memento.check import (
    check_count,
    check_flag,
    check_id,
    check_metadata,
    check_progress,
    check_seconds,
    member,
)
from memento.engine import Engine
from memento.errors import InvalidInput, NotFound
from memento.holding import Hold
from memento.ingest.paragraphs import PART_LIMIT, pieces
from memento.ledger import changes, past, scope_rows
from memento.ledger.contract import Session, Work
from memento.ledger.predicate import Filters
from memento.ledger.rows import Row, sound, to_memory
from memento.llm import asking
from memento.prompt import Relevant
from memento.protocols import Progress
from memento.types import Draft, Finding, Kind, Memory, Retrieval, Tier, Trust, TrustName
from memento.upkeep import lineage
from memento.upkeep.backup import Backup, back_up
from memento.upkeep.erase import Erasure, choose
from memento.upkeep.export import Exported, export
from memento.upkeep.import_ import Imported
from memento.write.steps import Change

if TYPE_CHECKING:
    from memento.config import Config
    from memento.engine import Engine
    from memento.protocols import Clock, Progress
    from memento.upkeep.lineage import Stats


ID_SPACE = UUID("b0b1c0de-5c1a-5d0c-9a11-7e6d0c5f2a40")
"""Root of the name-based ids made here. Changing it would make every document new again."""
PART, PARTS, TURN = "part", "parts", "turn"
"""Metadata of parts: the number from 1, how many there are, and the id of the first part."""


def add_turns(
    engine: Engine,
    labels: tuple[str, ...],
    drafts: Sequence[Draft],
    progress: Progress | None = None,
) -> list[Row]:
    """Add drafts; a turn that is too long for one memory is stored in parts.

    Returns:
        One row per draft, in order: of a turn in parts, the first part.
    """
    expanded: list[Draft] = []
    firsts: list[int] = []
    for draft in drafts:
        firsts.append(len(expanded))
        split = is_long_turn(draft, engine.config.limits)
        expanded += _parts_of_turn(draft, engine) if split else [draft]
    rows = engine.add(labels, expanded, progress=progress)
    return [rows[at] for at in firsts]


def _parts_of_turn(draft: Draft, engine: Engine) -> Iterator[Draft]:
    """Split a turn; the later parts are linked to the first, and do not crowd the ring buffer."""
    limits = engine.config.limits
    text = Redaction(engine.config.secrets).text("text", draft.text)
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


Memories = list[Memory]
Ids = list[str]
Rows = list[Row]
"""Named here, because inside some classes ``list`` is a method."""

A = TypeVar("A")
Find: TypeAlias = Callable[[Session, int], Sequence[A]]
"""A reading job: takes the connection and the number of a namespace; returns things to change."""


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

    def _add(
        self, drafts: Sequence[Draft], *, replace: bool, progress: Progress | None = None
    ) -> Rows:
        """Add drafts; only turns of a conversation may be longer than a memory."""
        limits = self._engine.config.limits
        if replace or not any(is_long_turn(draft, limits) for draft in drafts):
            return self._engine.add(self._namespace, drafts, replace=replace, progress=progress)
        return add_turns(self._engine, self._namespace, drafts, progress)

    def _memory(self, row: Row) -> Memory:
        return to_memory(row, self._namespace)

    def _read(self, rows: Iterable[Row]) -> Memories:
        """Convert rows into memories.

        Raises:
            StoreUnusable: If a row is damaged.
        """
        return [to_memory(sound(row), self._namespace) for row in rows]

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
        engine.background.query_begins()
        try:
            found = search()
        finally:
            engine.background.query_ends()
        if record and found.hits:
            engine.accessed(self._namespace, [hit.id for hit in found.hits])
        return found

    def _cut_for(self, found: Retrieval, *, budget: bool) -> Relevant:
        """Return what shortens the long memories of an answer to its query.

        Args:
            found: The answer.
            budget: Whether there is a token budget.
        """
        engine, config = self._engine, self._engine.config.retrieve
        several = config.passage if budget else None
        if engine.embedding is None or not found.hits or "meaning" not in found[0].ranks:
            return Relevant(found.query, config.long, several)
        near = engine.embedding.nearness(found.query)
        return Relevant(found.query, config.long, several, near, best=found[0].text)

    def _contradicted(self, found: Retrieval) -> dict[str, datetime]:
        """Return the ids of hits that a higher statement outside the answer contradicts, and when.

        Args:
            found: An answer of the present.
        """
        from memento.retrieve.standings import outside  # noqa: PLC0415 - needs NumPy

        engine, now = self._engine, self._engine.now()
        ns = engine.ledger.find_namespace(self._namespace)
        if ns is None or not found.hits:
            return {}
        ids, settings = [hit.id for hit in found if not hit.shared], engine.config.dynamics
        told = engine.ledger.read(lambda c: outside(c, ns, ids, now, settings))
        return {name: from_micros(at) for name, at in told.items()}

    def _listed(
        self,
        filters: Filters,
        *,
        by_time: bool = False,
        newest_first: bool,
        limit: int,
        offset: int,
        known_at: int | None = None,
    ) -> Memories:
        """Check how to list, then list the memories that match the filters."""
        check_count("limit", limit, most=1_000_000)
        check_count("offset", offset, least=0, most=1 << 40)
        check_flag("newest_first", newest_first)
        ns = self._engine.ledger.find_namespace(self._namespace)
        if ns is None:
            return []
        page, looked = past.Page(by_time, newest_first, limit, offset), self._looked(filters)
        rows = self._engine.ledger.read(lambda c: past.listed(c, ns, looked, page, known_at))
        return self._read(rows)

    def _present_scope(self, path: str) -> str:
        """Accept a scope and return the one that it is part of now, if it was merged."""
        where = parse_scope(path)
        ns = self._engine.ledger.find_namespace(self._namespace) if where else None
        if ns is None:
            return where
        known = ns
        return self._engine.ledger.read(lambda c: scope_rows.present(c, known, where))

    def _looked(self, filters: Filters) -> Filters:
        """Return filters that look where the scopes that they name were merged to."""
        named = filters.scopes or filters.within
        ns = self._engine.ledger.find_namespace(self._namespace) if named else None
        if ns is None:
            return filters
        known = ns
        return self._engine.ledger.read(lambda c: scope_rows.redirected(c, known, filters))

    def _known_namespace(self, memory_id: str) -> int:
        ns = self._engine.ledger.find_namespace(self._namespace)
        if ns is None:
            raise NotFound(memory_id)
        return ns

    def _change(
        self,
        memory_id: str,
        now: int,
        job: Callable[[Work], Row],
        *,
        verb: str,
        by: str = Trust.USER,
        makes_room: bool = False,
    ) -> Memory:
        engine, ns = self._engine, self._known_namespace(check_id(memory_id))

        def carry_out(session: Session) -> Row:
            work = Work(session, ns, now, engine.rules)
            row = job(work)
            changes.finish(work, verb, by)
            return row

        row = engine.ledger.write(carry_out, makes_room=makes_room)
        engine.changed(ns, [row])
        return self._memory(row)

    def _change_many(
        self, find: Find[A], job: Change[A], now: int, *, verb: str, makes_room: bool = False
    ) -> Ids:
        changed = self._change_rows(find, job, now, verb=verb, makes_room=makes_room)
        return [row.id for row in changed]

    def _change_rows(
        self, find: Find[A], job: Change[A], now: int, *, verb: str, makes_room: bool = False
    ) -> Sequence[Row]:
        """Find the things to change, then change them in several transactions."""
        engine = self._engine
        ns = engine.ledger.find_namespace(self._namespace)
        if ns is None:
            return ()
        found = engine.ledger.read(lambda c: find(c, ns))
        return engine.in_bites(ns, found, job, now, verb=verb, makes_room=makes_room)


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
        engine, now = self._engine, self._engine.now()
        ns = engine.ledger.find_namespace(self._namespace)
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
