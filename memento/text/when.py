"""Read the times a text speaks of, and what else a question asks for. Pure; no clock.

A question is split into its dates and the rest: "What did Ruth say last week?" asks for Ruth and
for seven days. If nothing is left but words such as "what happened", the time is all it asks for.
"""

from __future__ import annotations

import os
import re
import threading
from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import partial
from hashlib import blake2b
from secrets import token_bytes

from memento.text import dates, foreign_dates
from memento.text.date_tables import compiled, tongues
from memento.text.dates import Mention, Period, Years, nearest_year
from memento.text.spelled_dates import spelled_out
from memento.text.words import META_WORDS, STOP_WORDS, words

_TELLING = frozenset(["how", "why", "not", "no"])
"""Stop words with which a question asks for more than what happened: "How are you today?"."""
_EMPTY_EAST = re.compile(
    r"""から|何|なに|なん|どんな|こと|事|もの|あり|ある|あっ|まし|です|でし|だっ|しま|し[たてま]|する|され|起こ[りっ]|起き|話し|話|言[いっ]|予定
    |は|が|を|に|の|と|で|も|か|た|て|ん|い|っ|よ|ね|私|僕|我々|たち|話題|会話|教えて|以[来降]
    |什么|什麼|甚么|哪些|发生|發生|事情|事|有|做|说|說|过|過|了|我们|我們|我|你|吗|嗎|呢|的|在|是|和|到|安排|计划|計劃|聊|谈|談|讲|講|都|要
    |从|從|自|以来|以來|起|那|里|裡|些|啊""",
    re.VERBOSE,
)
"""Parts of questions in Japanese and Chinese that ask for no subject."""


def has_subject(rest: str, text: str) -> bool:
    """Return whether a question has a word that is not about time or asking as such."""
    empty = STOP_WORDS.union(META_WORDS, *(tongue.hollow for tongue, _ in tongues(text)))
    left = words(_EMPTY_EAST.sub(" ", rest))
    return any(word not in empty or word in _TELLING for word in left)


__all__ = ["Period", "Times", "ahead", "said", "times_of"]


@dataclass(frozen=True, slots=True)
class Times:
    """The times a question asks for.

    Attributes:
        named: One tuple per time that is named: the periods it may mean, the likeliest first.
        rest: The question without the words that name times; names of feasts and seasons stay.
        only: Whether it asks for nothing else: "What happened yesterday?".
        last_talk: Whether it asks for the last conversation: "What did we discuss last time?".
        literal: Whether each time is a word as texts have it, also for another reason: a weekday
            ("on Fridays"), a year, or digits that may be no date ("order 1234/5").
    """

    named: tuple[tuple[Period, ...], ...]
    rest: str
    only: bool
    last_talk: bool = False
    literal: bool = False

    @property
    def periods(self) -> list[Period]:
        """All periods that are named, in order."""
        return [period for one in self.named for period in one]


