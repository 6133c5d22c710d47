"""Write what the messages of a call taught, in the transaction that keeps the turns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memento.admit.draft import to_json
from memento.config import Config
from memento.conversation.turns import digest_of
from memento.learning.areas import is_of_others
from memento.learning.reading import Message, Ready, Request, candidate_of
from memento.ledger import changes, links, memories, model_rows, slot_rows, usage_events
from memento.ledger.contract import Transaction, Work
from memento.ledger.match import All, Word
from memento.ledger.rows import Row, docid_of, strings_in, to_memory
from memento.observe.asked import roots, subjects
from memento.observe.slots import missing
from memento.observe.values import (
    Action,
    Assistance,
    Candidate,
    ForgetRequest,
    Learned,
    Observation,
)
from memento.observe.wording import of_somebody
from memento.text import sentences, words
from memento.types import Event, Kind, Reason, Trust
from memento.write import change, locks, observed, slots
from memento.write.steps import FOUND, hide, log_event

MOST_SAYING = 1_000
"""Maximum number of memories to search for a value to forget."""

_MOST_LATER = 16
"""Maximum number of turns that are read after one that is forgotten."""
_TURNS = (Kind.EPISODE, Kind.QUESTION)
_NUMBER = re.compile(r"\d[\d.,:/ -]{0,40}\d")


@dataclass(slots=True)
class Done:
    """The outcome of a write; a new one if the write is repeated.

    Attributes:
        learned: Each lesson with its row and what was decided.
        forget: Requests to forget, and what they hid.
        doubtful: Statements that were not sure enough, and replace nothing.
        rows: Rows that were changed.
        known: Number of messages that had been observed before.
        change: Number of the change, or None.
        replaced: Id of a correction to the id of the memory that a language model named for it.
    """

    learned: list[tuple[Row, Ready, observed.Verdict]] = field(default_factory=list)
    forget: list[ForgetRequest] = field(default_factory=list)
    doubtful: list[Candidate] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    known: int = 0
    change: int | None = None
    replaced: dict[str, str] = field(default_factory=dict)


def taught(
    work: Work,
    read: Sequence[Message],
    rows: Sequence[Row],
    config: Config,
    *,
    begins_run: bool = False,
) -> Done:
    """Write what the messages of a call taught, as one change.

    Args:
        work: The transaction, after the turns were written.
        read: The messages of the user.
        rows: The rows of the turns.
        config: The settings.
        begins_run: Whether another change of the same call may follow.
    """
    done = Done()
    for message in read:
        turn = turn_row(work, message, rows)
        message.were_stored([row.id for row in rows])
        last = _observed(work, message, turn)
        message.known = last is not None and last.detail.get("said") == digest_of(message.text)
        if last is not None and message.known:
            done.known += 1
            message.asked, message.doubts = "model" in last.detail, len(message.doubtful)
            continue
        if turn is not None and last is not None:
            done.rows += _taken_back(work, turn, message)
        before = len(done.doubtful), len(done.learned)
        for ready in (*message.lessons, *message.doubtful):
            verdict = _judged(work, ready, turn)
            if is_stored(message, ready, verdict):
                _learn_one(work, done, ready, message, verdict)
            else:
                done.doubtful.append(candidate_of(ready, None if turn is None else turn.id))
        message.doubts = len(done.doubtful) - before[0]
        message.unplaced = {
            ready.lesson.candidate.span.start: row.id
            for row, ready, verdict in done.learned[before[1] :]
            if verdict.unplaced
        }
        for request in message.requests:
            done.forget.append(_forgotten(work, done, message, request, config.observe.forget))
        _note(work, message, turn)
    change_key = changes.finish(work, "observe", begins_run=begins_run)
    done.change = None if change_key is None else changes.number_of(change_key)
    return done


@dataclass(frozen=True, slots=True)
class Shown:
    """A sentence at which a language model pointed, ready to be written.

    Attributes:
        message: The message that has it.
        ready: Its lesson.
        replaces: Id of the memory that it replaces, or None.
    """

    message: Message
    ready: Ready
    replaces: str | None


def taught_again(
    work: Work,
    shown: Sequence[Shown],
    seen: Sequence[Message],
    turns: Mapping[int, Row],
    model: str,
    run: int | None,
) -> Done:
    """Write what a language model pointed at, as one change, and log which turns it saw.

    A turn that was hidden, erased or reworded in the meantime teaches nothing. One that the model
    did not see, because it failed or the process died, is shown to it when it is observed again.

    Args:
        work: The transaction.
        shown: The sentences.
        seen: The messages that the model saw.
        turns: ``id()`` of a message to the row that holds it, as it was when read.
        model: Its name.
        run: Number of the change that the call made before; None if this one begins its run.
    """
    done = Done()
    found = memories.by_ids(work.db, work.ns, [turn.id for turn in turns.values()])
    there = {
        which: found[turn.id]
        for which, turn in turns.items()
        if turn.id in found and found[turn.id].text == turn.text
    }
    for one in shown:
        turn = there.get(id(one.message))
        if id(one.message) in turns and (turn is None or turn.status not in FOUND):
            continue
        known = memories.by_ids(work.db, work.ns, [*one.message.unplaced.values()])
        row = known.get(one.message.unplaced_in(one.ready.lesson.candidate.span) or "")
        if row is None:
            verdict = _judged(work, one.ready, turn)
            if one.message.found.carried and verdict.replaces is not None:
                continue
            _learn_one(work, done, one.ready, one.message, verdict)
            row = done.rows[-1]
        if one.replaces is not None:
            _let_replace(work, done, row, one.replaces)
    for message in seen:
        turn = there.get(id(message))
        if turn is not None:
            model_rows.drop(work.db, [turn.docid])
            detail = {"model": model, "said": digest_of(message.text)}
            memories.record(work.db, work.ns, work.now, Event.OBSERVED, turn.docid, detail)
    first = None if run is None else docid_of(work.ns, run)
    change_key = changes.finish(work, "observe", run=first, begins_run=first is None)
    done.change = None if change_key is None else changes.number_of(change_key)
    return done


def _let_replace(work: Work, done: Done, row: Row, old_id: str) -> None:
    """Let a correction supersede the memory that a model offered for it, if nothing forbids it."""
    old = memories.by_ids(work.db, work.ns, [old_id]).get(old_id)
    if old is None or old.docid == row.docid or not observed.is_replaceable(work, old, row):
        return
    changes.begin(work)
    slots.supersede(work, old, row, by=Trust.USER)
    done.replaced[row.id] = old.id
    done.rows.append(memories.by_id(work.db, work.ns, old.id))


def turn_row(work: Work, message: Message, rows: Sequence[Row]) -> Row | None:
    """Return the row that holds a message; None if it is not stored."""
    if message.places:
        return rows[message.places.start]
    if message.turn_id is None:
        return None
    return memories.by_id(work.db, work.ns, message.turn_id)


def _observed(work: Work, message: Message, turn: Row | None) -> usage_events.Happening | None:
    """Return the last observation of a message, maybe with another text, or None."""
    if turn is None or not message.named:
        return None
    return next(reversed(usage_events.of_kinds(work.db, turn.docid, [Event.OBSERVED])), None)


def has_doubts(session: Transaction, turn: Row) -> bool:
    """Return whether a message that was observed has statements in doubt."""
    last = usage_events.of_kinds(session, turn.docid, [Event.OBSERVED])[-1:]
    return any(one.detail.get("doubtful") for one in last)


def _taken_back(work: Work, turn: Row, message: Message) -> list[Row]:
    """Hide what the earlier text of an edited message taught and the present one does not say.

    What another message taught as well stays, and what somebody reworded or locked.
    """
    said = {ready.entry.row.content_hash for ready in (*message.lessons, *message.doubtful)}
    changed: list[Row] = []
    for row in links.children(work.db, work.ns, [turn.id]):
        if row.content_hash in said or row.status not in FOUND or locks.is_locked(row):
            continue
        told = usage_events.of_kinds(work.db, row.docid, [Event.LEARNED, Event.UPDATED])
        if told and all(one.detail.get("turn") == turn.id for one in told):
            changes.begin(work)
            changed.append(hide(work, row, Reason.DISOWNED))
            changed += slots.give_back(work, row)
    return changed


def was_asked(session: Transaction, ns: int, turn: Row) -> bool:
    """Return whether a language model saw a turn."""
    last = usage_events.last_of(session, turn.docid, Event.OBSERVED)
    told_last = usage_events.happening(session, ns, last)
    return told_last is not None and "model" in told_last.detail


def _learn_one(
    work: Work, done: Done, ready: Ready, message: Message, verdict: observed.Verdict
) -> None:
    lesson, entry = ready.lesson, ready.entry
    if verdict.repeats is None:
        changes.begin(work)  # so that a new memory alone can be undone
    row = observed.take(work, lesson, entry, verdict)
    fresh = row.id == entry.row.id
    if fresh and verdict.unplaced and message.answered_id is not None:
        answered = memories.by_ids(work.db, work.ns, [message.answered_id])
        for other in answered.values():
            changes.link(work, row.docid, other.docid, "corrects")
    action = action_of(verdict) if fresh else Action.REPEATED
    detail = {"signal": lesson.candidate.signal.value, "action": action.value}
    if message.turn_id is not None:
        detail["turn"] = message.turn_id
    log_event(work, row, Event.LEARNED, detail)
    done.learned.append((row, ready, verdict))
    done.rows.append(row)


def is_stored(message: Message, ready: Ready, verdict: observed.Verdict) -> bool:
    """Return whether a statement is stored without being confirmed.

    A doubtful one is not. Nor is one that would replace a memory, if its message may carry words
    of others.
    """
    return ready in message.lessons and not (message.found.carried and verdict.replaces)


def _judged(work: Work, ready: Ready, turn: Row | None) -> observed.Verdict:
    """Judge a lesson by the stored memories but its turn."""
    others = [one for one in ready.others if turn is None or one != turn.id]
    row = ready.entry.row
    return observed.judge(work, ready.lesson, others, at=row.valid_from, actor=row.actor)


def _forgotten(
    work: Work, done: Done, message: Message, request: Request, mode: str
) -> ForgetRequest:
    """Carry out a request to forget as far as the settings say.

    Messages that wait for a language model are dropped, as they may say the same. The turn that
    asks is hidden as well, as it names what it is about.
    """
    model_rows.drop_all(work.db, work.ns)
    meant = request.meant
    sure = [*_slots_named(work, request, message.actor), *_rows(work, request.ids(meant.sure))]
    stated = [row for row in sure if row.role is None]
    told = _not_of_others((*sure, *_all_that_say(work, stated)), message)
    rows = {row.docid: row for row in told}
    turns = [row for row in rows.values() if row.role == "user"]
    learned = _statements(work, turns, meant.by, sure)
    for one in (*learned, *_answers(work, message, request, turns)):
        rows[one.docid] = one
    own = _rows(work, message.turn_ids)
    asking = {row.id for row in own}
    rows |= {row.docid: row for row in own}
    hidden: list[str] = []
    left = [row.id for row in rows.values() if row.id not in asking]
    if mode == "hide":
        changes.begin(work)
        for row in rows.values():
            if row.status in FOUND and not locks.is_locked(row):
                done.rows.append(change.forget(work, row.id))
                hidden.append(row.id)
        if left or meant.near or not meant.own:  # the message itself is not all that was found
            hidden = [one for one in hidden if one not in asking]
    left += request.ids(meant.near)
    same = _not_of_others(_of_the_same(work, turns, request), message)
    left += [one.id for one in same if one.docid not in rows]
    kept = _kept_by(done, message)
    left = [one for one in left if one not in asking and one not in kept]
    memories.record(work.db, work.ns, work.now, Event.FORGET_ASKED, None, {"hidden": len(hidden)})
    found = tuple(one for one in dict.fromkeys(left) if one not in hidden)
    return ForgetRequest(request.span, request.asked.about, tuple(hidden), found)


def _not_of_others(rows: Iterable[Row], message: Message) -> list[Row]:
    """Return the memories that a request in a message may hide."""
    return [row for row in rows if observed.may_ask_away(row.actor, message.actor)]


def _rows(work: Work, ids: Sequence[str]) -> list[Row]:
    return [*memories.by_ids(work.db, work.ns, ids).values()]


def _slots_named(work: Work, request: Request, actor: str | None) -> list[Row]:
    """Return the holders of the slots that a request names."""
    scopes = dict.fromkeys(["", *(one.scope for one in request.found.values())])
    slots = [
        (observed.slot_of(work, key, scope, actor), scope)
        for key in request.asked.slots
        for scope in scopes
    ]
    rows = (slot_rows.holder_of(work.db, work.ns, slot) for slot in slots)
    return [row for row in rows if row is not None]


def _statements(
    work: Work, turns: Sequence[Row], by: Collection[str], sure: Sequence[Row]
) -> list[Row]:
    """Return what was learned from each turn: what has a word of ``by``, or else all.

    The rest of a turn stays if the turn goes only because it told something that is meant itself:
    of "I'm 34 and live in Porto" the age, if the address is meant, also if it names another slot
    by the same word ("my email address").

    Args:
        work: The transaction.
        turns: The turns that go.
        by: Words by which they were recognised, without endings.
        sure: The turns and statements that are meant themselves.
    """
    pointed = {row.docid for row in sure}
    keys = {row.key for row in sure} - {None}
    found: list[Row] = []
    for turn in turns:
        learned = links.children(work.db, work.ns, [turn.id])
        named = [
            row for row in learned if not roots(row.text).isdisjoint(by) and not (keys and row.key)
        ]
        itself = any(row.docid in pointed or row.key in keys for row in learned)
        found += named if itself or turn.docid not in pointed else named or learned
    return found


def _kept_by(done: Done, message: Message) -> set[str]:
    """Return the ids of what a message states itself, and of the turns that told it before."""
    ours = [row for row, ready, _ in done.learned if any(ready is one for one in message.lessons)]
    return {one for row in ours for one in (row.id, *strings_in(row.source_parents))}


def _of_the_same(work: Work, turns: Sequence[Row], request: Request) -> Iterator[Row]:
    """Yield what was said of the person whom forgotten turns name: in them, and right after them.

    "My cousin Ida is ill. She owes me money" names her once.
    """
    for turn in turns:
        if not (request.asked.is_of_somebody or is_of_others(turn.text)):
            continue
        yield from (one for one in _learned_from(work, turn) if of_somebody(one.text))
        later = turn
        for _ in range(_MOST_LATER):
            later = memories.next_turn(work.db, later) or turn
            if later is turn or (later.role == "user" and not of_somebody(later.text)):
                break
            if later.role == "user" and later.status in FOUND:
                yield later
                yield from _learned_from(work, later)


def _learned_from(work: Work, turn: Row) -> list[Row]:
    """Return what was learned from a turn and can be found."""
    return [one for one in links.children(work.db, work.ns, [turn.id]) if one.status in FOUND]


def _answers(work: Work, message: Message, request: Request, turns: Sequence[Row]) -> Iterator[Row]:
    """Yield the turns of the assistant that repeat what to forget.

    They are the answers to the turns that told it and to the request, and what the assistant said
    before a request that only points.
    """
    meant, heard = request.meant, request.asked.words
    known = meant.by.union(heard)
    for turn in (*turns, *_rows(work, message.turn_ids)):
        answer = memories.next_turn(work.db, turn)
        if answer is not None and answer.role == "assistant":
            about = known | ((roots(turn.text) & {*request.asked.context}) if meant.own else set())
            if request.asked.of_all and not meant.own:
                about |= {*subjects(turn.text)}
            if not roots(answer.text).isdisjoint(about):
                yield answer
    said = {one.id for one in request.found.values() if one.role == "assistant"}
    for row in _rows(work, [*said]):
        spoken = roots(row.text)
        if (not meant.own and meant.by <= spoken) or (
            request.asked.whole and not meant.own and not spoken.isdisjoint(meant.by)
        ):
            yield row
    answered = () if message.answered is None else message.answered.ids
    for row in _rows(work, answered):
        if meant.own or not roots(row.text).isdisjoint(known):
            yield row


def _all_that_say(work: Work, rows: Sequence[Row]) -> list[Row]:
    """Return the turns that told what to forget, and all else that tells it.

    That includes answers that repeat it, and turns that told an earlier value of the same slot. A
    value with a digit or of several words counts wherever it stands, another one only where it
    fills the slot.
    """
    told: dict[int, Row] = {}
    said: set[str] = set()
    if rows:
        work.db.words.catch_up(work.ns)  # the newest turns may still wait for full text
    for row in rows:
        past: Sequence[Row] = ()
        if row.key is not None:
            past = slot_rows.values(work.db, work.ns, (row.key, row.scope), work.now)
        for state in (row, *past):
            parents = memories.by_ids(work.db, work.ns, strings_in(state.source_parents))
            told.update((turn.docid, turn) for turn in parents.values() if turn.kind in _TURNS)
            for value in _telling(state):
                said.add(value)
                told.update((other.docid, other) for other in _saying(work, value, row))
    answers = [memories.next_turn(work.db, one) for one in told.values() if one.role == "user"]
    told.update(
        (one.docid, one)
        for one in answers
        if one is not None
        and one.role == "assistant"
        and any(value in one.text.casefold() for value in said)
    )
    return list(told.values())


def _telling(row: Row) -> list[str]:
    """Return what reveals a memory, folded: the value of its slot, else its numbers."""
    value, text = observed.value_of(row), row.text.casefold()
    return [value] if value and value in text else _NUMBER.findall(text)


def _saying(work: Work, value: str, row: Row) -> Iterator[Row]:
    """Yield the memories that tell a value of another memory."""
    named = words.terms(value)
    if not named:
        return
    (seqs,) = work.db.words.postings(work.ns, [All(tuple(map(Word, named)))], MOST_SAYING)
    sure = len(named) > 1 or any(map(str.isdigit, value))
    docids = [docid_of(work.ns, int(seq)) for seq in seqs]
    for other in memories.by_docids(work.db, work.ns, docids).values():
        if value in other.text.casefold() and (sure or _fills(other, row, value)):
            yield other


def _fills(turn: Row, row: Row, value: str) -> bool:
    """Return whether a sentence of a turn gives a value to the slot of a memory."""
    said = sentences.statements(turn.text) if turn.kind in _TURNS else ()
    return any(observed.value_of(replace(row, text=one)) == value for one in said)


def _note(work: Work, message: Message, turn: Row | None) -> None:
    """Log what was observed, as counts and names; no text."""
    found = message.found
    docid = None if turn is None else turn.docid
    detail = {
        "learned": Counter(ready.lesson.candidate.signal.value for ready in message.lessons),
        "doubtful": len(message.doubtful),
        "vetoed": found.vetoed,
        "skipped": found.skipped,
        "said": digest_of(message.text),
    }
    memories.record(work.db, work.ns, work.now, Event.OBSERVED, docid, detail)
    answers = [] if message.answered_id is None else [message.answered_id]
    answered = next(iter(memories.docids_of(work.db, work.ns, answers).values()), None)
    for word in message.feedback:
        memories.record(work.db, work.ns, work.now, word, answered)


def action_of(verdict: observed.Verdict) -> Action:
    """Return what a verdict does."""
    if verdict.repeats is not None:
        return Action.REPEATED
    if verdict.replaces is not None:
        return Action.REPLACED
    return Action.CONTRADICTS if verdict.contradicts else Action.NEW


def told(read: Sequence[Message], done: Done, namespace: tuple[str, ...]) -> Observation:
    """Compose what ``observe`` returns; the turns and the times are left to the caller."""
    last = read[-1].found if read else None
    fresh = done.known < len(read) or not read
    return Observation(
        learned=tuple(
            _learned(row, ready, verdict, namespace) for row, ready, verdict in done.learned
        ),
        doubtful=tuple(done.doubtful),
        forget=tuple(done.forget),
        feedback=tuple(word.value for message in read for word in message.feedback)
        if fresh
        else (),
        vetoed=dict(sum((message.found.vetoed for message in read), Counter[str]())),
        skipped=sum(message.found.skipped for message in read),
        known=bool(read) and done.known == len(read),
        change=done.change,
        language="" if last is None else last.language,
        how="none" if last is None else last.how,
        missing=missing(),
    )


def told_again(
    seen: Observation, done: Done, part: Assistance, namespace: tuple[str, ...]
) -> Observation:
    """Add to an observation what a language model pointed at."""
    learned = [_learned(row, ready, verdict, namespace) for row, ready, verdict in done.learned]
    fresh = {one.memory.id for one in learned}
    taken = [(row.source_parents, ready.lesson.candidate.span) for row, ready, _ in done.learned]
    return replace(
        seen,
        learned=tuple(_replacing(one, done) for one in (*seen.learned, *learned)),
        doubtful=tuple(
            one
            for one in seen.doubtful
            if not any(
                turns == to_json([*one.parents]) and span.meets(one.span) for turns, span in taken
            )
        ),
        change=done.change if seen.change is None else seen.change,
        model=replace(part, accepted=len(fresh | done.replaced.keys())),
    )


def _replacing(one: Learned, done: Done) -> Learned:
    """Add what a correction replaced because a language model named it."""
    old = done.replaced.get(one.memory.id)
    if old is None or old in one.replaced:
        return one
    return replace(one, action=Action.REPLACED, replaced=(*one.replaced, old))


def _learned(
    row: Row, ready: Ready, verdict: observed.Verdict, namespace: tuple[str, ...]
) -> Learned:
    fresh = row.id == ready.entry.row.id
    sentence = ready.lesson.candidate
    past = row.superseded_by is not None  # said earlier than what holds now
    replaced = () if verdict.replaces is None or not fresh or past else (verdict.replaces.id,)
    action = Action.NEW if past else action_of(verdict)
    return Learned(
        memory=to_memory(row, namespace),
        signal=sentence.signal,
        confidence=sentence.probability,
        span=sentence.span,
        action=action if fresh else Action.REPEATED,
        replaced=replaced,
        contradicts=tuple(one.id for one in verdict.contradicts) if fresh else (),
    )
