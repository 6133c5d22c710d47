"""`import memento` loads nothing heavy, writes nothing and uses no network."""

import subprocess
import sys

import pytest

HEAVY = [
    "numpy", "chromadb", "onnxruntime", "tokenizers", "sqlite_utils", "sentence_transformers",
    "torch", "langchain", "langchain_core", "langgraph", "crewai", "openai", "httpx", "typer",
    "rich", "pydantic", "pydantic_ai",
]  # fmt: skip

WATCHED = """
import os, sys
seen = []
def watch(event, args):
    if event == "open":
        path, mode, flags = args
        if (mode and set(mode) & set("wax+")) or (flags or 0) & (os.O_WRONLY | os.O_RDWR):
            seen.append(path)
    elif event in ("socket.connect", "socket.getaddrinfo", "os.mkdir", "subprocess.Popen"):
        seen.append(event)
sys.addaudithook(watch)
import {module}
print(seen)
print(sorted(set({heavy!r}) & sys.modules.keys()))
"""


def imported(module, heavy):
    """Import a module in a fresh interpreter; returns what it touched and what it loaded."""
    script = WATCHED.format(module=module, heavy=heavy)
    ran = subprocess.run(
        [sys.executable, "-B", "-c", script], capture_output=True, text=True, check=True
    )
    return ran.stdout.splitlines()


@pytest.mark.parametrize("module", ["memento", "memento.manager", "memento.aio", "memento.ingest"])
def test_import_is_light_and_touches_nothing(module):
    """No heavy package is loaded, no file opened for writing, no socket, no folder made."""
    assert imported(module, HEAVY) == ["[]", "[]"]


def test_the_command_line_imports_lightly():
    """`memento add` has to start fast: only its own library is loaded beside memento."""
    assert (
        imported("memento.cli", [name for name in HEAVY if name not in {"typer", "pydantic"}])[-1]
        == "[]"
    )


def test_the_watch_works():
    """A module that is heavy and one that writes are both noticed."""
    assert imported("numpy", HEAVY)[1] == "['numpy']"
    touched = imported("tempfile; tempfile.mkstemp()", [])
    assert touched[0] != "[]"
