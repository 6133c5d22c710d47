"""Make a lesson of a candidate: its text, kind, slot, scope and dates. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from memento.observe import cues
from memento.observe.language import recognise
from memento.observe.nouns import KIN
from memento.observe.personal import SLOTS, Personal, is_told
from memento.observe.signals import Candidate, Signal
from memento.observe.slots import Slot, slot_of, told
from memento.observe.wording import (
    after,
    condition_of,
    leans_back,
    quoted,
    stands_alone,
    without_lead,
)
from memento.text.when import Period, ahead
from memento.types import Kind

KINDS: Mapping[Signal, Kind] = {
    Signal.IDENTITY: Kind.FACT,
    Signal.FACT: Kind.FACT,
    Signal.RELATION: Kind.RELATION,
    Signal.PREFERENCE: Kind.PREFERENCE,
    Signal.RULE: Kind.RULE,
    Signal.DECISION: Kind.DECISION,
    Signal.PLAN: Kind.PLAN,
    Signal.TODO: Kind.PLAN,
    Signal.PROCEDURE: Kind.PROCEDURE,
}
"""Kind of the memory that each signal becomes; of a correction, see `kind_of_correction`."""
IMPORTANCE: Mapping[Kind, float] = {
    Kind.RULE: 0.8,
    Kind.FACT: 0.7,
    Kind.PREFERENCE: 0.7,
    Kind.RELATION: 0.7,
    Kind.DECISION: 0.7,
    Kind.PLAN: 0.65,
    Kind.PROCEDURE: 0.7,
}
"""Importance of what was learned, [0, 1]: worth the long tier. Untuned. Of other kinds, which only
a person chooses, it is that of any memory."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """The memory that a sentence of the user would become.

    Attributes:
        candidate: The sentence and its class.
        text: The text to store: a part of the sentence, with the words before it or what it answers
            if it needs them.
        kind: Kind of the memory.
        slot: The slot it fills, or None.
        condition: When it applies, or None for always.
        due_at: When a plan, or what a correction makes of one, is due; or None.
        scope: Scope in which it applies.
        tags: Labels.
        ended: What of the user it says to hold no longer, or None.
        quotes: Whether the text holds words of what it answers.
        signal: Class of the memory: that of the sentence, but ``identity`` for what an agent must
            know about its user in every conversation.
    """

    candidate: Candidate
    text: str
    kind: Kind
    slot: Slot | None
    condition: str | None
    due_at: datetime | None
    scope: str
    tags: tuple[str, ...]
    signal: Signal
    ended: Personal | None = None
    quotes: bool = False


def derive(
    candidate: Candidate, *, answered: str | None, said_at: datetime, scope: str = ""
) -> Lesson | None:
    """Make a lesson of a candidate; None for feedback and requests to forget.

    Args:
        candidate: The sentence and its class.
        answered: The assistant's turn before the message, or None.
        said_at: When it was said, in the time zone of the user.
        scope: Scope of the conversation.
    """
    signal = candidate.signal
    if signal in (Signal.FEEDBACK, Signal.FORGET):
        return None
    plain = without_lead(candidate.text)
    correction = signal is Signal.CORRECTION
    facts = () if signal is Signal.RULE else told(candidate.text)
    slot = slot_of(candidate.text, signal, facts)
    ended = next((one for one in facts if one.ended and is_told(one)), None)
    table = _cues_of(plain)
    denied = "" if table is None else table.denied(plain)
    if signal is Signal.PLAN:
        ended = None
    elif slot is None and signal is not Signal.RULE:
        ended = ended or _ended_by(denied)
    if correction and (slot is None or slot.told):
        slot = _slot_told_anew(plain) or slot
    kind = kind_of_correction(plain, slot) if correction else KINDS[signal]
    if kind is Kind.PLAN and (_YEARLY.search(plain) or _is_over(plain)):
        kind = Kind.FACT  # it recurs, so it is never due or over, or it is over already
    of_user = ended or (correction and table and table.signal(denied) is Signal.IDENTITY)
    standing = Signal.IDENTITY if of_user else standing_of(plain, signal, slot)
    text, quotes = (plain, False) if slot else _understood(plain, candidate, kind, answered)
    due_at = dates_of(plain, said_at)[0] if kind is Kind.PLAN or correction else None
    return Lesson(
        candidate=candidate,
        text=text,
        quotes=quotes,
        kind=kind,
        slot=slot,
        condition=condition_of(plain) if kind is Kind.RULE else None,
        due_at=due_at,
        scope=_scope(plain, scope, slot, standing, kind),
        tags=tuple(name for name, on in _tags(signal) if on),
        signal=standing,
        ended=ended,
    )


def _understood(
    plain: str, candidate: Candidate, kind: Kind, answered: str | None
) -> tuple[str, bool]:
    """Return the text to store, with what it leans on; and whether that is what it answers."""
    if leans_back(plain) and (text := after(plain, candidate.before)) != plain:
        return text, False
    correction = candidate.signal is Signal.CORRECTION
    if kind is Kind.RULE or not answered or stands_alone(plain, correction=correction):
        return plain, False
    text = quoted(plain, answered)
    return text, text != plain


_HEALTH = re.compile(
    r"\b(?:allerg\w*|intoleran\w*|coeliac|celiac|diabet\w*|asthma\w*|epilep\w*|pregnan\w*|vegan"
    r"|vegetarian|pescatarian|kosher|halal|medication|prescri\w*|insulin|\d+ ?mg)\b"
    r"|\b(?:i|i'm|i am) (?:tak(?:e|ing)|on) \w+(?: \w+){0,3} (?:every|each|twice|daily|for my)\b",
    re.IGNORECASE,
)
"""What somebody must or must not eat, take or touch."""


def standing_of(plain: str, signal: Signal, slot: Slot | None) -> Signal:
    """Return the class of a memory; identity includes the user's people, diet and health."""
    if signal not in (Signal.FACT, Signal.RELATION):
        return signal
    mine, _, noun = ("", "", "") if slot is None else slot.key.partition("/")
    lasting = slot is not None and mine == "user" and (slot.single or noun in _OF_PERSONS)
    return Signal.IDENTITY if lasting or _HEALTH.search(plain) else signal


