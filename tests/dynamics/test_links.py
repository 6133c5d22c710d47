"""Links between memories: bounded, in proportion, and independent of how often they are scaled."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.dynamics.association import (
    LEAST,
    MOST,
    Link,
    associate,
    reach,
    scaled,
    spread,
    used,
)

DAY = 86_400_000_000
WEIGHTS = st.floats(0.0, 1.0)


@pytest.mark.parametrize(
    ("got", "wanted"),
    [
        (spread([(0.5, 0.8, 1), (0.5, 0.4, 4)]), 0.4 + 0.2 * (2 - math.log(4)) / 2),
        (spread([(1.0, 1.0, 8)]), 0.0),
        (associate(0.0, True, 0.15), 0.15),
        (associate(0.385875, False, 0.15), 0.32799375),
    ],
)
def test_worked_examples(got, wanted):
    """Those of the specification."""
    assert got == pytest.approx(wanted, abs=1e-12)


@given(WEIGHTS, st.lists(st.booleans(), max_size=200), WEIGHTS)
def test_a_weight_stays_within_its_bounds(weight, uses, rate):
    """Whatever happens, in [0, 1]."""
    for together in uses:
        weight = associate(weight, together, rate)
        assert 0 <= weight <= 1


def test_a_link_tends_to_the_share_of_uses_together():
    """Used together every second time, it comes to one half."""
    weight = 0.0
    for n in range(400):
        weight = associate(weight, n % 2 == 0, 0.02)
    assert weight == pytest.approx(0.5, abs=0.01)


@given(st.dictionaries(st.integers(1, 99), st.floats(LEAST, 1), max_size=30), st.floats(0.1, 4))
def test_scaling_is_once_and_keeps_the_proportions(weights, budget):
    """Twice is once, the sum is within the budget, and no order changes."""
    links = {other: Link(weight, 1, 0) for other, weight in weights.items()}
    once = scaled(links, budget)
    assert math.fsum(one.weight for one in once.values()) <= budget * (1 + 1e-9)
    again = scaled(once, budget)
    assert again.keys() == once.keys()
    for other, link in again.items():
        assert link.weight == pytest.approx(once[other].weight, rel=1e-9)
    shares = {once[other].weight / links[other].weight for other in once}
    assert not shares or max(shares) == pytest.approx(min(shares))


def test_the_weakest_link_goes():
    """At most 16 leave a memory, and what is too weak is dropped."""
    links = {other: Link(0.2 + other / 100, 1, 0) for other in range(MOST)}
    after = used(links, [77], 1, 0.5, daily=False)
    assert len(after) == MOST
    assert 77 in after
    assert 0 not in after
    alone = used({1: Link(LEAST, 1, 0), 2: Link(0.9, 9, 0)}, [], 1, 0.15, daily=False)
    assert alone.keys() == {2}


def test_who_leads_to_many_leads_nowhere():
    """The fan effect: each further link makes all of them tell less."""
    told = [reach(fan) for fan in range(1, 9)]
    assert told == sorted(told, reverse=True)
    assert told[-1] == 0.0
