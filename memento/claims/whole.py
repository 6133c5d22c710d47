"""Return whether a statement says more than its first clause. Pure.

A statement that says one thing can be replaced by one that takes it back. Of a statement that says
two things the other one would be lost: "I live in Ghent. My sister is allergic to nuts."
"""

from __future__ import annotations

from collections.abc import Sequence

from memento.claims.claim_words import Vocabulary
from memento.text.sentences import has_verb

_STOPS = frozenset({",", ".", ";"})
_JOINS = frozenset(
    """because since which who where so while when whereas although though unless except
    with without if until""".split()  # noqa: SIM905 - words read better as one text
)
"""English words after which a statement says something else, beside the conjunctions."""


def says_more(spoken: Sequence[str], tongue: Vocabulary) -> bool:
    """Return whether a statement has another clause, and not only a remark without a verb.

    Args:
        spoken: Its words and stops in lower case.
        tongue: The words of its language.

    >>> from memento.claims.claim_words import vocabulary
    >>> says_more("i live in ghent , and my son is ill".split(), vocabulary("en"))
    True
    >>> says_more("i live in ghent , two streets from the market".split(), vocabulary("en"))
    False
    """
    sets = tongue.words
    joins = _STOPS | _JOINS | sets["conjunctions"]
    ends = [at for at, word in enumerate(spoken) if word in joins and at]
    opens = sets["fillers"] | _STOPS
    first = next((at for at in ends if not opens.issuperset(spoken[:at])), None)
    if first is None:
        return False
    rest = spoken[first + 1 :]
    telling = sets["self"] | sets["owner"] | sets["pronouns"] | sets["copulas"] | sets["negation"]
    if has_verb(rest) or not telling.isdisjoint(rest):
        return True
    return bool(tongue.verb.search(f"{' '.join(rest)} "))
