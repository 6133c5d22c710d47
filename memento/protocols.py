"""Every seam of memento on one page: what a replaceable part has to offer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors. Must be safe to call from several threads.

    Attributes:
        name: Identity of the model and of its weights. Vectors of two names never mix.
        dim: Length of its vectors.
    """

    name: str
    dim: int

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts.

        Args:
            texts: Any number of texts of any length, none empty. A text longer than the
                model sees is embedded in windows, not cut.

        Returns:
            (len(texts), dim) float32, each row of unit length.
        """
        ...


@runtime_checkable
class QueryEmbedder(Embedder, Protocol):
    """An embedder that embeds questions otherwise than memories, as E5 and BGE want it.

    Without this method questions are embedded as memories are.
    """

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed questions; arguments and result as of ``embed``."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Judges how well texts answer a question: better than retrieval does, and slower.

    Must be safe to call from several threads.
    """

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Score texts.

        Args:
            query: The question.
            texts: At least one text; the best candidates, best first.

        Returns:
            (len(texts),) finite numbers on any scale, the larger the better.
        """
        ...


class Clock(Protocol):
    """Tells the time, so that tests can set it."""

    def __call__(self) -> datetime:
        """Return the present moment, timezone-aware."""
        ...


class TokenCounter(Protocol):
    """Counts the tokens a text will take in a prompt."""

    def __call__(self, text: str) -> int:
        """Return the number of tokens, >= 0."""
        ...
