"""Turn a sentence into the numbers that the detector weighs. Pure.

Two groups of n-grams are hashed into a fixed number of buckets: the words as they are, and the
skeleton of the sentence, in which only function words stay and the others are replaced by their
shape. The hash is ``zlib.crc32``, so that the buckets are the same in every process and version.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

VERSION = 1
"""Version of the features; weights of another version are refused."""
BUCKETS = 4096
"""Buckets of each group; 2 groups. Twice as many gained less than 0.5 points."""
_WORDS, _SKELETON = 2, 4  # longest n-grams
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+(?:[.,:]\d+)*|[?!:;,.\"()]")  # noqa: RUF001 - a real apostrophe
_FUNCTION = frozenset(
    """a about above actually after again against all already also although always am an and any
    anymore anyone anything are as ask at away back be because been before being below best better
    between both but by call called can can't cannot could couldn't day decided did didn't do does
    doesn't doing don't done down during each either else ever every everyone everything exactly
    few first for forget from further get getting give go going gonna good got great had has hasn't
    hate have haven't having hello help her here here's hers how i i'd i'll i'm i've
    if in instead into is isn't it it's its just keep know last least left less let let's like ll
    look lot love made make many may me mean might mine more most much must my myself name need
    never new next no nobody none nope nor not nothing now of off often oh ok okay old on once one
    only or other our out over own perfect perhaps please prefer probably put rather re really
    remember remind right same say she's should show since so some someone something still stop
    such sure take tell than thank thanks that that's the their them then there there's these they
    they're thing things think this those though through time to today tomorrow tonight too try
    under until up us use used usually want was wasn't way we we'd we'll we're we've week well went
    were what what's when whenever where which while who whose why will wish with without won't
    work worked works would wrong year yes yesterday yet you you'd you'll you're you've your
    monday tuesday wednesday thursday friday saturday sunday january february march april june july
    august september october november december""".split()  # noqa: SIM905 - words read better as one text
)
"""Words that the skeleton keeps. Most belong to no subject; the others carry a class: "remind"."""


def tokens(sentence: str) -> list[str]:
    """Split a sentence into words, numbers and marks, as written.

    >>> tokens("No, it's 8:30!")
    ['No', ',', "it's", '8:30', '!']
    """
    return [token.replace("’", "'") for token in _TOKEN.findall(sentence)]  # noqa: RUF001 - as above


def skeleton(words: Sequence[str]) -> list[str]:
    """Replace every word that is not a function word by its shape.

    >>> skeleton(tokens("My sister Lena is painting 3 boats."))
    ['my', '_', 'N', 'is', 'v_ing', 'D', '_s', '.']
    """
    return [_shape(word, first=at == 0) for at, word in enumerate(words)]


def _shape(word: str, *, first: bool) -> str:
    lower = word.lower()
    if lower in _FUNCTION or not word[0].isalnum():
        return lower
    if word[0].isdigit():
        return "D"
    if word[0].isupper() and not first and lower != word:
        return "N"
    for ending, shape in (("ing", "v_ing"), ("ed", "v_ed"), ("ly", "_ly"), ("s", "_s")):
        if lower.endswith(ending) and len(lower) > len(ending) + 2:
            return shape
    return "_"


def _grams(parts: Sequence[str], longest: int, mark: str) -> Iterator[str]:
    framed = ["^", *parts, "$"]
    for size in range(1, longest + 1):
        for at in range(len(framed) - size + 1):
            yield f"{mark}{size} {' '.join(framed[at : at + size])}"


def buckets(sentence: str) -> list[int]:
    """Return the buckets that the n-grams of a sentence fall into, each once, in order.

    Numbers below ``BUCKETS`` belong to words, those from ``BUCKETS`` on to the skeleton.
    """
    spoken = tokens(sentence)
    words = _grams([word.lower() for word in spoken], _WORDS, "w")
    shapes = _grams(skeleton(spoken), _SKELETON, "s")
    found = {zlib.crc32(gram.encode()) % BUCKETS for gram in words}
    found |= {zlib.crc32(gram.encode()) % BUCKETS + BUCKETS for gram in shapes}
    return sorted(found)


def vector(sentence: str) -> NDArray[np.float32]:
    """Return the n-grams of a sentence as a vector: (2 * BUCKETS,) float32.

    Each group has unit length, so that a long sentence does not shout.
    """
    found = np.array(buckets(sentence), np.int64)
    row = np.zeros(2 * BUCKETS, np.float32)
    for group in (found[found < BUCKETS], found[found >= BUCKETS]):
        row[group] = 1 / np.sqrt(max(1, len(group)))
    return row
