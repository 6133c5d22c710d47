"""Find the names in a text, and what the text says about them. Pure; standard library only.

A name is a run of capitalised words, a quoted term, an identifier, or the subject or the final
value of a short statement. In scripts without upper case, only keys and aliases link memories.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from memento.text.words import STOP_WORDS, words

MOST_WORDS = 8
"""Maximum number of words in a name."""
STEM = 5
"""Number of first letters by which two words count as the same."""
MASK = "someone"
"""Replaces names in a text whose meaning is compared."""
_LONGEST = 2_000  # characters of a text that are read; a longer one says too much for one link
_STATEMENT = 30  # tokens; only a short statement has one subject and one value
_LEAST = 3  # tokens of a statement with a subject and a value, and of a title of several names
_CHUNK = 4  # tokens of a subject or a value without capitals

_TOKEN = re.compile(r"[^\W_](?:[\w'\u2019./&-]*[^\W_])?")
_QUOTED = re.compile(
    r"[\"\u201c\u201e\u00ab]([^\"\u201c\u201d\u201e\u00ab\u00bb]{1,80})[\"\u201d\u00bb]"
)
_IDENTIFIER = re.compile(r"(?>\w*?(?:[a-z][A-Z]|_|/|[A-Za-z]-?\d|\d-?[A-Za-z]))[\w/.-]*")
_NUMBER = re.compile(r"[\d ]+(?:st|nd|rd|th|s|am|pm|h|min|km|m|kg|g|ms|gb|mb|x)?")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|s|am|pm|h|min|km|m|kg|g|ms|gb|mb|x)", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['\u2019]s?$")
_SENTENCE_END = re.compile(r"[.!?:;\n]")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_INSIDE = _set("of the de da di del der den des du la le van von bin al el y &")
_VERBS = _set("is was are were has had does did can will would should could")
_LEADS = _set("of is was are were in by to for from at with as the a an on called")
_HOLLOW = STOP_WORDS | _set(
    "yes no ok okay hi hello hey thanks please well oh great sure maybe also today tomorrow"
)
_OUTSIDE = _HOLLOW - _INSIDE


class Token(NamedTuple):
    """A word of a text, without a possessive ending.

    Attributes:
        text: The word as it is written.
        start: Where it begins.
        end: Where it ends.
        plain: The word in lower case.
        capital: Whether it begins with a capital letter or is an identifier.
    """

    text: str
    start: int
    end: int
    plain: str
    capital: bool


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text, from ``start`` to before ``end``, and the folded name in it."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Reading:
    """The names in a text and the relation that it states.

    Attributes:
        names: Folded names in the order of the text, each once.
        relation: The text with its names masked, to compare by meaning.
        stems: Stems of its content words, without the names.
        like: The text without its last name or value, which is equal for texts that give different
            values for the same thing; "" if there is none.
        value: The folded last name or value.
    """

    names: tuple[str, ...]
    relation: str
    stems: frozenset[str]
    like: str
    value: str


def folded(text: str) -> str:
    """Return a name in the form in which names are compared: no case, accents or leading "the".

    >>> folded("The Café"), folded("O'Brien")
    ('cafe', 'o brien')
    """
    found = words(text)
    return " ".join(found[1:] if len(found) > 1 and found[0] == "the" else found)


def spelt_in(text: str, name: str) -> str:
    """Return a folded name as a text spells it; unchanged if the text does not contain it whole.

    >>> spelt_in("Ask Nina Park about it", "nina park")
    'Nina Park'
    """
    found = re.search(rf"\b{_spaced(name)}\b", text, re.IGNORECASE)
    return found.group() if found else name


def explains(text: str, name: str) -> bool:
    """Return whether a text says who or what a name is.

    >>> explains("Nina Park is our accountant", "nina park")
    True
    >>> explains("I met Nina Park", "nina park")
    False
    """
    after = r"(?:is|was|are|were|means|stands for|runs|leads|our|my|the|an?)"
    said = rf"\b{_spaced(name)},? {after}\b"
    return re.search(said, text, re.IGNORECASE) is not None


def _spaced(name: str) -> str:
    return r"\W+".join(map(re.escape, name.split()))


def stems(text: str) -> frozenset[str]:
    """Return the stems (first letters) of the content words of a text."""
    return frozenset(word[:STEM] for word in words(text) if word not in STOP_WORDS)


def read(text: str) -> Reading:
    """Find the names in a text and what it says about them.

    >>> read("Nina Park works at Northwind").names
    ('nina park', 'northwind')
    >>> read("Ada was born in Turin").like == read("Ada was born in Lyon").like
    True
    """
    text = text[:_LONGEST]
    tokens = list(_tokens(text))
    strong = _without_overlap([*_quoted(text), *_capitalised(text, tokens)])
    subject = list(_title(text, tokens))
    spans = _without_overlap([*subject, *strong, *_ends(text, tokens, strong)])
    every = sorted([*spans, *strong], key=lambda span: (span.start, -span.end))
    names = tuple(dict.fromkeys(span.name for span in every if not _NUMBER.fullmatch(span.name)))
    relation = masked(text, spans)
    last = _last(spans, strong) if len(tokens) <= _STATEMENT else None
    return Reading(
        names,
        relation,
        stems(relation.replace(MASK, " ")),
        "" if last is None else _like(text, last),
        "" if last is None else last.name,
    )


def with_names(reading: Reading, more: Iterable[str]) -> Reading:
    """Return a reading with more folded names: the memory's key and aliases."""
    return replace(reading, names=tuple(dict.fromkeys((*reading.names, *more))))