NAMED_TIMES = re.compile(rf"\b(?:{dates.FEAST}|spring|summer|autumn|fall|winter)\b", re.IGNORECASE)
"""Names of feasts and seasons, which may also be what a text is about."""
_DIGITS = re.compile(r"\d{4}|\d+/\d+")
_SINCE = re.compile(
    r"(?:\b(?:since|seit|(?:à\s+partir|a\s+partir)\s+d[eu]l?|depuis|desde|from|ab)(?:\s+(?:the|dem|der|le|la|el|last))?|[自从從])\s*$",
    re.IGNORECASE,
)
_SINCE_AFTER = re.compile(r"\s*(?:以来|以來|以降|から|起|至今)")
_AFTER = re.compile(
    r"\b(?:after|nach|apr[eè]s|despu[eé]s\s+del?)(?:\s+(?:the|dem|le|el))?\s*$", re.IGNORECASE
)
_BEFORE = re.compile(r"\b(?:before|avant|antes\s+del?)(?:\s+(?:the|dem|le|el))?\s*$", re.IGNORECASE)
_BEFORE_AFTER = re.compile(r"\s*(?:以前|より前|之前|前)")
_UNTIL = re.compile(
    r"\b(?:until|till|bis|jusqu['\u2019]?(?:à|au|en)?|hasta)(?:\s+(?:the|zum|dem|le|el))?\s*$",
    re.IGNORECASE,
)
_UNTIL_AFTER = re.compile(r"\s*まで")
_LINK = re.compile(
    r"[\s,(]*+(?:(?:of|in|im|on|am|de|du|del|des|の|的|der)[\s,]*+)?(?:(?:the|dem|den|le|el)\b[\s,]*+)?",
    re.IGNORECASE,
)
_BESIDE = re.compile(r"[\s,(]*+(?:(?:the|den?|dem|der|le|el)\b\s*+)?", re.IGNORECASE)
"""Text between a weekday and its date; the date counts if they disagree."""
_TO = re.compile(
    r"\s*+(?:and|to|until|till|through|-|\u2013|und|bis|et|au|à|y|al?|hasta|から|と|到|至|和)\s*+(?:(?:the|zum|dem|le|el)\s*+)?",
    re.IGNORECASE,
)
_HABIT = re.compile(
    r"(?:\b(?:every|each|most|any|some|other|all|jede[mnrs]?|chaque|tou(?:te)?s\s+les|cada"
    r"|todos\s+los)|[每毎])\s*$",
    re.IGNORECASE,
)
_SAYS_WHEN = re.compile(
    r"\b(?:on|by|until|till|before|after|since|from|to|through|for|this|next|last|coming)\s+$",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"\b(?:an?|my|our|your|his|her|their|it['\u2019]?s|black|good|casual|cyber|super|giving|ash|palm"
    r"|holy|maundy|shrove|fat|taco|tgi|man|girl)\s+$",
    re.IGNORECASE,
)
"""Words before a weekday that make it one of many, the present day, a feast or a saying."""
_NO_NOUN = re.compile(
    r"['\u2019]s\b|(?:\s+(?:morning|afternoon|evening|night|noon))?(?=\s*(?:$|[^\w\s]|\d"
    r"|(?:a|about|after|also|and|are|around|as|at|because|before|between|but|by|for|from|he|i|if|in"
    r"|is|it|my|next|of|on|or|our|please|she|since|so|that|the|then|they|this|through|till|to|too"
    r"|until|via|was|we|week|fortnight|when|which|will|with|would|you)\b))",
    re.IGNORECASE,
)
"""Words after a weekday that do not make it part of a noun's name."""
_SPAN = re.compile(r"\s*(?:-|\u2013|から|到|至|~|\uff5e)\s*")
"""Marks of a range that need no word before it."""
_BETWEEN = re.compile(
    r"(?:\b(?:between|from|zwischen|von|vom|entre|du|del?|desde)(?:\s+(?:the|dem|le|el))?|[从從自])\s*$",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"(?:\b(?:on|in|at|during|since|from|between|until|till|before|after|by|for|the|am|im|seit|vom|zum"
    r"|zwischen|bis|vor|nach|ab|dem|der|en|au|avant|après|entre|le|depuis|desde|antes|después|hasta|el"
    r"|la|del?|du)\s+)+$",
    re.IGNORECASE,
)
_LAST_TALK = re.compile(
    r"""\b(?:last|previous)\s+(?:session|conversation|chat|discussion)\b
    |\bwhere\s+(?:did|were)\s+we\s+(?:leave\s+off|left\s+off|stop)\b
    |\b(?:did|have)\s+(?:we|i|you)\b.{0,40}?\b(?:talk\w*|sp[eo]a?k\w*|discuss\w*|say|said|tell|told|chat\w*|cover\w*|mention\w*|work\w*|do|done)\b.{0,60}?\blast\s+time\b
    |\blast\s+time\s+(?:we|i|you)\s+(?:talked|spoke|chatted|met|discussed)\b
    |\bletzte[ns]?\s+mal\b|\bletzte[nsr]?\s+(?:sitzung|gespräch|unterhaltung|chat)\b
    |\bla\s+derni[eè]re\s+fois\b|\bderni[eè]re\s+(?:session|conversation|discussion)\b
    |\bla\s+[uú]ltima\s+vez\b|\b[uú]ltima\s+(?:sesi[oó]n|conversaci[oó]n|charla)\b
    |前回|この前|上次|上一次|上回""",
    re.IGNORECASE | re.VERBOSE,
)
_LAST_TALK_PARTS = ("last", "previous", "where", "letzte", "derniere", "ultima")
"""Strings of which an ASCII question for the last conversation contains at least one."""
_ASKS_WHEN = re.compile(
    r"\s*(?:when|how\s+long|wann|quand|cu[aá]ndo|¿cu[aá]ndo)\b|いつ|什么时候|什麼時候|何时",
    re.IGNORECASE,
)
_PARTS = tuple(
    (
        re.compile(rf"\b(?:{before})[\s-]*(?:in\s+|de\s+)?$", re.IGNORECASE),
        re.compile(f"の?(?:{after})"),
        days,
    )
    for before, after, days in (
        (
            r"early|(?:the\s+)?(?:start|beginning)\s+of|anfang|d[eé]but|(?:a\s+)?principios",
            "初め|はじめ|上旬|初",
            (0, 9),
        ),
        (r"mid|(?:the\s+)?middle\s+of|mitte|mi|mediados", "半ば|中旬", (10, 19)),
        (r"late|(?:the\s+)?end\s+of|ende|fin|finales", "終わり|末|下旬|底", (20, 30)),
    )
)
"""Words before and after a month that mean a part of it, and the days of that part, from 0."""
_WEEK = 7
_MONTHS = range(28, 32)  # days
_LED_BY = 48  # characters before a time, in which "since the" or "at the beginning of" stands
_FAR = 3659  # days before a day that are meant by "before" it
_LAST_WORDS = re.compile(
    r"\b(?:last\s+time|letzte[ns]?\s+mal|derni[eè]re\s+fois|[uú]ltima\s+vez"
    r"|sesi[oó]n|conversaci[oó]n|charla|sitzung|gespräch|unterhaltung)\b|前回|この前|上次|上一次|上回",
    re.IGNORECASE,
)


