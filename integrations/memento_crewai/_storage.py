"""A StorageBackend for CrewAI's own memory, which one line makes the default.

CrewAI's own memory asks an LLM what to keep and searches its storage by vector only, so full text
and the ring buffer are not used. ``MementoCrewMemory`` uses all three tiers and calls no LLM.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from crewai.memory import unified_memory
from crewai.memory.storage.factory import set_memory_storage_factory
from crewai.memory.types import MemoryRecord, ScopeInfo

from memento import Filtering, Memory, MemoryManager, Tier, Trust
from memento.check import WAIT, check_flag, check_seconds
from memento.errors import MissingExtra, NotFound, StoreClosed, TierUnavailable
from memento.frameworks import check_manager
from memento_crewai._calls import current, noted, settled
from memento_crewai._embedding import MementoEmbeddingFunction
from memento_crewai._records import (
    PIECE,
    Wanted,
    is_private,
    marked,
    mended,
    naive,
    piece_id,
    piece_of,
    to_drafts,
    to_id,
    to_record,
    to_scope,
    to_tags,
)

MOST_PIECES = 1_000
"""Maximum number of pieces of a record that a shorter one replaces."""

logger = logging.getLogger("memento.crewai")

Record = MemoryRecord
Found = list[tuple[MemoryRecord, float]]

DEFAULT_STORAGE = str(unified_memory.Memory.model_fields["storage"].default)
"""The storage that CrewAI's memory asks for by default."""

ALL = 1_000_000
"""Maximum number of memories that are looked through for metadata that is no scalar."""


