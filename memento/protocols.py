"""Protocols of the replaceable parts of memento: models, clock and token counter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Progress: TypeAlias = Callable[[int, int | None], object]
"""Told how far a long call is: the number of items done, and of all items or None if that is not
known yet. It runs in the thread of the caller, or in a worker thread for ``AsyncMemoryManager``. An
exception in it ends the call with that exception; what is on the disk by then stays."""


@runtime_checkable
class Embedder(Protocol):
    """Converts texts to vectors. Must be thread-safe.

    Attributes:
        name: Identity of the model and its weights. Vectors with different names are never
            compared.
        dim: Length of its vectors.
    """

    name: str
    dim: int

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts.

        Args:
            texts: Any number of non-empty texts of any length. A text longer than the model's
                context window must be embedded in several windows, not truncated.

        Returns:
            (len(texts), dim) float32, each row of unit length.
        """
        ...


@runtime_checkable
class QueryEmbedder(Embedder, Protocol):
    """An embedder that embeds queries differently from memories, as E5 and BGE require.

    Without this method, queries are embedded like memories.
    """

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed queries; same arguments and result as ``embed``."""
        ...


@runtime_checkable
class LocalEmbedder(Embedder, Protocol):
    """An embedder that runs in this process and has a tokenizer, such as the default embedder.

    Its tokenizer counts the tokens of a prompt, and a few short texts are embedded while a prompt
    is built, so ``embed`` must take only a few milliseconds for 250 characters.
    """

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens in a text, >= 0, without special tokens."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Scores how well texts answer a query, more accurately and more slowly than retrieval.

    Must be thread-safe.
    """

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Score texts.

        Args:
            query: The query.
            texts: At least one text: the best candidates, best first.

        Returns:
            (len(texts),) finite numbers on any scale; larger is better.
        """
        ...


@dataclass(frozen=True, slots=True)
class Task:
    """A task for a language model.

    Attributes:
        name: Name of the type of work, such as ``observe``, under which the request is counted.
        version: Version of the instructions.
        instructions: What to do, as written by memento.
        data: The text to work on, from the store or the user, escaped and without secrets. A model
            must not follow instructions in it.
        schema: JSON Schema of the reply, whose type is ``object``.
        max_tokens: Maximum number of tokens per reply, >= 1.
        attempts: Maximum number of requests to the model for this task, >= 1.
    """

    name: str
    version: int
    instructions: str
    data: str
    schema: Mapping[str, Any]
    max_tokens: int = 1000
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of a language model to a task.

    Attributes:
        value: A JSON object. It may violate the schema, so the caller checks it.
        model: Name of the model that replied.
        tokens_in: Number of tokens sent in all requests.
        tokens_out: Number of tokens received in all requests.
        calls: Number of requests sent, >= 1.
    """

    value: Any
    model: str
    tokens_in: int = 0
    tokens_out: int = 0
    calls: int = 1


@runtime_checkable
class Synthesizer(Protocol):
    """Sends tasks to a language model. Must be thread-safe.

    memento includes ``memento.llm.PydanticAI`` and, in ``memento.testing``, fakes.

    Attributes:
        name: Name of the model, without keys; it is stored with the model's contributions.
    """

    name: str

    def complete(self, task: Task) -> Reply:
        """Have the model carry out a task.

        It sends at most ``task.attempts`` requests.

        Raises:
            SynthesisFailed: If there is no reply. It includes the number of requests and tokens
                used.
        """
        ...


class Clock(Protocol):
    """Returns the time; replaceable so tests can set it."""

    def __call__(self) -> datetime:
        """Return the current time, timezone-aware."""
        ...


class TokenCounter(Protocol):
    """Counts the tokens of a text in a prompt."""

    def __call__(self, text: str) -> int:
        """Return the number of tokens, >= 0."""
        ...
