"""Lessons of a conversation enter the store: repeated, replaced, flagged or new.

In order, the first that applies (see `take`):

1. The same content, or the same value of the same slot and nothing more: the memory that is there
   is reinforced. One that an agent or a page wrote, or that is not a rule where the user states
   one, is superseded or becomes the user's.
2. Another value of a slot that has one value at a time: the present value is superseded.
3. A statement that takes exactly one other back in so many words (``observe.ended``): that one
   is superseded. A correction of something that was not found is linked (``corrects``) to the
   assistant's turn that it answers.
4. The same with a "not", or the opposite: both stay, linked as ``contradicts`` both ways.
5. Anything else is new. What was said of the same thing before stays, and whoever reads sees both
   with their dates, see ``retrieve.newer``.

`judge` decides and writes nothing, so that a dry run says what would happen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memento.admit.draft import Entry
from memento.admit.novelty import Novelty
from memento.ledger import changes, memories, slot_rows
from memento.ledger.contract import Work
from memento.ledger.rows import LOCKS, Row, content_hash, is_sound
from memento.observe.derive import Lesson
from memento.observe.ended import retracts
from memento.observe.signals import Signal
from memento.observe.slots import Slot, slot_under, slots_under
from memento.text.opposed import adds_nothing, opposed, repeats
from memento.types import Event, Kind, Trust
from memento.write import slots
from memento.write.remember import remember
from memento.write.steps import FOUND, SLOT_HOLDING, holds, log_event

LEARNABLE = frozenset(Kind) - {Kind.EPISODE, Kind.QUESTION, Kind.ARTICLE}
"""Kinds that a statement may repeat, replace or contradict; turns and summaries are left alone."""
_USUAL = (Signal.IDENTITY, Signal.PREFERENCE, Signal.RULE, Signal.FACT)
"""Signals that are tried on a memory that was not learnt."""
_NOVELTY = Novelty()
"""Weighs nothing, as each lesson brings its importance."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision about a lesson.

    Attributes:
        repeats: The memory that says the same, or None.
        replaces: The memory that it takes the place of, or None.
        contradicts: The memories that say otherwise and stay.
        key: The slot that it is to fill, or None.
        unplaced: Whether it corrects something that was not found.
    """

    repeats: Row | None = None
    replaces: Row | None = None
    contradicts: tuple[Row, ...] = ()
    key: str | None = None
    unplaced: bool = False


def judge(work: Work, lesson: Lesson, others: Iterable[str]) -> Verdict:
    """Decide what a lesson does to the memories that are there. Writes nothing."""
    rows = [row for row in _candidates(work, others) if row.scope == lesson.scope]
    key = None if lesson.slot is None else lesson.slot.key
    if lesson.slot is not None and key is not None:
        holder = slot_rows.holder_of(work.db, work.ns, (key, lesson.scope))
        if holder is None or not _is_open(work, holder):
            return _without_slot(lesson, rows, key)
        if _has_value(holder, lesson) and (_vouches(holder, lesson) or holder.pinned & LOCKS):
            return Verdict(repeats=holder, key=key)
        if holder.pinned & LOCKS:
            return Verdict(contradicts=(holder,))
        if lesson.slot.single:
            return Verdict(replaces=holder, key=key)
        rows = [holder, *(row for row in rows if row.docid != holder.docid)]
        return _without_slot(lesson, rows, None)
    return _without_slot(lesson, rows, None)


def _candidates(work: Work, ids: Iterable[str]) -> list[Row]:
    wanted = list(dict.fromkeys(ids))
    found = memories.by_ids(work.db, work.ns, wanted)
    rows = [found[one] for one in wanted if one in found]
    return [row for row in rows if row.kind in LEARNABLE and _is_open(work, row)]


def is_replaceable(work: Work, old: Row, new: Row) -> bool:
    """Return whether a statement of the user may supersede a memory that was named to it.

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


