"""The examples run as a reader would run them and print what they say they print."""

import ast
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent.parent / "examples"
EXAMPLES = sorted(FOLDER.glob("[0-9]*.py"))


def promised(example):
    """Return what an example says it prints."""
    words = ast.get_docstring(ast.parse(example.read_text(encoding="utf-8")))
    return textwrap.dedent(words.split("Prints:\n\n")[1]).splitlines()


def test_there_are_examples():
    """They are numbered without a gap."""
    assert [example.name[:2] for example in EXAMPLES] == ["01", "02", "03", "04", "05", "06"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_example_prints_what_it_says(example, tmp_path):
    """Its output is word for word what its docstring promises, and it leaves nothing behind."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(example)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == promised(example)
    assert list(tmp_path.iterdir()) == []
