"""Cut the passage that is relevant to a query out of a long text. Pure.

An answer of many memories must fit a token budget, and of a long memory only the relevant passage
is worth its tokens. Sentences stay whole where they fit. The words of the query choose the passage,
the rare ones first; the meaning of a few windows decides only where the words leave a doubt.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from memento.text.words import words

GAP = "\u2026"
"""Marks a place where text was left out."""
Near = Callable[[Sequence[str]], Sequence[float]]
"""Scores texts by how near their meaning is to the query; larger is nearer."""
WINDOWS = 4
"""Maximum number of windows whose meaning is compared, see `WINDOW`."""
WINDOW = 250
"""Characters of a window whose meaning is compared. Four of them take the default embedder about
25 ms of CPU; the whole of a long text would take a second."""
_DOUBT = 0.7  # share of the best place's worth from which meaning decides between them
_SECOND = 0.5  # share of the best stretch's worth from which a second one is shown too
_OWN = 0.5  # extra weight of the words in the first sentence of a passage
_TWO = 400  # characters of room from which a second stretch may be shown
_BEFORE = 3  # up to one part in so many of the room is for text before the sentence
_SENTENCE = re.compile(r"[^.!?\n\u3002\uff01\uff1f]*[.!?\n\u3002\uff01\uff1f]*\s*")
_ALIKE = 5  # letters; words that begin with the same ones are equal, for want of a stemmer
_READ = 400_000  # characters of a text that are read; 20 ms for English


def passage(text: str, wanted: Iterable[str], room: int) -> str:
    """Return the passage of a text that has most of the wanted words.

    Args:
        text: The text.
        wanted: The wanted words, folded.
        room: Maximum number of characters to return, >= 1, without the marks for left-out text.

    Returns:
        The text if it fits. Otherwise the whole sentences with the most different wanted words,
        rare ones counting more (the earliest among equals), and the text around them as far as
        there is room. If no wanted word is in the text, its beginning.

    >>> passage("It rained. Ada plays the cello. Bob sleeps.", ["ada", "cello"], 20)
    '…Ada plays the cello.…'
    """
    if len(text) <= room:
        return text
    places = _Places.of(text, wanted, room)
    return _joined(text, [places.stretch(places.best(None), room)])


def excerpt(text: str, wanted: Iterable[str], room: int, near: Near | None = None) -> str:
    """Return the one or two passages of a text that are most relevant to a query.

    Args:
        text: The text.
        wanted: The words of the query, folded.
        room: Maximum number of characters to return, >= 1, without the marks for left-out text.
        near: Decides by meaning between passages that the words leave in doubt, or None. It is
            called at most once, with at most `WINDOWS` texts.

    Returns:
        The text if it fits. Otherwise a passage as `passage` returns it; or two of half the size,
        in the order of the text, if the second one also says much about the query.
    """
    if len(text) <= room:
        return text
    places = _Places.of(text, wanted, room if room < _TWO else room // 2)
    first = places.best(near)
    if room < _TWO:
        return _joined(text, [places.stretch(first, room)])
    shown = places.stretch(first, places.room)
    second = places.second(first, shown)
    if second is None:
        return _joined(text, [places.stretch(first, room)])
    return _joined(text, sorted([shown, places.stretch(second, places.room)]))


@dataclass(frozen=True, slots=True)
class _Places:
    """The sentences of a text (start, end), and the worth of a passage that begins with each."""

    text: str
    spans: Sequence[tuple[int, int]]
    worth: dict[int, float]
    room: int

    @classmethod
    def of(cls, text: str, wanted: Iterable[str], room: int) -> _Places:
        """Compute the worth of a passage at each sentence."""
        spans = list(_pieces(text[:_READ], room)) or [(0, min(room, len(text)))]  # only blanks
        asked = list(dict.fromkeys(wanted))
        heard = [_heard(text[start:end], asked) for start, end in spans]
        counts = Counter(word for found in heard for word in found)
        value = {word: math.log(1 + len(spans) / count) for word, count in counts.items()}
        return cls(text, spans, _worth(spans, heard, value, room), room)

    def best(self, near: Near | None) -> int:
        """Return the sentence with which the best passage begins."""
        ranked = sorted(self.worth, key=lambda at: (-self.worth[at], at))
        if near is None:
            return ranked[0] if ranked else 0
        doubtful = self._doubtful(ranked) if ranked else self._spread()
        if len(doubtful) < 2:  # noqa: PLR2004 - nothing to decide
            return doubtful[0]
        scores = near([self.text[self.spans[at][0] :][:WINDOW] for at in doubtful])
        best = max(range(len(doubtful)), key=lambda n: (scores[n], -n))
        return doubtful[best]

    def second(self, first: int, shown: tuple[int, int]) -> int | None:
        """Return the best sentence outside a passage that is worth a passage of its own."""
        start, end = shown
        apart = [
            at
            for at in self.worth
            if self.spans[at][0] >= end or self.spans[at][0] + self.room <= start
        ]
        best = max(apart, key=lambda at: (self.worth[at], -at), default=None)
        if best is None or self.worth[best] < _SECOND * self.worth.get(first, 0.0):
            return None
        return best

    def stretch(self, first: int, room: int) -> tuple[int, int]:
        """Return start and end of the passage around a sentence.

        It begins with the paragraph of the sentence if that is near, or with the sentence before,
        and goes on to the last whole sentence that fits.
        """
        start = self._begin(first, room)
        ends = [end for _, end in self.spans[first : first + room] if end - start <= room]
        return start, max(ends, default=start + room)

    def _begin(self, first: int, room: int) -> int:
        """Return where the paragraph of a sentence starts, or else the sentence before it.

        Return the start of the sentence itself if that is too far away to fit.
        """
        start, end = self.spans[first]
        least = max(0, start - room // _BEFORE)
        gap = self.text.rfind("\n\n", least, start)
        begin = gap + 2 if gap >= 0 else 0
        if gap < 0 < least:
            begin = self.spans[first - 1][0]
        return begin if begin >= least and end - begin <= room else start

    def _doubtful(self, ranked: Sequence[int]) -> list[int]:
        """Return the best sentences whose passages do not overlap and are worth nearly as much."""
        least = _DOUBT * self.worth[ranked[0]]
        chosen: list[int] = []
        for at in ranked:
            if self.worth[at] < least or len(chosen) == WINDOWS:
                break
            start = self.spans[at][0]
            if all(abs(start - self.spans[other][0]) >= self.room for other in chosen):
                chosen.append(at)
        return chosen

    def _spread(self) -> list[int]:
        """Return places at even distances, for a text that has no wanted word."""
        starts = [start for start, _ in self.spans]
        last = starts[-1] + 1
        wanted = [last * n // WINDOWS for n in range(WINDOWS)]
        return list(dict.fromkeys(max(0, bisect_right(starts, at) - 1) for at in wanted))


def _worth(
    spans: Sequence[tuple[int, int]],
    heard: Sequence[frozenset[str]],
    value: dict[str, float],
    room: int,
) -> dict[int, float]:
    """Value the passage that begins with each sentence that has a wanted word.

    The end of the passage only moves forward, so a text of many short lines is read once.
    """
    inside: Counter[str] = Counter()
    worth: dict[int, float] = {}
    end = 0
    for first, (start, _) in enumerate(spans):
        while end < len(spans) and (spans[end][1] - start <= room or end <= first):
            inside.update(heard[end])
            end += 1
        if heard[first]:
            own = sum(value[word] for word in heard[first])
            every = sum(value[word] for word, count in inside.items() if count)
            worth[first] = every + _OWN * own
        inside.subtract(heard[first])
    return worth


def _joined(text: str, stretches: Sequence[tuple[int, int]]) -> str:
    """Join stretches of a text, with marks where text is left out."""
    parts: list[str] = []
    reached = 0
    for start, end in stretches:
        between = text[reached:start]
        parts.append(GAP if between.strip() else between if reached else "")
        parts.append(text[start:end].strip())
        reached = end
    parts.append(GAP if text[reached:].strip() else "")
    return "".join(parts)


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


def _heard(sentence: str, wanted: Sequence[str]) -> frozenset[str]:
    said = {word[:_ALIKE] for word in words(sentence)}
    return frozenset(word for word in wanted if word[:_ALIKE] in said)
