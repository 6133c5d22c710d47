"""One default store for the shell, for agents and for Python, and whose folder it may be."""

import asyncio
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from memento import AsyncMemoryManager, MemoryManager
from memento.base import home
from memento.base.home import default_root, root_option
from memento.cli import main
from memento.errors import InvalidInput, StoreUnusable
from memento.upkeep.backup import restore
from memento_mcp import Doors


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Stand in a project three folders below a home folder; return the home folder."""
    user = tmp_path / "ada"
    (user / "work" / "shop" / "src").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("MEMENTO_EMBEDDER", "none")
    for name in ("MEMENTO_ROOT", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(user / "work" / "shop" / "src")
    return user


@pytest.mark.parametrize("above", ["work/shop/src", "work/shop", "work", "."])
@pytest.mark.parametrize("held", ["ledger.db", "chroma", "writer.lock", ".gitignore", None])
def test_the_project_store_is_found_here_or_above(place, above, held):
    """A store, the rest of one, or a folder with nothing in it yet, up to the home folder."""
    folder = place / above / "agent_memory"
    folder.mkdir()
    if held:
        (folder / held).touch()
    assert default_root() == folder


def test_the_nearest_store_wins(place):
    """As the nearest .git does."""
    for above in ("work", "work/shop"):
        (place / above / "agent_memory").mkdir()
    assert default_root() == place / "work/shop/agent_memory"


@pytest.mark.parametrize("other", ["setup.py", "README", "src"])
def test_another_folder_of_that_name_is_passed_over(place, other):
    """The source code of a project that is called so is no store, nor is a file."""
    (place / "work/agent_memory").mkdir()
    (place / "work/agent_memory" / other).mkdir()
    (place / "work/shop/agent_memory").touch()
    assert default_root() == place / ".local/share/memento"


def test_nothing_above_the_home_folder_counts(place):
    """A store outside the user's home is not theirs by default."""
    (place.parent / "agent_memory").mkdir()
    assert default_root() == place / ".local/share/memento"


def test_the_search_ends_at_the_edge_of_the_file_system(place, monkeypatch):
    """What another disk holds above its mount point is not looked at."""
    (place / "agent_memory").mkdir()
    true = os.stat

    def stat(path, **more):
        found = true(path, **more)
        if path != str(place):
            return found
        return os.stat_result((*found[:2], found.st_dev + 1, *found[3:]))

    monkeypatch.setattr(home.os, "stat", stat)
    assert default_root() == place / ".local/share/memento"


@pytest.mark.parametrize(("named", "at"), [("/data/ada", "/data/ada/memento"), ("rel", None)])
def test_the_data_folder_is_where_the_desktop_says(place, monkeypatch, named, at):
    """A relative name is ignored, as the specification asks."""
    monkeypatch.setenv("XDG_DATA_HOME", named)
    assert default_root() == Path(at or place / ".local/share/memento")


def test_the_data_folder_of_a_mac(place, monkeypatch):
    """It is where programs keep their data there."""
    monkeypatch.setattr(home.sys, "platform", "darwin")
    assert default_root() == place / "Library/Application Support/memento"


