"""The names that type checkers know are those of the enumerations."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import get_args

import pytest

from memento import Kind, Status, Tier, Trust, types
from memento.ledger.memories import TALLIED


@pytest.mark.parametrize(
    ("names", "values"),
    [
        (types.TierName, Tier),
        (types.KindName, Kind),
        (types.StatusName, Status),
        (types.TrustName, Trust),
        (types.Tallied, TALLIED),
    ],
    ids=["tier", "kind", "status", "trust", "by"],
)
def test_the_names_are_the_values(names, values):
    """None is missing, and none is too many."""
    assert sorted(get_args(names)) == sorted(map(str, values))


def test_mypy_reads_the_calls_with_misspellings():
    """The file is among those that `mypy` checks, and each wrong call in it has an ignore."""
    root = Path(__file__).parent.parent
    calls = Path(__file__).with_name("typed_calls.py")
    assert f'"{calls.relative_to(root).as_posix()}"' in (root / "pyproject.toml").read_text()
    lines = calls.read_text().splitlines()
    for function in ast.parse("\n".join(lines)).body:
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            wrong = function.name.startswith("wrong")
            for step in function.body[1:]:
                assert ("type: ignore[" in lines[step.lineno - 1]) == wrong
