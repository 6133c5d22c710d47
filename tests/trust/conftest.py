"""The harnesses are modules of this folder; what they return is defined beside their runner.

``MEMENTO_TRUST=full pytest tests/trust`` runs the full forms: hours, not seconds.
"""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

FULL = os.environ.pop("MEMENTO_TRUST", "") == "full"
"""Taken out of the environment: memento refuses settings it does not know."""


def pytest_collection_modifyitems(items):
    """Refuse the mark of a test that does more than call one harness of a module's list."""
    for item in items:
        if item.get_closest_marker("harness"):
            harness = item.callspec.params["harness"]
            assert harness in sys.modules[harness.__module__].HARNESSES, item.nodeid


@pytest.fixture
def full():
    """Whether the full form was asked for."""
    return FULL
