"""memento works without what only Linux has; `tests/elsewhere.py` takes it away."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.elsewhere import ABSENCES

HERE = Path(__file__).parent
ROOT = HERE.parent
CORE = ("tests/test_first_use.py", "tests/test_verbs.py", "tests/tiers/test_long.py")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there it is absent already")


def run(absent: str, *words: str) -> None:
    """Run Python where something is absent."""
    paths = f"{ROOT}{os.pathsep}{ROOT / 'integrations'}"
    ran = subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env=os.environ | {"ABSENT": absent, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("absent", ABSENCES)
def test_a_store_lives_where_one_thing_is_absent(absent, tmp_path):
    """It is written, asked, backed up, restored in place, erased from, exported and forked."""
    index = "chroma" if absent == "malloc_trim" else "exact"
    run(absent, "-W", "error", str(HERE / "elsewhere.py"), str(tmp_path), index)


def test_the_core_of_the_tests_passes_where_all_of_it_is_absent():
    """The first use, the verbs and the long tier, with Chroma."""
    plugin = ("-p", "tests.elsewhere", "-p", "no:cacheprovider", "-n0")
    run(",".join(ABSENCES), "-m", "pytest", *plugin, *CORE)
