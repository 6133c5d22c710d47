"""Store the lessons of a conversation: each is a repeat, a replacement, a contradiction or new.

The first that applies (see `judge`):

1. The same content, or the same value of the same slot and nothing more: the stored memory is
   reinforced. If an agent or a page wrote it, or the user states a rule and it is none, it is
   superseded or becomes the user's.
2. Another value of a slot that has one value at a time: the present value is superseded. If only
   the reader tells that one of both fills the slot, or that the value has ended, the slot goes to
   the new statement, and the former one stays without it.
3. A statement that explicitly takes back exactly one other (``observe.ended``): that one is
   superseded. A correction of something that was not found is linked (``corrects``) to the
   assistant's turn that it answers.
4. The negation or the opposite: both stay, linked as ``contradicts``.
5. Anything else is new. Earlier statements about the same thing stay, and both are shown with
   their dates, see ``retrieve.order``.

Of several users of a namespace, told apart by ``actor``, each has slots of their own (`slot_of`).
A correction that leans back keeps the words of what it replaces.

`judge` writes nothing, so that a dry run can use it; `take` writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b

from memento.admit.draft import Entry, to_json
from memento.admit.novelty import Novelty
from memento.base.clock import from_micros, to_micros
from memento.check import MAX_ITEMS
from memento.ledger import changes, memories, slot_rows
from memento.ledger.contract import Work
from memento.ledger.rows import LOCKS, Row, content_hash, is_sound, strings_in
from memento.observe.derive import Lesson
from memento.observe.ended import retracts
from memento.observe.nouns import KIN
from memento.observe.personal import is_told
from memento.observe.signals import Signal
from memento.observe.slots import Slot, may_tell, names_illness, slot_under, slots_under, slug, told
from memento.observe.wording import after, leans_back
from memento.text.opposed import adds_nothing, opposed, repeats
from memento.text.words import words
from memento.types import Event, Kind, Trust
from memento.write import slots
from memento.write.remember import remember
from memento.write.steps import FOUND, SLOT_HOLDING, holds, log_event

LEARNABLE = frozenset(Kind) - {Kind.EPISODE, Kind.QUESTION, Kind.ARTICLE}
"""Kinds that a statement may repeat, replace or contradict; turns and summaries are left alone."""
_SELF = frozenset({"i", "im", "ive", "me", "my", "mine", "myself", "we", "us", "our"})
_ONESELF = _SELF - {"we", "us", "our"}
_PERSONAL = ("user/", "style/")
"""Slots of one person, not of a project."""
_BY = "@by-"
"""Before the name of a user whose slot it is, if another user fills that without a name."""
_USUAL = (Signal.IDENTITY, Signal.PREFERENCE, Signal.RULE, Signal.FACT)
"""Signals to try for a memory that has none."""
_NOVELTY = Novelty()
"""Weighs nothing, as each lesson brings its importance."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision about a lesson.

    Attributes:
        repeats: The memory that says the same, or None.
        replaces: The memory that it supersedes, or None.
        displaces: The memory from which it takes the slot; it stays.
        contradicts: The memories that it contradicts; they stay.
        key: The slot that it fills, or None.
        unplaced: Whether it corrects something that was not found.
    """

    repeats: Row | None = None
    replaces: Row | None = None
    displaces: Row | None = None
    contradicts: tuple[Row, ...] = ()
    key: str | None = None
    unplaced: bool = False


def judge(
    work: Work, lesson: Lesson, others: Iterable[str], *, at: int, actor: str | None = None
) -> Verdict:
    """Decide what a lesson does to the stored memories. Writes nothing.

    Of several users of a namespace, each has slots of their own, and none takes back what another
    says of themselves; see `slot_of`.

    Args:
        work: The transaction.
        lesson: The lesson.
        others: Ids of memories that may be about the same, the nearest first.
        at: When it holds from, microseconds: it ends nothing that began later.
        actor: Name of the user, or None.
    """
    rows = [
        row
        for row in _candidates(work, others)
        if row.scope == lesson.scope and not _is_anothers(row, actor)
    ]
    key = None if lesson.slot is None else slot_of(work, lesson.slot.key, lesson.scope, actor)
    if lesson.slot is not None and key is not None:
        holder = slot_rows.holder_of(work.db, work.ns, (key, lesson.scope))
        if holder is None or not _is_open(work, holder):
            return _without_slot(work, lesson, rows, key, at, actor)
        held = _slot_in(holder)
        same = held is not None and held.value == lesson.slot.value
        known = same and adds_nothing(lesson.text, holder.text)
        if known and (_vouches(holder, lesson) or holder.pinned & LOCKS):
            return Verdict(repeats=holder, key=key)
        if holder.pinned & LOCKS:
            return Verdict(contradicts=(holder,))
        emptied = held is None and _tells_end(holder)
        if (lesson.slot.single or emptied) and not (same and _vouches(holder, lesson)):
            told_only = lesson.slot.told or (held is not None and held.told)
            if lesson.slot.single and not told_only:
                return Verdict(replaces=holder, key=key)
            if holder.valid_from <= at:
                return Verdict(displaces=holder, key=key)
        rows = [holder, *(row for row in rows if row.docid != holder.docid)]
    return _without_slot(work, lesson, rows, None, at, actor)


def slot_of(work: Work, key: str, scope: str, actor: str | None) -> str:
    """Return the slot of a user: one of their own if another user fills that of the key.

    Args:
        work: The transaction.
        key: The slot that a statement or a request names.
        scope: Its scope.
        actor: Name of the user, or None.
    """
    if actor is None or not key.startswith(_PERSONAL):
        return key
    name = slug(actor)
    if name != actor.casefold():  # two names may be spelled alike
        name += blake2b(actor.encode(errors="surrogatepass"), digest_size=4).hexdigest()
    own = f"{key}{_BY}{name}"
    if slot_rows.holder_of(work.db, work.ns, (own, scope)) is not None:
        return own
    holder = slot_rows.holder_of(work.db, work.ns, (key, scope))
    return own if holder is not None and holder.actor not in (None, actor) else key


def may_ask_away(said_by: str | None, actor: str | None) -> bool:
    """Return whether a request of a user may hide what somebody said: not what another user did.

    Args:
        said_by: Name of who said it, or None.
        actor: Name of the user who asks, or None.
    """
    return None in (said_by, actor) or said_by == actor


def _is_anothers(row: Row, actor: str | None) -> bool:
    """Return whether another user of the namespace speaks of themselves in a memory."""
    if may_ask_away(row.actor, actor):
        return False
    personal = row.key is not None and row.key.startswith(_PERSONAL)
    return personal or not _ONESELF.isdisjoint(words(row.text))


def _candidates(work: Work, ids: Iterable[str]) -> list[Row]:
    wanted = list(dict.fromkeys(ids))
    found = memories.by_ids(work.db, work.ns, wanted)
    rows = [found[one] for one in wanted if one in found]
    return [row for row in rows if row.kind in LEARNABLE and _is_open(work, row)]


def is_replaceable(work: Work, old: Row, new: Row) -> bool:
    """Return whether a statement of the user may supersede a memory named for it.

    Both hold now, in one scope; the earlier one is the user's own and not locked.
    """
    return (
        old.kind in LEARNABLE
        and old.scope == new.scope
        and old.trust == Trust.USER
        and not old.pinned & LOCKS
        and old.superseded_by is None
        and all(row.status in SLOT_HOLDING and _is_open(work, row) for row in (old, new))
    )


def _is_open(work: Work, row: Row) -> bool:
    return row.status in FOUND and is_sound(row) and holds(row, work.now)


def _slot_in(row: Row) -> Slot | None:
    """Return the slot that a holder's text fills, by its form or as the reader tells."""
    signals = [Signal(row.signal)] if row.signal in tuple(Signal) else _USUAL
    facts = told(row.text) if row.key and row.key.startswith("user/") else ()
    known = slots_under(row.text, signals, row.condition, facts)
    key = (row.key or "").partition(_BY)[0]
    return next((one for one in known if one.key == key), None)


