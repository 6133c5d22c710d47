"""The values that ``observe`` returns, and what ``confirm`` takes. Plain data, immutable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from memento.base import display
from memento.observe.signals import Signal, Span
from memento.types import Kind, Memory


class Action(StrEnum):
    """What ``observe`` did with a statement of the user."""

    NEW = "new"
    """Stored beside earlier memories."""
    REPLACED = "replaced"
    """Stored, and an earlier memory is superseded."""
    REPEATED = "repeated"
    """Known already; the memory that was there is reinforced."""
    CONTRADICTS = "contradicts"
    """Stored, and linked with a memory that says otherwise; both stay."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement by the user that could become a memory.

    Attributes:
        text: The text that would be stored.
        span: The sentence in the message, word for word.
        role: Chat role of the speaker, always ``user``.
        signal: Class of the statement.
        kind: Kind of the memory that it would become.
        key: Slot that it would fill, or None.
        condition: When it applies, or None for always.
        due_at: When a plan is due, or None.
        scope: Scope in which it would apply.
        confidence: Probability of the class, [0, 1].
        reasons: Names of the checks and cues that applied.
        turn_id: Id of the memory that contains the message, or None.
        tags: Labels that it would have.
        parents: Ids of the memories from which the text is taken: the message and, if quoted in the
            text, the preceding turn.
    """

    text: str
    span: Span
    role: str
    signal: Signal
    kind: Kind
    key: str | None
    condition: str | None
    due_at: datetime | None
    scope: str
    confidence: float
    reasons: tuple[str, ...] = ()
    turn_id: str | None = None
    tags: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()

    __repr__ = display.brief


@dataclass(frozen=True, slots=True)
class Foresight:
    """What ``observe`` would do with a statement.

    Attributes:
        candidate: The statement.
        action: A value of ``Action``, or ``doubtful`` if it would not be stored.
        others: Ids of the memories that it would replace, repeat or contradict.
    """

    candidate: Candidate
    action: str
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Learned:
    """A memory that a statement created or repeated.

    Attributes:
        memory: The memory in its current state.
        signal: Class of the statement.
        confidence: Probability of the class, [0, 1].
        span: The sentence in the message, word for word.
        action: The outcome.
        replaced: Ids of the memories that it superseded.
        contradicts: Ids of memories that it contradicts and that remain active.
    """

    memory: Memory
    signal: Signal
    confidence: float
    span: Span
    action: Action
    replaced: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()

    __repr__ = display.brief


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """A request by the user to forget something.

    Attributes:
        span: The sentence in the message, word for word.
        about: What to forget, in the user's own words; ``""`` if the request does not name it.
        forgotten: Ids of the memories that were hidden, for use with ``restore``. The turn that
            contains the request is also hidden, but listed only if nothing else was found.
        found: Ids of other memories that the request may refer to, which were not hidden; pass the
            right ones to ``forget_many(ids=...)``.
    """

    span: Span
    about: str
    forgotten: tuple[str, ...] = ()
    found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Assistance:
    """What a language model contributed to an ``Observation``.

    Attributes:
        mode: ``assist`` or ``full``.
        model: Name of the model.
        sent: Number of user messages sent to the model.
        unsent: Number of messages that were meant for the model but not sent; see ``failure``.
        accepted: Number of sentences that were learned because the model selected them.
        dropped: Number of items ignored in the model's replies, by reason; see
            ``memento.observe.pointing``.
        failure: Why the model could not finish (see ``SynthesisFailed``); ``full`` if too many
            messages are waiting for it; None if nothing failed. Messages that were not sent are
            processed without the model.
        problem: A description of the failure, or ``""``.
        calls: Number of requests sent.
        tokens_in: Number of tokens sent.
        tokens_out: Number of tokens received.
    """

    mode: str
    model: str
    sent: int = 0
    unsent: int = 0
    accepted: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    failure: str | None = None
    problem: str = ""
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def explain(self) -> str:
        """Explain in one line what the model did."""
        used = f"{self.calls} requests, {self.tokens_in} tokens sent, {self.tokens_out} received"
        parts = [f"model {self.model}: {self.sent} messages seen, {self.accepted} sentences learnt"]
        if self.dropped:
            why = ", ".join(f"{count} {reason}" for reason, count in sorted(self.dropped.items()))
            parts.append(f"items ignored: {why}")
        if self.failure:
            parts.append(f"{self.unsent} messages not seen: {self.problem}")
        return "; ".join([*parts, used])


@dataclass(frozen=True, slots=True)
class Observation:
    """The result of ``observe``.

    Attributes:
        turns: The memories that contain the turns, in order; empty with ``keep=False``.
        learned: The statements that were stored or repeated, in order.
        doubtful: Statements that ``observe`` was unsure about; ``rules.confirm`` stores one. A
            doubtful statement that gives a new value for something already known is stored anyway.
        forget: Requests to forget something, and the memories that they hid.
        feedback: Praise (``praised``) and criticism (``faulted``) of the assistant, in order.
        vetoed: Number of sentences rejected by a check, by reason.
        skipped: Number of sentences skipped because they appear to have been pasted.
        known: Whether all user messages had already been observed, in which case nothing was done.
        change: Number of the change, for use with ``undo``; None if nothing changed. If the
            language model also contributed, ``undo(run=change)`` also undoes its contribution.
        language: ISO 639-1 code of the last message that was read; ``""`` if unknown.
        how: How statements were detected: ``model``, ``ngrams``, ``cues`` or ``none``.
        took: Duration of each stage in seconds: ``read``, ``write`` and, with a language model,
            ``model``.
        model: What the language model contributed; None in the mode ``off``.
        pending: Number of messages waiting to be sent to the language model.
        missing: ``slots`` with the reason, if a file of the model that recognises facts about the
            user (home, employer, diet) is missing or damaged. Statements are stored all the same,
            but only clear forms fill a slot.
    """

    turns: tuple[Memory, ...] = ()
    learned: tuple[Learned, ...] = ()
    doubtful: tuple[Candidate, ...] = ()
    forget: tuple[ForgetRequest, ...] = ()
    feedback: tuple[str, ...] = ()
    vetoed: Mapping[str, int] = field(default_factory=dict)
    skipped: int = 0
    known: bool = False
    change: int | None = None
    language: str = ""
    how: str = "none"
    took: Mapping[str, float] = field(default_factory=dict)
    model: Assistance | None = None
    pending: int = 0
    missing: Mapping[str, str] = field(default_factory=dict)

    __repr__ = display.brief

    def __str__(self) -> str:
        return self.explain()

    def explain(self) -> str:
        """Explain in a few lines what was learned and why."""
        lines = [
            f"{one.action}: {one.memory.text!r} ({one.signal}, {one.confidence:.2f}"
            f"{f', slot {one.memory.key}' if one.memory.key else ''})"
            f"{_ids(' instead of', one.replaced)}{_ids(' against', one.contradicts)}"
            for one in self.learned
        ]
        lines += [
            f"doubtful: {one.text!r} ({one.signal}, {one.confidence:.2f}: {', '.join(one.reasons)})"
            for one in self.doubtful
        ]
        lines += [
            f"asked to forget {one.about or 'that'!r}"
            f"{_ids(': hidden', one.forgotten) or ': nothing found to hide'}"
            f"{_ids('; near by', one.found)}"
            for one in self.forget
        ]
        lines += [f"refused {count}: {reason}" for reason, count in sorted(self.vetoed.items())]
        lines += [f"{word} the assistant" for word in self.feedback]
        if self.skipped:
            lines.append(f"{self.skipped} sentences were not read: pasted text")
        if self.model is not None and (self.model.sent or self.model.unsent):
            lines.append(self.model.explain())
        if self.pending:
            lines.append(f"{self.pending} messages wait for the model")
        lines += [f"missing {part}: {why}" for part, why in self.missing.items()]
        return "\n".join(lines or ["nothing learnt"])


def _ids(lead: str, ids: tuple[str, ...]) -> str:
    return f"{lead} {', '.join(ids)}" if ids else ""