def said(text: str, on: date) -> list[Period]:
    """Read the dates a statement mentions.

    Args:
        text: The statement.
        on: The day it was said.

    Returns:
        One period per date that is understood, in order.

    >>> [friday] = said("We met last Friday", date(2023, 5, 10))
    >>> date.fromordinal(friday.start).isoformat()
    '2023-05-05'
    """
    told = _told(spelled_out(text), on, nearest_year)
    return [period for one in told if not one.loose for period in one.periods]


def ahead(text: str, on: date) -> list[Period]:
    """Read the dates of a plan; of several possible ones, the next.

    Args:
        text: The statement.
        on: The day it was said.

    Returns:
        One period per date that is not over, in order of the text.

    >>> [friday] = ahead("I fly to Lisbon on Friday", date(2023, 5, 10))
    >>> date.fromordinal(friday.start).isoformat()
    '2023-05-12'
    """
    text = spelled_out(text)
    today = on.toordinal()
    found, last = list[Period](), None
    for one in _nested(_told(text, on, _this_year_and_next), text, plan=True):
        near = _coming(one, today).exact
        if last and found:
            joined = _TO.fullmatch(text, last.end, one.start)
            later = one.loose or len(last.periods) == 1  # else a range may have begun
            if later and (joined or last.loose):
                near = _coming(one, found[-1].end + 1).exact or near
            if joined and near == (found[-1],):  # "this Friday and next Friday"
                near = (Period(near[0].start + _WEEK, near[0].end + _WEEK),)
            if near and near[0] < found[-1] and _is_range(last, one, text):
                found.pop()  # it has begun
        last = one
        found += near
    return found


def _coming(one: Mention, today: int) -> Mention:
    """Keep its first period that is not over; a weekday alone never means today."""
    left = (
        whole
        for whole, exact in zip(one.periods, one.exact, strict=True)
        if exact.end >= today + (one.loose and not one.dated)
    )
    return one._replace(periods=tuple(sorted(left)[:1]))


def _told(text: str, on: date, years: Years) -> list[Mention]:
    """Find the dates in a statement, without weekdays that do not say when."""
    found = [*dates.mentions(text, on, years)]
    found += foreign_dates.mentions(text, on, years)
    days = [one for one in found if _is_day(one, text)]
    return _apart(foreign_dates.composed(days, text, on))


