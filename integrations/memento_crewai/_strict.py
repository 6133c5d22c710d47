"""CrewAI's own memory on top of memento: errors that stop a crew, and private records kept apart.

After any error of its storage CrewAI goes on without memory: its recall flow logs it and finds
nothing, its background saves tell the event bus, its agents catch what is left. In an outage of the
store, that is what a crew should do. Only ``HookAborted`` gets past its agents, so that is what an
error becomes that ``stops`` the crew, once the flow is through.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from crewai.events.event_bus import crewai_event_bus
from crewai.events.types.memory_events import MemoryQueryFailedEvent
from crewai.hooks.dispatch import HookAborted
from crewai.memory.types import MemoryMatch, MemoryRecord
from crewai.memory.unified_memory import Memory
from pydantic import PrivateAttr

from memento.errors import MementoError
from memento_crewai._calls import Call, calling, stops
from memento_crewai._records import PRIVATE, mark, visible

ORIGIN = "memento"
"""Name under which memento sends its events."""


class StrictMemory(Memory):
    """The class that a plain ``Memory`` over ``MementoStorage`` becomes.

    Errors that stop a crew are raised from recall and remember, past CrewAI's own except clauses.
    If a save in the background fails so, the error is raised by whatever waits for it next: a
    recall, or the end of the crew. An outage is one of them with ``MementoStorage(manager,
    strict=True)``.
    """

    _failures: list[MementoError] = PrivateAttr(default_factory=list)

    def recall(
        self,
        query: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        limit: int = 10,
        depth: Literal["shallow", "deep"] = "deep",
        source: str | None = None,
        include_private: bool = False,
    ) -> list[MemoryMatch]:
        """Find relevant records, as CrewAI's memory does.

        Raises:
            StoreError: If the store is closed or, if ``strict``, could not be searched; or if an
                earlier record could not be saved.
        """
        call = Call({} if include_private else visible(source))
        with self._raising(), calling(call):
            found = super().recall(query, scope, categories, limit, depth, source, include_private)
        if why := self._fatal(call.failures):
            crewai_event_bus.emit(
                self,
                MemoryQueryFailedEvent(
                    query=query, limit=limit, error=str(why), source_type=ORIGIN
                ),
            )
            raise unswallowed(why) from why
        return found

    def remember(
        self,
        content: str,
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> MemoryRecord | None:
        """Remember one thing, as CrewAI's memory does.

        Raises:
            StoreError: If it could not be saved.
        """
        with self._raising(), calling(_saving(source, private=private)):
            return super().remember(
                content, scope, categories, metadata, importance, source,
                private, agent_role, root_scope,
            )  # fmt: skip

    def remember_many(
        self,
        contents: list[str],
        scope: str | None = None,
        categories: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        importance: float | None = None,
        source: str | None = None,
        private: bool = False,
        agent_role: str | None = None,
        root_scope: str | None = None,
    ) -> list[MemoryRecord]:
        """Remember several things in the background, as CrewAI's memory does."""
        with calling(_saving(source, private=private, failures=self._failures)):
            return super().remember_many(
                contents, scope, categories, metadata, importance, source,
                private, agent_role, root_scope,
            )  # fmt: skip

    def drain_writes(self) -> None:
        """Wait for background saves to finish.

        Raises:
            StoreError: If some could not be saved; raised once.
        """
        super().drain_writes()
        failed = self._failures.copy()
        del self._failures[: len(failed)]
        if why := self._fatal(failed):
            raise unswallowed(why) from why

    def close(self) -> None:
        """Wait for background saves and stop them; the store stays open.

        Raises:
            StoreError: If some could not be saved.
        """
        try:
            self.drain_writes()
        finally:
            super().close()

    def _fatal(self, failures: Iterable[MementoError]) -> MementoError | None:
        """Return the first error that stops the crew."""
        strict = bool(getattr(self._storage, "strict", False))
        return next((one for one in failures if stops(one, strict=strict)), None)

    @contextmanager
    def _raising(self) -> Iterator[None]:
        try:
            yield
        except MementoError as error:
            if isinstance(error, HookAborted) or not self._fatal([error]):
                raise
            raise unswallowed(error) from error


def _saving(
    source: str | None, *, private: bool, failures: list[MementoError] | None = None
) -> Call:
    """Return the call of a save: it sees only records of its own source and privacy."""
    wanted = mark(source) if private else None
    return Call(
        {PRIVATE: [wanted]},
        source or None,
        saving=True,
        failures=[] if failures is None else failures,
    )


def unswallowed(error: Exception) -> Exception:
    """Return the error in a form that CrewAI does not swallow.

    After an error in its memory CrewAI goes on as if nothing had been remembered, unless the
    error is its own ``HookAborted``. The one returned is both, and carries the same facts.
    """
    kind = type(error)
    both = type(kind.__name__, (kind, HookAborted), {"__module__": kind.__module__})
    twin: Exception = both.__new__(both, *error.args)
    twin.args = error.args
    twin.__dict__.update(error.__dict__, reason=str(error), source=ORIGIN)
    return twin
