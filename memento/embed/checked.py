"""Ask any embedder or reranker, and check its answer against the contract.

It knows no model, so that each model's module can use it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memento.errors import EmbedderError, InvalidInput, MementoError, MissingExtra, RerankerError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memento.protocols import Embedder, Reranker

LENGTH_TOLERANCE = 1e-3
"""Largest distance from 1 of the length of a vector; a vector within it is scaled to length 1."""


def require_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts as a list, if each of them can be embedded.

    Raises:
        InvalidInput: If ``texts`` is a single text, or one of them is not a text, is empty or
            holds a lone surrogate.
    """
    if isinstance(texts, str):
        raise InvalidInput("texts", "must be a list of texts, not one text")
    for position, text in enumerate(texts):
        if not isinstance(text, str) or not text:
            raise InvalidInput("texts", f"number {position} is empty or not a text")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput("texts", f"number {position} holds a lone surrogate") from error
    return list(texts)


def rerank_checked(reranker: Reranker, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """Score texts with any reranker and check its answer against the contract.

    Args:
        reranker: One of memento's or a user's own.
        query: The query.
        texts: At least one text.

    Returns:
        (len(texts),) float32, finite.

    Raises:
        RerankerError: If it fails, or returns another shape or numbers that are not finite.
    """
    import numpy as np  # noqa: PLC0415 - importing this package must not load it

    name = type(reranker).__name__
    try:
        scores = np.asarray(reranker.score(query, texts), np.float32)
    except MementoError as error:
        raise RerankerError(str(error)) from error
    except Exception as error:  # foreign code may raise anything
        raise RerankerError(f"{name} failed: {type(error).__name__}: {error}") from error
    if scores.shape != (len(texts),) or not np.isfinite(scores).all():
        raise RerankerError(
            f"{name} returned shape {scores.shape}; expected {len(texts)} finite numbers"
        )
    return scores


def embed_checked(
    embedder: Embedder, texts: Sequence[str], *, queries: bool = False
) -> NDArray[np.float32]:
    """Embed texts with any embedder and check its answer against the contract.

    Args:
        embedder: One of memento's or a user's own.
        texts: Any number of texts; none may be empty.
        queries: Whether they are queries, for an embedder that embeds queries differently.

    Returns:
        (len(texts), embedder.dim) float32, C-contiguous, finite, each row of unit length.

    Raises:
        InvalidInput: If a text cannot be embedded by any embedder.
        EmbedderError: If the embedder fails, or returns another shape, another type, numbers
            that are not finite, or rows whose length is more than 0.001 away from 1.
    """
    import numpy as np  # noqa: PLC0415 - importing this package must not load it

    wanted = require_texts(texts)
    embed = embedder.embed
    if queries:  # isinstance(embedder, QueryEmbedder) would take 20 µs per query
        embed = getattr(embedder, "embed_queries", embed)
    try:
        answer = np.asarray(embed(wanted))
    except (EmbedderError, InvalidInput, MissingExtra):
        raise
    except Exception as error:  # foreign code may raise anything
        raise EmbedderError(f"{embedder.name} failed: {type(error).__name__}: {error}") from error
    if answer.shape != (len(wanted), embedder.dim) or answer.dtype.kind != "f":
        raise EmbedderError(
            f"{embedder.name} returned {answer.dtype} of shape {answer.shape}; "
            f"expected float32 of shape {(len(wanted), embedder.dim)}"
        )
    vectors = np.ascontiguousarray(answer, dtype=np.float32)
    # What numpy.linalg.norm does, without what it asks first; each row by itself.
    lengths = np.sqrt(np.vecdot(vectors, vectors))
    if not all(abs(one - 1) <= LENGTH_TOLERANCE for one in lengths.tolist()):  # NaN is not
        raise EmbedderError(
            f"{embedder.name} returned vectors that are not finite and of unit length; "
            "divide each by its norm and look for inputs that make it fail"
        )
    unit: NDArray[np.float32] = vectors / lengths[:, None]
    return unit
