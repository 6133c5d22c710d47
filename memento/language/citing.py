"""Which of several texts an answer rests on, told by the words they share. Pure.

A text is cited if the answer holds half of its own words, and at least two of them or one that is a
number, an identifier or a name. Its own are the words that the question does not have and that at
most `SHARED` of the texts have. A text is also cited if half of such words of one clause of the
answer are in it, and one of them is in no other text: a long text is cited for the part it gave.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from memento.language.words import STOP_WORDS, identifiers, words

SHARED = 3
"""Most texts that may have a word for it to be one's own."""

_CLAUSE = re.compile(r"(?<=[.!?,;:])\s+|\n+")
_NAME = re.compile(r"(?<=[^\s.!?:\n] )[A-Z]\w+|[A-Z]\w*[A-Z]\w*")
"""A word with a capital letter that does not begin a sentence, or with several."""


def cited(question: str, answer: str, texts: Sequence[str]) -> list[bool]:
    """Tell for each text whether an answer rests on it.

    Args:
        question: The question that was asked.
        answer: The answer that was given.
        texts: The texts it may rest on.

    >>> cited("Where is the key?", "It is under the blue pot.", ["Keys: under the blue pot", "Tea"])
    [True, False]
    >>> cited("The code?", "It is 4419.", ["The code of the gate on Mill Lane is 4419", "Tea"])
    [True, False]
    """
    known = STOP_WORDS | set(words(question))
    spoken = [set(words(text)) - known for text in texts]
    common = Counter(word for each in spoken for word in each)
    clauses = [set(words(one)) - known for one in _CLAUSE.split(answer)]
    said = set().union(*clauses)
    return [
        _is_cited({word for word in each if common[word] <= SHARED}, said, text)
        or any(_is_taken(one, each, text, common) for one in clauses)
        for each, text in zip(spoken, texts, strict=True)
    ]


def _is_cited(own: set[str], said: set[str], text: str) -> bool:
    """Tell whether an answer holds enough of the words that are a text's own."""
    found = own & said
    if 2 * len(found) < len(own) or not found:
        return False
    return len(found) > 1 or not found.isdisjoint(_telling(text))


def _is_taken(clause: set[str], spoken: set[str], text: str, common: Mapping[str, int]) -> bool:
    """Tell whether enough of a clause of the answer is in a text, and in few others."""
    found = {word for word in clause & spoken if common[word] <= SHARED}
    if 2 * len(found) < len(clause) or not found:
        return False
    alone = {word for word in found if common[word] == 1}
    return bool(alone) and (len(found) > 1 or not alone.isdisjoint(_telling(text)))


def _telling(text: str) -> set[str]:
    """Return the words of the numbers, identifiers and names of a text."""
    said = [*identifiers(text), *(match.group() for match in _NAME.finditer(text))]
    return {word for one in said for word in words(one)} | {
        word for word in words(text) if any(sign.isdigit() for sign in word)
    }
