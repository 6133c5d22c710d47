"""Return whether two statements say the same in nearly the same words. Pure.

Only unimportant words may differ: two statements are never alike if one has a number, a date, a
name, an identifier, a quotation or a negation that the other lacks, or if one has the opposite of
a word in the other.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memento.text.words import STOP_WORDS, words

_FUZZ = 1e-9
_TOKEN = re.compile(r"\"[^\"]+\"|\S+")
_EDGES = "().,;:!?\u2026\u201c\u201d\u2018\u2019\"'"
_QUOTES = '"\u201c\u201d\u00ab\u00bb\u201e`'
_INNER = re.compile(r"[_/\\@#=<>{}\[\]|+*%$&~^.]")
_DENIALS = """
    not no never nobody none nothing nowhere neither nor without cannot hardly unless except
    nicht kein keine keinen keinem keiner nie niemals niemand nichts ohne
    ne pas jamais rien aucun aucune sans ningun ninguna nunca nada nadie sin
    nao nem nenhum nenhuma sem
"""
_NOT = frozenset(_DENIALS.split())
"""Words that negate a statement, as do those that end in "n't"."""
_WHEN = """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june
    july august september october november december today yesterday tomorrow morning noon evening
    night midnight spring summer autumn winter weekly daily monthly yearly before after until
    since first second third last next
"""
_TIMES = frozenset(_WHEN.split())
"""Words that say when."""
_PAIRS = (
    "on off, open closed, up down, in out, left right, hot cold, warm cold, early late, old new,"
    " high low, more less, most least, big small, large small, long short, good bad, best worst,"
    " like dislike, likes dislikes, love hate, loves hates, start stop, starts stops,"
    " enabled disabled, enable disable, allow forbid, allowed forbidden, always never, true false,"
    " yes no, buy sell, buys sells, bought sold, win lose, won lost, push pull, north south,"
    " east west, before after, above below, inside outside, accept reject, accepted rejected,"
    " arrive leave, arrives leaves, arrived left, increase decrease, rise fall, dark light,"
    " hard easy, hard soft, fast slow, full empty, wet dry, rich poor, public private, safe"
    " dangerous, healthy ill, male female, mother father, brother sister, son daughter, wife"
    " husband, black white, with without, import export, read write, wins loses, add remove"
)
OPPOSITES = frozenset(
    frozenset(pair.split()) for pair in _PAIRS.split(",") if len(set(pair.split())) > 1
)
"""Pairs of opposite words."""


@dataclass(frozen=True, slots=True)
class Comparable:
    """A statement, prepared for comparison.

    Attributes:
        content: Its words without the most common ones.
        marks: Tokens that must not differ, in order: numbers, names, quotations and the like.
        asks: Whether it is a question.
        every: All its words.
    """

    content: frozenset[str]
    marks: tuple[str, ...]
    asks: bool
    every: frozenset[str] = frozenset()


def read(text: str) -> Comparable:
    """Read a statement.

    >>> read("Anna pays 5 EUR, not Bob").marks
    ('5', 'EUR', 'not', 'Bob')
    """
    every = frozenset(words(text))
    content = every - STOP_WORDS
    asks = "?" in text[-3:] or "\uff1f" in text[-3:]
    return Comparable(content, tuple(_marks(text)), asks, every)


def _marks(text: str) -> Iterator[str]:
    """Yield the tokens that must not differ."""
    for match in _TOKEN.finditer(text):
        token = match.group()
        bare = token.strip(_EDGES)
        plain = bare.casefold()
        if token[0] in _QUOTES or _has_digit(bare) or _is_code(bare):
            yield bare
        elif plain in _NOT or plain.endswith(("n't", "n\u2019t")) or plain in _TIMES:
            yield plain
        elif (
            bare[:1].isupper()
            and bare != "I"
            and not bare.startswith("I'")
            and not _leads(text, match.start())
        ):
            yield bare


def _leads(text: str, at: int) -> bool:
    """Return whether a sentence begins at an index, judged by the text before it."""
    before = at
    while before and text[before - 1].isspace():
        before -= 1
    gap = text[before:at]
    ended = before > 0 and text[before - 1] in ".!?"
    return at == 0 or bool(gap and (ended or "\n" in gap[:-1]))


def _is_code(token: str) -> bool:
    """Return whether a token is an identifier, a path, an address or the like."""
    if token.isalnum() and token[1:].islower():
        return False  # most words, at once
    return _INNER.search(token) is not None or any(char.isupper() for char in token[1:])


def _has_digit(token: str) -> bool:
    return not token.isalpha() and any(char.isdigit() for char in token)


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of common words among all words of two statements, [0, 1]."""
    both = len(one & other)
    every = len(one) + len(other) - both
    return both / every if every else 0.0


def alike(one: Comparable, other: Comparable, least: float) -> bool:
    """Return whether two statements say the same.

    Args:
        one: A statement.
        other: Another one.
        least: Minimum share of common words, (0, 1].

    >>> alike(read("The blue bike is in the shed"), read("The blue bike stands in the shed"), 0.7)
    True
    >>> alike(read("The blue bike is in the shed"), read("The blue bike isn't in the shed"), 0.7)
    False
    """
    if one.marks != other.marks or one.asks != other.asks or not one.content:
        return False
    if jaccard(one.content, other.content) < least:
        return False
    only, also = one.every - other.every, other.every - one.every
    return not any(frozenset((a, b)) in OPPOSITES for a in only for b in also)


def prefix(content: frozenset[str], least: float) -> Sequence[str]:
    """Return the words of which two statements that are alike have at least one in common.

    Ordered by length, as long words are rare; every order is right as long as it is one.

    Source: prefix filtering, Chaudhuri, Ganti & Kaushik 2006; Bayardo, Ma & Srikant 2007.
    """
    order = sorted(content, key=lambda word: (-len(word), word))
    return order[: len(order) - math.ceil(least * len(order) - _FUZZ) + 1]


def shared_start(one: Sequence[str], other: Sequence[str]) -> int:
    """Count the words at the start of two lists that are the same.

    >>> shared_start(["the", "red", "bike"], ["the", "red", "boat"])
    2
    """
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
