"""Periods of ownership are read and compared; `benchmarks/trust.py` runs the processes."""

from __future__ import annotations

import pytest
from harness_owners import Round, Tally, periods


def test_periods_of_ownership_are_read_in_order():
    """Each opening ends with the leaving after it; the last one, with the process."""
    lines = ["own 1.0", "m7", "left 2.0", "settled", "own 3.0"]
    assert periods(lines, 9.0) == [(1.0, 2.0), (3.0, 9.0)]
    assert periods(["m1", "settled"]) == []


@pytest.mark.parametrize(
    ("others", "shared"),
    [([(2.0, 3.0)], 0), ([(1.5, 3.0)], 1), ([(0.0, 1.0), (2.0, 9.0)], 0), ([(1.1, 1.2)], 1)],
)
def test_only_overlapping_periods_are_shared(tmp_path, others, shared):
    """One may begin where another ended, and no earlier."""
    tally = Tally()
    Round(tmp_path / "r", tally, [])._count_shared([[(1.0, 2.0)], others])
    assert (tally.shared, tally.failures) == (shared, shared)