def _is_day(one: Mention, text: str) -> bool:
    """Return whether a mention says when: not a weekday in a habit, in a name or before a noun.

    "On Friday", "see you Friday" and "Friday at five" say when; "every Friday", "Black Friday", "a
    Friday" and "Friday call" do not.
    """
    if not one.loose:
        return True
    before = _near(one)
    if _HABIT.search(text, before, one.start):
        return False
    if not text[one.start : one.end].lower().rstrip("s").endswith("day"):  # another language's
        return True
    if text[one.end - 1] in "sS":
        return False
    if _SAYS_WHEN.search(text, before, one.start):
        return True
    return not _NAMED.search(text, before, one.start) and bool(_NO_NOUN.match(text, one.end))


def _this_year_and_next(_month: int, on: date) -> Iterator[int]:
    yield from (on.year, on.year + 1)


def times_of(text: str, now: date, years: Iterable[int]) -> Times:
    """Read the times a question asks for.

    Args:
        text: The question.
        now: The day it is asked.
        years: Years that memories mention; a day or month without a year is read in each of them.

    >>> found = times_of("What did Ruth say yesterday?", date(2026, 3, 2), [2026])
    >>> [(date.fromordinal(p.start).isoformat(), p.days) for p in found.periods], found.only
    ([('2026-03-01', 1)], False)
    """
    spelt = spelled_out(text)
    named = _asked(spelt, now, years)
    last_talk = _asks_for_last_talk(spelt)
    if not named and not last_talk:  # nearly always
        return Times((), text, only=False, last_talk=False)
    rest = _without(spelt, named, last_talk=last_talk)
    return Times(
        tuple(one.periods for one in named),
        rest,
        not has_subject(rest, spelt),
        last_talk,
        all(map(partial(_is_literal, spelt), named)),
    )


def _is_literal(text: str, one: Mention) -> bool:
    """Return whether a time is a single word without "last" or "next", and names no day."""
    said = text[one.start : one.end]
    return (said.isalpha() and _is_weekday(one)) or _DIGITS.fullmatch(said) is not None


def _asked(text: str, now: date, years: Iterable[int]) -> list[Mention]:
    """Find the times a question asks for, each with its likeliest period first."""
    known = sorted(years)
    found = [*dates.mentions(text, now, lambda _month, _on: iter(known))]
    found += foreign_dates.mentions(text, now, lambda _month, _on: iter(known))
    if not found:  # nearly always
        return []
    spoken = [tongue for tongue, _ in tongues(text) if tongue.past]
    if len(spoken) == 2:  # noqa: PLR2004 - English is always among them, but "was" is also German
        del spoken[0]
    past = any(compiled(tongue.past).search(text) for tongue in spoken)
    future = any(compiled(tongue.future).search(text) for tongue in spoken)
    tense = int(future) - int(past)
    apart = _apart(foreign_dates.composed(found, text, now))
    nested = _nested([_part(one, text) for one in apart], text)
    return [_ordered(one, tense, now) for one in _ranges(nested, text, now, tense)]


def _asks_for_last_talk(text: str) -> bool:
    if text.isascii() and not any(part in text.lower() for part in _LAST_TALK_PARTS):
        return False
    return bool(_LAST_TALK.search(text)) and not _ASKS_WHEN.match(text)


def _apart(found: Iterable[Mention]) -> list[Mention]:
    """Keep the longest of overlapping mentions; return those with periods, in order."""
    kept: list[Mention] = []
    for one in sorted(found, key=lambda one: (one.start - one.end, one.start, one.loose)):
        at = bisect_left(kept, one.end, key=lambda other: other.start)
        if at == 0 or kept[at - 1].end <= one.start:  # then all before it end earlier too
            kept.insert(at, one)
    return [one for one in kept if one.periods]


def _near(one: Mention) -> int:
    """Return the index from which words before a time may belong to it."""
    return max(0, one.start - _LED_BY)


