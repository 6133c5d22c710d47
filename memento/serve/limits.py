"""Limits of what one caller can use, so that the service stays available to others."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar

from memento.errors import InvalidInput, TooMuch

T = TypeVar("T")

LARGE = frozenset({"add_many", "keep", "documents.add", "store.import_from"})
"""Methods whose arguments may be long."""
_KEPT = 1_000
"""Maximum number of answers to calls with a key that are kept."""
_LONGEST_KEY = 255


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a service.

    Attributes:
        body: Largest body of a call, bytes.
        large: Largest body of a call that takes many memories or a file, bytes.
        k: Maximum number of hits that a token can ask for.
        query: Maximum length of a query of a token, characters.
        rate: Calls a second for each token; 0 for no limit.
        burst: Calls that a token can make at once.
        seconds: Maximum time of a call; its caller can allow it less.
        calls: Maximum number of calls that run or wait.
        readers: Maximum number of calls that search at the same time. A search holds the
            interpreter lock, so more of them would only slow each other down.
        writers: Maximum number of calls that write at the same time; those share a commit.
        streams: Maximum number of open streams of changes.
    """

    body: int = 4 << 20
    large: int = 64 << 20
    k: int = 1_000
    query: int = 4_000
    rate: float = 20.0
    burst: int = 100
    seconds: float = 30.0
    calls: int = 1_000
    readers: int = 1
    writers: int = 64
    streams: int = 100

    def body_of(self, method: str) -> int:
        """Return the largest body of a call of a method."""
        return self.large if method in LARGE else self.body

    def check(self, said: Mapping[str, Any]) -> None:
        """Check the arguments of a call by a token.

        Raises:
            InvalidInput: If it asks for too much.
        """
        k, query = said.get("k"), said.get("query")
        if isinstance(k, int) and k > self.k:
            raise InvalidInput("k", f"must be at most {self.k:,} when calling a service")
        if isinstance(query, str) and len(query) > self.query:
            raise InvalidInput("query", f"must have at most {self.query:,} characters")


class Rate:
    """Limits the calls of each token by a token bucket."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, name: str) -> None:
        """Count one call of a token.

        Raises:
            TooMuch: If it has no calls left.

        >>> rate = Rate(2.0, 1, clock=lambda: 0.0)
        >>> rate.take("laptop")
        >>> rate.take("laptop")
        Traceback (most recent call last):
        memento.errors.TooMuch: more than 2 calls a second; wait 0.5 s
        """
        if not self._rate:
            return
        now = self._clock()
        left, then = self._left.get(name, (float(self._burst), now))
        left = min(self._burst, left + (now - then) * self._rate)
        if left < 1:
            wait = (1 - left) / self._rate
            raise TooMuch(
                "calls", f"more than {self._rate:g} calls a second; wait {wait:.1f} s", wait
            )
        self._left[name] = (left - 1, now)


class Once:
    """Remembers answers by idempotency key, so that a repeated call is not carried out again.

    They are kept in RAM: after a restart, every key is new.
    """

    def __init__(self) -> None:
        self._answers: OrderedDict[tuple[str, str], tuple[bytes, asyncio.Future[Any]]] = (
            OrderedDict()
        )

    async def answer(
        self, caller: str, key: str, said: bytes, call: Callable[[], Awaitable[T]]
    ) -> T:
        """Return the answer for a key; make the call if the key is new or its call has failed.

        Raises:
            InvalidInput: If the key was used for another call, or is empty or too long.
        """
        if not 0 < len(key) <= _LONGEST_KEY:
            raise InvalidInput("Idempotency-Key", f"must be 1 to {_LONGEST_KEY} characters long")
        known = self._answers.get((caller, key))
        if known is not None and not _failed(known[1]):
            if known[0] != said:
                raise InvalidInput("Idempotency-Key", "was already used with a different call")
            found: T = await asyncio.shield(known[1])
            return found
        future = asyncio.ensure_future(call())
        self._answers[caller, key] = (said, future)
        if len(self._answers) > _KEPT:
            self._answers.popitem(last=False)
        return await asyncio.shield(future)


def _failed(future: asyncio.Future[Any]) -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)
