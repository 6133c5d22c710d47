"""The README shows each framework in ten lines or fewer, and a page lists the versions."""

from __future__ import annotations

import re
import runpy
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


def test_the_table_is_as_it_is_generated():
    """The lower bounds are those of the extras; the versions, those of the checks that passed."""
    page_with = runpy.run_path(str(ROOT / "scripts" / "check_extras.py"), run_name="checks")
    written = page_with["page_with"](VERSIONS, {"crewai": "crewai 9.8.7"})
    assert re.sub(r"crewai 9\.8\.7", re.search(r"crewai 1[\d.]+", VERSIONS)[0], written) == VERSIONS
    assert written != VERSIONS
    assert len(re.findall(r"^\| `memento_", VERSIONS, re.MULTILINE)) == len(PACKAGES)
