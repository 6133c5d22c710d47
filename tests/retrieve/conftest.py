"""Fixtures of the read path."""

from contextlib import contextmanager

import pytest
from shelves import Shelf

from memento.base import layout
from memento.ledger.lite.gate import Gate


@pytest.fixture
def shelf():
    """Give an empty namespace."""
    return Shelf()


@pytest.fixture
def elsewhere_in_a_transaction():
    """Give what has the turn to write a store, as a process in a transaction has."""

    @contextmanager
    def taken(root):
        gate = Gate(root / layout.LEDGER, 1.0)
        gate.enter()
        try:
            yield
        finally:
            gate.leave()
            gate.close()

    return taken
