"""The scripts of the trust harnesses can be imported, so a renamed module is noticed here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
AT_ONCE = {"conftest.py", "local_run.py", "probe_host.py"}
"""These read their arguments before they import what they test."""
SCRIPTS = [
    path
    for path in sorted((ROOT / "tests" / "trust").glob("*.py"))
    if not path.name.startswith("test_") and path.name not in AT_ONCE
]


def test_every_script_can_be_imported():
    """In one child process, as most of them import the same libraries."""
    folders = [str(ROOT / "benchmarks"), str(ROOT / "tests" / "trust")]
    code = f"import sys, importlib; sys.path[:0] = {folders}"
    code += f"\nfor name in {[path.stem for path in SCRIPTS]}: importlib.import_module(name)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert len(SCRIPTS) > 20
    assert ran.returncode == 0, ran.stderr