def _tells_end(holder: Row) -> bool:
    """Return whether a holder says that the value of its slot ended, as the reader tells."""
    key = (holder.key or "").partition(_BY)[0]
    return key.startswith("user/") and any(
        one.ended and is_told(one) and key == f"user/{one.slot}" for one in told(holder.text)
    )


def value_of(row: Row) -> str | None:
    """Return the value that a memory gives its slot by its form, folded; None if it fills none."""
    signal = Signal(row.signal) if row.signal in tuple(Signal) else Signal.FACT
    slot = slot_under(row.text, signal, row.condition) if row.key else None
    return None if slot is None else slot.value


def _ended_by(work: Work, lesson: Lesson, at: int, actor: str | None) -> Row | None:
    """Return the holder of the user's slot whose value a lesson ends."""
    if lesson.ended is None:
        return None
    key = slot_of(work, f"user/{lesson.ended.slot}", lesson.scope, actor)
    holder = slot_rows.holder_of(work.db, work.ns, (key, lesson.scope))
    if holder is None or not _is_open(work, holder) or holder.pinned & LOCKS:
        return None
    if holder.valid_from > at or not _may_end(lesson, holder):
        return None
    return holder if {*words(lesson.ended.words)} <= {*words(holder.text)} else None


def _may_end(lesson: Lesson, row: Row) -> bool:
    """Return whether a lesson may take back what a memory says.

    One about one of the user's people, in which the user is not named again, is about them alone:
    "my wife isn't vegan", not "my boss let me go". It may end the partner.
    """
    said = lesson.candidate.span.text
    if names_illness(row.text) and not names_illness(said):
        return False
    about = "" if lesson.slot is None else lesson.slot.key
    key = None if row.key is None else row.key.partition(_BY)[0]
    other = about.removeprefix("user/") in KIN and key not in (None, about, "user/partner")
    named = [word for word in words(said) if word in _SELF]
    return (not other or len(named) > 1) and (key is None or may_tell(said, key))


