"""Fakes for your tests: no server, no waiting, and deterministic results.

They follow the contracts of the real components, so your tests remain valid with those::

    from datetime import timedelta

    from memento import MemoryManager
    from memento.testing import HashEmbedder, ManualClock

    clock = ManualClock()
    memory = MemoryManager(root=tmp_path, embedder=HashEmbedder(), clock=clock)
    memory.add("Rami prefers tea", "long")
    clock.advance(timedelta(days=30))
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from memento.embed import require_texts
from memento.errors import InvalidInput, SynthesisFailed
from memento.protocols import Reply, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["FailingLLM", "HashEmbedder", "ManualClock", "ScriptedLLM", "SlowLLM"]

NEW_YEAR = datetime(2025, 1, 1, tzinfo=UTC)
WORD = re.compile(r"\w+")


class HashEmbedder:
    """An embedder based on words rather than meaning: texts that share words are close.

    Each word adds or subtracts 1 at a position derived from its hash; the result is scaled to unit
    length. Case and word order do not matter. The result is the same on every machine and Python
    version. It is fast (about 10 µs for a short text) and thread-safe.

    Args:
        dim: Length of its vectors, >= 1. In short vectors, unrelated words collide: 64 is enough
            for dozens of texts, 512 for thousands.

    Attributes:
        name: ``hash-`` and the dimension.
        dim: Length of its vectors.

    Raises:
        InvalidInput: If ``dim`` is below 1.

    >>> tea, also_tea, bike = HashEmbedder().embed(["green tea", "tea, green!", "a red bike"])
    >>> bool(tea @ also_tea > tea @ bike)
    True
    """

    def __init__(self, dim: int = 64) -> None:
        if dim < 1:
            raise InvalidInput("dim", f"must be >= 1, not {dim}")
        self.dim = dim
        self.name = f"hash-{dim}"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts; see ``memento.protocols.Embedder``.

        Returns:
            (len(texts), dim) float32, each row of unit length.

        Raises:
            InvalidInput: If a text is empty or not a string.
        """
        wanted = require_texts(texts)
        vectors = np.zeros((len(wanted), self.dim), np.float32)
        for row, text in zip(vectors, wanted, strict=True):
            self._fill(row, text)
        return vectors

    def _fill(self, row: NDArray[np.float32], text: str) -> None:
        words = Counter(WORD.findall(text.casefold()))
        for word, count in words.items():
            place, sign = self._place(word)
            row[place] += sign * count
        norm = float(np.linalg.norm(row))
        if norm == 0:  # no words, or words that cancel out: take the whole text as one word
            place, norm = self._place(text)
            row[place] = 1
        row /= norm

    def _place(self, word: str) -> tuple[int, float]:
        number = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest())
        return (number >> 1) % self.dim, 1.0 if number & 1 else -1.0


class ManualClock:
    """A clock that does not move until you advance it.

    Args:
        start: The initial time, timezone-aware. Default: 1 January 2025 UTC.

    Raises:
        InvalidInput: If ``start`` has no time zone.

    >>> clock = ManualClock()
    >>> clock.advance(timedelta(hours=36))
    >>> clock().isoformat()
    '2025-01-02T12:00:00+00:00'
    """

    def __init__(self, start: datetime = NEW_YEAR) -> None:
        if start.tzinfo is None:
            raise InvalidInput("start", "requires a time zone: datetime(..., tzinfo=UTC)")
        self._now = start

    def __call__(self) -> datetime:
        """Return the current time, timezone-aware."""
        return self._now

    def advance(self, by: timedelta) -> None:
        """Advance the clock; a negative ``by`` sets it back, as can happen to real clocks."""
        self._now += by


class ScriptedLLM:
    """A language model that replies from a script, without a server or a key.

    It counts each word that was sent or received as a token.

    Args:
        replies: Its replies: JSON objects, one per call, after which it fails; or a function that
            returns the object for a ``Task``. An exception in the list is raised.
        name: Name of the model.

    Attributes:
        name: Name of the model.
        tasks: The tasks that it received, in order.

    >>> ScriptedLLM([{"items": []}]).complete(Task("observe", 1, "Say", "this", {})).value
    {'items': []}
    """

    def __init__(
        self, replies: Iterable[Any] | Callable[[Task], Any] = (), *, name: str = "scripted"
    ) -> None:
        self.name = name
        self.tasks: list[Task] = []
        self._made = replies if callable(replies) else None
        self._left = [] if callable(replies) else list(replies)
        self._lock = threading.Lock()

    def complete(self, task: Task) -> Reply:
        """Answer a task; see ``memento.protocols.Synthesizer``.

        Raises:
            SynthesisFailed: If the script has no more replies, or contains this error.
        """
        with self._lock:
            self.tasks.append(task)
            if self._made is None and not self._left:
                raise SynthesisFailed(
                    "error", f"{self.name}: the script has no more replies", calls=1
                )
            value = self._left.pop(0) if self._made is None else self._made(task)
        if isinstance(value, Exception):
            raise value
        sent = len(WORD.findall(task.instructions)) + len(WORD.findall(task.data))
        return Reply(value, self.name, sent, len(WORD.findall(str(value))))


class FailingLLM(ScriptedLLM):
    """A language model that always fails.

    Args:
        reason: The reason given in the ``SynthesisFailed`` that it raises.
        name: Name of the model.
    """

    def __init__(self, reason: str = "unreachable", *, name: str = "failing") -> None:
        super().__init__(lambda _task: SynthesisFailed(reason, f"{name}: {reason}", calls=1))
        self.name = name


class SlowLLM(ScriptedLLM):
    """A language model that replies only once it is released, so a test controls the delay.

    Args:
        replies: As for ``ScriptedLLM``.
        name: Name of the model.

    Attributes:
        asked: Set as soon as it receives a task.
        released: Set it to let it answer.
    """

    def __init__(
        self, replies: Iterable[Any] | Callable[[Task], Any] = (), *, name: str = "slow"
    ) -> None:
        super().__init__(replies, name=name)
        self.asked = threading.Event()
        self.released = threading.Event()

    def complete(self, task: Task) -> Reply:
        """Wait for ``released``, then answer; see ``memento.protocols.Synthesizer``."""
        self.asked.set()
        self.released.wait()
        return super().complete(task)
