"""Every engine of the ledger, opened by ``open_ledger`` and used through the contract alone."""

from __future__ import annotations

from itertools import count

import postgres
import pytest
from engine_bench import Bench

from memento.ledger.opening import open_ledger

_numbers = count(1)


def on_server(folder):
    """Return the address of an empty schema of the server of the tests."""
    return postgres.server().address(f"store{next(_numbers)}")


ENGINES = {"lite": lambda folder: str(folder / "store"), "pg": on_server}
"""Engine to what makes the address of a new store of it in a folder of the test."""


@pytest.fixture(params=ENGINES)
def address(request, tmp_path, monkeypatch):
    """The address of a store that is not there yet."""
    monkeypatch.setenv("MEMENTO_CACHE", str(tmp_path / "cache"))
    return ENGINES[request.param](tmp_path)


@pytest.fixture
def opened(address):
    """Open the store as often as asked, as another process would; closed at the end."""
    ledgers = []

    def make():
        ledgers.append(open_ledger(address))
        return ledgers[-1]

    yield make
    for ledger in ledgers:
        ledger.close()


@pytest.fixture
def ledger(opened):
    """One open ledger."""
    return opened()


@pytest.fixture
def bench(ledger):
    """An empty namespace of it."""
    return Bench(ledger)
