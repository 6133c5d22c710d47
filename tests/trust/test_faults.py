"""Faults of the machine, in the quick form: each promise holds, and its null control fails."""

from __future__ import annotations

import harness_feedback
import harness_gone
import harness_iofault
import harness_kill
import harness_ledger
import harness_powercut
import harness_sleep
import harness_undo
import harness_writers
import pytest

HARNESSES = (
    *harness_powercut.HARNESSES,
    *harness_iofault.HARNESSES,
    *harness_gone.HARNESSES,
    *harness_kill.HARNESSES,
    *harness_ledger.HARNESSES,
    *harness_undo.HARNESSES,
    *harness_sleep.HARNESSES,
    *harness_feedback.HARNESSES,
    *harness_writers.HARNESSES,
)


@pytest.mark.harness
@pytest.mark.parametrize("harness", HARNESSES, ids=lambda harness: harness.__name__)
def test_a_promise_holds_and_its_control_fails(harness, tmp_path, full):
    """As ``benchmarks/trust.py`` would run it, in this process."""
    result = harness(tmp_path, full=full, seed=1)
    if result.skipped and not result.cases:
        pytest.skip(result.skipped)
    assert result.verdict == "held", result.details
