"""Let a language model point at sentences that the reader left, after the turns are written.

The model sees what ``observe.pointing`` lets it see, and the sentences it points at are read,
checked and written as every other statement of the user. A failure of it leaves the result so far
as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from memento.errors import SynthesisFailed
from memento.learning.reading import Message, Reader, steers
from memento.learning.teaching import Shown as Chosen
from memento.ledger import memories
from memento.ledger.rows import Row
from memento.llm.asking import ask, model_of
from memento.observe import pointing
from memento.observe.pointing import Pointed, Shown
from memento.observe.signals import Candidate as Sentence
from memento.observe.signals import Signal
from memento.observe.values import Assistance
from memento.types import Trust
from memento.write import observed
from memento.write.steps import FOUND

if TYPE_CHECKING:
    from memento.engine import Engine

OFFERED = 6
"""Maximum number of memories that are offered to a correction."""
BECAUSE = "language model"
"""Reason of a candidate at which a model pointed."""


@dataclass(frozen=True, slots=True)
class Part:
    """A message of a task.

    Attributes:
        reader: Its reader.
        message: The message.
        shown: What the model sees of it.
        offered: Ids of the memories offered for replacement.
    """

    reader: Reader
    message: Message
    shown: Shown
    offered: tuple[str, ...]


@dataclass(slots=True)
class _Asked:
    """The replies to the messages of a call."""

    assistance: Assistance
    dropped: Counter[str] = field(default_factory=Counter)
    chosen: list[Chosen] = field(default_factory=list)
    sent: list[Message] = field(default_factory=list)


def parts_of(engine: Engine, read: Sequence[tuple[Reader, Message]]) -> list[Part]:
    """Make a task part of each message at which the model may point.

    Args:
        engine: The store.
        read: The messages, after the write, each with its reader. All are of one namespace.
    """
    parts = [Part(reader, one, *_shown(engine, reader, one)) for reader, one in read]
    return [one for one in parts if one.shown.sentences]


def assisted(
    engine: Engine, parts: Sequence[Part], mode: str
) -> tuple[Assistance, list[Chosen], list[Message]]:
    """Ask the model of the settings about messages that were written.

    Args:
        engine: The store.
        parts: The messages that it is to see, all of one namespace.
        mode: ``assist`` or ``full``.

    Returns:
        What the model contributed, the sentences to write, and the messages that the model saw.
    """
    asked = _Asked(Assistance(mode, model_of(engine.config.llm).name))
    for places in pointing.batches([one.shown for one in parts]):  # each is one request
        batch = parts[places.start : places.stop]
        if asked.assistance.failure is None:
            _ask(engine, batch, asked)
        else:
            unsent = asked.assistance.unsent + len(batch)
            asked.assistance = replace(asked.assistance, unsent=unsent)
    return replace(asked.assistance, dropped=dict(asked.dropped)), asked.chosen, asked.sent


def is_open(message: Message, mode: str) -> bool:
    """Return whether to show a message to the model."""
    if message.asked or message.private:
        return False
    return mode == "full" or message.doubts > 0 or bool(message.unplaced)


def _shown(engine: Engine, reader: Reader, message: Message) -> tuple[Shown, tuple[str, ...]]:
    """Return a message as a model sees it, and the ids of the memories that it is offered."""
    sentences = pointing.pointable(
        message.text,
        previous=None if message.answered is None else message.answered.text,
        language=message.found.language,
    )
    asked = [one.span for one in message.found.candidates if one.signal is Signal.FORGET]
    taken = [
        ready.lesson.candidate.span
        for ready in message.lessons
        if ready.lesson.candidate.span.start not in message.unplaced
    ]
    offered = _offered(engine, reader, message)
    open_to_it = [one for one in sentences if not any(map(one.span.meets, asked))]
    shown = Shown(
        tuple(open_to_it),
        pointing.before_of(None if message.answered is None else message.answered.text),
        tuple(row.text for row in offered),
        frozenset(one.span.start for one in open_to_it if any(map(one.span.meets, taken))),
    )
    return shown, tuple(row.id for row in offered)


def _offered(engine: Engine, reader: Reader, message: Message) -> list[Row]:
    """Return the user's memories that a correction in a message may replace."""
    ready = [
        one
        for one in (*message.lessons, *message.doubtful)
        if one.lesson.signal is Signal.CORRECTION
    ]
    wanted = [*dict.fromkeys(other for one in ready for other in one.others)]
    own = set(message.unplaced.values())
    ns = reader.ns
    if ns is None or not wanted:
        return []
    found = engine.ledger.read(lambda c: memories.by_ids(c, ns, wanted), space=ns)
    return [
        row
        for row in (found[one] for one in wanted if one in found and one not in own)
        if row.kind in observed.LEARNABLE
        and row.status in FOUND
        and row.trust == Trust.USER
        and not pointing.has_secret(row.text)
    ][:OFFERED]


def _ask(engine: Engine, messages: Sequence[Part], asked: _Asked) -> None:
    """Ask about the messages of one task; a failure is noted, not raised."""
    shown = [one.shown for one in messages]
    so_far = asked.assistance
    ns = engine.ledger.find_namespace(messages[0].reader.namespace)
    assert ns is not None  # noqa: S101 - the turns were written
    try:
        reply = ask(
            pointing.task_of(shown),
            ledger=engine.ledger, ns=ns, config=engine.config.llm, now=engine.now(),
        )  # fmt: skip
    except SynthesisFailed as error:
        asked.assistance = replace(
            so_far,
            unsent=so_far.unsent + len(messages),
            failure=error.reason,
            problem=str(error),
            calls=so_far.calls + error.calls,
            tokens_in=so_far.tokens_in + error.tokens_in,
            tokens_out=so_far.tokens_out + error.tokens_out,
        )
        return
    pointed, dropped = pointing.pointed_at(reply.value, shown)
    asked.dropped += dropped
    made = [_chosen(messages[one.message], one, so_far.model) for one in pointed]
    asked.chosen += [one for one in made if one is not None]
    asked.sent += [one.message for one in messages]
    asked.assistance = replace(
        so_far,
        sent=so_far.sent + len(messages),
        calls=so_far.calls + reply.calls,
        tokens_in=so_far.tokens_in + reply.tokens_in,
        tokens_out=so_far.tokens_out + reply.tokens_out,
    )


def _chosen(part: Part, one: Pointed, model: str) -> Chosen | None:
    """Make the lesson of a sentence at which the model pointed."""
    message = part.message
    replaces = None if one.replaces is None else part.offered[one.replaces]
    if replaces is None and message.unplaced_in(one.span) is not None:
        return None
    sentence = Sentence(one.span, one.signal, one.probability, sure=True, reasons=(BECAUSE,))
    ready = part.reader.take_up(message, sentence, condition=one.condition, model=model)
    if ready is None or (message.found.carried and (replaces or steers(ready.lesson))):
        return None
    return Chosen(message, ready, replaces)
