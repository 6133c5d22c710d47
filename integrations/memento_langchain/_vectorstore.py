"""memento as a ``VectorStore``, for code in LangChain that accepts nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self
from uuid import uuid4

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from memento import Draft, Hit, Kind, Memory, MemoryManager, Source, Status, Tier, Trust
from memento.base.scopes import contains, parse_scope, short_form
from memento.check import MAX_ID, MAX_URI, WAIT, check_seconds, member
from memento.errors import InvalidInput
from memento.types import TrustName
from memento_langchain._embeddings import MementoEmbeddings
from memento_langchain._turns import warn
from memento_langchain.namespaces import Namespace, Views

IMPORTANCE = 0.5
"""Importance of each document, so that none is scored by its words."""


class MementoVectorStore(VectorStore):
    """Stores documents as memories and finds them by keyword search and semantic search.

    A search first uses ``retrieve``. Like any vector store, it then adds the nearest other
    documents until there are ``k``. Scores are in [0, 1]; larger is better.

    Args:
        manager: The manager that stores the documents; it needs an embedder.
        scope: Scope of the documents. The store writes to this scope, and reads and deletes only
            what is in it or below it; ``""`` is everything in the manager's namespace.
        source: Where the documents come from. Those from a tool, the web or an import are
            quarantined, so they are not found until they are approved. The ``source`` in the
            metadata of a document is its ``uri``, unless this has one. Erased text is then omitted
            when its source is loaded again.
        wait: Maximum number of seconds to wait until the newest documents are available to semantic
            search.
        namespace: A function that returns the labels of the namespace for each run, as for
            ``MementoMiddleware``; None for the manager's own namespace.

    Raises:
        InvalidInput: If an argument cannot be accepted, or the manager has no embedder.
    """

    def __init__(
        self,
        manager: MemoryManager,
        *,
        scope: str = "",
        source: Source | Trust | TrustName | None = None,
        wait: float = WAIT,
        namespace: Namespace | None = None,
    ) -> None:
        self._views = Views(manager, namespace)
        self._scope = parse_scope(scope)
        if not isinstance(source, Source):
            source = Source(Trust.USER if source is None else member(Trust, "source", source))
        self._source = source
        self._wait = check_seconds("wait", wait)
        self._embeddings = MementoEmbeddings(manager)

    @property
    def _manager(self) -> MemoryManager:
        """Where the documents of the run that calls are."""
        return self._views.of_run()

    @property
    def embeddings(self) -> MementoEmbeddings:
        """The embedder of the manager."""
        return self._embeddings

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Store texts in one transaction, replacing documents that have one of the ids.

        Args:
            texts: The texts; none may be empty.
            metadatas: A JSON object for each text.
            ids: An id for each text, or None to generate it.
            kwargs: Only ``batch_size``, which LangChain's indexing passes; one transaction stores
                all texts anyway.

        Returns:
            The ids, in order; ids of more than 128 characters are shortened.

        Raises:
            InvalidInput: If a value cannot be accepted, or an id belongs to a memory elsewhere in
                the namespace; nothing was written.
            StoreError: If they could not be written.
        """
        _refuse({name: value for name, value in kwargs.items() if name != "batch_size"})
        given = list(texts)
        data = [{}] * len(given) if metadatas is None else metadatas
        named = [_kept(one) if one else uuid4().hex for one in ids or [None] * len(given)]
        if not len(given) == len(data) == len(named):
            counts = f"{len(given)} texts, {len(data)} metadatas and {len(named)} ids"
            raise InvalidInput("texts", f"have different lengths: {counts}")
        drafts = [
            Draft(
                text,
                Tier.LONG,
                kind=Kind.ARTICLE,
                importance=IMPORTANCE,
                scope=self._scope,
                source=self._source_of(metadata),
                metadata=metadata,
                id=name,
            )
            for text, metadata, name in zip(given, data, named, strict=True)
        ]
        self._check_places([_kept(one) for one in ids or () if one])
        self._manager.add_many(drafts, replace=True)
        return named

    def _source_of(self, metadata: object) -> Source:
        """Return where a document comes from: its metadata may name that, as loaders write it."""
        uri = metadata.get("source") if isinstance(metadata, Mapping) else None
        if self._source.uri is None and isinstance(uri, str) and 0 < len(uri.strip()) <= MAX_URI:
            return replace(self._source, uri=uri.strip())
        return self._source

    def _check_places(self, ids: list[str]) -> None:
        """Refuse ids of memories that are neither at the scope nor below it."""
        if not ids or not self._scope:
            return
        held = self._manager.list(ids=ids, status=list(Status), limit=len(ids))
        for memory in held:
            if not contains(self._scope, memory.scope):
                problem = f"{memory.id!r} is a memory at the scope {memory.scope!r}"
                raise InvalidInput("ids", f"{problem}; use another id for the document")

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool:
        """Hide documents; ``MemoryManager.restore`` brings them back, ``store.erase`` removes them.

        Args:
            ids: The ids; unknown ones are ignored.
            kwargs: Not used; must be empty.

        Raises:
            InvalidInput: If no ids are given, because other memories may be in the same scope.
        """
        _refuse(kwargs)
        if ids is None:
            raise InvalidInput(
                "ids",
                "no ids were specified; to delete all documents, use MemoryManager.forget_many",
            )
        if ids:
            self._manager.forget_many(ids=[*map(_kept, ids)], within=self._scope)
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents with these ids, in the same order; unknown ids are left out."""
        if not ids:
            return []
        ids = [*map(_kept, ids)]
        found = self._manager.list(ids=ids, within=self._scope, limit=len(ids))
        known = {one.id: one for one in found}
        return [_document(known[one]) for one in ids if one in known]

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """Return the best documents for a query; arguments as ``similarity_search_with_score``."""
        return [found for found, _ in self.similarity_search_with_score(query, k, **kwargs)]

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - LangChain's word
        **kwargs: Any,
    ) -> list[tuple[Document, float]]:
        """Return the best documents for a query, each with its score in [0, 1].

        Args:
            query: The query, in natural language.
            k: Maximum number of documents to return, 1 to 10,000.
            filter: Metadata keys with the value each must have, see ``Filtering.where``.
            kwargs: Not used; must be empty.

        Raises:
            InvalidInput: If an argument cannot be accepted.
            StoreError: If the ledger cannot be read.
        """
        _refuse(kwargs)
        found = self._manager.retrieve(
            query, k, where=filter, within=self._scope, fold=False, wait=self._wait, shared=False
        )
        warn(found.missing)
        hits = list(found)
        if len(hits) < k:
            hits += self._nearest(self._embeddings.embed_query(query), k, filter, but=hits)
        return [(_document(hit.memory), hit.score) for hit in hits]

    def similarity_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        filter: Mapping[str, Any] | None = None,  # noqa: A002 - LangChain's word
        **kwargs: Any,
    ) -> list[Document]:
        """Return the documents nearest to a vector of ``embeddings``; arguments as for a query."""
        _refuse(kwargs)
        return [_document(hit.memory) for hit in self._nearest(embedding, k, filter)]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        **kwargs: Any,
    ) -> list[Document]:
        """Return documents that match a query and differ from each other.

        Args:
            query: The query, in natural language.
            k: Maximum number of documents to return.
            fetch_k: Number of documents to choose from.
            lambda_mult: 0 for maximum diversity, 1 for maximum relevance.
            kwargs: ``filter``, as for ``similarity_search_with_score``.
        """
        found = self.similarity_search(query, max(k, fetch_k), **kwargs)
        if not found:
            return []
        vectors = self._manager.store.embed([one.page_content for one in found])
        asked = self._manager.store.embed([query or " "])[0]
        chosen = maximal_marginal_relevance(asked, list(vectors), lambda_mult, k)
        return [found[at] for at in chosen]

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        manager: MemoryManager | None = None,
        **kwargs: Any,
    ) -> Self:
        """Create a vector store and add texts to it.

        Args:
            texts: The texts; none may be empty.
            embedding: None, or ``MementoEmbeddings``; documents are embedded by the manager.
            metadatas: A JSON object for each text.
            ids: An id for each text.
            manager: The manager that stores the documents; required.
            kwargs: Other arguments of the class.

        Raises:
            InvalidInput: If ``manager`` is missing, or ``embedding`` is a different model.
        """
        if manager is None:
            raise InvalidInput(
                "manager", "is missing; pass the MemoryManager that stores the documents"
            )
        if embedding is not None and not isinstance(embedding, MementoEmbeddings):
            raise InvalidInput(
                "embedding", "must be None; pass the embedder to MemoryManager(embedder=...)"
            )
        store = cls(manager, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def _nearest(
        self,
        vector: Sequence[float],
        k: int,
        where: Mapping[str, Any] | None,
        but: Sequence[Hit] = (),
    ) -> list[Hit]:
        """Return the hits nearest to a vector that fill up ``but`` to ``k``."""
        have = {hit.id for hit in but}
        near = self._manager.store.nearest(
            vector, k, where=where, within=self._scope, wait=self._wait
        )
        return [hit for hit in near if hit.id not in have][: k - len(have)]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return float


def _refuse(given: Mapping[str, object]) -> None:
    """Refuse arguments that are not used."""
    if given:
        raise InvalidInput("kwargs", f"{', '.join(sorted(given))} is not a known argument")


def _document(memory: Memory) -> Document:
    """Convert a memory back to its document."""
    return Document(id=memory.id, page_content=memory.text, metadata=dict(memory.metadata))


def _kept(name: str) -> str:
    """Return the stored form of an id, which may be any text, such as a URL."""
    return short_form(name, MAX_ID) if isinstance(name, str) else name
