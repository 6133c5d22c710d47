"""Calibration: bins, their error, the fit of a logistic, and the picture."""

from __future__ import annotations

import numpy as np
import pytest
from reliability import Case, bins, calibration_error, fit


def test_bins_hold_all_cases_once():
    """One lands in the last bin, and the counts add up."""
    held = bins([0.0, 0.05, 0.5, 0.95, 1.0], [False, False, True, True, True])
    assert held == [(0.025, 0.0, 2), (0.5, 1.0, 1), (0.975, 1.0, 2)]


def test_the_error_is_the_mean_distance():
    """A confidence that means what it says has none; always 1 and half right has one half."""
    assert calibration_error(bins([0.5, 0.5], [True, False])) == 0
    assert calibration_error(bins([1.0, 1.0], [True, False])) == 0.5


def test_a_fit_finds_the_logistic_the_cases_come_from():
    """Cases drawn from a logistic give its factors back."""
    rng = np.random.default_rng(1)
    signs = rng.uniform(0, 1, 20_000)
    right = rng.uniform(size=len(signs)) < 1 / (1 + np.exp(-(4 * signs - 2)))
    drawn = [
        Case("f", "hit", 0.5, bool(good), own=True, signs={"cover": sign})
        for sign, good in zip(signs.tolist(), right, strict=True)
    ]
    assert fit([drawn], ["cover"]) == pytest.approx([4, -2], abs=0.2)
