"""Cut out of a long text the stretch that bears on a question. Pure.

An answer of many memories has to be read within a token budget: of a long one only what is asked
about is worth its tokens. Sentences stay whole where they fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from memento.text import words

GAP = "\u2026"
"""Stands where text was left out."""
_SENTENCE = re.compile(r"[^.!?\n\u3002\uff01\uff1f]*[.!?\n\u3002\uff01\uff1f]*\s*")
_ALIKE = 5  # letters; words that begin alike count as one word, for want of a stemmer
_READ = 20_000  # characters of a text that are looked at


def passage(text: str, wanted: Iterable[str], room: int) -> str:
    """Return the stretch of a text that has most of the words looked for.

    Args:
        text: The text.
        wanted: The words looked for, folded.
        room: Most characters to return, >= 1, marks for what was left out not counted.

    Returns:
        The text if it fits; else the whole sentences that hold the most different words looked
        for, the earliest of equals, with what follows as far as there is room. The beginning
        of the text when none is in it.

    >>> passage("It rained. Ada plays the cello. Bob sleeps.", ["ada", "cello"], 20)
    '…Ada plays the cello.…'
    """
    if len(text) <= room:
        return text
    spans = list(_pieces(text[:_READ], room)) or [(0, room)]  # it may begin with blanks alone
    heard = [_heard(text[start:end], wanted) for start, end in spans]
    first = _best(spans, heard, room)
    start = spans[first][0]
    end = max(end for _, end in spans[first:] if end - start <= room)
    cut = text[start:end].strip()
    return f"{GAP if start else ''}{cut}{GAP if end < len(text.rstrip()) else ''}"


def _pieces(text: str, room: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of each sentence; one longer than the room in parts, between words.

    The space after a sentence is nobody's: it must not cost the last word its place.
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
    """Return the sentence to begin with, so that most words looked for are in the room after it."""

    def worth(first: int) -> int:
        start = spans[first][0]
        inside = [
            found
            for (_, end), found in zip(spans[first:], heard[first:], strict=True)
            if end - start <= room
        ]
        return len(heard[first].union(*inside))

    # a sentence with nothing in it may only open the whole
    telling = (at for at in range(len(spans)) if heard[at])
    return max(telling, key=lambda at: (worth(at), -at), default=0)
