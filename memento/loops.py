"""Turns of several answers and one outcome, for agents that learn only later how well they did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar, cast
from uuid import uuid4

from memento.check import check_id, check_seconds, member, optional_name, shown
from memento.clock import from_micros
from memento.errors import InvalidInput
from memento.ledger.contract import Session, Work
from memento.lifecycle import loops
from memento.types import Draft, Memory, Retrieval, Source, Trust
from memento.views import View

SHOWN = 10
"""Hits of an answer that share in the outcome of its turn."""

T = TypeVar("T")
Ids = tuple[str, ...]


class _Manager(Protocol):
    """The methods of ``MemoryManager``, a room above, that a turn uses."""

    def retrieve(self, query: str, k: int | None, /, **options: Any) -> Retrieval:
        """Find memories."""
        ...

    def add_many(self, items: Sequence[Draft], /) -> list[Memory]:
        """Remember several texts."""
        ...


@dataclass(slots=True)
class Loop:
    """One turn: several answers, one outcome. Made by ``MemoryManager.loop``.

    As a context manager it is closed at the end, without an outcome unless one was given; an
    exception closes it without one.

    Attributes:
        id: Its id; with it another process can ``finalize`` the turn.
        session: Conversation it belongs to, or None.
        opened_at: When it was opened, UTC.
        expires_at: When it is closed without an outcome, UTC.
        closed: Whether it was closed with this object.
    """

    id: str
    session: str | None
    opened_at: datetime
    expires_at: datetime
    _memory: Loops = field(repr=False, compare=False)
    _note: Callable[[list[str]], None] = field(repr=False, compare=False)
    closed: bool = False

    def retrieve(self, query: str, k: int | None = 5, **options: Any) -> Retrieval:
        """Find memories as ``MemoryManager.retrieve`` does, and note what was shown.

        Raises:
            InvalidInput: If the turn is closed, or an argument cannot be accepted.
        """
        found = cast("_Manager", self._memory).retrieve(query, k, **options)
        self._note([hit.id for hit in found if not hit.shared][:SHOWN])
        return found

    def outcome(
        self, value: float, correction: str | None = None, *, source: Trust | str = Trust.USER
    ) -> Memory | None:
        """Say how well it went, and close the turn.

        Args:
            value: From -1, harmful, to 1, as wished. Each memory that was shown gets its share by
                its rank.
            correction: The text that would have been right; it is added as a memory.
            source: Who says so, a class of trust; see ``feedback``.

        Returns:
            The memory that was added, or None.

        Raises:
            InvalidInput: If the turn is closed, or an argument cannot be accepted.
        """
        self._memory.finalize(self, value, source=source)
        if correction is None:
            return None
        who = Source(member(Trust, "source", source))
        draft = Draft(correction, session=self.session, source=who)
        return cast("_Manager", self._memory).add_many([draft])[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.closed:
            self._memory.finalize(self)


class Loops(View):
    """The verbs about turns with an outcome: ``MemoryManager`` has them all."""

    def open_loop(self, session: str | None = None, *, timeout: float = 3600.0) -> Loop:
        """Open a turn, to be closed by ``finalize`` or by its own ``outcome``.

        It is kept on the disk: another process can close it. One that nobody closes expires
        without an outcome, since silence is no verdict.

        Args:
            session: Conversation it belongs to.
            timeout: Seconds until it expires, up to a day.

        Returns:
            The turn; ``Loop.retrieve`` notes what it shows.

        Raises:
            InvalidInput: If an argument cannot be accepted.
        """
        seconds, name = check_seconds("timeout", timeout), optional_name("session", session)
        key = uuid4().hex
        turn = self._write_loop(lambda work: loops.start(work, key, name, seconds))
        return Loop(
            id=turn.id,
            session=turn.session,
            opened_at=from_micros(turn.opened_at),
            expires_at=from_micros(turn.expires_at),
            _memory=self,
            _note=lambda ids: self._write_loop(lambda work: loops.show(work, key, ids)),
        )

    def loop(self, session: str | None = None, *, timeout: float = 3600.0) -> Loop:
        """Open a turn for a ``with`` statement: several answers, one outcome.

        Args:
            session: Conversation it belongs to.
            timeout: Seconds until it expires, up to a day.

        Raises:
            InvalidInput: If an argument cannot be accepted.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     kept = memory.add("Deploys go through the blue pipeline")
        ...     with memory.loop(session="s7") as turn:
        ...         found = turn.retrieve("how do deploys go?")
        ...         turn.outcome(0.8)
        ...     round(memory.strength(kept.id).worth, 2)
        0.16
        """
        return self.open_loop(session, timeout=timeout)

    def finalize(
        self,
        loop: Loop | str,
        outcome: float | None = None,
        *,
        source: Trust | str = Trust.USER,
    ) -> Ids:
        """Close a turn; its outcome goes to the memories that it showed.

        Args:
            loop: The turn, or its id.
            outcome: How well it went, from -1, harmful, to 1, as wished; None for no verdict.
            source: Who says so, a class of trust; see ``feedback``.

        Returns:
            Ids of the memories that have a share in the outcome, best first.

        Raises:
            InvalidInput: If this namespace has no such turn or it is closed, or an argument cannot
                be accepted.
        """
        who, value = member(Trust, "source", source), _outcome(outcome)
        key = loop.id if isinstance(loop, Loop) else loop
        if not isinstance(key, str):
            raise InvalidInput("loop", "must be a Loop or its id")
        check_id(key, "loop")
        config = self._engine.config.dynamics
        shared = self._write_loop(lambda work: loops.finish(work, key, value, who, config))
        if isinstance(loop, Loop):
            loop.closed = True
        return tuple(shared)

    def _write_loop(self, job: Callable[[Work], T]) -> T:
        """Run one transaction of the namespace."""
        engine, now = self._engine, self._engine.now()

        def run(session: Session) -> T:
            ns = engine.ledger.find_namespace(self._namespace)
            if ns is None:
                ns = engine.new_namespace(session, self._namespace)
            return job(Work(session, ns, now, engine.rules))

        return engine.ledger.write(run)


def _outcome(value: float | None) -> float | None:
    if value is None:
        return None
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not -1 <= value <= 1:  # NaN is in no range
        raise InvalidInput("outcome", f"must be in [-1, 1], not {shown(value)}")
    return float(value)
