"""Cut the passage that is relevant to a query out of a long text. Pure.

An answer of many memories must fit a token budget, and of a long memory only the relevant passage
is worth its tokens. Sentences stay whole where they fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from memento.language.words import words

GAP = "\u2026"
"""Marks a place where text was left out."""
_SENTENCE = re.compile(r"[^.!?\n\u3002\uff01\uff1f]*[.!?\n\u3002\uff01\uff1f]*\s*")
_ALIKE = 5  # letters; words with the same first letters are one word, as there is no stemmer here
_READ = 20_000  # characters of a text that are read


def passage(text: str, wanted: Iterable[str], room: int) -> str:
    """Return the passage of a text that has most of the wanted words.

    Args:
        text: The text.
        wanted: The wanted words, folded.
        room: Most characters to return, >= 1, without the marks for left-out text.

    Returns:
        The text if it fits. Otherwise the whole sentences with the most different wanted words
        (the earliest among equals) and the text after them as far as there is room. If no wanted
        word is in the text, its beginning.

    >>> passage("It rained. Ada plays the cello. Bob sleeps.", ["ada", "cello"], 20)
    '…Ada plays the cello.…'
    """
    if len(text) <= room:
        return text
    spans = list(_pieces(text[:_READ], room)) or [(0, room)]  # the text may begin with only blanks
    heard = [_heard(text[start:end], wanted) for start, end in spans]
    first = _best(spans, heard, room)
    start = spans[first][0]
    end = max(end for _, end in spans[first:] if end - start <= room)
    cut = text[start:end].strip()
    return f"{GAP if start else ''}{cut}{GAP if end < len(text.rstrip()) else ''}"


def _pieces(text: str, room: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of each sentence; one that is too long in parts, cut between words.

    The space after a sentence is not part of it, so that it does not push out the last word.
    """
    for sentence in _SENTENCE.finditer(text):
        start = sentence.start()
        end = start + len(sentence.group().rstrip())
        while end - start > room:
            gap = text.rfind(" ", start + 1, start + room)
            cut = gap + 1 if gap > 0 else start + room
            yield start, cut
            start = cut
        if end > start:
            yield start, end


def _heard(sentence: str, wanted: Iterable[str]) -> frozenset[str]:
    said = {word[:_ALIKE] for word in words(sentence)}
    return frozenset(word for word in wanted if word[:_ALIKE] in said)


def _best(spans: Sequence[tuple[int, int]], heard: Sequence[frozenset[str]], room: int) -> int:
    """Return the first sentence of the passage with the most wanted words."""

    def worth(first: int) -> int:
        start = spans[first][0]
        inside = [
            found
            for (_, end), found in zip(spans[first:], heard[first:], strict=True)
            if end - start <= room
        ]
        return len(heard[first].union(*inside))

    # A sentence without wanted words can only be the beginning of the whole text.
    telling = (at for at in range(len(spans)) if heard[at])
    return max(telling, key=lambda at: (worth(at), -at), default=0)
