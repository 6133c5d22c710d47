"""Rate memories, and read the belief and strength that result.

A verdict is one event in the log; see ``memento.write.verdicts`` for who may give one, and
``memento.dynamics`` for what it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeAlias, TypeVar
from uuid import uuid4

from memento.admit.redact import Redaction
from memento.base.clock import from_micros
from memento.check import (
    MAX_INTEGER,
    check_count,
    check_flag,
    check_id,
    check_number,
    check_seconds,
    check_word,
    member,
    optional_name,
    storable,
    type_name,
)
from memento.dynamics import formulas as beliefs
from memento.dynamics.fold import SHOWN_FIRST, VERDICTS, eligibility
from memento.dynamics.formulas import Lesson
from memento.errors import InvalidInput
from memento.ledger import learnt_weights, memories, strength_fold
from memento.ledger.contract import Transaction, Work
from memento.ledger.rows import Row
from memento.ledger.usage_events import Happening, alias, standing_ones
from memento.types import (
    Belief,
    Draft,
    Event,
    Evidence,
    Hit,
    Memory,
    Retrieval,
    Source,
    Strength,
    Trust,
)
from memento.views import Part
from memento.write import verdicts
from memento.write.verdicts import Verdict, cited

MAX_TARGETS = 100
"""Maximum number of memories that one call may judge."""
MAX_NOTE = 1_000
"""Maximum length of a note, characters."""
LEAST_SHARE = 0.5
"""Minimum share in an answer with which a hit counts as used when the whole answer was useful."""

Target: TypeAlias = str | Hit | Retrieval | Sequence[str | Hit]
"""The subject of a verdict: a memory by its id or as a hit, several, or a whole answer."""


T = TypeVar("T")

SHOWN = 10
"""Hits of an answer that share in the outcome of its turn."""


class Feedback(Part):
    """Rates memories and reports the results; available as ``memory.feedback``."""

    def rate(
        self,
        target: Target,
        *,
        useful: bool | None = None,
        verdict: str | None = None,
        source: Trust | str = Trust.USER,
        note: str | None = None,
    ) -> list[Belief]:
        """Rate memories.

        The user's verdicts count in full. An agent's verdicts count half, at most once a day per
        memory, and never raise belief, because an agent cannot vouch for itself. Verdicts from
        tools, the web and imports are logged but have no effect. Repeating a verdict within an hour
        has no effect.

        Useful memories rank higher in later answers, and wrong memories rank lower. Each namespace
        learns from rated hits how much past use should affect ranking, so pass the ``Hit`` rather
        than its id.

        Args:
            target: A memory id, a ``Hit``, a list of up to 100 of these, or a whole ``Retrieval``.
                If a whole ``Retrieval`` was useful, its first three hits count as used; otherwise,
                its first five hits count as ignored. Shared hits are skipped, and those that have
                since been hidden or erased.
            useful: True for ``used``, False for ``ignored``. Pass either ``useful`` or ``verdict``.
            verdict: ``used``, ``confirmed`` (it is right), ``ignored``, ``wrong`` or ``harmful``.
            source: Trust class of the rater.
            note: The reason, up to 1,000 characters; it is stored with the verdict.

        Returns:
            The resulting ``Belief`` for each memory, in the order in which the memories were
            passed.

        Raises:
            InvalidInput: If an argument is invalid, or a memory is quarantined or forgotten.
            NotFound: If no memory in this namespace has this id.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     kept = memory.add("The office opens at nine")
        ...     [belief] = memory.feedback.rate(kept.id, verdict="wrong", note="It opens at eight")
        ...     round(belief.prior, 2), round(belief.mean, 2)
        (0.8, 0.57)
        """
        kind, who = _verdict(useful, verdict), member(Trust, "source", source)
        why = self._note(note)
        answer = isinstance(target, Retrieval)
        named = self._named(target, kind)
        lessons = _lessons(target) if kind == Event.USED else {}
        beside = _beside(target)
        given = [
            Verdict(name, kind, who, rank, why, lessons.get(name), beside.get(name, ()))
            for name, rank in named
        ]
        return self._give(given, lenient=answer)

    def cite(
        self, retrieval: Retrieval, answer: str, *, source: Trust | str = Trust.AGENT
    ) -> tuple[str, ...]:
        """Rate hits as used or ignored, based on the words they share with an answer.

        A hit counts as used if the answer repeats at least half of the words that distinguish it
        from the other hits, and at least two words or one number, identifier or name. If any hit
        was used, the unused hits among the first five count as ignored. Shared hits are compared
        too, but not rated.

        Args:
            retrieval: The result of ``retrieve`` that was shown to the model.
            answer: The model's answer.
            source: Trust class of the answer's author.

        Returns:
            Ids of the hits that were used, best first.

        Raises:
            InvalidInput: If an argument is invalid.
        """
        for name, value, kind in (("retrieval", retrieval, Retrieval), ("answer", answer, str)):
            if not isinstance(value, kind):
                raise InvalidInput(name, f"must be a {kind.__name__}, not {type_name(value)}")
        who = member(Trust, "source", source)
        hits = [hit if hit.shared else self._own(hit) for hit in retrieval][:MAX_TARGETS]
        used = cited(retrieval.query, answer, [hit.text for hit in hits])
        if not any(used):
            return ()
        first = SHOWN_FIRST
        most = learnt_weights.MOST_BESIDE
        others = tuple(
            hit.id
            for hit, rests in zip(hits[:most], used[:most], strict=True)
            if not rests and not hit.shared
        )
        lessons = _lessons(hits)
        given = [
            Verdict(hit.id, Event.USED, who, lesson=lessons.get(hit.id), beside=others)
            if rests
            else Verdict(hit.id, Event.IGNORED, who, rank)
            for rank, (hit, rests) in enumerate(zip(hits, used, strict=True), start=1)
            if (rests or rank <= first) and not hit.shared
        ]
        self._give(given, lenient=True)
        return tuple(
            hit.id for hit, rests in zip(hits, used, strict=True) if rests and not hit.shared
        )

    def retract(self, *, event: int | None = None, source: Trust | str | None = None) -> int:
        """Retract verdicts so they no longer have any effect.

        Args:
            event: Event number of a single verdict; see ``Evidence.event``.
            source: Trust class; all of its verdicts in this namespace are retracted.

        Returns:
            Number of verdicts retracted; 0 if they had already been retracted.

        Raises:
            InvalidInput: Unless exactly one argument is given, or if the verdict does not exist.
        """
        if (event is None) == (source is None):
            raise InvalidInput("event", "pass either event or source")
        who = None if source is None else member(Trust, "source", source)
        if who is None:
            check_count("event", event, most=MAX_INTEGER)
        engine, ns = self._view.engine, self._view.ns
        number = 0 if ns is None else ns
        found = engine.ledger.read(
            lambda c: (
                verdicts.of_event(c, number, event or 0)
                if who is None
                else verdicts.of_source(c, number, who)
            ),
            space=ns,
        )
        if ns is not None and found:
            config = engine.config
            engine.in_bites(
                ns,
                found,
                lambda work, some: verdicts.retract(work, some, config),
                engine.now(),
                verb="retract",
                alone=True,
            )
            while engine.ledger.write(lambda c: verdicts.fold(c, config)):
                pass  # until all are folded again, so that no answer counts the verdicts
        return len(found)

    def belief(self, id: str) -> Belief:  # noqa: A002 - the field's own name
        """Return the probability that a memory is correct, and every verdict on it.

        Raises:
            NotFound: If no memory in this namespace has this id.
            StoreUnusable: If the memory is damaged.
        """
        return self._look(id, self._belief)

    def strength(self, id: str) -> Strength:  # noqa: A002 - the field's own name
        """Return how much a memory has been used and how far it has faded.

        A memory that was never used, rated or shown has a ``use`` and a ``worth`` of 0, regardless
        of its age.

        Raises:
            NotFound: If no memory in this namespace has this id.
            StoreUnusable: If the memory is damaged.
        """
        return self._look(id, self._strength)

    def _look(self, memory_id: str, describe: Callable[[Transaction, Row, int], T]) -> T:
        ns, now = self._view.known_namespace(check_id(memory_id)), self._view.engine.now()
        return self._view.engine.ledger.read(
            lambda c: describe(c, memories.by_id(c, ns, memory_id), now), space=ns
        )

    def _belief(self, session: Transaction, row: Row, now: int) -> Belief:
        _, found, told = strength_fold.look(session, row, now, self._view.engine.config.dynamics)
        standing = {one.event for one in standing_ones(told)}
        return Belief(
            id=row.id,
            mean=beliefs.mean(found.belief),
            prior=beliefs.mean(beliefs.prior(row.trust)),
            supporting=found.belief[0],
            opposing=found.belief[1],
            evidence=tuple(
                _evidence(session, one, retracted=one.event not in standing)
                for one in told
                if one.kind != Event.RETRACTED
            ),
        )

    def _strength(self, session: Transaction, row: Row, now: int) -> Strength:
        state, found, _ = strength_fold.look(session, row, now, self._view.engine.config.dynamics)
        return Strength(
            id=row.id,
            uses=state.uses,
            used_at=None if state.used_at is None else from_micros(state.used_at),
            need=found.need,
            use=found.use,
            retention=found.retention,
            stability=state.stability,
            short=found.short,
            long=found.long,
            worth=state.worth,
        )

    def _give(self, given: Sequence[Verdict], *, lenient: bool) -> list[Belief]:
        """Write verdicts in one transaction, and return the resulting beliefs."""
        engine, now = self._view.engine, self._view.engine.now()
        if not given or (self._view.ns is None and lenient):
            return []
        ns = self._view.known_namespace(given[0].memory_id)

        def job(connection: Transaction) -> tuple[list[Row], list[Belief]]:
            work = Work(connection, ns, now, engine.rules)
            rows = verdicts.give(work, given, engine.config, lenient=lenient)
            return rows, [self._belief(connection, row, now) for row in rows]

        rows, beliefs = engine.ledger.write(job)  # it folds the events of the whole store
        engine.changed(ns, rows)
        return beliefs

    def _named(self, target: Target, kind: Event) -> list[tuple[str, int | None]]:
        """Return the ids that a verdict is about, each with its rank if it is about an answer."""
        if isinstance(target, Retrieval):
            if kind not in (Event.USED, Event.IGNORED):
                raise InvalidInput(
                    "target", f"pass the memory that is {kind}, not the whole answer"
                )
            first = SHOWN_FIRST
            return [
                (self._own(hit).id, rank)
                for rank, hit in enumerate(target, start=1)
                if not hit.shared
                and (eligibility(rank) >= LEAST_SHARE if kind == Event.USED else rank <= first)
            ]
        several = [target] if isinstance(target, str | Hit) else target
        if not isinstance(several, Sequence) or len(several) > MAX_TARGETS:
            problem = f"must be an id, a Hit, a Retrieval or up to {MAX_TARGETS} ids or hits"
            raise InvalidInput("target", problem)
        ids = [
            self._own(one).id if isinstance(one, Hit) else check_id(one, "target")
            for one in several
        ]
        return [(name, None) for name in dict.fromkeys(ids)]

    def _own(self, hit: Hit) -> Hit:
        """Check that a hit is of this namespace."""
        if hit.memory.namespace != self._view.namespace:
            where = "/".join(hit.memory.namespace)
            raise InvalidInput("target", f"{hit.id!r} belongs to the namespace {where}")
        return hit

    def _note(self, note: str | None) -> str | None:
        """Check a note, and remove secrets from it."""
        if note is None:
            return None
        if not isinstance(note, str) or not 0 < len(note) <= MAX_NOTE:
            raise InvalidInput("note", f"must be a string of 1 to {MAX_NOTE:,} characters")
        return Redaction(self._view.engine.config.secrets).text("note", storable("note", note))

    def open_loop(self, session: str | None = None, *, timeout: float = 3600.0) -> Loop:
        """Open a turn; ``finalize`` or ``Loop.outcome`` closes it.

        The turn is stored on disk, so another process can close it. If it is not closed, it expires
        without an outcome.

        Args:
            session: Conversation that it belongs to.
            timeout: Seconds until it expires, up to a day.

        Returns:
            The turn; use ``Loop.retrieve`` to search within it.

        Raises:
            InvalidInput: If an argument is invalid.
        """
        seconds, name = check_seconds("timeout", timeout), optional_name("session", session)
        key = uuid4().hex
        turn = self._view.write(lambda work: verdicts.start(work, key, name, seconds))
        return Loop(
            id=turn.id,
            session=turn.session,
            opened_at=from_micros(turn.opened_at),
            expires_at=from_micros(turn.expires_at),
            _feedback=self,
        )

    def show(self, loop: Loop | str, ids: Sequence[str]) -> None:
        """Record which memories were shown in a turn; ``Loop.retrieve`` does this automatically.

        Args:
            loop: The turn, or its id.
            ids: Ids of memories in this namespace, best first; ids that no longer exist are
                skipped.

        Raises:
            InvalidInput: If this namespace has no such turn, the turn is closed, or an argument is
                invalid.
        """
        key = _key(loop)
        if not isinstance(ids, Sequence):
            raise InvalidInput("ids", f"must be a list of ids, not {type_name(ids)}")
        several = [check_id(one, "ids") for one in ids][:SHOWN]
        self._view.write(lambda work: verdicts.show(work, key, several))

    def loop(self, session: str | None = None, *, timeout: float = 3600.0) -> Loop:
        """Open a turn in a ``with`` statement to rate several answers with a single outcome.

        Args:
            session: Conversation that it belongs to.
            timeout: Seconds until it expires, up to a day.

        Raises:
            InvalidInput: If an argument is invalid.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     kept = memory.add("Deploys go through the blue pipeline")
        ...     with memory.feedback.loop(session="s7") as turn:
        ...         found = turn.retrieve("how do deploys go?")
        ...         turn.outcome(0.8)
        ...     round(memory.feedback.strength(kept.id).worth, 2)
        0.16
        """
        return self.open_loop(session, timeout=timeout)

    def finalize(
        self, loop: Loop | str, outcome: float | None = None, *, source: Trust | str = Trust.USER
    ) -> tuple[str, ...]:
        """Close a turn and apply its outcome to the memories that were shown in it.

        Args:
            loop: The turn, or its id.
            outcome: Outcome of the turn, from -1 (harmful) to 1 (as desired); None for no verdict.
            source: Trust class of the person or program that gives the outcome; see ``rate``.

        Returns:
            Ids of the memories to which the outcome was applied, best first.

        Raises:
            InvalidInput: If this namespace has no such turn, the turn is closed, or an argument is
                invalid.
        """
        who = member(Trust, "source", source)
        value = None if outcome is None else check_number("outcome", outcome, -1.0, 1.0)
        key = _key(loop)
        config = self._view.engine.config.dynamics
        shared = self._view.write(
            lambda work: verdicts.finish(work, key, value, who, config), alone=True
        )
        if isinstance(loop, Loop):
            loop.closed = True
        return tuple(shared)


def _key(loop: Loop | str) -> str:
    """Return the id of a turn."""
    key = loop.id if isinstance(loop, Loop) else loop
    if not isinstance(key, str):
        raise InvalidInput("loop", "must be a Loop or its id")
    return check_id(key, "loop")


def _hits(target: Target) -> list[Hit]:
    """Return the hits that a verdict is about."""
    named = [target] if isinstance(target, str | Hit) else target
    return [hit for hit in named if isinstance(hit, Hit)]


def _lessons(target: Target) -> dict[str, Lesson]:
    """Return what the use of each hit of an answer teaches, by the id of the hit."""
    return {
        hit.id: Lesson(hit.beside.ids.index(hit.id), hit.beside.sums, hit.beside.uses)
        for hit in _hits(target)
        if hit.beside and hit.id in hit.beside.ids
    }


def _beside(target: Target) -> dict[str, tuple[str, ...]]:
    """Return for each rated hit, by id, the other first hits of its answer.

    Empty for a whole answer, of which several hits were used.
    """
    hits = [] if isinstance(target, Retrieval) else _hits(target)
    named = {hit.id for hit in hits}
    return {
        hit.id: tuple(one for one in hit.beside.ids if one not in named)
        for hit in hits
        if hit.beside
    }


def _verdict(useful: bool | None, verdict: str | None) -> Event:
    """Return the verdict, given in one of two ways."""
    if (useful is None) == (verdict is None):
        raise InvalidInput("verdict", "pass either useful or verdict")
    if useful is not None:
        return Event.USED if check_flag("useful", useful) else Event.IGNORED
    return Event(check_word("verdict", verdict, VERDICTS))


def _evidence(session: Transaction, one: Happening, *, retracted: bool) -> Evidence:
    note = one.detail.get("note")
    return Evidence(
        event=alias(session, one),
        at=from_micros(one.at),
        verdict=one.kind,
        source=Trust(one.source) if one.source in tuple(Trust) else None,
        note=note if isinstance(note, str) else None,
        retracted=retracted,
    )


@dataclass(slots=True)
class Loop:
    """A turn with several answers and a single outcome, created by ``Feedback.loop``.

    When it is used as a context manager, the turn is closed at the end of the block, without an
    outcome unless ``outcome`` was called.

    Attributes:
        id: Its id; another process can pass it to ``finalize``.
        session: Conversation that it belongs to, or None.
        opened_at: When it was opened, UTC.
        expires_at: When it expires without an outcome, UTC.
        closed: Whether it was closed through this object.
    """

    id: str
    session: str | None
    opened_at: datetime
    expires_at: datetime
    _feedback: Feedback = field(repr=False, compare=False)
    closed: bool = False

    def retrieve(self, query: str, k: int | None = 5, **options: Any) -> Retrieval:
        """Find memories like ``MemoryManager.retrieve``, and record what was shown.

        Raises:
            InvalidInput: If the turn is closed, or an argument cannot be accepted.
        """
        found: Retrieval = self._feedback._view.retrieve(query, k, **options)  # noqa: SLF001 - its own part
        self._feedback.show(self, [hit.id for hit in found if not hit.shared][:SHOWN])
        return found

    def outcome(
        self, value: float, correction: str | None = None, *, source: Trust | str = Trust.USER
    ) -> Memory | None:
        """Set the outcome of the turn and close it.

        Args:
            value: How well it went, from -1 (harmful) to 1 (as desired). The outcome is divided
                among the memories shown, by rank.
            correction: The correct answer; it is added as a memory.
            source: Trust class of the person or program that gives the outcome; see ``rate``.

        Returns:
            The memory that was added, or None.

        Raises:
            InvalidInput: If the turn is closed, or an argument cannot be accepted.
        """
        self._feedback.finalize(self, value, source=source)
        if correction is None:
            return None
        who = Source(member(Trust, "source", source))
        draft = Draft(correction, session=self.session, source=who)
        return self._feedback._view.add([draft])[0]  # noqa: SLF001 - its own part

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.closed:
            self._feedback.finalize(self)
