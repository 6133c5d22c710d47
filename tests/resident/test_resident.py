"""The resident process: one for each store, for its user alone, and never in the way."""

import errno
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from resident.conftest import alive, resident_of, wait_for

import memento
from memento.base import layout
from memento.resident import client, server
from memento.resident.client import LONGEST, Unreachable, call, place

STATUS = {"call": "status"}
ASK = "import sys; from memento.resident.client import call;"
ASK += "print(call(sys.argv[1], {'call': 'status'}, seconds=60, start=True)['pid'])"


def start(root):
    """Start the process of a store; return its id."""
    return call(root, STATUS, seconds=60, start=True)["pid"]


@pytest.fixture
def here(root, monkeypatch):
    """Run the server of a store in a thread of this process; return it."""
    monkeypatch.setitem(server.TABLE, "wait", f"{__name__}:wait")
    resident = server.Resident(root, idle=900.0)
    running = threading.Thread(target=resident.run)
    running.start()
    assert wait_for(lambda: Path(place(root)).exists())
    yield resident
    resident.leave()
    running.join(30)
    assert not running.is_alive()


def wait(_resident, asked):
    """Say that the call has begun; answer when a file is there."""
    Path(f"{asked['for']} begun").touch()
    assert wait_for(Path(asked["for"]).exists)
    return {"waited": True}


def raw(root, sent):
    """Send bytes as they are; return the lines that come back until the other side has enough."""
    with socket.socket(socket.AF_UNIX) as opened, suppress(ConnectionError):
        opened.settimeout(30)
        opened.connect(place(root))
        opened.sendall(sent)
        opened.shutdown(socket.SHUT_WR)
        with opened.makefile("rb") as answers:
            return [json.loads(line) for line in answers]
    return []


def test_twenty_clients_at_once_start_one_process(root):
    """Each is answered, all by the same one."""
    with ThreadPoolExecutor(20) as pool:
        ran = pool.map(
            lambda _: subprocess.run(
                [sys.executable, "-c", ASK, root], capture_output=True, check=True
            ),
            range(20),
        )
        pids = {int(one.stdout) for one in ran}
    assert pids == {resident_of(root)}


def test_it_outlives_its_client_and_stands_apart(root):
    """It has a session of its own, holds no folder, and is nobody's child any more."""
    ran = subprocess.run([sys.executable, "-c", ASK, root], capture_output=True, check=True)
    pid = int(ran.stdout)
    assert resident_of(root) == pid
    assert os.getsid(pid) == pid
    assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")


def test_the_folder_and_the_socket_are_the_users_alone(root, sockets):
    """Nobody else can list them or connect."""
    start(root)
    assert stat.S_IMODE(sockets.stat().st_mode) == 0o700
    assert stat.S_IMODE(Path(place(root)).stat().st_mode) == 0o600


