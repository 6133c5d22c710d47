"""The local embedding model, in the form that CrewAI and Chroma expect."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from chromadb.api.types import EmbeddingFunction, Embeddings, Space
from crewai.rag.embeddings.providers.custom.embedding_callable import CustomEmbeddingFunction

from memento import MemoryManager
from memento.embed import embed_checked, resolve
from memento.errors import InvalidInput
from memento_crewai._calls import noted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memento.protocols import Embedder


class MementoEmbeddingFunction(CustomEmbeddingFunction, EmbeddingFunction[list[str]]):
    """Embeds texts with memento's own model, locally, without an API key or a download.

    In CrewAI, pass it as ``embedder=`` for memory and knowledge, or as the ``embedding_callable``
    of the ``custom`` provider; in Chroma, as ``embedding_function=``. Thread-safe.

    Args:
        embedder: Anything that ``MemoryManager(embedder=...)`` accepts except None; or a manager,
            to use its embedder.

    Raises:
        InvalidInput: If it is none of these.
        MissingExtra: If the embedder requires a package that is not installed.
        EmbedderError: If the model cannot be loaded.
    """

    def __init__(self, embedder: str | Embedder | MemoryManager = "default") -> None:
        self._spec = embedder
        self._embed = _embedding(embedder)

    @noted
    def __call__(self, input: list[str]) -> Embeddings:  # noqa: A002 - Chroma's name
        """Embed texts.

        Args:
            input: Texts, none empty.

        Returns:
            One vector a text, (dim,) float32, unit length.

        Raises:
            InvalidInput: If a text cannot be embedded.
            EmbedderError: If the model fails.
        """
        return [*self._embed(input)]

    def __deepcopy__(self, memo: dict[int, Any]) -> MementoEmbeddingFunction:
        """Return itself: a model is shared, not copied."""
        return self

    @staticmethod
    def name() -> str:
        """Return the name under which Chroma stores it with a collection."""
        return "memento"

    def default_space(self) -> Space:
        """Return the default distance between its vectors."""
        return "cosine"

    def supported_spaces(self) -> list[Space]:
        """Return the distances that may be used; for unit vectors, all give the same order."""
        return ["cosine", "l2", "ip"]

    def get_config(self) -> dict[str, Any]:
        """Return the configuration that Chroma stores to build it again.

        Raises:
            InvalidInput: If it was made from an object, which a collection cannot store.
        """
        if not isinstance(self._spec, str):
            raise InvalidInput(
                "embedder", "is an object; Chroma can store only an embedder specified by name"
            )
        return {"embedder": self._spec}

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> MementoEmbeddingFunction:
        """Build it again from the stored configuration."""
        return MementoEmbeddingFunction(**config)


def _embedding(
    embedder: str | Embedder | MemoryManager,
) -> Callable[[list[str]], NDArray[np.float32]]:
    if isinstance(embedder, MemoryManager):
        embedder.store.embed([])  # fails early if it has none
        return embedder.store.embed
    resolved = resolve(embedder)
    if resolved is None:
        raise InvalidInput("embedder", "is None; this class requires a manager with an embedder")
    return partial(embed_checked, resolved)
