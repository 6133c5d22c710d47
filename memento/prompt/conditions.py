"""Decide whether the condition of a rule holds for a message. Pure.

A condition is a clause in plain language ("when I ask about recipes"), or a JSON object with
``words`` (one of them must occur), ``all_words`` and ``context`` (patterns for the caller's
context, such as ``{"path": "*.sql"}``). A clause holds if one of its content words is in the
message or in the caller's context, or if it is near enough in meaning. A negated clause ("unless I
ask for details", "if I'm not writing code") holds if the rest of it does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from memento.text.words import content, terms

Nearness = Callable[[Sequence[str]], Sequence[float]]
"""Scores clauses by their cosine to the message."""

_OPENING = re.compile(
    r"^\s*(?:(?:when(?:ever)?|if|while|before|after|during|for|in|on|unless|as soon as|any ?time"
    r"|every ?time|each time|in case)\b\s*)+"
    r"(?:(?:i|you|we|they|it|the user|someone)\b\s*(?:am|are|is|'m|'re)?\s*)?"
    r"(?:(?:ask(?:s|ed|ing)?(?: you)?(?: about| for)?|talk(?:s|ing)?(?: about)?|writ(?:e|es|ing)"
    r"|work(?:s|ing)? (?:on|with)|us(?:e|es|ing)|mak(?:e|es|ing)|giv(?:e|es|ing)|want(?:s)?"
    r"|need(?:s)?|discuss(?:es|ing)?|mention(?:s|ing)?|do(?:es|ing)?)\b\s*)?"
    r"(?:(?:about|a|an|the|any|some|my|our|your|every|each|all)\b\s*)*",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"^\s*(?:unless|except)\b|\b(?:do|does|did)n['’]t\b|n['’]t\b|\b(?:not|never|no longer)\b",  # noqa: RUF001 - real
    re.IGNORECASE,
)
"""Negations; two of them cancel out."""
_ENDINGS = ("ings", "ing", "ied", "ies", "ed", "es", "ly", "s", "e")
"""Inflectional endings of English words, longer ones before those that they end in."""


def _stem(word: str) -> str:
    """Return an English word without its ending; a short one stays as it is.

    >>> _stem("recipes"), _stem("planning"), _stem("sql")
    ('recip', 'plan', 'sql')
    """
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) > 2:  # noqa: PLR2004 - three letters
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word  # noqa: PLR2004


_FREQUENT = """
about answer any anything ask change do each every everyone find get give go help kind make mention
need new nothing one plan question run say see set show some someone start talk tell thing time try
use want way word work write
"""
_EMPTY = frozenset(_stem(word) for word in _FREQUENT.split())
"""Stems that are too common to tell what a condition is about."""
_CODE = re.compile(r"```|^(?: {4}|\t)\S.*[;:(){}=]\s*$", re.MULTILINE)
_TRACE = re.compile(
    r"Traceback \(most recent call last\)|^[^\S\n]+at [^\s(]+\([^\n]*\)$", re.MULTILINE
)
_ITEM = re.compile(r"^[^\S\n]*(?:[-*•]|\d+[.)])\s+\S", re.MULTILINE)
MANY_ITEMS = 3
"""Minimum number of list items for a message to have ``items`` in its context."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A parsed condition.

    Attributes:
        clause: Its words without the opening; ``""`` for a JSON object.
        words: Stems of which one must occur.
        all_words: Stems that must all occur.
        context: Patterns for the caller's context, all of which must match.
        denies: Whether the clause is negated.
    """

    clause: str = ""
    words: frozenset[str] = frozenset()
    all_words: frozenset[str] = frozenset()
    context: Mapping[str, str] = field(default_factory=dict)
    denies: bool = False


def parse(condition: str) -> Condition:
    """Parse a condition; text that is no such JSON object is a clause.

    >>> parse("When I ask about recipes").clause
    'recipes'
    """
    if condition.lstrip().startswith("{"):
        try:
            said = json.loads(condition)
        except ValueError:
            said = None
        if isinstance(said, dict) and said.keys() <= {"words", "all_words", "context"}:
            return _structured(said)
    denials = len(_DENIES.findall(condition))
    said = f"if {_DENIES.sub(' ', condition)}" if denials else condition
    rest = _OPENING.sub("", said, count=1).strip(" ,.:;")
    clause = rest or condition.strip()
    return Condition(clause, _telling(clause), denies=denials % 2 == 1)


def _structured(said: Mapping[str, object]) -> Condition:
    words, all_words, context = (said.get(name) for name in ("words", "all_words", "context"))
    return Condition(
        words=_stems(words),
        all_words=_stems(all_words),
        context={str(k): str(v) for k, v in context.items()} if isinstance(context, dict) else {},
    )


def shown(condition: str) -> str:
    """Return a condition as a policy shows it: without its opening "when", "whenever" or "if".

    >>> shown("when I ask about recipes")
    'I ask about recipes'
    """
    return re.sub(r"^\s*(?:when(?:ever)?|if)\s+", "", condition, flags=re.IGNORECASE) or condition


def _stems(words: object) -> frozenset[str]:
    listed = words if isinstance(words, list | tuple) else []
    return frozenset(_stem(term) for word in listed for term in terms(str(word)))


def _telling(text: str) -> frozenset[str]:
    """Return the stems of a text's content words, without those in `_EMPTY`."""
    return frozenset(map(_stem, content(terms(text)))) - _EMPTY


def facts(message: str) -> dict[str, str]:
    """Return context from a message's form: ``has_code``, ``has_traceback``, ``items``."""
    found = {
        "has_code": bool(_CODE.search(message)),
        "has_traceback": bool(_TRACE.search(message)),
        "items": len(_ITEM.findall(message)) >= MANY_ITEMS,
    }
    return {name: "true" for name, holds in found.items() if holds}


def holding(
    conditions: Sequence[str],
    message: str,
    context: Mapping[str, str],
    *,
    near: Nearness | None,
    at: float,
) -> list[bool]:
    """Return for each condition whether it holds.

    Args:
        conditions: The conditions.
        message: The last message of the user.
        context: The caller's context, such as ``{"tool": "git"}``.
        near: Scores clauses by meaning; None without an embedder.
        at: Minimum cosine for a clause to hold.
    """
    read = [parse(one) for one in conditions]
    known = facts(message) | dict(context)
    words = frozenset(map(_stem, terms(" ".join([message, *context.values()]))))
    held = [_holds(one, words, known) for one in read]
    open_ones = [n for n, one in enumerate(read) if not held[n] and one.clause]
    if near is not None and open_ones and message.strip():
        scores = near([read[n].clause for n in open_ones])
        for n, score in zip(open_ones, scores, strict=True):
            held[n] = score >= at
    return [one != condition.denies for one, condition in zip(held, read, strict=True)]


def _holds(one: Condition, words: frozenset[str], context: Mapping[str, str]) -> bool:
    if one.clause:
        return not one.words.isdisjoint(words)
    if not (one.words or one.all_words or one.context):
        return False
    if one.words and one.words.isdisjoint(words):
        return False
    fits = (fnmatchcase(context.get(name, ""), want) for name, want in one.context.items())
    return one.all_words <= words and all(fits)
