"""Limits of what one caller can use, so that the service stays available to others."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import Any, TypeVar

from memento.errors import InvalidInput, TooMuch

T = TypeVar("T")
LARGE = frozenset({"add_many", "keep", "documents.add", "store.import_from"})
"""Methods whose arguments may be long."""
_KEPT = 200
"""Maximum number of answers to calls with a key that are kept for each token."""
_KEPT_BYTES = 16 << 20
"""Maximum size of those together; the last one is kept whatever its size."""
_LONGEST_KEY = 255


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a service.

    Attributes:
        body: Largest body of a call, bytes.
        large: Largest body of a call that takes many memories or a file, bytes.
        k: Maximum number of hits that a token can ask for.
        query: Maximum length of a query of a token, characters.
        listed: Maximum number of memories or changes that a token can list at once.
        texts: Maximum number of texts that a token can have embedded at once.
        characters: Maximum length of these texts together.
        rate: Calls a second for each token; 0 for no limit.
        burst: Calls that a token can make at once.
        seconds: Maximum time of a call; its caller can allow it less.
        calls: Maximum number of calls that run or wait.
        each: Maximum number of these of one token.
        readers: Maximum number of calls that search at the same time, each for another token. They
            share the interpreter, so that none waits for a long search of another token.
        writers: Maximum number of calls that write at the same time; those share a commit.
        streams: Maximum number of open streams of changes; a quarter of them for one token.
    """

    body: int = 4 << 20
    large: int = 64 << 20
    k: int = 1_000
    query: int = 4_000
    listed: int = 10_000
    texts: int = 256
    characters: int = 65_536
    rate: float = 20.0
    burst: int = 100
    seconds: float = 30.0
    calls: int = 1_000
    each: int = 200
    readers: int = 4
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
        for name, most in (("k", self.k), ("limit", self.listed), ("wait", self.seconds)):
            if isinstance(value := said.get(name), int | float) and value > most:
                raise InvalidInput(name, f"must be at most {most:,g} when calling a service")
        query, texts = said.get("query"), said.get("texts")
        if isinstance(query, str) and len(query) > self.query:
            raise InvalidInput("query", f"must have at most {self.query:,} characters")
        if isinstance(texts, list) and len(texts) > self.texts:
            raise InvalidInput("texts", f"must be at most {self.texts:,} when calling a service")
        if isinstance(texts, list) and sum(map(_length, texts)) > self.characters:
            raise InvalidInput("texts", f"must have at most {self.characters:,} characters")


class Rate:
    """Limits the calls of each token by a token bucket."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, name: str) -> None:
        """Count a call of a token.

        Raises:
            TooMuch: If it has no calls left.

        >>> rate = Rate(2.0, 1, clock=lambda: 0.0)
        >>> rate.take("laptop")
        >>> rate.take("laptop")
        Traceback (most recent call last):
        memento.errors.TooMuch: more than 2 calls a second; wait 0.5 s
        """
        self._count(name, 1, least=1)

    def owe(self, name: str, calls: int) -> None:
        """Count as several calls one that was counted once and turned out to be heavy.

        It may leave a debt, of at most the calls that a token can make at once: otherwise the
        heaviest calls would be refused for ever.

        Raises:
            TooMuch: If the token is in debt already.
        """
        self._count(name, min(calls, self._burst), least=0)

    def _count(self, name: str, calls: int, *, least: int) -> None:
        """Count calls if at least so many are left."""
        if not self._rate or not calls:
            return
        now = self._clock()
        left, then = self._left.get(name, (float(self._burst), now))
        left = min(self._burst, left + (now - then) * self._rate)
        if left < least:
            wait = (least - left) / self._rate
            raise TooMuch(
                "calls", f"more than {self._rate:g} calls a second; wait {wait:.1f} s", wait
            )
        self._left[name] = (left - calls, now)


class Turns:
    """Threads that callers share by turns: each waits in a line of its own.

    Args:
        threads: How many threads there are.
        each: Maximum number of them that work for one caller at the same time.
        name: Prefix of their names.
    """

    def __init__(self, threads: int, each: int, name: str) -> None:
        self._pool, self._each = ThreadPoolExecutor(threads, name), each
        self._lines: dict[str, deque[tuple[Future[Any], Callable[[], Any]]]] = {}
        self._busy: Counter[str] = Counter()
        self._lock = Lock()

    def submit(self, caller: str, work: Callable[[], T]) -> Future[T]:
        """Have something done for a caller, after what it asked for before."""
        job: Future[T] = Future()
        with self._lock:
            self._lines.setdefault(caller, deque()).append((job, work))
            waits = self._busy[caller] >= self._each
            self._busy[caller] += not waits
        if not waits:
            self._pool.submit(self._serve, caller)
        return job

    def _serve(self, caller: str) -> None:
        """Do what is first in a caller's line; for the next, stand behind the other callers."""
        with self._lock:
            if (line := self._lines.get(caller)) is None:
                self._leave(caller)
                return
            job, work = line.popleft()
            if not line:
                del self._lines[caller]
        if job.set_running_or_notify_cancel():
            try:
                job.set_result(work())
            except BaseException as error:  # noqa: BLE001 - it is the caller's
                job.set_exception(error)
        self._pool.submit(self._serve, caller)

    def _leave(self, caller: str) -> None:
        """Count a thread less for a caller."""
        self._busy[caller] -= 1
        if not self._busy[caller]:
            del self._busy[caller]

    def close(self) -> None:
        """Wait for what runs; cancel the rest."""
        with self._lock:
            waiting = [job for line in self._lines.values() for job, _ in line]
            self._lines.clear()
        for job in waiting:
            job.cancel()
        self._pool.shutdown()


class Once:
    """Remembers answers by idempotency key, so that a repeated call is not carried out again.

    They are kept in RAM: after a restart, every key is new. Those of one token make no room for
    those of another.
    """

    def __init__(self) -> None:
        self._answers: dict[str, OrderedDict[str, tuple[bytes, asyncio.Future[bytes]]]] = {}

    async def answer(
        self, caller: str, key: str, said: bytes, call: Callable[[], Awaitable[bytes]]
    ) -> bytes:
        """Return the answer for a key; make the call if the key is new or its call has failed.

        Args:
            caller: Name of the token.
            key: The key.
            said: A digest of the call.
            call: Makes it.

        Raises:
            InvalidInput: If the key was used for another call, or is empty or too long.
        """
        if not 0 < len(key) <= _LONGEST_KEY:
            raise InvalidInput("Idempotency-Key", f"must be 1 to {_LONGEST_KEY} characters long")
        kept = self._answers.setdefault(caller, OrderedDict())
        known = kept.get(key)
        if known is not None and not _failed(known[1]):
            if known[0] != said:
                raise InvalidInput("Idempotency-Key", "was already used with a different call")
            return await asyncio.shield(known[1])
        future = asyncio.ensure_future(call())
        kept[key] = (said, future)
        future.add_done_callback(lambda _: _shorten(kept))
        return await asyncio.shield(future)


def _shorten(kept: OrderedDict[str, tuple[bytes, asyncio.Future[bytes]]]) -> None:
    """Drop the oldest answers until few enough are left."""
    sizes = [0 if not one.done() or _failed(one) else len(one.result()) for _, one in kept.values()]
    total = sum(sizes)
    for size in sizes[:-1]:
        if len(kept) > _KEPT or total > _KEPT_BYTES:
            kept.popitem(last=False)
            total -= size


def _length(text: object) -> int:
    return len(text) if isinstance(text, str) else 0


def _failed(future: asyncio.Future[Any]) -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)
