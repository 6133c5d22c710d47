"""The example and the doctests of memento_langchain."""

from __future__ import annotations

import ast
import doctest
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("langchain", reason="pip install 'agent-memento[langchain]'")

from memento_langchain import _turns

EXAMPLE = Path(__file__).parents[3] / "examples" / "langchain_agent.py"


def test_the_example_prints_what_it_says(tmp_path):
    """Run as a user would run it, its output is what its docstring promises."""
    promised = ast.get_docstring(ast.parse(EXAMPLE.read_text(encoding="utf-8")))
    ran = subprocess.run(
        [sys.executable, EXAMPLE], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout == textwrap.dedent(promised.split("Prints:\n\n")[1]) + "\n"
    assert list(tmp_path.iterdir()) == []


def test_doctests():
    """The examples in the docstrings are true."""
    assert doctest.testmod(_turns).failed == 0
