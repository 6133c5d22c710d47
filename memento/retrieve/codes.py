"""Two bits per dimension instead of a vector: a scan of all codes finds the nearest vectors. Pure.

Each dimension becomes 0, 1 or 2: below, within or above the middle third of its values, written as
two bits of which both, one or none are set. The number of bits in which two codes differ is small
for vectors with a large cosine. It is counted for every row, and only the rows that differ least
are compared by their vectors.

Two bits are 1/16 of a float32, and nothing has to be built beside them: no graph, no clusters.
Filters are applied before the best rows are chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memento.retrieve.coder import Coder
from memento.retrieve.roster import Floats, Mask, Rows

Words = NDArray[np.uint64]

THIRD = np.float32(0.43)
"""Standard deviations from the mean to each end of the middle third of a normal distribution."""
LARGE = 500_000
"""Rows from which the first bit of each dimension is compared for all, and the second for few."""
SURVIVORS = 16_000
"""Rows of a large namespace that the second bit is compared for, >= the candidates."""
_CHUNK = 32_768
"""Rows compared at once: what is computed for them stays in the cache of a processor."""
_BITS = 64
_AT_ONCE = 3
"""Words whose counts, at most 64 each, are added in one byte."""
_SAMPLED = 16
"""One of so many rows is looked at first where those that differ least are chosen."""
_SPREAD = 4
"""Standard deviations of a sample that are taken beside its share."""


class Thirds(NamedTuple):
    """Ends of the middle third of each dimension, (dim,) float32 each."""

    low: Floats
    high: Floats


def thirds(vectors: Floats) -> Thirds:
    """Compute the ends of the middle thirds from a sample of vectors, (n, dim), n >= 1."""
    centre = vectors.mean(axis=0, dtype=np.float64)
    spread = vectors.std(axis=0, dtype=np.float64)
    half = float(THIRD) * spread
    return Thirds((centre - half).astype(np.float32), (centre + half).astype(np.float32))


def width(dim: int) -> int:
    """Return the number of 64-bit words of a code.

    >>> width(384), width(65)
    (12, 4)
    """
    return 2 * -(-dim // _BITS)


def encode(vectors: Floats, ends: Thirds) -> Words:
    """Encode vectors.

    Args:
        vectors: (n, dim) float32.
        ends: The middle third of each dimension.

    Returns:
        (width(dim), n): one column per vector, the first bits of all dimensions in the upper half.
    """
    return np.concatenate([_packed(vectors > end) for end in ends])


def _packed(bits: Mask) -> Words:
    """Pack (n, dim) bits into columns of 64-bit words, padded with zeros."""
    n, dim = bits.shape
    packed = np.zeros((n, -(-dim // _BITS) * 8), np.uint8)
    packed[:, : -(-dim // 8)] = np.packbits(bits, axis=1, bitorder="little")
    return np.ascontiguousarray(packed.view(np.uint64).T)


def differences(codes: Words, query: Words) -> NDArray[np.uint16]:
    """Count for every row the bits in which it differs from a query.

    Args:
        codes: (words, n).
        query: (words,), of one vector.
    """
    n = codes.shape[1]
    found = np.zeros(n, np.uint16)
    size = min(n, _CHUNK)
    differing, some, ones = np.empty(size, np.uint64), *np.empty((2, size), np.uint8)
    for start in range(0, n, _CHUNK):
        end = min(n, start + _CHUNK)
        room = slice(end - start)
        _count(
            codes[:, start:end], query, found[start:end], differing[room], some[room], ones[room]
        )
    return found


def _count(
    codes: Words,
    query: Words,
    found: NDArray[np.uint16],
    differing: Words,
    some: NDArray[np.uint8],
    ones: NDArray[np.uint8],
) -> None:
    """Add to what was found how many bits differ; the other arrays are room to work in."""
    words = len(codes)
    for first in range(0, words, _AT_ONCE):
        for word in range(first, min(words, first + _AT_ONCE)):
            np.bitwise_xor(codes[word], query[word], out=differing)
            np.bitwise_count(differing, out=some if word == first else ones)
            if word > first:
                some += ones
        found += some


def candidates(
    codes: Words, query: Words, allowed: Mask, count: int, seconds: Words | None = None
) -> Rows:
    """Return the rows whose vectors have to be compared, ascending.

    Args:
        codes: (words, n).
        query: (words,), of one vector.
        allowed: (n,); other rows are never candidates.
        count: Rows wanted, >= 1; a few more are returned if several differ equally.
        seconds: `second_bits`, if it is a large namespace.
    """
    most, half = np.count_nonzero(allowed), len(codes) // 2
    if most <= count:
        return np.flatnonzero(allowed)
    if seconds is None:
        return _least(differences(codes, query), allowed, count)
    if most <= SURVIVORS:
        some = np.flatnonzero(allowed)
        first = differences(codes[:half].take(some, axis=1), query[:half])
    else:
        every = differences(codes[:half], query[:half])
        some = _least(every, allowed, max(SURVIVORS, count))
        first = every[some]
    both = first + differences(seconds.take(some, axis=0).T, query[half:])
    return some[_least(both, np.ones(len(some), np.bool_), count)]


def second_bits(codes: Words) -> Words | None:
    """Return the second bits of a large namespace, those of a row together; else None.

    Few rows are read of them, which costs a tenth of what it does if each word is elsewhere.
    """
    n = codes.shape[1]
    return np.ascontiguousarray(codes[len(codes) // 2 :].T) if n >= LARGE else None


def _least(found: NDArray[np.uint16], allowed: Mask, count: int) -> Rows:
    """Return the allowed rows that differ least, ascending: so many, and all equal to the last."""
    if np.count_nonzero(allowed) <= count:
        return np.flatnonzero(allowed)
    rows = _promising(found, allowed, count)
    values = found[rows]
    upto = np.cumsum(_tally(values))
    return rows[values <= np.searchsorted(upto, count)]


def _promising(found: NDArray[np.uint16], allowed: Mask, count: int) -> Rows:
    """Return allowed rows among which are so many that differ least, ascending.

    A sample tells where to cut, so that most rows are looked at once; all are returned if it
    misled. Source: Floyd & Rivest, Expected Time Bounds for Selection, 1975.
    """
    sample = found[::_SAMPLED][allowed[::_SAMPLED]]
    share = count // _SAMPLED
    enough = share + _SPREAD * (1 + isqrt(share))
    if enough < len(sample):
        bar = np.searchsorted(np.cumsum(_tally(sample)), enough)
        rows = np.flatnonzero(found <= bar)
        rows = rows[allowed[rows]]
        if len(rows) >= count:
            return rows
    return np.flatnonzero(allowed)


def _tally(found: NDArray[np.uint16]) -> NDArray[np.intp]:
    """Count how often each value occurs; what NumPy converts for it stays in the cache."""
    values, starts = int(found.max()) + 1, range(0, len(found), _CHUNK)
    return sum(
        (np.bincount(found[start : start + _CHUNK], minlength=values) for start in starts),
        np.zeros(values, np.intp),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Bits(Coder):
    """Makes two bits of each dimension.

    Attributes:
        ends: The middle third of each dimension.
    """

    name: ClassVar[str | None] = None
    ends: Thirds

    @classmethod
    def learn(cls, sample: Floats) -> Bits:
        """Learn the middle thirds from vectors."""
        return cls(thirds(sample))

    @classmethod
    def load(cls, learned: Floats, dim: int) -> Bits:
        """Return the coder with these ends."""
        return cls(Thirds(learned[:dim], learned[dim:]))

    @classmethod
    def learns(cls, dim: int) -> int:
        """Return how many ends there are."""
        return 2 * dim

    @classmethod
    def bytes_of(cls, dim: int) -> int:
        """Return the size of the code of one vector."""
        return 8 * width(dim)

    @classmethod
    def empty(cls, n: int, dim: int) -> Words:
        """Return room for the codes of n vectors."""
        return np.empty((width(dim), n), np.uint64)

    @classmethod
    def read(cls, content: bytes, at: int, n: int, dim: int) -> Words:
        """Return the codes of n vectors in the content of a file."""
        return np.frombuffer(content, np.uint64, width(dim) * n, at).reshape(-1, n)

    @property
    def learned(self) -> Floats:
        """The ends, all lower ones first."""
        return np.concatenate(self.ends)

    def encode(self, vectors: Floats) -> Words:
        """Encode vectors."""
        return encode(vectors, self.ends)

    def finder(self, codes: Words) -> Counting:
        """Return a finder that counts the bits in which these codes differ from a query."""
        return Counting(codes, self.ends, second_bits(codes))


@dataclass(frozen=True, slots=True, eq=False)
class Counting:
    """Finds the rows whose codes differ least; implements ``coder.Finder``."""

    codes: Words
    ends: Thirds
    seconds: Words | None

    @property
    def nbytes(self) -> int:
        """Bytes it holds in RAM beside the codes."""
        return 0 if self.seconds is None else self.seconds.nbytes

    def candidates(self, vector: Floats, allowed: Mask, count: int) -> Rows:
        """Return the rows whose vectors have to be compared, ascending."""
        query = encode(vector[np.newaxis], self.ends)[:, 0]
        return candidates(self.codes, query, allowed, count, self.seconds)