_OF_PERSONS = frozenset((*KIN, *SLOTS))


def _tags(signal: Signal) -> tuple[tuple[str, bool], ...]:
    return ("correction", signal is Signal.CORRECTION), ("todo", signal is Signal.TODO)


_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_YEARLY = re.compile(
    r"\b(?:birthday|anniversary|name\s?day)(?:['’]s|\s+is|\s+falls)\b"  # noqa: RUF001 - real
    rf".{{0,200}}\b(?:{_MONTH}\b|\d{{1,2}}[./]\d{{1,2}})",
    re.IGNORECASE,
)
"""A day of every year, by its date: "My birthday is on 4 May"."""
_NOT_THIS_BUT = re.compile(
    r"(?P<old>(?:i|we)\b[^,;]{0,200}?"
    r"(?:n['’]t|\bnot|\bno\s{1,9}longer|\bnever)\b[^,;]{0,200})"  # noqa: RUF001 - real
    r"(?:[,;]\s*(?:but\s+)?|\s{1,9}but\s+)(?P<new>(?:i|we|it)\b.+)",
    re.IGNORECASE,
)
"""A clause that denies the old value and one that gives the new one. A longer one is no clause."""
_NEGATION = re.compile(
    r"n['’]t\b|\b(?:not|no\s+longer|never|any\s*more|anymore)\b",  # noqa: RUF001 - real
    re.IGNORECASE,
)


def _slot_told_anew(plain: str) -> Slot | None:
    """Return the slot of "I don't live in X any more, we moved to Y", if both clauses share it."""
    said = _NOT_THIS_BUT.match(plain)
    if said is None:
        return None
    told = slot_of(said["new"], Signal.IDENTITY)
    denied = " ".join(_NEGATION.sub(" ", said["old"]).replace(" do ", " ").split())
    before = slot_of(denied, Signal.IDENTITY)
    return told if told and before and told.key == before.key else None


