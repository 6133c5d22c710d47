"""``memento mcp`` through the resident process, whatever happens to that process."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import pytest
from resident.conftest import alive, resident_of, wait_for

from memento import MemoryManager
from memento.resident import pipe
from memento.resident.client import Unreachable, place

COMMAND = [sys.executable, "-m", "memento", "mcp", "--embedder", "none"]


def request(number, method, **params):
    """Write a request as a line."""
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    return json.dumps(message).encode() + b"\n"


def remember(number):
    """Write the request to remember a text of that number."""
    arguments = {"text": f"Locker {number} holds the key of room {number}"}
    return request(number, "tools/call", name="remember", arguments=arguments)


def current(root):
    """Return the process that serves a store; None while there is none."""
    try:
        return resident_of(root)
    except Unreachable:
        return None


class Agent:
    """Starts the command on a store and speaks to it."""

    def __init__(self, root, *given, **more):
        words = [*COMMAND, "--root", str(root), *given]
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(words, **streams, **more)

    def say(self, *lines):
        """Send lines."""
        self.process.stdin.write(b"".join(lines))
        self.process.stdin.flush()

    def hear(self):
        """Read one message."""
        return json.loads(self.process.stdout.readline())

    def leave(self):
        """End it; return its status and what it said besides."""
        self.process.stdin.close()
        errors = self.process.stderr.read()
        rest = self.process.stdout.read()
        return self.process.wait(60), rest, errors


@pytest.fixture
def agent(root):
    """Return what starts agents, which are ended with the test."""
    started = []

    def begin(*given, **more):
        started.append(Agent(root, *given, **more))
        return started[-1]

    yield begin
    for one in started:
        one.process.kill()
        one.process.wait()
        for stream in (one.process.stdin, one.process.stdout, one.process.stderr):
            stream.close()


def test_agents_share_a_process(root, agent):
    """What one keeps, the other sees at once; each has its own settings."""
    first, second = agent(), agent("--read-only")
    first.say(request(1, "initialize"), remember(2))
    assert [first.hear()["id"] for _ in range(2)] == [1, 2]
    second.say(request(1, "tools/list"), request(2, "tools/call", name="recall", arguments={}))
    assert [one["name"] for one in second.hear()["result"]["tools"]] == ["recall"]
    assert "Locker 2" in second.hear()["result"]["content"][0]["text"]
    pid = resident_of(root)
    assert first.leave()[:2] == second.leave()[:2] == (0, b"")
    assert alive(pid)


def test_no_acknowledged_memory_is_lost_by_a_kill(root, agent):
    """The process is killed among 150 calls, five times; each is answered, and each is kept."""
    one, killed, heard = agent(), set(), {}
    one.say(request("hello", "initialize", clientInfo={"name": "claude"}))
    assert one.hear()["id"] == "hello"
    for start, stop in pairwise((0, 20, 60, 100, 140, 150)):
        saying = threading.Thread(target=one.say, args=[*map(remember, range(start, stop))])
        saying.start()
        for number in range(start, stop):
            answer = one.hear()
            assert "error" not in answer, answer
            heard[answer["id"]] = answer["result"]["content"][0]["text"]
            if number == start:  # it has answered, and others wait
                killed.add(pid := wait_for(lambda: current(root)))
                os.kill(pid, signal.SIGKILL)
                assert wait_for(lambda ended=pid: not alive(ended))
        saying.join()
    assert len(heard) == 150
    assert len(killed) == 5
    assert one.leave() == (0, b"", b"")
    with MemoryManager(root, embedder=None) as memory:
        kept = {each.id: each for each in memory.list(limit=1000)}
        assert all(re.search(r"[0-9a-f-]{36}", said)[0] in kept for said in heard.values())
        assert len({each.text for each in kept.values()}) == 150
        assert {each.source.uri for each in kept.values()} == {"mcp:claude"}


def test_what_is_no_request_is_not_waited_for(agent):
    """A response, which is never answered, and a message without a method, answered once."""
    one = agent()
    one.say(request(1, "ping"), b'{"jsonrpc":"2.0","id":7,"result":{}}\n')
    one.say(b'{"jsonrpc":"2.0","id":99}\n', request(2, "ping"))
    heard = [one.hear() for _ in range(3)]
    assert [(each["id"], each.get("error", {}).get("code")) for each in heard] == [
        (1, None), (99, -32600), (2, None),
    ]  # fmt: skip
    assert one.leave() == (0, b"", b"")


def test_the_next_request_of_a_quiet_agent_starts_another_process(root, agent):
    """It is greeted again, so that it knows who speaks."""
    one = agent()
    one.say(request(1, "initialize", clientInfo={"name": "claude"}))
    one.say(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    one.hear()
    os.kill(first := resident_of(root), signal.SIGTERM)
    assert wait_for(lambda: not alive(first))
    one.say(remember(2))
    assert one.hear()["id"] == 2
    assert resident_of(root) != first
    assert one.leave() == (0, b"", b"")
    with MemoryManager(root, embedder=None) as memory:
        assert [each.source.uri for each in memory.list()] == ["mcp:claude"]


def test_alone_starts_no_process(root, agent):
    """The store is opened by the command itself."""
    one = agent("--alone")
    one.say(remember(1))
    assert one.hear()["id"] == 1
    assert one.leave()[0] == 0
    assert not Path(place(root)).exists()


def test_without_a_folder_for_the_socket_the_agent_is_served_all_the_same(agent, sockets):
    """And the log says so, in a line."""
    sockets.mkdir(0o755)
    one = agent()
    one.say(remember(1))
    assert "Remembered" in one.hear()["result"]["content"][0]["text"]
    status, _, errors = one.leave()
    assert status == 0
    assert errors.startswith(b"memento: serving this agent in a separate process:")


def test_what_the_server_refuses_it_refuses_through_the_pipe(agent):
    """Torn lines, lines too long, batches; and the agent is served on."""
    one = agent()
    one.say(
        b"{\n", b'"' + b"x" * (5 << 20) + b'"\n', b'[{"jsonrpc":"2.0","id":5,"method":"ping"}]\n'
    )
    one.say(request(6, "ping").rstrip())
    status, rest, _ = one.leave()
    answers = [json.loads(line) for line in rest.splitlines()]
    assert status == 0
    assert [one.get("error", {}).get("code") for one in answers] == [-32700, -32600, None, None]
    assert [one["id"] for one in answers] == [None, None, 5, 6]


def test_the_pipe_imports_nothing_slow(root):
    """Neither the store, nor the command line, nor the server."""
    script = (
        "import sys; from memento.cli import main; main(['mcp', '--root', sys.argv[1]]);"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    sent = request(1, "initialize")
    ran = subprocess.run(
        [sys.executable, "-c", script, root], input=sent, capture_output=True, check=True
    )
    assert json.loads(ran.stdout)["id"] == 1
    loaded = set(ran.stderr.decode().split())
    assert not loaded & {"numpy", "typer", "pydantic", "mcp", "memento.config", "memento_mcp._wire"}


class Dying:
    """A process that answers as it is told, and is gone then."""

    def __init__(self, monkeypatch, *lives):
        self.heard = []
        self._lives = list(lives)
        monkeypatch.setattr(pipe, "connect", self._connect)

    def _connect(self, *_given, **_more):
        if not self._lives:
            raise pipe.Unreachable("nobody")
        ours, theirs = socket.socketpair()
        threading.Thread(target=self._live, args=(theirs, self._lives.pop(0))).start()
        return ours, {"open": True}

    def _live(self, opened, answers):
        with opened, opened.makefile("rwb") as stream:
            for answer in answers:
                if not (line := stream.readline()):
                    return
                self.heard.append(json.loads(line))
                stream.write(answer)
                stream.flush()


class Out:
    """Collects what is written."""

    def __init__(self):
        self.lines = []

    def write(self, line):
        """Take a line."""
        self.lines.append(json.loads(line))

    def flush(self):
        """Do nothing."""


def run(*lines):
    """Run a pipe over some lines; return what the agent is answered."""
    out, (reading, writing) = Out(), os.pipe()
    piped = pipe.Pipe("/", {}, out)
    os.write(writing, b"".join(lines))
    os.close(writing)
    piped.run(reading)
    os.close(reading)
    return out.lines


def said(number):
    """Write an answer as a line."""
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": {}}).encode() + b"\n"


def test_a_torn_answer_is_no_answer(monkeypatch):
    """The request is said again to the next process."""
    dying = Dying(monkeypatch, [said(1)[:-9]], [said(1)])
    assert [one["id"] for one in run(request(1, "ping"))] == [1]
    assert [one["id"] for one in dying.heard] == [1, 1]


def test_a_call_that_kills_is_given_up(monkeypatch):
    """After the third time it is an error, and the others go on."""
    dying = Dying(monkeypatch, [b""], [b""], [b""], [said(2)])
    answers = run(request(1, "x"))
    assert [one["error"]["message"] for one in answers] == [
        "the memory process ended three times during this call; see its log"
    ]
    assert len(dying.heard) == 3


def test_a_process_that_cannot_be_started_is_an_error_of_each_request(monkeypatch):
    """The agent is told and goes on."""
    Dying(monkeypatch, [b""])
    (answer,) = run(request(1, "x"))
    assert answer["error"]["message"] == "the memory process cannot be reached: nobody"


def test_a_cancelled_call_is_not_said_again(monkeypatch):
    """Nobody waits for its answer."""
    cancel = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n'
    dying = Dying(monkeypatch, [b"", b"", b""], [said(2)])
    answers = run(request(1, "x"), cancel, request(2, "y"))
    assert [one["id"] for one in answers] == [2]
    assert [one.get("id") for one in dying.heard] == [1, None, 2, 2]


def test_the_greeting_is_said_again_and_its_answer_kept_back(monkeypatch):
    """The agent has one answer to each of its requests."""
    initialized = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    again = said(pipe._AGAIN)
    dying = Dying(monkeypatch, [said(1), b"", b""], [again, b"", said(2)])
    assert [one["id"] for one in run(request(1, "initialize"), initialized, request(2, "x"))] == [
        1, 2,
    ]  # fmt: skip
    methods = ["initialize", "notifications/initialized", "x"]
    assert [one["method"] for one in dying.heard] == methods * 2
