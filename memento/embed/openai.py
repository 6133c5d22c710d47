"""Embed on a server with OpenAI's ``/embeddings`` endpoint: OpenAI, Ollama, vLLM, LM Studio ...

This is the only embedder that sends texts to another machine. It reads a key from the environment
only in ``from_env``.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from memento.embed.checked import (
    KNOWN_DIMS,
    OPENAI_URL,
    address_of,
    at_least,
    openai_dim,
    openai_server,
    require_texts,
)
from memento.embed.windows import MAX_WINDOWS, embed_windows, split
from memento.errors import EmbedderError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

RETRY_STATUSES = {408, 409, 429, 500, 502, 503, 504}
"""HTTP statuses after which a request is sent again."""
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0
"""Seconds before the first retry (doubled each time), and the longest wait a server may request."""
MESSAGE_LIMIT = 200
"""Characters of a server's error message that are passed on."""


class OpenAIEmbedder:
    """Embeds through an OpenAI-compatible HTTP endpoint.

    Args:
        model: Name of the model on the server.
        dim: Length of the vectors, >= 1. Optional for OpenAI's own models. For the
            ``text-embedding-3`` family, the server is asked for any length but the native one.
        base_url: Address up to and including ``/v1``.
        api_key: Sent as a bearer token; None to send no token. It is not read from the environment;
            see ``from_env``.
        timeout: Number of seconds to wait for a response, > 0.
        max_batch: Maximum number of texts per request, >= 1.
        max_chars: Maximum number of characters per window, >= 100; longer texts are sent as several
            windows (see ``memento.embed.windows``). The default fits OpenAI's limit of 8,191 tokens
            in any language; lower it for a server with a smaller limit.
        max_windows: Maximum number of windows of one text, >= 2.
        retries: Number of retries after status 408, 409, 429 or 5xx, or if there is no response, >=
            0. The delays are 0.5 s, 1 s, 2 s ..., or as specified by ``Retry-After``, up to 60 s.
        sleep: Function that waits for a number of seconds; for tests.

    Attributes:
        name: ``openai:``, the model, the vector length and the server, unless it is OpenAI's own.
        dim: Length of its vectors.

    Raises:
        MissingExtra: If httpx is not installed.
        InvalidInput: If an argument is out of range, or ``dim`` is missing.
    """

    def __init__(
        self,
        model: str,
        *,
        dim: int | None = None,
        base_url: str = OPENAI_URL,
        api_key: str | None = None,
        timeout: float = 30.0,
        max_batch: int = 64,
        max_chars: int = 2500,
        max_windows: int = MAX_WINDOWS,
        retries: int = 3,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        try:
            import httpx  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise MissingExtra("openai", "httpx") from error
        self._httpx = httpx
        self.dim = openai_dim(model) if dim is None else dim
        at_least("dim", self.dim, 1)
        at_least("timeout", timeout, 0.001)
        at_least("max_batch", max_batch, 1)
        at_least("max_chars", max_chars, 100)
        at_least("max_windows", max_windows, 2)
        at_least("retries", retries, 0)
        address = address_of(base_url)
        self._url = f"{address}/embeddings"
        server = "" if address == OPENAI_URL else f"@{address}"
        self.name = f"openai:{model}/{self.dim}{server}"
        self._request: dict[str, Any] = {"model": model, "encoding_format": "float"}
        if KNOWN_DIMS.get(model, self.dim) != self.dim:
            self._request["dimensions"] = self.dim
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._max_batch, self._max_chars, self._max_windows = max_batch, max_chars, max_windows
        self._timeout, self._retries, self._sleep = timeout, retries, sleep
        self._client: Any = None
        self._lock = threading.Lock()

    @classmethod
    def from_env(cls, model: str, *, dim: int | None = None) -> OpenAIEmbedder:
        """Take the key from ``OPENAI_API_KEY`` and the address from ``OPENAI_BASE_URL``.

        The default address is OpenAI's; other servers may not require a key.

        Raises:
            InvalidInput: If the address is OpenAI's and no key is set, or ``dim`` is missing.
            MissingExtra: If httpx is not installed.
        """
        base_url, api_key = openai_server()
        return cls(model, dim=dim, base_url=base_url, api_key=api_key)

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self.name!r})"

    def close(self) -> None:
        """Close the connections. The next ``embed`` opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts; see ``memento.protocols.Embedder``.

        Raises:
            InvalidInput: If a text is empty or not a string.
            EmbedderError: If the server cannot be reached, rejects the request, or does not return
                one finite vector of length ``dim`` for each text.
        """
        wanted = require_texts(texts)
        if not wanted:
            return np.empty((0, self.dim), np.float32)
        pieces = [
            [text[a:b] for a, b in split(len(text), self._max_chars, self._max_windows)]
            for text in wanted
        ]
        return embed_windows(pieces, self._in_batches)

    def _in_batches(self, pieces: list[str]) -> NDArray[np.float32]:
        starts = range(0, len(pieces), self._max_batch)
        return np.concatenate([self._batch(pieces[at : at + self._max_batch]) for at in starts])

    def _batch(self, pieces: list[str]) -> NDArray[np.float32]:
        response = self._post({**self._request, "input": pieces})
        try:
            items = sorted(response.json()["data"], key=lambda item: item["index"])
            places = [item["index"] for item in items]
            rows = np.array([item["embedding"] for item in items], dtype=np.float64)
        except (ValueError, KeyError, TypeError) as error:
            raise EmbedderError(
                f"{self._url}: the response is not a list of embeddings; is this an "
                "OpenAI-compatible server?"
            ) from error
        if places != list(range(len(pieces))):
            raise EmbedderError(
                f"{self._url}: the server returned vectors for {len(places)} of {len(pieces)} texts"
            )
        return self._unit(rows)

    def _unit(self, rows: NDArray[np.float64]) -> NDArray[np.float32]:
        if rows.ndim != 2 or rows.shape[1] != self.dim:  # noqa: PLR2004 - rows and columns
            raise EmbedderError(
                f"{self.name}: the server returned vectors of length {rows.shape[-1]} instead of "
                f"{self.dim}; set dim to the length of the model's vectors"
            )
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        if not (np.isfinite(norms) & (norms > 0)).all():
            raise EmbedderError(
                f"{self.name}: the server returned a vector that is zero or not finite; check "
                "the model on the server"
            )
        unit: NDArray[np.float32] = (rows / norms).astype(np.float32)
        return unit

    def _post(self, request: dict[str, Any]) -> Any:
        """Send a request, repeat it while that may help, and return the answer with status 200."""
        for attempt in range(self._retries + 1):
            response, problem = self._try(request)
            if response is not None and response.status_code == self._httpx.codes.OK:
                return response
            if response is not None and response.status_code not in RETRY_STATUSES:
                raise EmbedderError(f"{self._url}: {problem}; check the API key, model and address")
            wait = _wait(response, attempt)
            if attempt == self._retries or wait > LONGEST_WAIT:
                break
            self._sleep(wait)
        tried = f"{attempt + 1} attempt{'s' if attempt else ''}"
        raise EmbedderError(f"{self._url}: {problem} after {tried}; try again later")

    def _try(self, request: dict[str, Any]) -> tuple[Any, str]:
        try:
            response = self._connected().post(self._url, json=request, headers=self._headers)
        except self._httpx.RequestError as error:
            return None, f"no response ({type(error).__name__}: {error})"
        return response, f"HTTP {response.status_code} {_server_message(response)}".rstrip()

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = self._httpx.Client(timeout=self._timeout)
            return self._client


def _wait(response: Any, attempt: int) -> float:
    """Seconds before the next try: as the server asks, or twice the last wait."""
    headers = {} if response is None else response.headers
    asked, sent = headers.get("Retry-After", ""), headers.get("Date", "")
    with suppress(ValueError):
        return max(0.0, float(asked))
    with suppress(ValueError, TypeError):  # a date, by the server's own clock
        left = parsedate_to_datetime(asked) - parsedate_to_datetime(sent)
        return max(0.0, left.total_seconds())
    return float(min(FIRST_WAIT * 2**attempt, LONGEST_WAIT))


def _server_message(response: Any) -> str:
    """Return the message of an OpenAI-style error; the rest of the body may repeat the texts."""
    try:
        message = response.json()["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return ""
    return str(message)[:MESSAGE_LIMIT]
