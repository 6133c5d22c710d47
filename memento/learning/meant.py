"""Find which earlier statements a request to forget means. Pure.

A request is about its own message ("don't hold on to that"), about something told earlier, or both.
What was told earlier is recognised by the words that name it, by who "she" is, by the time that the
request names, and by its meaning. Only what is clearly meant is taken; the rest is reported.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

from memento.observe.asked import Asked, root
from memento.observe.language import ENGLISH
from memento.text.when import Period, times_of

Weight: TypeAlias = Callable[[Collection[str]], float]

OFTEN, OFTEN_SHARE = 4, 0.12
"""A word in more messages than this, and in more than this share of them, names nothing."""
CLEAR, LEAD = 0.9, 0.12
"""Minimum evidence for what a request names, and its lead over the next."""
BEFORE = 0.42
"""Minimum evidence that a request that only points means the message before."""
ALIKE, ALIKE_LEAD = 0.35, 0.1
"""Minimum cosine, and its lead, if nobody said the words of a request before."""
COVERED = 0.6
"""Minimum share of the named words that one message must have, unless it is alike."""
AFAR = 0.6
"""Minimum of evidence plus lead that such a request means another message."""
NEAR, MOST_NEAR = 0.3, 5
"""Minimum cosine of what may be meant, and how many are returned."""

MOST_AT_ONCE = 1_000
"""Maximum number of messages and memories that a request hides, as one transaction does it."""

_FROM = re.compile(r"\bfrom (?!.{0,80}\b(?:to|till|until|onwards?|on)\b)", re.IGNORECASE)
"""Says of which time something is: what to forget "from yesterday" is not also of today."""


@dataclass(frozen=True, slots=True)
class Told:
    """Something that was told before.

    Attributes:
        key: Its identifier.
        words: Its words, without endings.
        day: Number of the day on which it was said.
        back: How many user messages ago in the same conversation; 0 in another one.
        like_message: Cosine to the whole message that asks; 0 without an embedder.
        like_request: Cosine to the words that ask.
    """

    key: str
    words: frozenset[str]
    day: int
    back: int
    like_message: float
    like_request: float

    @property
    def likeness(self) -> float:
        """Return the larger of both cosines."""
        return max(self.like_message, self.like_request)


@dataclass(frozen=True, slots=True)
class Meant:
    """What a request means.

    Attributes:
        sure: Keys of what is clearly meant.
        near: Keys of what may be meant, the likeliest first.
        by: Words by which it was recognised, without endings.
        own: Whether the message itself is meant, so that nothing of it is learned.
    """

    sure: tuple[str, ...]
    near: tuple[str, ...]
    by: frozenset[str]
    own: bool


def meant_by(asked: Asked, told: Sequence[Told], today: date) -> Meant:
    """Find what a request means that does not mean all; see `means_all`.

    Args:
        asked: The request.
        told: What was told before.
        today: The day of the request.
    """
    days = _past(asked.text, today)
    pool = [one for one in told if _within(one, days)] or [*told]
    days = days if len(pool) < len(told) else []
    count = Counter(word for one in told for word in one.words)
    named = [one for one in asked.words if count[one] <= max(OFTEN, OFTEN_SHARE * len(told))]
    spoken = frozenset(word for one in pool for word in one.words)
    known = [one for one in named if one in spoken and one not in asked.context]

    def weight(words: Collection[str]) -> float:
        """Return how telling words are; one of a single message weighs about 1."""
        most = math.log(len(told) + 2)
        return sum(math.log((len(told) + 2) / max(1, count[word])) / most for word in words)

    around = _past(asked.rest, today)
    least = weight(named) or 1.0
    evidence = {
        one.key: weight(one.words.intersection(named)) / least
        + 2 * one.likeness
        + (one.back == 1) / 2
        + _within(one, around) / 2
        for one in pool
    }
    pool.sort(key=lambda one: -evidence[one.key])
    lead = _lead([evidence[one.key] for one in pool])

    def found(sure: Sequence[Told], by: Collection[str], *, own: bool) -> Meant:
        taken = tuple(one.key for one in sure)
        others = (one for one in pool if one.key not in taken)
        by_words = bool(sure) and asked.language != ENGLISH  # there all texts are alike
        near = [one.key for one in others if _is_near(one, asked, known, by_words=by_words)]
        return Meant(taken, tuple(near[:MOST_NEAR]), frozenset(by), own or not sure)

    if somebody := _who(asked, known, told):
        return found([one for one in told if somebody in one.words], {somebody}, own=False)
    if known and asked.whole:
        all_of_it = [
            one for one in pool if known[0] in one.words or len(one.words.intersection(known)) > 1
        ]
        return found(all_of_it, known, own=False)
    if known:
        all_said = [one for one in pool if len(known) > 1 and one.words.issuperset(named)]
        best = pool[0]
        told_enough = weight(best.words.intersection(named)) >= COVERED * least
        clear = evidence[best.key] >= CLEAR and lead >= LEAD
        clear = clear and (told_enough or best.like_request >= ALIKE)
        return found(all_said or pool[:clear], known, own=False)
    if days and pool and lead >= LEAD:
        return found(pool[:1], asked.context, own=False)
    alike = sorted(pool, key=lambda one: -one.like_request)
    values = [one.like_request for one in alike[:2]]
    if asked.words and values and values[0] >= ALIKE and _lead(values) >= ALIKE_LEAD:
        return found(alike[:1], asked.words, own=False)
    names_it = (asked.words and not asked.points) or asked.of_all or asked.is_of_itself
    sure = [] if names_it else _pointed_at(asked, pool, around, weight)
    return found(sure, asked.context, own=True)


def _is_near(one: Told, asked: Asked, known: Collection[str], *, by_words: bool) -> bool:
    """Return whether what was told may be meant as well: by a word, or by likeness."""
    likeness = one.like_request if asked.words else one.likeness
    return not one.words.isdisjoint(known) or (likeness >= NEAR and not by_words)


def means_all(asked: Asked, today: date) -> bool:
    """Return whether a request means all that the user told, at all or on a day that it names."""
    return asked.of_user or (asked.of_all and bool(_past(asked.text, today)))


def all_of(asked: Asked, told: Sequence[Told], today: date) -> Meant:
    """Return all that the user told, of a day if the request names one.

    It is only reported if the message says much else, which may tell what of it is meant.

    Args:
        asked: The request.
        told: What the user told before.
        today: The day of the request.
    """
    days = _past(asked.text, today)
    keys = [one.key for one in told if not days or _within(one, days)]
    most = MOST_AT_ONCE if asked.is_short else 0
    return Meant(tuple(keys[:most]), tuple(keys[most:]), frozenset(), own=not (most and keys))


def _pointed_at(
    asked: Asked, pool: Sequence[Told], around: Sequence[Period], weight: Weight
) -> list[Told]:
    """Return what a request means that only points: the message before it, or a similar one."""

    def likeness(one: Told) -> float:
        return one.like_message + 0.15 * min(2.0, weight(one.words.intersection(asked.context)))

    for before in (one for one in pool if one.back == 1):
        own = before.like_request if asked.words else 0.0
        evidence = max(likeness(before), likeness(before) - before.like_message + own)
        if (
            asked.is_bare
            or (asked.points and asked.is_short)
            or (asked.told and evidence + 0.2 >= BEFORE)
        ):
            return [before]
    if around:
        pool = [one for one in pool if _within(one, around)]
    ordered = sorted(pool, key=likeness, reverse=True)
    values = [likeness(one) for one in ordered]
    return ordered[:1] if asked.told and values and values[0] + _lead(values) >= AFAR else []


def _who(asked: Asked, known: Sequence[str], told: Sequence[Told]) -> str | None:
    """Return who is meant by "her": somebody known whom the assistant named just before."""
    if not {root(name) for name in asked.names}.isdisjoint(known):
        return None
    spoken = frozenset(word for one in told for word in one.words)
    return next((root(name) for name in asked.names if root(name) in spoken), None)


def _past(text: str, today: date) -> list[Period]:
    """Return the times before today that a text names."""
    found = times_of(_FROM.sub("of ", text), today, [today.year]).periods
    return [one for one in found if one.start + one.days <= today.toordinal() + 1]


def _within(one: Told, times: Sequence[Period]) -> bool:
    return any(time.start <= one.day < time.start + time.days for time in times)


def _lead(values: Sequence[float]) -> float:
    """Return how much larger the first of some ordered values is than the second."""
    return values[0] - values[1] if len(values) > 1 else math.inf
