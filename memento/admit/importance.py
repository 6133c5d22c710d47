"""Score the importance of a memory when none is given, and choose its tier. Pure.

The score is a sum of five parts, each with one reason:

    importance = base[kind] + 0.12 length + 0.14 novelty + 0.05 specifics + 0.30 stress

clipped to [0, 1]. ``base`` is what such memories are usually worth, ``length`` grows to 1 at 40
words, ``novelty`` is the share of its longest content words (``LOOKED_AT``) not met before in the
namespace, ``specifics`` is 1 with a number or a name in it, and ``stress`` is +1 for words that ask
to be kept ("critical", "never", "deadline") unless they are hedged ("somewhat important"), -1 for
words that wave it away ("temporary", "thanks"). The constants are judgement, not fitted; they order
everyday notes as people do.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from memento.text.words import content
from memento.types import Kind, Tier

BASE: dict[Kind, float] = {
    Kind.RULE: 0.62,
    Kind.ARTICLE: 0.60,
    Kind.DECISION: 0.52,
    Kind.PREFERENCE: 0.50,
    Kind.PLAN: 0.50,
    Kind.PROCEDURE: 0.48,
    Kind.RELATION: 0.45,
    Kind.FACT: 0.38,
    Kind.OPINION: 0.36,
    Kind.CONTEXT: 0.32,
    Kind.EMOTION: 0.32,
    Kind.EPISODE: 0.28,
    Kind.QUESTION: 0.20,
}
LENGTH, NOVELTY, SPECIFICS, STRESS = 0.12, 0.14, 0.05, 0.30
FULL_LENGTH = 40
"""Number of words from which length adds no more."""
LOOKED_AT = 3
"""Words of a text that are looked up for novelty, the longest ones; each unknown one costs 6 to 17
µs."""

KEEP = frozenset(
    """critical crucial important essential vital key remember never always must deadline urgent
    allergic allergy emergency password birthday anniversary decided promise contract wichtig
    niemals immer frist unbedingt jamais toujours urgente importante nunca siempre""".split()  # noqa: SIM905 - words read better as one text
)
WAVE = frozenset(
    """temporary temp maybe perhaps trivial whatever thanks thank hello hi hey bye ok okay lol
    haha nevermind vorläufig danke hallo merci bonjour gracias hola""".split()  # noqa: SIM905 - as above
)
HEDGE = frozenset(["somewhat", "slightly", "fairly", "less", "minor"])
_DIGIT = re.compile(r"\d")
_NAME = re.compile(r" (?<=[\w,;] )[A-ZÀ-Þ][\w'-]")


def telling(words: Sequence[str]) -> list[str]:
    """Return the words of a text whose novelty counts.

    >>> telling(["we", "met", "ada", "in", "lisbon", "yesterday"])
    ['yesterday', 'lisbon', 'ada']
    """
    return sorted(sorted(set(content(words))), key=len, reverse=True)[:LOOKED_AT]


def importance(text: str, words: Collection[str], kind: Kind, novelty: float) -> float:
    """Score how much a memory matters.

    Args:
        text: The text as given.
        words: Its words, folded.
        kind: What it is.
        novelty: Share of its `telling` words not met before, [0, 1].

    Returns:
        Importance, [0, 1].

    >>> importance("a critical fact", ["a", "critical", "fact"], Kind.FACT, novelty=1.0) > 0.6
    True
    """
    asks = not KEEP.isdisjoint(words) and HEDGE.isdisjoint(words)
    stress = asks - (not WAVE.isdisjoint(words))
    specific = _NAME.search(text) or _DIGIT.search(text)
    score = (
        BASE[kind]
        + LENGTH * min(len(words), FULL_LENGTH) / FULL_LENGTH
        + NOVELTY * novelty
        + SPECIFICS * bool(specific)
        + STRESS * stress
    )
    return round(min(1.0, max(0.0, score)), 4)


LONG_FROM, SHORT_BELOW = 0.6, 0.3
"""Importance from which a memory goes to the long tier, and below which it stays in the ring."""


def tier_for(importance: float, *, pinned: bool) -> Tier:
    """Choose a tier when ``add`` is not told one.

    >>> tier_for(0.7, pinned=False).value
    'long'
    """
    if pinned or importance >= LONG_FROM:
        return Tier.LONG
    return Tier.SHORT if importance < SHORT_BELOW else Tier.MEDIUM
