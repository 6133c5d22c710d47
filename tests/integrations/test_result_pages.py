"""The examples of the adapters print what they say, and those in their docstrings are true."""

from __future__ import annotations

import ast
import doctest
import importlib
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


NEEDS = {
    "agent_framework_agent": ("agent_framework", "agent-framework"),
    "crewai_crew": ("crewai", "crewai"),
    "google_adk_agent": ("google.adk", "google-adk"),
    "haystack_agent": ("haystack", "haystack"),
    "langchain_agent": ("langchain", "langchain"),
    "langgraph_store": ("langchain", "langchain"),
    "llama_index_memory": ("llama_index", "llama-index"),
    "openai_agents_session": ("agents.run_config", "openai-agents"),
    "pydantic_ai_agent": ("pydantic_ai.capabilities", "pydantic-ai"),
    "strands_agent": ("strands", "strands"),
}
"""Name of an example to the package it needs, and the extra that brings it."""


@pytest.mark.parametrize("name", NEEDS)
def test_the_example_prints_what_it_says(tmp_path, name):
    """Run as a user would run it, its output is what its docstring promises."""
    package, extra = NEEDS[name]
    pytest.importorskip(package, reason=f"pip install 'agent-memento[{extra}]'")
    example = EXAMPLES / f"{name}.py"
    promised = ast.get_docstring(ast.parse(example.read_text(encoding="utf-8")))
    ran = subprocess.run(
        [sys.executable, example], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout == textwrap.dedent(promised.split("Prints:\n\n")[1]) + "\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("module", ["memento_langchain._turns", "memento_langgraph._matching"])
def test_doctests(module):
    """The examples in the docstrings are true."""
    pytest.importorskip("langchain", reason="pip install 'agent-memento[langchain]'")
    assert doctest.testmod(importlib.import_module(module)).failed == 0
