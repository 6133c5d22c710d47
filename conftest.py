"""Every Python and shell example in the README, in docs/ and in docstrings runs as a test."""

import doctest
import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from sybil import Example, Sybil
from sybil.document import PythonDocStringDocument
from sybil.parsers.doctest import DocTestParser
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser
from sybil.sybil import SybilCollection

from memento import MemoryManager
from memento.cli import main
from tests.stories.readme_models import models

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
"""Tests start hundreds of processes: without bytecode each of them compiles all of memento."""

HERE = Path(__file__).parent
LONG = ("tests/test_lint.py", "tests/trust/", "tests/integrations/", "tests/serve/test_remote.py")
"""Files that take long although they have few tests."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes long, so that no process is left alone with it at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONG))


def run_commands(example: Example) -> None:
    """Run the ``memento`` lines of a shell block, each of which has to succeed."""
    for line in example.parsed.splitlines():
        words = shlex.split(line, comments=True)
        if words and words[0] == "memento":
            status = main(words[1:])
            assert status == 0, f"{line}: exit status {status}"  # noqa: S101 - a test


def enter_folder(namespace: dict[str, Any]) -> None:
    """Give each document a folder of its own, with the little files its text speaks of."""
    namespace["_folder"] = tempfile.TemporaryDirectory(prefix="memento-docs-")
    namespace["_before"] = Path.cwd()
    os.chdir(namespace["_folder"].name)
    os.environ["MEMENTO_ROOT"] = "agent_memory"
    Path("chat.jsonl").write_text(
        '{"role": "user", "name": "Ada", "content": "The launch is on 3 May."}\n', encoding="utf-8"
    )
    Path("examples").mkdir()
    shutil.copy(HERE / "examples" / "transcript.jsonl", "examples")
    shutil.copytree(HERE / "examples" / "past", "examples/past")
    Path("notes.md").write_text("# Server\n\nThe server is called Erna.\n", encoding="utf-8")


def leave_folder(namespace: dict[str, Any]) -> None:
    """Close what the examples left open and remove the folder."""
    for value in list(namespace.values()):
        if isinstance(value, MemoryManager):
            value.close()
    os.chdir(namespace["_before"])
    del os.environ["MEMENTO_ROOT"]
    namespace["_folder"].cleanup()


PARSERS = [
    PythonCodeBlockParser(doctest_optionflags=doctest.ELLIPSIS),
    CodeBlockParser(language="bash", evaluator=run_commands),
    SkipParser(),
]


def enter_readme(namespace: dict[str, Any]) -> None:
    """Give the README the language models that it calls yours."""
    enter_folder(namespace)
    namespace |= models()


readme = Sybil(
    parsers=PARSERS,
    patterns=["README.md"],
    setup=enter_readme,
    teardown=leave_folder,
)
documents = Sybil(
    parsers=PARSERS,
    patterns=["docs/**/*.md"],
    setup=enter_folder,
    teardown=leave_folder,
)
docstrings = Sybil(
    parsers=[DocTestParser(optionflags=doctest.ELLIPSIS)],
    patterns=["memento/**/*.py"],
    document_types={".py": PythonDocStringDocument},
)
pytest_collect_file = SybilCollection([readme, documents, docstrings]).pytest()
