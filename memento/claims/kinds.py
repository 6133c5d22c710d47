"""Tell of which kind a value is: a time, a weekday, an amount of a unit, a name. Pure.

A new value may supersede only a value of its own kind: a standup does not move from 9:00 to Teams,
and nobody moves from Ghent to bed. A value of which the kind is not clear has none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from memento.claims.claim_words import Vocabulary, common

_TIME = re.compile(r"\d{1,2}(?:[:h]\d\d)?(?:am|pm|h|点)|\d{1,2}[:h]\d\d")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?P<unit>[^\W\d_]*|%)")
_DASHED = re.compile(r"\d+(?:[-/]\d+)+")
_HOURS = frozenset({"am", "pm", "uhr", "h"})
"""Words after the number of a time."""
_FREE = frozenset({"password"})
"""Attributes whose value may be any word."""


def kind_of(
    value: Sequence[str],
    names: Collection[str],
    attribute: str | None,
    tongue: Vocabulary,
    ignored: Collection[str] = (),
) -> frozenset[str]:
    """Return the kinds of the words of a value; none if one of them is not clear.

    Args:
        value: Words of the value, in lower case.
        names: Those words of the statement that have a capital letter or a digit.
        attribute: The attribute whose value it is.
        tongue: The words of its language.
        ignored: Words that tell no kind beside a name.

    >>> from memento.claims.claim_words import vocabulary
    >>> sorted(kind_of(["friday", "10:00"], {"10:00"}, "time", vocabulary("en")))
    ['time', 'weekday']
    >>> kind_of(["bed"], set(), "home", vocabulary("en"))
    frozenset()
    """
    sorts = [_sort(word, names, attribute, tongue) for word in value]
    if "nothing" in sorts:
        return frozenset()
    if any(sort.startswith("number") for sort in sorts):
        sorts = _amount(value, sorts, attribute)
    kinds = set(sorts)
    if "name" in kinds:
        kinds -= {"number", "code", "dashed"}
        if all(word in ignored for word, sort in zip(value, sorts, strict=True) if sort == "word"):
            kinds.discard("word")
    typed = common().kinds.get(attribute or "")
    return frozenset() if "word" in kinds and typed != "word" else frozenset(kinds)


def _sort(word: str, names: Collection[str], attribute: str | None, tongue: Vocabulary) -> str:
    """Return the kind of one word."""
    tables = common()
    listed = tables.sorts.get(word) or tongue.values.get(word)
    if listed is not None:
        return listed
    if _TIME.fullmatch(word):
        return "time"
    if word in tables.counts:
        return "number"
    if word[0].isdigit():
        return _of_digits(word, attribute)
    if attribute in _FREE:
        return "word"
    return "name" if word in names or not tongue.spaced else "word"


def _of_digits(word: str, attribute: str | None) -> str:
    found = _NUMBER.fullmatch(word)
    if found is None:
        return "dashed" if _DASHED.fullmatch(word) else "code"
    counted = not found["unit"] or common().kinds.get(attribute or "") == "number"
    return f"number {found['unit']}".strip() if counted else "code"


def _amount(value: Sequence[str], sorts: Sequence[str], attribute: str | None) -> list[str]:
    """Join a number with its unit, the other words: "40 euros"; with "am", it is a time."""
    measured = common().kinds.get(attribute or "") == "number"
    if not measured and "name" in sorts:
        return list(sorts)
    units = {"word", "name"} if measured else {"word"}
    pairs = list(zip(value, sorts, strict=True))
    rest = [sort for _, sort in pairs if sort not in units and not sort.startswith("number")]
    unit = [_singular(word) for word, sort in pairs if sort in units]
    if unit and _HOURS.issuperset(unit):
        return [*rest, "time"]
    glued = [sort.removeprefix("number").strip() for sort in sorts if sort.startswith("number")]
    told = [one for one in (*glued, *unit) if one]
    return [*rest, " ".join(["number", *told])]


def _singular(word: str) -> str:
    return word.removesuffix("s") if len(word) > len("kgs") else word