def _cues_of(plain: str) -> cues.Table | None:
    """Return the cues of the language of a statement; None for English."""
    code = recognise(plain)
    return cues.load(code) if code in cues.LANGUAGES else None


def _ended_by(denied: str) -> Personal | None:
    """Return what of the user has ended if they deny something, in another language than English.

    Without its negation the statement fills a slot of theirs: "Ich wohne nicht mehr in Graz".
    """
    slot = slot_of(denied, Signal.IDENTITY) if denied else None
    if slot is None or not slot.key.startswith("user/"):
        return None
    noun = slot.key.removeprefix("user/")
    return Personal(noun, slot.value, 1.0, ended=True) if noun in SLOTS else None


_ORDERS = re.compile(
    r"(?:please|always|never|do not|don't|use|answer|reply|respond|write|keep|stop|no |call me"
    r"|make sure|you (?:must|should))\b",
    re.IGNORECASE,
)
_LIKES = re.compile(r"(?:i|i'd|i'm) (?:prefer|like|love|hate|rather|not a fan)\b", re.IGNORECASE)


def kind_of_correction(plain: str, slot: Slot | None) -> Kind:
    """Return the kind that a correction becomes.

    >>> kind_of_correction("use uv instead of pip", None).value
    'rule'
    """
    if slot is not None and slot.key.startswith("user/"):
        return Kind.FACT
    if (table := _cues_of(plain)) is not None:
        return Kind.RULE if table.is_rule(plain) else Kind.FACT
    if _ORDERS.match(plain):
        return Kind.RULE
    return Kind.PREFERENCE if _LIKES.match(plain) else Kind.FACT


_HERE = re.compile(
    r"\b(?:in|for|within) (?:this|the|our) (?:repo|repository|project|codebase|workspace)\b"
    r"|\bfor the rest of (?:this|the) project\b",
    re.IGNORECASE,
)
_EVERYWHERE = re.compile(
    r"\b(?:everywhere|in all (?:my |our )?(?:projects|repos|chats|conversations)|in general"
    r"|in every (?:project|repo|chat|conversation))\b",
    re.IGNORECASE,
)


def _scope(plain: str, scope: str, slot: Slot | None, signal: Signal, kind: Kind) -> str:
    """Return the scope of a statement: what it says, or else that of its kind."""
    if _HERE.search(plain):
        return scope
    if _EVERYWHERE.search(plain) or signal is Signal.IDENTITY:
        return ""
    styled = slot is not None and slot.key.startswith("style/")
    mine = slot is not None and slot.key.startswith("user/")
    return "" if mine or (styled and kind is Kind.PREFERENCE) else scope


_CLOCK = re.compile(
    r"\b(?:at|um|by|from|à|a las?|alle|às|om)\s+(?P<h>[01]?\d|2[0-3])"
    r"(?:[:.h](?P<m>[0-5]\d)|\s*(?P<half>am|pm)|\s*(?:uhr|uur|h\b|o'clock)|(?=[.,;!]|$)"
    r"|(?=\s(?:tonight|tomorrow|this|in the)\b))(?:\s*(?P<late>am|pm))?",
    re.IGNORECASE,
)
_NIGHT = re.compile(
    r"\b(?:tonight|night|evening|abend|nacht|soir|soirée|nuit|noche|stasera|stanotte|sera"
    r"|notte|noite|vanavond|avond|vannacht)\b",
    re.IGNORECASE,
)
_AFTERNOON = re.compile(
    r"\b(?:afternoon|nachmittag|après-midi|tarde|pomeriggio|middag|vanmiddag)\b", re.IGNORECASE
)
_NOON = 12
_SMALL_HOURS = 5
"""Hours of the morning that people call night: "tonight at 1" is after midnight."""


_HAPPENED = re.compile(
    r"(?:i|we|my [\w' ]{1,30}?|the [\w' ]{1,30}?) (?:had|was|were|went|saw|met|visited)\b",
    re.IGNORECASE,
)
_TO_COME = re.compile(r"\b(?:will|going|gonna|next|tomorrow|to)\b|'ll\b", re.IGNORECASE)