def test_no_folder_makes_the_path_too_long_for_a_socket(tmp_path, monkeypatch):
    """A folder that would is passed over, however long the store's own path is."""
    deep = tmp_path / ("x" * 200)
    deep.mkdir()
    for name in ("XDG_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.setenv(name, str(deep))
    assert len(place(deep / "store")) <= 100


def test_two_names_of_a_folder_are_one_store(tmp_path):
    """Links are followed; another folder has another process."""
    (tmp_path / "link").symlink_to(tmp_path / "store")
    assert place(tmp_path / "link") == place(tmp_path / "store")
    assert place(tmp_path / "store") != place(tmp_path / "other")


@pytest.mark.parametrize("wrong", ["open", "link"])
def test_a_folder_that_others_could_reach_is_not_used(sockets, tmp_path, wrong):
    """Whoever made it could listen in place of the user's own process."""
    if wrong == "open":
        sockets.mkdir(0o755)
    else:
        (tmp_path / "theirs").mkdir(0o700)
        sockets.symlink_to(tmp_path / "theirs")
    with pytest.raises(Unreachable, match="not a folder that only you can access"):
        call(tmp_path / "store", STATUS, seconds=5, start=True)


@pytest.mark.usefixtures("here")
def test_a_foreign_user_is_not_answered(root, monkeypatch):
    """Even one that can reach the socket; nor does a client speak to a foreign process."""
    assert raw(root, _line(root))[0]["pid"] == os.getpid()
    monkeypatch.setattr(server, "peer_of", lambda _: os.geteuid() + 1)
    assert raw(root, _line(root)) == []
    monkeypatch.setattr(client, "peer_of", lambda _: os.geteuid() + 1)
    with pytest.raises(Unreachable):
        call(root, STATUS, seconds=5, start=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_the_system_says_who_a_foreign_user_is(root, sockets):
    """With the folder and the socket opened to all, another user gets no word."""
    start(root)
    script = (
        "import os, socket, sys; os.setuid(65534); s = socket.socket(socket.AF_UNIX);"
        "s.connect(sys.argv[1]); s.sendall(sys.argv[2].encode()); print(len(s.recv(100)))"
    )
    words = [sys.executable, "-c", script, place(root), _line(root).decode()]
    for path in (sockets.parent, sockets, Path(place(root))):
        path.chmod(0o777)
    ran = subprocess.run(words, capture_output=True, check=False, text=True)
    for path in (sockets, sockets.parent):
        path.chmod(0o700)
    assert ran.stdout == "0\n" or re.search("Connection reset|Broken pipe", ran.stderr)
    assert alive(resident_of(root))


def _line(root, **given):
    return json.dumps({**STATUS, "root": os.path.realpath(root), **given}).encode() + b"\n"


@pytest.mark.usefixtures("here")
def test_a_version_too_long_for_a_number_is_no_call(root):
    """It is answered as any other line that is none."""
    assert raw(root, _line(root, version="9" * 5_000)) == [{"error": "is not a known call"}]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "sent",
    [
        b"{", b"3\n", b"\xff\n", b"[" * 100_000 + b"\n", b"{}\n", b'{"call": [], "root": ""}\n',
        b'"' + b"x" * LONGEST + b'"\n', b'{"call": "status", "root": "/"}\n',
    ],
)  # fmt: skip
def test_what_is_no_call_is_refused_and_nobody_else_is_hurt(root, sent):
    """Torn, too long, for another store: it gets an error, and the next call is served."""
    answers = raw(root, sent)
    assert answers[0].keys() == {"error"}
    assert call(root, STATUS, seconds=10)["pid"] == os.getpid()


@pytest.mark.usefixtures("here")
def test_a_line_that_comes_in_pieces_is_one(root):
    """However the system cuts it."""
    with socket.socket(socket.AF_UNIX) as opened:
        opened.connect(place(root))
        for byte in _line(root):
            opened.sendall(bytes([byte]))
        with opened.makefile("rb") as answers:
            assert json.loads(answers.readline())["pid"] == os.getpid()


@pytest.mark.usefixtures("here")
def test_a_long_answer_is_read_whole_and_a_call_too_long_is_not_sent(root, monkeypatch):
    """Up to a mebibyte either way."""
    monkeypatch.setitem(server.TABLE, "echo", f"{__name__}:echo")
    long = "ä" * 150_000
    assert call(root, {"call": "echo", "said": long}, seconds=30) == {"said": long}
    with pytest.raises(Unreachable, match="longer than"):
        call(root, {"call": "echo", "said": "x" * LONGEST}, seconds=30)


def echo(_resident, asked):
    """Say what was said."""
    return {"said": asked["said"]}


@pytest.mark.usefixtures("here")
def test_a_fault_of_one_call_is_an_error_and_not_the_end(root, monkeypatch, caplog):
    """The log has the reason."""
    monkeypatch.setitem(server.TABLE, "echo", f"{__name__}:echo")
    assert "failed; see" in call(root, {"call": "echo"}, seconds=10)["error"]
    assert "KeyError" in caplog.text
    assert call(root, STATUS, seconds=10)["pid"] == os.getpid()


def test_a_deadline_of_the_client_holds_while_the_process_is_stopped(root):
    """It says nothing for as long as it is stopped, and nobody waits longer than he wants."""
    pid = start(root)
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(Unreachable, match="timed out"):
            call(root, STATUS, seconds=0.05)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert resident_of(root) == pid


def test_after_a_kill_the_next_client_has_another_one(root):
    """The dead one's socket and lock are in nobody's way."""
    first = start(root)
    os.kill(first, signal.SIGKILL)
    assert wait_for(lambda: not alive(first))
    with pytest.raises(Unreachable):
        call(root, STATUS, seconds=5)
    assert start(root) != first


@pytest.mark.parametrize("how", ["idle", "socket", "store", "ledger", "stop", "term"])
def test_it_ends_when_it_is_not_wanted(root, sockets, how, monkeypatch):
    """Without clients, a socket or its store, when told; and it leaves only its log."""
    monkeypatch.setattr(server, "_LOOKS", 0.05)
    root.mkdir()
    (root / layout.LEDGER).touch()
    idle = 0.2 if how == "idle" else 900.0
    script = "import sys; from memento.resident import server; server._LOOKS = 0.05;"
    script += f"server.IDLE = {idle}; server.main(sys.argv[1:])"
    with subprocess.Popen([sys.executable, "-c", script, root], stderr=subprocess.DEVNULL) as ran:
        assert wait_for(Path(place(root)).exists)
        if how == "socket":
            Path(place(root)).unlink()
        elif how == "store":
            root.rename(root.with_name("moved"))
        elif how == "ledger":
            (root / layout.LEDGER).rename(root / "old")
            (root / layout.LEDGER).touch()
        elif how == "stop":
            call(root, {"call": "stop"}, seconds=10)
        elif how == "term":
            ran.terminate()
        try:
            assert ran.wait(30) == 0
        finally:
            ran.kill()
    assert {path.suffix for path in sockets.iterdir()} <= {".log"}


def test_it_does_not_end_while_a_client_is_there(root, monkeypatch):
    """The time counts from the last one's leaving."""
    monkeypatch.setattr(server, "_LOOKS", 0.01)
    resident = server.Resident(root, idle=0.05)
    running = threading.Thread(target=resident.run)
    running.start()
    assert wait_for(Path(place(root)).exists)
    opened, _ = client.connect(root, STATUS, seconds=10)
    running.join(0.5)
    assert running.is_alive()
    opened.close()
    running.join(30)
    assert not running.is_alive()


def test_a_newer_client_replaces_it_and_an_older_one_does_not(root, monkeypatch):
    """What has begun is finished meanwhile, and the store is never without an answer."""
    old = start(root)
    monkeypatch.setattr(client, "__version__", "0.0.9")
    assert call(root, STATUS, seconds=10)["pid"] == old
    monkeypatch.setattr(client, "__version__", "99.0")
    monkeypatch.setattr(client, "_start", lambda _root, lock: (os.close(lock), begun.append(1)))
    begun = []
    with pytest.raises(Unreachable):
        call(root, STATUS, seconds=2, start=True)
    assert begun
    assert wait_for(lambda: not alive(old))


def test_a_client_too_many_is_told_so(root, here, monkeypatch):
    """It need not try again and again."""
    monkeypatch.setattr(server, "MOST", 1)
    first, _ = client.connect(root, STATUS, seconds=10)
    assert call(root, STATUS, seconds=10) == {"error": "already has 1 clients"}
    first.close()
    assert wait_for(lambda: here.status()["clients"] == -1)
    assert call(root, STATUS, seconds=10)["pid"] == os.getpid()


def test_it_outlives_a_want_of_descriptors(root, here, monkeypatch, caplog):
    """Whoever could not be served then is served later."""
    accept, failures = here._accept, [OSError(errno.EMFILE, "Too many open files")] * 2

    def fail(listening):
        if failures:
            raise failures.pop()
        accept(listening)

    monkeypatch.setattr(here, "_accept", fail)
    assert call(root, STATUS, seconds=10)["pid"] == os.getpid()
    assert caplog.text.count("Too many open files") == 2


def test_a_lock_that_cannot_be_made_is_said(root):
    """It is no crash of an agent's server."""
    Path(place(root, "lock")).mkdir()
    with pytest.raises(Unreachable, match="directory"):
        start(root)


def test_a_full_queue_is_waited_for(root, monkeypatch):
    """Many clients at once are one after another."""
    asked, full = client._asked, [BlockingIOError(errno.EAGAIN, "no room")]

    def ask(*given):
        if full:
            raise full.pop()
        return asked(*given)

    monkeypatch.setattr(client, "_asked", ask)
    assert start(root)
    assert not full


def test_what_has_begun_is_answered_before_the_end(here, root, tmp_path):
    """A call that came before the end is not lost by it."""
    with ThreadPoolExecutor(1) as pool:
        asked = {"call": "wait", "for": str(tmp_path / "go")}
        answer = pool.submit(call, root, asked, seconds=30)
        assert wait_for((tmp_path / "go begun").exists)
        here.leave()
        assert wait_for(lambda: not Path(place(root)).exists())
        (tmp_path / "go").touch()
        assert answer.result() == {"waited": True}


def test_the_managers_of_equal_calls_share_one_store(here):
    """Other settings of the client's environment open it otherwise."""
    asked = {"embedder": "none", "environ": {}}
    memory = here.memory(asked)
    assert here.memory(asked) is memory
    memory.add("Tea is served at four")
    with here.open(asked) as other:
        assert [one.text for one in other.list()] == ["Tea is served at four"]
    assert not memory.store.closed
    unlike = here.memory({**asked, "environ": {"MEMENTO_TIMEZONE": "Asia/Tokyo"}})
    assert unlike.store.config.timezone == "Asia/Tokyo"
    assert memory.store.config.timezone != "Asia/Tokyo"


def test_a_store_that_shall_not_be_made_is_not(here, root):
    """Whoever only reads is told."""
    with pytest.raises(memento.errors.StoreUnusable, match="contains no store"):
        here.memory({"make": False})
    assert not root.exists()


def test_a_client_imports_nothing_slow():
    """Neither the store nor what speaks with it."""
    script = "import sys; import memento.resident.client; print(*sorted(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True)
    ours = {name for name in ran.stdout.split() if name.startswith("memento")}
    assert ours == {"memento", "memento.resident", "memento.resident.client"}
