"""Learn from a conversation: keep its turns, and derive memories from what the user states.

reading      which statements a message has, and what each may be about: ``NEAR``, ``NEAR_FORGET``
meant        which earlier statements a request to forget means: ``BEFORE``, ``COVERED``, ``AFAR``
areas        whether a text belongs to an area of life, such as health: ``MAYBE``
model_now    which messages a model sees during the call, and what that adds: ``OFFERED``
model_later  when a waiting message is shown to a model, and how often: ``TRIES``, ``PAUSE``
teaching     what is written, in the transaction that keeps the turns

``memento.observe`` reads the messages, ``memento.write.observed`` decides what each statement does
to the stored memories. Only text of the role ``user`` becomes a memory; text of an assistant
or a tool is kept as a turn and never learned from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, cast

from memento.base.lazy import later as at_first_use
from memento.base.plain import composed
from memento.base.scopes import parse_scope
from memento.base.spans import traced
from memento.check import (
    check_count,
    check_flag,
    check_id,
    check_moment,
    check_source,
    check_word,
    member,
    names,
    optional_condition,
    type_name,
)
from memento.config import MODES
from memento.conversation import Messages
from memento.conversation.keeping import keep as keep_turns
from memento.conversation.turns import PlacedTurn, Turn, session_of, turns_of
from memento.errors import IdConflict, InvalidInput
from memento.ledger import changes, links, memories, scope_rows, session_rows
from memento.ledger.contract import Transaction as Reading
from memento.ledger.contract import Work
from memento.ledger.filters import check_names
from memento.ledger.predicate import Filters
from memento.ledger.rows import Row, strings_in, to_memory
from memento.ledger.scope_rows import Place
from memento.types import Draft, Kind, KindName, Memories, Memory, Source, Trust, TrustName
from memento.views import View
from memento.write import locks
from memento.write.scope_guess import named_scope
from memento.write.steps import FOUND

if TYPE_CHECKING:
    from memento.learning import model_later, model_now, reading, teaching
    from memento.learning.reading import Message, Reader, Ready
    from memento.learning.teaching import Done
    from memento.llm import asking
    from memento.observe import derive, signals, slots, split, values
    from memento.observe.derive import Lesson
    from memento.observe.values import Candidate, Foresight, Observation
    from memento.write import observed
else:
    model_later, model_now, reading, teaching = [
        at_first_use(f"memento.learning.{name}")
        for name in ("model_later", "model_now", "reading", "teaching")
    ]
    observed = at_first_use("memento.write.observed")
    asking = at_first_use("memento.llm.asking")
    derive, signals, slots, split, values = [
        at_first_use(f"memento.observe.{name}")
        for name in ("derive", "signals", "slots", "split", "values")
    ]

Then: TypeAlias = Callable[[Work, list[Row]], list[Row]]
"""Runs in the transaction after the turns are written; returns the rows that it changed."""
Foresights: TypeAlias = "list[Foresight]"
DECLINED = "declined"
"""Tag of a message whose doubtful statements the user does not want to be remembered."""
_LOOKED_BACK = 500
"""Number of newest turns that are searched for doubtful statements."""
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
"""Stands for a missing date."""


class Confirming(TypedDict, total=False):
    """The values of a candidate that ``confirm`` may change."""

    text: str
    kind: Kind | KindName
    key: str | None
    condition: str | None
    due_at: datetime | None
    scope: str
    tags: Sequence[str]


class Learning:
    """Learn from what a user says, or states outright.

    Args:
        view: The namespace that is read and written.
    """

    def __init__(self, view: View) -> None:
        self._view = view

    def _mode(self, mode: object) -> str:
        """Check the mode of a call; any but ``off`` needs a usable language model."""
        wanted = self._view.config.observe.mode if mode is None else check_word("mode", mode, MODES)
        if wanted != "off":
            asking.model_of(self._view.config.llm)
        return wanted

    def _assisted(
        self,
        reader: Reader,
        read: Sequence[Message],
        rows: Sequence[Row],
        seen: Observation,
        mode: str,
    ) -> Observation:
        """Add to an observation the sentences at which a language model points."""
        began = monotonic()
        reader.ns = self._view.ns
        now = [
            one for one in read if model_now.is_open(one, mode) and not (one.waits or one.refused)
        ]
        turns = self._turns_of(now, rows)
        there = [one for one in now if id(one) in turns or (one.at is None and not one.turn_id)]
        parts = model_now.parts_of(self._view.engine, [(reader, one) for one in there])
        told_of, chosen, sent = model_now.assisted(self._view.engine, parts, mode)
        if refused := sum(one.refused for one in read):
            unsent = told_of.unsent + refused
            told_of = replace(told_of, unsent=unsent, failure="full", problem=model_later.FULL)
        added = teaching.Done()

        def then(work: Work, _turns: list[Row]) -> list[Row]:
            nonlocal added
            added = teaching.taught_again(work, chosen, sent, turns, told_of.model, seen.change)
            return added.rows

        if sent:
            self._carry_out([], then)
        seconds = {**seen.took, "model": monotonic() - began}
        return replace(
            teaching.told_again(seen, added, told_of, self._view.namespace), took=seconds
        )

    def _turns_of(self, read: Sequence[Message], rows: Sequence[Row]) -> dict[int, Row]:
        """Return the rows that hold messages, by the ``id()`` of the messages."""
        ids = [one.turn_id for one in read if one.at is None and one.turn_id is not None]
        found = (self._view.ask(lambda c, ns: memories.by_ids(c, ns, ids)) or {}) if ids else {}
        held = {
            id(one): found.get(one.turn_id or "") if one.at is None else rows[one.at]
            for one in read
        }
        return {which: turn for which, turn in held.items() if turn is not None}

    def _place_of(self, scope: str | None, session: str | None, turns: Sequence[Turn]) -> str:
        """Return the scope of a conversation: as given, of its session, or named in its words.

        Words name a scope only if it was defined with ``scopes.define``.
        """
        if scope is not None:
            return self._view.present_scope(scope)

        def job(c: Reading, ns: int) -> tuple[str, list[Place]]:
            begun = None if session is None else session_rows.find(c, ns, session)
            where = "" if begun is None else scope_rows.present(c, ns, begun.scope)
            return where, [] if where else scope_rows.every(c, ns)

        where, places = self._view.ask(job) or ("", [])
        said = " ".join(turn.text for turn in turns if turn.role == "user") if places else ""
        return where or named_scope(said, places, self._view.config.scopes.write_at)

    def _learn(
        self, lessons: Sequence[Lesson], *, parents: tuple[str, ...], verb: str, lock: bool = False
    ) -> Memories:
        """Write lessons that someone stated or confirmed; refuse if they contradict a lock."""
        reader = reading.Reader(self._view, None, "", Source(), self._view.engine.now())
        ready = [
            reading.Ready(one, reader.entry(one, None, parents), reader.near(one, None))
            for one in lessons
        ]

        def then(work: Work, _turns: list[Row]) -> list[Row]:
            rows = []
            for one in ready:
                verdict = observed.judge(work, one.lesson, one.others, at=one.entry.row.valid_from)
                if verdict.repeats is None:
                    changes.begin(work)  # so that a new memory alone can be undone
                slot = reading.key_of(one.lesson)
                locks.guard([row for row in verdict.contradicts if slot and row.key == slot])
                rows.append(observed.take(work, one.lesson, one.entry, verdict))
            if lock:
                rows = [locks.lock(work, row.id, "user") for row in rows]
            changes.finish(work, verb)
            return rows

        return self._view.read(self._carry_out([], then)[1])

    def _store(
        self,
        drafts: list[Draft],
        read: Sequence[Message],
        said: Sequence[PlacedTurn],
        *,
        begins_run: bool,
        later: Callable[..., None] | None = None,
    ) -> tuple[Done, list[Row]]:
        """Write turns and lessons in one transaction; in two, if a message was edited."""
        outcome = teaching.Done()

        def then(work: Work, rows: list[Row]) -> list[Row]:
            nonlocal outcome
            outcome = teaching.taught(work, read, rows, self._view.config, begins_run=begins_run)
            if later is not None:
                later(work, rows=rows, run=outcome.change)
            return outcome.rows

        try:
            rows, _ = self._carry_out(drafts, then)
        except IdConflict:  # a message with an id was edited since it was kept
            kept = keep_turns(self._view, said)
            ids = [one.id for one in kept]
            for message in read:
                message.were_stored(ids)
                message.places = range(0)
            self._carry_out([], then)
            ns = self._view.known_namespace(ids[0])
            rows = [
                *self._view.engine.ledger.read(
                    lambda c: memories.by_ids(c, ns, ids), space=ns
                ).values()
            ]
        return outcome, rows

    def _carry_out(self, drafts: list[Draft], then: Then) -> tuple[list[Row], list[Row]]:
        changed: list[Row] = []

        def last(work: Work, rows: list[Row]) -> list[Row]:
            changed[:] = then(work, rows)
            return changed

        rows = self._view.engine.add(self._view.namespace, drafts, verb="observe", then=last)
        return rows, changed

    @traced("observe", lambda seen: {"learned": len(seen.learned), "turns": len(seen.turns)})
    def observe(
        self,
        user: str | None = None,
        assistant: str | None = None,
        *,
        messages: Messages | None = None,
        session: str | None = None,
        scope: str | None = None,
        actor: str | None = None,
        occurred_at: datetime | None = None,
        source: Source | Trust | TrustName | None = None,
        keep: bool = True,
        turn_id: str | None = None,
        mode: str | None = None,
        id: str | None = None,  # noqa: A002 - the field's own name
    ) -> Observation:
        """Do what ``MemoryManager.observe`` does; see there."""
        began = monotonic()
        mode = self._mode(mode)
        turns = _turns(user, assistant, messages, actor=actor, id=id, keep=keep, turn_id=turn_id)
        origin = check_source(source)
        moment, zone, name = self._view.engine.now(), None, _session(session)
        if occurred_at is not None:
            moment = check_moment("occurred_at", occurred_at)
            zone = occurred_at.tzinfo  # UTC is how machines write, not where the user is
            if zone is not None and zone.utcoffset(None) == timedelta(0):
                zone = None  # a zone that is at 0 only in winter has no fixed offset
        reader = reading.Reader(
            self._view,
            name,
            self._place_of(scope, name, turns),
            origin,
            moment,
            given=occurred_at is not None,
            zone=zone,
        )
        said = reader.place(turns, numbered=messages is None, dated=occurred_at)
        drafts = reader.drafts(said, occurred_at) if check_flag("keep", keep) else []
        read = reader.read(said, drafts, turn_id)
        seconds = {"read": monotonic() - began}
        later = partial(model_later.let_wait, reader=reader, read=read, mode=mode, kept=keep)
        waits = mode != "off" and self._view.config.llm.background
        done, rows = self._store(
            drafts, read, said, begins_run=mode != "off", later=later if waits else None
        )
        seconds["write"] = monotonic() - began - seconds["read"]
        seen = replace(
            teaching.told(read, done, self._view.namespace),
            turns=tuple(self._view.read(rows)),
            took=seconds,
            pending=sum(one.waits for one in read),
        )
        return seen if mode == "off" else self._assisted(reader, read, rows, seen, mode)

    def confirm(self, candidate: Candidate, changes: Mapping[str, Any]) -> Memory:
        """Do what ``Rules.confirm`` does; see there."""
        if not isinstance(candidate, values.Candidate):
            raise InvalidInput("candidate", f"must be a Candidate, not {type_name(candidate)}")
        check_names(changes, Confirming, Learning.confirm)
        wanted = replace(candidate, **cast("dict[str, Any]", changes))
        given = "key" in changes and wanted.key is not None
        if wanted.condition != candidate.condition and not given and wanted.key is not None:
            slot = _slot_of(wanted)
            wanted = replace(wanted, key=None if slot is None else slot.key)
        lesson = _confirmed(wanted, chosen=given)
        return self._learn([lesson], parents=wanted.parents, verb="confirm")[0]

    def direct(self, rules: object, scope: str, condition: str | None, *, lock: bool) -> Memories:
        """Do what ``Rules.direct`` does; see there."""
        texts: object = [rules] if isinstance(rules, str) else rules
        if isinstance(texts, bytes) or not isinstance(texts, Iterable):
            raise InvalidInput(
                "rules", f"must be a string or a list of strings, not {type_name(rules)}"
            )
        where, when = parse_scope(scope), optional_condition("condition", condition)
        lessons = [_directed(text, where, when) for text in texts]
        if not lessons:
            return Memories()
        return self._learn(lessons, parents=(), verb="direct", lock=check_flag("lock", lock))

    def foresee(self, messages: Messages, session: str | None, scope: str) -> Foresights:
        """Do what ``Rules.foresee`` does; see there."""
        engine = self._view.engine
        where = self._view.present_scope(scope)
        reader = reading.Reader(self._view, _session(session), where, Source(), engine.now())
        said = reader.place(turns_of(messages), numbered=False, dated=None)
        found: list[Foresight] = []
        for message in reader.read(said, [], None):
            for ready in (*message.lessons, *message.doubtful):
                verdict = self._judged(ready)
                rows = (verdict.repeats, verdict.replaces, *verdict.contradicts)
                ids = tuple(row.id for row in rows if row is not None)
                one = reading.candidate_of(ready, None)
                stored = teaching.is_stored(message, ready, verdict)
                action = teaching.action_of(verdict).value if stored else "doubtful"
                found.append(values.Foresight(one, action, ids))
        return found

    def _judged(self, ready: Ready) -> observed.Verdict:
        """Return what a lesson would do to the stored memories."""
        engine, row = self._view.engine, ready.entry.row
        found = self._view.ask(
            lambda c, ns: observed.judge(
                Work(c, ns, engine.now(), engine.rules),
                ready.lesson,
                ready.others,
                at=row.valid_from,
                actor=row.actor,
            )
        )
        return found or observed.Verdict(key=reading.key_of(ready.lesson))

    def doubtful(self, limit: int) -> list[Candidate]:
        """Do what ``Rules.doubtful`` does; see there."""
        most, now = check_count("limit", limit), self._view.engine.now()
        filters = Filters(now, kinds=(Kind.EPISODE, Kind.QUESTION))
        newest = memories.Page(newest_first=True, limit=_LOOKED_BACK)

        def read(c: Reading, ns: int) -> tuple[list[Row], set[str], set[str]]:
            turns = memories.select(c, ns, filters, newest)
            left = {one.id for one in turns if teaching.has_doubts(c, one)}
            learnt = links.children(c, ns, left) if left else []
            return turns, left, {one.text for one in learnt if one.status in FOUND}

        turns, left, known = self._view.ask(read) or ([], set(), set())
        found: list[Candidate] = []
        for at, turn in enumerate(turns):
            if turn.id not in left or DECLINED in strings_in(turn.tags):
                continue
            before = next((one for one in turns[at + 1 :] if one.session == turn.session), None)
            origin = replace(to_memory(turn, self._view.namespace).source, parents=())
            reader = reading.Reader(
                self._view, turn.session, turn.scope, origin, turn.occurred_at, given=True
            )
            heard = before is not None and before.role == "assistant" and before
            said = reading.answered_by(heard) if heard else None
            message = reader.message(turn.text, (turn.id,), answered=said, actor=turn.actor)
            new = [one for one in message.doubtful if self._judged(one).repeats is None]
            each = (reading.candidate_of(ready, turn.id) for ready in new)
            found += [one for one in each if one.text not in known]
            if len(found) >= most:
                break
        return found[:most]


def _session(session: object) -> str | None:
    if not isinstance(session, str | None):
        raise InvalidInput("session", f"must be a string, not {type_name(session)}")
    return None if session is None else session_of(composed(session))


def _turns(
    user: str | None,
    assistant: str | None,
    messages: Messages | None,
    *,
    actor: str | None,
    id: str | None,  # noqa: A002 - as in observe
    keep: bool,
    turn_id: str | None,
) -> list[Turn]:
    """Return the turns given to ``observe``, as texts or as messages."""
    if turn_id is not None and (keep or user is None):
        raise InvalidInput("turn_id", "requires keep=False and a user message")
    if turn_id is not None:
        check_id(turn_id, "turn_id")
    if not isinstance(id, str | None):
        raise InvalidInput("id", f"must be a string, not {type_name(id)}")
    if messages is not None:
        if user is not None or assistant is not None or id is not None:
            raise InvalidInput("messages", "cannot be combined with user, assistant or id")
        named = turns_of(messages)
        return [
            replace(one, actor=one.actor or actor) if one.role == "user" else one for one in named
        ]
    if user is None and assistant is None:
        raise InvalidInput("user", "pass user, assistant or messages")
    given = (("user", user, id, actor), ("assistant", assistant, id and f"{id}-reply", None))
    found = [
        {"role": role, "content": text, "id": name, "actor": who}
        for role, text, name, who in given
        if text is not None
    ]
    return turns_of(found)


def _directed(text: object, scope: str, condition: str | None) -> Lesson:
    """Make the lesson of a rule that is stated outright."""
    if not isinstance(text, str):
        raise InvalidInput("rules", f"must be strings, not {type_name(text)}")
    span = signals.Span(0, len(text), text)
    said = signals.Candidate(span, signals.Signal.RULE, 1.0, sure=True)
    if len(text) > split.LONGEST:  # as observe does: no sentence, so nothing is read from it
        return derive.Lesson(said, text, Kind.RULE, None, condition, None, scope, (), said.signal)
    lesson = derive.derive(said, answered=None, said_at=_NEVER, scope=scope)
    assert lesson is not None  # noqa: S101 - a rule always is one
    when = lesson.condition if condition is None else condition
    slot = slots.slot_under(text, signals.Signal.RULE, when)
    return replace(lesson, text=text, slot=slot, scope=scope, condition=when)


def _slot_of(wanted: Candidate) -> slots.Slot | None:
    """Return the slot that a candidate fills under its condition, as when it was found."""
    said, signal = wanted.span.text, wanted.signal
    facts = () if signal is signals.Signal.RULE else slots.told(said)
    return slots.slot_under(said, signal, wanted.condition, facts)


def _confirmed(wanted: Candidate, *, chosen: bool) -> Lesson:
    """Make the lesson of a candidate; a slot that the caller chose has one value at a time."""
    if not isinstance(wanted.text, str):
        raise InvalidInput("text", f"must be a string, not {type_name(wanted.text)}")
    said = slot = _slot_of(wanted)
    if wanted.key is None:
        slot = None
    elif chosen or slot is None or slot.key != wanted.key:
        slot = slots.Slot(wanted.key, " ".join(wanted.text.casefold().split()), single=True)
    return derive.Lesson(
        candidate=signals.Candidate(wanted.span, wanted.signal, wanted.confidence, sure=True),
        text=wanted.text,
        kind=member(Kind, "kind", wanted.kind),
        slot=slot,
        condition=wanted.condition,
        due_at=wanted.due_at,
        scope=parse_scope(wanted.scope),
        tags=names("tags", wanted.tags),
        signal=derive.standing_of(wanted.span.text, wanted.signal, said),
    )
