"""Read the messages of a call: find statements, derive lessons, look for what they may be about.

Nothing is written here, and no transaction is open: the detection and the search run before it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from functools import partial

from memento.admit.draft import Entry, to_json
from memento.admit.redact import redact
from memento.base.clock import day_in, from_micros, in_zone
from memento.base.plain import mended
from memento.check import MAX_ITEMS
from memento.conversation.keeping import said_anew, stored, taken_away
from memento.conversation.turns import PlacedTurn, Turn, placed, turn_id
from memento.embed import embed_checked
from memento.learning import areas
from memento.learning.meant import MOST_NEAR, Meant, Told, all_of, means_all, meant_by
from memento.ledger import memories
from memento.ledger.predicate import Filters
from memento.ledger.rows import Row, strings_in, to_memory
from memento.observe.asked import (
    Asked,
    asked_of,
    asks_not_to_keep,
    faults,
    only_opens,
    roots,
    subjects,
)
from memento.observe.candidates import find
from memento.observe.derive import IMPORTANCE, Lesson, derive
from memento.observe.signals import DOUBT_AT, Found, Signal, Span
from memento.observe.signals import Candidate as Sentence
from memento.observe.values import Candidate
from memento.text.sentences import statements
from memento.types import Draft, Event, Kind, Memory, Source, Status, Trust
from memento.views import View
from memento.write import observed
from memento.write.steps import FOUND

NEAR = 8
"""Maximum number of memories that a statement is compared with."""
NEAR_FORGET = 60
"""Maximum number of memories that each query of a request to forget finds."""
_SECONDS = 1.0
"""Time that a request to forget waits for the index, so that it finds what was told just now."""
_TURNS_BACK = 8
"""Newest turns of a session that are searched for the assistant's last one."""
_MOST_EQUAL = 64
"""Maximum number of equal turns of a session to tell apart."""
MOST_PIECES = MAX_ITEMS // 2
"""Maximum number of pieces of a turn that is read: a memory names all pieces of a message and of
the turn that it answers as its parents."""
_HIDDEN = re.compile(r"\[[^\]]*\]|<[^>]*>")
_LONG_WORD = re.compile(r"[^\W_]{3,}")


@dataclass(frozen=True, slots=True)
class Ready:
    """A lesson that may be written.

    Attributes:
        lesson: The statement.
        entry: The memory that it would become.
        others: Ids of memories that may be about the same, the nearest first.
    """

    lesson: Lesson
    entry: Entry
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """A request to forget.

    Attributes:
        span: The part of the message that asks.
        asked: What it says.
        meant: What it means, by ids of memories and by keys of earlier messages of the call.
        earlier: Those earlier messages, by key.
        found: Memories and turns that it was compared with, by their ids.
    """

    span: Span
    asked: Asked
    meant: Meant
    earlier: Mapping[str, Message]
    found: Mapping[str, Memory]

    def ids(self, keys: Sequence[str]) -> list[str]:
        """Return the ids of the memories that some keys stand for."""
        known = (self.earlier[key].turn_ids if key in self.earlier else (key,) for key in keys)
        return [one for ids in known for one in ids]


@dataclass(frozen=True, slots=True)
class Answered:
    """The assistant's turn before a message of the user.

    Attributes:
        text: Its text.
        trust: Class of its source.
        ids: Ids of the memories that hold it; empty until they are stored, or if they are not.
        places: Indexes of its pieces among the drafts of the turns; empty if already stored.
    """

    text: str
    trust: Trust
    ids: tuple[str, ...] = ()
    places: range = range(0)


