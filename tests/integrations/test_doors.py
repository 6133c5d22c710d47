"""The adapters use what any library user may use, and nothing else of memento."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "integrations"
MODULES = sorted(ROOT.glob("memento_*/*.py"))
INSIDE = {"engine", "ledger", "tiers", "retrieve", "correct", "lineage", "embedding", "doctor"}
"""Rooms of memento that are behind the manager's doors."""


def private_of_others(tree):
    """List the attributes with a leading underscore that belong to something else than self."""
    return [
        f"{node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and not (isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"})
    ]


def rooms(tree):
    """List the rooms of memento that are imported anywhere."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("memento.")}


MOST_LINES = 400
"""Longest module of an adapter; one that wants more lacks a verb of the core."""


@pytest.mark.parametrize("module", MODULES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_an_adapter_is_thin(module):
    """What a framework meets has a module of its own, and a short one."""
    assert len(module.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


def test_there_are_adapters():
    """The list is not empty by a wrong path."""
    packages = {module.parent.name for module in MODULES}
    assert packages >= {"memento_langchain", "memento_langgraph", "memento_crewai"}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_an_adapter_stays_outside(module):
    """It reads no private name, of the core or of anyone, and imports no room behind a door."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    assert private_of_others(tree) == []
    assert rooms(tree) & INSIDE == set()


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("manager._engine.ledger", ["1: manager._engine"]),
        ("self._manager.list()", []),
        ("self._manager._engine", ["1: self._manager._engine"]),
        ("x.__class__", []),
    ],
)
def test_a_private_name_is_seen(line, seen):
    """The check above can fail."""
    assert private_of_others(ast.parse(line)) == seen


def test_a_room_is_seen():
    """In every spelling of an import, late ones included."""
    text = "def f():\n    from memento.ledger import vectors\nimport memento.engine\nimport os"
    assert rooms(ast.parse(text)) == {"ledger", "engine"}
    assert rooms(ast.parse("from memento import correct, MemoryManager")) >= {"correct"}
