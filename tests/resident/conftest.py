"""A folder for sockets of the test's own; the processes in it are ended with the test."""

import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

import pytest

from memento.resident.client import Unreachable, call, place


def wait_for(condition, seconds=20.0):
    """Wait until something is so; tell whether it came to be."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def alive(pid):
    """Tell whether a process runs; one that has ended may still be listed."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture(autouse=True)
def sockets(monkeypatch):
    """Return the folder; its path is short enough for any system."""
    folder = tempfile.mkdtemp(prefix="memento-sockets-")
    monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
    yield Path(folder) / "memento"
    shutil.rmtree(folder)


@pytest.fixture
def root(tmp_path):
    """Return the folder of a store; who serves it is stopped."""
    folder = tmp_path / "store"
    yield folder
    while (pid := resident_of(folder)) is not None:
        os.kill(pid, signal.SIGTERM)
        assert wait_for(lambda ended=pid: not alive(ended))


def resident_of(root):
    """Return the process that serves a store; None if nobody does."""
    try:
        return call(root, {"call": "status"}, seconds=10)["pid"]
    except Unreachable:
        assert not Path(place(root)).exists() or not wait_for(lambda: False, 0.2)
        return None
