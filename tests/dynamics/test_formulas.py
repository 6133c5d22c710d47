"""Each formula of the dynamics against worked examples, and against what must hold of it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memento.dynamics import fold, formulas

ASSISTANT = {"a1": 0.15, "a2": 0.005, "mu2": 0.08}
FSRS = {"gain": 2.0, "flat": 0.17, "spacing": 0.8, "most": 3650.0}
DAYS = st.floats(0.0, 3650.0)


def steadier(stability, days):
    """Apply the default numbers."""
    return formulas.steadier(stability, days, **FSRS)


def judged(*valences, start=(4.0, 1.0)):
    """Judge several times with the default cap."""
    counts = start
    for valence in valences:
        counts = formulas.judge(counts, valence, cap=16.0)
    return counts


def need(ages, decay):
    """Return the exact need odds, which the leaky sums approximate."""
    return sum(age**-decay for age in ages)


@pytest.mark.parametrize(
    ("found", "value", "tolerance"),
    [
        (formulas.telling(0.0, 0.38), 0.0, 0.0),
        (formulas.telling(1.0, 0.38), 1.14, 5e-3),  # one use a day ago
        (formulas.telling(7**-0.5, 0.38), 0.66, 7e-3),  # a week
        (formulas.telling(30**-0.5, 0.38), 0.39, 5e-3),  # a month
        (formulas.telling(need([*map(float, range(1, 11))], 0.5), 0.38), 1.74, 5e-3),
        (formulas.retention(10.0, 10.0), 0.3678794412, 1e-9),
        (formulas.retention(30.0, 100.0), 0.7408182207, 1e-9),
        (steadier(10.0, 0.0), 10.0, 1e-12),
        (steadier(10.0, 10.0), 18.8991439758, 1e-9),
        (steadier(10.0, 30.0), 25.3963091001, 1e-9),
        (steadier(100.0, 10.0), 107.2314020231, 1e-9),
        (steadier(3649.0, 3650.0), 3650.0, 0.0),
        (fold.advance(1.0, 0.0, 1.0, **ASSISTANT)[0], 0.8607079764, 1e-9),
        (
            fold.advance(1.0, 0.0, 1.0, **ASSISTANT)[1],
            0.08 / 0.145 * (0.9950124792 - 0.8607079764),
            1e-9,
        ),
        (
            fold.advance(1.0, 0.0, 30.0, **ASSISTANT)[1],
            0.08 / 0.145 * (0.8607079764 - 0.0111089965),
            1e-9,
        ),
        (fold.advance(1.0, 0.0, 2.0, a1=0.1, a2=0.1, mu2=0.05)[1], 0.0818730753, 1e-9),
        (formulas.mean((4.0, 1.0)), 0.8, 1e-12),
        (formulas.mean(judged(-2.0)), 4 / 7, 1e-12),
        (formulas.mean(judged(1.0)), 5 / 6, 1e-12),
        (sum(judged(1.0, start=(15.0, 1.0))), 16.0, 1e-12),
        (formulas.mean(judged(1.0, start=(15.0, 1.0))), 16 / 17, 1e-12),
        (formulas.fade((8.0, 1.0), (4.0, 1.0), 90.0, 90.0)[0], 6.0, 1e-12),
        (formulas.log_odds((4.0, 1.0)), 1.3862943611, 1e-9),
        (fold.reward(0.0, 1.0, rate=0.2, share=1.0), 0.2, 1e-12),
        (fold.reward(0.2, -1.0, rate=0.2, share=0.5), 0.08, 1e-12),
        (fold.eligibility(1), 1.0, 0.0),
        (fold.eligibility(3), 0.5, 1e-12),
    ],
)
def test_worked_examples(found, value, tolerance):
    """Each has the value that was worked out by hand."""
    assert found == pytest.approx(value, abs=tolerance or 1e-300, rel=0)


@pytest.mark.parametrize(("decay", "worst"), [(0.3, 0.025), (0.4, 0.02), (0.5, 0.011), (0.7, 0.02)])
def test_thirteen_exponentials_are_a_power_law(decay, worst):
    """From an hour to ten years."""
    for at in range(200):
        age = math.exp(math.log(1 / 24) + at / 199 * math.log(3650 * 24))
        found = formulas.odds(formulas.leak(formulas.used(formulas.UNUSED, 1.0), age), decay)
        assert found == pytest.approx(age**-decay, rel=worst)


@given(st.lists(st.floats(1 / 24, 3650.0), min_size=1, max_size=40))
def test_leaky_sums_tell_what_the_exact_sum_tells(ages):
    """The log of the odds is right to 0.011 nats, in whatever order the uses came."""
    sums, last = formulas.UNUSED, max(ages)
    for age in sorted(ages, reverse=True):
        sums, last = formulas.used(formulas.leak(sums, last - age), 1.0), age
    found = formulas.odds(formulas.leak(sums, last), 0.5)
    assert math.log(found) == pytest.approx(math.log(need(ages, 0.5)), abs=0.011)


@given(DAYS, DAYS)
def test_the_chain_does_not_depend_on_the_number_of_steps(first, second):
    """Advancing twice is advancing once."""
    once = fold.advance(0.7, 0.2, first + second, **ASSISTANT)
    twice = fold.advance(*fold.advance(0.7, 0.2, first, **ASSISTANT), second, **ASSISTANT)
    assert twice == pytest.approx(once, abs=1e-12)


def test_the_chain_agrees_with_its_differential_equations():
    """Numeric integration over 30 days finds the closed form."""
    steps, short, long = 60_000, 1.0, 0.0
    for _ in range(steps):
        dt = 30 / steps
        short, long = short * (1 - 0.15 * dt), long + (0.08 * short - 0.005 * long) * dt
    assert (short, long) == pytest.approx(fold.advance(1.0, 0.0, 30.0, **ASSISTANT), abs=1e-3)


@given(st.floats(0.1, 3000.0), DAYS, DAYS)
def test_spacing(stability, one, other):
    """The longer the pause, the more is gained; at once nothing; never more than the most."""
    near, far = sorted((one, other))
    assert stability <= steadier(stability, near) <= steadier(stability, far) <= 3650.0
    assert steadier(stability, 0.0) == stability


def test_what_is_steady_gains_less():
    """In proportion."""
    assert steadier(5.0, 5.0) / 5.0 > steadier(50.0, 50.0) / 50.0


@given(st.lists(st.sampled_from([0.25, 1.0, -2.0, -4.0]), max_size=200))
def test_belief_is_bounded(valences):
    """The sum stays within the cap, either side above the least, the log odds within 4.2."""
    counts = judged(*valences)
    assert min(counts) >= formulas.LEAST
    assert sum(counts) <= 16.0 + formulas.LEAST
    assert abs(formulas.log_odds(counts)) < 4.2


def test_no_past_outweighs_every_future():
    """After a thousand confirmations six corrections bring the belief below one half."""
    counts = judged(*[1.0] * 1000)
    assert formulas.mean(judged(*[-2.0] * 5, start=counts)) > 0.5
    assert formulas.mean(judged(*[-2.0] * 6, start=counts)) < 0.5


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1)), max_size=50))
def test_worth_is_bounded(outcomes):
    """It never leaves [-1, 1]."""
    value = 0.0
    for outcome, share in outcomes:
        value = fold.reward(value, outcome, rate=0.2, share=share)
        assert -1 <= value <= 1


def test_steadier_is_the_recall_branch_of_fsrs():
    """The same numbers from the formula as FSRS-6 writes it."""
    w8, w9, w10, difficulty = 0.0, 0.17, 0.8, 9.0
    for stability, days in ((1.0, 1.0), (10.0, 30.0), (200.0, 15.0)):
        left = math.exp(-days / stability)
        grown = math.exp(w8) * (11 - difficulty) * stability**-w9 * (math.exp(w10 * (1 - left)) - 1)
        assert steadier(stability, days) == pytest.approx(stability * (1 + grown), rel=1e-14)
