"""Calibration: bins, their error, the fit of a logistic, and the picture."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from reliability import Case, bins, calibration_error, fit, picture, show


def cases(file, chances, right, own=True):
    """Make cases of both kinds with one sign."""
    return [
        Case(file, kind, chance, good, own, {"cover": chance})
        for kind in ("hit", "answer")
        for chance, good in zip(chances, right, strict=True)
    ]


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


def test_what_is_shown_has_every_file_and_is_well_formed():
    """The tables name each file, and the picture is XML with a curve for each file and kind."""
    known = cases("locomo", [0.1, 0.9], [False, True])
    known += cases("locomo", [0.3], [False], own=False)
    known += cases("beam", [0.2, 0.8], [False, False], own=False)
    known += cases("beam", [0.7], [True])
    assert "locomo" in show(known)
    drawn = ET.fromstring(picture(known))  # noqa: S314 - made here
    assert len(drawn.findall("{*}polyline")) == 4