def asked(question: str, known: Container[str]) -> list[Span]:
    """Find the known names in a question, from left to right; at each word, the longest match.

    Single words in lower case count only if there is no other name.

    Args:
        question: The question.
        known: Container of folded names.
    """
    tokens = list(_tokens(question))
    found: list[tuple[bool, Span]] = []
    at = 0
    while at < len(tokens):
        span, length = _longest(question, tokens, at, known)
        if span is not None:
            strong = any(token.capital for token in tokens[at : at + length]) or length > 1
            found.append((strong, span))
        at += length
    strong_ones = [span for strong, span in found if strong]
    return strong_ones or [span for _, span in found]


def masked(text: str, spans: Sequence[Span]) -> str:
    """Return a text with the spans replaced by `MASK`."""
    parts, at = [], 0
    for span in spans:
        parts += [text[at : span.start], MASK]
        at = span.end
    return "".join([*parts, text[at:]])


def _longest(
    text: str, tokens: Sequence[Token], at: int, known: Container[str]
) -> tuple[Span | None, int]:
    """Return the longest known name from a token on, and its tokens; (None, 1) if there is none."""
    for length in range(min(MOST_WORDS, len(tokens) - at), 0, -1):
        start, end = tokens[at].start, tokens[at + length - 1].end
        name = folded(text[start:end])
        if name in known and not (length == 1 and tokens[at].plain in _HOLLOW):
            return Span(name, start, end), length
    return None, 1


def _tokens(text: str) -> Iterator[Token]:
    for match in _TOKEN.finditer(text):
        word, start = match[0], match.start()
        if not word.isalpha():
            word = _POSSESSIVE.sub("", word)
        capital = word[0].isupper() or _is_identifier(word)
        yield Token(word, start, start + len(word), word.casefold(), capital)


def _is_identifier(word: str) -> bool:
    if word.isalpha() and word.islower():  # true of most words; the patterns cost ten times as much
        return False
    return not _ORDINAL.fullmatch(word) and _IDENTIFIER.fullmatch(word) is not None


def _quoted(text: str) -> Iterator[Span]:
    for match in _QUOTED.finditer(text):
        name = folded(match[1])
        if name and name.count(" ") < MOST_WORDS:
            yield Span(name, match.start(1), match.end(1))


def _capitalised(text: str, tokens: Sequence[Token]) -> Iterator[Span]:
    """Yield the runs of capitalised words, and identifiers."""
    at = 0
    while at < len(tokens):
        last = _run_end(text, tokens, at)
        if last is None:
            at += 1
            continue
        name = folded(text[tokens[at].start : tokens[last].end])
        if name:
            yield Span(name, tokens[at].start, tokens[last].end)
        at = last + 1


def _run_end(text: str, tokens: Sequence[Token], first: int) -> int | None:
    """Return the index of the last token of a name that starts at ``first``; None if none does."""
    if not tokens[first].capital or tokens[first].plain in _HOLLOW:
        return None
    last = first
    for at in range(first + 1, min(first + MOST_WORDS, len(tokens))):
        if _SENTENCE_END.search(text, tokens[at - 1].end, tokens[at].start) or (
            "," in text[tokens[at - 1].end : tokens[at].start]
        ):
            break
        if tokens[at].capital and tokens[at].plain not in _OUTSIDE:
            last = at
        elif tokens[at].plain not in _INSIDE:
            break
    return last


def _ends(text: str, tokens: Sequence[Token], strong: Sequence[Span]) -> Iterator[Span]:
    """Yield the subject and the value of a short statement, which need no capitals."""
    if not _LEAST <= len(tokens) <= _STATEMENT:
        return
    verb = next((at for at, one in enumerate(tokens) if one.plain in STOP_WORDS), 0)
    if 0 < verb <= _CHUNK and tokens[verb].plain in _VERBS:
        yield _span(text, tokens[:verb])
    first = len(tokens)
    while first and tokens[first - 1].plain not in STOP_WORDS:
        first -= 1
    if not 0 < first < len(tokens) <= first + _CHUNK or tokens[first - 1].plain not in _LEADS:
        return
    value = _span(text, tokens[first:])
    if all(one.end <= value.start or one.start >= value.end for one in strong):
        yield value


def _title(text: str, tokens: Sequence[Token]) -> Iterator[Span]:
    """Yield the subject of a statement if it is a title of several words: "Bread and Roses is"."""
    verb = next((at for at, one in enumerate(tokens) if one.plain in _VERBS), 0)
    if not _LEAST <= verb <= MOST_WORDS or len(tokens) > _STATEMENT:
        return
    chunk = tokens[:verb]
    if all(one.capital or one.plain in STOP_WORDS for one in chunk) and (
        chunk[0].text[0].isupper() and chunk[-1].capital
    ):
        yield _span(text, chunk)


def _last(spans: Sequence[Span], strong: Sequence[Span]) -> Span | None:
    """Return the value of a statement: its last name, or else its last words."""
    if len(strong) > 1 and strong[-1].start > spans[0].end:
        return strong[-1]
    return spans[-1] if spans else None


def _span(text: str, tokens: Sequence[Token]) -> Span:
    start, end = tokens[0].start, tokens[-1].end
    return Span(folded(text[start:end]), start, end)


def _without_overlap(spans: Sequence[Span]) -> list[Span]:
    """Return the spans in the order of the text; of overlapping ones, only the longest."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda one: (one.start - one.end, one.start)):
        if span.name and all(span.end <= one.start or one.end <= span.start for one in kept):
            kept.append(span)
    return sorted(kept, key=lambda one: one.start)


def _like(text: str, last: Span) -> str:
    """Return a folded text without its last name; "" if at most one word precedes that."""
    before, after = folded(text[: last.start]), folded(text[last.end :])
    return f"{before} \x00 {after}" if len(before.split()) > 1 else ""
