"""Memories as nodes, for anything in LlamaIndex that takes a retriever."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from memento import Filtering, Hit, MemoryManager, check_filters
from memento.aio import settle
from memento.check import WAIT, check_count, check_seconds
from memento.errors import InvalidInput
from memento.frameworks import check_manager

log = logging.getLogger("memento.llama_index")


class MementoRetriever(BaseRetriever):
    """Retrieves memories, best first; parts that could not be searched are logged as warnings.

    Irrelevant memories are omitted, so there may be fewer than ``k``.

    Args:
        manager: The manager of the store to search.
        k: Maximum number of nodes, 1 to 10,000.
        wait: Maximum number of seconds to wait until the newest memories are available to semantic
            search, up to a day; 0 to search at once. ``aretrieve`` does not block a thread while
            waiting.
        filters: Only memories that match, see ``Filtering``.
        options: Other arguments of ``BaseRetriever``, such as ``callback_manager``.

    Raises:
        InvalidInput: If an argument is invalid.
    """

    def __init__(
        self,
        manager: MemoryManager,
        k: int = 5,
        *,
        wait: float = WAIT,
        filters: Filtering | None = None,
        **options: Any,
    ) -> None:
        self._manager = check_manager(manager)
        self._k = check_count("k", k)
        self._wait = check_seconds("wait", wait)
        self._filters: Filtering = filters or {}
        if unknown := sorted(self._filters.keys() - Filtering.__annotations__.keys()):
            raise InvalidInput("filters", f"unknown: {', '.join(unknown)}; see ``Filtering``")
        check_filters(self._filters)
        super().__init__(**options)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._found(query_bundle.query_str, self._wait)

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        wait = await settle(self._manager, self._wait, session=self._filters.get("session"))
        return await asyncio.to_thread(self._found, query_bundle.query_str, wait)

    def _found(self, query: str, wait: float) -> list[NodeWithScore]:
        found = self._manager.retrieve(query, self._k, wait=wait, **self._filters)
        for tier, why in found.missing.items():
            log.warning("retrieved without the %s tier: %s", tier, why)
        return [NodeWithScore(node=_node_of(hit), score=hit.score) for hit in found]


def _node_of(hit: Hit) -> TextNode:
    """Show a memory as a node: your metadata, and for models also whose words it holds and when."""
    memory = hit.memory
    told = {"by": memory.source.kind.value, "when": memory.occurred_at.date().isoformat()}
    node: TextNode = TextNode(id_=hit.id, text=hit.text, metadata={**memory.metadata, **told})
    node.excluded_llm_metadata_keys = [*memory.metadata.keys() - told.keys()]
    return node
