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
_FEW = 6
"""Most words of a message that only goes on: "and the rope?"."""
_GOES_ON = re.compile(
    r"""\W*(?: (?:and|but|or) \b (?! \s+ (?:who|what|when|where|which|whose|why|how|is|are|was|were
            |am|do|does|did|have|has|had|can|could|will|would|shall|should|may|might|must|if|i|we
            |you) \b)
        | (?:what|how) \s+ about \b )""",
    re.IGNORECASE | re.VERBOSE,
)
"""It puts another thing into the question before it: no question word and no verb follow."""


def leans(text: str) -> bool:
    """Tell whether an English message points back to earlier ones or names nothing at all.

    >>> leans("and how long is it?"), leans("why?"), leans("When is Omar's birthday?")
    (True, True, False)
    >>> leans("and the rope?")
    True
    """
    size = len(text.split())
    goes_on = size <= _FEW and _GOES_ON.match(text) is not None
    return goes_on or names_nothing(text) or (size <= _LONGEST and _POINTS.search(text) is not None)


def names_nothing(text: str) -> bool:
    """Tell whether no word of a message says what it is about.

    >>> names_nothing("and where is it this time?"), names_nothing("and the rope?")
    (True, False)
    """
    return _HOLLOW.issuperset(terms(text))
