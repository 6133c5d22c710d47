"""Tell whether a message speaks of something that only the turns before it name. Pure."""

from __future__ import annotations

import re

from memento.language.weak import EMPTY_WORDS
from memento.language.words import META_WORDS, STOP_WORDS, terms

_LONGEST = 10
"""Most words; a longer message names what it is about."""
_HOLLOW = STOP_WORDS | META_WORDS | EMPTY_WORDS
_POINTS = re.compile(
    r"\b(?:he|she|it|they|him|her|hers|his|its|their|theirs|them|those|there"
    r"|(?:that|this|the other|which) ones?)\b",
    re.IGNORECASE,
)


def leans(text: str) -> bool:
    """Tell whether an English message points back to earlier ones or names nothing at all.

    >>> leans("and how long is it?"), leans("why?"), leans("When is Omar's birthday?")
    (True, True, False)
    """
    if _HOLLOW.issuperset(terms(text)):
        return True
    return len(text.split()) <= _LONGEST and _POINTS.search(text) is not None
