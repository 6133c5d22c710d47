"""The measures of the quality benchmark, against values worked out by hand."""

import math

import metrics
import pytest
from hypothesis import given
from hypothesis import strategies as st

RANKED = ["a", "b", "c", "d", "e", "f"]


@pytest.mark.parametrize(
    ("k", "found", "share", "whole"), [(1, 0, 0, 0), (2, 1, 0.5, 0), (3, 1, 0.5, 0), (5, 1, 1, 1)]
)
def test_any_frac_all(k, found, share, whole):
    """With gold at ranks 2 and 5, each measure turns at its rank."""
    gold = {"b", "e"}
    assert metrics.any_at(RANKED, gold, k) == found
    assert metrics.frac_at(RANKED, gold, k) == share
    assert metrics.all_at(RANKED, gold, k) == whole


def test_gold_that_was_not_found_counts():
    """A gold id outside the ranking lowers the share and keeps the whole from being found."""
    assert metrics.frac_at(RANKED, {"a", "z"}, 6) == 0.5
    assert metrics.all_at(RANKED, {"a", "z"}, 6) == 0


def test_ndcg_by_hand():
    """Gold at ranks 2 and 5: (1/log2 3 + 1/log2 6) over (1 + 1/log2 3)."""
    gain, ideal = 1 / math.log2(3) + 1 / math.log2(6), 1 + 1 / math.log2(3)
    assert metrics.ndcg_at(RANKED, {"b", "e"}, 10) == pytest.approx(gain / ideal)
    assert metrics.ndcg_at(RANKED, {"b", "e"}, 10) == pytest.approx(0.6240505)


@pytest.mark.parametrize(("gold", "expected"), [({"a"}, 1), ({"c", "f"}, 1 / 3), ({"z"}, 0)])
def test_reciprocal_rank(gold, expected):
    """One over the rank of the first gold id; 0 without one."""
    assert metrics.reciprocal_rank(RANKED, gold) == expected


@given(st.permutations(RANKED), st.sets(st.sampled_from("abcdefxyz"), min_size=1))
def test_measures_stay_in_bounds(ranked, gold):
    """Every measure is in [0, 1], and finding all includes finding some."""
    values = metrics.score(ranked, gold, 5)
    assert all(0 <= value <= 1 for value in values.values())
    assert values["all@5"] <= values["frac@5"] <= values["any@5"]
    assert values["any@1"] <= values["MRR"] <= 1


def test_interval_of_equal_values_is_a_point():
    """Where nothing varies, nothing is uncertain."""
    assert metrics.interval([1.0] * 30) == (1.0, 1.0)


def test_interval_is_that_of_the_binomial():
    """For 50 of 100 the interval is near the textbook's 40.2 to 59.8, and always the same."""
    low, high = metrics.interval([0.0, 1.0] * 50)
    assert (low, high) == pytest.approx((0.402, 0.598), abs=0.02)
    assert (low, high) == metrics.interval([0.0, 1.0] * 50)
