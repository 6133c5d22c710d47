"""Properties of laying windows over long texts and of combining them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.embed.windows import combine, split

LENGTHS = st.integers(0, 20_000)
SIZES = st.integers(1, 600)
LIMITS = st.integers(2, 64)


@given(LENGTHS, SIZES, LIMITS)
def test_windows_stay_inside(length: int, size: int, limit: int):
    """Windows rise, keep to their size and number, start at the start and end at the end."""
    spans = split(length, size, limit)
    assert 1 <= len(spans) <= limit
    assert spans[0][0] == 0
    assert spans[-1][1] == length
    assert all(end - start == min(size, length) for start, end in spans)
    assert spans == sorted(set(spans))


@given(LENGTHS, SIZES)
def test_no_gap_without_limit(length: int, size: int):
    """With room for enough windows nothing is left out, and neighbours overlap by an eighth."""
    spans = split(length, size, 20_001)
    for (_, end), (start, _) in pairwise(spans):
        assert end - start >= size // 8


@given(LENGTHS, SIZES, LIMITS)
def test_even_distances(length: int, size: int, limit: int):
    """Distances between windows differ by one at most, so that a sample is spread evenly."""
    starts = [start for start, _ in split(length, size, limit)]
    steps = np.diff(starts)
    assert steps.size == 0 or steps.max() - steps.min() <= 1


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_combined_is_unit(count: int, seed: int):
    """The combined vector has unit length and leans towards the first window."""
    vectors = np.random.default_rng(seed).normal(size=(count, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    made = combine(vectors)
    assert made.dtype == np.float32
    assert np.linalg.norm(made) == pytest.approx(1, abs=1e-5)
    assert made @ vectors[0] > -1e-5


def test_opposite_windows():
    """Windows that cancel out leave the first."""
    vectors = np.array([[1, 0], [-1, 0]], np.float32)
    assert combine(vectors).tolist() == [1, 0]