def _part(one: Mention, text: str) -> Mention:
    """Read "mid February" and "end of May" as a part of the month."""
    if not all(period.days in _MONTHS for period in one.periods):
        return one
    for words_before, words_after, (first, last) in _PARTS:
        before = words_before.search(text, _near(one), one.start)
        after = words_after.match(text, one.end)
        if before or after:
            start = before.start() if before else one.start
            end = after.end() if after else one.end
            parts = (Period(p.start + first, min(p.start + last, p.end)) for p in one.periods)
            return Mention(start, end, tuple(parts))
    return one


def _nested(found: list[Mention], text: str, *, plan: bool = False) -> list[Mention]:
    """Join "Monday" and "last week" into one time: the days that they share.

    If a weekday contradicts the date after it, the date counts. So it does in a plan, rather than a
    matching date years away.
    """
    joined: list[Mention] = []
    for one in found:
        last = joined[-1] if joined else None
        if last and _LINK.fullmatch(text, last.end, one.start):
            beside = _is_dated(last, one) and _BESIDE.fullmatch(text, last.end, one.start)
            both = tuple(dict.fromkeys(_common(last, one)))
            if beside and (not both or (plan and not one.loose)):
                both = one.periods
            if both:
                slack = next((x.slack for x in (last, one) if set(both) <= set(x.periods)), (0, 0))
                joined[-1] = Mention(last.start, one.end, both, slack=slack)
                continue
        joined.append(one)
    return joined


def _common(one: Mention, other: Mention) -> list[Period]:
    """Return the days that two times share; "Tuesday the 5th of May" may be years away."""
    both = [(a, b) for a in one.periods for b in other.periods]
    shared = [Period(max(a.start, b.start), min(a.end, b.end)) for a, b in both if a.overlaps(b)]
    days, named = (other, one) if _is_dated(other, one) else (one, other)
    if not _is_dated(days, named):
        return shared
    return [one for one in named.periods if not (one.start - days.periods[0].start) % 7]


def _is_dated(one: Mention, other: Mention) -> bool:
    """Return whether the first is a weekday alone, and the second names a day of the month."""
    return _is_weekday(one) and other.dated


def _is_weekday(one: Mention) -> bool:
    """Return whether a mention is a weekday alone, without a date."""
    return one.loose and not one.dated and one.periods[0].days == 1


def _ranges(found: list[Mention], text: str, now: date, tense: int) -> Iterator[Mention]:
    """Read "between ... and ...", "since ...", "after ..." and "before ..."."""
    waiting = deque(found)
    while waiting:
        one = waiting.popleft()
        if waiting and _is_range(one, waiting[0], text):
            ends = one, waiting[0]
            if all(each.loose for each in ends):  # else "last week" fixes both days
                ends = _trimmed(one, tense), _trimmed(waiting[0], tense)
            hulls = tuple(_hulls(*ends))
            if hulls:
                yield Mention(one.start, waiting.popleft().end, hulls)
                continue
        yield _open_ended(_trimmed(one, tense) if one.loose else one, text, now)


def _is_range(one: Mention, other: Mention, text: str) -> bool:
    if _SPAN.fullmatch(text, one.end, other.start):
        return True
    led = _BETWEEN.search(text, _near(one), one.start)
    return bool(led and _TO.fullmatch(text, one.end, other.start))


def _hulls(one: Mention, other: Mention) -> Iterator[Period]:
    """Yield ranges of nearest periods, so that "3 May to 5 May" does not span two years."""
    for first in one.periods:
        ends = [last.end for last in other.periods if last.end >= first.start]
        begins = [begun.start for begun in one.periods if ends and begun.start <= min(ends)]
        if ends and first.start == max(begins):
            yield Period(first.start, min(ends))


def _trimmed(one: Mention, tense: int) -> Mention:
    """Keep the last and the next of a weekday alone, or the one that the tense tells."""
    last, coming = one.periods[:2]
    return one._replace(periods={-1: (last,), 1: (coming,)}.get(tense, (last, coming)))