def _without_slot(
    work: Work,
    lesson: Lesson,
    rows: Sequence[Row],
    key: str | None,
    at: int,
    actor: str | None,
) -> Verdict:
    """Compare a lesson with the memories that may be about the same."""
    same = next((row for row in rows if _says_the_same(row, lesson)), None)
    if same is not None and (key is None or same.key == key):
        if _vouches(same, lesson) or same.pinned & LOCKS:
            return Verdict(repeats=same, key=key)
        return Verdict(replaces=same, key=key)
    said = lesson.candidate.span.text
    ended = [
        row
        for row in rows
        if row.valid_from <= at
        and retracts(said, row.text, value=_value_of_user(row))
        and _may_end(lesson, row)
    ]
    if len(ended) == 1 and not ended[0].pinned & LOCKS:
        return Verdict(replaces=ended[0], key=key or ended[0].key)
    if (over := _ended_by(work, lesson, at, actor)) is not None:
        return Verdict(displaces=over, key=key or over.key)
    against = tuple(row for row in rows if _excludes(row, lesson))
    return Verdict(
        contradicts=against, key=key, unplaced=lesson.signal is Signal.CORRECTION and not against
    )


def _value_of_user(row: Row) -> str | None:
    """Return the value that a memory gives its slot; None without a slot or for a rule."""
    return None if row.key is None or row.kind == Kind.RULE else value_of(row) or ""


def _says_the_same(row: Row, lesson: Lesson) -> bool:
    return row.condition == lesson.condition and repeats(lesson.text, row.text)


def _vouches(row: Row, lesson: Lesson) -> bool:
    """Return whether a memory that says the same makes it needless to store a lesson of the user.

    One of an agent or a page does not. Nor does one that is no rule if the lesson is a rule: the
    user's rule would be missing from every policy.
    """
    return row.trust == Trust.USER and (lesson.kind is not Kind.RULE or row.kind == Kind.RULE)


