"""A program that needs one type, or one verb, does not load all of memento."""

import subprocess
import sys

import pytest

import memento
from memento.base import plain as plain_module
from memento.base.lazy import later

ROOMS = ["observe.guards", "sleep.run", "claims.claim_reader"]
"""Parts that only their own verbs need."""


def loaded(program):
    """Run a program in a process of its own; return the modules that it loaded."""
    said = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys; print(*sys.modules)"],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return set(said.stdout.split())


def test_the_bare_import_loads_no_store():
    """Types, errors and settings cost what they are, and the version nothing."""
    modules = loaded("import memento; memento.__version__")
    assert {name for name in modules if name.startswith("memento")} == {"memento"}
    modules = loaded("from memento import Kind; import memento; memento.errors.NotFound")
    assert "memento.types" in modules
    assert "memento.manager" not in modules


def test_a_manager_loads_no_parts_of_single_verbs():
    """They are loaded when they are needed first, most of them by the background thread."""
    modules = loaded("from memento import MemoryManager")
    assert "memento.manager" in modules
    assert not {f"memento.{name}" for name in ROOMS} & modules


@pytest.mark.parametrize("name", memento.__all__)
def test_every_public_name_is_there(name):
    """Each says where it comes from, and stays the same."""
    assert getattr(memento, name) is getattr(memento, name)
    assert name in dir(memento)


def test_a_name_that_is_not_there_is_an_attribute_error():
    """As for any module."""
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = memento.Nothing


def test_modules_that_programs_name_are_there_after_the_bare_import():
    """``import memento; memento.errors.NotFound`` is common."""
    program = "import memento; print(memento.errors.NotFound, memento.types.Kind, memento.testing)"
    assert "memento.testing" in loaded(program)


def test_what_stands_for_a_module_is_like_it(monkeypatch):
    """A test may replace a name in it, and the name is there again afterwards."""
    stands = later("memento.base.plain")
    assert vars(stands) is vars(plain_module)
    assert "plain" in dir(stands)
    with monkeypatch.context() as patched:
        patched.setattr(stands, "plain", len)
        assert plain_module.plain is len
    assert plain_module.plain("x") == "x"
    stands.new = 1
    del stands.new
    assert not hasattr(plain_module, "new")
