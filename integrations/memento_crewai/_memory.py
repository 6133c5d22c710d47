"""CrewAI's Memory on top of memento: all three tiers, no LLM call, no key."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any, Literal

from crewai.events.event_bus import crewai_event_bus
from crewai.events.types.memory_events import (
    MemoryQueryCompletedEvent,
    MemoryQueryFailedEvent,
    MemoryQueryStartedEvent,
    MemorySaveCompletedEvent,
    MemorySaveFailedEvent,
    MemorySaveStartedEvent,
)
from crewai.hooks.dispatch import HookAborted
from crewai.memory.types import MemoryMatch, MemoryRecord
from crewai.memory.unified_memory import Memory
from crewai.memory.utils import join_scope_paths
from pydantic import Field

from memento import MemoryManager
from memento.check import WAIT, check_flag, check_seconds
from memento.errors import NotFound, ReadOnlyStore
from memento.frameworks import check_manager
from memento.types import Draft, Trust
from memento_crewai._calls import settled, stops
from memento_crewai._copies import Token, reviving
from memento_crewai._extract import extract, kind_of
from memento_crewai._records import (
    PRIVATE,
    Wanted,
    fitting,
    marked,
    mended,
    piece_of,
    to_match,
    to_record,
    to_scope,
    to_session,
    to_tags,
)
from memento_crewai._storage import MementoStorage, active, warn, with_pieces
from memento_crewai._strict import ORIGIN, unswallowed

logger = logging.getLogger("memento.crewai")

MAX_ROLE = 256


@reviving
class MementoCrewMemory(Memory):
    """A memory for ``Crew(memory=...)``, ``Agent(memory=...)`` and ``Flow.memory``.

    It searches full text, the ring buffer and vectors together, and never calls an LLM. A memory is
    on disk when the call returns, and can be found immediately. The class is thread-safe, and
    copies of a crew share it. ``scope(...)`` and ``slice(...)`` return CrewAI's own views of it.

    Args:
        manager: The store. This memory can see and reset only its namespace. You are responsible
            for closing the manager.
        root_scope: Path under which everything is stored and searched, such as ``/crew/research``;
            None for the whole namespace.
        read_only: Whether to allow only recall: ``remember`` and ``update`` do nothing, and
            ``forget``, ``reset`` and ``reset_all`` raise ``ReadOnlyStore``.
        strict: Whether an outage of the store stops the crew. With False, the outage is logged and
            reported on CrewAI's event bus, and the crew continues without memory. A closed or
            read-only store always stops it.
        wait: Maximum number of seconds for which a recall waits until the newest memories are
            available to semantic search, up to a day; 0 to search at once. ``arecall`` does not
            block a thread while waiting.

    Raises:
        InvalidInput: If ``manager`` is not a ``MemoryManager``, or ``wait`` is not a number of
            seconds.
        InvalidScope: If ``root_scope`` is malformed.
    """

    llm: Any = Field(default="none", exclude=True)
    storage: Any = Field(exclude=True)
    manager: Any = Field(exclude=True, repr=False)
    strict: bool = False
    wait: float = WAIT

    def __init__(
        self,
        manager: MemoryManager,
        root_scope: str | None = None,
        *,
        read_only: bool = False,
        strict: bool = False,
        wait: float = WAIT,
    ) -> None:
        to_scope(root_scope)
        store = check_manager(manager)
        seconds, strict = check_seconds("wait", wait), check_flag("strict", strict)
        fields: dict[str, Any] = {"manager": store, "strict": strict, "wait": seconds}
        super().__init__(
            storage=Token(store, strict=strict, wait=seconds),
            root_scope=root_scope,
            read_only=read_only,
            **fields,
        )

    def model_post_init(self, context: Any, /) -> None:  # noqa: ARG002 - pydantic's signature
        """Install the storage that CrewAI's own methods for scopes, lists and reset use."""
        self._storage = MementoStorage(self.manager)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> MementoCrewMemory:
        """Return itself: copies of a crew share one memory."""
        return self

    def remember(
        self,
        content: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> MemoryRecord | None:
        """Remember one thing; see ``remember_many``.

        Returns:
            The record, or None if this memory is read-only. If the text is too long for one memory,
            this is the first piece; ``forget`` with its id hides all pieces.
        """
        records = self._save(
            [content], content, scope, categories, metadata, importance, source,
            private, agent_role, root_scope,
        )  # fmt: skip
        return records[0] if records else None

    def remember_many(
        self,
        contents: list[str],
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> list[MemoryRecord]:
        """Remember several things in one transaction: either all or none of them.

        A text that is repeated in the same scope by the same source and role is stored once, with
        the combined categories and metadata and the higher importance, as with ``add``. Private
        memories are always stored separately.

        Args:
            contents: Non-empty texts. A NUL or a lone surrogate in them or in the metadata, which a
                database cannot store, is replaced with the replacement character. A text that is
                too long for one memory (65,536 characters) is stored in pieces, each as a separate
                record.
            scope: Path under the root; None for the root itself.
            categories: Labels to filter by.
            metadata: A JSON object.
            importance: [0, 1]; None to estimate it for each by rules.
            source: The user or conversation from which it comes.
            private: Whether only ``recall(source=...)`` with the same source finds it.
            agent_role: The role of the agent that says it; a query that names the role ranks it
                higher.
            root_scope: A different root for this call.

        Returns:
            The records, in order, several for a long text; none if this memory is read-only.

        Raises:
            InvalidInput: If a value cannot be accepted; nothing was written.
            StoreError: If it could not be written.
        """
        return self._save(
            contents, f"{len(contents)} memories", scope, categories, metadata, importance, source,
            private, agent_role, root_scope,
        )  # fmt: skip

    def recall(
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Literal["shallow", "deep"] = "deep",  # noqa: ARG002 - no LLM: one depth, the full one
        source: str | None = None,
        include_private: bool = False,
    ) -> list[MemoryMatch]:
        """Find the memories that are relevant to a query, best first.

        As in ``MemoryManager.recall``, identical texts from several agents are returned once, and
        near-duplicates and mere questions come last. Memories that differ in meaning are preferred,
        so one fact in different words does not crowd out others.

        Args:
            query: Any text.
            scope: Path under the root, which is searched together with everything below it; None
                for the root.
            categories: Only records in at least one of these categories.
            limit: Maximum number of matches, 1 to 10,000.
            depth: Ignored: both of CrewAI's depths search every tier, without an LLM.
            source: The source that is asking; its private memories are included.
            include_private: Whether to include everyone's private memories, even identical ones.

        Returns:
            Matches with scores in [0, 1]; none if nothing is relevant.

        Raises:
            InvalidInput: If a value cannot be accepted.
            StoreError: If the store cannot be read.
        """
        return self._recalled(
            query, scope, categories, limit, source, everyones=include_private, wait=self.wait
        )

    def _recalled(
        self,
        query: str,
        scope: str | None,
        categories: list[str] | None,
        limit: int,
        source: str | None,
        *,
        everyones: bool,
        wait: float,
    ) -> list[MemoryMatch]:
        facts: dict[str, Any] = {"query": query, "limit": limit, "source_type": ORIGIN}
        self._emit(MemoryQueryStartedEvent(**facts))
        began = time.perf_counter()
        with self._failing(lambda why: MemoryQueryFailedEvent(**facts, error=why)):
            wanted = Wanted(
                self._place(scope), categories or (), source=source, everyones=everyones
            )
            found = self.manager.recall(
                query,
                k=limit,
                tokens=None,
                min_confidence=0.0,
                fold=not everyones,  # equal texts of two sources are two memories
                diverse=not everyones,
                wait=wait,
                record=not self.read_only,
                filters=wanted.arguments(),
            )
            warn(found.missing)
            matches = [to_match(hit) for hit in found.hits]
        self._emit(MemoryQueryCompletedEvent(**facts, results=matches, query_time_ms=_since(began)))
        return matches

    def extract_memories(self, content: str) -> list[str]:
        """Split a task's result into statements by rules, without storing anything."""
        return extract(content)

    def update(
        self,
        record_id: str,
        content: str | None = None,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
    ) -> MemoryRecord:
        """Change a record; its earlier version stays in the store's history.

        If the record is a piece of a long text, new content replaces the whole text, and other
        changes concern all its pieces.

        Args:
            record_id: Id of the record.
            content: New text.
            scope: New path, from the root of the namespace.
            categories: New labels; they replace all earlier ones.
            metadata: New metadata; it replaces all earlier metadata.
            importance: New importance, [0, 1].

        Returns:
            The record in its current state.

        Raises:
            NotFound: If there is no such record under the root.
            InvalidInput: If a value cannot be accepted.
            UntrustedSource: If the store does not trust agents.
        """
        stored, kept = (
            active(self.manager, record_id, within=to_scope(self.root_scope)),
            None,
        )
        if stored is None:
            raise NotFound(record_id)
        if self.read_only:
            return to_record(stored)
        piece = piece_of(stored)
        if metadata is not None:
            private = PRIVATE in stored.metadata
            kept = marked(metadata, stored.session, private=private, piece=piece)
        wanted = {
            "text": mended(content),
            "scope": None if scope is None else to_scope(scope),
            "tags": None if categories is None else to_tags(categories),
            "metadata": kept,
            "importance": importance,
        }
        given = {name: value for name, value in wanted.items() if value is not None}
        changed = self.manager.update(stored.id, **given, source=Trust.AGENT)
        others = set() if piece is None else {*(with_pieces(self.manager, [stored.id]) or ())}
        others -= {stored.id}
        if others and content is not None:
            self.manager.forget_many(ids=[*others])
        else:
            for one in others:
                self.manager.update(one, **given, source=Trust.AGENT)
        return to_record(changed)

    def forget(
        self,
        scope: str | None = None,
        categories: list[str] | None = None,
        older_than: datetime | None = None,
        metadata_filter: dict[str, Any] | None = None,
        record_ids: list[str] | None = None,
    ) -> int:
        """Hide the records that match all conditions; ``manager.restore`` brings them back.

        If one of ``record_ids`` is a piece of a long text, the other pieces are hidden with it.

        Returns: Number of records hidden.

        Raises:
            ReadOnlyStore: If this memory is read-only.
        """
        self._check_writable()
        return super().forget(scope, categories, older_than, metadata_filter, record_ids)

    def reset(self, scope: str | None = None) -> None:
        """Hide everything in a scope under the root, and below it.

        Raises:
            ReadOnlyStore: If this memory is read-only.
        """
        self._check_writable()
        super().reset(scope)

    def reset_all(self) -> None:
        """Hide everything in the manager's namespace, regardless of the root.

        Raises:
            ReadOnlyStore: If this memory is read-only.
        """
        self._check_writable()
        super().reset_all()

    async def aextract_memories(self, content: str) -> list[str]:
        """Split a text into statements; see ``extract_memories``."""
        return self.extract_memories(content)

    async def aremember(self, content: str, *args: Any, **kwargs: Any) -> MemoryRecord | None:
        """Remember one thing in a worker thread; see ``remember``."""
        return await asyncio.to_thread(self.remember, content, *args, **kwargs)

    async def aremember_many(
        self, contents: list[str], *args: Any, **kwargs: Any
    ) -> list[MemoryRecord]:
        """Remember several things in a worker thread; see ``remember_many``."""
        return await asyncio.to_thread(self.remember_many, contents, *args, **kwargs)

    async def arecall(
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Literal["shallow", "deep"] = "deep",  # noqa: ARG002 - as in recall
        source: str | None = None,
        include_private: bool = False,
    ) -> list[MemoryMatch]:
        """Find relevant memories in a worker thread; see ``recall``."""
        find = partial(self._recalled, query, scope, categories, limit, source)
        wait = await settled(self.manager, self.wait)
        return await asyncio.to_thread(find, everyones=include_private, wait=wait)

    def _save(
        self,
        contents: list[str],
        label: str,
        scope: str | None,
        categories: list[str] | None,
        metadata: dict[str, Any] | None,
        importance: float | None,
        source: str | None,
        private: bool,
        agent_role: str | None,
        root_scope: str | None,
    ) -> list[MemoryRecord]:
        if self.read_only or not contents:
            return []
        facts: dict[str, Any] = {
            "value": label,
            "metadata": metadata,
            "source_type": ORIGIN,
            "agent_role": agent_role,
        }
        self._emit(MemorySaveStartedEvent(**facts))
        began = time.perf_counter()
        with self._failing(lambda why: MemorySaveFailedEvent(**facts, error=why)):
            draft = partial(
                Draft,
                scope=to_scope(self._place(scope, root_scope)),
                tags=to_tags(categories),
                importance=importance,
                session=to_session(source),
                actor=mended(agent_role or "").strip()[:MAX_ROLE] or None,
                source=Trust.AGENT,
                # a unique time keeps it separate from an equal public memory
                occurred_at=self.manager.store.clock() if private else None,
            )
            drafts = [
                draft(
                    text,
                    kind=kind_of(text),
                    metadata=marked(metadata, source, private=private, piece=piece),
                )
                for text, piece in fitting(contents, self.manager.store.config)
            ]
            stored = self.manager.add_many(drafts)
            records = [to_record(memory) for memory in stored]
        self._emit(MemorySaveCompletedEvent(**facts, save_time_ms=_since(began)))
        return records

    def _place(self, scope: str | None, root_scope: str | None = None) -> str:
        root = self.root_scope if root_scope is None else root_scope
        return join_scope_paths(root, scope)

    def _check_writable(self) -> None:
        if self.read_only:
            raise ReadOnlyStore(
                self.manager.store.root, "this memory is read-only and cannot forget"
            )

    def _emit(self, event: Any) -> None:
        crewai_event_bus.emit(self, event)

    @contextmanager
    def _failing(self, event: Callable[[str], Any]) -> Iterator[None]:
        """Report an error on the bus and raise it; CrewAI cannot catch one that stops the crew."""
        try:
            yield
        except Exception as error:  # any error is reported and raised again
            kind = type(error).__name__
            logger.error("CrewAI's memory failed: %s", kind)  # noqa: TRY400 - it is raised
            self._emit(event(str(error)))
            if isinstance(error, HookAborted) or not stops(error, strict=self.strict):
                raise
            raise unswallowed(error) from error


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1000
