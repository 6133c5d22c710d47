"""An erased turn does not come back with its conversation."""

from __future__ import annotations

import harness_replays
import pytest


@pytest.mark.harness
@pytest.mark.parametrize("harness", harness_replays.HARNESSES, ids=lambda one: one.__name__)
def test_the_promise_holds_and_its_control_fails(harness, tmp_path):
    """Nothing comes back, and something does where no note is made."""
    result = harness(tmp_path, full=False, seed=1)
    assert result.verdict == "held", result
