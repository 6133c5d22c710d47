"""``memento mcp --http``: to whom it answers, what each may, and the protocol's own programs."""

import asyncio
import http.client
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from memento import MemoryManager, Status
from memento.base import layout
from memento.cli import main, mcp_http
from memento.errors import TooMuch
from memento.resident import tokens
from memento.resident.client import call
from memento.serve.limits import Rate
from memento_mcp import Doors, _http, _wire, http_app

pytest.importorskip("mcp", reason="needs mcp: pip install 'agent-memento[mcp]'")
pytestmark = pytest.mark.usefixtures("sockets")
HERE = Path(__file__).parent
LISTED = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


def make(root, name, **more):
    """Make a token."""
    given = {"namespace": "default", "scope": "", "trust": "agent"}
    return tokens.add(root, name, **(given | more))


@pytest.fixture
def root(tmp_path):
    """Return the folder of a store."""
    with MemoryManager(tmp_path / "store", embedder=None) as memory:
        memory.add("Tea is served at four")
    return tmp_path / "store"


class Served:
    """Runs the command, and asks it."""

    def __init__(self, root, address="0", *more):
        words = ["--root", str(root), "--embedder", "none", "--http", address, *more]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "memento", "mcp", *words], stderr=subprocess.PIPE, text=True
        )
        self.url = re.search(r"http://\S+/mcp", self.process.stderr.readline())[0]

    def ask(self, token, message=LISTED, path="/mcp", **headers):
        """Post a message; return the status and the answer."""
        opened = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=60)
        given = {"content-type": "application/json", "accept": "application/json"}
        if token is not None:
            given["authorization"] = f"Bearer {token}"
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        opened.request("POST", path, body, given | headers)
        answer = opened.getresponse()
        text = answer.read()
        opened.close()
        return answer.status, json.loads(text) if answer.status == 200 else text

    def tool(self, token, name, **arguments):
        """Call a tool; return what it says, or the error."""
        asked = {**LISTED, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        status, answer = self.ask(token, asked)
        assert status == 200
        return answer["result"]["content"][0]["text"] if "result" in answer else answer["error"]


@pytest.fixture
def serve(root):
    """Return what runs the command; it ends with the test."""
    running = []

    def begin(*given):
        running.append(Served(root, *given))
        return running[-1]

    yield begin
    for one in running:
        one.process.terminate()
        one.process.communicate(timeout=60)


def test_only_a_token_opens_it(root, serve):
    """And no page of another site, whatever it knows; a revoked token is refused at once."""
    token, served = make(root, "laptop"), serve()
    assert served.ask(token)[0] == 200
    assert served.ask(None)[0] == 401
    assert served.ask(token[:-1])[0] == 401
    assert served.ask(token, host="evil.example")[0] == 421
    assert served.ask(token, origin="http://evil.example")[0] == 403
    assert served.ask(token, path="/")[0] == 404
    assert served.ask(token, b"x" * (5 << 20))[0] == 413
    tokens.revoke(root, "laptop")
    assert served.ask(token)[0] == 401


def test_a_token_is_bound_to_its_namespace_scope_rights_and_trust(root, serve):
    """No argument of a call can change them."""
    shop = make(root, "shop", scope="project/shop")
    reader = make(root, "reader", rights="read")
    other = make(root, "other", namespace="acme/ada")
    web = make(root, "crawler", trust="web")
    served = serve()
    assert "Remembered" in served.tool(shop, "remember", text="Releases go out on Thursday")
    assert "unknown tool" in served.tool(reader, "remember", text="x")["message"]
    assert "Tea is served" in served.tool(reader, "recall")
    assert "Nothing is remembered" in served.tool(other, "recall", query="tea")
    assert "waits for the user" in served.tool(web, "remember", text="The moon is green cheese")
    assert "is not an argument" in served.tool(other, "recall", query="tea", namespace="default")
    with MemoryManager(root, embedder=None) as memory:
        (kept,) = (one for one in memory.list() if one.source.uri == "mcp:shop")
        assert (kept.scope, kept.source.kind) == ("project/shop", "agent")
        (waiting,) = memory.list(status=Status.QUARANTINED)
        assert (waiting.source.kind, waiting.source.uri) == ("web", "mcp:crawler")


def test_no_id_leads_out_of_the_scope_of_a_token(root, serve):
    """What belongs elsewhere is not there for it, and what is for all projects is not its own."""
    with MemoryManager(root, embedder=None) as memory:
        other = memory.add("Mail goes out at six", scope="project/mail", source="agent")
        every = memory.add("Lunch is at noon", source="agent")
        memory.sessions.start("other", scope="project/mail").checkpoint(goal="Send the mail")
    shop, served = make(root, "shop", scope="project/shop"), serve("0", "--more")
    for name, given in (
        ("correct", {"id": other.id, "text": "x"}), ("forget", {"id": other.id}),
        ("history", {"id": other.id}), ("rate", {"id": other.id, "verdict": "wrong"}),
        ("correct", {"id": every.id, "text": "x"}), ("forget", {"id": every.id}),
        ("rate", {"id": every.id, "verdict": "wrong"}),
    ):  # fmt: skip
        assert "no memory" in served.tool(shop, name, **given), name
    assert "Lunch is at noon" in served.tool(shop, "history", id=every.id)
    assert "is not available" in served.tool(shop, "remember", text="x", everywhere=True)
    for uri, shown in (
        (f"memory/{other.id}", False),
        ("session/other", False),
        (f"memory/{every.id}", True),
    ):
        asked = {**LISTED, "method": "resources/read", "params": {"uri": f"memento://{uri}"}}
        assert ("result" in served.ask(shop, asked)[1]) == shown, uri


async def test_a_token_that_asks_too_often_is_told_to_wait():
    """Others are answered meanwhile."""
    rate, said = Rate(0.5, 2, clock=lambda: 0.0), []
    app = http_app(lambda token: (rate.take(token), object())[1], ["127.0.0.1:1"])

    async def send(message):
        if "status" in message:
            said.append((message["status"], dict(message["headers"]).get(b"retry-after")))

    for token in (b"a", b"a", b"a", b"b"):
        headers = [(b"authorization", b"Bearer " + token)]
        asked = {"type": "http", "path": "/mcp", "method": "GET", "headers": headers}
        await app(asked, None, send)
    assert said == [(405, None), (405, None), (429, b"2"), (405, None)]


def test_the_command_counts_the_requests_of_each_token(root, monkeypatch):
    """As the service does."""
    apps, listening = [], SimpleNamespace(getsockname=lambda: ("127.0.0.1", 1))
    monkeypatch.setattr(mcp_http, "Rate", lambda *_: Rate(0.5, 1, clock=lambda: 0.0))
    monkeypatch.setattr(mcp_http, "_listening", lambda *_: listening)
    monkeypatch.setattr(mcp_http, "http_app", lambda doors_of, _hosts: apps.append(doors_of))
    asked = {"host": "127.0.0.1", "port": 0, "more": False, "tokens": 4_000}
    mcp_http.session(SimpleNamespace(root=root), asked)
    laptop, board = make(root, "laptop"), make(root, "board")
    assert apps[0](laptop)
    with pytest.raises(TooMuch, match="wait 2"):
        apps[0](laptop)
    assert apps[0](board)


def test_a_socket_of_the_web_is_not_answered(root, serve):
    """And is no error of the server's."""
    token, served = make(root, "laptop"), serve()
    upgrade = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
    upgrade["sec-websocket-key"] = "dGhlIHNhbXBsZSBub25jZQ=="
    assert served.ask(None, path="/", **upgrade)[0] == 404
    assert served.ask(token)[0] == 200


def test_it_is_served_on_after_a_kill_and_no_longer_than_the_command_runs(root, serve):
    """By another process at the same address."""
    token, served = make(root, "laptop"), serve()
    host = urlsplit(served.url).netloc
    again = serve_again = None
    served.process.terminate()
    served.process.communicate(timeout=60)
    end = time.monotonic() + 20
    while again is None and time.monotonic() < end:
        try:
            served.ask(token)
        except OSError:
            again = True
    assert again, "nobody should listen any more"
    serve_again = serve(host)
    os.kill(call(root, {"call": "status"}, seconds=10)["pid"], signal.SIGKILL)
    assert host in serve_again.process.stderr.readline()
    assert serve_again.ask(token)[0] == 200


def test_the_command_makes_lists_and_revokes_tokens(root, capsys):
    """The token itself is printed once."""

    def run(*given, status=0):
        assert main(["mcp", "--root", str(root), *given]) == status
        return capsys.readouterr()

    assert "there are no tokens" in run("--http", "0", status=2).err
    made = run("--add-token", "laptop", "--read-only").out.strip()
    assert tokens.holder(root, made).name == "laptop"
    assert run("--list-tokens").out == "laptop  default  everywhere  read\n"
    run("--add-token", "x", "--trust", "user", status=2)
    run("--revoke-token", "laptop")
    assert run("--list-tokens").out == ""
    for wrong in ("x", "1:x", "99999"):
        run("--http", wrong, status=2)


@pytest.fixture
def open_url(tmp_path):
    """Return the address of a server that wants no token."""
    yield from serving(sys.executable, tmp_path)


def serving(python, tmp_path):
    """Run a server that wants no token with one interpreter, and yield its address."""
    with subprocess.Popen(
        [python, HERE / "open_server.py", tmp_path / "open"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as served:  # fmt: skip
        yield served.stdout.readline().strip()
        served.stdin.close()
        served.wait(60)


def other_major():
    """Name an interpreter that has the other major of the SDK, or skip the test."""
    if not (python := os.environ.get("MCP_2_PYTHON")):
        pytest.skip("needs mcp 2: MCP_2_PYTHON names an interpreter that has it and memento")
    return python


def node_modules(*names):
    """Return the folder of packages of Node, or skip the test."""
    folder = Path(os.environ.get("MCP_NODE_MODULES", "/none"))
    for name in names:
        if not (folder / name).exists():
            pytest.skip(
                f"needs {name}: npm install it, node@22 as well, and let MCP_NODE_MODULES name the"
                " folder node_modules"
            )
    return folder


def node(folder):
    """Return the program node: the one beside the packages, if there is one."""
    own = folder / ".bin" / "node"
    return str(own) if own.exists() else shutil.which("node") or pytest.skip("needs node")


def run(*words):
    """Run a program; it has to succeed. Returns what it printed."""
    ran = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def command(root):
    """Return the command on standard input and output, on a store."""
    server = [sys.executable, "-m", "memento", "mcp", "--embedder", "none", "--root", str(root)]
    kept = {"XDG_RUNTIME_DIR": os.environ["XDG_RUNTIME_DIR"]}  # a client passes on little
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    return ["env", *(f"{name}={value}" for name, value in kept.items()), *server, "--everywhere"]


def test_the_python_sdk_understands_both_servers(open_url, tmp_path, monkeypatch):
    """Its client of the installed major, over HTTP and over standard input and output."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    tour = [sys.executable, str(HERE / "sdk_tour.py")]
    assert run(*tour, open_url).split()
    assert run(*tour, *command(tmp_path / "store")).split()


def test_the_other_major_of_the_python_sdk_understands_them_too(tmp_path, monkeypatch):
    """As a client of both servers, and as what the server over HTTP is made of."""
    python = other_major()
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    for url in serving(python, tmp_path):
        said = run(python, str(HERE / "sdk_tour.py"), url).split()
        assert said == ["2025-11-25", "2026-07-28", "2026-07-28"]
        assert run(sys.executable, str(HERE / "sdk_tour.py"), url).split()
    said = run(python, str(HERE / "sdk_tour.py"), *command(tmp_path / "store")).split()
    assert said == ["2025-11-25", "2026-07-28", "2026-07-28"]


def test_the_typescript_sdk_understands_the_server(open_url):
    """Its client over HTTP."""
    folder = node_modules("@modelcontextprotocol/sdk")
    run(node(folder), str(HERE / "sdk_tour.mjs"), str(folder), open_url)


def test_the_inspector_understands_both_servers(open_url, tmp_path):
    """Its command line lists the tools of either."""
    folder = node_modules("@modelcontextprotocol/inspector")
    program = [node(folder), str(folder / ".bin" / "mcp-inspector"), "--cli"]
    listed = ["--method", "tools/list"]
    for words in ([open_url, "--transport", "http"], command(tmp_path / "store")):
        tools = json.loads(run(*program, *words, *listed))["tools"]
        assert [tool["name"] for tool in tools] == ["recall", "remember", "correct", "forget"]


APPLICABLE = (
    "server-initialize", "ping", "tools-list", "resources-list", "prompts-list",
    "completion-complete", "dns-rebinding-protection",
)  # fmt: skip
"""Scenarios of the conformance suite that need no tool of the suite's own."""


@pytest.mark.parametrize("major", ["installed", "other"])
def test_the_conformance_suite_passes(tmp_path, major):
    """Each scenario that applies, with either major of the SDK behind the server."""
    folder = node_modules("@modelcontextprotocol/conformance")
    python = sys.executable if major == "installed" else other_major()
    program = folder / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    for url in serving(python, tmp_path):
        for scenario in APPLICABLE:
            said = run(node(folder), str(program), "server", "--url", url, "--scenario", scenario)
            assert re.search(r"Passed: (\d)/\1, 0 failed", said), said


MODERN = (
    "tools-list", "resources-list", "prompts-list", "completion-complete", "caching",
    "sep-2164-resource-not-found", "dns-rebinding-protection",
)  # fmt: skip
"""The same of the era without a handshake, which mcp 2 speaks, and the suite from 0.2 on."""


def test_the_conformance_suite_passes_without_a_handshake(tmp_path):
    """Each scenario of the version 2026-07-28 that needs no tool of the suite's own."""
    folder = node_modules("@modelcontextprotocol/conformance")
    suite = folder / "@modelcontextprotocol" / "conformance"
    if json.loads((suite / "package.json").read_text())["version"].startswith("0.1."):
        pytest.skip("needs @modelcontextprotocol/conformance 0.2 or newer")
    asked = [node(folder), str(suite / "dist" / "index.js"), "server"]
    for url in serving(other_major(), tmp_path):
        for scenario in MODERN:
            given = ["--url", url, "--scenario", scenario, "--spec-version", "2026-07-28"]
            said = run(*asked, *given)
            assert re.search(r"Passed: (\d)/\1, 0 failed", said), said


def test_calls_of_one_token_wait_without_a_thread():
    """So that they hold up no other token; too many are refused."""

    async def many():
        turn = _http._Turn()
        await turn.acquire()
        waiting = [asyncio.create_task(turn.acquire()) for _ in range(_http.MOST)]
        await asyncio.sleep(0)
        with pytest.raises(_wire.Refused, match="wait"):
            await turn.acquire()
        for _ in waiting:
            turn.release()
            await asyncio.sleep(0)
        await asyncio.gather(*waiting)

    asyncio.run(many())


@pytest.mark.parametrize("read_only", [True, False])
def test_who_may_only_read_leaves_no_trace(root, read_only):
    """Not even that a memory was found, which would change its rank."""
    with MemoryManager(root, embedder=None) as memory:
        Doors(memory, read_only=read_only).call("recall", {"query": "tea"})
    with closing(sqlite3.connect(root / layout.LEDGER)) as opened:
        found = "SELECT count(*) FROM events WHERE kind = 'retrieved'"
        assert (opened.execute(found).fetchone()[0] == 0) == read_only
