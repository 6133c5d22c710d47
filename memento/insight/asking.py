"""The phrases with which a question asks about a name, from the name outwards. Pure.

``the city of the head office of the bank of Mr. Novak`` asks first for a bank, then for a head
office, then for a city: the phrases of a question are taken in the order of their distance from the
name, and each fact of a chain answers one of them or several that stand together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memento.insight.names import Span, folded, stems
from memento.text.words import META_WORDS, STOP_WORDS, words

MOST_NAMES = 3
"""Names of a question from which chains begin."""
MOST_PHRASES = 6
"""Phrases of a question that are told apart; the ones farthest from the name are joined."""
MOST_JOINED = 3
"""Phrases that one fact may answer together."""

_WORD = re.compile(r"(?P<word>[^\W_]+(?:['\u2019](?!s\b)[^\W_]+)?)(?P<whose>['\u2019]s?\b)?")
_LEADING = frozenset(["of", "by", "to", "for", "with", "from", "in", "at", "on", "about"])


@dataclass(frozen=True, slots=True)
class Start:
    """The phrases of a question, seen from one name.

    Attributes:
        name: The folded name.
        size: Number of phrases, >= 1.
        parts: From phrase and to before phrase, to the place of their text in ``Asked.texts``.
    """

    name: str
    size: int
    parts: Mapping[tuple[int, int], int]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as a search for chains needs it.

    Attributes:
        starts: One for each name.
        texts: Phrases, alone and together with those beside them.
        stems: For each of these, the first letters of its words.
        telling: The words of the question that tell what it asks, without its names.
    """

    starts: tuple[Start, ...]
    texts: tuple[str, ...]
    stems: tuple[frozenset[str], ...]
    telling: tuple[str, ...]


def asked(question: str, spans: Sequence[Span]) -> Asked:
    """Read what a question asks about the names in it.

    >>> question = "In which city is the bank of Omar?"
    >>> asked(question, [Span("omar", 29, 33)]).texts
    ('bank', 'bank city', 'city')
    """
    texts: dict[str, int] = {}
    starts = []
    for span in dict.fromkeys(spans[:MOST_NAMES]):
        phrases = _outwards(question, span, spans) or [question]
        phrases = [*phrases[: MOST_PHRASES - 1], " ".join(phrases[MOST_PHRASES - 1 :])]
        phrases = [one for one in phrases if one]
        parts = {
            (at, end): texts.setdefault(" ".join(phrases[at:end]), len(texts))
            for at in range(len(phrases))
            for end in range(at + 1, min(at + MOST_JOINED, len(phrases)) + 1)
        }
        starts.append(Start(span.name, len(phrases), parts))
    rest = _blank(question, spans)
    return Asked(
        tuple(starts),
        tuple(texts),
        tuple(stems(text) for text in texts),
        tuple(dict.fromkeys(filter(_tells, words(rest)))),
    )


def _outwards(question: str, name: Span, spans: Sequence[Span]) -> list[str]:
    """Return the phrases around a name in the order in which they apply to it."""
    rest = _blank(question, spans)
    left, right = rest[: name.start], rest[name.end :]
    before, after = list(_phrases(left))[::-1], list(_phrases(right))
    last = [match["word"].casefold() for match in _WORD.finditer(left)][-1:]
    described = not _LEADING.isdisjoint(last)  # "the bank of Omar"
    return [*before, *after] if described else [*after, *before]


def _blank(question: str, spans: Sequence[Span]) -> str:
    """Return a question with spaces for its names."""
    for span in spans:
        question = question[: span.start] + " " * (span.end - span.start) + question[span.end :]
    return question


def _phrases(text: str) -> Iterator[str]:
    """Yield the runs of words that tell something, in order."""
    run: list[str] = []
    for match in _WORD.finditer(text):
        if _tells(match["word"]):
            run.append(match["word"])
        if run and (match["whose"] or run[-1] != match["word"]):
            yield " ".join(run)
            run = []
    if run:
        yield " ".join(run)


def _tells(word: str) -> bool:
    said = folded(word)
    return bool(said) and said not in STOP_WORDS and said not in META_WORDS
