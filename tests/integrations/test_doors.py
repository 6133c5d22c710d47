"""The adapters use what any library user may use, and nothing else of memento."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import memento

ROOT = Path(__file__).parents[2] / "integrations"
MODULES = sorted(ROOT.glob("memento_*/*.py"))
PUBLIC = {
    "memento",  # the manager, the values, Filtering and check_filters
    "memento.aio",  # the manager awaited, and waiting without a thread
    "memento.types",
    "memento.errors",
    "memento.protocols",
    "memento.testing",
    "memento.check",  # accept or refuse one value
    "memento.status",  # what each status means
    "memento.base.home",
    "memento.base.lazy",  # names that are imported at their first use
    "memento.base.scopes",  # paths and namespaces
    "memento.embed",  # an embedder by name, held to its contract
    "memento.admit",  # Secrets and Redaction
    "memento.frameworks",  # recall and keep for the agents of a framework
    "memento.conversation",  # turns as memories: what keep does, for adapters
    "memento.prompt",  # memories as text for a prompt
    "memento.base.plain",  # names and words in one form
    "memento.text.sentences",  # pure rules about text
    "memento.messages",  # who speaks in a message, and what is said
}
"""Modules of memento that any library user may import; the others can change at any time."""
SHARED = {"memento_langchain.namespaces"}
"""Public modules of one adapter that another may import. Every other module is private."""


def private_of_others(tree):
    """List the attributes with a leading underscore that belong to something else than self."""
    return [
        f"{node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and node.attr != "_replace"  # a named tuple's public method
        and not (isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"})
    ]


@cache
def modules_of_memento():
    """List the modules and packages of memento by their full names."""
    package = Path(memento.__file__).parent
    paths = [path.relative_to(package.parent).with_suffix("") for path in package.rglob("*.py")]
    return {".".join(path.parts).removesuffix(".__init__") for path in paths}


def taken_from(tree):
    """List the modules of memento that are imported anywhere."""
    known, found = modules_of_memento(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            full = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found |= {full[name] if full[name] in known else node.module for name in full}
    return {name for name in found if name.split(".")[0] == "memento"}


def taken_from_other_adapters(tree, package):
    """List the modules of other adapters that a module of ``package`` imports anywhere."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    adapters = {module.parent.name for module in MODULES} - {package}
    return {name for name in found if name.split(".")[0] in adapters}


MOST_LINES = 500
"""Longest module of an adapter; one that wants more lacks a verb of the core."""


@pytest.mark.parametrize("module", MODULES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_an_adapter_is_thin(module):
    """Each part that a framework uses has a module of its own, and a short one."""
    assert len(module.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


FOR_PEOPLE = {"lock", "unlock", "pin", "unpin", "approve", "quarantine"}
"""Verbs of the manager that no model may have as a tool."""


def of_people(tree):
    """List the verbs for people that a module uses of anything."""
    return sorted(
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in FOR_PEOPLE
    )


@pytest.mark.parametrize("module", MODULES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_adapter_locks_or_approves(module):
    """So no model can: a lock is the user's word, and so is an approval."""
    assert of_people(ast.parse(module.read_text(encoding="utf-8"))) == []
    assert of_people(ast.parse("memory.lock(one)\nmemory.quarantine.approve(two)")) == [
        "approve",
        "lock",
        "quarantine",
    ]


def test_there_are_adapters():
    """The list is not empty by a wrong path."""
    packages = {module.parent.name for module in MODULES}
    assert packages >= {"memento_langchain", "memento_langgraph", "memento_crewai"}


def test_the_map_of_memento_names_each_adapter():
    """A reader of the map finds the packages that are outside of it."""
    packages = {module.parent.name for module in MODULES}
    assert set(re.findall(r"memento_\w+", memento.__doc__)) == packages


@pytest.mark.parametrize("module", MODULES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_an_adapter_stays_outside(module):
    """It reads no private name of any package, and imports only public modules of memento."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    assert private_of_others(tree) == []
    assert taken_from(tree) - PUBLIC == set()
    assert taken_from_other_adapters(tree, module.parent.name) - SHARED == set()


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


@pytest.mark.parametrize(
    ("line", "inside"),
    [
        ("def f():\n    from memento.ledger import vectors", {"memento.ledger.vectors"}),
        ("import memento.engine\nimport os", {"memento.engine"}),
        ("from memento import engine, MemoryManager", {"memento.engine"}),
        ("from memento.prompt.rendering import render", {"memento.prompt.rendering"}),
        ("from memento.prompt import render\nfrom memento import Filtering", set()),
    ],
)
def test_an_inner_module_is_seen(line, inside):
    """Each kind of import of a module that is not public is seen, late ones included."""
    assert taken_from(ast.parse(line)) - PUBLIC == inside


@pytest.mark.parametrize(
    ("line", "inside"),
    [
        ("from memento_langchain._tools import memory_tools", {"memento_langchain._tools"}),
        ("def f():\n    import memento_crewai._storage", {"memento_crewai._storage"}),
        ("from memento_langchain.namespaces import Views", set()),
        ("from memento_langgraph._store import MementoStore", set()),
    ],
)
def test_a_private_module_of_another_adapter_is_seen(line, inside):
    """An adapter may import its own private modules, but not those of another adapter."""
    assert taken_from_other_adapters(ast.parse(line), "memento_langgraph") - SHARED == inside


def test_every_public_module_exists():
    """The lists name no module that is gone."""
    assert modules_of_memento() >= PUBLIC
    assert {f"{module.parent.name}.{module.stem}" for module in MODULES} >= SHARED


@pytest.mark.parametrize(
    "package", sorted({module.parent for module in MODULES}), ids=lambda path: path.name
)
def test_a_package_shows_one_front(package):
    """Its modules are private, or shared with another adapter; names come on first use."""
    modules = {path.stem for path in package.glob("*.py")} - {"__init__"}
    shared = {name.partition(".")[2] for name in SHARED if name.startswith(f"{package.name}.")}
    assert {name for name in modules if not name.startswith("_")} == shared
    front = (package / "__init__.py").read_text(encoding="utf-8")
    assert re.search(r"^(def __getattr__\(|__getattr__ = names_of\()", front, re.MULTILINE)
