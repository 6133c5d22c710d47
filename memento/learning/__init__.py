"""Learn from a conversation: keep its turns, and derive memories from what the user states.

``memento.observe`` reads the messages, ``memento.write.observed`` says what each statement does to
the memories that are there. Only text of the role ``user`` becomes a memory; text of an assistant
or a tool is kept as a turn and never learnt from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, Unpack, cast

from memento.base.lazy import later as at_first_use
from memento.base.plain import composed
from memento.base.scopes import parse_scope
from memento.check import (
    check_flag,
    check_id,
    check_moment,
    check_source,
    check_word,
    member,
    optional_condition,
    type_name,
)
from memento.config import MODES
from memento.conversation import Messages
from memento.conversation.keeping import keep as keep_turns
from memento.conversation.turns import Said, Turn, session_of, turns_of
from memento.errors import IdConflict, InvalidInput
from memento.ledger import changes, memories, scope_rows, session_rows
from memento.ledger.contract import Session as Reading
from memento.ledger.contract import Work
from memento.ledger.filters import check_names
from memento.ledger.rows import Row
from memento.ledger.scope_rows import Place
from memento.types import Draft, Kind, KindName, Memory, Source, Trust, TrustName
from memento.verbs.scopes import named_scope
from memento.views import Memories, View
from memento.write import locks

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
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
"""A moment for what has no date."""


class Confirming(TypedDict, total=False):
    """The values of a candidate that ``confirm`` may change."""

    text: str
    kind: Kind | KindName
    key: str | None
    condition: str | None
    due_at: datetime | None
    scope: str
    tags: Sequence[str]


class Learning(View):
    """The verbs that learn from a conversation: ``MemoryManager`` has them all."""

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
        """Learn from a turn of a conversation; nothing that was said is lost.

        The turns are kept as ``keep`` does it. From the messages of the user, and from nothing
        else, statements that are worth it become memories: who the user is, preferences, rules,
        corrections, decisions, plans. A statement is stored in the user's own words and names its
        turn as its parent. Another value of the same slot supersedes the one before; ``undo`` of
        ``Observation.change`` takes back all that one call learnt.

        In the mode ``off``, the default, no language model is asked. In the others it may point at
        further sentences of the user; it writes no text, and a failure of it loses nothing.

        Observing the same turn twice changes nothing the second time: a turn is known by its
        session and ``id``, or else by its session and text if it is the last of its speaker there.
        A language model that did not see it then is shown it now. A turn that was erased or
        forgotten is left out, as ``keep`` does it.

        With ``LLMConfig.background`` the call does not wait for the model: ``Observation.pending``
        messages wait in the ledger and are shown to it later.

        Args:
            user: Message of the user.
            assistant: The answer of the assistant to it. It is kept; the next message of the user
                in the session is read as an answer to it. Nothing is learnt from it.
            messages: Turns in order, as for ``keep``, instead of ``user`` and ``assistant``.
            session: Name of the conversation.
            scope: Where it takes place, a path; ``""`` is everywhere. None for that of the session,
                or for the scope named with ``define_scope`` that the words of the user name.
                Statements of the user about themselves apply everywhere.
            actor: Name of the user.
            occurred_at: When it was said, with a time zone; None for now. Dates such as "on Friday"
                are read from there.
            source: Who writes as the user; None for the user. From any other source nothing is
                learnt.
            keep: Whether to store the turns.
            turn_id: With ``keep=False``: id of the memory that holds the message of the user.
            mode: ``off``, ``assist`` or ``full``, see ``ObserveConfig``; None for
                ``Config.observe.mode``. With a language model the call waits for its reply, after
                the turns and all that is sure are on the disk.
            id: Id of the user's message in its conversation.

        Raises:
            InvalidInput: If an argument cannot be accepted, or the mode needs a language model and
                ``Config.llm`` names none that can be used.
            MissingExtra: If the package of the language model is not installed.
            NotFound: If ``turn_id`` is no memory of this namespace.
            SecretFound: If a text holds a secret and ``Config.secrets`` says to refuse it.
            StoreError: If it could not be written; then nothing was.
            TurnErased: If a turn was erased while it was written; then nothing was.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     for said in ("I live in Utrecht.", "I live in Porto now."):
        ...         seen = memory.observe(said, "Will do.", session="monday")
        ...     memory.value("user/home").text
        'I live in Porto now.'
        """
        began = monotonic()
        mode = self._mode(mode)
        turns = _turns(user, assistant, messages, actor=actor, id=id, keep=keep, turn_id=turn_id)
        origin = check_source(source)
        moment, zone, name = self._engine.now(), None, _session(session)
        if occurred_at is not None:
            moment = check_moment("occurred_at", occurred_at)
            zone = occurred_at.tzinfo  # UTC is how machines write: it is no place of the user
            if zone is not None and zone.utcoffset(None) == timedelta(0):
                zone = None  # a place whose offset is 0 only in winter has no fixed one
        reader = reading.Reader(
            self,
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
        waits = mode != "off" and self.config.llm.background
        done, rows = self._store(
            drafts,
            read,
            said,
            begins_run=mode != "off",
            later=later if waits else None,
        )
        seconds["write"] = monotonic() - began - seconds["read"]
        seen = replace(
            teaching.told(read, done, self._namespace),
            turns=tuple(self._read(rows)),
            took=seconds,
            pending=sum(one.waits for one in read),
        )
        return seen if mode == "off" else self._assisted(reader, read, rows, seen, mode)

    def _mode(self, mode: object) -> str:
        """Check the mode of a call; a mode with a language model needs one that can be used."""
        wanted = self.config.observe.mode if mode is None else check_word("mode", mode, MODES)
        if wanted != "off":
            asking.model_of(self.config.llm)
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
        reader.ns = self._ns
        now = [
            one for one in read if model_now.is_open(one, mode) and not (one.waits or one.refused)
        ]
        turns = self._turns_of(now, rows)
        there = [one for one in now if id(one) in turns or (one.at is None and not one.turn_id)]
        parts = model_now.parts_of(self._engine, [(reader, one) for one in there])
        told_of, chosen, sent = model_now.assisted(self._engine, parts, mode)
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
        return replace(teaching.told_again(seen, added, told_of, self._namespace), took=seconds)

    def _turns_of(self, read: Sequence[Message], rows: Sequence[Row]) -> dict[int, Row]:
        """Return the rows that hold messages, by the identities of the messages."""
        ids = [one.turn_id for one in read if one.at is None and one.turn_id is not None]
        found = (self._ask(lambda c, ns: memories.by_ids(c, ns, ids)) or {}) if ids else {}
        held = {
            id(one): found.get(one.turn_id or "") if one.at is None else rows[one.at]
            for one in read
        }
        return {which: turn for which, turn in held.items() if turn is not None}

    def _place_of(self, scope: str | None, session: str | None, turns: Sequence[Turn]) -> str:
        """Return where a conversation takes place: as said, as its session, or as it names itself.

        A scope is taken from the words only if somebody named it with ``define_scope``.
        """
        if scope is not None:
            return self._present_scope(scope)

        def job(c: Reading, ns: int) -> tuple[str, list[Place]]:
            begun = None if session is None else session_rows.find(c, ns, session)
            where = "" if begun is None else scope_rows.present(c, ns, begun.scope)
            return where, [] if where else scope_rows.every(c, ns)

        where, places = self._ask(job) or ("", [])
        said = " ".join(turn.text for turn in turns if turn.role == "user") if places else ""
        return where or named_scope(said, places, self.config.scopes.write_at)

    def confirm(self, candidate: Candidate, **changes: Unpack[Confirming]) -> Memory:
        """Store a statement that ``observe`` was not sure of.

        Args:
            candidate: One of ``Observation.doubtful``.
            changes: Other values for its ``text``, ``kind``, ``key``, ``condition``, ``due_at``,
                ``scope`` or ``tags``.

        Raises:
            InvalidInput: If it is no candidate, or a value cannot be accepted.
            TypeError: If another value is to be changed.
            LockedMemory: If it would replace a memory that is locked.
            StoreError: If it could not be written.
        """
        if not isinstance(candidate, values.Candidate):
            raise InvalidInput("candidate", f"must be a Candidate, not {type_name(candidate)}")
        check_names(changes, Confirming, Learning.confirm)
        wanted = replace(candidate, **cast("dict[str, Any]", changes))
        given = "key" in changes and wanted.key is not None
        if wanted.condition != candidate.condition and not given and wanted.key is not None:
            slot = slots.slot_under(wanted.span.text, wanted.signal, wanted.condition)
            wanted = replace(wanted, key=None if slot is None else slot.key)
        lesson = _confirmed(wanted, chosen=given)
        return self._learn([lesson], parents=wanted.parents, verb="confirm")[0]

    def direct(
        self,
        rules: str | Iterable[str],
        *,
        scope: str = "",
        lock: bool = False,
        condition: str | None = None,
    ) -> Memories:
        """State rules outright: each is stored as a rule of the user, whatever its wording.

        Args:
            rules: A rule or several. A rule that chooses another value of a slot, such as spaces
                instead of tabs, supersedes the rule before.
            scope: Where they apply, a path.
            lock: Whether to lock them, so that nothing but the user changes them.
            condition: When they apply, in words; None for what each says.

        Returns:
            The rules, in order.

        Raises:
            InvalidInput: If a value cannot be accepted.
            LockedMemory: If one would replace a rule that is locked.
            TooManyLocks: If ``lock`` and 100 memories are locked already.
            StoreError: If they could not be written.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     (rule,) = memory.direct("Never commit .env files", lock=True)
        ...     rule.kind.value, rule.lock
        ('rule', 'user')
        """
        texts: object = [rules] if isinstance(rules, str) else rules
        if isinstance(texts, bytes) or not isinstance(texts, Iterable):
            raise InvalidInput(
                "rules", f"must be a text or a list of texts, not {type_name(rules)}"
            )
        where, when = parse_scope(scope), optional_condition("condition", condition)
        lessons = [_directed(text, where, when) for text in texts]
        if not lessons:
            return []
        return self._learn(lessons, parents=(), verb="direct", lock=check_flag("lock", lock))

    def foresee(
        self, messages: Messages, *, session: str | None = None, scope: str = ""
    ) -> Foresights:
        """Say what ``observe`` would make of a conversation; nothing is written.

        Args:
            messages: Its turns in order, as for ``keep``, or a text of the user.
            session: Name of the conversation, whose last turn the first message answers.
            scope: Where it takes place.

        Raises:
            InvalidInput: If an argument cannot be accepted.
            StoreError: If the ledger cannot be read.

        >>> import tempfile
        >>> from memento import MemoryManager
        >>> with tempfile.TemporaryDirectory() as tmp, MemoryManager(tmp, embedder=None) as memory:
        ...     [(one.candidate.key, one.action) for one in memory.foresee("I live in Porto.")]
        [('user/home', 'new')]
        """
        engine = self._engine
        where = self._present_scope(scope)
        reader = reading.Reader(self, _session(session), where, Source(), engine.now())
        said = reader.place(turns_of(messages), numbered=False, dated=None)
        found: list[Foresight] = []

        def judged(ready: Ready) -> observed.Verdict:
            found = self._ask(
                lambda c, ns: observed.judge(
                    Work(c, ns, engine.now(), engine.rules), ready.lesson, ready.others
                )
            )
            return found or observed.Verdict(key=reading.key_of(ready.lesson))

        for message in reader.read(said, [], None):
            for ready in (*message.lessons, *message.doubtful):
                verdict = judged(ready)
                rows = (verdict.repeats, verdict.replaces, *verdict.contradicts)
                ids = tuple(row.id for row in rows if row is not None)
                one = reading.candidate_of(ready, None)
                stored = teaching.is_stored(message, ready, verdict)
                action = teaching.action_of(verdict).value if stored else "doubtful"
                found.append(values.Foresight(one, action, ids))
        return found

    def _learn(
        self, lessons: Sequence[Lesson], *, parents: tuple[str, ...], verb: str, lock: bool = False
    ) -> Memories:
        """Write lessons that someone stated or confirmed; a lock stands in their way."""
        reader = reading.Reader(self, None, "", Source(), self._engine.now())
        ready = [
            reading.Ready(one, reader.entry(one, None, parents), reader.near(one, None))
            for one in lessons
        ]

        def then(work: Work, _turns: list[Row]) -> list[Row]:
            changes.begin(work)
            rows = []
            for one in ready:
                verdict = observed.judge(work, one.lesson, one.others)
                slot = reading.key_of(one.lesson)
                locks.guard([row for row in verdict.contradicts if slot and row.key == slot])
                rows.append(observed.take(work, one.lesson, one.entry, verdict))
            if lock:
                rows = [locks.lock(work, row.id, "user") for row in rows]
            changes.finish(work, verb)
            return rows

        return self._read(self._carry_out([], then)[1])

    def _store(
        self,
        drafts: list[Draft],
        read: Sequence[Message],
        said: Sequence[Said],
        *,
        begins_run: bool,
        later: Callable[..., None] | None = None,
    ) -> tuple[Done, list[Row]]:
        """Write turns and lessons in one transaction; edited messages first, in their own."""
        outcome = teaching.Done()

        def then(work: Work, rows: list[Row]) -> list[Row]:
            nonlocal outcome
            outcome = teaching.taught(work, read, rows, self.config, begins_run=begins_run)
            if later is not None:
                later(work, rows=rows, run=outcome.change)
            return outcome.rows

        try:
            rows, _ = self._carry_out(drafts, then)
        except IdConflict:  # a message with an id was edited since it was kept
            kept = keep_turns(self, said)
            ids = [one.id for one in kept]
            for message in read:
                message.were_stored(ids)
                message.places = range(0)
            self._carry_out([], then)
            ns = self._known_namespace(ids[0])
            rows = [*self._engine.ledger.read(lambda c: memories.by_ids(c, ns, ids)).values()]
        return outcome, rows

    def _carry_out(self, drafts: list[Draft], then: Then) -> tuple[list[Row], list[Row]]:
        changed: list[Row] = []

        def last(work: Work, rows: list[Row]) -> list[Row]:
            changed[:] = then(work, rows)
            return changed

        rows = self._engine.add(self._namespace, drafts, verb="observe", then=last)
        return rows, changed


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
    """Read the turns that ``observe`` is given, one way or the other."""
    if turn_id is not None and (keep or user is None):
        raise InvalidInput("turn_id", "is for keep=False with a message of the user")
    if turn_id is not None:
        check_id(turn_id, "turn_id")
    if not isinstance(id, str | None):
        raise InvalidInput("id", f"must be a string, not {type_name(id)}")
    if messages is not None:
        if user is not None or assistant is not None or id is not None:
            raise InvalidInput("messages", "is given instead of user, assistant and id")
        named = turns_of(messages)
        return [
            replace(one, actor=one.actor or actor) if one.role == "user" else one for one in named
        ]
    if user is None and assistant is None:
        raise InvalidInput("user", "give user, assistant or messages")
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
        raise InvalidInput("rules", f"must be texts, not {type_name(text)}")
    span = signals.Span(0, len(text), text)
    said = signals.Candidate(span, signals.Signal.RULE, 1.0, sure=True)
    if len(text) > split.LONGEST:  # as observe does: no sentence, so nothing is read from it
        return derive.Lesson(said, text, Kind.RULE, None, condition, None, None, scope, ())
    lesson = derive.derive(said, answered=None, said_at=_NEVER, scope=scope)
    assert lesson is not None  # noqa: S101 - a rule always is one
    when = lesson.condition if condition is None else condition
    slot = slots.slot_under(text, signals.Signal.RULE, when)
    return replace(lesson, text=text, slot=slot, scope=scope, condition=when)


def _confirmed(wanted: Candidate, *, chosen: bool) -> Lesson:
    """Make the lesson of a candidate; a slot that the caller chose has one value at a time."""
    slot = slots.slot_under(wanted.span.text, wanted.signal, wanted.condition)
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
        ends_at=None,
        scope=parse_scope(wanted.scope),
        tags=tuple(wanted.tags),
    )
