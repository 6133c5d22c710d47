"""Memories as documents, for any chain that takes a retriever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from inspect import Parameter, signature
from typing import Any, Self

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables.config import RunnableConfig, ensure_config, set_config_context
from pydantic import ConfigDict, Field, field_validator

from memento import Filtering, Hit, MemoryManager, check_filters
from memento.aio import settle
from memento.check import MAX_K, WAIT, check_flag, check_seconds, check_share
from memento.errors import InvalidInput
from memento_langchain._turns import warn
from memento_langchain.namespaces import Views, check_namespace

ARGUMENTS = [
    *Filtering.__annotations__,
    *(
        name
        for name, one in signature(MemoryManager.retrieve).parameters.items()
        if one.kind is Parameter.KEYWORD_ONLY
    ),
]
"""Names that ``filters`` may hold."""

CHECKS: Mapping[str, Callable[[str, object], object]] = {
    "min_score": check_share,
    "cutoff": check_share,
    "wait": check_seconds,
    "fold": check_flag,
    "record": check_flag,
}
"""Checks of these values; only ``retrieve`` checks ``match``, ``tokens`` and its counter."""


class MementoRetriever(BaseRetriever):
    """Retrieves memories, best first; parts that could not be searched are logged as warnings.

    Attributes:
        manager: The manager of the store to search.
        k: Maximum number of documents to return, 1 to 10,000.
        wait: Maximum number of seconds to wait until the newest memories are available to semantic
            search, up to a day; 0 to search at once. ``ainvoke`` does not block a thread while
            waiting.
        namespace: A function that returns the labels of the namespace for each call, as for
            ``MementoMiddleware``; None for the manager's own namespace.
        filters: Any other arguments of ``MemoryManager.retrieve``, such as ``scope``.

    Raises:
        ValidationError: If an attribute cannot be accepted; bad values for ``match`` or ``tokens``
            are reported at the first query.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    manager: MemoryManager = Field(exclude=True, repr=False)
    k: int = Field(default=5, ge=1, le=MAX_K)
    wait: float = WAIT
    namespace: Any = Field(default=None, exclude=True, repr=False)
    filters: Mapping[str, Any] = Field(default_factory=dict)

    @field_validator("namespace")
    @classmethod
    def _check_namespace(cls, namespace: Any) -> Any:
        check_namespace(namespace)
        return namespace

    def invoke(
        self,
        input: str,  # noqa: A002 - the framework names it
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Retrieve documents, in the namespace given by the settings of this call."""
        with set_config_context(ensure_config(config)) as context:
            return context.run(partial(super().invoke, input, config, **kwargs))

    async def ainvoke(
        self,
        input: str,  # noqa: A002 - the framework names it
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Retrieve documents, in the namespace given by the settings of this call."""
        with set_config_context(ensure_config(config)) as context:
            asked = super().ainvoke(input, config, **kwargs)
            return await asyncio.create_task(asked, context=context)

    @field_validator("wait", mode="before")
    @classmethod
    def _check_wait(cls, wait: object) -> float:
        return check_seconds("wait", wait)

    @field_validator("filters")
    @classmethod
    def _check_filters(cls, filters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Refuse wrong filters when it is made, not at each query."""
        _check_names(filters)
        check_filters(filters)
        for name in filters.keys() & CHECKS.keys():
            CHECKS[name](name, filters[name])
        return filters

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Copy the settings; the copy looks in the same place."""
        return self.model_copy()

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - the framework passes it
        k: int | None = None,
        **filters: Any,
    ) -> list[Document]:
        return self._found(query, k, self._asked(filters))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 - as above
        k: int | None = None,
        **filters: Any,
    ) -> list[Document]:
        asked = self._asked(filters)
        wait = await settle(self._view(), asked["wait"], session=asked.get("session"))
        return await asyncio.to_thread(self._found, query, k, {**asked, "wait": wait})

    def _view(self) -> MemoryManager:
        return Views(self.manager, self.namespace).of_run()

    def _asked(self, filters: Mapping[str, Any]) -> dict[str, Any]:
        _check_names(filters)
        return {"wait": self.wait, **self.filters, **filters}

    def _found(self, query: str, k: int | None, asked: Mapping[str, Any]) -> list[Document]:
        found = self._view().retrieve(query, self.k if k is None else k, **asked)
        warn(found.missing)
        return [document(hit) for hit in found]


def _check_names(filters: Mapping[str, Any]) -> None:
    if unknown := sorted(filters.keys() - set(ARGUMENTS)):
        known = ", ".join(ARGUMENTS)
        raise InvalidInput("filters", f"unknown: {', '.join(unknown)}; must be among: {known}")


def document(hit: Hit) -> Document:
    """Convert a hit to a document with your metadata and, under ``memento``, memento's own."""
    memory = hit.memory
    known = {
        "score": hit.score,
        "confidence": hit.confidence,
        "tier": memory.tier.value,
        "kind": memory.kind.value,
        "scope": memory.scope,
        "session": memory.session,
        "role": memory.role,
        "tags": list(memory.tags),
        "occurred_at": memory.occurred_at.isoformat(),
    }
    return Document(
        id=memory.id, page_content=memory.text, metadata={**memory.metadata, "memento": known}
    )
