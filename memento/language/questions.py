"""Tell a turn that only asks a question from one that also states something. Pure.

A stored question is more similar to the next question than the fact that answers it, so retrieval
must tell the two apart. But people also state facts in questions: "I'm allergic to nuts, did you
know?". A fact taken for a question is hard to find; a question taken for a fact is only noise. So
a doubtful turn is treated as a statement.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memento.language.marks import QUESTION_MARKS, ends_in_question
from memento.language.words import content, is_unspaced, words

_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])\s*|\n+")  # noqa: RUF001 - real stops
_CLAUSE = re.compile(r"[,;:()–—،؛、，；：]")  # noqa: RUF001 - real commas
_OPENERS = frozenset(
    """what when where which who whom whose why how is are am was were do does did can could will
    would shall should may might must have has had if in on at for to from with since""".split()  # noqa: SIM905 - words read better as one text
)
"""First words of an English clause that asks something or states a condition."""
_COURTESIES = frozenset(
    """hi hello hey hallo hola bonjour ciao good dear thanks thank okay ok please well so yes no
    yeah sorry great sure and but oh""".split()  # noqa: SIM905 - words read better as one text
)
_OWN = re.compile(r"\W*(?:(?:and|but|so|oh|well)\b\W*)?(?:i|we|my|our)\b", re.IGNORECASE)
"""First words of an English sentence about the speaker; it may end with any mark."""
_REPORTS = re.compile(
    r"""\b(?: (?:did|have|had|has) (?:n['’]?t)? \s+ (?:i|we) (?:\s+(?:ever|already|not))?
          \s+ (?:tell|told|mention\w*|say|said) (?:\s+you)?
        | (?:did|do|are) (?:n['’]?t)? \s+ you (?:\s+(?:already|still|even|not))?
          \s+ (?:know|remember|recall|hear|heard|reali[sz]e|notice|see|aware) (?:\s+of)? )
        \s+ (?!(?:you|of|what|when|where|which|who|whom|whose|why|how|if|whether|about|any\w*
               |some\w*)\b) \w
    """,  # noqa: RUF001 - a real apostrophe
    re.IGNORECASE | re.VERBOSE,
)
"""An English question that contains the fact it asks about: "Did I tell you that ...?"."""
_LONG = 8  # content words in one question; a question with so many also states something
_CALL = 2  # words in a clause that may be a name: "Dear Ada, what ...?"
_GREETING = 3  # words in a courtesy


def merely_asks(text: str) -> bool:
    """Tell whether a text only asks and states nothing.

    Args:
        text: A turn of a conversation, in any language. Sentences without a question mark, and
            clauses before the one that asks, are statements in any language; other signs of a
            statement are read in English only.

    >>> merely_asks("Hi! What is my dog called?"), merely_asks("Is there food I should avoid?")
    (True, True)
    >>> merely_asks("My dog is called Rex. What does it eat?"), merely_asks("I like tea, you see?")
    (False, False)
    >>> merely_asks("Did I tell you that my sister moved to Oslo?")
    False
    """
    if not any(mark in text for mark in QUESTION_MARKS):
        return False
    sentences = [part for part in _SENTENCE.split(text) if words(part)]
    asking = {sentence for sentence in sentences if ends_in_question(sentence)}
    return bool(asking) and not any(
        _asks_and_tells(sentence) if sentence in asking else _says(words(sentence), 1)
        for sentence in sentences
    )


def beyond(text: str, query: str) -> float:
    """Return the share of a text's words that the query does not contain, [0, 1].

    >>> round(beyond("Can you cook for my son Leo?", "Who is my son?"), 2)
    0.67
    >>> beyond("Who is my son?", "And who is my son?")
    0.0
    """
    spoken = set(content(words(text)))
    return len(spoken - set(content(words(query)))) / max(1, len(spoken))


def _asks_and_tells(question: str) -> bool:
    clauses = [words(clause) for clause in _CLAUSE.split(question)[:-1]]
    return (
        _OWN.match(question) is not None
        or _REPORTS.search(question) is not None
        or any(_says(clause, _CALL) and clause[0] not in _OPENERS for clause in clauses)
        or _size(content(words(question))) > _LONG
    )


def _says(spoken: Sequence[str], few: int) -> bool:
    """Tell whether words are more than a greeting or a name of at most ``few`` words."""
    courtesy = bool(spoken) and spoken[0] in _COURTESIES and len(spoken) <= _GREETING
    return _size(spoken) > few and not courtesy


def _size(spoken: Sequence[str]) -> float:
    """Count words; in a script without spaces each character is half of a pair and counts half."""
    return sum(0.5 if is_unspaced(word) else 1 for word in spoken)
