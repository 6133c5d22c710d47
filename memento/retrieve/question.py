"""Parse a query: from its text and a few facts about the namespace, make a `Query`. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from memento.base.clock import DAY, EPOCH, to_micros
from memento.ledger.match import Match
from memento.retrieve import spellings
from memento.retrieve.spellings import Verbatim, without_possessive
from memento.text import answer_form, former_question
from memento.text import words as spelling
from memento.text.answer_form import Form
from memento.text.chatter import is_chatter
from memento.text.codes import codes
from memento.text.fast_pattern import Small
from memento.text.former_question import Former
from memento.text.when import Period, times_of
from memento.text.words import HOLLOW_WORDS
from memento.text.worldly import asks_of_oneself, is_worldly

_EPOCH_DAY = EPOCH.toordinal()
_LAST_DAY = date.max.toordinal()
_ENDS = np.iinfo(np.int64)
_CLOSE = 8_192  # maximum range of days that is numbered without sorting


@dataclass(frozen=True, slots=True)
class Days:
    """The days of one time zone, numbered as by `datetime.date.toordinal`.

    Attributes:
        zone: The time zone.
    """

    zone: tzinfo = UTC

    def of(self, moments: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the days of moments, microseconds since 1970 UTC; none before the calendar begins.

        >>> from zoneinfo import ZoneInfo
        >>> Days(ZoneInfo("Asia/Tokyo")).of(np.array([0, 15 * 3_600_000_000])) - _EPOCH_DAY
        array([0, 1])
        """
        days = moments // DAY + _EPOCH_DAY
        if self.zone is UTC:
            return days
        distinct, at = _distinct(days)
        begun, over = (
            np.array([self.start(day + step) for day in distinct.tolist()], np.int64)
            for step in (0, 1)
        )
        days += (moments >= over[at]).astype(np.int64) - (moments < begun[at])
        return np.maximum(days, 1)  # no offset is a whole day, so it is one of these three days

    def start(self, day: int) -> int:
        """Return the first moment of a day, microseconds since 1970 UTC.

        A day outside the calendar begins before or after every moment.
        """
        if not 1 <= day <= _LAST_DAY:
            return int(_ENDS.min if day < 1 else _ENDS.max)
        return _start(self.zone, day)


