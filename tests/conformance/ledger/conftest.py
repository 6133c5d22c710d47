"""Every engine of the ledger, opened by ``open_ledger`` and used through the contract alone."""

from __future__ import annotations

import postgres
import pytest
from engine_bench import Bench

from memento.ledger.opening import open_ledger

ENGINES = ("lite", "pg")


@pytest.fixture(params=ENGINES)
def address(request, tmp_path, monkeypatch):
    """The address of a store that is not there yet, or is empty."""
    if request.param == "lite":
        yield str(tmp_path / "store")
        return
    monkeypatch.setenv("MEMENTO_CACHE", str(tmp_path / "cache"))
    address = postgres.server().address()
    yield address
    postgres.wipe(address)


@pytest.fixture
def opened(address):
    """Open the store as often as asked, as another process would; closed at the end."""
    ledgers = []

    def make():
        ledgers.append(open_ledger(address))
        if "://" in address and len(ledgers) == 1:
            postgres.run(address, postgres.WATCH)
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
