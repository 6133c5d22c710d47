"""The script that installs each extra alone: it knows them all, and what it runs works here."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NEEDS = {
    "openai": "httpx",
    "llm": "pydantic_ai",
    "sentence-transformers": "sentence_transformers",
    "langchain": "langchain",
    "langchain-classic": "langchain_classic",
    "langgraph": "langgraph",
    "crewai": "crewai",
    "strands": "strands.memory",
    "google-adk": "google.adk",
    "pydantic-ai": "pydantic_ai.capabilities",
    "openai-agents": "agents.run_config",
    "agent-framework": "agent_framework",
    "llama-index": "llama_index.core",
    "haystack": "haystack",
    "serve": "starlette",
    "mcp": "mcp",
    "postgres": "psycopg",
    "pandas": "pandas",
    "lint": "mypy",
    "types": "pyright",
    "docs": "mkdocs",
}


def is_here(module):
    """Return whether a module could be imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package that it is in
        return False


def script():
    """Load the script."""
    path = ROOT / "scripts" / "check_extras.py"
    spec = importlib.util.spec_from_file_location("check_extras", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_every_extra_has_something_to_run():
    """An extra added to the project has to be added there; nothing there is of an extra gone."""
    check = script()
    known = check.extras()
    assert all(check.programs(extra, known) for extra in known)
    assert set(check.SMOKE) - {check.BASE} <= set(known)
    assert set(check.TESTS) - {check.BASE} <= set(known)
    assert set(NEEDS) == set(check.SMOKE) - {check.BASE}
    assert all((ROOT / path).exists() for paths in check.TESTS.values() for path in paths)


def test_all_and_test_take_in_the_others():
    """They require the requirements of all the others."""
    check = script()
    known = check.extras()
    for extra in (
        "langchain",
        "langchain-classic",
        "langgraph",
        "crewai",
        "openai",
        "llm",
    ):
        for whole in ("all", "test"):
            assert set(known[extra]) <= set(check.asked(whole, known))
    assert "langgraph" in check.programs("all", known)


@pytest.mark.parametrize(
    ("asked", "pinned"),
    [
        ("langchain-core>=1.1,<2", "langchain-core==1.1"),
        ("crewai>=1.15.24,<2; python_version < '3.14'", "crewai==1.15.24; python_version < '3.14'"),
        ("httpx>=0.27", "httpx==0.27"),
        ("ruff==0.17.*", "ruff==0.17.*"),
    ],
)
def test_lower_bounds_become_pins(asked, pinned):
    """The bound, and the marker behind it."""
    assert script().lowest(asked) == pinned


def test_what_it_runs_works_here(tmp_path):
    """The few lines of each extra that is installed, one after the other in one process."""
    check = script()
    program = "import os\nfrom memento.testing import HashEmbedder\n"
    for extra, needed in NEEDS.items():
        if is_here(needed):
            lines = check.STORE + check.SMOKE[extra] + "\nmanager.close()\n"
            (tmp_path / extra).mkdir()
            program += f"os.chdir({str(tmp_path / extra)!r})\n"
            program += (
                f"exec(compile({lines!r}, {extra!r}, 'exec'), dict(embedder=HashEmbedder()))\n"
            )
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=tmp_path,
        env=check.environment(tmp_path) | {"PYTHONPATH": f"{ROOT}:{ROOT / 'integrations'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


def test_an_unknown_extra_is_refused(capsys):
    """A misspelt one is an error that lists those there are."""
    with pytest.raises(SystemExit) as ended:
        script().main(["langchian"])
    assert ended.value.code == 2
    assert "langchian" in capsys.readouterr().err
