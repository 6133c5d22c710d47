"""What a prompt shows of an answer, and in which order. Pure.

Relevance chooses: it tells what a memory is about, not whether it still holds. So what is chosen is
shown in another order, in which a model meets first what holds now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from memento.text.former_question import asked
from memento.text.sentences import merely_asks
from memento.text.when import times_of
from memento.text.whose import Part, parts, shared
from memento.text.words import content, without_ending, words
from memento.types import Hit, Memory, Retrieval, Status, Trust

if TYPE_CHECKING:
    from memento.config import RetrieveConfig

DOUBTED = 0.5
"""An answer up to this confidence is in doubt."""
FEW = 2
"""Number of hits of an answer in doubt that a prompt shows in any case."""
_COMMON = 0.6
"""Share of the hits from which a word is what all are about, such as a place."""
_SHARED = 3
"""Number of hits that may share a word in any case."""
_LONGEST = 240
"""Maximum number of characters in a statement that may change another one."""
NEWS = 2
"""Maximum number of hits that a prompt shows beyond the usual number because they may be news."""
AMONG = 20
"""Number of best hits among which they are looked for."""
_MOST_COMPARED = 50
"""Maximum number of hits of which each two are compared for their order."""
_ANY_DAY = date(2024, 1, 1)
"""Which time a query asks for depends on the day; whether it asks for one does not. A leap year."""
HARDLY = 0.1
"""Minimum share of the best hit's confidence for a hit after these. On fourteen lives this loses 2
of 730 answers, and shows a seventh less for questions without an answer; showing only `FEW` would
lose 15 answers."""


def likely(hits: Sequence[Hit], sure: float) -> tuple[Hit, ...]:
    """Return the hits to show: of an answer in doubt, the first two, what is newer, and the likely.

    Args:
        hits: Best first.
        sure: The confidence of the answer, [0, 1].
    """
    if sure > DOUBTED:
        return tuple(hits)
    bar = HARDLY * max((hit.confidence for hit in hits), default=0.0)
    newer = {hit.newer for hit in hits[:FEW]}
    return (
        *hits[:FEW],
        *(hit for hit in hits[FEW:] if hit.confidence >= bar or hit.id in newer),
    )


def usual(query: str, config: RetrieveConfig) -> int:
    """Return how many memories a query usually needs: a list, or a time alone, needs many."""
    from memento.retrieve.question import MAX_TEXT, wants_several  # noqa: PLC0415 - loads NumPy

    several = wants_several(query[:MAX_TEXT]) or _asks_for_a_time(query)
    return config.many if several else config.few


def chosen(found: Retrieval, k: int) -> tuple[Hit, ...]:
    """Return the hits that a prompt shows of an answer with k hits or more."""
    hits = likely(found.hits[:k], found.confidence)
    return hits if found.confidence <= DOUBTED else (*hits, *news_of(hits, found.hits[:AMONG]))


def news_of(hits: Sequence[Hit], further: Iterable[Hit]) -> tuple[Hit, ...]:
    """Return the best further hits that may change one of the first two, at most `NEWS`.

    News often shares little with the question: "rebooked to June 6".
    """
    known = {hit.id for hit in hits}
    told = [_Told.of(hit) for hit in hits[:FEW]]
    others = (hit for hit in further if hit.id not in known)
    return tuple(islice((o for o in others if any(map(_Told.of(o).may_change, told))), NEWS))


def arranged(memories: Iterable[Hit | Memory], query: str) -> list[Hit | Memory]:
    """Return what a prompt shows in its order; the answer to some queries is in order of time."""
    return list(memories) if _has_order(query) else newer_first(memories)


def newer_first(memories: Iterable[Hit | Memory]) -> list[Hit | Memory]:
    """Move hits before earlier ones that they may change; keep the order of all others.

    A hit may change an earlier one that names it as ``newer``, or of which the same speaker said
    something that shares a word of content about the same person, see ``whose``. How well each fits
    the query tells what it is about, not which of the two holds, and a model should meet what holds
    now first. The turn that taught a statement counts as the statement.
    """
    given = list(memories)
    hits = [(at, one) for at, one in enumerate(given[:_MOST_COMPARED]) if isinstance(one, Hit)]
    told = {at: _Told.of(hit) for at, hit in hits}
    named = {
        (name, hit.newer)
        for _, hit in hits
        if hit.newer
        for name in (hit.id, *hit.memory.source.parents)
    }
    counts = Counter(word for one in told.values() for word in one.about)
    common = {word for word, count in counts.items() if count > max(_SHARED, _COMMON * len(hits))}
    later = {
        at: [
            n
            for n, one in hits
            if ((old.id, one.id) in named or told[n].may_change(told[at], common))
            and not _will_replace(one.memory, old.memory)
        ]
        for at, old in hits
    }
    order: list[int] = []
    met: set[int] = set()
    for first in range(len(given)):
        path = [] if first in met else [first]
        while path:
            met.add(path[-1])
            ahead = next((n for n in later.get(path[-1], ()) if n not in met), None)
            if ahead is None:
                order.append(path.pop())
            else:
                path.append(ahead)
    return [given[at] for at in order]


def _will_replace(plan: Memory, present: Memory) -> bool:
    """Return whether a memory was told as one that takes the place of another one only later."""
    return present.superseded_by == plan.id and plan.occurred_at > plan.created_at


def _has_order(query: str) -> bool:
    """Return whether time orders the answer to a query: it asks for a former value or a time."""
    return asked(query) is not None or _asks_for_a_time(query)


def _asks_for_a_time(query: str) -> bool:
    return times_of(query, _ANY_DAY, (_ANY_DAY.year,)).only


@dataclass(frozen=True)
class _Told:
    """What is compared of a hit for the order of a block.

    Attributes:
        hit: The hit.
        speaker: Its namespace, and who said it there; None for what changes nothing: the
            assistant's words, long texts, mere questions, what a person judged, and what is
            superseded.
        about: Its words of content without their endings.
    """

    hit: Hit
    speaker: tuple[object, ...] | None
    about: frozenset[str] = frozenset()

    @classmethod
    def of(cls, hit: Hit) -> _Told:
        memory, text = hit.memory, hit.text
        if (
            len(text) > _LONGEST
            or memory.role == "assistant"
            or memory.status is Status.SUPERSEDED
            or hit.terms.get("belief")
            or hit.terms.get("worth")
            or merely_asks(text)
        ):
            return cls(hit, None)
        by = memory.actor or memory.role or f"{memory.source.kind} {memory.source.uri}"
        user = memory.source.kind is Trust.USER and memory.actor is None
        speaker = memory.namespace, "user" if user else by
        return cls(hit, speaker, frozenset(map(without_ending, content(words(text)))))

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Its clauses, each with its words and whose it is."""
        return parts(self.hit.text, without_ending)

    def may_change(self, other: _Told, common: AbstractSet[str] = frozenset()) -> bool:
        """Return whether this may say anew what the other one said, by words that are not common.

        The words are about the same person: the user's own home is not that of a sister.

        Of two that contradict each other, the order of the answer tells which one stands.
        """
        ours, theirs = self.hit.memory, other.hit.memory
        return (
            self.speaker is not None
            and self.speaker == other.speaker
            and ours.occurred_at > theirs.occurred_at
            and Trust.rank_of(ours.source.kind) <= Trust.rank_of(theirs.source.kind)
            and theirs.id not in self.hit.conflicts
            and not (self.about & other.about) <= common
            and not shared(self.parts, other.parts) <= common
        )