@pytest.mark.parametrize("named", ["elsewhere", "/srv/memento"])
def test_the_variable_comes_first(place, monkeypatch, named):
    """It is taken as it is given, whatever is above."""
    (place / "work/agent_memory").mkdir()
    monkeypatch.setenv("MEMENTO_ROOT", named)
    assert default_root() == Path(named)


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("above", ["work/shop/src", "work"])
def test_a_folder_of_another_user_is_refused(place, monkeypatch, above, linked):
    """Somebody could put it where it is found; so could they a link to a store of ours."""
    folder = place / above / "agent_memory"
    (place / "mine").mkdir()
    folder.symlink_to(place / "mine") if linked else folder.mkdir()
    monkeypatch.setattr(home.os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(StoreUnusable, match=r"another user.*--root") as refused:
        MemoryManager()
    assert refused.value.path == folder
    assert main(["list"]) == 4
    said = Doors(MemoryManager).call("recall", {"query": "tea"})
    assert said.refused
    assert "another user" in said.text
    monkeypatch.setenv("MEMENTO_ROOT", str(folder))
    assert default_root() == folder  # named, it is used


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
@pytest.mark.parametrize("link", [False, True])
def test_the_owner_is_read_from_the_folder_and_the_link(place, link):
    """A link of another user is refused although the store that it leads to is ours."""
    planted = place / "work/agent_memory"
    (place / "mine").mkdir()
    planted.symlink_to(place / "mine") if link else planted.mkdir()
    os.chown(planted, 12345, 12345, follow_symlinks=False)
    with pytest.raises(StoreUnusable, match="another user"):
        default_root()


def test_a_link_to_a_disk_that_is_not_there_is_not_passed_over(place):
    """The store on it is missed, and nothing is remembered elsewhere."""
    (place / "work/agent_memory").symlink_to("/not/mounted")
    with pytest.raises(StoreUnusable, match="which does not exist"):
        MemoryManager(embedder=None)


@pytest.mark.usefixtures("place")
def test_without_a_home_folder_the_root_has_to_be_given(monkeypatch):
    """The error says how."""
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    with pytest.raises(InvalidInput, match="MEMENTO_ROOT"):
        default_root()


async def _add_awaited(text):
    async with AsyncMemoryManager(embedder=None) as memory:
        await memory.add(text)


@pytest.mark.usefixtures("sockets")
@pytest.mark.parametrize("project", [False, True])
def test_all_doors_use_one_store(place, project, capsys):
    """What Python, the shell or an agent adds, the others find, also one folder down."""
    if project:
        (place / "work/agent_memory").mkdir()
    assert main(["add", "The boiler is in the cellar"]) == 0
    with MemoryManager(embedder=None) as memory:
        memory.add("The meter is in the hall")
    asyncio.run(_add_awaited("The key hangs by the door"))
    ask = {"name": "recall", "arguments": {}}
    sent = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ask})
    agent = subprocess.run(
        [sys.executable, "-m", "memento", "mcp"],
        input=sent.encode(), capture_output=True, check=True,
    )  # fmt: skip
    capsys.readouterr()
    assert main(["list"]) == 0
    for said in (agent.stdout.decode(), capsys.readouterr().out):
        assert all(word in said for word in ("boiler", "meter", "key hangs"))
    root = place / ("work/agent_memory" if project else ".local/share/memento")
    assert (root / "ledger.db").exists()


def test_a_backup_goes_into_the_default_store(place, tmp_path):
    """Restoring names no root either."""
    with MemoryManager(place / "other", embedder=None) as memory:
        memory.add("The berth is number 14")
        memory.store.backup(tmp_path / "b.db")
    assert restore(tmp_path / "b.db").root == place / ".local/share/memento"


@pytest.mark.parametrize("root", [None, "notes", "two words"])
def test_it_is_said_when_a_store_is_made(place, root, capsys, caplog):
    """Once, on standard error, with its folder; the library logs it."""
    caplog.set_level("INFO", "memento")
    named = [] if root is None else ["--root", root]
    for said in (1, 0):
        assert main(["add", "Tea", *named]) == 0
        assert capsys.readouterr().err.count("created a new store in") == said
    folder = Path(root).absolute() if root else place / ".local/share/memento"
    assert f"created a new store in {folder}" in caplog.text


def test_looking_makes_no_store(place, capsys):
    """Only a command that writes memories does."""
    assert main(["list"]) == 4
    assert f"{place}/.local/share/memento: contains no store" in capsys.readouterr().err
    assert main(["observe", "--user", "I live in Porto", "--dry-run"]) == 0
    assert "made" not in capsys.readouterr().err
    assert not (place / ".local").exists()


@pytest.mark.parametrize("name", ["a b", "$HOME", "it's", "work/shop"])
def test_a_command_in_a_message_reaches_the_store_it_speaks_of(place, name):
    """It names the folder, as the shell reads it, unless the store is the default one."""
    (place / "work/agent_memory").mkdir()
    assert root_option(place / "work" / ".." / "work" / "agent_memory") == ""
    assert shlex.split(root_option(place / name)) == ["--root", str(place / name)]


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("root", [None, "other"])
def test_messages_name_a_store_that_is_not_the_default(root, capsys, monkeypatch):
    """In the shell and to an agent, whose own variable the user's shell does not have."""
    named = [] if root is None else ["--root", root]
    ends = "`" if root is None else f" --root {root}`"
    assert main(["add", "Sold at 9", "--trust", "web", *named]) == 0
    assert f"`memento quarantine list{ends}" in capsys.readouterr().out
    monkeypatch.setenv("MEMENTO_ROOT", root or str(default_root()))
    with MemoryManager(embedder=None) as memory:
        doors = Doors(memory)
        kept = (
            doors.call("remember", {"text": "Deploys are on Friday"}).text.split()[-1].rstrip(".")
        )
        said = doors.call("forget", {"id": kept}).text
    ends = "`" if root is None else f" --root {Path(root).absolute()}`"
    assert f"`memento restore {kept}{ends}" in said
