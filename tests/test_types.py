"""The names that type checkers know are those of the enumerations."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from memento import AsyncMemoryManager, Kind, MemoryManager, Status, Tier, Trust, aio, types
from memento.ledger.memories import TALLIED
from memento.views import Part

ROOT = Path(__file__).parent.parent
CALLS = Path(__file__).with_name("typed_calls.py")


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
    assert f'"{CALLS.relative_to(ROOT).as_posix()}"' in (ROOT / "pyproject.toml").read_text()
    lines = CALLS.read_text().splitlines()
    for function in ast.parse("\n".join(lines)).body:
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            wrong = function.name.startswith("wrong")
            for step in function.body[1:]:
                assert ("type: ignore[" in lines[step.lineno - 1]) == wrong


def public(value, at="memory"):
    """Yield the public names of a manager, those of its parts below them."""
    for name in dir(type(value)):
        if not name.startswith("_"):
            part = getattr(value, name)
            inside = isinstance(part, Part | aio.AsyncPart)
            yield from public(part, f"{at}.{name}") if inside else [f"{at}.{name}"]


def named(function):
    """Return the dotted names in a function of the typed program."""
    body = next(
        one for one in ast.parse(CALLS.read_text()).body if getattr(one, "name", "") == function
    )
    return {ast.unparse(one) for one in ast.walk(body) if isinstance(one, ast.Attribute)}


@pytest.mark.parametrize(
    ("manager", "function"),
    [(MemoryManager, "every_name"), (AsyncMemoryManager, "every_async_name")],
    ids=["plain", "async"],
)
def test_the_typed_program_names_all_that_is_public(manager, function, tmp_path):
    """Of the manager and each of its parts, so that a checker reads every signature."""
    memory = manager(tmp_path, embedder=None)
    closing = memory if isinstance(memory, MemoryManager) else memory._sync
    with closing:
        assert set(public(memory)) <= named(function)


def test_each_package_of_the_wheel_says_that_it_is_typed():
    """Without ``py.typed`` a checker takes everything of a package for ``Any``."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    packages = wheel["targets"]["wheel"]["packages"]
    assert len(packages) > 1
    assert all((ROOT / one / "py.typed").is_file() for one in packages)
