"""Running the command line as a user would, in this process."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memento import cli


@dataclass(frozen=True)
class Outcome:
    """The output of a command and its exit code."""

    status: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The output, parsed as JSON."""
        return json.loads(self.out)


BARE = {"demo", "backup", "config", "erase", "export", "help", "version"}
"""Commands that have no use for an embedder and do not take one."""


@dataclass(frozen=True)
class Typed:
    """Runs ``memento`` with the arguments given; without an embedder unless one is asked for."""

    capsys: pytest.CaptureFixture[str]

    def __call__(self, *args: str | Path) -> Outcome:
        """Run a command."""
        words = [str(arg) for arg in args]
        if words and words[0] not in BARE and not words[0].startswith("-"):
            words += [] if "--embedder" in words else ["--embedder", "none"]
        status = cli.main(words)
        return Outcome(status, *self.capsys.readouterr())

    def add(self, text: str, *options: str | Path) -> str:
        """Add one memory; returns its id."""
        return self("add", text, "--json", *options).data["id"]


@pytest.fixture(autouse=True)
def _quiet_environment(monkeypatch, tmp_path):
    for name in [name for name in os.environ if name.startswith("MEMENTO_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MEMENTO_ROOT", "agent_memory")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def memento(capsys) -> Typed:
    """Run ``memento`` as a user would."""
    return Typed(capsys)
