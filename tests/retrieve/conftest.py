"""Fixtures of the read path."""

import pytest
from shelves import Shelf


@pytest.fixture
def shelf():
    """Give an empty namespace."""
    return Shelf()
