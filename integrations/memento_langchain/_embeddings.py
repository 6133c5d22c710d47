"""memento's own model, for anything in LangChain that takes ``Embeddings``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from langchain_core.embeddings import Embeddings

from memento import MemoryManager
from memento.embed import embed_checked, resolve
from memento.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memento.protocols import Embedder

Embed: TypeAlias = "Callable[[list[str]], NDArray[np.float32]]"


class MementoEmbeddings(Embeddings):
    """Embeds texts with the model in memento's package, locally, without an API key or a download.

    Use it for semantic splitters, ``EmbeddingsFilter``, LangGraph's ``InMemoryStore`` and other
    vector stores. Thread-safe.

    Args:
        embedder: Anything that ``MemoryManager(embedder=...)`` accepts except None; or a manager,
            to use its embedder.

    Raises:
        InvalidInput: If it is not one of these, or the manager has no embedder.
        MissingExtra: If the embedder requires a package that is not installed.
        EmbedderError: If the model cannot be loaded.
    """

    def __init__(self, embedder: str | Embedder | MemoryManager = "default") -> None:
        self._documents, self._queries = _both(embedder)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts; an empty text is embedded as a space.

        Returns:
            One vector per text, of unit length.

        Raises:
            InvalidInput: If a text cannot be embedded.
            EmbedderError: If the model fails.
        """
        return _lists(self._documents, texts)

    def embed_query(self, text: str) -> list[float]:
        """Embed one query; see ``embed_documents``."""
        return _lists(self._queries, [text])[0]


def _both(embedder: str | Embedder | MemoryManager) -> tuple[Embed, Embed]:
    """Return the function that embeds documents, and the one that embeds queries."""
    if isinstance(embedder, MemoryManager):
        embedder.store.embed([])  # refuses a manager without an embedder
        return embedder.store.embed, embedder.store.embed
    resolved = resolve(embedder)
    if resolved is None:
        raise InvalidInput("embedder", "is None; this class requires an embedder")
    return partial(embed_checked, resolved), partial(embed_checked, resolved, queries=True)


def _lists(embed: Embed, texts: Sequence[str]) -> list[list[float]]:
    """Embed texts into lists of numbers."""
    if not texts:
        return []
    return [list(map(float, vector)) for vector in embed([text or " " for text in texts])]