@dataclass(slots=True)
class Message:
    """One message of the user while it is read.

    Attributes:
        turn_ids: Ids of the memories that hold it; empty until they are stored, or if they are not.
        places: Indexes of its pieces among the drafts of the turns; may be empty.
        named: Whether a repeated call is recognised by the id of the turn.
        answered: The assistant's turn before it, or None.
        found: What its sentences state.
        lessons: What to learn from it.
        doubtful: Lessons of sentences that are not sure enough.
        requests: Requests to forget.
        feedback: Praise and fault.
        text: The message, word for word.
        actor: Name of the user, or None.
        private: Whether it asks not to be stored, or no model may see it later because of a request
            to forget.
        known: Whether it was observed before; set by the write.
        asked: Whether a language model saw it before; set by the write.
        doubts: Number of statements in doubt; set by the write.
        unplaced: Starts of corrections of something that was not found, with the ids of their
            memories; set by the write.
        waits: Whether it waits for a language model; set by the write.
        refused: Whether it cannot wait because too many do; set by the write.
    """

    turn_ids: tuple[str, ...]
    places: range
    named: bool
    answered: Answered | None
    found: Found
    lessons: list[Ready] = field(default_factory=list)
    doubtful: list[Ready] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    feedback: list[Event] = field(default_factory=list)
    text: str = ""
    actor: str | None = None
    private: bool = False
    known: bool = False
    asked: bool = False
    doubts: int = 0
    unplaced: dict[int, str] = field(default_factory=dict)
    waits: bool = False
    refused: bool = False

    def unplaced_in(self, span: Span) -> str | None:
        """Return the memory id of a correction in a span that found nothing, or None."""
        return next(
            (held for start, held in self.unplaced.items() if span.start <= start < span.end), None
        )

    @property
    def turn_id(self) -> str | None:
        """Id of the first memory that holds it, or None."""
        return next(iter(self.turn_ids), None)

    @property
    def at(self) -> int | None:
        """Index of its first piece among the drafts of the turns, or None."""
        return self.places.start if self.places else None

    @property
    def answered_id(self) -> str | None:
        """Id of the first memory that holds the turn before it, or None."""
        return None if self.answered is None else next(iter(self.answered.ids), None)

    def parents_of(self, lesson: Lesson) -> tuple[str, ...]:
        """Return the ids of all memories whose words a lesson holds."""
        quoted = self.answered.ids if lesson.quotes and self.answered is not None else ()
        return (*self.turn_ids, *quoted)

    def were_stored(self, ids: Sequence[str]) -> None:
        """Note which memories hold it and the turn before it, and make them its lessons' parents.

        Args:
            ids: Ids of the memories that the drafts became, in order.
        """
        if self.places:
            self.turn_ids = tuple(ids[at] for at in self.places)
        if self.answered is not None and self.answered.places:
            heard = tuple(ids[at] for at in self.answered.places)
            self.answered = replace(self.answered, ids=heard, places=range(0))
        for ready in (*self.lessons, *self.doubtful):
            row = ready.entry.row
            row.source_parents = to_json([*self.parents_of(ready.lesson)])
            row.seal()


