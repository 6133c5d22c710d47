"""Embedders: texts become vectors whose identity travels with them.

``resolve`` turns what a user writes into an embedder, ``embed_checked`` holds any embedder to its
contract. Importing this package loads no model and no numpy; each embedder has a module:
``onnx`` (the default, offline), ``sentence_transformers`` and ``openai`` (extras).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memento.errors import EmbedderError, InvalidInput, MementoError, RerankerError
from memento.protocols import Embedder, Reranker

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["embed_checked", "require_texts", "rerank_checked", "resolve"]

SPECS = '"default", None, an Embedder, "sentence-transformers:NAME_OR_PATH" or "openai:MODEL"'
LENGTH_TOLERANCE = 1e-3
"""How far from 1 the length of a vector may be; what is within is scaled to 1."""


def resolve(spec: Embedder | str | None) -> Embedder | None:
    """Return the embedder a specification names.

    Args:
        spec: ``"default"`` for the model in the package, None for no embedder (full text alone),
            ``"sentence-transformers:NAME_OR_PATH"``, ``"openai:MODEL"`` (key and address
            from the environment, see ``OpenAIEmbedder.from_env``), or an embedder.

    Raises:
        InvalidInput: If it is none of these.
        MissingExtra: If the embedder needs a package that is not installed.
        EmbedderError: If the model cannot be loaded.

    >>> resolve(None) is None
    True
    """
    if spec is None:
        return None
    if isinstance(spec, str):
        return _named(spec)
    if not isinstance(spec, Embedder):
        raise InvalidInput("embedder", f"{type(spec).__name__} is not one of {SPECS}")
    if not isinstance(spec.name, str) or not spec.name:
        raise InvalidInput("embedder", "its name must be a text that is not empty")
    if not isinstance(spec.dim, int) or spec.dim < 1:
        raise InvalidInput("embedder", f"its dim must be an integer >= 1, not {spec.dim!r}")
    return spec


# The imports below wait until an embedder is asked for: each loads numpy, and a model library.
def _named(spec: str) -> Embedder:
    family, _, model = spec.partition(":")
    if spec == "default":
        from memento.embed.onnx import default_embedder  # noqa: PLC0415 - see above

        return default_embedder()
    if family == "sentence-transformers" and model:
        from memento.embed.sentence_transformers import (  # noqa: PLC0415 - see above
            SentenceTransformerEmbedder,
        )

        return SentenceTransformerEmbedder(model)
    if family == "openai" and model:
        from memento.embed.openai import OpenAIEmbedder  # noqa: PLC0415 - see above

        return OpenAIEmbedder.from_env(model)
    raise InvalidInput("embedder", f"{spec!r} is not one of {SPECS}")


def require_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts as a list, if each can be embedded.

    Raises:
        InvalidInput: If ``texts`` is one text instead of several, or one of them is not a text,
            is empty or holds a lone surrogate.
    """
    if isinstance(texts, str):
        raise InvalidInput("texts", "takes a list of texts, not one text")
    for position, text in enumerate(texts):
        if not isinstance(text, str) or not text:
            raise InvalidInput("texts", f"number {position} is empty or not a text")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput("texts", f"number {position} holds a lone surrogate") from error
    return list(texts)


def rerank_checked(reranker: Reranker, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """Score texts with any reranker and hold the answer to the contract.

    Args:
        reranker: Ours or a user's.
        query: The question.
        texts: At least one.

    Returns:
        (len(texts),) float32, finite.

    Raises:
        RerankerError: If it fails, or answers with another shape or with no finite numbers.
    """
    import numpy as np  # noqa: PLC0415 - importing this package must not load it

    name = type(reranker).__name__
    try:
        scores = np.asarray(reranker.score(query, texts), np.float32)
    except MementoError as error:
        raise RerankerError(str(error)) from error
    except Exception as error:
        raise RerankerError(f"{name} failed: {type(error).__name__}: {error}") from error
    if scores.shape != (len(texts),) or not np.isfinite(scores).all():
        raise RerankerError(
            f"{name} returned shape {scores.shape}; expected {len(texts)} finite numbers"
        )
    return scores


def embed_checked(
    embedder: Embedder, texts: Sequence[str], *, queries: bool = False
) -> NDArray[np.float32]:
    """Embed texts with any embedder and hold the answer to the contract.

    Args:
        embedder: Ours or a user's.
        texts: Any number, none empty.
        queries: Whether they are questions, for an embedder that tells them apart.

    Returns:
        (len(texts), embedder.dim) float32, C-contiguous, finite, each row of unit length.

    Raises:
        InvalidInput: If a text cannot be embedded by anyone.
        EmbedderError: If the embedder fails, or answers with another shape, another type,
            numbers that are not finite or rows more than 0.001 away from unit length.
    """
    import numpy as np  # noqa: PLC0415 - importing this package must not load it

    wanted = require_texts(texts)
    embed = embedder.embed
    if queries:  # whether it is a `QueryEmbedder`; asking typing that takes 20 us a question
        embed = getattr(embedder, "embed_queries", embed)
    try:
        answer = np.asarray(embed(wanted))
    except MementoError:
        raise
    except Exception as error:
        raise EmbedderError(f"{embedder.name} failed: {type(error).__name__}: {error}") from error
    if answer.shape != (len(wanted), embedder.dim) or answer.dtype.kind != "f":
        raise EmbedderError(
            f"{embedder.name} returned {answer.dtype} of shape {answer.shape}; "
            f"expected float32 of shape {(len(wanted), embedder.dim)}"
        )
    vectors = np.ascontiguousarray(answer, dtype=np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (np.abs(lengths - 1) <= LENGTH_TOLERANCE).all():  # also catches NaN and infinity
        raise EmbedderError(
            f"{embedder.name} returned vectors that are not finite and of unit length; "
            "divide each by its norm and look for inputs that make it fail"
        )
    unit: NDArray[np.float32] = (vectors / lengths).astype(np.float32)
    return unit
