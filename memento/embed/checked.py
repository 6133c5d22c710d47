"""Ask any embedder or reranker, and check its answer against the contract.

It depends on no model, so that the module of every model can use it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from memento.errors import EmbedderError, InvalidInput, MementoError, MissingExtra, RerankerError
from memento.protocols import Embedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from memento.protocols import Reranker


LENGTH_TOLERANCE = 1e-3
"""Maximum distance from 1 of the length of a vector; a vector within it is scaled to length 1."""


def require_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts as a list; `InvalidInput` if one of them cannot be embedded."""
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise InvalidInput("texts", f"must be a list of strings, not one {type(texts).__name__}")
    for position, text in enumerate(texts):
        if not isinstance(text, str) or not text:
            raise InvalidInput("texts", f"item {position} is empty or not a string")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput("texts", f"item {position} contains a lone surrogate") from error
    return list(texts)


def at_least(field: str, value: float, least: float) -> None:
    """Raise `InvalidInput`, which names the field, if a value is below the minimum."""
    if not value >= least:
        raise InvalidInput(field, f"must be >= {least}, not {value!r}")


def rerank_checked(reranker: Reranker, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """Score at least one text with any reranker; `RerankerError` if its answer is not finite.

    Returns:
        (len(texts),) float32.
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
        InvalidInput: If the embedder refuses a text.
        EmbedderError: If the embedder fails, or returns another shape, another type, numbers
            that are not finite, or rows whose length is more than 0.001 away from 1.
    """
    import numpy as np  # noqa: PLC0415 - importing this package must not load it

    embed = embedder.embed
    if queries:  # isinstance(embedder, QueryEmbedder) would take 20 µs per query
        embed = getattr(embedder, "embed_queries", embed)
    try:
        answer = np.asarray(embed(texts))
    except (EmbedderError, InvalidInput, MissingExtra):
        raise
    except Exception as error:  # foreign code may raise anything
        raise EmbedderError(f"{embedder.name} failed: {type(error).__name__}: {error}") from error
    if answer.shape != (len(texts), embedder.dim) or answer.dtype.kind != "f":
        raise EmbedderError(
            f"{embedder.name} returned {answer.dtype} of shape {answer.shape}; "
            f"expected float32 of shape {(len(texts), embedder.dim)}"
        )
    vectors = np.ascontiguousarray(answer, dtype=np.float32)
    # As numpy.linalg.norm for each row, without its checks.
    lengths = np.sqrt(np.vecdot(vectors, vectors))
    if not all(abs(one - 1) <= LENGTH_TOLERANCE for one in lengths.tolist()):  # NaN is not
        raise EmbedderError(
            f"{embedder.name} returned vectors that are not finite and of unit length; "
            "divide each vector by its norm"
        )
    unit: NDArray[np.float32] = vectors / lengths[:, None]
    return unit


SPECS = '"default", None, an Embedder, "sentence-transformers:NAME_OR_PATH" or "openai:MODEL"'
OPENAI_URL = "https://api.openai.com/v1"
KNOWN_DIMS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
"""Length of the vectors of OpenAI's models. Source: platform.openai.com/docs/guides/embeddings."""


def check(spec: object) -> None:
    """Accept a setting that ``resolve`` understands; loads no model and asks no server.

    Raises:
        InvalidInput: If it is not one of ``SPECS``, or needs a key or setting that is missing.
        MissingExtra: If the embedder needs a package that is not installed.
    """
    if isinstance(spec, str):
        _check_name(spec)
    elif spec is not None:
        if not isinstance(spec, Embedder):
            raise InvalidInput("embedder", f"{type(spec).__name__} is not one of {SPECS}")
        if not isinstance(spec.name, str) or not spec.name:
            raise InvalidInput("embedder", "its name must be a non-empty string")
        if not isinstance(spec.dim, int) or spec.dim < 1:
            raise InvalidInput("embedder", f"its dim must be an integer >= 1, not {spec.dim!r}")


def openai_server() -> tuple[str, str | None]:
    """Return the address and the key from the environment; OpenAI's own address needs a key."""
    base_url = os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
    api_key = os.environ.get("OPENAI_API_KEY") or None
    if api_key is None and base_url == OPENAI_URL:
        raise InvalidInput(
            "embedder",
            "has no API key: set OPENAI_API_KEY, or set OPENAI_BASE_URL to a different server",
        )
    return base_url, api_key


def address_of(base_url: str) -> str:
    """Return the address without a final slash; it is part of the name, so it holds no secrets."""
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:  # a port that is not a number, brackets that do not close
        usable = None
    if not usable or parts.username or parts.password or parts.query:
        raise InvalidInput("base_url", "must be http(s)://host[:port]/path without a password")
    return base_url.rstrip("/")


def openai_dim(model: str) -> int:
    """Return the vector length of one of OpenAI's models; `InvalidInput` if it is not known."""
    if model not in KNOWN_DIMS:
        known = ", ".join(KNOWN_DIMS)
        raise InvalidInput(
            "dim",
            f"the vector length of {model!r:.60} is unknown (known models: {known}); pass "
            "OpenAIEmbedder(model, dim=...)",
        )
    return KNOWN_DIMS[model]


def _check_name(spec: str) -> None:
    family, _, model = spec.partition(":")
    if family == "sentence-transformers" and model:
        if find_spec("sentence_transformers") is None:
            raise MissingExtra("sentence-transformers", "sentence-transformers")
    elif family == "openai" and model:
        if find_spec("httpx") is None:
            raise MissingExtra("openai", "httpx")
        openai_server()
        openai_dim(model)
    elif spec != "default":
        raise InvalidInput("embedder", f"{spec!r:.60} is not one of {SPECS}")
