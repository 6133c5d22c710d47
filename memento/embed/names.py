"""Check the name of an embedder without loading a model, so that a typo is reported at once."""

from __future__ import annotations

import os
from importlib.util import find_spec
from urllib.parse import urlsplit

from memento.errors import InvalidInput, MissingExtra
from memento.protocols import Embedder

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
        _check_object(spec)


def openai_server() -> tuple[str, str | None]:
    """Return the address and the key from the environment.

    Raises:
        InvalidInput: If the address is OpenAI's and there is no key.
    """
    base_url = os.environ.get("OPENAI_BASE_URL") or OPENAI_URL
    api_key = os.environ.get("OPENAI_API_KEY") or None
    if api_key is None and base_url == OPENAI_URL:
        raise InvalidInput(
            "embedder", "has no key: set OPENAI_API_KEY, or OPENAI_BASE_URL to another server"
        )
    return base_url, api_key


def address_of(base_url: str) -> str:
    """Return the address without a final slash; it is part of the name, so it holds no secrets.

    Raises:
        InvalidInput: If it is no address, or has a password.
    """
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:  # a port that is not a number, brackets that do not close
        usable = None
    if not usable or parts.username or parts.password or parts.query:
        raise InvalidInput("base_url", "must be http(s)://host[:port]/path without a password")
    return base_url.rstrip("/")


def openai_dim(model: str) -> int:
    """Return the vector length of one of OpenAI's models.

    Raises:
        InvalidInput: If the length is not known.
    """
    if model not in KNOWN_DIMS:
        known = ", ".join(KNOWN_DIMS)
        raise InvalidInput(
            "dim",
            f"the vector length of {model!r:.60} is not known, only those of {known}; for another"
            " model pass OpenAIEmbedder(model, dim=...)",
        )
    return KNOWN_DIMS[model]


def _check_name(spec: str) -> None:
    family, _, model = spec.partition(":")
    if family == "sentence-transformers" and model:
        _installed("sentence_transformers", "sentence-transformers", "sentence-transformers")
    elif family == "openai" and model:
        _installed("httpx", "openai", "httpx")
        openai_server()
        openai_dim(model)
    elif spec != "default":
        raise InvalidInput("embedder", f"{spec!r:.60} is not one of {SPECS}")


def _installed(module: str, extra: str, package: str) -> None:
    if find_spec(module) is None:
        raise MissingExtra(extra, package)


def _check_object(spec: object) -> None:
    if not isinstance(spec, Embedder):
        raise InvalidInput("embedder", f"{type(spec).__name__} is not one of {SPECS}")
    if not isinstance(spec.name, str) or not spec.name:
        raise InvalidInput("embedder", "its name must be a non-empty string")
    if not isinstance(spec.dim, int) or spec.dim < 1:
        raise InvalidInput("embedder", f"its dim must be an integer >= 1, not {spec.dim!r}")