def _open_ended(one: Mention, text: str, now: date) -> Mention:
    today = now.toordinal()
    if _SINCE.search(text, _near(one), one.start) or _SINCE_AFTER.match(text, one.end):
        if all(period.end > today for period in one.periods):
            return one
        begun = [period for period in one.periods if period.start <= today]
        return one._replace(periods=tuple(Period(period.start, today) for period in begun))
    if _AFTER.search(text, _near(one), one.start):
        return one._replace(
            periods=tuple(_after(period, today) for period in one.periods), slack=(0, 0)
        )
    if _BEFORE.search(text, _near(one), one.start) or _BEFORE_AFTER.match(text, one.end):
        return one._replace(
            periods=tuple(_before(period) for period in one.periods), slack=(0, 0), open=True
        )
    if _UNTIL.search(text, _near(one), one.start) or _UNTIL_AFTER.match(text, one.end):
        return one._replace(
            periods=tuple(_until(period) for period in one.periods), slack=(0, 0), open=True
        )
    return one


def _after(period: Period, today: int) -> Period:
    first = min(period.end + 1, date.max.toordinal())
    return Period(first, max(today, first))


def _before(period: Period) -> Period:
    return Period(max(1, period.start - _FAR), max(1, period.start - 1))


def _until(period: Period) -> Period:
    """Return the time until a period: "until" includes a single day, but not March."""
    before = _before(period)
    return Period(before.start, period.end) if period.days == 1 else before


def _ordered(one: Mention, tense: int, now: date) -> Mention:
    """Sort the periods: first the nearest one in the past or future, as the tense tells."""
    today = now.toordinal()

    def unlikely(period: Period) -> tuple[bool, int, bool]:
        ahead, behind = period.start > today, period.end < today
        away = max(period.start - today, today - period.end, 0)
        return (tense < 0 and ahead) or (tense > 0 and behind), away, ahead

    return one._replace(periods=tuple(sorted(one.periods, key=unlikely)))


def _without(text: str, named: Iterable[Mention], *, last_talk: bool) -> str:
    """Blank out the words that name times, but not names of feasts and seasons."""
    pieces, done = list[str](), 0
    for one in named:
        kept = " ".join(NAMED_TIMES.findall(text, one.start, one.end))
        led = _LEAD.search(text, max(done, _near(one)), one.start)
        start = led.start() if led else one.start
        pieces += text[done:start], kept.ljust(one.end - start)
        done = one.end
    rest = "".join((*pieces, text[done:]))
    return _LAST_WORDS.sub(" ", rest) if last_talk else rest


UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
"""Seconds of each unit of a length of time."""
EXAMPLES = "2025-05-01, 2025-05-01T14:30, 2025, yesterday, last november, last monday or 7d"
"""Examples of moments, for the message about one that cannot be read."""

_AGO = re.compile(
    r"(?:(an?)|(\d+(?:\.\d+)?))\s*(?:([smhdw])|(sec|min|hour)\w*(?=\s+ago$))(?:\s+ago)?"
)
_CLOCK = re.compile(
    r"(?:^|[ ,]{1,3})(?:at )?(?P<h>\d{1,2})(?:(?::(?P<m>\d\d))?\s?(?P<half>[ap]m)|:(?P<mm>\d\d))"
    r"(?= |$)",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    rf"{NAMED_TIMES.pattern}|\b(?:(?:in )?the )?(?:morning|afternoon|evening|night|noon)(?: of)?\b",
    re.IGNORECASE,
)
"""Words that may stand beside a day; the whole day is read."""
_NOON = 12


def seconds_of(text: str) -> float:
    """Read a length of time: seconds, or a number with one of the units s, m, h, d, w.

    Raises:
        ValueError: If the text is not a length of time.

    >>> seconds_of("90"), seconds_of("1.5h")
    (90.0, 5400.0)
    """
    unit = UNITS.get(text[-1:])
    try:
        return float(text) if unit is None else float(text[:-1]) * unit
    except ValueError:
        raise ValueError(f"{text!r:.60} is not a duration such as 90, 15m, 12h or 7d") from None


