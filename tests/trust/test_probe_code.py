"""The child that looks at a Chroma folder runs the host's code, and no other's."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from common import child_environment

from memento.tiers import check_in_child

HOST = Path(__file__).with_name("probe_host.py")
PACKAGES = ("memento", "chromadb", "numpy", "json", "sitecustomize")
"""Names under which a folder offers its own code to a process that has it on the path."""


@pytest.fixture
def cloned(tmp_path):
    """A working directory whose modules note that they ran, as a repository just cloned may be."""
    folder = tmp_path / "cloned"
    for name in PACKAGES:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(
            f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r} + ' ')\nraise ImportError\n"
        )
    return folder


def host(cloned: Path, step: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a host outside of the working directory; see `probe_host`."""
    return subprocess.run(
        [sys.executable, str(HOST), step],
        cwd=cloned, env=child_environment() | {"STORE": str(cloned.parent / "store")} | environment,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def dead(tmp_path_factory) -> Path:
    """A store whose process was killed while it had the index open."""
    folder = tmp_path_factory.mktemp("dead") / "cwd"
    folder.mkdir()
    assert host(folder, "die").returncode == -signal.SIGKILL
    return folder.parent / "store"


def ran(cloned: Path) -> str:
    """Which of the decoys ran."""
    noted = cloned.parent / "ran"
    return noted.read_text() if noted.exists() else ""


def said(done: subprocess.CompletedProcess[str]) -> dict:
    """The output of the host."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_probe_runs_no_code_of_the_working_directory(cloned):
    """After a kill -9 the folder is looked at from a child, which imports what the host does."""
    assert host(cloned, "die").returncode == -signal.SIGKILL
    seen = said(host(cloned, "look"))
    assert seen["verdicts"] == [None]
    assert seen["state"] == "ready"
    assert ran(cloned) == ""


def test_an_unprotected_start_runs_it(cloned, dead):
    """The control: ``-m`` from the same working directory runs the decoy."""
    shutil.copytree(dead, cloned.parent / "store")
    seen = said(host(cloned, "look-unprotected"))
    assert seen["verdicts"] != [None]
    assert "memento" in ran(cloned)


@pytest.mark.parametrize("entry", ["", "elsewhere", "."])
def test_a_relative_entry_of_the_path_means_where_the_host_was_started(
    cloned, dead, entry, tmp_path
):
    """Python makes it absolute at the start; a host that goes elsewhere takes nothing from there.

    An empty entry of PYTHONPATH is the working directory, here at the start of the host.
    """
    home = tmp_path / "home"
    (home / "elsewhere").mkdir(parents=True)
    path = os.pathsep.join([str(Path(__file__).parents[2]), entry, "elsewhere"])
    environment = {"PYTHONPATH": path, "GO_TO": str(cloned)}
    shutil.copytree(dead, tmp_path / "store")
    seen = said(host(home, "look", **environment))
    assert (seen["verdicts"], seen["state"]) == ([None], "ready")
    assert ran(cloned) == ""


def test_a_shell_is_probed_without_the_startup_code_of_its_folder(cloned, dead, tmp_path):
    """``sys.path`` of a shell begins with "", but Python looks for sitecustomize before that."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "sitecustomize.py").write_text((cloned / "sitecustomize/__init__.py").read_text())
    shutil.copytree(dead, tmp_path / "store")
    seen = said(host(home, "look", EMPTY_FIRST="1"))
    assert (seen["verdicts"], seen["state"]) == ([None], "ready")
    assert ran(cloned) == ""


def test_a_package_found_by_a_relative_entry_is_found_there_again(tmp_path, monkeypatch):
    """The child takes it from the folder it came from, not from what the entry means by now."""
    home = tmp_path / "home"
    (home / "taken_along").mkdir(parents=True)
    (home / "taken_along" / "__init__.py").touch()
    monkeypatch.chdir(home)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.setattr(check_in_child, "PACKAGES", ("taken_along",))
    importlib.import_module("taken_along")
    monkeypatch.chdir(tmp_path)
    assert check_in_child.import_path(sys.path, check_in_child._homes())[0] == str(home)
    monkeypatch.delitem(sys.modules, "taken_along")
