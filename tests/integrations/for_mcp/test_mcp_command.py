"""``memento mcp`` as an agent starts it, spoken to by the protocol's own client."""

import json
import subprocess
import sys

import pytest

from memento import MemoryManager
from memento.cli import main

pytestmark = pytest.mark.usefixtures("sockets")
COMMAND = [sys.executable, "-m", "memento", "mcp"]


def start(root, *given, **more):
    """Run the server over some lines; return what it printed and its status."""
    sent = more.pop("sent", b"")
    return subprocess.run(
        [*COMMAND, "--root", str(root), *given],
        input=sent, capture_output=True, timeout=120, check=False, **more,
    )  # fmt: skip


def request(number, method, **params):
    """Write a request as a line."""
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(message).encode() + b"\n"


def test_it_ends_with_its_client_and_says_nothing_else(tmp_path):
    """Nothing but answers is on standard output, whatever a library prints."""
    ended = start(tmp_path / "store", sent=request("a", "ping"))
    assert (ended.returncode, ended.stdout) == (0, b'{"jsonrpc":"2.0","id":"a","result":{}}\n')


def test_a_reader_makes_no_store(tmp_path):
    """It says that there is no store."""
    sent = request(1, "tools/call", name="recall", arguments={})
    ended = start(tmp_path / "store", "--read-only", "--embedder", "none", sent=sent)
    said = json.loads(ended.stdout)["result"]
    assert said["isError"]
    assert "contains no store" in said["content"][0]["text"]
    assert not (tmp_path / "store").exists()


def test_the_project_of_the_folder_is_the_scope(tmp_path):
    """Unless another is given, or none is wanted."""
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    for number, given in enumerate([(), ("--scope", "team/a"), ("--everywhere",)]):
        sent = request(1, "tools/call", name="remember", arguments={"text": f"note {number}"})
        start(tmp_path / "s", "--embedder", "none", *given, sent=sent, cwd=tmp_path / "shop")
    with MemoryManager(tmp_path / "s", embedder=None) as memory:
        assert [one.scope for one in memory.list()] == ["project/shop", "team/a", ""]


def test_what_a_model_is_told_can_be_printed(tmp_path):
    """Without a store."""
    ended = start(tmp_path / "store", "--print-tools", "--more")
    said = ended.stdout.decode()
    assert said.startswith("Long-term memory of this user and project.")
    assert said.count('"inputSchema"') == 6
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    "given", [("--everywhere", "--scope", "x"), ("--scope", "../x"), ("--tokens", "3")]
)
def test_a_wrong_setting_ends_it_at_once(tmp_path, given):
    """In one line, on standard error."""
    ended = start(tmp_path / "store", *given)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert len(ended.stderr.splitlines()) == 1


def test_a_working_folder_that_was_removed_is_said_in_one_line(tmp_path, monkeypatch, capsys):
    """Which project the agent works in cannot be told then; the caller can tell it."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    root = ["--root", str(tmp_path / "store"), "--print-tools"]
    assert main(["mcp", *root]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--scope: is required, because the working folder was removed" in line
    assert main(["mcp", *root, "--everywhere"]) == 0
