"""Several processes serve one store: any of them may die or be replaced, and no answer is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from chroma_host import free_port

from memento.errors import MementoError
from memento.remote.client import connect


@pytest.fixture(params=["folder", "database"])
def root(request, tmp_path, monkeypatch):
    """The address of a new store."""
    monkeypatch.setenv("MEMENTO_CACHE", str(tmp_path / "cache"))
    if request.param == "folder":
        return str(tmp_path / "store")
    return request.getfixturevalue("address")


def memento(*args):
    """Run a command and return what it says."""
    ended = subprocess.run(
        [sys.executable, "-m", "memento", *args], capture_output=True, text=True, check=True
    )
    return ended.stdout.strip()


class Workers:
    """``memento serve --workers 2`` of a store."""

    def __init__(self, root):
        self.root, self.port = root, free_port()
        self.token = memento("serve", "--add-token", "test", "--namespace", "*", "--root", root)
        args = ["serve", "--workers", "2", "--rate", "0", "--embedder", "none", "--root", root]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "memento", *args, "--listen", f"127.0.0.1:{self.port}"],
            stderr=subprocess.DEVNULL,
        )
        self.ready()

    def ready(self):
        """Wait until somebody answers."""
        ends = time.monotonic() + 60
        while time.monotonic() < ends:
            with suppress(httpx.HTTPError):
                if httpx.get(f"http://127.0.0.1:{self.port}/readyz", timeout=5).is_success:
                    return
            time.sleep(0.05)
        raise AssertionError("nobody serves")

    def pids(self):
        """Return the processes of the workers."""
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        children = Path(path).read_text(encoding="ascii").split()
        return [int(pid) for pid in children if b"spawn_main" in _command(pid)]

    def memory(self):
        """Connect to it."""
        return connect(f"http://127.0.0.1:{self.port}", token=self.token)

    def end(self):
        """Ask it to end, and return its status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)


def _command(pid):
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


@pytest.fixture
def workers(root):
    """Two workers."""
    made = Workers(root)
    yield made
    if made.process.poll() is None:
        made.end()


def writing(workers, stop, acknowledged, failed):
    """Add one memory after the other; a call that failed is repeated with its id."""
    at = 0
    while not stop.is_set():
        name = f"w{threading.get_ident()}-{at}"
        try:
            with workers.memory() as memory:
                memory.add(f"note {name}", id=name)
        except MementoError:
            failed.append(name)
            time.sleep(0.05)
            continue
        acknowledged.append(name)
        at += 1


def under_load(workers, act):
    """Act while two threads write; returns what was acknowledged, and which calls failed."""
    stop, acknowledged, failed = threading.Event(), [], []
    threads = [
        threading.Thread(target=writing, args=(workers, stop, acknowledged, failed))
        for _ in range(2)
    ]
    for one in threads:
        one.start()
    try:
        _until(lambda: len(acknowledged) >= 5)
        act()
        before = len(acknowledged)
        _until(lambda: len(acknowledged) >= before + 5)
    finally:
        stop.set()
        for one in threads:
            one.join()
    return acknowledged, failed


def _until(true, seconds=60):
    ends = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < ends, "it did not come to pass"
        time.sleep(0.02)


def stored(workers):
    """Return the ids of all memories."""
    with workers.memory() as memory:
        return {one.id for one in memory.list(limit=10_000)}


def test_a_worker_that_is_killed_is_replaced(workers):
    """What was acknowledged is there, and another process takes the place of the dead one."""
    before = workers.pids()

    def kill():
        os.kill(before[0], signal.SIGKILL)
        _until(lambda: len(workers.pids()) == 2 and before[0] not in workers.pids())

    acknowledged, _ = under_load(workers, kill)
    assert stored(workers).issuperset(acknowledged)
    assert workers.end() == 0


def test_workers_are_replaced_one_by_one(workers):
    """SIGHUP replaces both, and no call fails meanwhile."""
    before = set(workers.pids())

    def replace():
        workers.process.send_signal(signal.SIGHUP)
        _until(lambda: len(workers.pids()) == 2 and not before & set(workers.pids()))

    acknowledged, failed = under_load(workers, replace)
    assert failed == []
    assert stored(workers).issuperset(acknowledged)


def test_a_token_is_refused_by_all_once_it_is_revoked(workers):
    """Both workers know of it within seconds."""
    assert "test" in memento("serve", "--list-tokens", "--root", workers.root)
    memento("serve", "--revoke-token", "test", "--root", workers.root)
    time.sleep(1.5)  # a database is asked once a second
    for _ in range(10):
        with pytest.raises(MementoError, match="token"), workers.memory() as memory:
            memory.list()
