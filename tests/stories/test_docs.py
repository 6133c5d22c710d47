"""The README and the reference are true. Their examples run as tests of their own."""

import importlib.util
import re
from pathlib import Path

import pytest

from memento import MemoryManager

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])


def reference():
    """Load the script that writes the reference."""
    spec = importlib.util.spec_from_file_location("reference", ROOT / "scripts" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_readme_has_the_two_commands():
    """A newcomer finds the command to try it and the command to test it, as one line each."""
    lines = [line.strip() for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()]
    assert "pip install . && memento demo" in lines
    assert 'pip install ".[test]" && pytest' in lines


def test_the_readme_is_short():
    """A newcomer reads it in five minutes: at most 900 words, code included."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 900


def test_the_three_promised_calls(tmp_path, monkeypatch):
    """A tier is the second argument of ``add``, and the critical fact is found."""
    monkeypatch.chdir(tmp_path)
    with MemoryManager(root="agent_memory") as memory:
        memory.add("This is a temporary note", "short")
        memory.add("This is somewhat important", "medium")
        memory.add("This is a critical fact to remember", "long")
        printed = [
            f"{hit.score} {hit.tier} {hit.text}" for hit in memory.retrieve("important fact", k=3)
        ]
    assert any("long This is a critical fact to remember" in line for line in printed)


@pytest.mark.parametrize("name", ["api.md", "cli.md", "configuration.md"])
def test_the_reference_is_up_to_date(name):
    """Each page says what the code says; if not, run `python scripts/reference.py`."""
    page = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert page == reference().PAGES[name]().rstrip() + "\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    """Every link to a file of the repository has one."""
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_decision_is_listed():
    """The list of decisions names each page, and numbers have no gap."""
    folder = ROOT / "docs" / "adr"
    pages = sorted(page.name for page in folder.glob("[0-9]*.md"))
    listed = re.findall(r"\]\((\d.+?\.md)\)", (folder / "README.md").read_text(encoding="utf-8"))
    assert listed == pages
    assert [int(page[:4]) for page in pages] == list(range(1, len(pages) + 1))
