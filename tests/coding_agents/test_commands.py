"""``memento init``, ``setup``, ``onboard``, ``doctor --agents``, and ``show`` of a key."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from memento import MemoryManager
from memento.agents.examine import examine
from memento.agents.onboard import onboard
from memento.agents.setup import carry_out, plan
from memento.agents.table import AGENTS, Program
from memento.base.home import default_root
from memento.cli import main
from memento.errors import InvalidInput
from memento.types import Status, Trust


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home with the folder of Codex, and no program on the path."""
    home = tmp_path / "home"
    (home / ".codex").mkdir(parents=True)
    for agent in AGENTS.values():
        monkeypatch.delenv(agent.home[0] or "NONE", raising=False)
    for name in ("MEMENTO_ROOT", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, place in (("HOME", home), ("XDG_STATE_HOME", home / "state"), ("PATH", home)):
        monkeypatch.setenv(name, str(place))
    monkeypatch.chdir(home)
    return home


@pytest.fixture
def run(capsys):
    """Run a command, and return its status, output and errors."""

    def run(*words):
        status = main([str(word) for word in words])
        return (status, *capsys.readouterr())

    return run


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with documents and a history."""
    monkeypatch.setenv("PATH", os.defpath)
    folder = tmp_path / "shop"
    (folder / "docs").mkdir(parents=True)
    (folder / "src").mkdir()
    (folder / "README.md").write_text("# Shop\n\nThe billing service listens on port 5042.\n")
    (folder / "docs" / "why.md").write_text("We chose SQLite because it is in every Python.\n")
    (folder / "docs" / "bad.md").write_bytes(b"\xff\xfe")
    (folder / "src" / "shop.py").write_text("SECRET_OF_THE_CODE = 1\n")
    (folder / ".gitignore").write_text("build\n")
    (folder / "build").mkdir()
    (folder / "build" / "README.md").write_text("made by a tool\n")
    commit(folder, "Move to SQLite\n\nThe old server needed a password that nobody knew any more.")
    commit(folder, "Fix typo", "--allow-empty")
    return folder


def commit(folder, message, *more):
    """Commit everything in a folder."""
    git = ["git", "-C", str(folder), "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    if not (folder / ".git").exists():
        subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", *more, "-m", message], check=True)


def test_init_makes_the_store_and_sets_up_agents(run, home):
    """One command, twice: the second time there is nothing to do."""
    status, out, _ = run("init", "--yes", "--embedder", "none")
    assert status == 0
    assert "Codex: set up" in out
    assert "/hooks" in out
    assert (home / ".local" / "share" / "memento" / "ledger.db").exists()
    assert "memento hook codex" in (home / ".codex" / "hooks.json").read_text()
    again = json.loads(run("init", "--yes", "--embedder", "none", "--json")[1])
    assert again["agents"] == {"codex": {}}


def test_init_can_keep_the_store_in_its_folder(run, home):
    """With --here the memories of a folder are in it."""
    assert run("init", "--yes", "--here", "--embedder", "none")[0] == 0
    assert (home / "agent_memory" / "ledger.db").exists()
    assert run("init", "--here", "--root", "x")[0] == 2


def test_nothing_is_written_unasked(run, home, monkeypatch):
    """Without a terminal and without --yes, set-up is refused; so is an agent nobody knows."""
    monkeypatch.setattr("sys.stdin", StringIO())
    status, _, err = run("setup")
    assert (status, "--yes" in err) == (2, True)
    assert run("setup", "nobody")[0] == 2
    assert list((home / ".codex").iterdir()) == []


def test_setup_shows_does_and_undoes(run, home):
    """A dry run prints a patch and writes nothing; undoing leaves the folder as it was."""
    theirs = home / ".codex" / "config.toml"
    theirs.write_text("model = 'o1'  # mine\n")
    status, out, _ = run("setup", "codex", "--dry-run")
    assert status == 0
    assert "+[mcp_servers.memento]" in out
    assert [one.name for one in (home / ".codex").iterdir()] == ["config.toml"]
    assert run("setup", "codex")[0] == 0
    assert "memento" in theirs.read_text()
    assert "nothing to do" in run("setup", "codex")[1]
    assert "removed" in run("setup", "--undo", "--yes")[1]
    assert theirs.read_text() == "model = 'o1'  # mine\n"
    assert [one.name for one in (home / ".codex").iterdir()] == ["config.toml"]


def test_one_bad_file_does_not_stop_the_others(run, home):
    """An agent whose file cannot be edited is named; the others are set up."""
    (home / ".codex" / "hooks.json").write_text("{")
    (home / ".gemini").mkdir()
    status, out, _ = run("setup", "--yes")
    assert status == 2
    assert "Gemini CLI: set up" in out
    assert "hooks.json" in out
    assert not (home / ".codex" / "config.toml").exists()


def test_a_repository_is_read_once(run, repository, tmp_path):
    """Documents, telling commits and an outline wait with their source; again adds nothing."""
    words = ("onboard", repository, "--root", tmp_path / "m", "--embedder", "none", "--json")
    told = json.loads(run(*words)[1])
    assert set(told["documents"]) == {"README.md", "docs/why.md"}
    assert list(told["unread"]) == ["docs/bad.md"]
    assert (told["commits"], told["files"], told["new"]) == (1, 5, 4)
    assert json.loads(run(*words)[1])["new"] == 0
    with MemoryManager(tmp_path / "m", embedder=None) as memory:
        waiting = memory.quarantine.list()
        assert {one.source.kind for one in waiting} == {Trust.IMPORT}
        assert all(one.source.uri for one in waiting)
        text = "\n".join(one.text for one in waiting)
    assert "nobody knew" in text
    assert "src/ (1 .py)" in text
    for absent in ("Fix typo", "made by a tool", "SECRET_OF_THE_CODE"):
        assert absent not in text


def test_a_changed_repository_is_followed(repository, tmp_path):
    """A paragraph that was changed replaces the former one; what is mine is found at once."""
    with MemoryManager(tmp_path / "m", embedder=None) as memory:
        onboard(memory, repository, "project/shop", Trust.IMPORT)
        assert not memory.retrieve("Which port does billing listen on?", min_confidence=0.2)
        onboard(memory, repository, "project/shop", Trust.USER)
        assert "5042" in memory.retrieve("Which port does billing listen on?")[0].text
        (repository / "README.md").write_text(
            "# Shop\n\nThe billing service listens on port 6000.\n"
        )
        assert onboard(memory, repository, "project/shop", Trust.USER).new == 1
        texts = [one.text for one in memory.list(scope="project/shop", status=Status.ACTIVE)]
    (told,) = [one for one in texts if "port" in one]
    assert "6000" in told


def test_a_folder_without_git_is_read(tmp_path):
    """A folder that is no repository has documents and an outline."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "readme.txt").write_text("The key of the shed is under the pot.")
    with MemoryManager(tmp_path / "m", embedder=None) as memory:
        done = onboard(memory, folder, "", Trust.USER)
    assert (set(done.documents), done.commits, done.files) == ({"readme.txt"}, 0, 1)


@pytest.mark.parametrize("in_git", [True, False])
def test_a_store_in_the_repository_is_not_read(in_git, repository, tmp_path):
    """Neither named in the outline nor counted, wherever it is in the folder."""
    folder = repository if in_git else tmp_path / "plain"
    with MemoryManager(folder / "data" / "m", embedder=None) as memory:
        onboard(memory, folder, "", Trust.USER)
        assert not [one for one in memory.list() if "data/m" in one.text]


def test_a_repository_that_git_cannot_list_is_not_read(memory, tmp_path):
    """Else what it ignores would be, as in a folder that belongs to another user."""
    folder = tmp_path / "broken"
    (folder / ".git").mkdir(parents=True)
    (folder / "README.md").write_text("The ferry leaves at nine.")
    with pytest.raises(InvalidInput, match="git cannot list"):
        onboard(memory, folder, "", Trust.USER)
    assert not memory.list()


def test_doctor_looks_at_agents(run, home, tmp_path, monkeypatch):
    """What is not as set-up writes it is a finding with the command that mends it."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    status, out, _ = run("doctor", "--agents", "--json")
    (codex, hooks) = json.loads(out)["findings"]
    assert (status, codex["ok"], hooks["ok"]) == (1, False, True)
    assert "memento setup codex" in codex["detail"]
    assert list((home / ".codex").iterdir()) == []


def test_doctor_plays_an_event(home, tmp_path, monkeypatch):
    """A hook is run and timed; a program that is gone fails; the last fault is told."""
    gone = Program((str(tmp_path / "memento"),))
    monkeypatch.setattr(Program, "here", lambda _root: gone)
    carry_out(plan(AGENTS["codex"], gone))
    log = home / "state" / "memento" / "hooks.log"
    log.parent.mkdir(parents=True)
    log.write_text("2026-11-29T09:00:00 codex Stop: something\n")
    found = {one.check: one for one in examine(None)}
    assert found["codex"].ok
    assert not found["codex hook"].ok
    assert "something" in found["hooks"].detail
    program = Path(gone.words[0])
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    assert {one.check: one.ok for one in examine(None)}["codex hook"]
    log.unlink()
    for switch, off in (("off", True), ("20", False)):  # the latter is how long one may take
        monkeypatch.setenv("MEMENTO_HOOKS", switch)
        assert ("turned off by" in {one.check: one for one in examine(None)}["hooks"].detail) == off
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m memento "$@"\n')
    assert {one.check: one.ok for one in examine(None)}["codex hook"]
    assert not default_root().exists()


def test_show_takes_a_key(run, tmp_path):
    """A key shows the memory that it names, now or then; one that nothing fills exits with 3."""
    root = ("--root", tmp_path / "m")
    none = ("--embedder", "none")
    run("add", "Rami uses Vim", "--key", "rami/editor", *root, *none)
    run("add", "Rami uses Helix", "--key", "rami/editor", *root, *none)
    shown = json.loads(run("show", "rami/editor", "--json", *root, *none)[1])
    assert shown["memory"]["text"] == "Rami uses Helix"
    assert run("show", "rami/shell", *root, *none)[0] == 3
    assert run("show", "rami/shell", "--as-of", "2020-01-01", *root, *none)[0] == 3


def test_doctor_reindexes_and_salvages(run, tmp_path):
    """They are parts of doctor, and exclude each other."""
    root = ("--root", tmp_path / "m")
    run("add", "Rami uses Vim", *root, "--embedder", "none")
    assert run("doctor", "--reindex", "--salvage", *root)[0] == 2
    refused = run("doctor", "--reindex", "--embedder", "none", *root)
    assert "cannot embed" in refused[2]
    assert json.loads(run("doctor", "--salvage", "--json", *root)[1])["kept"] == 1
    assert run("value", "x", *root)[0] == 3
