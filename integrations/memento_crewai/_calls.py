"""Facts that CrewAI's memory and its storage do not pass to each other.

CrewAI's recall and save flows call the storage without saying for whom, and log its errors as if
nothing had been found. Each of these calls runs inside a ``Call``: the storage reads from it which
records the call may see, and writes its errors into it. Context variables reach all of CrewAI's
threads.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from memento import MemoryManager
from memento.aio import GLANCE, settle
from memento.errors import OUTAGES, EmbedderError, MementoError, StoreError, TierUnavailable

P = ParamSpec("P")
T = TypeVar("T")

logger = logging.getLogger("memento.crewai")

TROUBLE = (StoreError, TierUnavailable, EmbedderError)
"""Errors of the store, not of its input: an invalid scope from an LLM does not stop a crew."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of CrewAI's memory.

    Attributes:
        sees: Metadata that every record found must have, as in ``where``.
        session: Source that every record found must have; None for any.
        saving: Whether the call saves; a search within it only looks for records to consolidate.
        failures: The errors that occurred, in order.
    """

    sees: Mapping[str, Any]
    session: str | None = None
    saving: bool = False
    failures: list[MementoError] = field(default_factory=list)


NOBODYS = Call(sees={})
"""Stands in where the storage is used without CrewAI's memory."""

_CALL: ContextVar[Call] = ContextVar("memento_crewai_call", default=NOBODYS)


def current() -> Call:
    """Return the current call."""
    return _CALL.get()


def stops(error: Exception, *, strict: bool) -> bool:
    """Return whether an error stops the crew.

    A store that is closed or cannot be written does. An outage, and an error that is not memento's,
    does so only if ``strict``. What is wrong with a text or a scope never does.
    """
    if isinstance(error, MementoError) and not isinstance(error, TROUBLE):
        return False
    return strict or (isinstance(error, TROUBLE) and not isinstance(error, OUTAGES))


@contextmanager
def calling(call: Call) -> Iterator[None]:
    """Run the block as part of a call, in whatever threads CrewAI starts for it."""
    token = _CALL.set(call)
    try:
        yield
    finally:
        _CALL.reset(token)


async def settled(manager: MemoryManager, wait: float) -> float:
    """Wait without a thread for the newest memories; return the ``wait`` for the search after it.

    Errors of the store are ignored here: that search meets them again and reports them to CrewAI.
    """
    try:
        return await settle(manager, wait)
    except TROUBLE:
        return min(wait, GLANCE)


def noted(method: Callable[P, T]) -> Callable[P, T]:
    """Record an error of the store before CrewAI can swallow it."""

    @wraps(method)
    def noting(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except TROUBLE as error:
            call = current()
            if call is not NOBODYS:
                logger.error("CrewAI's memory failed: %s", error)  # noqa: TRY400 - it is raised
                if not (call.saving and method.__name__ == "_search"):  # then it is saved as new
                    call.failures.append(error)
            raise

    return noting