def _distinct(days: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ascending days that include all given ones, and the index of each among them.

    Days close to each other need not be sorted, which takes 60 ms for a million.
    """
    if len(days):
        first, last = int(days.min()), int(days.max())
        if last - first <= min(len(days), _CLOSE):
            return np.arange(first, last + 1), days - first
    distinct, at = np.unique(days, return_inverse=True)
    return distinct, at


@lru_cache(maxsize=16_384)
def _start(zone: tzinfo, day: int) -> int:
    midnight = datetime.combine(date.fromordinal(day), datetime.min.time(), zone)
    return to_micros(midnight)  # a midnight that the clocks skip is the moment at which they do


_WHEN = re.compile(
    r"\s*(when|what (year|month|date|day|time)|how long|since when)\b", re.IGNORECASE
)
_COUNT = re.compile(r"\s*how (many|much|old|long|far|tall|big)\b", re.IGNORECASE)
_KIND = re.compile(r"\b(?:which|what)\s+(\w+)", re.IGNORECASE)
_SUMMARY = Small(r"summar|overview|recap")
_SINGULAR = (
    r"(?!(?:is|was|does|has|this|his|us|gas|bus|class|address|status|process|business|less|basis"
    r"|news)\b)"
)
_PLURAL = rf"{_SINGULAR}[\w'-]*(?:[^sui]s|ies)\b"  # or a word that looks like one
_LIST = Small(
    rf"""  # which kinds of books; which of her many books did; what has she; what are; list all
    \b(?:what|which)\s+(?:(?:are|were|kinds?|types?|sorts?|all|other|different|various|of|the
        |some|my|our|his|her|their|have|main|key|specific|recent|new|\w+ly)\s+)*{_PLURAL}
    |\b(?:what|which)\s+(?:[\w'-]+\s+){{0,4}}?{_PLURAL}\s+
        (?:do|does|did|has|have|had|are|were|would|will|might|could|can|should)\b
    |^\W*(?:what|where|which|who)\b(?:\s+\w+){{0,4}}?\s+(?:has|have)\b(?!\s+to\b)
        (?!.*\b(?:last|ago)\b)
    |^\W*(?:what|who|which)\s+are\b|\bwhat\s+(?:other|else)\b
    |\b(?:list|enumerate|name\s+(?:all|the|every|some)|all\s+(?:the|of|my|our|his|her|their)
        |every|each|everything|both)\b""",
    re.VERBOSE,
)
_SEVERAL = Small(
    r"""  # counts, comparisons, orders
    \bhow\s+(?:many|often|frequently)\b|\bin\s+total\b|\btotal\s+(?:number|of)\b
    |\b(?:compared?|comparison|differ(?:s|ences?)?|versus|vs|in\s+common)\b
    |\bin\s+(?:what|which)\s+order\b|\border\s+(?:in|of)\b|\bin\s+order\b(?!\s+to)
    |\bchronolog\w*|\btimeline\b|\bsequence\s+of\b|\bover\s+time\b|\bevol(?:ve|ution)\w*
    |\bhistory\s+of\b|\bthroughout\b|\bacross\s+(?:all|my|our)\b|\bsteps\b""",
    re.VERBOSE,
)
_SHORT_QUESTION = 8  # maximum words of a last line that depends on the lines before it
_KEYWORDS = 1  # maximum words of a query that is only a date whose words are looked up too
_WORLDLY = 0.25
"""Share of its confidence that a hit keeps if the query asks the world, as for a poem about rain: a
memory of rain is shown in the prompt only if the other signs are very sure of it."""
MAX_TEXT = 4000
"""Characters of a query that are parsed; only the embedder sees the rest."""


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query.

    Attributes:
        text: The original query.
        words: All its words in order, folded.
        terms: The words to look up, each once, in order.
        topic: Those of ``terms`` that name no participant (all, if only participants are named).
        kinds: Those of ``terms`` that say what kind of thing is asked for: "which editor ...".
        exact: Identifiers, words with a symbol and quoted phrases; they must match exactly.
        forms: Those of ``terms`` that are in an identifier, to the match for all its spellings.
        codes: The words of its identifiers, which are not corrected.
        periods: Times it asks about: all periods that its dates may mean.
        times: One tuple per date that it names: what it may mean, the likeliest first.
        days: The days that its periods are made of.
        hollow: Whether it names no subject: "what do you think".
        continues: Whether it is a short question after other lines, see `continues`.
        only_time: Whether it asks for a time and nothing else; then it has no ``terms``.
        last_talk: Whether it asks for the last conversation.
        former: Which former value it asks for; None if it asks for what holds now.
        kind: Kind of memory that it names ("what are my preferences"); None if it names none.
        form: Which kind of answer it wants; None if that is open.
        speaker: Code of the one participant it names, or None.
        wants_time: Whether it asks when.
        wants_number: Whether it asks how many.
        wants_rule: Whether it asks what to do or what holds, rather than for a fact.
        wants_summary: Whether it asks for a summary.
        of_oneself: Whether it asks about the person who asks, or their people.
        share: Share of its confidence that a hit keeps, see `share_of`.
        wants_several: Whether one memory is not enough: it asks for a list, a count, a comparison,
            an order or a summary. Guessed from the words of an English question, so not certain.
    """

    text: str
    words: tuple[str, ...]
    terms: tuple[str, ...]
    topic: frozenset[str]
    kinds: frozenset[str]
    exact: tuple[Verbatim, ...]
    forms: Mapping[str, Match]
    codes: frozenset[str]
    periods: tuple[Period, ...]
    times: tuple[tuple[Period, ...], ...]
    days: Days
    hollow: bool
    continues: bool
    only_time: bool
    last_talk: bool
    former: Former | None
    kind: str | None
    form: Form | None
    speaker: int | None
    wants_time: bool
    wants_number: bool
    wants_rule: bool
    wants_summary: bool
    of_oneself: bool
    share: float
    wants_several: bool


def parse(
    text: str,
    *,
    now: date,
    years: Collection[int],
    people: dict[str, int],
    max_terms: int,
    zone: tzinfo = UTC,
    worded: bool = False,
) -> Query:
    """Parse a query, asked on the day ``now`` in the zone; see `columns.people` for ``people``.

    ``years`` are those that the memories mention. ``worded`` looks for the words of a query that
    asks for a time and nothing else, because nothing is known of that time.
    """
    seen = text[:MAX_TEXT]
    words = tuple(spelling.terms(seen))
    times = times_of(seen, now, years)
    periods, coded = tuple(times.periods), codes(times.rest)
    named = _named(tuple([_owner(word, people) for word in words]), people) if people else set()
    # "Thursday" looks for the word as well
    bare = times.only and (len(words) <= _KEYWORDS or (worded and times.literal))
    rest = seen if bare else times.rest
    left = words if rest == seen else spelling.terms(rest)
    asked = [] if times.only and not bare else spelling.content(left)
    kinds = spelling.terms(" ".join(_KIND.findall(seen)))
    terms = tuple(dict.fromkeys(asked))[:max_terms]
    quoted, topic = spelling.quoted(seen), frozenset(terms)
    if named:
        spoken = {part for name in people for part in name.split()}
        topic = frozenset(term for term in terms if _owner(term, spoken) not in spoken)
    kind, form = answer_form.kind_named(words), answer_form.wanted(seen)
    return Query(
        text=text,
        words=words,
        terms=terms,
        topic=topic or frozenset(terms),
        kinds=frozenset(terms).intersection(kinds),
        exact=spellings.exact(quoted, times.rest, coded),
        forms=spellings.forms(coded, terms),
        codes=frozenset(
            word for code in coded for word in code.words if code.sure or not word.isalpha()
        ),
        periods=periods,
        times=times.named,
        days=Days(zone),
        hollow=HOLLOW_WORDS.issuperset(terms),
        continues=continues(seen),
        share=share_of(text),
        of_oneself=asks_of_oneself(text),
        wants_summary=_SUMMARY.found_in(seen),
        only_time=times.only and not bare,
        last_talk=times.last_talk,
        former=None if times.only else former_question.asked(seen),
        kind=kind,
        form=form,
        speaker=next(iter(named)) if len(named) == 1 else None,
        wants_time=bool(_WHEN.match(seen)),
        wants_number=bool(_COUNT.match(seen)),
        wants_rule=form is None or form.may_be_rule,
        wants_several=times.only or wants_several(seen),
    )


def share_of(query: str) -> float:
    """Return the share of its confidence that a hit keeps, by what the query asks for, [0, 1].

    >>> share_of("thanks!"), share_of("write me a poem about rain"), share_of("Is it Ada's poem?")
    (0.0, 0.25, 1.0)
    """
    if is_chatter(query):
        return 0.0
    return _WORLDLY if is_worldly(query) else 1.0


def wants_several(text: str) -> bool:
    """Return whether a query, judged by its words, wants several memories.

    >>> wants_several("Which books did Ada read?"), wants_several("Which book did Ada read first?")
    (True, False)
    """
    return any(shape.found_in(text) for shape in (_LIST, _SEVERAL, _SUMMARY))


def continues(text: str) -> bool:
    r"""Return whether the last line of a text is short and stands after other lines.

    >>> continues("When is Ada's birthday?\nand Bob's?"), continues("When is Bob's birthday?")
    (True, False)
    """
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) > 1 and len(lines[-1].split()) <= _SHORT_QUESTION


def _owner(word: str, names: Collection[str]) -> str:
    """Read a word as a participant's name with a possessive "s", if it is not a name as it is."""
    plain = without_possessive(word)
    return plain if word not in names and plain in names else word


def _named(words: tuple[str, ...], people: dict[str, int]) -> set[int]:
    """Return the codes of the participants that a query names."""
    longest = max((name.count(" ") + 1 for name in people), default=0)
    found = {
        people.get(" ".join(words[at : at + length]), -1)
        for length in range(1, longest + 1)
        for at in range(len(words) - length + 1)
    }
    return found - {-1}
