"""A component that finds documents by words and by meaning."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from haystack import Document, component

from memento import Filtering
from memento.aio import settle
from memento.check import check_count
from memento.errors import InvalidInput
from memento_haystack._documents import MARK, MementoDocumentStore, document_of, kept_id

log = logging.getLogger("memento.haystack")


@component
class MementoRetriever:
    """Retrieves the documents of a ``MementoDocumentStore``, best first.

    The retriever combines keyword and semantic search, using the model of the store's manager, so
    the query requires no embedder. Irrelevant documents are omitted, so there may be fewer than
    ``top_k``. The score is in [0, 1]. Parts that could not be searched are logged as warnings.

    Args:
        document_store: The document store to search.
        filters: Haystack's filters; only documents that match are searched.
        top_k: Maximum number of documents, 1 to 10,000.

    Raises:
        InvalidInput: If an argument is invalid.
    """

    def __init__(
        self,
        document_store: MementoDocumentStore,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
    ) -> None:
        if not isinstance(document_store, MementoDocumentStore):
            raise InvalidInput("document_store", "must be a MementoDocumentStore")
        self.document_store = document_store
        self.filters = filters
        self.top_k = check_count("top_k", top_k)

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Retrieve documents.

        Args:
            query: The query, in natural language.
            filters: Filters for this query instead of those of the component.
            top_k: Maximum number of documents for this query.
        """
        return self._found(query, filters, top_k, self.document_store.wait)

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Retrieve documents as ``run`` does, without blocking a thread while it waits."""
        wait = await settle(self.document_store.manager, self.document_store.wait)
        return await asyncio.to_thread(self._found, query, filters, top_k, wait)

    def _found(
        self, query: str, filters: dict[str, Any] | None, top_k: int | None, wait: float
    ) -> dict[str, list[Document]]:
        store, asked = self.document_store, filters or self.filters
        given: Filtering = {"within": store.scope, "where": MARK}
        if asked:
            given["ids"] = [kept_id(one.id) for one in store.filter_documents(asked)]
            if not given["ids"]:
                return {"documents": []}
        found = store.manager.retrieve(
            query, top_k or self.top_k, fold=False, wait=wait, shared=False, **given
        )
        for tier, why in found.missing.items():
            log.warning("retrieved without the %s tier: %s", tier, why)
        return {"documents": [document_of(hit.memory, hit.score) for hit in found]}
