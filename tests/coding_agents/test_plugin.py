"""The plugin that the repository's marketplace offers to Claude Code."""

from __future__ import annotations

import json
from pathlib import Path

from memento.agents.table import Program, claude_plugin

ROOT = Path(__file__).parents[2]


def test_the_plugin_is_what_set_up_writes():
    """Its files are those of set-up, for a memento on the path; see `scripts/reference.py`."""
    (offered,) = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())["plugins"]
    folder = ROOT / offered["source"]
    wanted = {one.path: one.text for one in claude_plugin(folder, Program(("memento",)))}
    found = {path: path.read_text() for path in folder.rglob("*") if path.is_file()}
    assert found == wanted
