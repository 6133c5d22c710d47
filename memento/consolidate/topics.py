"""Find the topics that several statements are about, and choose what stands for each. Pure.

Statements of one topic share a word that few others have, and each is near to another one of them.
Where there are vectors, near is a cosine of meanings, and else a cosine of words.

Source: single linkage, Sneath 1957, cut at a cosine and at a size; the choice of sentences is
maximal marginal relevance, Carbonell & Goldstein 1998, around the centroid of the topic.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

COMMON = 0.05
"""Largest share of the statements that may have a word for it to name a topic."""
WIDEST = 200
"""Most statements that may have it."""
_LETTERS = 3
"""Fewest letters of such a word."""
_REPEATS = 0.7
"""Weight of the likeness to what was chosen already, against that to the centroid."""

Floats: TypeAlias = NDArray[np.float32]
Topic: TypeAlias = tuple[int, ...]
"""The numbers of its statements, ascending."""


@dataclass(frozen=True, slots=True)
class Size:
    """The statements that a topic may have.

    Attributes:
        least: Fewest.
        most: Most.
        near: Least cosine of each to another one, [0, 1].
    """

    least: int
    most: int
    near: float


def topics(
    words: Mapping[int, frozenset[str]], points: Callable[[Sequence[int]], Floats], size: Size
) -> list[Topic]:
    """Find the topics of some statements; each statement is in one at most.

    Args:
        words: Number of each statement to its content words.
        points: Returns the vectors of some of them, (n, dim), unit length.
        size: The statements that a topic may have.

    Returns:
        Topics, the largest first; the same statements give the same topics.
    """
    found: set[Topic] = set()
    for members in _sharing(words, size):
        found.update(_linked(members, points(members), size))
    taken: set[int] = set()
    chosen: list[Topic] = []
    for topic in sorted(found, key=lambda one: (-len(one), one)):
        left = tuple(member for member in topic if member not in taken)
        if len(left) >= size.least and 2 * len(left) >= len(topic):
            chosen.append(left)
            taken.update(left)
    return chosen


def _sharing(words: Mapping[int, frozenset[str]], size: Size) -> Iterator[list[int]]:
    """Yield the statements that share a word which few others have, each group once."""
    by_word: dict[str, list[int]] = defaultdict(list)
    for number in sorted(words):
        for word in words[number]:
            if len(word) >= _LETTERS and not word.isdigit():
                by_word[word].append(number)
    most = min(WIDEST, max(size.most, int(COMMON * len(words))))
    groups = {tuple(group) for group in by_word.values() if size.least <= len(group) <= most}
    for group in sorted(groups):
        yield list(group)


def _linked(members: Sequence[int], points: Floats, size: Size) -> list[Topic]:
    """Link statements that are near, the nearest first, up to the size of a topic."""
    near = points @ points.T
    rows, columns = np.nonzero(np.triu(near >= size.near, k=1))
    pairs = zip((-near[rows, columns]).tolist(), rows.tolist(), columns.tolist(), strict=True)
    groups = {at: [at] for at in range(len(members))}
    for _, a, b in sorted(pairs):
        one, other = groups[a], groups[b]
        if one is not other and len(one) + len(other) <= size.most:
            one += other
            groups.update(dict.fromkeys(other, one))
    unique = {id(group): group for group in groups.values()}
    return [
        tuple(sorted(members[at] for at in group))
        for group in unique.values()
        if len(group) >= size.least
    ]


def central(members: Sequence[int], points: Floats, prices: Sequence[int], room: int) -> Topic:
    """Choose the statements that stand for a topic: near its middle, and unlike each other.

    Args:
        members: Numbers of its statements.
        points: Their vectors, (n, dim), unit length.
        prices: The characters that each takes.
        room: Most characters in all.

    Returns:
        The numbers of the chosen ones, ascending.
    """
    middle = points.sum(axis=0)
    to_middle = points @ (middle / max(float(np.linalg.norm(middle)), 1e-9))
    near, chosen = points @ points.T, list[int]()
    left = list(range(len(members)))
    while left:
        best = max(left, key=lambda at: (_worth(at, to_middle, near, chosen), -at))
        left.remove(best)
        if prices[best] <= room:
            room -= prices[best]
            chosen.append(best)
    return tuple(sorted(members[at] for at in chosen))


def _worth(at: int, to_middle: Floats, near: Floats, chosen: Sequence[int]) -> float:
    repeated = max((float(near[at, other]) for other in chosen), default=0.0)
    return round(float(to_middle[at]) - _REPEATS * repeated, 6)


def of_words(said: Sequence[frozenset[str]]) -> Floats:
    """Return vectors of unit length by which texts with common words are near, (n, words)."""
    counts = Counter(word for each in said for word in each)
    places = {word: at for at, word in enumerate(sorted(w for w, n in counts.items() if n > 1))}
    points = np.zeros((len(said), len(places) + 1), np.float32)
    for at, each in enumerate(said):
        shared = [places[word] for word in each if word in places]
        points[at, shared] = 1.0 / max(1.0, float(np.sqrt(len(each))))
    return points


def of_blobs(blobs: Sequence[bytes]) -> Floats:
    """Return vectors as the ledger keeps them, (n, dim)."""
    return np.frombuffer(b"".join(blobs), np.float32).reshape(len(blobs), -1)
