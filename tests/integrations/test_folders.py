"""No folder of these tests can pass for a framework."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FOLDERS = [path.name for path in HERE.iterdir() if path.is_dir() and path.name != "__pycache__"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_an_absent_framework_is_absent(folder):
    """This folder is on the path, where any folder is a package: none is named like a framework."""
    assert folder.startswith("for_")
    spec = importlib.util.find_spec(folder.removeprefix("for_"))
    found = [] if spec is None else list(spec.submodule_search_locations or ())
    assert str(HERE) not in {str(Path(path).parent) for path in found}