class Reader:
    """Reads the messages of one call.

    Args:
        view: The namespace.
        session: Session of the turns, or None.
        scope: Scope of the conversation.
        origin: Who writes as the user.
        moment: When it was said, microseconds.
        given: Whether the caller said when.
        zone: Time zone of the moment as the caller gave it; None for the configured one.

    Attributes:
        ns: Number of the namespace, or None if nothing was ever stored in it.
    """

    def __init__(
        self,
        view: View,
        session: str | None,
        scope: str,
        origin: Source,
        moment: int,
        *,
        given: bool = False,
        zone: tzinfo | None = None,
    ) -> None:
        self._view = view
        self._engine = view.engine
        self._session = session
        self.scope = scope
        self._origin = origin
        self.moment = moment
        self.given = given
        self.zone = zone
        self.namespace = view.namespace
        self.ns = self._engine.ledger.find_namespace(view.namespace)

    def place(
        self, turns: Sequence[Turn], *, numbered: bool, dated: datetime | None
    ) -> list[PlacedTurn]:
        """Name each turn, without those taken out."""
        given = placed(turns, self._session, self._origin.kind)
        said = [one for one in given if one.words.strip()]
        if numbered and self._session is not None:
            said = [self._named(replace(one, after=None), dated) for one in said]
        else:
            said = said_anew(self._view, said)
        away = taken_away(self._view, said).words
        said = [one for one in said if one.key not in away]
        return [  # a turn that names its own trust keeps it
            replace(one, source=self._origin)
            if one.turn.role == "user" and one.turn.trust is None
            else one
            for one in said
        ]

    def _named(self, said: PlacedTurn, dated: datetime | None) -> PlacedTurn:
        """Name a turn given alone: as new, unless it repeats the last one of its speaker."""
        turn = said.turn
        if turn.id is not None:
            return said
        if dated is not None:
            name = turn_id(turn.role, said.words, dated.isoformat())
            return replace(said, name=name, count=None)
        last = next((row for row in self._newest() if row.role == turn.role), None)
        alike = [said.numbered(count) for count in range(_MOST_EQUAL)]
        known = stored(self._view, alike)
        count = next((at for at, one in enumerate(alike) if one.key not in known), _MOST_EQUAL - 1)
        again = count > 0 and last is not None and last.id == alike[count - 1].piece_id(0)
        return alike[count - 1 if again else count]

    def _newest(self) -> list[Row]:
        """Return the newest turns of the session, newest first."""
        if self.ns is None or self._session is None:
            return []
        ns, session = self.ns, self._session
        found = self._engine.ledger.read(
            lambda c: memories.newest_short(c, ns, session, _TURNS_BACK), space=ns
        )
        return [row for row in found if row.status in FOUND]

    def drafts(self, said: Sequence[PlacedTurn], dated: datetime | None) -> list[Draft]:
        """Make the memories of the turns."""
        return [
            replace(draft, scope=self.scope, occurred_at=dated)
            for one in said
            for draft in one.drafts(self._engine.config)
        ]

    def read(
        self, said: Sequence[PlacedTurn], drafts: Sequence[Draft], turn_id: str | None
    ) -> list[Message]:
        """Read the user's own messages, each as an answer to the turn before it."""
        answered = self._answered({*(one.piece_id(0) for one in said), turn_id})
        read: list[Message] = []
        at = 0
        for one in said:
            pieces = len(one.pieces(self._engine.config)) if drafts else 0
            places = range(at, at + pieces)
            ids = tuple(filter(None, (one.piece_id(number) for number in range(pieces))))
            short = pieces <= MOST_PIECES
            if short and one.turn.role == "user" and one.source.kind is Trust.USER:
                own = ids if drafts or turn_id is None else (turn_id,)
                message = self.message(
                    one.turn.text, own, answered=answered, actor=one.turn.actor, earlier=read
                )
                message.places, message.named = places, bool(own)
                read.append(message)
            if one.turn.role == "assistant":
                answered = Answered(one.turn.text, one.source.kind, ids, places) if short else None
            at += pieces
        return read

    def _answered(self, ours: AbstractSet[str | None]) -> Answered | None:
        """Return the last turn of the assistant before the turns of these ids."""
        for row in self._newest():
            if row.id in ours:
                continue
            return answered_by(row) if row.role == "assistant" else None
        return None

    def message(
        self,
        text: str,
        turn_ids: tuple[str, ...],
        *,
        answered: Answered | None,
        actor: str | None,
        earlier: Sequence[Message] = (),
    ) -> Message:
        """Read one message of the user.

        Args:
            text: The message, word for word.
            turn_ids: Ids of the memories that hold it.
            answered: The assistant's turn before it, or None.
            actor: Name of the user, or None.
            earlier: The messages of the user before it in the same call.
        """
        store_at = self._engine.config.observe.store_at
        text = mended(text)
        found = find(
            text,
            previous=None if answered is None else answered.text,
            store_at=store_at,
            doubt_at=min(DOUBT_AT, store_at),
        )
        message = Message(turn_ids, range(0), True, answered, found, text=text, actor=actor)
        sentences = found.candidates
        if redact(text, Counter()) != text:  # of a part of a secret nobody sees what it is
            sentences = tuple(replace(one, before="") for one in sentences)
        typed = [] if found.carried else sentences
        asked = [c for c in sentences if c.signal is Signal.FORGET and c.sure]
        if not found.carried:
            message.requests = self._requests(message, asked, earlier)
        else:  # the message opens with it, before words of others: it hides itself alone
            message.requests = [
                _of_itself(message, one.span)
                for one in asked
                if only_opens(text[: one.span.start]) and asks_not_to_keep(one.span.text)
            ]
        message.feedback = [
            Event.FAULTED if faults(c.span.text) else Event.PRAISED
            for c in typed
            if c.signal is Signal.FEEDBACK and c.sure
        ]
        message.private = any(
            one.meant.own and not one.asked.slots for one in message.requests
        ) or (
            found.carried is not None  # even if others wrote it: it only keeps less
            and any(not subjects(c.span.text, found.language) for c in asked)
        )
        if found.carried:
            by_others = sum(c.signal is Signal.FORGET for c in sentences) - len(message.requests)
            found.vetoed["carried"] += by_others
        if message.private:
            return message
        by = frozenset(word for one in message.requests for word in one.meant.by)
        for sentence in sentences:
            ready = self.take_up(message, sentence)
            if ready is not None and by.isdisjoint(roots(ready.lesson.text)):
                sure = sentence.sure and not (found.carried and steers(ready.lesson))
                (message.lessons if sure else message.doubtful).append(ready)
        return message

    def take_up(
        self,
        message: Message,
        sentence: Sentence,
        *,
        condition: str | None = None,
        model: str | None = None,
    ) -> Ready | None:
        """Make a lesson of a sentence; None if there is nothing to learn from it.

        Args:
            message: The message that has it.
            sentence: The sentence and its class.
            condition: When a rule applies, in words of the sentence; None to find it there.
            model: Name of the language model that pointed at it, or None.
        """
        said_at = in_zone(self.zone or self._engine.config.zone, from_micros(self.moment))
        answered = None if message.answered is None else message.answered.text
        lesson = derive(sentence, answered=answered, said_at=said_at, scope=self.scope)
        if lesson is None:
            return None
        if condition is not None and lesson.kind is Kind.RULE:
            lesson = replace(lesson, condition=condition)
        trust = message.answered.trust if lesson.quotes and message.answered else Trust.USER
        parents = message.parents_of(lesson)
        entry = self.entry(lesson, message.actor, parents, model=model, least=trust)
        if entry.redacted and not _LONG_WORD.search(_HIDDEN.sub(" ", entry.row.text)):
            message.found.vetoed["secret"] += 1
            return None
        return Ready(lesson, entry, self.near(lesson, answered))

    def entry(
        self,
        lesson: Lesson,
        actor: str | None,
        parents: tuple[str, ...],
        *,
        model: str | None = None,
        least: Trust = Trust.USER,
    ) -> Entry:
        """Make the memory of a lesson, checked and redacted.

        Args:
            lesson: The statement.
            actor: Name of the user, or None.
            parents: Ids of the memories whose words it holds.
            model: Name of the language model that pointed at it, or None.
            least: Class of trust of the words that it quotes.
        """
        engine = self._engine
        kind = Trust.least([self._origin.kind, least])
        draft = Draft(
            lesson.text,
            kind=lesson.kind,
            importance=IMPORTANCE.get(lesson.kind),
            key=key_of(lesson),
            scope=lesson.scope,
            actor=actor,
            source=replace(
                self._origin, kind=kind, parents=parents, model=model or self._origin.model
            ),
            tags=lesson.tags,
            signal=lesson.signal.value,
            condition=lesson.condition,
            due_at=lesson.due_at if lesson.kind is Kind.PLAN else None,
        )
        return self._dated(engine.admitted(draft, engine.now()))

    def near(self, lesson: Lesson, answered: str | None) -> tuple[str, ...]:
        """Return the ids of memories that may be about the same as a lesson."""
        query = lesson.candidate.text
        if self.ns is None or (lesson.slot is not None and lesson.slot.single):
            return ()
        if answered and lesson.signal is Signal.CORRECTION:
            query = f"{query} {answered[:300]}"
        kinds = sorted(observed.LEARNABLE)
        found = self._view.retrieve(query, NEAR, kind=kinds, record=False, fold=False, shared=False)
        return tuple(hit.id for hit in found)

    def _dated(self, entry: Entry) -> Entry:
        """Set that a memory holds from when it was said, also a plan when its day is over.

        If the caller gave the time, a value takes its place in the slot by it.
        """
        row = entry.row
        row.occurred_at = row.valid_from = self.moment
        if self.given:
            times = ("occurred_at", "valid_from")
            entry.derived = tuple(name for name in entry.derived if name not in times)
        observed.identify(entry)
        return entry

    def _requests(
        self, message: Message, parts: Sequence[Sentence], earlier: Sequence[Message]
    ) -> list[Request]:
        """Interpret the parts of a message that ask to forget.

        Neighbouring parts are one request if one of them names nothing.
        """
        groups: list[list[Span]] = []
        language = message.found.language
        for one in parts:
            said = " ".join(span.text for span in groups[-1]) if groups else ""
            if said and not all(subjects(text, language) for text in (said, one.span.text)):
                groups[-1].append(one.span)
            else:
                groups.append([one.span])
        return [self._request(message, spans, earlier) for spans in groups]

    def _request(
        self, message: Message, spans: Sequence[Span], earlier: Sequence[Message]
    ) -> Request:
        """Interpret a request to forget."""
        start, end = spans[0].start, spans[-1].end
        answered = message.answered
        asked = asked_of(
            message.text,
            [(one.start, one.end) for one in spans],
            None if answered is None else answered.text,
            message.found.language,
        )
        area = None if self._engine.embedding is None else areas.named(asked.words)
        queries = (message.text, asked.text, *asked.names)
        if area is not None:
            queries = (*queries, areas.told_of(area))
        found, likeness = self._like(message, queries if self.ns is not None else ())
        before = [
            row
            for row in self._newest()
            if row.id not in message.turn_ids and observed.may_ask_away(row.actor, message.actor)
        ]
        earlier = [one for one in earlier if observed.may_ask_away(one.actor, message.actor)]
        found |= {row.id: to_memory(row, self.namespace) for row in before}
        zone = self.zone or self._engine.config.zone
        today = day_in(zone, from_micros(self.moment))
        everything = means_all(asked, today)
        if everything:
            found = self._told_by(message.actor, message.turn_ids)
            earlier = [one for one in earlier if one.actor == message.actor]
        backs = [row.id for row in before if row.role == "user"]
        count = len(earlier)
        here = {f"\n{at}": one for at, one in enumerate(earlier)}  # no id has a line feed
        told = [
            Told(key, roots(one.text), today.toordinal(), count - int(key), 0.0, 0.0)
            for key, one in here.items()
        ]
        told += [
            Told(
                key=one.id,
                words=roots(one.text),
                day=day_in(zone, one.occurred_at).toordinal(),
                back=count + backs.index(one.id) + 1 if one.id in backs else 0,
                like_message=likeness.get((one.id, 0), 0.0),
                like_request=likeness.get((one.id, 1), 0.0),
            )
            for one in found.values()
            if one.role == "user"
            or (one.role is None and found.keys().isdisjoint(one.source.parents))
        ]
        meant = (all_of if everything else meant_by)(asked, told, today)
        if area is not None:
            texts = {one.key: (here.get(one.key) or found[one.key]).text for one in told}
            meant = self._of_area(area, texts, meant)
        return Request(Span(start, end, message.text[start:end]), asked, meant, here, found)

    def _like(
        self, message: Message, queries: Sequence[str]
    ) -> tuple[dict[str, Memory], dict[tuple[str, int], float]]:
        """Find what a request in a message may mean by some queries.

        Returns:
            The memories by their ids, and the cosine of each to each query by its number.
        """
        found: dict[str, Memory] = {}
        likeness: dict[tuple[str, int], float] = {}
        for at, query in enumerate(queries):
            for hit in self._view.retrieve(
                query,
                NEAR_FORGET,
                record=False,
                fold=False,
                shared=False,
                wait=_SECONDS,
                include_superseded=True,
            ):
                may = observed.may_ask_away(hit.memory.actor, message.actor)
                if may and hit.id not in message.turn_ids:
                    found[hit.id] = hit.memory
                    likeness[hit.id, at] = hit.signs.get("cosine", 0.0)
        return found, likeness

    def _told_by(self, actor: str | None, without: Collection[str]) -> dict[str, Memory]:
        """Return all that a user told, or that was stored as told, newest first, by its ids."""
        filters = Filters(
            self._engine.now(),
            statuses=(*FOUND, Status.SUPERSEDED),
            actors=() if actor is None else (actor,),
        )
        page = memories.Page(newest_first=True)
        rows = self._view.ask(lambda c, ns: memories.select(c, ns, filters, page)) or []
        return {
            row.id: to_memory(row, self.namespace)
            for row in rows
            if row.id not in without
            and row.actor == actor
            and row.trust == Trust.USER
            and row.source_uri is None
            and (row.role == "user" or (row.role is None and row.kind in observed.LEARNABLE))
        }

    def _of_area(self, area: int, texts: Mapping[str, str], named: Meant) -> Meant:
        """Return what was told that belongs to an area of the user's life.

        Args:
            area: The area.
            texts: What was told, by key.
            named: What the words of the request mean.
        """
        said = [(key, one) for key, text in texts.items() for one in statements(text) or [text]]
        sure, near, by = dict[str, None](), dict[str, float](), set[str]()
        assert self._engine.embedding is not None  # noqa: S101 - else no area is looked for
        embed = partial(embed_checked, self._engine.embedding.loaded())
        found = areas.belonging(area, [one for _, one in said], embed) if said else ()
        for (key, text), (is_sure, nearness) in zip(said, found, strict=True):
            if is_sure:
                sure[key] = None
                by.update(subjects(text))
            near[key] = max(near.get(key, 0.0), nearness)
        sure |= dict.fromkeys(named.sure)
        ordered = sorted(near, key=lambda key: -near[key])
        maybe = [key for key in ordered if near[key] and key not in sure]
        near_by = tuple(dict.fromkeys((*maybe, *named.near)))[:MOST_NEAR]
        return Meant(tuple(sure), near_by, named.by.union(by), own=named.own and not sure)


