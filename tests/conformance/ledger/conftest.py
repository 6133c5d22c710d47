"""Every engine of the ledger, opened by ``open_ledger`` and used through the contract alone."""

from __future__ import annotations

import postgres
import pytest
from engine_bench import Bench

from memento.ledger.opening import open_ledger

ENGINES = ("lite", "pg")


@pytest.fixture(params=ENGINES)
def address(request, tmp_path):
    """The address of a store that is not there yet, or is empty."""
    if request.param == "lite":
        return str(tmp_path / "store")
    return request.getfixturevalue("address")


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
def files(address, ledger):
    """Read all bytes of the files that hold the store."""
    if "://" not in address:
        return lambda: b"".join(p.read_bytes() for p in ledger.root.iterdir() if p.is_file())

    def read():
        query = (
            "SELECT pg_relation_filepath(one) FROM pg_class,"
            " unnest(ARRAY[pg_class.oid, nullif(reltoastrelid, 0)]) AS one"
            " WHERE relnamespace = 'memento'::regnamespace AND relkind IN ('r', 'i')"
            " AND one IS NOT NULL"
        )
        postgres.run(address, "CHECKPOINT")
        found = ledger.read(lambda s: s.execute(query).fetchall())
        data = postgres.server().data
        return b"".join((data / path).read_bytes() for (path,) in found)

    return read


@pytest.fixture
def bench(ledger):
    """An empty namespace of it."""
    return Bench(ledger)
