"""Nothing leaves the machine, and nobody else on it can read what is kept."""

from __future__ import annotations

import harness_private
import pytest


@pytest.mark.parametrize("harness", harness_private.HARNESSES, ids=lambda one: one.__name__)
def test_the_promise_holds_and_its_control_fails(harness, tmp_path):
    """No socket in a full local run, one in the control; no file that others can read."""
    result = harness(tmp_path, full=False, seed=1)
    assert result.verdict == "held", result


def test_without_strace_a_hook_counts(tmp_path, monkeypatch):
    """Where strace is missing Python's own sockets are counted, and the control still fails."""
    monkeypatch.setattr(harness_private.shutil, "which", lambda _name: None)
    called, how = harness_private.sockets(tmp_path / "control", "hash", more=("--call-home",))
    assert how == "a hook in Python"
    assert len(called) == 1  # the call home, and nothing else


def test_a_mode_that_others_can_use_is_noticed():
    """The measure itself: any bit for group or others counts."""
    modes = {"a": "100600", "b": "40700", "c": "100640", "d": "40701"}
    assert harness_private.readable(modes) == ["c 100640", "d 40701"]