def _is_over(plain: str) -> bool:
    """Return whether a statement tells what has happened: "I had an appointment on 2 February"."""
    return _HAPPENED.match(plain) is not None and _TO_COME.search(plain) is None


_DENIED = re.compile(r",\s(?:and )?(?:not|nicht|niet|pas|no|non) [^,.;]*", re.IGNORECASE)
"""What a correction says it is not: "on Thursday, not Friday"."""


def dates_of(plain: str, said_at: datetime) -> tuple[datetime | None, datetime | None]:
    """Return when a plan is due and when it is over: at the end of its last day.

    What begins then ("from September we close at four") is due on the first day and never over.

    Args:
        plain: The plan; of one that names no time, both are None.
        said_at: When it was said, in the time zone of the user.
    """
    periods = ahead(_DENIED.sub("", plain), said_at.date())
    if not periods:
        return None, None
    first = min(periods, key=lambda one: one.end)
    if len(periods) == 1 and _begins(plain, first, said_at.date()):
        return _due(plain, Period(first.start, first.start), said_at), None
    due = _due(plain, first, said_at)
    last = max(due.toordinal(), *(one.end for one in periods))
    return due, datetime.combine(date.fromordinal(last + 1), time(), said_at.tzinfo)


_BEGINS = re.compile(
    r"(?:\b(?:(?:starting|beginning|effective)(?: (?:from|in|on))?|as (?:of|from)|ab|desde"
    r"|à partir d[eu]|a partir de|(?<!s )from))\s+",
    re.IGNORECASE,
)
"""Words before the time at which something begins; "two weeks from Monday" is a day."""
_GOES_ON = re.compile(r"(?:the|next|this|early|mid|late|\d)\b|\d", re.IGNORECASE)
_ENDS = re.compile(
    r"\b(?:to|till|until|through|and|bis|hasta|(?:au|al?)(?= \d))\b|[-\u2013]", re.IGNORECASE
)


def _begins(plain: str, period: Period, on: date) -> bool:
    """Return whether a plan says that something begins in a period, and not when it ends."""
    for word in _BEGINS.finditer(plain):
        named = plain[word.end() :].split()[:4]
        if _ENDS.search(" ".join(named)):
            continue
        most = 4 if _GOES_ON.match(" ".join(named)) else 2
        if any(period in ahead(" ".join(named[:many]), on) for many in range(1, most + 1)):
            return True
    return False


def _due(plain: str, first: Period, said_at: datetime) -> datetime:
    """Return the named moment, or the last minute of the named day or period."""
    zone = said_at.tzinfo
    if first.days == 1 and (clock := _CLOCK.search(plain)):
        days, hour = _hour(clock, plain)
        if days and first.start == said_at.toordinal() and said_at.hour < hour:
            days = 0  # "tonight at 3", said at 1
        return datetime.combine(
            date.fromordinal(first.start + days), time(hour, int(clock["m"] or 0)), zone
        )
    day = first.start - 1 if _is_before(plain) and first.start > said_at.toordinal() else first.end
    return datetime.combine(date.fromordinal(day + 1), time(), zone) - timedelta(minutes=1)


def _hour(clock: re.Match[str], plain: str) -> tuple[int, int]:
    """Return how many days after the named day a clock time is, and its hour."""
    hour, half = int(clock["h"]), (clock["half"] or clock["late"] or "").casefold()
    night = _NIGHT.search(plain) is not None
    small = hour < _SMALL_HOURS or hour == _NOON
    if hour > _NOON:
        return 0, hour
    if night and small and half != "pm":
        return 1, hour % _NOON
    if half:
        return 0, hour % _NOON + (_NOON if half == "pm" else 0)
    late = (night or _AFTERNOON.search(plain)) and hour != _NOON
    return 0, hour + (_NOON if late and hour else 0)


def _is_before(plain: str) -> bool:
    """Return whether it is due before the time; "the Friday before Easter" is a time."""
    return (
        re.search(r"(?<!day )(?<!days )(?<!week )(?<!weeks )\bbefore \w", plain, re.IGNORECASE)
        is not None
    )