def _excludes(row: Row, lesson: Lesson) -> bool:
    """Return whether a memory and a lesson cannot both be true."""
    if row.condition != lesson.condition and not (row.condition and lesson.condition):
        return False
    return opposed(row.text, lesson.text)


def take(work: Work, lesson: Lesson, entry: Entry, verdict: Verdict) -> Row:
    """Write a lesson as its verdict says."""
    if verdict.repeats is not None:
        row = verdict.repeats  # it was said again
        counted = {"reinforced": row.reinforced + 1, "updated_at": work.now}
        memories.overwrite(work.db, row, counted)
        log_event(work, row, Event.REINFORCED, {"source": entry.row.trust})
        return row
    if verdict.key != entry.row.key:
        entry.rekey(verdict.key)
    if (before := verdict.replaces or verdict.displaces) is not None:
        _take_over(lesson, entry, before)
    entry.by = Trust.USER  # the speaker, whomever they quote
    if verdict.displaces is not None:
        slots.rekey(work, memories.by_id(work.db, work.ns, verdict.displaces.id), None)
    (row,), _, _ = remember(work, [entry], _NOVELTY)
    old = verdict.replaces
    if old is not None and row.docid != old.docid and row.status in SLOT_HOLDING:
        present = memories.by_id(work.db, work.ns, old.id)
        if present.status in SLOT_HOLDING:
            slots.supersede(work, present, row, by=Trust.USER)
    for other in verdict.contradicts if row.status in SLOT_HOLDING else ():
        if other.docid != row.docid:
            later = (row.valid_from, row.docid) > (other.valid_from, other.docid)
            ends = (row.docid, other.docid) if later else (other.docid, row.docid)
            changes.link(work, *ends, "contradicts")
    if lesson.signal is Signal.CORRECTION:
        log_event(work, row, Event.CORRECTED)
    return row


def _take_over(lesson: Lesson, entry: Entry, before: Row) -> None:
    """Give a correction what it needs of the statement whose place it takes."""
    if lesson.signal is Signal.CORRECTION:
        entry.row.signal = (
            before.signal or entry.row.signal
        )  # else who the user is would leave the policy
        if before.kind == Kind.PLAN:
            entry.row.kind = before.kind
            entry.row.due_at = _due_again(lesson.due_at, before.due_at)
    if _leans_on(lesson, before):
        _add_what_it_corrects(entry, before)


def _due_again(due: datetime | None, before: int | None) -> int | None:
    """Return when a corrected plan is due: at the same time of day unless it names another."""
    if due is None or before is None:
        return before if due is None else to_micros(due)
    old = from_micros(before).astimezone(due.tzinfo)
    named_none = (due.hour, due.minute) == (23, 59)
    return to_micros(due.replace(hour=old.hour, minute=old.minute) if named_none else due)


def _leans_on(lesson: Lesson, old: Row) -> bool:
    """Return whether a correction names what it is about only by the memory that it replaces."""
    bare = lesson.slot is None and not lesson.quotes and old.trust == Trust.USER
    return bare and lesson.signal is Signal.CORRECTION and leans_back(lesson.text)


def _add_what_it_corrects(entry: Entry, old: Row) -> None:
    """Add to a correction the words of what it replaces, so that a later one finds them in it."""
    text = after(entry.row.text, old.text)
    if text == entry.row.text:
        return
    parents = [*strings_in(entry.row.source_parents), *strings_in(old.source_parents)]
    entry.row.source_parents = to_json([*dict.fromkeys(parents)][:MAX_ITEMS])
    entry.reword(text)
    identify(entry)


def identify(entry: Entry) -> None:
    """Set the content hash of a lesson: its time counts only for a dated value of a slot.

    The same statement on another day is a repeat. A value of a slot may hold, end and hold again;
    if the caller gives the times, each is a value of its own.
    """
    row = entry.row
    dated = row.key is not None and "valid_from" not in entry.derived
    row.content_hash = content_hash(
        row.text,
        row.scope,
        *(row.key, row.session, row.actor, row.role),
        row.occurred_at if dated else None,
        condition=row.condition,
    )
    row.seal()
