"""A writer over a file with one empty table, for tests of writing without a whole store."""

import pytest

from memento.ledger.lite import sqlite
from memento.ledger.lite.gate import Gate
from memento.ledger.lite.presence import Presence
from memento.ledger.lite.writer import Writer


@pytest.fixture
def connection(tmp_path):
    """A writing connection on a file with one empty table."""
    path = tmp_path / "ledger.db"
    sqlite.create_private(path)
    opened = sqlite.connect(path, busy_seconds=0.05, writable=True)
    opened.execute("CREATE TABLE said (word TEXT PRIMARY KEY)")
    yield opened
    opened.close()


@pytest.fixture
def writer(tmp_path, connection):
    """A writer over that connection."""
    path = tmp_path / "ledger.db"
    made = Writer(path, connection, Gate(path, 0.05), Presence(path))
    yield made
    made.close()