class MementoStorage:
    """Stores CrewAI's memory records in a memento store. Thread-safe.

    CrewAI must use the store's embedder: ``Memory(storage=MementoStorage(manager),
    embedder=MementoEmbeddingFunction())``. Vectors passed with records are discarded, because the
    store computes its own. A deleted record is hidden; ``manager.restore(id)`` makes it visible
    again.

    A ``Memory`` that uses it raises ``StoreClosed`` and ``ReadOnlyStore``, which CrewAI would only
    log, and never consolidates private records with others; see ``StrictMemory``.

    Args:
        manager: The store; this storage can access only its namespace.
        strict: Whether an outage of the store stops the crew; with False, the outage is logged, and
            the crew continues.
        wait: Maximum number of seconds for which a search waits until the newest records can be
            found, up to a day; 0 to search at once. ``asearch`` does not block a thread while
            waiting.

    Raises:
        InvalidInput: If it is not a ``MemoryManager``, or ``wait`` is not a number of seconds.
    """

    def __init__(self, manager: MemoryManager, *, strict: bool = False, wait: float = WAIT) -> None:
        self.manager = check_manager(manager)
        self.strict = check_flag("strict", strict)
        self.wait = check_seconds("wait", wait)

    def __deepcopy__(self, memo: dict[int, Any]) -> MementoStorage:
        """Return itself: a store is shared, not copied."""
        return self

    @noted
    def save(self, records: list[Record]) -> None:
        """Store records in one transaction; they are on disk when this returns.

        A record with an existing id replaces that record, even if it was deleted. One that is too
        long for a memory is stored in pieces, each of them a record.

        Raises:
            InvalidInput: If a record cannot be accepted; none was stored.
            StoreError: If they could not be written.
        """
        config = self.manager.store.config
        drafts = [draft for record in records for draft in to_drafts(record, config)]
        names = [record.id for record in records]
        before = {*(with_pieces(self.manager, names) or ())}
        self.manager.add_many(drafts, replace=True)
        if others := before - {draft.id for draft in drafts}:
            made = {piece_id(name, at) for name in names for at in range(1, MOST_PIECES)}
            if left := [*others & made]:  # a piece that was saved itself takes no other along
                self.manager.forget_many(ids=left)

    def search(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> Found:
        """Find records by vector.

        Args:
            query_embedding: (dim,) vector made by the store's embedder.
            scope_prefix: Path to search, with everything below it, compared segment by segment.
            categories: Only records in at least one of these categories.
            metadata_filter: Metadata keys with the value that each must have.
            limit: Maximum number of records, >= 1.
            min_score: Minimum cosine, [0, 1].

        Returns:
            Records and their cosines, [0, 1], best first.

        Raises:
            EmbeddingMismatch: If the vector comes from another embedder.
            TierUnavailable: If there are no vectors to search because the embedder fails. If there
                are some, records that the embedder refused or that are not embedded after ``wait``
                seconds are not found, and this is logged.
            StoreError: If the store cannot be read.
        """
        wanted = Wanted(scope_prefix, categories or (), metadata_filter or {})
        return self._search(query_embedding, wanted, limit, min_score, self.wait)

    @noted
    def _search(
        self,
        query_embedding: list[float],
        wanted: Wanted,
        limit: int,
        min_score: float,
        wait: float,
    ) -> Found:
        filters = asked(self.manager, wanted)
        if filters is None:
            return []
        call = current()
        filters["where"] = {**(filters["where"] or {}), **call.sees}
        filters["session"] = call.session
        found = self.manager.store.nearest(
            query_embedding, limit, min_score=min_score, wait=wait, **filters
        )
        if found.missing and not found.hits:
            self._check_vectors(query_embedding)
        warn(found.missing)
        return [
            (to_record(hit.memory), hit.score)
            for hit in found
            if not call.saving or hit.memory.session == call.session
        ]

    @noted
    def delete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Forget the records that match all conditions, and return their number.

        If a record is a piece of a long text, the other pieces are forgotten with it.
        """
        wanted = Wanted(scope_prefix, categories or (), metadata_filter or {}, older_than)
        filters = asked(
            self.manager,
            wanted,
            with_pieces(self.manager, record_ids),
        )
        return 0 if filters is None else len(self.manager.forget_many(**filters))

    @noted
    def update(self, record: Record) -> None:
        """Replace the record that has the same id.

        Its source, its visibility and its creation time do not change.

        Raises:
            NotFound: If there is none.
            UntrustedSource: If the store does not trust agents.
        """
        stored = active(self.manager, record.id)
        if stored is None:
            raise NotFound(record.id)
        self.manager.update(
            stored.id,
            text=mended(record.content),
            scope=to_scope(record.scope),
            tags=to_tags(record.categories),
            metadata=marked(
                record.metadata,
                stored.session,
                private=is_private(stored),
                piece=piece_of(stored),
            ),
            importance=record.importance,
            source=Trust.AGENT,
        )

    def get_record(self, record_id: str) -> Record | None:
        """Return a record, or None if there is none."""
        memory = active(self.manager, record_id)
        return None if memory is None else to_record(memory)

    def list_records(
        self, scope_prefix: str | None = None, limit: int = 200, offset: int = 0
    ) -> list[Record]:
        """List the records in a scope and below it, newest first."""
        return [to_record(memory) for memory in self._listed(scope_prefix, limit, offset)]

    def get_scope_info(self, scope: str) -> ScopeInfo:
        """Describe what is in a scope and below it."""
        path = to_scope(scope)
        newest = self._listed(scope, 1)
        oldest = self._listed(scope, 1, newest_first=False)
        return ScopeInfo(
            path=f"/{path}",
            record_count=self.count(scope),
            categories=list(self.list_categories(scope)),
            oldest_record=naive(oldest[0].occurred_at) if oldest else None,
            newest_record=naive(newest[0].occurred_at) if newest else None,
            child_scopes=self.list_scopes(scope),
        )

    @noted
    def list_scopes(self, parent: str = "/") -> list[str]:
        """List the scopes directly below one."""
        path = to_scope(parent)
        base = f"/{path}".rstrip("/")
        below = (
            scope[len(base[1:]) :].strip("/") for scope in self.manager.store.counts(within=path)
        )
        return sorted({f"{base}/{rest.split('/')[0]}" for rest in below if rest})

    @noted
    def list_categories(self, scope_prefix: str | None = None) -> dict[str, int]:
        """Count the records of each category in a scope and below it."""
        return self.manager.store.counts("tag", within=to_scope(scope_prefix))

    def count(self, scope_prefix: str | None = None) -> int:
        """Count the records in a scope and below it."""
        return sum(self.manager.store.counts(within=to_scope(scope_prefix)).values())

    def reset(self, scope_prefix: str | None = None) -> None:
        """Forget everything in a scope and below it."""
        self.delete(scope_prefix)

    async def asave(self, records: list[Record]) -> None:
        """Store records; see ``save``."""
        await asyncio.to_thread(self.save, records)

    async def asearch(
        self,
        query_embedding: list[float],
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        metadata_filter: dict[str, Any] | None = None,
        limit: int = 10,
        min_score: float = 0.0,
    ) -> Found:
        """Find records by vector; see ``search``."""
        wanted = Wanted(scope_prefix, categories or (), metadata_filter or {})
        wait = await settled(self.manager, self.wait)
        return await asyncio.to_thread(
            self._search, query_embedding, wanted, limit, min_score, wait
        )

    async def adelete(
        self,
        scope_prefix: str | None = None,
        categories: list[str] | None = None,
        record_ids: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
    ) -> int:
        """Forget records; see ``delete``."""
        return await asyncio.to_thread(
            self.delete, scope_prefix, categories, record_ids, older_than, metadata_filter
        )

    def _check_vectors(self, query: list[float]) -> None:
        """Raise an error if the result is empty only because there are no vectors.

        Raises:
            TierUnavailable: If no memory has a vector, and the embedder is why.
        """
        trouble = self.manager.store.stats().trouble.values()
        towards, away = query, [-number for number in query]  # one has a cosine >= 0
        if trouble and not any(
            self.manager.store.nearest(v, 1, record=False) for v in (towards, away)
        ):
            raise TierUnavailable(Tier.LONG, "; ".join(trouble))

    def _listed(
        self, scope: str | None, limit: int, offset: int = 0, *, newest_first: bool = True
    ) -> list[Memory]:
        if limit < 1:
            return []
        return self.manager.list(
            within=to_scope(scope),
            order="occurred",
            newest_first=newest_first,
            limit=limit,
            offset=offset,
        )


def asked(manager: MemoryManager, wanted: Wanted, ids: list[str] | None = None) -> Filtering | None:
    """Return the filters for the records wanted, or None if nothing can match.

    Args:
        manager: The store.
        wanted: The records wanted.
        ids: Only these; None for all.
    """
    filters = wanted.arguments()
    if wanted.nested:
        named = ids
        ids = [
            memory.id
            for memory in manager.list(limit=ALL, **filters)
            if wanted.admits(memory) and (named is None or memory.id in named)
        ]
    if ids == []:
        return None
    if ids is not None:
        filters["ids"] = ids
    return filters


def with_pieces(manager: MemoryManager, ids: list[str] | None) -> list[str] | None:
    """Add the ids of the other pieces of the same long texts."""
    ids = None if ids is None else [*map(to_id, ids)]
    found = manager.list(ids=ids, limit=ALL) if ids else []
    marks = {mark for memory in found if (mark := piece_of(memory)) is not None}
    if not ids or not marks:
        return ids
    pieces = manager.list(where={PIECE: sorted(marks)}, limit=ALL)
    return [*dict.fromkeys([*ids, *(memory.id for memory in pieces)])]


def warn(missing: Mapping[str, str]) -> None:
    """Log what could not be searched."""
    for tier, problem in missing.items():
        logger.warning("part of the %s tier could not be searched: %s", tier, problem)


def active(manager: MemoryManager, memory_id: str, *, within: str = "") -> Memory | None:
    """Return one memory, or None if no active one in a scope or below it has this id."""
    return next(iter(manager.list(ids=to_id(memory_id), within=within)), None)


def install(manager: MemoryManager, *, strict: bool = False, wait: float = WAIT) -> None:
    """Make a store the default of CrewAI's own memory, for this process.

    From then on, ``Crew(memory=True)``, ``Agent(memory=True)``, ``Memory()`` and the memory of a
    ``Flow`` store their records in ``manager`` and embed with its model instead of OpenAI's.
    Memories that were created earlier, or that name another storage or embedder, are not affected.
    CrewAI still asks its LLM what to keep. A second call replaces the first store.

    Args:
        manager: The store, with an embedder.
        strict: Whether an outage of the store stops the crew, see ``MementoStorage``.
        wait: Maximum number of seconds for which a search waits, see ``MementoStorage``.

    Raises:
        InvalidInput: If it is not a ``MemoryManager``, has no embedder, or ``wait`` is not a number
            of seconds.
        StoreClosed: If it is closed.
        MissingExtra: If this version of CrewAI is not known to work.
    """
    storage = MementoStorage(manager, strict=strict, wait=wait)
    embedder = MementoEmbeddingFunction(manager)
    if not hasattr(unified_memory, _EMBEDDER_OF_CREWAI):
        raise MissingExtra("crewai", "a CrewAI that this version of memento was tested with")

    def factory(spec: str) -> MementoStorage | None:
        if spec != DEFAULT_STORAGE:
            return None
        if manager.store.closed:
            raise StoreClosed(manager.store.root)
        return storage

    if manager.store.closed:
        raise StoreClosed(manager.store.root)
    set_memory_storage_factory(factory)
    setattr(unified_memory, _EMBEDDER_OF_CREWAI, lambda: embedder)


def uninstall() -> None:
    """Undo ``install``; memories created in the meantime keep their store."""
    set_memory_storage_factory(None)
    setattr(unified_memory, _EMBEDDER_OF_CREWAI, _ORIGINAL_EMBEDDER)


_EMBEDDER_OF_CREWAI = "_default_embedder"
"""CrewAI has a seam for the default storage, none for the default embedder: this is its maker."""
_ORIGINAL_EMBEDDER = getattr(unified_memory, _EMBEDDER_OF_CREWAI, None)
