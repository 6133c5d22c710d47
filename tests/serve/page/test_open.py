"""`memento open` shows the page of the store, from a service that runs or from one of its own."""

import json
import re
import signal
import socket
import subprocess
import sys
from urllib.request import HTTPRedirectHandler, Request, build_opener

import pytest

from memento import MemoryManager
from memento.cli.program import run


class Stay(HTTPRedirectHandler):
    """Follows no redirect: where it leads is what is tested."""

    def redirect_request(self, *_):
        """Refuse."""


@pytest.fixture
def port():
    """A port that nobody has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def opening(root, port):
    """Type the command; returns its process and the address that it printed."""
    command = [sys.executable, "-m", "memento", "open", "--no-browser", "--root", str(root),
               "--embedder", "none", "--port", str(port)]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().strip()


def enters(address, code):
    """Return the status of coming in with a code."""
    body = f"code={code}".encode()
    try:
        answer = build_opener(Stay).open(Request(f"{address}enter", body))  # noqa: S310 - of this machine
    except OSError as error:
        return error.code
    return answer.status


def test_the_page_opens_and_closes(tmp_path, port):
    """The first command serves the page until Ctrl-C; a second one opens that page again."""
    root = tmp_path / "store"
    MemoryManager(root, embedder=None).close()
    first, told = opening(root, port)
    try:
        address, code = told.split("#t=")
        assert re.fullmatch(rf"http://127\.0\.0\.1:{port}/", address)
        second, again = opening(root, port)
        assert second.wait(60) == 0
        assert again.split("#t=")[0] == address
        assert (enters(address, code), enters(address, code)) == (303, 401)
        assert enters(address, again.split("#t=")[1]) == 303
    finally:
        first.send_signal(signal.SIGINT)
        assert first.wait(60) == 0
        first.stdout.close()
        second.stdout.close()


def test_another_store_gets_a_page_of_its_own(tmp_path, port):
    """A service of another store at the port is left alone: the code is not for it."""
    processes = []
    try:
        addresses = []
        for name in ("one", "other"):
            MemoryManager(tmp_path / name, embedder=None).close()
            process, told = opening(tmp_path / name, port)
            processes.append(process)
            addresses.append(told.split("#t=")[0])
        assert len({*addresses}) == 2
    finally:
        for process in processes:
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
            process.stdout.close()


def test_the_address_is_data(tmp_path, monkeypatch, capsys):
    """With --json, the command tells the address without the code."""
    monkeypatch.setattr("memento.cli.group_open._serves", lambda *_: True)
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    words = ["open", "--root", str(tmp_path), "--json", "--namespace", "acme/rami"]
    assert run(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"page": "http://127.0.0.1:8765/?ns=acme/rami"}