def _of_itself(message: Message, span: Span) -> Request:
    """Return the request of a message not to be kept."""
    at = [(span.start, span.end)]
    asked = asked_of(message.text, at, None, message.found.language)
    return Request(span, asked, Meant((), (), frozenset(), own=True), {}, {})


def steers(lesson: Lesson) -> bool:
    """Return whether a lesson changes what an agent does, or what the store holds already."""
    return (
        lesson.kind is Kind.RULE
        or lesson.slot is not None
        or lesson.signal in (Signal.CORRECTION, Signal.IDENTITY)
    )


def key_of(lesson: Lesson) -> str | None:
    """Return the slot that a lesson would fill."""
    return None if lesson.slot is None else lesson.slot.key


def answered_by(row: Row) -> Answered:
    """Describe a stored turn of the assistant."""
    return Answered(row.text, Trust(row.trust), (row.id,))


def candidate_of(ready: Ready, turn: str | None) -> Candidate:
    """Return a lesson as it is shown to the caller, with its text as it would be stored."""
    lesson, row = ready.lesson, ready.entry.row
    said = lesson.candidate
    return Candidate(
        text=row.text,
        span=said.span,
        role="user",
        signal=said.signal,
        kind=lesson.kind,
        key=key_of(lesson),
        condition=row.condition,
        due_at=lesson.due_at if lesson.kind is Kind.PLAN else None,
        scope=lesson.scope,
        confidence=said.probability,
        reasons=said.reasons,
        turn_id=turn,
        tags=lesson.tags,
        parents=tuple(strings_in(row.source_parents)),
    )
