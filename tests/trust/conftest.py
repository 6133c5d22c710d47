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


@pytest.fixture
def full():
    """Whether the full form was asked for."""
    return FULL
