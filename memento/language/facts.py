"""The facts that a text must not lose when it is put in other words. Pure.

They are its numbers, dates, identifiers, addresses, quotations, negations and names: all that a
summary gets wrong most easily, and that can be checked without a language model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memento.language.alike import read
from memento.language.words import STOP_WORDS, holds

_FIRST = re.compile(r"(?:^|[.!?]\s+|(?<!\s)[^\S\n]*\n\s+)[\"'(\u201c\u2018]*([^\W\d_]\w+)")
"""The first word of a sentence. Each run of spaces is read from its start only: it may be long."""
_EDGES = "\"'\u201c\u201d\u2018\u2019\u00ab\u00bb`"
_DENIALS = frozenset({"not", "no", "nor"})
"""Words that are common, and that turn a statement round."""


def facts(text: str) -> frozenset[str]:
    """Return the facts of a text, without the case of letters.

    The first word of a sentence may be a name, unless it is one of the most common words.

    >>> sorted(facts("The rent of flat 4B is 950 EUR, not 905. Rami's share is due on Monday."))
    ['4b', '905', '950', 'eur', 'monday', 'not', 'rami']
    """
    opened = (match.group(1) for match in _FIRST.finditer(text))
    marks = [*read(text).marks, *(word for word in opened if word[0].isupper())]
    bare = {mark.strip(_EDGES).casefold() for mark in marks}
    bare = {one.removesuffix("'s").removesuffix("\u2019s") for one in bare}
    return frozenset(one for one in bare if one and (one in _DENIALS or one not in STOP_WORDS))


def lost(sources: Iterable[str], said: str) -> list[frozenset[str]]:
    """Return for each source the facts that a text made of all of them does not hold.

    >>> lost(["Rami pays 950 EUR"], "The rent is 950 EUR")
    [frozenset({'rami'})]
    """
    plain = said.casefold()
    return [
        frozenset(fact for fact in facts(source) if not holds(plain, fact)) for source in sources
    ]


def invented(said: str, sources: str) -> frozenset[str]:
    """Return the numbers, names, identifiers and quotations of a text that its sources lack.

    The first word of a sentence is no name here, and words that only say when are not looked at.

    >>> sorted(invented("Later Rami paid 905 EUR to Zoe", "Rami paid 950 EUR"))
    ['905', 'zoe']
    """
    told = (mark.strip(_EDGES) for mark in read(said).marks)
    bare = {mark.casefold() for mark in told if not (mark.isalpha() and mark.islower())}
    bare = {one.removesuffix("'s").removesuffix("\u2019s") for one in bare if "n't" not in one}
    plain = sources.casefold()
    return frozenset(one for one in bare if one and not holds(plain, one))
