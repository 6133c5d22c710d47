"""Documents as memories: a document store whose retriever searches by words and by meaning."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Self

from haystack import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter

from memento import Draft, Kind, Memory, MemoryManager, Source, Tier, Trust
from memento.base.scopes import parse_scope, short_form
from memento.check import MAX_ID, WAIT, check_seconds
from memento.conversation import mended
from memento.errors import InvalidInput
from memento.frameworks import check_manager
from memento.types import TrustName
from memento_haystack._places import arguments, written

FORMAT = "haystack-document"
MARK = {"format": FORMAT}
ALL = 1_000_000
"""Maximum number of documents that are read at once."""
IMPORTANCE = 0.5
"""Importance of each document, so that none is scored by its words."""


class MementoDocumentStore:
    """A ``DocumentStore`` of memories, which are on disk when ``write_documents`` returns.

    Filters are Haystack's own, applied to every document. ``MementoRetriever`` searches.

    Args:
        manager: The manager that stores the documents.
        scope: Scope of the documents. The store writes to this scope, and reads and deletes only
            what is in it or below it; ``""`` is everything in the manager's namespace.
        source: Where the documents come from. Those from a tool, the web or an import are
            quarantined, so they are not found until they are approved.
        wait: Maximum number of seconds for which a search waits until the newest documents are
            available to semantic search.

    Raises:
        InvalidInput: If an argument is invalid.
    """

    def __init__(
        self,
        manager: MemoryManager,
        *,
        scope: str = "",
        source: Source | Trust | TrustName | None = None,
        wait: float = WAIT,
    ) -> None:
        self.manager = check_manager(manager)
        self.scope = parse_scope(scope)
        self.wait = check_seconds("wait", wait)
        self._source = source

    def to_dict(self) -> dict[str, Any]:
        """Serialize the location of the store, without the manager's settings."""
        source = self._source if isinstance(self._source, str | None) else self._source.kind
        return written(self, self.manager, scope=self.scope, source=source, wait=self.wait)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Open the store that was serialized with ``to_dict``."""
        return cls(**arguments(data))

    def count_documents(self) -> int:
        """Return the number of documents."""
        return len(self._listed())

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        """Return the number of documents that match."""
        return len(self.filter_documents(filters))

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that match, or all.

        Raises:
            FilterError: If the filters are malformed.
        """
        if filters and not filters.keys() & {"operator", "conditions"}:
            raise FilterError("Invalid filter syntax: needs an 'operator'")
        found = map(document_of, self._listed())
        return [one for one in found if not filters or document_matches_filter(filters, one)]

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Write documents, all or none; return how many were written.

        Args:
            documents: The documents.
            policy: What to do about existing ids; ``NONE`` is ``FAIL``.

        Raises:
            ValueError: If they are not documents.
            DuplicateDocumentError: If an id already exists, and the policy is ``FAIL``.
        """
        if not isinstance(documents, list) or not all(
            isinstance(one, Document) for one in documents
        ):
            raise InvalidInput("documents", "must be a list of documents")
        new = {one.id: one for one in documents}
        if policy is not DuplicatePolicy.OVERWRITE:
            there = self._there(new)
            if policy is not DuplicatePolicy.SKIP and (there or len(new) < len(documents)):
                raise DuplicateDocumentError(
                    f"documents with these ids already exist: {sorted(there)}"
                )
            new = {name: one for name, one in new.items() if name not in there}
        self.manager.add_many([self._draft(one) for one in new.values()], replace=True)
        return len(new)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Hide documents; ``MemoryManager.restore`` brings them back, ``store.erase`` removes."""
        if document_ids:
            ids = [kept_id(one) for one in document_ids]
            self.manager.forget_many(ids=ids, within=self.scope, where=MARK)

    def delete_all_documents(self) -> None:
        """Hide all documents of this store; other memories stay."""
        self.manager.forget_many(within=self.scope, where=MARK)

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Hide matching documents, and return their number."""
        found = self.filter_documents(filters)
        self.delete_documents([one.id for one in found])
        return len(found)

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Add to the metadata of matching documents, and return their number."""
        found = self.filter_documents(filters)
        changed = [replace(one, meta={**one.meta, **meta}) for one in found]
        return self.write_documents(changed, DuplicatePolicy.OVERWRITE)

    def _listed(self) -> list[Memory]:
        return list(self.manager.list(within=self.scope, where=MARK, limit=ALL))

    def _there(self, names: Iterable[str]) -> set[str]:
        """Return the ids that belong to memories in the namespace."""
        ids = {kept_id(name): name for name in names}
        found = self.manager.list(ids=list(ids), limit=len(ids)) if ids else []
        return {ids[one.id] for one in found}

    def _draft(self, document: Document) -> Draft:
        spelt = document.to_dict(flatten=False)
        text = mended(document.content or "")
        if text.strip():
            del spelt["content"]  # stored as the text of the memory
        return Draft(
            text if text.strip() else "(no text)",
            Tier.LONG,
            kind=Kind.ARTICLE,
            importance=IMPORTANCE,
            scope=self.scope,
            source=self._source,
            metadata={**MARK, "document": spelt},
            id=kept_id(document.id),
        )


def document_of(memory: Memory, score: float | None = None) -> Document:
    """Convert a memory back to its document."""
    spelt = {"content": memory.text, **memory.metadata["document"]}
    return Document.from_dict(spelt if score is None else {**spelt, "score": score})


def kept_id(name: str) -> str:
    """Return the stored form of a document's id, which may be any text."""
    return short_form(name, MAX_ID)