def _has_value(row: Row, lesson: Lesson) -> bool:
    """Return whether the holder of the lesson's slot says the same, and no less."""
    slot = lesson.slot
    if not adds_nothing(lesson.text, row.text):
        return False
    signals = [Signal(row.signal)] if row.signal in tuple(Signal) else _USUAL
    known = slots_under(row.text, signals, row.condition)
    return slot is not None and any(
        (other.key, other.value) == (slot.key, slot.value) for other in known
    )


def value_of(row: Row) -> str | None:
    """Return the value that a memory gives its slot, folded; None if it fills none."""
    slot = _slot_of(row)
    return None if slot is None else slot.value


def _slot_of(row: Row) -> Slot | None:
    signal = Signal(row.signal) if row.signal in tuple(Signal) else Signal.FACT
    return slot_under(row.text, signal, row.condition) if row.key else None


def _without_slot(lesson: Lesson, rows: Sequence[Row], key: str | None) -> Verdict:
    """Compare a lesson with the memories that may be about the same."""
    same = next((row for row in rows if _says_the_same(row, lesson)), None)
    if same is not None and (key is None or same.key == key):
        if _vouches(same, lesson) or same.pinned & LOCKS:
            return Verdict(repeats=same, key=key)
        return Verdict(replaces=same, key=key)
    said = lesson.candidate.span.text
    ended = [row for row in rows if retracts(said, row.text, value=_value_of_user(row))]
    if len(ended) == 1 and not ended[0].pinned & LOCKS:
        return Verdict(replaces=ended[0], key=key or ended[0].key)
    against = tuple(row for row in rows if _excludes(row, lesson))
    return Verdict(
        contradicts=against, key=key, unplaced=lesson.signal is Signal.CORRECTION and not against
    )


def _value_of_user(row: Row) -> str | None:
    """Return the value that a memory gives a slot that says how the user is, not what to do."""
    return None if row.key is None or row.kind == Kind.RULE else value_of(row) or ""


def _says_the_same(row: Row, lesson: Lesson) -> bool:
    return row.condition == lesson.condition and repeats(lesson.text, row.text)


def _vouches(row: Row, lesson: Lesson) -> bool:
    """Return whether a memory that says the same stands for a lesson, which is the user's own word.

    The word of an agent or of a page does not, and what is not a rule does not stand for one: it
    would keep the user's rule out of every policy.
    """
    return row.trust == Trust.USER and (lesson.kind is not Kind.RULE or row.kind == Kind.RULE)


def _excludes(row: Row, lesson: Lesson) -> bool:
    """Return whether both a memory and a lesson cannot be true."""
    if row.condition != lesson.condition and not (row.condition and lesson.condition):
        return False
    return opposed(row.text, lesson.text)


def take(work: Work, lesson: Lesson, entry: Entry, verdict: Verdict) -> Row:
    """Write a lesson as it was judged."""
    if verdict.repeats is not None:
        row = verdict.repeats  # it was said again
        counted = {"reinforced": row.reinforced + 1, "updated_at": work.now}
        memories.overwrite(work.db, row, counted)
        log_event(work, row, Event.REINFORCED, {"source": entry.row.trust})
        return row
    if verdict.key != entry.row.key:
        entry.rekey(verdict.key)
    entry.by = Trust.USER  # who speaks, whomever the statement quotes
    (row,), _, _ = remember(work, [entry], _NOVELTY)
    old = verdict.replaces
    if old is not None and row.docid != old.docid and row.status in SLOT_HOLDING:
        present = memories.by_id(work.db, work.ns, old.id)
        if present.status in SLOT_HOLDING:
            slots.supersede(work, present, row, by=Trust.USER)
    for other in verdict.contradicts if row.status in SLOT_HOLDING else ():
        if other.docid != row.docid:
            changes.link(work, row.docid, other.docid, "contradicts")
            changes.link(work, other.docid, row.docid, "contradicts")
    if lesson.signal is Signal.CORRECTION:
        log_event(work, row, Event.CORRECTED)
    return row


def identify(entry: Entry) -> None:
    """Settle what makes a lesson the same as another memory: not its time, unless it has a slot.

    The same statement of another day is a repeat. A value of a slot may hold, end and hold again;
    each time, if the caller says when it was, is a value of its own.
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
