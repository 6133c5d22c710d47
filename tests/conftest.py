"""Fixtures every test may use: a clock that stands still, and stores that are closed at the end."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import postgres
import pytest
from hypothesis import HealthCheck, settings

from memento import MemoryManager
from memento.errors import NotHere
from memento.ledger.opening import open_ledger
from memento.testing import ManualClock

os.environ["XDG_CONFIG_HOME"] = os.devnull  # no test reads the settings of whoever runs it

REMOTE = bool(os.environ.get("TEST_REMOTE"))
"""Whether the stores of tests are reached through a service; see ``tests/serve``."""
_NO_ENGINE = "'Link' object has no attribute 'engine'"

settings.register_profile(
    "search",  # other examples in each run: to look for faults
    deadline=None,  # machines are shared; no test waits on the clock
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("memento", settings.get_profile("search"), derandomize=True)
settings.load_profile("memento")


def pytest_report_header():
    """Say which server the tests of PostgreSQL use."""
    return f"PostgreSQL: {postgres.missing() or postgres.binaries()}"


class OwnClock:
    """A clock of one manager, which shows the time of another clock."""

    def __init__(self, clock):
        self._clock = clock

    def __call__(self):
        """Tell the time."""
        return self._clock()

    def __getattr__(self, name):
        """Do what the other clock can, as advance."""
        return getattr(self._clock, name)


@pytest.fixture
def clock():
    """Stands at New Year 2025 until it is advanced."""
    return ManualClock()


@pytest.fixture
def address(tmp_path, monkeypatch):
    """The address of an empty store on a PostgreSQL server."""
    monkeypatch.setenv("MEMENTO_CACHE", str(tmp_path / "cache"))
    found = postgres.server().address()
    open_ledger(found).close()
    yield found
    postgres.wipe(found)


@pytest.fixture
def open_memory(tmp_path, clock):
    """Open a store in the test's folder, without an embedder unless told; closed at the end.

    Each has a clock of its own, and so an engine of its own: beside another one of the same folder
    it is what another process would be.
    """
    opened = ExitStack()

    def make(root=None, **options):
        options = {"embedder": None, "clock": clock} | options
        if options["clock"] is not None:
            options["clock"] = OwnClock(options["clock"])
        memory = opened.enter_context(MemoryManager(root or tmp_path / "store", **options))
        return _through_a_service(memory, opened) if REMOTE else memory

    with opened:
        yield make


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    """Skip a test through a service that needs what only the store's own process has."""
    try:
        return (yield)
    except (NotHere, AttributeError) as error:
        if REMOTE and (isinstance(error, NotHere) or str(error).endswith(_NO_ENGINE)):
            pytest.skip(f"through a service: {error}")
        raise


def _through_a_service(memory, opened):
    """Return a client of a service that has the memory open."""
    from memento.remote.client import connect  # noqa: PLC0415 - few tests need a service
    from tests.served import served  # noqa: PLC0415 - as above

    url, _ = opened.enter_context(served(memory))
    return opened.enter_context(connect(url, namespace=memory.store.namespace))


@pytest.fixture
def memory(open_memory):
    """One open store without an embedder."""
    return open_memory()


@pytest.fixture
def sockets(monkeypatch):
    """Return a folder for the sockets of resident processes; those in it end with the test."""
    above = tempfile.mkdtemp(prefix="memento-sockets-")  # short enough for any system
    monkeypatch.setenv("XDG_RUNTIME_DIR", above)
    folder = Path(above) / "memento"
    yield folder
    for path in folder.glob("*.sock"):
        if (pid := _listening(path)) not in {None, os.getpid()}:
            os.kill(pid, signal.SIGTERM)
            end = time.monotonic() + 30
            while path.exists() and time.monotonic() < end:
                time.sleep(0.01)
            assert not path.exists()
    shutil.rmtree(above)


def _listening(path):
    """Return the process that listens at a socket; None if it was killed."""
    with socket.socket(socket.AF_UNIX) as opened:
        try:
            opened.connect(str(path))
        except ConnectionRefusedError:
            return None
        found = opened.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int.from_bytes(found[:4], sys.byteorder)