def moment_of(text: str, now: datetime, *, ahead: bool = False) -> datetime:
    """Read a moment: ISO 8601, a length of time ago, or any time that a question may name.

    Args:
        text: Such as ``2025-05-01T14:30``, ``now``, ``7d`` for seven days ago, ``last monday``,
            ``last november``, ``tomorrow at 9am``. A day or a longer time is its beginning; a time
            that is open to the past, such as ``before march``, is its end.
        now: The present; its time zone is used if the text names none.
        ahead: Whether an ambiguous time, such as a weekday, is in the future.

    Raises:
        ValueError: If the text is not a moment, or is outside the calendar.

    >>> now = datetime(2025, 5, 3, 10, 20)  # a Saturday
    >>> moment_of("last monday", now).isoformat(), moment_of("2h ago", now).isoformat()
    ('2025-04-28T00:00:00', '2025-05-03T08:20:00')
    >>> moment_of("saturday", now, ahead=True).isoformat()  # not the morning that has passed
    '2025-05-10T00:00:00'
    """
    said = " ".join(text.split())
    try:
        if said.lower() == "now":
            return now
        if found := _AGO.fullmatch(said.lower()):
            unit = UNITS[(found[3] or found[4])[0]]
            return now - timedelta(seconds=float(found[2] or 1) * unit)
        with suppress(ValueError):
            at = datetime.fromisoformat(said)
            return at if at.tzinfo else at.replace(tzinfo=now.tzinfo)
        return _named(said, now, ahead=ahead)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r:.60} is not a date or time such as {EXAMPLES}") from None


def _named(said: str, now: datetime, *, ahead: bool) -> datetime:
    """Return the bound of the time in a text; `ValueError` unless it is one time and no more."""
    clock = _CLOCK.search(said)
    day = (said[: clock.start()] + said[clock.end() :]).strip() if clock else said
    years = range(now.year - 1, now.year + 2)
    found = _asked(day := spelled_out(day), now.date(), years)
    if not found and " " not in day:  # "2025" and "may" are read after a word such as "in"
        found = _asked(day := f"in {day}", now.date(), years)
    if len(found) != 1 or re.search(r"\w", _ASIDE.sub("", _without(day, found, last_talk=False))):
        raise ValueError(said)
    [one] = found
    starts = sorted(p.end + 1 if one.open else p.start for p in one.exact)
    at, today = _time(clock) if clock else time(), now.date().toordinal()
    if ahead and _is_weekday(one) and at <= now.time():  # the time has passed today
        today += 1
        starts.append(starts[-1] + 7)
    near = [start for start in starts if (start >= today if ahead else start <= today)]
    first = (near or starts)[0 if ahead else -1]
    return datetime.combine(date.fromordinal(first), at, now.tzinfo)


def _time(clock: re.Match[str]) -> time:
    hour = int(clock["h"])
    if half := clock["half"]:
        hour = hour % _NOON + (_NOON if half.lower() == "pm" else 0)
    return time(hour, int(clock["m"] or clock["mm"] or 0))


MOST = 8_192
"""Maximum number of texts whose dates are kept (LRU), about 300 bytes each."""
_DIGEST = 16


class Spoken:
    """Reads texts for dates, and keeps what they name. Thread-safe.

    Args:
        most: Maximum number of texts whose dates are kept, >= 0.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most, self._key = most, token_bytes(_DIGEST)
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[bytes, int, bool], tuple[Period, ...]] = OrderedDict()

    def renew_lock(self) -> None:
        """Replace the lock, which another thread may have held when this process was forked."""
        self._lock = threading.Lock()

    def of(self, text: str, day: int, *, plan: bool = False) -> tuple[Period, ...]:
        """Return the dates that a text names, in order.

        Args:
            text: The text.
            day: The day it was said, as by `datetime.date.toordinal`.
            plan: Whether it is a plan, of which "Friday" is the next one, see `ahead`.

        >>> [friday] = Spoken().of("We met last Friday", date(2023, 5, 10).toordinal())
        >>> date.fromordinal(friday.start).isoformat()
        '2023-05-05'
        """
        spelt = text.encode(errors="surrogatepass")
        at = blake2b(spelt, digest_size=_DIGEST, key=self._key).digest(), day, plan
        with self._lock:
            found = self._kept.get(at)
            if found is not None:
                self._kept.move_to_end(at)
                return found
        found = tuple((ahead if plan else said)(text, date.fromordinal(day)))
        with self._lock:
            self._kept[at] = found
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return found


SPOKEN = Spoken()
"""One per process, as the dates in a text are the same in every store."""

os.register_at_fork(after_in_child=SPOKEN.renew_lock)
