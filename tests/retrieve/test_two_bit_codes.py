"""Codes of vectors: what is counted is what differs, and nobody else's vector has a part in it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memento.retrieve import codes

sizes = st.tuples(st.integers(1, 60), st.sampled_from([1, 7, 63, 64, 65, 384]), st.integers(0, 9))


def some(n, dim, seed):
    """Make vectors of unit length."""
    rows = np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def levels(vectors, ends):
    """Tell of each value in which third it is: 0, 1 or 2."""
    return (vectors > ends.low).astype(int) + (vectors > ends.high)


@given(sizes)
@settings(max_examples=60, deadline=None)
def test_codes_differ_by_as_many_bits_as_the_thirds_are_apart(size):
    """The sum over all dimensions, whatever their number."""
    vectors = some(*size)
    ends = codes.thirds(vectors)
    made = codes.encode(vectors, ends)
    assert made.shape == (codes.width(size[1]), size[0])
    apart = np.abs(levels(vectors, ends) - levels(vectors[:1], ends)).sum(axis=1)
    assert codes.differences(made, made[:, 0]).tolist() == apart.tolist()


@given(sizes, st.integers(0, 60))
@settings(max_examples=40, deadline=None)
def test_the_code_of_a_vector_depends_on_no_other(size, cut):
    """With the same thirds, a part of the rows has the same codes."""
    vectors = some(*size)
    ends = codes.thirds(vectors)
    whole = codes.encode(vectors, ends)
    part = codes.encode(vectors[cut:], ends)
    assert np.array_equal(whole[:, cut:], part)


@pytest.mark.parametrize("large", [codes.LARGE, 1], ids=["both bits", "first bit first"])
@pytest.mark.parametrize("chunk", [7, 32_768])
def test_candidates_are_the_allowed_rows_that_differ_least(monkeypatch, large, chunk):
    """No other row is one; if fewer pass than are wanted, all of them are."""
    monkeypatch.setattr(codes, "LARGE", large)
    monkeypatch.setattr(codes, "_CHUNK", chunk)
    vectors = some(500, 64, 3)
    made = codes.encode(vectors, codes.thirds(vectors))
    allowed = np.random.default_rng(1).random(500) < 0.4
    apart, seconds = codes.differences(made, made[:, 5]), codes.second_bits(made)
    assert (seconds is None) == (large > 500)
    for count in (1, 10, 100, int(allowed.sum()), 500):
        found = codes.candidates(made, made[:, 5], allowed, count, seconds)
        assert np.all(np.diff(found) > 0)
        assert allowed[found].all()
        assert len(found) >= min(count, allowed.sum())
        left = np.setdiff1d(np.flatnonzero(allowed), found)
        assert not len(left) or apart[left].min() > apart[found].max()


@pytest.mark.parametrize("wanted", [1, 50, 700])
@pytest.mark.parametrize("near", ["anywhere", "in the sample", "not in the sample"])
def test_a_sample_never_hides_a_row_that_differs_least(wanted, near):
    """Wherever the nearest rows are, and however few are allowed."""
    rng, n = np.random.default_rng(wanted), 20_000
    apart = rng.integers(300, 420, n).astype(np.uint16)
    sampled = np.arange(n) % codes._SAMPLED == 0
    close = {
        "anywhere": rng.random(n) < 0.02,
        "in the sample": sampled,
        "not in the sample": ~sampled,
    }
    apart[close[near]] = rng.integers(100, 310, np.count_nonzero(close[near]))
    for share in (1.0, 0.5, 0.01):
        allowed = rng.random(n) < share
        found = codes._least(apart, allowed, wanted)
        rest = np.setdiff1d(np.flatnonzero(allowed), found)
        assert allowed[found].all()
        assert np.all(np.diff(found) > 0)
        assert len(found) >= min(wanted, np.count_nonzero(allowed))
        assert not len(rest) or apart[rest].min() > apart[found].max()
        level = np.count_nonzero(apart[found] == apart[found].max())
        assert len(found) - level < wanted or len(found) <= wanted


def test_few_survivors_of_the_first_bit_are_judged_by_both(monkeypatch):
    """Of a large namespace: the second bit is compared for those alone."""
    monkeypatch.setattr(codes, "LARGE", 1)
    monkeypatch.setattr(codes, "SURVIVORS", 20)
    vectors = some(500, 384, 3)
    made = codes.encode(vectors, codes.thirds(vectors))
    seconds = codes.second_bits(made)
    found = codes.candidates(made, made[:, 5], np.ones(500, np.bool_), 3, seconds)
    assert 5 in found
    assert len(found) < 20


def test_a_namespace_of_equal_vectors_is_all_candidates():
    """No dimension has any spread: nothing is nearer than another."""
    vectors = np.repeat(some(1, 64, 0), 50, axis=0)
    made = codes.encode(vectors, codes.thirds(vectors))
    assert len(codes.candidates(made, made[:, 0], np.ones(50, np.bool_), 5)) == 50
