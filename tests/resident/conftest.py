"""A store whose resident process ends with the test."""

import time
from pathlib import Path

import pytest

from memento.resident.client import call


def wait_for(condition, seconds=20.0):
    """Wait until something is so; return what it said, which may be otherwise a moment later."""
    end = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    return found


def alive(pid):
    """Tell whether a process runs; one that has ended may still be listed."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def root(tmp_path, sockets):
    """Return the folder of a store; who serves it ends with the test."""
    assert not sockets.exists()
    return tmp_path / "store"


def resident_of(root):
    """Return the process that serves a store."""
    return call(root, {"call": "status"}, seconds=10)["pid"]
