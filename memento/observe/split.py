"""Split a masked message into sentences with their places. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memento.observe.mask import HIDDEN
from memento.observe.signals import SENTENCES, Span

_END = re.compile(r"(?:(?<=[.!?…])[\"')\]”’»]*\s+|(?<=[。！？])[」』”]?\s*)")  # noqa: RUF001 - real stops
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|mt|ft|ste|gen|sgt|capt|col|rev|hon|no|nr|vs|etc|e\.g|i\.e|approx"
    r"|inc|ltd|co|jr|sr|bzw|ca|z\.b|u\.a|sra?|dra|mme|mlle|m)|\b[A-Z]|^\s*\d{1,3})\.$",
    re.IGNORECASE,
)
_GERMAN_DAY = re.compile(
    r"(?:\b(?:am|de[mnr]|zum|vom|bis|ab)|(?:tag|woch),?)\s(?:de[mnr]\s)?\d{1,2}\.$", re.IGNORECASE
)
_GERMAN_MONTH = re.compile(r"(?:Jan|Jän|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)|[a-zäöü]")
"""Behind the stop of a German ordinal: its month, or what begins no sentence."""
_ABBREVIATED = 12
"""Characters before a stop in which an abbreviation is searched for."""
_LEAD = re.compile(rf"[\s{HIDDEN}]*(?:(?:[-*+•‣◦]|\d{{1,3}}[.)]|\#{{1,6}})\s+)?")
"""The sign of a list item or a heading, before the first word of a line."""
_SMILES = re.compile(
    r"(?:[:;]-?[)(DP]|[\u2600-\u27bf\U0001f000-\U0001faff\ufe0f\u200d]|\s){1,20}\Z"
)
"""Emoticons and emoji at the end of a sentence: they say nothing."""
_WORD = re.compile(r"[^\W_]")
LONGEST = 600
"""Maximum length of a sentence, characters. A longer one is pasted text."""


def sentences(masked: str, original: str, most: int = SENTENCES) -> list[Span]:
    """Split a message into sentences.

    A line break ends a sentence, unless the next line goes on in lower case.

    Args:
        masked: The message after ``mask.hide``.
        original: The message, of the same length.
        most: Maximum number of sentences to return, >= 1.

    Returns:
        Spans of the original, in order; none is empty or hidden as a whole.

    >>> [span.text for span in sentences("Hi. I'm Mr. Bo!", "Hi. I'm Mr. Bo!")]
    ['Hi.', "I'm Mr. Bo!"]
    """
    return all_sentences(masked, original)[:most]


def all_sentences(masked: str, original: str) -> list[Span]:
    """Split a message into sentences, without a limit; see ``sentences``."""
    found = []
    for start, end in _paragraphs(masked):
        for first, last in _pieces(masked, start, end):
            span = _trimmed(masked, original, first, last)
            if span is not None:
                found.append(span)
    return found


SHORT = 30
"""Characters of the words before a statement up to which the sentence before them is added."""


def before(span: Span, sentences: Sequence[Span], masked: str) -> str:
    """Return the words before a part of a text: of its sentence, or the sentences before.

    ``""`` if any of them is hidden.

    >>> text = "Mabli's bloods are back. Kidneys. She's on the renal diet now."
    >>> spans = all_sentences(text, text)
    >>> before(spans[2], spans, text), before(spans[1], spans, text)
    ("Mabli's bloods are back. Kidneys.", "Mabli's bloods are back.")
    """
    words = ""
    for start in sorted((one.start for one in sentences if one.start < span.start), reverse=True):
        if len(words) > SHORT:
            break
        words = masked[start : span.start].strip()
    return "" if HIDDEN in words else words


def _paragraphs(masked: str) -> list[tuple[int, int]]:
    """Return (start, end) of each run of lines that belong together."""
    found: list[tuple[int, int]] = []
    at = 0
    above = ""
    for line in masked.splitlines(keepends=True):
        end = at + len(line)
        if found and _goes_on(above, line):
            found[-1] = (found[-1][0], end)
        else:
            found.append((at, end))
        at, above = end, line
    return found


def _goes_on(above: str, below: str) -> bool:
    """Return whether a line continues the sentence of the line above."""
    above, below = above.strip(), below.strip()
    return (
        bool(above)
        and bool(below)
        and above[-1] not in ".!?…:;。！？" + HIDDEN  # noqa: RUF001 - real stops
        and below[0].islower()
        and len(above) > 40  # noqa: PLR2004 - a short line was ended on purpose
    )


def _pieces(masked: str, start: int, end: int) -> list[tuple[int, int]]:
    """Cut one paragraph at the ends of its sentences."""
    found = []
    first = start
    for stop in _END.finditer(masked, start, end):
        tail = masked[max(first, stop.start() - _ABBREVIATED) : stop.start()]
        day = _GERMAN_DAY.search(tail) and _GERMAN_MONTH.match(masked, stop.end())
        if stop.end() > first and not day and not _ABBREVIATION.search(tail):
            found.append((first, stop.end()))
            first = stop.end()
    return [*found, (first, end)]


def _trimmed(masked: str, original: str, start: int, end: int) -> Span | None:
    """Return the span without blanks, list signs and hidden ends, or None if nothing is left."""
    lead = _LEAD.match(masked, start, end)
    start = lead.end() if lead else start
    smiles = _SMILES.search(masked, max(start, end - 20), end)
    end = smiles.start() if smiles else end
    while end > start and masked[end - 1].isspace():
        end -= 1
    if end - start > LONGEST or not _WORD.search(masked, start, end):
        return None
    return Span(start, end, original[start:end])
