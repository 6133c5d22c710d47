"""Coding agents that are set up, hooked and served, as a child of `harness_doors`.

    python doors_run.py ROOT UMASK EMBEDDER [--call-home]

``--call-home`` is the control: it also opens a socket, as telemetry would.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

ROOT = Path(*sys.argv[1:2])
STORE = ROOT / "store"
for name in ("HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
    os.environ[name] = str(ROOT)
os.environ["XDG_CONFIG_HOME"] = str(ROOT / ".config")

from memento.agents.table import AGENTS  # noqa: E402 - it looks at the home
from memento.resident.client import Unreachable, call  # noqa: E402


def ran(*words: str, given: str = "") -> str:
    """Run a command, which must end well; returns what it printed."""
    command = [sys.executable, "-m", "memento", *words, "--root", str(STORE)]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stdout[-300:]}{done.stderr}")
    return done.stdout


def run() -> None:
    """Set every agent up, play its events, speak MCP, and take all of it away again."""
    ran("setup", *AGENTS, "--yes")
    given = json.dumps({"session_id": "s", "cwd": str(ROOT), "prompt": "My bicycle is green."})
    for name, agent in AGENTS.items():
        for event in agent.moments:
            ran("hook", name, event, given=given)
    arguments = {"query": "bicycle"}
    asked = {"id": 1, "method": "tools/call", "params": {"name": "recall", "arguments": arguments}}
    said = ran("mcp", given=json.dumps({"jsonrpc": "2.0", **asked}) + "\n")
    assert "green" in said, said
    ran("setup", "--undo", "--yes")


if __name__ == "__main__":
    try:
        run()
    finally:
        with suppress(Unreachable):
            call(STORE, {"call": "stop"}, seconds=5)
    if "--call-home" in sys.argv:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as telemetry:
            telemetry.setblocking(False)
