"""The README shows each framework in ten lines or fewer, and a page lists the versions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SECTION = README.split("## In your framework")[1].split("\n## ")[0]
BLOCKS = re.findall(r"^```python\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)
PACKAGES = [path.name for path in sorted((ROOT / "integrations").glob("memento_*"))]
VERSIONS = (ROOT / "docs" / "reference" / "frameworks.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("package", ["memento_langchain", "memento_langgraph", "memento_crewai"])
def test_ten_lines_are_enough(package):
    """One block for each adapter, imports included."""
    (block,) = [block for block in BLOCKS if f"from {package} import" in block]
    assert len(block.splitlines()) <= 10


def test_the_table_names_every_adapter():
    """With the newest and oldest versions it was tested with, and the extra that installs it."""
    for package in PACKAGES:
        (row,) = [line for line in VERSIONS.splitlines() if line.startswith(f"| `{package}`")]
        assert re.search(r"\d+\.\d+", row)


def test_the_table_names_the_bounds_that_are_declared():
    """The lower bounds of the extras are the versions that were tested."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = [line.split("|") for line in VERSIONS.splitlines() if line.startswith("| `memento_")]
    assert len(rows) == len(PACKAGES)
    for *_, lowest, extras, _ in rows:
        asked = [
            requirement
            for extra in re.findall(r"`([\w-]+)`", extras)
            for requirement in project["optional-dependencies"][extra]
        ]
        declared = {re.search(r">=([\d.]+)", requirement)[1] for requirement in asked}
        assert set(re.findall(r"\d+(?:\.\d+)+", lowest)) == declared
